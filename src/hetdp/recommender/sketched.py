"""Evidence from sketches: nobody is trusted, everybody publishes noisy bits, and all of them are summed.

Sums are whole numbers, and a person's bits belong to the person (`sketching.people`): so parts add up to the same, bit
for bit, in any order, in any number of passes and on any number of workers.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.randomness import Stream
from hetdp.profiles.coded import CodedProfiles
from hetdp.recommender.evidence import Evidence
from hetdp.recommender.parts import Part, Participants
from hetdp.sketching.estimate import items_behind
from hetdp.sketching.law import chance_of_one, contrast
from hetdp.sketching.people import PeopleBits

__all__ = ["PartSums", "SketchLearning", "SketchSums", "sum_part"]

#: People whose sketches are compared together, in words of 64; and those drawn at a time.
_WORDS = 512
_DRAWN_WORDS = 32
#: Rows with a power of two of words would all fall into the same few lines of a cache.
_PADDING = 8
_TILE = 64


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

    Examples
    --------
    >>> one = SketchSums.of_bits(np.array([[True, True, False]]))
    >>> two = one + SketchSums.of_bits(np.array([[True, False, False], [True, True, True]]))
    >>> two.n_people, two.ones.tolist(), two.pairs[0].tolist()
    (3, [3, 2, 1], [3, 2, 1])
    """

    n_people: int
    ones: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @classmethod
    def of_bits(cls, bits: NDArray[np.bool_]) -> "SketchSums":
        """Return the sums of sketches, one row each."""
        from hetdp.recommender import _kernels

        people, size = bits.shape
        n_words = -(-people // 64)
        shown = np.zeros((_even(size), n_words), dtype=np.uint64)
        packed = np.packbits(bits.T, axis=1, bitorder="little")
        shown.view(np.uint8)[:size, : packed.shape[1]] = packed
        pairs = np.zeros((_even(size), _even(size)), dtype=np.int64)
        for first in range(0, size, _TILE):
            _kernels.count_pairs(shown, n_words, pairs, first)
        _kernels.mirror(pairs)
        return cls(people, pairs.diagonal()[:size].copy(), pairs[:size, :size])

    def __add__(self, other: "SketchSums") -> "SketchSums":
        return SketchSums(self.n_people + other.n_people, self.ones + other.ones, self.pairs + other.pairs)

    def evidence(self, epsilon: Fraction) -> Evidence:
        """Return what the sums say, once the noise that everybody knows is taken out."""
        q, c, n = chance_of_one(epsilon), contrast(epsilon), self.n_people
        spread = q * (1.0 - q) / c**2
        counts = items_behind(self.ones, n, epsilon)
        expected = q * (self.ones - n * q / 2.0)
        gram = self.pairs.astype(np.float64)
        gram -= expected[:, None]
        gram -= expected
        gram /= c**2
        np.fill_diagonal(gram, counts)
        size = counts.size
        edge = spread * (2.0 * math.sqrt(n * size) + size)
        return Evidence(counts, gram, edge, noise=n * spread**2, count_noise=n * spread)


@dataclass(frozen=True, eq=False)
class PartSums:
    """What one part adds: sums of published bits, and, never to be shown, who its people are.

    Attributes
    ----------
    keys
        Of its people, by the secret of the fit.
    ones
        How many of them show each item of the catalogue.
    pairs
        How many of them show both of two items of the head; empty in a pass that only counts.
    """

    keys: NDArray[np.uint64]
    ones: NDArray[np.int64]
    pairs: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"PartSums({self.ones.size} items, {self.pairs.shape[0]} of them related)"


def sum_part(
    bits: PeopleBits,
    keys: NDArray[np.uint64],
    part: CodedProfiles,
    head: NDArray[np.int32],
    *,
    threads: int = 1,
    pairs: NDArray[np.int64] | None = None,
) -> PartSums:
    """Return the sums over the sketches of some people; without a head, only how many ones there are.

    Parameters
    ----------
    bits
        Draws them.
    keys, part
        Who they are, and their profiles on the catalogue.
    head
        Where the items to relate are in the catalogue.
    threads
        How many blocks are worked on at a time. The result does not depend on it.
    pairs
        Sums of earlier parts with the same head, to be added to in place.

    Examples
    --------
    >>> from hetdp.sketching.people import person_keys
    >>> part = CodedProfiles(np.zeros(101, dtype=np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), 3)
    >>> bits = PeopleBits(bytes(32), epsilon=Fraction(1), n_items=3)
    >>> found = sum_part(bits, person_keys(bytes(32), range(100)), part, np.array([0, 2], dtype=np.int32))
    >>> bool((found.pairs.diagonal() == found.ones[[0, 2]]).all())
    True
    """
    from hetdp.recommender import _kernels

    if pairs is None:
        pairs = np.zeros((head.size, head.size), dtype=np.int64)
    size = _even(head.size)
    sums = pairs if size == head.size else np.zeros((size, size), dtype=np.int64)
    places = np.full(part.n_items, -1, dtype=np.int64)
    places[head] = np.arange(head.size)
    ones = np.zeros(part.n_items, dtype=np.int64)
    shown = np.zeros((size, min(_WORDS, -(-part.n_users // 64)) + _PADDING), dtype=np.uint64)
    with _mapping(threads) as apply:
        for begin in range(0, part.n_users, 64 * _WORDS):
            block = slice(begin, min(begin + 64 * _WORDS, part.n_users))
            ones += sum(apply(_drawing(bits, keys[block], _rows(part, block), places, shown), _blocks(block)))
            words = -(-(block.stop - begin) // 64)
            for _ in apply(partial(_kernels.count_pairs, shown, words, sums), range(0, size, _TILE)):
                pass  # it is done when it is asked for
    _kernels.mirror(sums)
    if sums is not pairs:
        pairs += sums[: head.size, : head.size]
    return PartSums(keys, ones, pairs)


def _blocks(people: slice) -> range:
    """Return where blocks begin that are drawn at a time, from the first person on."""
    return range(0, people.stop - people.start, 64 * _DRAWN_WORDS)


def _drawing(
    bits: PeopleBits,
    keys: NDArray[np.uint64],
    part: CodedProfiles,
    places: NDArray[np.int64],
    shown: NDArray[np.uint64],
) -> Callable[[int], NDArray[np.int64]]:
    """Return what draws a block of people from some place on, writes what they show, and returns the ones."""
    from hetdp.recommender import _kernels

    def draw(begin: int) -> NDArray[np.int64]:
        block = slice(begin, min(begin + 64 * _DRAWN_WORDS, part.n_users))
        ones = np.zeros(part.n_items, dtype=np.int64)
        _kernels.turn(bits.words(keys[block], _rows(part, block)), places, ones, shown, begin // 64)
        return ones

    return draw


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
    threads
        How many blocks of people are worked on at a time.

    Privacy
    -------
    Only sums of published bits are kept. Each person publishes one sketch; the secret makes it the same in each pass.
    """

    def __init__(self, epsilon: Fraction, n_items: int, stream: Stream, *, threads: int = 1) -> None:
        self.epsilon = epsilon
        self._secret = stream.key()
        self._bits = PeopleBits(self._secret, epsilon=epsilon, n_items=n_items)
        self._threads = threads
        self._counted, self._added = _Pass(self._secret, n_items), _Pass(self._secret, n_items)
        self._head = np.empty(0, dtype=np.int32)
        self._pairs: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"SketchLearning({self._bits.n_items} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "sketches cannot be pickled: their key must stay here"
        raise TypeError(message)

    def count(self, part: Part) -> None:
        """Count the ones of a part, for the choice of a head; `add` must follow, with the same people."""
        keys = self._counted.people.add(part.user_ids)
        self._counted.ones += sum_part(self._bits, keys, part.coded, self._head[:0], threads=self._threads).ones

    def add(self, part: Part, head: NDArray[np.int32]) -> None:
        """Add the sketches of a part."""
        keys = self._added.people.add(part.user_ids)
        found = sum_part(self._bits, keys, part.coded, head, threads=self._threads, pairs=self._pairs)
        self._head, self._pairs = head, found.pairs
        self._added.ones += found.ones

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, from published bits."""
        last = self._added if len(self._added.people) else self._counted
        return items_behind(last.ones, len(last.people), self.epsilon)

    def evidence(self) -> Evidence:
        """Return what all sketches say about the head."""
        if self._pairs is None:
            raise InvalidInput("a model must be learned from at least one part. Got none instead.")
        if len(self._counted.people) and not self._counted.is_like(self._added):
            raise DataError(
                "the parts must hold the same people and items whenever they are read. Got something else the second "
                "time instead. Wait until nobody writes to the files, and learn again."
            )
        self._counted = _Pass(self._secret, self._bits.n_items)  # whoever comes from now on was not there to be counted
        added = self._added
        return SketchSums(len(added.people), added.ones[self._head], self._pairs).evidence(self.epsilon)


class _Pass:
    """What one pass over the parts has seen so far."""

    def __init__(self, secret: bytes, n_items: int) -> None:
        self.people = Participants(secret)
        self.ones = np.zeros(n_items, dtype=np.int64)

    def is_like(self, other: "_Pass") -> bool:
        """Return whether another has seen the same."""
        return self.people.are(other.people) and np.array_equal(self.ones, other.ones)


@contextlib.contextmanager
def _mapping(threads: int) -> Iterator[Any]:
    """Give a `map` that works here, or on several threads; results come in order."""
    if threads == 1:
        yield map
    else:
        with ThreadPoolExecutor(threads) as pool:
            yield pool.map


def _rows(part: CodedProfiles, people: slice) -> CodedProfiles:
    """Return the profiles of some people."""
    starts = part.indptr[people.start : people.stop + 1]
    pairs = slice(starts[0], starts[-1])
    return CodedProfiles(starts - starts[0], part.items[pairs], part.codes[pairs], part.n_items)


def _even(number: int) -> int:
    return number + number % 2
