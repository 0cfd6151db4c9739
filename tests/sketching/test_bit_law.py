"""The probability of a one: in digits for one profile, in tables for many, and as floats for estimates; and odds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp.noise.exact_coins import binary_digits, exponential
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.sketching.bit_law import (
    ROUNDS,
    as_tuning,
    chance_of_one,
    coins,
    contrast,
    exact_chance_of_one,
    most_odds_factor,
    odds_factor,
    sketch_tables,
)

EPSILON = Fraction(3)
TUNINGS = [Fraction(1), Fraction(3, 4), Fraction(128, 255), Fraction(1, 100)]


def base_of(tables):
    head = sum(int(word & np.uint64(1)) << (ROUNDS - 1 - place) for place, word in enumerate(tables.head))
    return Fraction((head << 128) + (int(tables.tail[0]) << 64) + int(tables.tail[1]), 1 << (ROUNDS + 128))


def of_code(tables, code):
    base = base_of(tables)
    return base + (1 - base) * Fraction((int(tables.extra[code, 0]) << 64) + int(tables.extra[code, 1]), 1 << 128)


def test_sketches_are_tuned_for_a_weight_above_0():
    assert as_tuning(1) == 1
    assert as_tuning(0.25) == Fraction(1, 4)
    assert as_tuning(Fraction(1, 3)) == Fraction(1, 3)
    for wrong in (0, -0.5, 1.5, float("nan"), None, True, [0.5], "0.5"):
        with refused("tuned_for"):
            as_tuning(wrong)


@pytest.mark.parametrize("tuned_for", TUNINGS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(7, 2), Fraction(40), Fraction(200)])
def test_rounded_tables_keep_the_promise_exactly(epsilon, tuned_for):
    """With the digits that kernels use, in rational arithmetic: no ratio exceeds exp(epsilon v)."""
    tables = sketch_tables(epsilon, tuned_for)
    base = base_of(tables)
    exact_base = exact_chance_of_one(epsilon, Fraction(0), tuned_for=tuned_for)
    assert 0 <= base - Fraction(binary_digits(exact_base, 300), 1 << 300) <= Fraction(1, 1 << 136)
    assert of_code(tables, 0) == base
    before = base
    for code in (1, 2, 60, 100, 127, 128, 129, 191, 192, 254, 255):
        one = of_code(tables, code)
        # exp(-epsilon v) from below: an upper bound on exp(epsilon v) is its inverse.
        bits = 600
        lower, upper = (Fraction(value, 1 << bits) for value in exponential(epsilon * code / WEIGHT_STEPS)(bits))
        assert one * lower <= base
        assert (1 - base) * lower <= 1 - one
        assert before <= one
        assert upper - lower < Fraction(1, 1 << 590)
        exact_one = exact_chance_of_one(epsilon, Fraction(code, WEIGHT_STEPS), tuned_for=tuned_for)
        assert abs(one - Fraction(binary_digits(exact_one, 300), 1 << 300)) < Fraction(1, 1 << 127)
        before = one


@pytest.mark.parametrize("tuned_for", TUNINGS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(20)])
def test_the_probability_is_the_smaller_of_two_terms_and_keeps_both_ratios(epsilon, tuned_for):
    """From interval arithmetic with 400 digits, for every weight: at least one of the two ratios is exp(epsilon v)."""
    bits, slack = 400, Fraction(1, 1 << 340)
    q = Fraction(exact_chance_of_one(epsilon, Fraction(0), tuned_for=tuned_for)(bits)[0], 1 << bits)
    assert abs(q * (1 + 1 / Fraction(exponential(epsilon * tuned_for)(bits)[0], 1 << bits)) - 1) < slack * 2**60
    for code in range(WEIGHT_STEPS + 1):
        weight = Fraction(code, WEIGHT_STEPS)
        p = Fraction(exact_chance_of_one(epsilon, weight, tuned_for=tuned_for)(bits)[0], 1 << bits)
        fall = Fraction(exponential(epsilon * weight)(bits)[0], 1 << bits)  # exp(-epsilon v)
        terms = q / fall, 1 - (1 - q) * fall
        assert abs(p - min(terms)) < slack
        assert p * fall <= q + slack
        assert (1 - q) * fall <= 1 - p + slack
        assert code == 0 or p > q


@pytest.mark.slow
@pytest.mark.parametrize("tuned_for", TUNINGS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_coins_of_one_profile_and_tables_of_many_are_the_same_probabilities(epsilon, tuned_for):
    tables = sketch_tables(epsilon, tuned_for)
    assert len(coins(epsilon, tuned_for)) == len(tables.extra) == WEIGHT_STEPS + 1
    for code, coin in enumerate(coins(epsilon, tuned_for)):
        of_tables = of_code(tables, code)
        assert abs(of_tables - Fraction(binary_digits(coin, 200), 1 << 200)) < Fraction(1, 1 << 126)
        in_floats = chance_of_one(epsilon, code / WEIGHT_STEPS, tuned_for=tuned_for)
        assert float(of_tables) == pytest.approx(in_floats, rel=1e-12)


def test_contrast_is_what_an_item_of_weight_1_adds():
    assert [round(chance_of_one(3, weight), 4) for weight in (0.0, 1.0)] == [0.0474, 0.9526]
    for epsilon in (0.1, 1, 3, 30):
        assert contrast(epsilon) == pytest.approx(1 - 2 * chance_of_one(epsilon))
        for tuned_for in TUNINGS:
            added = chance_of_one(epsilon, 1.0, tuned_for=tuned_for) - chance_of_one(epsilon, tuned_for=tuned_for)
            assert contrast(epsilon, tuned_for=tuned_for) == pytest.approx(added)


def test_tables_hold_the_digits_of_q():
    tables = sketch_tables(EPSILON)  # q = 0.0474 = 0.00001100... in binary
    assert [int(word) & 1 for word in tables.head] == [0, 0, 0, 0, 1, 1, 0, 0]
    assert tables.extra.shape == (256, 2)


def test_odds_stay_within_the_promise():
    assert odds_factor(EPSILON, 0.0, bit=True) == 1.0
    assert odds_factor(EPSILON, 1.0, bit=False) == pytest.approx(math.exp(-3))
    for weight in (0, 0.01, 0.37, 0.5, 0.99, 1):
        most = most_odds_factor(EPSILON, weight)
        assert most == pytest.approx(math.exp(3 * weight))
        for bit in (True, False):
            for tuned_for in TUNINGS:
                factor = odds_factor(EPSILON, weight, bit, tuned_for=tuned_for)
                assert 1 / most - 1e-12 <= factor <= most + 1e-12
    assert odds_factor(EPSILON, 1.0, bit=True) == pytest.approx(math.exp(3))
    assert most_odds_factor(EPSILON, 0.5, epochs=2) == pytest.approx(odds_factor(EPSILON, 0.5, bit=True) ** 2)
    assert np.isfinite(most_odds_factor(EPSILON, 1.0, epochs=10**6))
