"""What is public about pairs of items, whatever the release: an unbiased matrix, and how much noise is in it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


class Learning(ABC):
    """How a release gets its evidence from a crowd that comes part by part, in one or several passes."""

    @abstractmethod
    def work(self, head: NDArray[np.int32] | None) -> Callable[[Part], Any]:
        """Return what is to be done with each part, here or elsewhere: its results add up to what `take` takes.

        Without a head, items are counted, for the choice of one; a pass with it follows, over the same people.
        """

    @abstractmethod
    def take(self, sums: Any) -> None:  # noqa: ANN401  (each release has sums of its own)
        """Take what `work` has made of some people: all of it or nothing."""

    @property
    @abstractmethod
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, noise included: public."""

    @abstractmethod
    def evidence(self) -> Evidence:
        """Return what is published about the head. Noise that is drawn here is drawn once."""

    def count(self, part: Part) -> None:
        """Count the items of a part."""
        self.take(self.work(None)(part))

    def add(self, part: Part, head: NDArray[np.int32]) -> None:
        """Add a part."""
        self.take(self.work(head)(part))
