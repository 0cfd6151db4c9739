"""Shared by all packages: errors, checks, randomness, files, SQLite, formatting of numbers."""
