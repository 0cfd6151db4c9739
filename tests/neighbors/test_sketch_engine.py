"""The sketch engine: lists are what a dense product says, and items of weight 0 change nothing.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.sketch_helpers import bits_of_rows, coded_of, dense_bits, exact, random_profiles, same_profile
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp import errors
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.sketch.engine import read_sketches, sketch_neighbors
from hetdp.profiles.steps import Holdings, code_profiles
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.reading import bit_values, item_owners


def test_items_of_weight_0_change_nothing_bitwise():
    weights = np.tile([1.0, 0.5, 0.0, 1.0], 60)
    profiles = random_profiles(60, 40, 4, weights=weights)
    without = profiles.keep(profiles.weights > 0)
    assert without.n_pairs < profiles.n_pairs
    with_zeros, dropped = (
        sketch_neighbors(code_profiles(each), k=5, epsilon=Fraction(1), stream=seeded_stream(1))
        for each in (profiles, without)
    )
    np.testing.assert_array_equal(with_zeros.lists.indices, dropped.lists.indices)
    np.testing.assert_array_equal(with_zeros.lists.scores, dropped.lists.scores)
    np.testing.assert_array_equal(dense_bits(with_zeros.sketches), dense_bits(dropped.sketches))


def naive_counts(coded, sketches):
    mine = np.zeros((coded.n_users, coded.n_items), dtype=np.int64)
    mine[np.repeat(np.arange(coded.n_users), coded.sizes), coded.items] = 1
    counts = mine @ dense_bits(sketches).T.astype(np.int64)
    np.fill_diagonal(counts, -1)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_users", "n_items", "per_user", "k"), [(700, 60, 20, 9), (130, 500, 300, 3), (40, 9, 1, 39)]
)
def test_lists_are_those_of_a_dense_product(n_users, n_items, per_user, k):
    """Of at least 30 with the most ones, those whose ones are worth most; scores and overlaps follow from the bits."""
    coded = code_profiles(random_profiles(n_users, n_items, per_user))
    for tuned_for in (Fraction(1), Fraction(3, 5)):
        result = sketch_neighbors(coded, k=k, epsilon=Fraction(1), tuned_for=tuned_for, stream=seeded_stream(1))
        counts = naive_counts(coded, result.sketches)
        places = result.lists.indices.astype(np.int64)
        found = np.take_along_axis(counts, places, axis=1)
        least = -np.sort(-counts, axis=1)[:, min(max(k, 30), n_users - 1) - 1, None]
        assert (found >= least).all()
        chance, contrast = chance_of_one(1, tuned_for=tuned_for), result.sketches.contrast
        assert contrast == pytest.approx(chance_of_one(1, 1.0, tuned_for=tuned_for) - chance)
        np.testing.assert_allclose(result.overlaps, (found - per_user * chance) / contrast)
        bits, rows = dense_bits(result.sketches), coded.items.reshape(n_users, per_user)
        owners = item_owners(bits.sum(axis=0, dtype=np.int64), n_users, 1, tuned_for=tuned_for)
        values = bit_values(owners, n_users, 1, tuned_for=tuned_for)
        for user in range(n_users):
            mine = values[rows[user]] / values[rows[user]].mean()
            worth = (bits[:, rows[user]] @ mine - chance * per_user) / contrast
            np.testing.assert_allclose(result.lists.scores[user], worth[places[user]])
            worth[(counts[user] < least[user]) | (counts[user] < 0)] = -np.inf
            sure = counts[user] > least[user]  # of those with as many as the last, chance decided who is in
            assert result.lists.scores[user, -1] >= np.sort(worth[sure])[-k:][0] - 1e-9 or sure.sum() < k
        assert all(len(set(row)) == k for row in result.lists.indices.tolist())


@pytest.mark.parametrize("memory_bytes", [1, 2**29], ids=["in blocks", "at once"])
def test_others_who_read_the_sketches_find_what_a_dense_product_says_themselves_excluded_nowhere(memory_bytes):
    """All 700 as neighbours of strangers: every one is listed, and all are worth what their bits say."""
    coded = code_profiles(random_profiles(700, 60, 20))
    sketches = sketch_neighbors(coded, k=1, epsilon=Fraction(1), stream=seeded_stream(1)).sketches
    mine = np.array([[3, 14, 15, 59], [0, 1, 2, 3]], dtype=np.int32)
    own = Holdings(np.array([0, 4, 8]), mine.ravel())
    found = read_sketches(
        sketches, own, k=700, stream=seeded_stream(2), members=False, memory_bytes=memory_bytes, threads=2
    )
    assert [sorted(row) for row in found.lists.indices.tolist()] == [list(range(700))] * 2
    bits, chance = dense_bits(sketches), chance_of_one(1)
    values = bit_values(item_owners(bits.sum(axis=0, dtype=np.int64), 700, 1), 700, 1)
    for items, places, scores in zip(mine, found.lists.indices, found.lists.scores, strict=True):
        worth = (bits[:, items] @ (values[items] / values[items].mean()) - chance * 4) / sketches.contrast
        np.testing.assert_allclose(scores, worth[places])
        assert (np.diff(scores) <= 1e-9).all()


def test_only_sketches_tell_what_a_bit_is_worth():
    """Somebody who cannot be told from an empty profile by the sketches has no part in anybody else's list."""
    rows = [dict.fromkeys(range(user % 5, 40, 5), 255) for user in range(60)]
    lists = []
    for extra in ((), (40, 41, 42)):
        coded = coded_of(rows, 50)
        own = [sorted(row) for row in rows]
        own[7] = sorted([*own[7], *extra])  # of weight 0: on the own list, and in no sketch
        starts = np.cumsum([0, *map(len, own)]).astype(np.int64)
        holdings = Holdings(starts, np.concatenate(own).astype(np.int32))
        found = sketch_neighbors(coded, k=5, epsilon=Fraction(1), stream=seeded_stream(2), own=holdings).lists
        lists.append((np.delete(found.indices, 7, axis=0), np.delete(found.scores, 7, axis=0)))
    np.testing.assert_array_equal(lists[0][0], lists[1][0])
    np.testing.assert_array_equal(lists[0][1], lists[1][1])


