"""The closed form: edges of noise, when taste is trusted, and what a score is made of."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hetdp.recommender.model import Evidence, ItemModel, _loudness, learn, noise_edge, visible_taste
from hetdp.recommender.sketched import SketchSums
from hetdp.sketching.bit_law import chance_of_one, contrast


def exact(rows):
    """Evidence without noise for privacy."""
    rows = np.asarray(rows, dtype=float)
    return Evidence(rows.sum(axis=0), rows.T @ rows, edge=0.0, noise=0.0, count_noise=0.0)


def sketched(rows, epsilon, seed):
    chances = np.where(rows, 1.0 - chance_of_one(epsilon), chance_of_one(epsilon))
    bits = np.random.default_rng(seed).random(rows.shape) < chances
    return SketchSums.of_bits(bits).evidence(Fraction(epsilon))


def two_tastes(people, items, seed):
    """Half of the people like the first half of the items, half of them the rest."""
    random = np.random.default_rng(seed)
    likes = np.where((np.arange(people) % 2)[:, None] == (np.arange(items) >= items // 2), 0.5, 0.05)
    return random.random((people, items)) < likes


def by_popularity(people, items, seed):
    return np.random.default_rng(seed).random((people, items)) < np.linspace(0.6, 0.05, items)


def test_the_edge_of_equal_items_is_that_of_marchenko_and_pastur():
    for people, items in ((50, 400), (400, 400), (10_000, 30)):
        edge = noise_edge(np.full(items, math.sqrt(people)), people)
        assert edge == pytest.approx(2.0 * math.sqrt(people * items) + items, rel=1e-6)


def test_the_edge_of_very_many_people_is_that_of_a_gaussian_matrix():
    assert noise_edge(np.full(200, 3.0), 1e12) == pytest.approx(2.0 * 3.0 * math.sqrt(200), rel=1e-5)


def test_the_edge_of_unequal_items_is_where_noise_ends():
    random = np.random.default_rng(1)
    people, items = 800, 500
    variances = random.random(items) ** 2
    noise = random.standard_normal((people, items)) * np.sqrt(variances)
    pairs = noise.T @ noise
    np.fill_diagonal(pairs, 0.0)
    # The largest eigenvalue varies by about items**(-2/3) = 1.6 % around the edge.
    assert np.linalg.eigvalsh(pairs)[-1] == pytest.approx(noise_edge(math.sqrt(people) * variances, people), rel=0.08)


def test_no_noise_has_no_edge():
    assert noise_edge(np.zeros(3), 10) == 0.0


def test_taste_is_found_without_noise():
    model = learn(exact(two_tastes(600, 40, seed=2)))
    assert model.taste == 1.0
    assert model.weights[:20, :20].sum() > 3 * abs(model.weights[:20, 20:].sum())


def test_taste_that_rises_above_the_noise_is_used():
    model = learn(sketched(two_tastes(4000, 40, seed=3), 2, seed=4))
    assert model.taste > 0.9
    same = model.weights[:20, :20][~np.eye(20, dtype=bool)]
    assert (same > model.weights[:20, 20:].max()).mean() > 0.9


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3, 10])
def test_where_there_is_no_taste_popularity_recommends(epsilon):
    model = learn(sketched(by_popularity(3000, 120, seed=5), epsilon, seed=6))
    assert model.taste < 0.35
    row = np.arange(60, 90, dtype=np.int32)
    scores = model.scores(np.array([0, 30]), row)[0]
    # A few places apart at most: the order is that of the counts.
    assert np.corrcoef(scores, model.counts)[0, 1] > 0.98


def test_taste_below_the_noise_is_not_used():
    assert learn(sketched(two_tastes(100, 200, seed=7), 0.2, seed=8)).taste < 0.35


def test_hardly_any_taste_is_none():
    model = learn(sketched(by_popularity(3000, 120, seed=5), 10, seed=6))
    assert model.taste == 0.0
    assert not model.weights.any()


def test_a_score_is_taste_and_popularity():
    model = ItemModel(np.array([6.0, 3.0, 1.0]), np.arange(9, dtype=np.float32).reshape(3, 3), taste=0.25)
    scores = model.scores(np.array([0, 2]), np.array([0, 2], dtype=np.int32))[0]
    np.testing.assert_allclose(scores, model.weights[0] + model.weights[2] + 2 * 0.75 * model.counts / 10)


def test_without_taste_the_order_is_that_of_the_counts_noise_included():
    model = ItemModel(np.array([2.0, -1.0, 0.5]), np.zeros((3, 3), dtype=np.float32), taste=0.0)
    scores = model.scores(np.array([0, 1]), np.array([1], dtype=np.int32))[0]
    assert np.argsort(-scores).tolist() == [0, 2, 1]


def test_whoever_has_nothing_gets_what_is_popular():
    model = learn(exact(two_tastes(100, 10, seed=9)))
    scores = model.scores(np.array([0, 0]), np.empty(0, dtype=np.int32))[0]
    assert scores == pytest.approx(model.counts / model.counts.sum())


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3)), np.ones((2, 1)), np.ones((1, 2)), np.eye(2), np.ones((5, 4))], ids=str
)
@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
def test_hardly_any_data_gives_finite_scores(rows, epsilon):
    for evidence in (exact(rows), sketched(rows.astype(bool), epsilon, seed=10)):
        model = learn(evidence)
        assert np.isfinite(model.weights).all()
        assert np.isfinite(model.popularity).all()
        assert 0.0 <= model.taste <= 1.0
        assert not model.weights.diagonal().any()


def test_negative_counts_are_noise_and_give_finite_scores():
    model = learn(Evidence(np.array([-3.0, -1.0, -2.0]), np.diag([-3.0, -1.0, -2.0]), 10.0, noise=4.0, count_noise=4.0))
    assert np.isfinite(model.weights).all()


def test_what_is_saved_is_the_model():
    model = learn(exact(two_tastes(100, 10, seed=11)))
    again = ItemModel.of_arrays(model.arrays())
    assert again.taste == model.taste
    assert np.array_equal(again.weights, model.weights)


def test_a_taste_is_visible_where_it_should_be():
    """A block of people who all have the same items is seen just above the threshold and not below it."""
    people, items, epsilon = 2000, 500, 1
    q, c = chance_of_one(epsilon), contrast(epsilon)
    needed = visible_taste(people * (q * (1 - q) / c**2) ** 2, items)
    seen = []
    for share in (0.5, 2.0):
        side = int(math.sqrt(share * needed / (people / items)))
        rows = np.zeros((people, items), dtype=bool)
        rows[: side * people // items, :side] = True
        evidence = sketched(rows, epsilon, seed=12)
        found = np.linalg.eigh(evidence.gram)[1][:, -1]
        seen.append(float((found[:side] ** 2).sum()))
    assert seen[0] < 0.5 < seen[1]


def test_what_few_have_speaks_louder_and_only_proportions_matter():
    counts = np.array([1000.0, 400.0, 100.0, 20.0, -30.0])
    loud = _loudness(counts)
    assert loud[0] < loud[1] < loud[2] == loud[3] == loud[4]
    assert _loudness(7 * counts) == pytest.approx(loud)
    there = np.maximum(counts, 0)
    assert there @ loud == pytest.approx(there.sum())  # taste and popularity keep their balance
    assert _loudness(np.array([-1.0, 0.0])).tolist() == [1.0, 1.0]
