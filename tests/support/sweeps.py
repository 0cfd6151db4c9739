"""A sweep that takes seconds, for tests of everything around it."""

SMALL = """
runs = 2
k = 4
cycles = 4
epsilons = [1]
engine_epsilons = [1, 3]
lower = [0, 0.5]
slices = [2, 3]
pragmatists = [0.2]
unconcerned = [0.2]
per = ["item"]
"""
