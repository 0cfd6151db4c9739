"""The exact engine: every pair is compared."""
