"""The exact engine: the distribution of drawing all noise, whatever the shortcuts. False-alarm rate 1e-6 per test."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.exact import engine as exact
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.profiles import Profiles
from hetdp.profiles.steps import CodedProfiles, Holdings, code_profiles

ONE = Fraction(1)


def crowd(n_users, n_items, largest, seed=0, popular=0.0):
    """Random profiles with random weights; a few items are in a share `popular` of all profiles."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n_users):
        own = set(random.choice(n_items, random.integers(0, largest + 1), replace=False).tolist())
        own |= set(np.flatnonzero(random.random(3) < popular).tolist())
        rows.append(sorted(own))
    indptr = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    return CodedProfiles(indptr, items, random.integers(1, 256, items.size).astype(np.uint8), n_items)


def copies(coded, user, count):
    """The profile of one user, many times over: each copy is served with noise of its own."""
    own = coded.items[coded.indptr[user] : coded.indptr[user + 1]]
    starts = np.arange(0, (count + 1) * own.size, max(1, own.size)) if own.size else np.zeros(count + 1)
    return Holdings(starts.astype(np.int64), np.tile(own, count))


def lists(coded, *, user=0, count=12_000, k=3, epsilon=ONE, factors=None, seed=0, **options):
    return exact_neighbors(
        coded,
        k=k,
        epsilon=epsilon,
        stream=seeded_stream(seed),
        factors=np.ones(coded.n_users) if factors is None else factors,
        own=copies(coded, user, count),
        members=False,
        **options,
    )


def two_sample_pvalues(one, two, n_users):
    """Chi-square on who is chosen at each place, Kolmogorov-Smirnov on the scores at each place."""
    for place in range(one.indices.shape[1]):
        table = np.array([np.bincount(found.indices[:, place], minlength=n_users) for found in (one, two)])
        common = table.sum(axis=0) >= 20
        table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
        yield stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue if table.shape[1] > 1 else 1.0
        # Scores are on a grid; ties make the test conservative.
        yield stats.ks_2samp(one.scores[:, place], two.scores[:, place]).pvalue