def test_a_score_counts_common_items_on_average():
    """Twin profiles of 30 items of weight 1: the mean score is 30, to 5 standard errors (false-alarm rate 6e-7)."""
    coded = same_profile(dict.fromkeys(range(30), 255), 100, 500)
    result = sketch_neighbors(coded, k=499, epsilon=Fraction(2), stream=seeded_stream(4))
    chance = exact(Fraction(2), 0)
    error = math.sqrt(30 * chance * (1 - chance) / 500) / (1 - 2 * chance)
    assert abs(result.overlaps.mean() - 30) < 5 * error


@pytest.mark.slow
def test_ties_are_broken_uniformly():
    """Nobody has anything, so all others tie: who comes first, and who comes at all, is uniform (chi-square, 1e-6).

    Seen from oneself, and in the order of the data: a preference for the first user is a different distance for each.
    """
    n_users, k = 24, 2
    distances, users = np.zeros((k, n_users)), np.zeros((k, n_users))
    for seed in range(500):
        result = sketch_neighbors(coded_of([{}] * n_users, 5), k=k, epsilon=Fraction(1), stream=seeded_stream(seed))
        for place in range(k):
            found = result.lists.indices[:, place]
            distances[place] += np.bincount((found - np.arange(n_users)) % n_users, minlength=n_users)
            users[place] += np.bincount(found, minlength=n_users)
    assert not distances[:, 0].any()  # never oneself
    for counts in (*distances[:, 1:], *users):
        assert stats.chisquare(counts).pvalue > FALSE_ALARM / 4
    assert (result.lists.scores == 0).all()


def test_results_do_not_depend_on_memory_or_threads():
    weights = np.random.default_rng(1).random(1700 * 12)
    coded = code_profiles(random_profiles(1700, 90, 12, weights=weights))
    one = sketch_neighbors(coded, k=7, epsilon=Fraction(1), stream=seeded_stream(1))
    steps = []
    for options in (
        {"threads": 2},
        {"memory_bytes": 1, "progress": lambda *done: steps.append(done)},
        {"memory_bytes": 12_000, "threads": 2},
    ):
        other = sketch_neighbors(coded, k=7, epsilon=Fraction(1), stream=seeded_stream(1), **options)
        np.testing.assert_array_equal(one.lists.indices, other.lists.indices)
        np.testing.assert_array_equal(one.lists.scores, other.lists.scores)
    assert len(steps) == 4
    assert steps[-1] == (1700**2, 1700**2)


@pytest.mark.slow
def test_tiles_of_many_candidates_agree_with_a_dense_product():
    """More than 16,384 candidates are looked at in tiles."""
    coded = code_profiles(random_profiles(17_000, 12, 3))
    result = sketch_neighbors(coded, k=5, epsilon=Fraction(1), stream=seeded_stream(1))
    bits = bits_of_rows(result.sketches, range(12))[:, :17_000].astype(np.int64)
    for user in range(0, 17_000, 1000):
        counts = bits[coded.items[coded.indptr[user] : coded.indptr[user + 1]]].sum(axis=0)
        counts[user] = -1
        assert (counts[result.lists.indices[user]] >= np.sort(counts)[-30]).all()
        ones = np.rint(result.overlaps[user] * result.sketches.contrast + 3 * result.sketches.chance_of_one)
        assert ones.tolist() == counts[result.lists.indices[user]].tolist()


def test_two_users_and_empty_profiles():
    result = sketch_neighbors(coded_of([{0: 255}, {}], 1), k=1, epsilon=Fraction(1), stream=seeded_stream(1))
    assert result.lists.indices.tolist() == [[1], [0]]
    assert result.lists.scores[1, 0] == 0
    assert repr(result) == "SketchResult(NeighborLists(2 users, k=1))"
    nothing = sketch_neighbors(coded_of([{}] * 3, 0), k=2, epsilon=Fraction(1), stream=seeded_stream(1))
    assert sorted(nothing.lists.indices[0].tolist()) == [1, 2]
    assert nothing.sketches.published_sketch(0).size == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 2}, "k must be below the number of users \\(2\\) [(]got 2[)]."),
        ({"k": 0}, "k must be a whole number of at least 1 [(]got 0[)]."),
        ({"threads": 0}, "threads must be a whole number of at least 1 [(]got 0[)]."),
        ({"memory_bytes": 0}, "memory_bytes must be a whole number of at least 1 [(]got 0[)]."),
    ],
)
def test_bad_parameters_are_named(options, message):
    given = {"k": 1, "epsilon": Fraction(1), "stream": seeded_stream(1)} | options
    with pytest.raises(errors.InvalidInput, match=message):
        sketch_neighbors(coded_of([{}, {}], 1), **given)
