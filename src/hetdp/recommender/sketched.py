"""Evidence from sketches: nobody is trusted, everybody publishes noisy bits, and all of them are summed.

Sums are whole numbers, and a person's bits belong to the person (`sketching.drawing`): so parts add up to the same, bit
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
from hetdp.profiles.steps import CodedProfiles
from hetdp.recommender.model import Evidence
from hetdp.recommender.parts import Learning, Part
from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one, contrast
from hetdp.sketching.drawing import PeopleBits
from hetdp.sketching.reading import items_behind

#: People whose sketches are compared together, in words of 64; and those drawn at a time.
_WORDS = 512
_DRAWN_WORDS = 32
#: Rows with a power of two of words would all fall into the same few lines of a cache.
_PADDING = 8
_TILE = 64


def bit_spread(epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> float:
    """Return the variance of a bit once it is made unbiased; a pair of N people has N times its square."""
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    return q * (1.0 - q) / contrast(epsilon, tuned_for=tuned_for) ** 2


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

    def evidence(self, epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> Evidence:
        """Return what the sums say, once the noise that everybody knows is taken out."""
        q, c = chance_of_one(epsilon, tuned_for=tuned_for), contrast(epsilon, tuned_for=tuned_for)
        n, spread = self.n_people, bit_spread(epsilon, tuned_for)
        counts = items_behind(self.ones, n, epsilon, tuned_for=tuned_for)
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
    """What some people add: sums of published bits.

    Attributes
    ----------
    n_people
        How many sketches there are.
    ones
        How many of them show each item of the catalogue.
    pairs
        How many of them show both of two items of the head; empty in a pass that only counts.
    """

    n_people: int
    ones: NDArray[np.int64]
    pairs: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"PartSums({self.ones.size} items, {self.pairs.shape[0]} of them related)"

    def __add__(self, other: "PartSums") -> "PartSums":
        return PartSums(self.n_people + other.n_people, self.ones + other.ones, self.pairs + other.pairs)


@dataclass(frozen=True, eq=False, repr=False)
class SketchWork:
    """What is done with a part, on whatever machine: its people's sketches are drawn and summed.

    Holds the secret of the fit: the machine that does the work must be trusted like the curator of the profiles.
    """

    secret: bytes
    epsilon: Fraction
    head: NDArray[np.int32]
    threads: int

    def __call__(self, part: Part) -> PartSums:
        """Return the sums of a part."""
        bits = PeopleBits(self.secret, epsilon=self.epsilon, n_items=part.coded.n_items)
        if part.keys is None:
            raise InvalidInput("A part must hold the keys of its people, for their sketches")
        return sum_part(bits, part.keys, part.coded, self.head, threads=self.threads)


def sum_part(
    bits: PeopleBits,
    keys: NDArray[np.uint64],
    part: CodedProfiles,
    head: NDArray[np.int32],
    *,
    threads: int = 1,
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

    Examples
    --------
    >>> from hetdp.sketching.drawing import person_keys
    >>> part = CodedProfiles(np.zeros(101, dtype=np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), 3)
    >>> bits = PeopleBits(bytes(32), epsilon=Fraction(1), n_items=3)
    >>> found = sum_part(bits, person_keys(bytes(32), range(100)), part, np.array([0, 2], dtype=np.int32))
    >>> bool((found.pairs.diagonal() == found.ones[[0, 2]]).all())
    True
    """
    from hetdp.recommender import _kernels

    size = _even(head.size)
    pairs = np.zeros((size, size), dtype=np.int64)
    places = np.full(part.n_items, -1, dtype=np.int64)
    places[head] = np.arange(head.size)
    ones = np.zeros(part.n_items, dtype=np.int64)
    shown = np.zeros((size, min(_WORDS, -(-part.n_users // 64)) + _PADDING), dtype=np.uint64)
    with _mapping(threads) as apply:
        for begin in range(0, part.n_users, 64 * _WORDS):
            block = slice(begin, min(begin + 64 * _WORDS, part.n_users))
            ones += sum(apply(_drawing(bits, keys[block], _rows(part, block), places, shown), _blocks(block)))
            words = -(-(block.stop - begin) // 64)
            for _ in apply(partial(_kernels.count_pairs, shown, words, pairs), range(0, size, _TILE)):
                pass  # it is done when it is asked for
    _kernels.mirror(pairs)
    return PartSums(part.n_users, ones, pairs[: head.size, : head.size])


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
        tile = np.empty(64, dtype=np.uint64)
        _kernels.turn(bits.words(keys[block], _rows(part, block)), places, ones, shown, begin // 64, tile)
        return ones

    return draw


class SketchLearning(Learning):
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
        self.epsilon, self.n_items = epsilon, n_items
        self._secret = stream.key()
        self._threads = threads
        self._head = np.empty(0, dtype=np.int32)
        self._counted: PartSums | None = None
        self._added: PartSums | None = None

    def __repr__(self) -> str:
        return f"SketchLearning({self.n_items} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "sketches cannot be pickled: their key must stay here"
        raise TypeError(message)

    def work(self, head: NDArray[np.int32] | None) -> Callable[[Part], PartSums]:
        """Return what is to be done with a part; `head` is where the items to relate are in the catalogue."""
        self._head = np.empty(0, dtype=np.int32) if head is None else head
        return SketchWork(self._secret, self.epsilon, self._head, self._threads)

    def take(self, sums: PartSums) -> None:
        """Add the sums of some people; without pairs, they are those of a first pass."""
        if sums.pairs.size:
            self._added = sums if self._added is None else self._added + sums
        else:
            self._counted = sums if self._counted is None else self._counted + sums

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, from published bits."""
        last = self._added or self._counted or _nobody(self.n_items)
        return items_behind(last.ones, last.n_people, self.epsilon)

    def evidence(self) -> Evidence:
        """Return what all sketches say about the head."""
        added, counted = self._added, self._counted
        if added is None:
            raise InvalidInput("A model must be learned from at least one part")
        if counted is not None and not np.array_equal(counted.ones, added.ones):
            raise DataError(
                "The files hold other rows than when they were first read",
                hint="Wait until nobody writes to the files, and learn again.",
            )
        self._counted = None  # people who come from now on were not there to be counted
        return SketchSums(added.n_people, added.ones[self._head], added.pairs).evidence(self.epsilon)


def _nobody(n_items: int) -> PartSums:
    return PartSums(0, np.zeros(n_items, dtype=np.int64), np.zeros((0, 0), dtype=np.int64))


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
