"""The engines: each one a folder, found by its name."""
