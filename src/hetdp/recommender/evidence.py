"""What is public about pairs of items, whatever the release: an unbiased matrix, and how much noise is in it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hetdp.recommender.parts import Part

__all__ = ["Evidence", "Learning"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a model is learned from: a function of published bits, or of one noisy matrix, and of nothing else.

    Attributes
    ----------
    counts
        How much each item of the head counts in all, noise included; may be negative.
    gram
        How much each pair of them counts together, unbiased off the diagonal; its diagonal is `counts`.
    edge
        About the largest eigenvalue that the noise alone has.
    noise
        Variance of one entry off the diagonal by noise alone.
    count_noise
        Variance of one count by noise alone.
    """

    counts: NDArray[np.float64]
    gram: NDArray[np.float64]
    edge: float
    noise: float
    count_noise: float

    def __repr__(self) -> str:
        return f"Evidence({self.counts.size} items)"


class Learning(Protocol):
    """How a release gets its evidence from a crowd that comes part by part."""

    def count(self, part: Part) -> None:
        """Count the items of a part, for the choice of a head; `add` follows, with the same people."""

    def add(self, part: Part, head: NDArray[np.int32]) -> None:
        """Add a part, all of it or nothing."""

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, noise included: public."""

    def evidence(self) -> Evidence:
        """Return what is published about the head. Noise that is drawn here is drawn once."""
