"""How like one published sketch others are: a function of published sketches alone, so it costs nobody anything.

Two sketches are alike where both have ones, and a one that few others have counts for more: log(1 / share of ones). The
shares come from sketches that chance has chosen. Sketches of different lengths are compared on what they share; on the
rest, the shorter one counts as average.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Likeness", "SharesOfOnes"]


class SharesOfOnes:
    """How many of some sketches have a one at each place.

    >>> shares = SharesOfOnes()
    >>> shares.add(bytes([0b01])), shares.add(bytes([0b11]))
    (None, None)
    >>> shares.at(np.array([0, 1])).tolist()
    [0.75, 0.5]
    """

    def __init__(self) -> None:
        self._ones, self._bits = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.sketches = 0

    def add(self, packed: bytes) -> None:
        """Count one more sketch."""
        self._count(packed, 1)

    def remove(self, packed: bytes) -> None:
        """Count a sketch no longer."""
        self._count(packed, -1)

    def at(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the share of ones at some places, as if two more sketches had been seen, one of them with ones."""
        known = places < self._ones.size
        ones, bits = np.ones(places.size), np.full(places.size, 2.0)
        ones[known] += self._ones[places[known]]
        bits[known] += self._bits[places[known]]
        shares: NDArray[np.float64] = ones / bits
        return shares

    def _count(self, packed: bytes, sign: int) -> None:
        row = _unpacked(packed)
        if row.size > self._ones.size:
            more = row.size - self._ones.size
            self._ones, self._bits = np.pad(self._ones, (0, more)), np.pad(self._bits, (0, more))
        self._ones[: row.size] += sign * row.astype(np.int64)
        self._bits[: row.size] += sign
        self.sketches += sign


class Likeness:
    """How like a given sketch others are.

    >>> Likeness(bytes([0b11]), SharesOfOnes()).scores([bytes([0b11]), bytes([0b10]), bytes([0b100])]).round(2).tolist()
    [0.69, 0.0, -0.69]
    """

    def __init__(self, packed: bytes, shares: SharesOfOnes) -> None:
        self._ones = np.flatnonzero(_unpacked(packed))
        expected = shares.at(self._ones)
        self._weights = -np.log(expected)
        self._by_chance = np.concatenate([[0.0], np.cumsum(self._weights * expected)])

    def scores(self, sketches: Sequence[bytes]) -> NDArray[np.float64]:
        """Return one number per packed sketch; about 0 for sketches that have nothing to do with the given one."""
        length = max((len(packed) for packed in sketches), default=0)
        rows = b"".join(packed.ljust(length, b"\0") for packed in sketches)
        matrix = np.frombuffer(rows, dtype=np.uint8).reshape(len(sketches), length)
        n_shared = np.searchsorted(self._ones, 8 * np.array([len(packed) for packed in sketches], dtype=np.intp))
        ones = self._ones[: np.searchsorted(self._ones, 8 * length)]
        bits = np.take(matrix, ones >> 3, axis=1) >> (ones & 7).astype(np.uint8) & np.uint8(1)
        scores: NDArray[np.float64] = bits.astype(np.float64) @ self._weights[: ones.size] - self._by_chance[n_shared]
        return scores


def _unpacked(packed: bytes) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
