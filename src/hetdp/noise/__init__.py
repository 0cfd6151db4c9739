"""Exact noise on the integers, and the proofs' machinery behind it."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.noise.gaussian import discrete_gaussian
    from hetdp.noise.laplace import discrete_laplace

__all__ = [
    "discrete_gaussian",
    "discrete_laplace",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "gaussian": ("discrete_gaussian",),
        "laplace": ("discrete_laplace",),
    },
)
