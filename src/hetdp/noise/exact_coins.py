"""Exact coins: probabilities known to any number of bits, and coins that land exactly so.

A probability such as 1/(1+exp(x)) is irrational, so no machine number equals it. What a fair decision needs is its
binary expansion, digit by digit, as far as the random bits make us look. No decision is ever rounded: all is integer
arithmetic, and floats decide only where their proved error cannot matter. The argument is in docs/proofs/noise.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream

#: Given a number of bits b, integers lo and hi with lo <= 2**b * p <= hi, closing in on p as b grows.
Probability = Callable[[int], tuple[int, int]]
Words = NDArray[np.uint64]

_WORD_BITS = 64
_ALL_BITS = 2**64 - 1


def exponential(exponent: Fraction) -> Probability:
    """Return exp(-exponent), for a rational exponent >= 0.

    Halve the exponent below 1/2, sum the alternating Taylor series in fixed point, square back. Every rounding is
    counted: a truncated term is off by less than 2, and squaring rounds the two ends outward.
    """

    def bounds(bits: int) -> tuple[int, int]:
        if exponent >= bits:
            return 0, 1  # exp(-bits) < 2**-bits
        halvings = max(0, (2 * exponent.numerator // exponent.denominator).bit_length()) if exponent else 0
        precision = bits + 2 * halvings + 16
        step = exponent / 2**halvings
        term = total = 1 << precision
        count = 0
        while term:
            count += 1
            term = term * step.numerator // (step.denominator * count)
            total += -term if count % 2 else term
        low, high = total - 2 * count - 2, total + 2 * count + 2
        for _ in range(halvings):
            low, high = max(low, 0) ** 2 >> precision, -(-(high**2) >> precision)
        return max(low, 0) >> (precision - bits), min(-(-high >> (precision - bits)), 1 << bits)

    return lru_cache(maxsize=8)(bounds)


def logistic(exponent: Fraction) -> Probability:
    """Return 1 / (1 + exp(exponent)), for a rational exponent >= 0."""
    power = exponential(exponent)

    def bounds(bits: int) -> tuple[int, int]:
        low, high = power(bits + 2)
        one = 1 << (bits + 2)
        return (low << bits) // (one + low), -(-(high << bits) // (one + high))

    return bounds


def complement(probability: Probability) -> Probability:
    """Return 1 - probability."""

    def bounds(bits: int) -> tuple[int, int]:
        low, high = probability(bits)
        return (1 << bits) - high, (1 << bits) - low

    return bounds


def ratio(value: Fraction) -> Probability:
    """Return the rational number `value` itself as a probability."""

    def bounds(bits: int) -> tuple[int, int]:
        scaled = value * (1 << bits)
        return scaled.__floor__(), scaled.__ceil__()

    return bounds


def times(probability: Probability, factor: Fraction) -> Probability:
    """Return factor * probability, which must be at most 1."""
    extra = max(0, factor.numerator.bit_length() - factor.denominator.bit_length() + 1)

    def bounds(bits: int) -> tuple[int, int]:
        low, high = probability(bits + extra)
        whole = factor.denominator << extra
        return low * factor.numerator // whole, min(-(-high * factor.numerator // whole), 1 << bits)

    return bounds


def binary_digits(probability: Probability, bits: int) -> int:
    """Return floor(2**bits * probability), certified: precision grows until both bounds agree.

    It ends because the probabilities that need rounding are irrational, hence never on a boundary of their digits.
    """
    extra = 32
    while True:
        low, high = probability(bits + extra)
        # The bound above is never attained, unless the two agree: so a probability just below 1 needs no more digits.
        if low == high or low >> extra == (high - 1) >> extra:
            return low >> extra
        extra *= 2


def bernoulli(probability: Probability, stream: Stream, *, skip_bits: int = 0) -> bool:
    """Toss a coin that lands True with exactly the given probability.

    A uniform real number in [0, 1), drawn 64 bits at a time, is compared with the expansion of the probability until
    they differ. `skip_bits` leading digits are taken as already found equal.
    """
    known = skip_bits
    while True:
        digits = binary_digits(probability, known + _WORD_BITS) & _ALL_BITS
        word = int(stream.words(1)[0])
        if word != digits:
            return word < digits
        known += _WORD_BITS


def finish(probability: Probability, head: int, bits: int, stream: Stream) -> bool:
    """Finish a toss: `head` is the first `bits` bits of the uniform number, and what else it takes is drawn."""
    digits = binary_digits(probability, bits)
    return head < digits if head != digits else bernoulli(probability, stream, skip_bits=bits)


# --- A coin per lane, each of its own kind ---------------------------------------------------------------------------


def toss_kinds(kinds: Sequence[Probability], which: NDArray[np.intp], stream: Stream) -> NDArray[np.bool_]:
    """Toss one coin per lane; lane i has the probability `kinds[which[i]]`.

    A random word is compared with the first 64 digits of the probability; where all agree, exact arithmetic goes on.
    """
    digits = [binary_digits(kind, _WORD_BITS) for kind in kinds]
    certain = np.array([digit >> _WORD_BITS for digit in digits], dtype=np.bool_)
    thresholds = np.array([digit & _ALL_BITS for digit in digits], dtype=np.uint64)[which]
    words = stream.words(which.size)
    outcome: NDArray[np.bool_] = (words < thresholds) | certain[which]
    for lane in np.flatnonzero((words == thresholds) & ~certain[which]):
        outcome[lane] = bernoulli(kinds[which[lane]], stream, skip_bits=_WORD_BITS)
    return outcome


def choose_one(eligible: NDArray[np.bool_], stream: Stream) -> int:
    """Return a uniformly random position among the eligible ones.

    Every position draws a priority, eligible or not, so that the number of random words tells nothing; the largest
    eligible priority wins. A tie for the largest, of probability below 2**-64 times a square, is drawn again.
    """
    while True:
        priorities = stream.words(eligible.size)
        candidates = priorities[eligible]
        winners = np.flatnonzero(eligible & (priorities == candidates.max()))
        if winners.size == 1:
            return int(winners[0])


#: Floats decide in `survive` where they are certain: they are off by less than this (docs/proofs/noise.md).
_FLOAT_ERROR = 2.0**-40


def survive(rough: NDArray[np.float64], exact: Callable[[int], Fraction], stream: Stream) -> NDArray[np.bool_]:
    """Toss one coin of probability exp(-g) per lane.

    `rough` holds the exponents g >= 0, each off by less than 2**-41 where it is below 64; above, only "large" matters.
    `exact` gives the exponent of a lane as an exact fraction, and is hardly ever called. Without these calls, the
    number of random words does not depend on the exponents.
    """
    words = stream.words(rough.size)
    heads = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    # exp(-512 * x) is Taylor's series of exp(-x), squared nine times.
    x = np.minimum(rough, 64.0) / 512
    powers = 1 - x * (1 - x * (1 / 2 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120 - x * (1 / 720 - x / 5040))))))
    for _ in range(9):
        powers *= powers
    alive: NDArray[np.bool_] = heads < powers
    for lane in np.flatnonzero(np.abs(heads - powers) <= _FLOAT_ERROR):
        alive[lane] = finish(exponential(exact(int(lane))), int(words[lane]), _WORD_BITS, stream)
    return alive


# --- The same coins for 64 lanes at once ------------------------------------------------------------------------------
#
# A slice is a 64-bit word that holds one coin for each of 64 lanes (samples). A coin with probability p = 0.b1b2b3...
# lands True when a uniform real number u = 0.u1u2u3... is below p; the first digit where they differ decides. One
# random word supplies one digit of u for all 64 lanes, so that `ROUNDS` words settle all but 2**-ROUNDS of the lanes
# with a few bit operations. Each lane left over draws 64 more digits of its own; where even those agree with p,
# `bernoulli` goes on.

ROUNDS = 8
TAIL_BITS = 64
#: Words of 64 lanes handled together: large enough to amortise calls, small enough for the cache.
CHUNK_WORDS = 512

_ONES = np.uint64(_ALL_BITS)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@dataclass(frozen=True)
class Coins:
    """A row of coins: the digits that the kernels compare, and the probabilities for the exact continuation."""

    probabilities: tuple[Probability, ...]
    heads: Words
    tails: Words
    tail_bits: int

    @classmethod
    def of(cls, probabilities: Sequence[Probability], *, tail_bits: int = TAIL_BITS) -> "Coins":
        """Expand each probability to `ROUNDS` + `tail_bits` digits. A small `tail_bits` corners the slow path."""
        digits = [binary_digits(probability, ROUNDS + tail_bits) for probability in probabilities]
        mask = (1 << tail_bits) - 1
        return cls(
            probabilities=tuple(probabilities),
            heads=np.array([digit >> tail_bits for digit in digits], dtype=np.uint64),
            tails=np.array([digit & mask for digit in digits], dtype=np.uint64),
            tail_bits=tail_bits,
        )


def toss(coins: Coins, words: int, stream: Stream) -> Words:
    """Toss every coin for 64 * `words` lanes; row j of the result holds the outcomes of coin j."""
    count = len(coins.probabilities)
    shape = (count, words)
    bits, pending = np.empty(shape, np.uint64), np.empty(shape, np.uint64)
    random = stream.words(count * ROUNDS * words).reshape(count, ROUNDS, words)
    kernel(compare, words)(coins.heads, random, bits, pending)
    extra = stream.words(int(np.bitwise_count(pending).sum(dtype=np.int64)))
    extra >>= np.uint64(TAIL_BITS - coins.tail_bits)
    tied = np.empty(shape, np.uint64)
    if kernel(settle, words)(pending, extra, coins.tails, bits, tied):
        for place, lane in marked_lanes(tied):
            if bernoulli(coins.probabilities[place // words], stream, skip_bits=ROUNDS + coins.tail_bits):
                bits.reshape(-1)[place] |= _ONE << np.uint64(lane)
    return bits


def marked_lanes(words: Words) -> list[tuple[int, int]]:
    """Return the bits that are set: the position of the word and of the bit, in order."""
    bits = np.unpackbits(words.astype("<u8").reshape(-1).view(np.uint8), bitorder="little")
    return [divmod(int(bit), _WORD_BITS) for bit in np.flatnonzero(bits)]


def compare(heads: Words, random: Words, bits: Words, pending: Words) -> None:
    """Kernel: compare `ROUNDS` digits in all lanes; `pending` marks the lanes in which all of them agree."""
    for coin in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            undecided = _ONES
            below = _ZERO
            for digit in range(ROUNDS):
                expected = ((heads[coin] >> np.uint64(ROUNDS - 1 - digit)) & _ONE) * _ONES
                differs = random[coin, digit, word] ^ expected
                below |= undecided & differs & expected
                undecided &= ~differs
            bits[coin, word] = below
            pending[coin, word] = undecided


def settle(pending: Words, extra: Words, tails: Words, bits: Words, tied: Words) -> int:
    """Kernel: give each pending lane a word of digits of its own; `tied` marks lanes that agree even there."""
    used = 0
    ties = 0
    for coin in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            left = pending[coin, word]
            tied[coin, word] = _ZERO
            while left != _ZERO:
                rest = left & (left - _ONE)
                lane = left ^ rest
                if extra[used] < tails[coin]:
                    bits[coin, word] |= lane
                elif extra[used] == tails[coin]:
                    tied[coin, word] |= lane
                    ties += 1
                used += 1
                left = rest
    return ties


def transpose(rows: Words, out: NDArray[np.int64]) -> None:
    """Kernel: turn slices into numbers. Row j holds bit j of every lane; there are 8, 16, 32 or 64 rows.

    Square blocks of bits are transposed in place by swapping ever smaller halves; then every word holds
    64 / len(rows) numbers side by side, which are sign-extended and written out. Lanes come out in another order
    than they went in (`lane_position`), which independent samples do not mind.
    """
    width, words = rows.shape
    half = width >> 1
    while half:
        shift = np.uint64(half)
        mask = _ONES
        for bit in range(64):
            if bit & half:
                mask ^= _ONE << np.uint64(bit)
        for row in range(width):
            if row & half == 0:
                upper, lower = rows[row], rows[row + half]
                for word in range(words):
                    swap = ((upper[word] >> shift) ^ lower[word]) & mask
                    lower[word] ^= swap
                    upper[word] ^= swap << shift
        half >>= 1
    signed = rows.view(np.int64)
    spare = np.int64(64 - width)
    place = 0
    for row in range(width):
        for part in range(64 // width):
            left = np.int64(64 - width * (part + 1))
            source, target = signed[row], out[place : place + words]
            for word in range(words):
                target[word] = (source[word] << left) >> spare
            place += words


def lane_position(lane: int, word: int, width: int, words: int) -> int:
    """Where `transpose` writes the number of a lane."""
    part, row = divmod(lane, width)
    return (row * (64 // width) + part) * words + word


# --- Kernels, compiled or not -----------------------------------------------------------------------------------------

#: Up to here the interpreter is quicker than loading the compiled kernels.
_INTERPRET_WORDS = 64
_INTERPRET_TOTAL = 3_000


class _Kernels:
    """The kernels, compiled when the work is worth the wait: for one large draw, or after many small ones.

    One release needs one sample, and should not have to wait for a compiler.
    """

    def __init__(self) -> None:
        self.compiled: dict[str, Callable[..., Any]] = {}
        self.interpreted_words = 0.0

    def get(self, function: Callable[..., Any], words: float) -> Callable[..., Any]:
        if function.__name__ in self.compiled:
            return self.compiled[function.__name__]
        self.interpreted_words += words
        if words <= _INTERPRET_WORDS and self.interpreted_words <= _INTERPRET_TOTAL:
            return function
        from hetdp.core.compiled import kernel as compiled

        return self.compiled.setdefault(function.__name__, compiled(function))


_kernels = _Kernels()


def kernel(function: Callable[..., Any], words: float) -> Callable[..., Any]:
    """Return the kernel to use for a number of words of 64 samples: as it is, or compiled."""
    return _kernels.get(function, words)
