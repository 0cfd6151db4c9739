"""Recommendations from sketches agree with a dense computation, and shrinking votes finds more than votes alone."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from hetdp import PrivateNeighbors, Profiles, errors
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
from hetdp.neighbors.engines.sketch.recommending import popularity, sketch_recommendations
from hetdp.profiles.coded import code_profiles
from hetdp.profiles.holdout import split

N_USERS, N_ITEMS = 600, 130


def tastes(seed=0):
    """Three communities that share some items and not others."""
    random = np.random.default_rng(seed)
    liking = random.random((3, N_ITEMS)) ** 4
    likes = random.random((N_USERS, N_ITEMS)) < liking[np.arange(N_USERS) % 3]
    users, items = np.nonzero(likes)
    return Profiles.from_pairs(users, items, user_ids=np.arange(N_USERS), item_ids=np.arange(N_ITEMS))


@pytest.fixture(scope="module")
def fitted():
    coded = code_profiles(tastes())
    return coded, sketch_neighbors(coded, k=11, epsilon=Fraction(2), stream=seeded_stream(1))


def all_bits(sketches):
    packed = [sketches.published_sketch(user) for user in range(sketches.n_users)]
    return np.unpackbits(np.array(packed), axis=1, bitorder="little")[:, : sketches.n_items].astype(float)


def shares_of(sketches, threads=1):
    with ThreadPoolExecutor(threads) as pool:
        return popularity(sketches, pool)


def naive_scores(coded, sketches, neighbours, weights, spread):
    """The formula of the documentation, user by user."""
    bits, shares = all_bits(sketches), shares_of(sketches)
    chance, contrast = sketches.chance_of_one, sketches.contrast
    scores = np.tile(shares, (coded.n_users, 1))
    own = shares * (1 - shares)
    blur = chance * (1 - chance) / contrast**2
    for user in range(coded.n_users):
        mine = coded.items[coded.indptr[user] : coded.indptr[user + 1]]
        weight = weights[user] * (neighbours[user] >= 0)
        if weight.sum() > 0:
            votes = (weight @ bits[neighbours[user]] / weight.sum() - chance) / contrast
            k = weight.sum() ** 2 / (weight**2).sum()
            free = np.setdiff1d(np.arange(N_ITEMS), mine)
            level = (votes * shares)[free].sum() / (shares**2)[free].sum()
            trust = (own / (blur + own + 0.06 * own * k) ** 2)[free]
            excess = ((votes - level * shares) ** 2 - (blur + level * own) / k)[free]
            learned = max((trust * excess).sum() / (trust * own[free]).sum(), 0)
            signal = (learned if spread is None else spread) * own * k
            scores[user] = level * shares + signal / (signal + blur + own) * (votes - level * shares)
        scores[user, mine] = -np.inf
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("spread", [None, 0.0, 0.1, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_formula(fitted, spread, weighted):
    coded, found = fitted
    neighbours = found.lists.indices.copy()
    neighbours[5], neighbours[6, 3:] = -1, -1
    weights = np.random.default_rng(1).random(neighbours.shape) if weighted else np.ones(neighbours.shape)
    given = weights if weighted else None
    items, scores = sketch_recommendations(
        coded, found.sketches, neighbours, n=8, weights=given, spread=spread, memory_bytes=50_000
    )
    expected = naive_scores(coded, found.sketches, neighbours, weights, spread)
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1)[:, :8], rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(expected, items.astype(np.int64), axis=1), scores, rtol=1e-9)
    assert all(len(set(row)) == 8 for row in items.tolist())


def test_recommendations_do_not_depend_on_memory_or_threads(fitted):
    coded, found = fitted
    one = sketch_recommendations(coded, found.sketches, found.lists.indices)
    steps = []
    other = sketch_recommendations(
        coded,
        found.sketches,
        found.lists.indices,
        memory_bytes=1,
        threads=2,
        progress=lambda *done: steps.append(done),
    )
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert steps == [(64, N_ITEMS), (128, N_ITEMS), (N_ITEMS, N_ITEMS)]


def test_whoever_has_everything_gets_nothing():
    coded = code_profiles(Profiles.from_pairs([0, 0, 1], ["a", "b", "a"]))
    found = sketch_neighbors(coded, k=1, epsilon=Fraction(3), stream=seeded_stream(1))
    items, scores = sketch_recommendations(coded, found.sketches, found.lists.indices, n=2)
    assert items.tolist() == [[-1, -1], [1, -1]]
    assert np.isnan(scores[0]).all()


def test_own_items_of_weight_0_count_as_not_there():
    """They have no influence at all, not even this one: the list is bitwise that of a user who lacks them."""
    profiles = tastes()
    weights = np.where(np.arange(profiles.n_pairs) % 5 == 0, 0.0, 1.0)
    results = []
    for each in (profiles.with_weights(weights), profiles.keep(weights > 0)):
        coded = code_profiles(each)
        found = sketch_neighbors(coded, k=5, epsilon=Fraction(2), stream=seeded_stream(2))
        results.append(sketch_recommendations(coded, found.sketches, found.lists.indices))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_item_shares_estimate_the_popularity():
    """To 6 standard errors for each item (false-alarm rate below 1e-6 over all)."""
    profiles = tastes()
    coded = code_profiles(profiles)
    found = sketch_neighbors(coded, k=1, epsilon=Fraction(3), stream=seeded_stream(3))
    truth = profiles.popularity / N_USERS
    sketches = found.sketches
    error = np.sqrt(sketches.chance_of_one * (1 - sketches.chance_of_one) / N_USERS) / sketches.contrast
    assert np.abs(shares_of(sketches, threads=2) - truth).max() < 6 * error


@pytest.mark.parametrize("epsilon", [1, 3])
def test_shrunk_votes_find_more_test_items_than_votes_alone(epsilon):
    """Paired over 8 sets: better by more than 5 standard errors. Seeds are fixed."""
    gains = []
    for seed in range(8):
        train, test = split(tastes(seed), random_state=seed)
        coded = code_profiles(train)
        wanted = np.zeros((N_USERS, N_ITEMS), dtype=bool)
        wanted[test.owners, test.indices] = True
        found = sketch_neighbors(coded, k=10, epsilon=Fraction(epsilon), stream=seeded_stream(seed))
        hits = [
            np.take_along_axis(wanted, lists[0].astype(np.int64), axis=1).sum()
            for lists in (
                sketch_recommendations(coded, found.sketches, found.lists.indices, spread=spread)
                for spread in (None, np.inf)
            )
        ]
        gains.append(hits[0] - hits[1])
    assert np.mean(gains) > 5 * np.std(gains) / np.sqrt(8) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1 [(]got 0[)]."),
        ({"spread": -1.0}, "spread must be at least 0 [(]got -1.0[)]."),
        ({"spread": float("nan")}, "spread must be at least 0 [(]got nan[)]."),
        ({"weights": [-1.0] * 11}, "weights must be finite and at least 0."),
    ],
)
def test_bad_parameters_are_named(fitted, options, message):
    coded, found = fitted
    with pytest.raises(errors.InvalidInput, match=message):
        sketch_recommendations(coded, found.sketches, found.lists.indices, **options)


@pytest.mark.parametrize("epsilon", [1e-6, 50.0, 5000.0])
def test_levels_beyond_all_noise_and_below_all_signal_work(epsilon):
    profiles = Profiles.from_pairs(np.repeat(np.arange(30), 5), np.arange(150) % 40)
    model = PrivateNeighbors(3, epsilon=epsilon, engine="sketch", catalogue="given", random_state=1).fit(profiles)
    assert np.isfinite(model.recommend(n=2)["score"]).all()
    assert ((model.significance_ >= 0) & (model.significance_ <= 1)).all()
