"""Aggregates per group over frames, files and databases: integer sums where the data lives, exact noise here."""
