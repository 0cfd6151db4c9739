"""Exact noise on the integers, and the proofs' machinery behind it."""

from hetdp.noise.gaussian import discrete_gaussian
from hetdp.noise.laplace import discrete_laplace

__all__ = ["discrete_gaussian", "discrete_laplace"]