CROWDS = {
    "few meet, listed": (crowd(2500, 4000, 6, seed=1), 0, None),
    "everybody meets, scanned": (crowd(600, 40, 12, seed=2), 1, None),
    "dense rows": (crowd(900, 300, 8, seed=3, popular=0.8), 2, None),
    "cosine, sizes differ": (crowd(600, 60, 20, seed=4), 1, 1 / np.sqrt(np.random.default_rng(1).integers(1, 40, 600))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
def test_shortcuts_have_the_distribution_of_drawing_everything(name, epsilon):
    coded, user, factors = CROWDS[name]
    options = {"user": user, "epsilon": epsilon, "factors": factors}
    fast, plain = lists(coded, seed=1, **options), lists(coded, seed=2, every_pair=True, **options)
    pvalues = list(two_sample_pvalues(fast, plain, coded.n_users))
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


@pytest.mark.slow
def test_the_two_sample_test_notices_a_slightly_wrong_level():
    coded, user, _ = CROWDS["everybody meets, scanned"]
    fast = lists(coded, user=user, epsilon=ONE, seed=1)
    wrong = lists(coded, user=user, epsilon=Fraction(11, 10), seed=2, every_pair=True)
    assert min(two_sample_pvalues(fast, wrong, coded.n_users)) < FALSE_ALARM


def test_scores_are_true_overlaps_when_noise_is_negligible():
    coded = crowd(80, 30, 12, seed=5, popular=0.9)
    found = exact_neighbors(coded, k=79, epsilon=Fraction(10**6), stream=seeded_stream(1), factors=np.ones(80))
    dense = np.zeros((80, 30), dtype=np.int64)
    dense[np.repeat(np.arange(80), coded.sizes), coded.items] = coded.codes
    overlaps = (dense > 0).astype(np.int64) @ dense.T
    for user in range(80):
        assert sorted(found.indices[user].tolist()) == [other for other in range(80) if other != user]
        np.testing.assert_allclose(found.scores[user] * 255, overlaps[user, found.indices[user]], atol=1e-9)
        order = np.lexsort((found.indices[user], -found.scores[user]))
        assert (order == np.arange(79)).all()


def test_large_profiles_do_not_overflow():
    coded = CodedProfiles(
        np.array([0, 400, 800, 801]),
        np.concatenate([np.arange(400), np.arange(400), [0]]).astype(np.int32),
        np.full(801, 255, dtype=np.uint8),
        400,
    )
    found = exact_neighbors(coded, k=1, epsilon=Fraction(100), stream=seeded_stream(1), factors=np.ones(3))
    assert abs(found.scores[0, 0] - 400) < 1
    assert found.indices[:2, 0].tolist() == [1, 0]


@pytest.mark.parametrize("every_pair", [False, True])
def test_the_result_does_not_depend_on_threads(every_pair):
    coded = crowd(1300, 500, 10, seed=6)
    results = [
        exact_neighbors(
            coded,
            k=4,
            epsilon=ONE,
            stream=seeded_stream(3),
            factors=np.ones(1300),
            threads=threads,
            every_pair=every_pair,
        )
        for threads in (1, 2)
    ]
    assert (results[0].indices == results[1].indices).all()
    assert (results[0].scores == results[1].scores).all()


def test_nobody_is_in_their_own_list_nor_twice_in_one():
    coded = crowd(700, 50, 10, seed=7)
    found = exact_neighbors(coded, k=20, epsilon=Fraction(1, 10), stream=seeded_stream(3), factors=np.ones(700))
    assert (found.indices != np.arange(700)[:, None]).all()
    assert (np.diff(np.sort(found.indices, axis=1), axis=1) > 0).all()
    assert (np.diff(found.scores, axis=1) <= 0).all()


@pytest.mark.slow
def test_random_words_that_run_out_in_the_middle_change_nothing_about_the_distribution(monkeypatch):
    from hetdp.neighbors.engines.exact import engine

    coded, user, _ = CROWDS["everybody meets, scanned"]
    plain = lists(coded, user=user, seed=2, every_pair=True)
    monkeypatch.setattr(engine, "_first_words", lambda *_: 1100)  # barely more than one step may take
    monkeypatch.setattr(engine, "_MORE_WORDS", 1100)
    short = lists(coded, user=user, seed=1)
    pvalues = list(two_sample_pvalues(short, plain, coded.n_users))
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


@pytest.mark.parametrize("every_pair", [False, True])
@pytest.mark.parametrize("words", [1030, 1031, 1032, 1033, 1034, 1035])
def test_wherever_the_words_run_out_nothing_is_counted_twice(monkeypatch, words, every_pair):
    """With three words a draw, the buffer ends before every possible candidate of some recipient."""
    from hetdp.neighbors.engines.exact import engine

    monkeypatch.setattr(engine, "_first_words", lambda *_: words)
    monkeypatch.setattr(engine, "_MORE_WORDS", words)
    coded = crowd(11, 6, 5, seed=9)
    recipients = copies(coded, 3, 2000)
    found = exact_neighbors(
        coded,
        k=11,
        epsilon=Fraction(60),
        stream=seeded_stream(1),
        factors=np.ones(11),
        own=recipients,
        members=False,
        every_pair=every_pair,
    )
    dense = np.zeros((11, 6))
    dense[np.repeat(np.arange(11), coded.sizes), coded.items] = coded.codes / 255
    own = coded.items[coded.indptr[3] : coded.indptr[4]]
    truth = dense[:, own].sum(axis=1)
    by_candidate = np.take_along_axis(found.scores, np.argsort(found.indices, axis=1), axis=1)
    # Noise of scale 1/60: 0.5 is exceeded with probability exp(-30) per score.
    assert np.abs(by_candidate - truth).max() < 0.5
    assert truth.max() > 1


def test_an_item_of_weight_0_changes_nothing_bitwise_for_anybody_its_owner_included():
    pairs = [(user, item) for user in range(30) for item in range(user % 7)]
    users, items = map(list, zip(*pairs, strict=True))
    without = Profiles.from_pairs(users, items, item_ids=range(9), user_ids=range(31))
    weights = [*[1.0] * len(users), 0.0, 0.0]
    extra = Profiles.from_pairs([*users, 3, 30], [*items, 8, 2], weights, item_ids=range(9), user_ids=range(31))
    results = [
        exact_neighbors(code_profiles(profiles), k=5, epsilon=ONE, stream=seeded_stream(1), factors=np.ones(31))
        for profiles in (without, extra)
    ]
    assert results[0].scores.tobytes() == results[1].scores.tobytes()
    assert results[0].indices.tobytes() == results[1].indices.tobytes()


def test_codes_are_rounded_down_exactly():
    weights = np.array([1.0, np.nextafter(1.0, 0), 0.5, 1 / 255, np.nextafter(1 / 255, 0), 0.0, 254 / 255])
    profiles = Profiles.from_pairs([0] * 7, range(7), weights)
    coded = code_profiles(profiles)
    expected = [int(Fraction(float(weight)) * 255) for weight in weights]
    assert dict(zip(coded.items.tolist(), coded.codes.tolist(), strict=True)) == {
        item: code for item, code in enumerate(expected) if code
    }
    assert repr(coded) == "CodedProfiles(private: 1 users)"


def test_dense_rows_are_only_a_faster_way(monkeypatch):
    coded = crowd(700, 80, 10, seed=8, popular=0.7)
    results = []
    for share in (1, 30, 10**9):
        monkeypatch.setattr(exact, "_DENSE_SHARE", share)
        found = exact_neighbors(coded, k=6, epsilon=ONE, stream=seeded_stream(5), factors=np.ones(700))
        results.append(found)
    assert all((found.scores == results[0].scores).all() for found in results)
    assert all((found.indices == results[0].indices).all() for found in results)
