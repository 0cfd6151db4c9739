"""What every room stands on: errors, checks, randomness, files, SQLite, words for numbers."""
