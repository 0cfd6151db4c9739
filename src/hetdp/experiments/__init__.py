"""Data sets, the evaluation of the paper, and what is added to it."""
