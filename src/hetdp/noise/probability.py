"""Probabilities known to any number of bits, and coins that land exactly so.

A probability such as 1/(1+exp(x)) is irrational, so no machine number equals it. What a fair decision needs is its
binary expansion, digit by digit, as far as the random bits make us look. Everything here is integer arithmetic.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hetdp.core.randomness import Stream

__all__ = [
    "Probability",
    "bernoulli",
    "binary_digits",
    "complement",
    "exponential",
    "logistic",
    "magnify",
    "ratio",
]

#: Given a number of bits b, integers lo and hi with lo <= 2**b * p <= hi, closing in on p as b grows.
Probability = Callable[[int], tuple[int, int]]


def exponential(exponent: Fraction) -> Probability:
    """Return exp(-exponent), for a rational exponent >= 0.

    Halve the exponent below 1/2, sum the alternating Taylor series in fixed point, square back. Every rounding is
    counted: a truncated term is off by less than 2, and squaring rounds the two ends outward.
    """

    def bounds(bits: int) -> tuple[int, int]:
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


def magnify(probability: Probability, power: int) -> Probability:
    """Return 2**power * probability, which must be at most 1."""

    def bounds(bits: int) -> tuple[int, int]:
        low, high = probability(bits + power)
        return low, min(high, 1 << bits)

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

    Compares a uniform real number in [0, 1), drawn 64 bits at a time, with the expansion of the probability, until
    they differ. `skip_bits` leading digits are taken as already found equal.
    """
    known = skip_bits
    while True:
        digits = binary_digits(probability, known + 64) & (2**64 - 1)
        word = int(stream.words(1)[0])
        if word != digits:
            return word < digits
        known += 64
