"""64 exact coins at once: random words compared, bit-sliced, with the binary expansion of each probability.

A slice is a 64-bit word that holds one coin for each of 64 lanes (samples). A coin with probability p = 0.b1b2b3...
lands True when a uniform real number u = 0.u1u2u3... is below p; the first digit where they differ decides. One random
word supplies one digit of u for all 64 lanes, so that `ROUNDS` words settle all but 2**-ROUNDS of the lanes with a few
bit operations. Each lane left over draws 64 more digits of its own; where even those agree with p, exact integer
arithmetic goes on (`probability.bernoulli`). No decision is ever rounded. The argument is in docs/proofs/noise.md.

The same functions run compiled (numba) for large draws and interpreted for small ones: one release needs one sample,
and should not have to wait for a compiler.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.noise.probability import Probability, bernoulli, binary_digits

__all__ = ["CHUNK_WORDS", "Coins", "lane_position", "toss", "transpose"]

Words = NDArray[np.uint64]

ROUNDS = 8
TAIL_BITS = 64
#: Words of 64 lanes handled together: large enough to amortise calls, small enough for the cache.
CHUNK_WORDS = 256
#: Up to here the interpreter is quicker than loading the compiled kernels.
_INTERPRET_WORDS = 16
_INTERPRET_TOTAL = 600

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
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
        _settle_exactly(coins, bits, tied, stream)
    return bits


def compare(heads: Words, random: NDArray[np.uint64], bits: NDArray[np.uint64], pending: NDArray[np.uint64]) -> None:
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


def settle(
    pending: NDArray[np.uint64],
    extra: Words,
    tails: Words,
    bits: NDArray[np.uint64],
    tied: NDArray[np.uint64],
) -> int:
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


def transpose(rows: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
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
                for word in range(words):
                    swap = ((rows[row, word] >> shift) ^ rows[row + half, word]) & mask
                    rows[row + half, word] ^= swap
                    rows[row, word] ^= swap << shift
        half >>= 1
    signed = rows.view(np.int64)
    spare = np.int64(64 - width)
    place = 0
    for row in range(width):
        for part in range(64 // width):
            left = np.int64(64 - width * (part + 1))
            for word in range(words):
                out[place + word] = (signed[row, word] << left) >> spare
            place += words


def lane_position(lane: int, word: int, width: int, words: int) -> int:
    """Where `transpose` writes the number of a lane."""
    part, row = divmod(lane, width)
    return (row * (64 // width) + part) * words + word


def _settle_exactly(coins: Coins, bits: Words, tied: Words, stream: Stream) -> None:
    for coin, word in np.argwhere(tied):
        for lane in range(64):
            mark = _ONE << np.uint64(lane)
            if tied[coin, word] & mark and bernoulli(
                coins.probabilities[coin], stream, skip_bits=ROUNDS + coins.tail_bits
            ):
                bits[coin, word] |= mark


class _Kernels:
    """The kernels, compiled when the work is worth the wait: for one large draw, or after many small ones."""

    def __init__(self) -> None:
        self.compiled: dict[str, Callable[..., Any]] = {}
        self.interpreted_words = 0

    def get(self, function: Callable[..., Any], words: int) -> Callable[..., Any]:
        if function.__name__ in self.compiled:
            return self.compiled[function.__name__]
        self.interpreted_words += words
        if words <= _INTERPRET_WORDS and self.interpreted_words <= _INTERPRET_TOTAL:
            return function
        from numba import njit

        return self.compiled.setdefault(function.__name__, njit(cache=True)(function))


_kernels = _Kernels()


def kernel(function: Callable[..., Any], words: int) -> Callable[..., Any]:
    """Return the kernel to use for so many words: as it is, or compiled."""
    return _kernels.get(function, words)
