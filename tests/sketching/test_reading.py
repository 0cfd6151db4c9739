"""Estimates from sketches are unbiased or closer than unbiased ones, and tails of significance are exact."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from hetdp.core.randomness import seeded_stream
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import pack, toss_bits, unpack
from hetdp.sketching.reading import (
    RARE,
    SIGNIFICANT,
    best_by_chance,
    binomial_tail,
    bit_values,
    item_owners,
    item_shares,
    items_behind,
    items_behind_error,
    ones_among,
    rare_tail,
    significance,
)

EPSILON = Fraction(1)
PROFILE = np.where(np.arange(400) < 90, 255, 0).astype(np.uint8)


def sketches(count):
    return [pack(toss_bits(PROFILE, epsilon=EPSILON, stream=seeded_stream(7, number))) for number in range(count)]


def test_items_behind_ones_are_counted_without_bias_and_with_the_stated_error():
    """500 sketches that have 40 of 100 items: mean within 6 standard errors (1e-8), spread within a fifth."""
    places = range(50, 150)
    published = sketches(500)
    ones = ones_among(published, places, size=400)
    assert ones.tolist() == [int(unpack(sketch, 400)[50:150].sum()) for sketch in published]
    found, error = items_behind(ones, 100, EPSILON), items_behind_error(100, EPSILON)
    assert abs(found.mean() - 40) < 6 * error / np.sqrt(500)
    assert 0.8 * error < found.std() < 1.2 * error


def test_shares_move_toward_their_mean_and_stay_within_bounds():
    ones = sum(unpack(sketch, 400).astype(np.int64) for sketch in sketches(200))
    shares = item_shares(ones, 200, EPSILON)
    plain = items_behind(ones, 200, EPSILON) / 200
    assert ((shares > 0) & (shares < 1)).all()
    assert abs(shares[:90].mean() - 1) < 0.1
    assert abs(shares[90:].mean()) < 0.05
    inner = (shares > 1e-6) & (shares < 1 - 1e-6)
    assert (np.abs(shares - plain.mean()) <= np.abs(plain - plain.mean()) + 1e-12)[inner].all()
    assert item_shares(np.zeros(0, dtype=np.int64), 5, EPSILON).size == 0


def test_a_few_ones_are_read_as_by_hand():
    assert ones_among([b"\x03", b"\x0c"], {0, 1, 2}, size=8).tolist() == [2, 1]
    assert items_behind([4, 50], 50, 3).round(1).tolist() == [1.8, 52.6]
    assert round(items_behind_error(50, 3), 1) == 1.7
    assert item_shares(np.array([3, 1]), 3, 20).round(3).tolist() == [1.0, 0.333]


@pytest.mark.parametrize(("epsilon", "tuned_for"), [(3, 1), (5, 1), (10, 0.5)])
def test_owners_of_a_long_tail_are_closer_than_shares(epsilon, tuned_for):
    random = np.random.default_rng(1)
    owners = np.concatenate(
        [np.full(6000, 1), np.full(900, 2), random.integers(3, 6, 400), random.integers(6, 74, 150)]
    )
    q, p = (chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0))
    ones = random.binomial(owners, p) + random.binomial(500 - owners, q)
    found = item_owners(ones, 500, epsilon, tuned_for=tuned_for)
    shares = 500 * item_shares(ones, 500, epsilon, tuned_for=tuned_for)
    errors = [np.mean((each - owners) ** 2) for each in (found, shares)]
    assert errors[0] < 0.9 * errors[1]
    assert (np.diff(found[np.argsort(ones, kind="stable")]) > -1e-9).all()


def test_owners_are_estimated_for_any_number_of_ones():
    assert item_owners(np.zeros(0, dtype=np.int64), 5, EPSILON).size == 0
    for epsilon in (0.01, 1, 30, 600):
        for n_users in (1, 2, 500):
            found = item_owners(np.arange(n_users + 1), n_users, epsilon)
            assert ((found >= 0) & (found <= n_users)).all()
            values = bit_values(found, n_users, epsilon)
            assert np.isfinite(values).all()
            assert (values > 0).all()


def test_a_bit_of_a_rare_item_is_worth_less_where_there_is_more_noise():
    rare, common, usual = np.array([1.0]), np.array([30.0]), np.array([450.0])
    assert bit_values(rare, 500, 2) < bit_values(common, 500, 2)
    assert bit_values(rare, 500, 20) > bit_values(common, 500, 20) > bit_values(usual, 500, 20)


# --- significance


@given(st.integers(0, 3000), st.floats(-0.1, 1.1), st.sampled_from([0.5, 0.2689, 0.0474, 0.0067, 1e-13]))
def test_the_tail_is_that_of_the_binomial_law(trials, part, chance):
    count = round(part * trials)
    expected = scipy.stats.binom.sf(count - 1, trials, chance)
    assert binomial_tail(count, trials, chance) == pytest.approx(expected, rel=1e-8, abs=1e-280)


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 21), Fraction(1, 1000)])
def test_the_tail_is_exact_far_out(chance):
    for trials in (1, 50, 300):
        for count in (0, 1, trials // 2, trials):
            terms = (
                math.comb(trials, hit) * chance**hit * (1 - chance) ** (trials - hit)
                for hit in range(count, trials + 1)
            )
            assert binomial_tail(count, trials, float(chance)) == pytest.approx(float(sum(terms)), rel=1e-9)


def test_tails_of_arrays_and_of_nothing():
    found = binomial_tail([[0, 2], [np.nan, 5]], [[0], [4]], 0.5)
    assert found[0].tolist() == [1, 0]
    assert np.isnan(found[1, 0])
    assert binomial_tail([0, 1, 3, 4], 3, 0.1).round(6).tolist() == [1.0, 0.271, 0.001, 0.0]
    assert best_by_chance([1e-6, 0.001, 1.0], 1000).round(3).tolist() == [0.001, 0.632, 1.0]
    assert found[1, 1] == 0
    assert binomial_tail([0, 1, 2], 5, 0.0).round(300).tolist() == [1, 0, 0]


def test_the_best_of_many_strangers_is_as_likely_as_computed():
    """20,000 crowds of 30 strangers with 40 coins each; 6 standard errors, false alarm below 1e-8."""
    counts = np.random.default_rng(1).binomial(40, 0.1, size=(20_000, 30)).max(axis=1)
    for count in (7, 9, 11):
        expected = float(best_by_chance(binomial_tail(count, 40, 0.1), 30))
        assert abs((counts >= count).mean() - expected) < 6 * math.sqrt(expected * (1 - expected) / 20_000)


@given(st.floats(0, 1), st.integers(1, 10**9))
def test_significance_is_one_minus_the_chance_of_the_best(tail, candidates):
    lucky, sure = float(best_by_chance(tail, candidates)), float(significance(tail, candidates))
    assert 0 <= lucky <= 1
    assert lucky + sure == pytest.approx(1)
    assert lucky <= candidates * tail * (1 + 1e-9)
    # The thresholds of one candidate, of the best, and of the significance agree.
    just = rare_tail(candidates)
    assert significance(0.999 * just, candidates) > SIGNIFICANT > significance(1.001 * just, candidates)
    assert best_by_chance(0.999 * just, candidates) < RARE < best_by_chance(1.001 * just, candidates)
