"""The sketch engine: bits have the exact law, nothing else moves them, and counts are what a dense product says.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hetdp import Profiles, audit, errors
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
from hetdp.noise.coins import binary_digits, exponential
from hetdp.profiles.coded import CodedProfiles, code_profiles
from hetdp.profiles.weights import WEIGHT_STEPS
from hetdp.sketching import _kernels
from hetdp.sketching import bits as sketch_bits
from hetdp.sketching.bits import Sketches
from hetdp.sketching.law import ROUNDS, exact_chance_of_one, sketch_tables
from statistics_helpers import FALSE_ALARM

CODES = (0, 1, 60, 127, 200, 255)  # 0 stands for absent


def coded_of(rows, n_items):
    """Profiles from one dict of item -> code per user."""
    indptr = np.cumsum([0] + [len(row) for row in rows])
    pairs = [pair for row in rows for pair in sorted(row.items())]
    items = np.array([item for item, _ in pairs], dtype=np.int32)
    codes = np.array([code for _, code in pairs], dtype=np.uint8)
    return CodedProfiles(indptr.astype(np.int64), items, codes, n_items)


def random_profiles(n_users, n_items, per_user, seed=0, weights=None):
    random = np.random.default_rng(seed)
    users = np.repeat(np.arange(n_users), per_user)
    items = np.concatenate([random.choice(n_items, per_user, replace=False) for _ in range(n_users)])
    return Profiles.from_pairs(users, items, weights=weights, item_ids=np.arange(n_items))


def dense_bits(sketches):
    """All bits as users x items."""
    packed = [sketches.published_sketch(user) for user in range(sketches.n_users)]
    return np.unpackbits(np.array(packed), axis=1, bitorder="little")[:, : sketches.n_items]


def bits_of_rows(sketches, items, *, bare=False):
    rows = np.empty((len(items), sketches.n_groups * 8), dtype=np.uint64)
    sketches.rows(np.asarray(items), rows, bare=bare)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")


def exact(epsilon, code):
    return binary_digits(exact_chance_of_one(epsilon, Fraction(code, WEIGHT_STEPS)), 60) / 2**60


def same_profile(row, n_items, copies):
    """`copies` users with the same profile: as many independent runs of one sketch."""
    items = np.array(sorted(row), dtype=np.int32)
    codes = np.array([row[item] for item in sorted(row)], dtype=np.uint8)
    indptr = np.arange(copies + 1, dtype=np.int64) * items.size
    return CodedProfiles(indptr, np.tile(items, copies), np.tile(codes, copies), n_items)


def runs(row, n_items, copies, *, epsilon, stream):
    sketches = Sketches(same_profile(row, n_items, copies), epsilon=epsilon, stream=stream)
    return bits_of_rows(sketches, range(n_items))[:, :copies].T


def law_pvalue(bits, probabilities):
    """Chi-square test of the number of ones in each column."""
    n = bits.shape[0]
    ones, expected = bits.sum(axis=0), n * np.asarray(probabilities)
    statistic = ((ones - expected) ** 2 / (expected * (1 - expected / n))).sum()
    return stats.chi2.sf(statistic, len(probabilities))


# --- the law of the bits


# At 8, q < 1/256: every one comes from the digits behind the first eight. Ones are rare, so only larger errors show.
@pytest.mark.parametrize(
    ("epsilon", "wrong"), [(Fraction(1, 10), 1.1), (Fraction(1), 1.1), (Fraction(3), 1.1), (Fraction(8), 3.0)]
)
def test_bits_have_the_exact_probability_and_no_other(epsilon, wrong):
    row = {place: code for place, code in enumerate(CODES) if code}
    bits = runs(row, len(CODES), 400_000, epsilon=epsilon, stream=seeded_stream(5))
    probabilities = np.array([exact(epsilon, code) for code in CODES])
    assert law_pvalue(bits, probabilities) > FALSE_ALARM
    for factor in (wrong, 1 / wrong):
        for place, probability in enumerate(probabilities):
            altered = probabilities.copy()
            odds = factor * probability / (1 - probability)
            altered[place] = odds / (1 + odds)
            assert law_pvalue(bits, altered) < FALSE_ALARM


def test_bits_are_independent_across_items_and_users():
    """Number of ones per user and per item: sums of independent bits, false-alarm rate 1e-6 each."""
    bits = runs({}, 600, 600, epsilon=Fraction(1), stream=seeded_stream(6))
    chance = exact(Fraction(1), 0)
    for axis in (0, 1):
        spread = ((bits.sum(axis=axis) - 600 * chance) ** 2 / (600 * chance * (1 - chance))).sum()
        assert FALSE_ALARM / 2 < stats.chi2.sf(spread, 600) < 1 - FALSE_ALARM / 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(7, 2), Fraction(40), Fraction(200)])
def test_rounded_tables_keep_the_promise_exactly(epsilon):
    """With the digits the kernels use, in rational arithmetic: no ratio exceeds exp(epsilon v), not by a hair."""
    tables = sketch_tables(epsilon)
    head = sum(int(word & np.uint64(1)) << (ROUNDS - 1 - place) for place, word in enumerate(tables.head))
    base = Fraction((head << 128) + (int(tables.tail[0]) << 64) + int(tables.tail[1]), 1 << (ROUNDS + 128))
    assert abs(base - Fraction(binary_digits(exact_chance_of_one(epsilon, Fraction(0)), 300), 1 << 300)) <= Fraction(
        1, 1 << 136
    )
    for code in (1, 2, 100, 254, 255):
        extra = Fraction((int(tables.extra[code, 0]) << 64) + int(tables.extra[code, 1]), 1 << 128)
        one = base + (1 - base) * extra
        # exp(-epsilon v) from below: an upper bound on exp(epsilon v) is its inverse.
        bits = 600
        lower, upper = (Fraction(value, 1 << bits) for value in exponential(epsilon * code / WEIGHT_STEPS)(bits))
        assert one * lower <= base
        assert (1 - base) * lower <= 1 - one
        assert upper - lower < Fraction(1, 1 << 590)
        assert abs(
            one - Fraction(binary_digits(exact_chance_of_one(epsilon, Fraction(code, WEIGHT_STEPS)), 300), 1 << 300)
        ) < Fraction(1, 1 << 127)


def test_ties_of_the_first_digits_are_settled_by_the_next():
    tables = sketch_tables(Fraction(1))
    high, low = tables.tail
    one = np.uint64(1)
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    bits = np.zeros((1, 8), dtype=np.uint64)
    _kernels.settle(digits, tables.tail, np.zeros(4, np.int64), np.arange(64, 68), 64, bits)
    assert bits[0, 0] == 0b0101
    high, low = tables.extra[200]
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    landed = np.empty(4, dtype=np.bool_)
    _kernels.land(digits, np.full(4, 200, np.uint8), tables, landed)
    assert landed.tolist() == [True, False, True, False]


# --- audits


EPSILON = Fraction(2)
AUDITED = {0: 255, 1: 128, 2: 51}  # weights 1, about 1/2 and 1/5


def mechanism_with(epsilon):
    def sketch(profile, size, random_state):
        row = {item: AUDITED[item] for item, present in enumerate(profile) if present}
        return runs(row, 3, size, epsilon=epsilon, stream=seeded_stream(random_state)).astype(np.float64)

    return sketch


def neighbours_of(item):
    one = [1, 1, 1]
    two = one.copy()
    two[item] = 0
    return one, two


CLAIMS = {item: float(EPSILON) * code / WEIGHT_STEPS for item, code in AUDITED.items()}
CONFIDENT = 1 - 1e-7


def test_the_sketch_passes_the_audit_item_by_item():
    report = audit(
        mechanism_with(EPSILON),
        neighbors=[neighbours_of(item) for item in AUDITED],
        claimed=CLAIMS,
        confidence=CONFIDENT,
        random_state=3,
    )
    assert report.verdict == "no violation found", str(report)
    assert all(row.lower_bound > 0.8 * CLAIMS[row.item] for row in report.rows)


def test_a_sketch_that_ignores_weights_is_caught(monkeypatch):
    def flat(epsilon):
        tables = sketch_tables(epsilon)
        return tables._replace(extra=np.repeat(tables.extra[-1:], 256, axis=0))

    monkeypatch.setattr(sketch_bits, "sketch_tables", flat)
    report = audit(
        mechanism_with(EPSILON), neighbors=[neighbours_of(1)], claimed=CLAIMS, confidence=CONFIDENT, random_state=3
    )
    assert report.verdict == "violated"


def test_a_sketch_with_a_tenth_more_epsilon_is_caught():
    report = audit(
        mechanism_with(EPSILON * 11 / 10),
        neighbors=[neighbours_of(0)],
        claimed=CLAIMS,
        confidence=CONFIDENT,
        random_state=3,
    )
    assert report.verdict == "violated"


# --- what a bit depends on


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


def test_an_item_moves_only_its_own_bit_and_only_upward():
    rows = [{1: 255, 3: 100}, {2: 50}, {}]
    moved = 0
    for seed in range(20):
        before, after = (
            dense_bits(Sketches(coded_of([first, *rows[1:]], 30), epsilon=Fraction(1), stream=seeded_stream(seed)))
            for first in (rows[0], rows[0] | {7: 255})
        )
        changed = np.argwhere(before != after)
        assert changed.tolist() in ([], [[0, 7]])
        assert (after >= before).all()
        moved += len(changed)
    assert moved > 0


def test_rows_are_the_same_however_they_are_asked_for():
    coded = code_profiles(random_profiles(1300, 50, 8))
    sketches = Sketches(coded, epsilon=Fraction(1), stream=seeded_stream(3))
    whole = bits_of_rows(sketches, range(50))
    assert not whole[:, 1300:].any()
    np.testing.assert_array_equal(bits_of_rows(sketches, [17, 3]), whole[[17, 3]])
    part = np.empty((50, 8), dtype=np.uint64)
    sketches.rows(np.arange(50), part, first_group=1)
    np.testing.assert_array_equal(np.unpackbits(part.view(np.uint8), axis=1, bitorder="little"), whole[:, 512:1024])
    for user in (0, 511, 512, 1299):
        mine = np.unpackbits(sketches.published_sketch(user), bitorder="little")[:50]
        np.testing.assert_array_equal(mine, whole[:, user])
    assert (bits_of_rows(sketches, range(50), bare=True) <= whole).all()


def test_published_sketches_refuse_other_users_and_hide_their_insides():
    sketches = Sketches(coded_of([{}, {}], 3), epsilon=Fraction(1), stream=seeded_stream(3))
    with pytest.raises(errors.InvalidInput, match=r"user must be below the number of users \(2\). Got 2 instead."):
        sketches.published_sketch(2)
    assert repr(sketches) == "Sketches(2 users, 3 items)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        sketches.__reduce__()
    assert sketches.simulated


# --- neighbours


def naive_counts(coded, sketches):
    mine = np.zeros((coded.n_users, coded.n_items), dtype=np.int64)
    mine[np.repeat(np.arange(coded.n_users), coded.sizes), coded.items] = 1
    counts = mine @ dense_bits(sketches).T.astype(np.int64)
    np.fill_diagonal(counts, -1)
    return counts


@pytest.mark.parametrize(
    ("n_users", "n_items", "per_user", "k"), [(700, 60, 20, 9), (130, 500, 300, 3), (40, 9, 1, 39)]
)
def test_counts_are_those_of_a_dense_product(n_users, n_items, per_user, k):
    coded = code_profiles(random_profiles(n_users, n_items, per_user))
    result = sketch_neighbors(coded, k=k, epsilon=Fraction(1), stream=seeded_stream(1))
    counts = naive_counts(coded, result.sketches)
    best = -np.sort(-counts, axis=1)[:, :k]
    found = np.take_along_axis(counts, result.lists.indices.astype(np.int64), axis=1)
    np.testing.assert_array_equal(found, best)
    chance = exact(Fraction(1), 0)
    np.testing.assert_allclose(result.lists.scores, (best - per_user * chance) / (1 - 2 * chance))
    assert all(len(set(row)) == k for row in result.lists.indices.tolist())


def test_a_score_counts_common_items_on_average():
    """Twin profiles of 30 items of weight 1: the mean score is 30, to 5 standard errors (false-alarm rate 6e-7)."""
    coded = same_profile(dict.fromkeys(range(30), 255), 100, 500)
    result = sketch_neighbors(coded, k=499, epsilon=Fraction(2), stream=seeded_stream(4))
    chance = exact(Fraction(2), 0)
    error = math.sqrt(30 * chance * (1 - chance) / 500) / (1 - 2 * chance)
    assert abs(result.lists.scores.mean() - 30) < 5 * error


def test_ties_are_broken_uniformly():
    """Nobody has anything, so all others tie: who comes first, and who comes at all, is uniform (chi-square, 1e-6)."""
    n_users, k = 6, 2
    places = np.zeros((k, n_users))
    for seed in range(2000):
        result = sketch_neighbors(coded_of([{}] * n_users, 5), k=k, epsilon=Fraction(1), stream=seeded_stream(seed))
        for place in range(k):
            places[place] += np.bincount(
                (result.lists.indices[:, place] - np.arange(n_users)) % n_users, minlength=n_users
            )
    assert not places[:, 0].any()  # never oneself
    for row in places:
        assert stats.chisquare(row[1:]).pvalue > FALSE_ALARM
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


def test_tiles_of_many_candidates_agree_with_a_dense_product():
    """More than 16,384 candidates are looked at in tiles."""
    coded = code_profiles(random_profiles(17_000, 12, 3))
    result = sketch_neighbors(coded, k=5, epsilon=Fraction(1), stream=seeded_stream(1))
    bits = bits_of_rows(result.sketches, range(12))[:, :17_000].astype(np.int64)
    for user in range(0, 17_000, 1000):
        counts = bits[coded.items[coded.indptr[user] : coded.indptr[user + 1]]].sum(axis=0)
        counts[user] = -1
        assert sorted(counts[result.lists.indices[user]]) == sorted(np.sort(counts)[-5:])


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
        ({"k": 2}, "k must be below the number of users \\(2\\). Got 2 instead."),
        ({"k": 0}, "k must be a whole number >= 1. Got 0 instead."),
        ({"threads": 0}, "threads must be a whole number >= 1. Got 0 instead."),
        ({"memory_bytes": 0}, "memory_bytes must be a whole number >= 1. Got 0 instead."),
    ],
)
def test_bad_parameters_are_named(options, message):
    given = {"k": 1, "epsilon": Fraction(1), "stream": seeded_stream(1)} | options
    with pytest.raises(errors.InvalidInput, match=message):
        sketch_neighbors(coded_of([{}, {}], 1), **given)
