from decimal import Decimal, getcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hetdp.core.randomness import seeded_stream
from hetdp.noise import exact_coins
from hetdp.noise.exact_coins import (
    bernoulli,
    binary_digits,
    complement,
    exponential,
    finish,
    logistic,
    ratio,
    survive,
    times,
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
    assert binary_digits(times(ratio(Fraction(1, 1024)), Fraction(2**10)), 8) == 256


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


def test_a_toss_is_finished_where_its_known_bits_do_not_decide_it():
    three_eighths = ratio(Fraction(3, 8))
    unused = SimpleNamespace(words=None)
    assert finish(three_eighths, 0b01, 2, SimpleNamespace(words=lambda _: np.array([2**63 - 1], dtype=np.uint64)))
    assert not finish(three_eighths, 0b01, 2, SimpleNamespace(words=lambda _: np.array([2**63 + 1], dtype=np.uint64)))
    assert finish(three_eighths, 0b00, 2, unused)
    assert not finish(three_eighths, 0b10, 2, unused)


@pytest.mark.parametrize("factor", [Fraction(5, 3), Fraction(1, 2**70), Fraction(10**30), Fraction(3, 4)])
def test_a_multiple_of_a_probability_keeps_its_bounds(factor):
    exponent = Fraction(80)
    low, high = times(exponential(exponent), factor)(200)
    truth = (-decimal(exponent)).exp() * decimal(factor) * Decimal(2) ** 200
    assert Decimal(low) <= truth <= Decimal(high)
    assert high - low <= 3


def survivors(exponents, words, monkeypatch):
    """Toss coins with given random words, in floats alone."""
    monkeypatch.setattr(exact_coins, "_FLOAT_ERROR", -1.0)
    return survive(np.array(exponents, dtype=float), None, SimpleNamespace(words=lambda _: words.copy()))


def test_floats_of_survival_are_as_close_as_the_proof_says(monkeypatch):
    rng = np.random.default_rng(7)
    exponents = [Fraction(float(x)) for x in (*rng.uniform(0, 66, 500), *2.0 ** rng.uniform(-60, 9, 500), 0, 64, 1e9)]
    floor = np.zeros(len(exponents), dtype=np.uint64)
    for bit in range(63, 10, -1):  # bisection: the largest number that is still below the probability
        higher = floor | np.uint64(1 << bit)
        floor = np.where(survivors(exponents, higher, monkeypatch), higher, floor)
    for exponent, found in zip(exponents, floor.tolist(), strict=True):
        exact = Fraction(binary_digits(exponential(exponent), 80), 2**80)
        assert abs(exact - Fraction(found + 2**11, 2**64)) < Fraction(1, 2**42)  # 2**-41 is left for their arguments


@pytest.mark.parametrize("error", [0.5, 2.0**-4])
def test_exact_survival_has_the_right_probabilities(error, monkeypatch):
    monkeypatch.setattr(exact_coins, "_FLOAT_ERROR", error)
    exponents = [Fraction(0), Fraction(1, 7), Fraction(2), Fraction(300)]
    alive = survive(
        np.repeat([float(x) for x in exponents], 2000), lambda lane: exponents[lane // 2000], seeded_stream(8)
    )
    for share, exponent in zip(alive.reshape(4, -1).mean(axis=1), exponents, strict=True):
        chance = float(np.exp(-float(exponent)))
        assert abs(share - chance) <= 5.2 * (chance * (1 - chance) / 2000) ** 0.5  # false-alarm rate 2e-7
