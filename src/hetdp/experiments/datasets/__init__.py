"""Data sets: three that are generated, what is in one, public ones, and how one is got ready for an evaluation."""
