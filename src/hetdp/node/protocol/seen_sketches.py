"""Copies: sketches that were not drawn by themselves. Two tests, with exact bounds on how often they are wrong.

*Everybody's.* Two sketches that were drawn independently differ in a bit with probability at least r = 2 p (1 - p), for
the p of a weight that makes it smallest, whatever is in the two profiles. So they differ in fewer bits than the
`NEVER` quantile of Binomial(D, r) with probability at most `NEVER`. Where r is so small that they may well not differ
at all, as for twins at a large epsilon, the test says nothing.

*The owner's.* The bits of items that did not count are ones by chance alone, with probability q each, and only their
owner knows which they are. Somebody else's sketch does not depend on them. So, given a sketch with m ones among these
places, how many of the m are ones of the owner's too is Binomial(m, q): exactly, whatever that sketch holds. A copy has
all of them in common. Who is wrong about a stranger's sketch does without it at home, and nothing else is lost. So this
test may be wrong with probability `SELDOM`, and tells copies of a part, too.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one

#: Whose sketch, and of which epoch.
Name: TypeAlias = tuple[bytes, int]
#: How often an honest sketch may be taken for a copy of another: by everybody, and by the owner of that.
NEVER, SELDOM = 1e-9, 1e-5
_WORD = 64


@lru_cache(maxsize=64)
def least_difference(epsilon: Fraction, size: int, tuned_for: Fraction = USUAL_TUNING) -> int:
    """Return in how many of `size` bits two sketches differ at least unless one is a copy; 0 where nothing tells.

    Examples
    --------
    >>> least_difference(Fraction(3), 50_000), least_difference(Fraction(3), 300), least_difference(Fraction(9), 300)
    (4138, 3, 0)
    """
    chances = [chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0)]
    differ = 2.0 * min(p * (1.0 - p) for p in chances)
    if differ <= 0.0:
        return 0
    # Each probability from the one before it, in logarithms, up to the mean: the quantile is far below that.
    done = np.arange(min(size, math.ceil(size * differ)))
    steps = np.log((size - done) / (done + 1)) + (math.log(differ) - math.log1p(-differ))
    law = np.exp(size * math.log1p(-differ) + np.concatenate([[0.0], np.cumsum(steps)]))
    return int(np.searchsorted(np.cumsum(law), NEVER, side="right"))


@lru_cache(maxsize=8)
def least_shared(most: int, chance: float) -> NDArray[np.int64]:
    """Return, for m = 0, ..., `most` ones, how many of them only a copy has in common with somebody's noise.

    That many or more are shared by an honest sketch with probability at most `SELDOM`. More than m say that m are too
    few to tell.

    Examples
    --------
    >>> least_shared(100, 0.05)[[3, 7, 10, 50, 100]].tolist()
    [4, 5, 6, 12, 17]
    """
    mean = most * chance
    width = min(most, math.ceil(mean + 8.0 * math.sqrt(mean) + 60.0)) + 2
    tails = np.zeros(width)  # P[at least k] for k = 0, 1, ..., one more coin at a time
    tails[0] = 1.0
    least = np.empty(most + 1, dtype=np.int64)
    for ones in range(most + 1):
        if ones:
            tails[1:] += chance * (tails[:-1] - tails[1:])
        rare = int(np.searchsorted(-tails, -SELDOM, side="left"))
        least[ones] = rare if rare < width else ones + 1
    least.flags.writeable = False
    return least


def packed_rows(sketches: Collection[bytes], size: int) -> NDArray[np.uint64]:
    """Return packed sketches as rows of words, the first `size` bits of each; what a shorter one lacks is 0.

    Examples
    --------
    >>> packed_rows([bytes([255]), bytes([255, 255])], 12).tolist()
    [[255], [4095]]
    """
    length = -(-size // 8)
    row_bytes = 8 * -(-size // _WORD)
    raw = b"".join(bits[:length].ljust(row_bytes, b"\0") for bits in sketches)
    rows = np.frombuffer(bytearray(raw), dtype="<u8").reshape(len(sketches), row_bytes // 8)
    if size % _WORD:
        rows[:, -1] &= np.uint64((1 << size % _WORD) - 1)
    return rows


def ones_of_rows(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many ones each row of words has.

    Examples
    --------
    >>> ones_of_rows(packed_rows([bytes([7]), bytes([255, 1])], 16)).tolist()
    [3, 9]
    """
    counts: NDArray[np.int64] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return counts


class _Pile:
    """Sketches of one length, with room for more."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.names: list[Name] = []
        self._rows = packed_rows([b""], size)

    def add(self, sketches: Mapping[Name, bytes]) -> None:
        begin = len(self.names)
        self.names += sketches
        if len(self.names) > len(self._rows):
            room = np.zeros((2 * len(self.names), self._rows.shape[1]), dtype=np.uint64)
            room[:begin] = self._rows[:begin]
            self._rows = room
        self._rows[begin : len(self.names)] = packed_rows(sketches.values(), self.size)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._rows = self._rows[: kept.size][kept]
        self.names = [name for name, stays in zip(self.names, kept.tolist(), strict=True) if stays]

    def differences(self, bits: bytes, size: int) -> NDArray[np.int64]:
        """Return in how many of the first `size` bits each sketch differs from one."""
        row = packed_rows([bits], size)[0]
        apart = self._rows[: len(self.names), : row.size] ^ row
        if size % _WORD:
            apart[:, -1] &= np.uint64((1 << size % _WORD) - 1)
        return ones_of_rows(apart)


class SeenSketches:
    """Sketches in the order in which they came, to find those that hardly differ from one. Public data only.

    Sketches of different lengths are compared on the places that they share. A comparison is a pass over packed bits:
    1,000 sketches of 50,000 bits take 4 ms.

    Examples
    --------
    >>> seen = SeenSketches(Fraction(3))
    >>> seen.add({(b"first", 0): bytes(100), (b"second", 0): bytes(100)}, 800)
    >>> seen.alike(bytes(99) + b"1", 800), seen.alike(bytes([85] * 100), 800)
    ([(b'first', 0), (b'second', 0)], [])
    """

    def __init__(self, epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> None:
        self._law = epsilon, tuned_for
        self._piles: dict[int, _Pile] = {}
        self._order: dict[Name, int] = {}
        self._came = 0

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._order)

    def add(self, sketches: Mapping[Name, bytes], size: int) -> None:
        """Remember packed sketches of a fixed number of bits; of two of one name, the first stays."""
        new = {name: bits for name, bits in sketches.items() if name not in self._order}
        self._order.update(zip(new, itertools.count(self._came), strict=False))
        self._came += len(new)
        self._piles.setdefault(size, _Pile(size)).add(new)

    def discard(self, names: Collection[Name]) -> None:
        """Forget some sketches."""
        gone = {name for name in names if self._order.pop(name, None) is not None}
        for pile in self._piles.values() if gone else ():
            pile.keep(np.array([name not in gone for name in pile.names], dtype=np.bool_))

    def alike(self, bits: bytes, size: int) -> list[Name]:
        """Return the names of those that differ from a sketch less than independent ones do; seen first, first."""
        epsilon, tuned_for = self._law
        found: list[Name] = []
        for pile in self._piles.values():
            shared = min(size, pile.size)
            least = least_difference(epsilon, shared, tuned_for)
            if least and pile.names:
                found += [pile.names[place] for place in np.flatnonzero(pile.differences(bits, shared) < least)]
        return sorted(found, key=self._order.__getitem__)
