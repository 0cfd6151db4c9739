"""A whole network on one machine, with invented people."""
