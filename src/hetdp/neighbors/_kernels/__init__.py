"""Compiled loops (numba) of the engines. Loaded only when something is fitted."""
