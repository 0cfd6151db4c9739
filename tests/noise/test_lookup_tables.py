"""The tables that engines draw noise from: exact, and every wrong one is noticed. False-alarm rate 1e-6 per test."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numba import njit
from scipy import stats
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, laplace_log_weights

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors._kernels.drawing import draw_geometric, draw_laplace, toss
from hetdp.neighbors._kernels.selecting import draw_count, draw_place
from hetdp.noise.lookup_tables import LARGEST_COUNT, laplace_tables, threshold_tables

SCALES = [Fraction(1, 3), Fraction(7, 5), Fraction(255, 3), Fraction(255), Fraction(2550), Fraction(10**6, 7)]
DRAWS = 200_000


# Kernels call these functions, Python cannot: so the tests do it through kernels of their own.


@njit
def one_geometric(words, tables):
    return draw_geometric(words, 0, tables)


@njit
def one_toss(words, high, low):
    return toss(words, 0, high, low)


@njit
def one_place(words, position, size, taken, earlier):
    return draw_place(words, position, size, taken, earlier)


@njit
def many_laplace(words, tables, out):
    position = 0
    for place in range(out.size):
        out[place], position = draw_laplace(words, position, tables)


@njit
def many_counts(words, high, low, level, out):
    position = 0
    for place in range(out.size):
        out[place], position = draw_count(words, position, high, low, level)


def laplace_draws(scale, seed=1):
    tables = laplace_tables(scale)
    out = np.empty(DRAWS, dtype=np.int64)
    many_laplace(seeded_stream(seed).words(DRAWS * tables.words_per_draw), tables, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_noise_is_discrete_laplace(scale):
    drawn, spread = laplace_draws(scale), max(1.0, float(scale))
    assert fit_pvalue(drawn, partial(laplace_log_weights, scale=float(scale)), spread) > FALSE_ALARM
    for wrong in (0.97, 1.03):
        assert fit_pvalue(drawn, partial(laplace_log_weights, scale=float(scale) * wrong), spread) < FALSE_ALARM


def test_the_digit_tables_are_the_exact_distribution():
    tables = laplace_tables(Fraction(255))
    assert tables.high.shape == (2, 256)
    for place in range(2):
        ratio = np.exp(-(256.0**place) / 255)
        digits = np.arange(256)
        expected = (1 - ratio ** (digits + 1)) / (1 - ratio**256)
        np.testing.assert_allclose(tables.high[place] / 2.0**64, expected, rtol=1e-12)
    assert (np.diff(tables.high.astype(object), axis=1) >= 0).all()


@pytest.mark.slow
def test_a_word_that_ties_with_the_table_is_settled_by_the_next():
    tables = laplace_tables(Fraction(255))
    tie = tables.high[0, 7]
    low = int(tables.low[0, 7])
    for second, digit in ((low - 1, 7), (low, 8)):
        words = np.array([tie, second, 0, 0], dtype=np.uint64)
        assert one_geometric(words, tables) == (digit, 3)
    assert one_toss(np.array([5, 9], dtype=np.uint64), np.uint64(5), np.uint64(10)) == (True, 2)
    assert one_toss(np.array([5, 10], dtype=np.uint64), np.uint64(5), np.uint64(10)) == (False, 2)
    assert one_toss(np.array([4, 10], dtype=np.uint64), np.uint64(5), np.uint64(10)) == (True, 1)


@pytest.mark.parametrize("scale", [0, 2**41])
def test_scales_without_tables_are_refused(scale):
    with pytest.raises(InvalidInput, match="the scale of the noise must be above 0"):
        laplace_tables(Fraction(scale))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_ladder_holds_exact_tails_and_binomials(scale):
    tables = threshold_tables(scale)
    lowest, distance = tables.ladder.tolist()
    ratio = np.exp(-1 / float(scale))
    levels = lowest + distance * np.arange(tables.coins.shape[0])
    tails = np.exp(-levels / float(scale)) / (1 + ratio)
    np.testing.assert_allclose(tables.coins[:, 0] / 2.0**64, tails, rtol=1e-9, atol=2.0**-63)
    assert tails[0] < 0.5
    for level in range(0, levels.size, 7):
        size = 2.0 ** tables.block_bits[level]
        assert size * tails[level] <= 1.0001
        expected = stats.binom.cdf(np.arange(LARGEST_COUNT), size, tails[level])
        np.testing.assert_allclose(tables.high[level, :-1] / 2.0**64, expected, rtol=1e-9)


@pytest.mark.slow
def test_counts_of_a_block_are_binomial():
    tables = threshold_tables(Fraction(255))
    assert tables.ladder.tolist() == [177, 44]
    assert tables.block_bits[:3].tolist() == [1, 2, 2]
    for level in (0, 9, 40):
        out = np.empty(100_000, dtype=np.int64)
        many_counts(seeded_stream(level).words(200_000), tables.high, tables.low, level, out)
        size = 2 ** int(tables.block_bits[level])
        chance = float(tables.coins[level, 0]) / 2.0**64
        for wrong, fits in ((1.0, True), (1.08, False)):
            cells = stats.binom.pmf(np.arange(4), size, chance * wrong)
            expected = np.append(cells, 1 - cells.sum()) * out.size
            observed = np.bincount(np.minimum(out, 4), minlength=5)
            kept = expected > 5
            pvalue = stats.chisquare(
                observed[kept], expected[kept] * observed[kept].sum() / expected[kept].sum()
            ).pvalue
            assert (pvalue > FALSE_ALARM) == fits


def test_places_in_a_block_are_different_and_uniform():
    taken = np.empty(4, dtype=np.int64)
    seen = np.zeros(8, dtype=np.int64)
    words = seeded_stream(3).words(100_000)
    position = 0
    for _ in range(5_000):
        for hit in range(4):
            place, position = one_place(words, position, 8, taken, hit)
            seen[place] += 1
        assert len(set(taken.tolist())) == 4
    # Four of eight without replacement, counted over 5,000 blocks: each place half the time.
    assert stats.binomtest(int(seen.max()), 5_000, 0.5).pvalue > FALSE_ALARM
    assert stats.binomtest(int(seen.min()), 5_000, 0.5).pvalue > FALSE_ALARM
