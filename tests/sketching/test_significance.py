"""Significance has one meaning, and the tails behind it are exact."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from hetdp.sketching.significance import RARE, SIGNIFICANT, best_by_chance, binomial_tail, rare_tail, significance


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


def test_the_best_of_many_is_what_it_says():
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
    # the threshold of one candidate, of the best, and of the significance are one and the same
    just = rare_tail(candidates)
    assert significance(0.999 * just, candidates) > SIGNIFICANT > significance(1.001 * just, candidates)
    assert best_by_chance(0.999 * just, candidates) < RARE < best_by_chance(1.001 * just, candidates)
