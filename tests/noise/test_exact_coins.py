from decimal import Decimal, getcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hetdp.core.randomness import seeded_stream
from hetdp.noise.exact_coins import (
    bernoulli,
    binary_digits,
    complement,
    exponential,
    logistic,
    magnify,
    ratio,
)

exponents = st.fractions(min_value=0, max_value=200, max_denominator=10**6)


@pytest.fixture(autouse=True)
def high_precision():
    before = getcontext().prec
    getcontext().prec = 200
    yield
    getcontext().prec = before


def decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


@settings(max_examples=60, deadline=None)
@given(exponent=exponents, bits=st.integers(1, 300))
def test_bounds_enclose_the_true_value_and_close_in(exponent, bits):
    one = Decimal(2) ** bits
    power = (-decimal(exponent)).exp()
    for probability, truth in (
        (exponential(exponent), power),
        (logistic(exponent), power / (1 + power)),
        (complement(exponential(exponent)), 1 - power),
    ):
        low, high = probability(bits)
        assert Decimal(low) <= truth * one <= Decimal(high)
        assert high - low <= 4


@settings(max_examples=60, deadline=None)
@given(exponent=exponents.filter(bool), bits=st.integers(1, 200))
def test_binary_digits_are_the_floor(exponent, bits):
    digits = binary_digits(exponential(exponent), bits)
    truth = (-decimal(exponent)).exp() * Decimal(2) ** bits
    assert Decimal(digits) <= truth < Decimal(digits) + 1


def test_large_exponents_and_zero():
    assert binary_digits(exponential(Fraction(10**9)), 128) == 0
    assert exponential(Fraction(0))(64)[1] == 2**64
    assert binary_digits(ratio(Fraction(3, 8)), 3) == 3
    assert binary_digits(magnify(ratio(Fraction(1, 1024)), 10), 8) == 256


def test_bernoulli_has_the_right_frequency():
    stream = seeded_stream(5)
    probability = exponential(Fraction(1))
    heads = sum(bernoulli(probability, stream) for _ in range(4000))
    # 6 standard deviations: false-alarm rate below 1e-8.
    assert abs(heads - 4000 * 0.36788) < 6 * (4000 * 0.2326) ** 0.5


def test_bernoulli_uses_later_digits_once_the_first_ones_are_known_to_agree():
    # p = 2**-64 * 3/4: given that the first 64 digits agree (all zero), heads has probability 3/4.
    stream = seeded_stream(6)
    probability = ratio(Fraction(3, 4) / 2**64)
    heads = sum(bernoulli(probability, stream, skip_bits=64) for _ in range(2000))
    assert abs(heads - 1500) < 6 * (2000 * 0.1875) ** 0.5
