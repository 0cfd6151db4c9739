"""The noisy score of a pair: exact noise, the same for both sides, and no more loss than an item's weight allows.

Every statistical test has a false-alarm rate of at most 1e-6 and fixed seeds.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, laplace_log_weights

from hetdp.auditing import audit
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.gossip import noisy_scores as gossip_scores
from hetdp.neighbors.engines.gossip.noisy_scores import NoisyScores, noisy_scores, score_table
from hetdp.profiles.steps import CodedProfiles

CONFIDENT = 1 - 1e-7


def coded_from(rows, n_items):
    """Profiles from one dict of item -> code per user."""
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    items = np.array([item for row in rows for item in sorted(row)], dtype=np.int32)
    codes = np.array([row[item] for row in rows for item in sorted(row)], dtype=np.uint8)
    return CodedProfiles(indptr, items, codes, n_items)


def overlaps(scores: NoisyScores, users, peers):
    users, peers = np.asarray(users, dtype=np.int32), np.asarray(peers, dtype=np.int32)
    values = scores.score(users, np.arange(users.size + 1), peers, scores.worker()) * 255
    assert np.abs(values - np.rint(values)).max() < 1e-6  # noisy overlaps lie on the grid
    return np.rint(values).astype(np.int64)


def all_pairs(n):
    return np.triu_indices(n, 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(255)])
@pytest.mark.parametrize("table", [False, True])
def test_the_noise_of_pairs_is_discrete_laplace(epsilon, table):
    n = 700
    coded = coded_from([{}] * n, 5)  # nobody has anything: all scores are noise
    scores = noisy_scores(coded, key=seeded_stream(4).key(), epsilon=epsilon, factors=np.ones(n))
    one, two = all_pairs(n)
    noise = score_table(scores).noisy[one, two].astype(np.int64) if table else overlaps(scores, one, two)
    scale = float(255 / epsilon)
    spread = max(1, scale)
    assert fit_pvalue(noise, partial(laplace_log_weights, scale=scale), spread) > FALSE_ALARM
    for wrong in (0.97, 1.03):
        assert fit_pvalue(noise, partial(laplace_log_weights, scale=scale * wrong), spread) < FALSE_ALARM


def test_both_sides_get_the_same_and_other_keys_give_others():
    rng = np.random.default_rng(1)
    rows = [dict.fromkeys(rng.integers(0, 30, 12).tolist(), 200) for _ in range(40)]
    make = partial(noisy_scores, coded_from(rows, 30), epsilon=Fraction(1), factors=np.ones(40))
    one, two = all_pairs(40)
    first = make(key=bytes(32))
    assert np.array_equal(overlaps(first, one, two), overlaps(first, two, one))
    other = make(key=bytes(31) + b"1")
    assert (overlaps(first, one, two) == overlaps(other, one, two)).mean() < 0.05


@pytest.mark.parametrize("combine", ["smaller", "product"])
@pytest.mark.parametrize("popular_one_in", [0, 4, 10**9])
@pytest.mark.parametrize("labels_in_32_bits", [0, 2**24])
def test_overlaps_are_what_they_say(monkeypatch, combine, popular_one_in, labels_in_32_bits):
    """Against brute force, with noise so small that it is 0; all ways to count, dense, sparse and pair by pair."""
    monkeypatch.setattr(gossip_scores, "_POPULAR_ONE_IN", popular_one_in)
    monkeypatch.setattr(gossip_scores, "_LABELS_IN_32_BITS", labels_in_32_bits)
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((50, 40)) < np.linspace(0.02, 0.9, 40), rng.integers(1, 256, (50, 40)), 0)
    dense[7] = 0
    rows = [{int(item): int(row[item]) for item in np.flatnonzero(row)} for row in dense]
    silent = Fraction(255 * 200)  # scale 1/200: the noise is 0 but for one time in e**200
    scores = noisy_scores(coded_from(rows, 40), key=bytes(32), epsilon=silent, factors=np.ones(50), combine=combine)
    one, two = all_pairs(50)
    both = np.minimum(dense[one], dense[two]) if combine == "smaller" else dense[one] * dense[two] // 255
    assert np.array_equal(overlaps(scores, one, two), both.sum(axis=1))
    assert np.array_equal(score_table(scores).noisy[one, two], both.sum(axis=1))


def test_every_product_of_codes_is_rounded_down():
    """All 255 x 255 products, one item each, through the dense and the sparse way."""
    codes = np.arange(1, 256)
    rows = [{0: int(code)} for code in codes]
    silent = Fraction(255 * 200)
    scores = noisy_scores(coded_from(rows, 1), key=bytes(32), epsilon=silent, factors=np.ones(255), combine="product")
    one, two = all_pairs(255)
    expected = codes[one] * codes[two] // 255
    assert np.array_equal(overlaps(scores, one, two), expected)
    assert np.array_equal(score_table(scores).noisy[one, two], expected)


@pytest.mark.parametrize("combine", ["smaller", "product"])
def test_an_item_moves_an_overlap_by_no_more_than_its_code(combine):
    rng = np.random.default_rng(5)
    silent = Fraction(255 * 200)
    for _ in range(50):
        base = {int(item): int(rng.integers(1, 256)) for item in rng.choice(20, 8, replace=False)}
        other = {int(item): int(rng.integers(1, 256)) for item in rng.choice(20, 8, replace=False)}
        item, code = int(rng.integers(0, 20)), int(rng.integers(1, 256))
        with_item, without = {**base, item: code}, {key: value for key, value in base.items() if key != item}
        moved = []
        for changed in (with_item, without):
            coded = coded_from([changed, other], 20)
            scores = noisy_scores(coded, key=bytes(32), epsilon=silent, factors=np.ones(2), combine=combine)
            moved.append(overlaps(scores, [0], [1])[0])
        assert 0 <= moved[0] - moved[1] <= code


def pair_mechanism(code, *, epsilon, combine="smaller", counted=None):
    """Return the noisy score of one pair as a function of whether its owner has item 0; `counted` breaks the coding."""

    def mechanism(profile, size, random_state):
        own = {1: 255} | ({0: counted or code} if profile[0] else {})
        coded = coded_from([{0: 255, 1: 255}, *[own] * size], 2)
        key = seeded_stream(random_state).key()
        scores = noisy_scores(coded, key=key, epsilon=epsilon, factors=np.ones(size + 1), combine=combine)
        return overlaps(scores, np.zeros(size), np.arange(1, size + 1)).astype(float)

    return mechanism


@pytest.mark.parametrize("combine", ["smaller", "product"])
@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_the_loss_of_an_item_is_epsilon_times_its_weight(combine, weight):
    mechanism = pair_mechanism(int(255 * weight), epsilon=Fraction(2), combine=combine)
    report = audit(
        mechanism, adjacent=[([0], [1])], claimed=2 * weight, samples=60_000, confidence=CONFIDENT, random_state=1
    )
    assert report.verdict == "no violation found"
    assert report.rows[0].lower_bound > 0.8 * 2 * weight  # the audit sees the loss that is there


def test_an_item_that_counts_too_much_is_caught():
    mechanism = pair_mechanism(102, epsilon=Fraction(2), counted=204)
    report = audit(mechanism, adjacent=[([0], [1])], claimed=0.8, samples=60_000, confidence=CONFIDENT, random_state=1)
    assert report.verdict == "violated"


def test_the_key_is_not_shown():
    scores = noisy_scores(coded_from([{0: 1}, {0: 2}], 1), key=bytes(32), epsilon=Fraction(1), factors=np.ones(2))
    assert repr(scores) == "NoisyScores(2 users)"
    assert repr(score_table(scores)) == "ScoreTable(2 users)"
