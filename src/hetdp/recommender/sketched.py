"""Evidence from sketches: nobody is trusted, everybody publishes noisy bits, and all of them are summed.

Sums are whole numbers, so that parts add up to the same, bit for bit, in any order.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.recommender.evidence import Evidence
from hetdp.recommender.parts import Part
from hetdp.sketching.bits import Sketches
from hetdp.sketching.estimate import items_behind
from hetdp.sketching.law import GROUP_WORDS, chance_of_one, contrast

__all__ = ["SketchLearning", "SketchSums"]


@dataclass(frozen=True, eq=False)
class SketchSums:
    """How many people show each item, and each pair of items, in their sketches. Public.

    Attributes
    ----------
    n_people
        How many sketches there are.
    ones
        How many of them show each item.
    pairs
        How many of them show both of two items.
    """

    n_people: int
    ones: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @classmethod
    def of_bits(cls, bits: NDArray[np.bool_]) -> "SketchSums":
        """Return the sums of sketches, one row each."""
        shown = bits.astype(np.float32)
        pairs = (shown.T @ shown).astype(np.int64)
        return cls(bits.shape[0], bits.sum(axis=0, dtype=np.int64), pairs)

    def __add__(self, other: "SketchSums") -> "SketchSums":
        return SketchSums(self.n_people + other.n_people, self.ones + other.ones, self.pairs + other.pairs)

    def evidence(self, epsilon: Fraction) -> Evidence:
        """Return what the sums say, once the noise that everybody knows is taken out."""
        q, c, n = chance_of_one(epsilon), contrast(epsilon), self.n_people
        spread = q * (1.0 - q) / c**2
        counts = items_behind(self.ones, n, epsilon)
        shown = self.ones.astype(np.float64)
        gram = (self.pairs - q * (shown[:, None] + shown[None, :]) + n * q * q) / c**2
        np.fill_diagonal(gram, counts)
        size = counts.size
        edge = spread * (2.0 * math.sqrt(n * size) + size)
        return Evidence(counts, gram, edge, noise=n * spread**2, count_noise=n * spread)


class SketchLearning:
    """The sketches of a crowd, part by part: drawn, summed and forgotten.

    Parameters
    ----------
    epsilon
        What an item of weight 1 loses by its owner's sketch.
    n_items
        Size of the catalogue.
    stream
        Where the secret of the fit comes from.

    Privacy
    -------
    Only sums of published bits are kept. Each person publishes one sketch; the secret makes it the same in each pass.
    """

    def __init__(self, epsilon: Fraction, n_items: int, stream: Stream) -> None:
        self.epsilon = epsilon
        self._stream = stream
        self._ones = np.zeros(n_items, dtype=np.int64)
        self._n_people = 0
        self._sums: SketchSums | None = None

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "sketches cannot be pickled: their key must stay here"
        raise TypeError(message)

    def count(self, part: Part) -> None:
        """Count the ones of a part, for the choice of a head; `add` must follow, with the same people."""
        raise NotImplementedError

    def add(self, part: Part, head: NDArray[np.int32]) -> None:
        """Add the sketches of a part."""
        bits = _bits(Sketches(part.coded, epsilon=self.epsilon, stream=self._stream))
        self._ones += bits.sum(axis=0, dtype=np.int64)
        self._n_people += part.coded.n_users
        sums = SketchSums.of_bits(bits[:, head])
        self._sums = sums if self._sums is None else self._sums + sums

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, from published bits."""
        return items_behind(self._ones, self._n_people, self.epsilon)

    def evidence(self) -> Evidence:
        """Return what all sketches say about the head."""
        if self._sums is None:
            raise InvalidInput("a model must be learned from at least one part. Got none instead.")
        return self._sums.evidence(self.epsilon)


def _bits(sketches: Sketches) -> NDArray[np.bool_]:
    rows = np.zeros((sketches.n_items, sketches.n_groups * GROUP_WORDS), dtype=np.uint64)
    sketches.rows(np.arange(sketches.n_items), rows)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : sketches.n_users].T.astype(np.bool_)
