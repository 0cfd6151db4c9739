"""Queries with modular sensitivities, stretching, and exact noise."""
