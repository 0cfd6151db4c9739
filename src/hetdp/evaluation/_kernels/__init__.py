"""Compiled loops (numba) that judge. Loaded only when something is judged."""
