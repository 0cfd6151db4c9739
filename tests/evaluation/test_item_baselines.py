"""Popularity and EASE against plain definitions; what is private pays for it, and nobody gets what they have."""

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp.evaluation import ease, item_baselines, popularity, private_popularity
from hetdp.profiles import Profiles


@pytest.fixture(scope="module")
def crowd():
    generator = np.random.default_rng(4)
    taste = np.arange(90)[:, None] % 3 == np.arange(40)[None, :] % 3
    has = generator.random((90, 40)) < np.where(taste, 0.5, 0.05) * np.linspace(1, 0.3, 40)
    has[7] = False  # who has nothing
    has[8] = True  # who has everything
    return Profiles.from_pairs(*np.nonzero(has), user_ids=range(90), item_ids=range(40))


def lists(model, n):
    frame = model.recommend(n=n)
    return {int(user): rows["item"].tolist() for user, rows in frame.groupby("user")}


def plain_lists(scores, profiles, n):
    found = {}
    for user in range(profiles.n_users):
        own = set(profiles.profile(user))
        order = [item for item in np.argsort(-scores[user], kind="stable").tolist() if item not in own]
        if order:
            found[user] = order[:n]
    return found


@pytest.mark.parametrize("block", [1, 100, 2**22])
def test_popularity_is_the_same_for_all_but_for_what_they_have(crowd, monkeypatch, block):
    monkeypatch.setattr(item_baselines, "_CELLS", block)
    scores = np.tile(crowd.popularity.astype(float), (90, 1))
    assert lists(popularity(crowd), 5) == plain_lists(scores, crowd, 5)
    assert lists(popularity(crowd.with_weights(0)), 5) == lists(popularity(crowd), 5)


@pytest.mark.parametrize("block", [1, 2**22])
@pytest.mark.parametrize("trusted", [False, True])
def test_private_popularity_counts_what_is_published(crowd, monkeypatch, block, trusted):
    monkeypatch.setattr(item_baselines, "_CELLS", block)
    sure = 10**6 if trusted else 50  # steps of 1/255 would settle ties
    assert lists(private_popularity(crowd, epsilon=sure, trusted=trusted), 5) == lists(popularity(crowd), 5)
    one, same, other = (
        lists(private_popularity(crowd, epsilon=0.1, trusted=trusted, random_state=seed), 5) for seed in (1, 1, 2)
    )
    assert lists(popularity(crowd), 5) != one == same != other


@pytest.mark.parametrize("trusted", [False, True])
def test_private_popularity_does_not_depend_on_items_of_weight_zero(crowd, trusted):
    """Who has what changes whose list leaves out what, and nothing else: a person with nothing gets the same list."""
    moved = Profiles.from_pairs([3, 4, 5], [1, 1, 1], weights=[0, 0, 0], user_ids=range(90), item_ids=range(40))
    nothing = lists(private_popularity(crowd.with_weights(0), epsilon=1, trusted=trusted), 5)[7]
    assert nothing == lists(private_popularity(moved, epsilon=1, trusted=trusted), 5)[7]
    assert nothing != lists(private_popularity(crowd, epsilon=1, trusted=trusted), 5)[7]


def test_ease_is_the_closed_form(crowd):
    has = crowd.to_csr()[0].toarray().astype(float)
    gram = has.T @ has
    inverse = np.linalg.inv(gram + 5 * np.diag(gram).mean() * np.eye(40))
    speaks = inverse / -np.diag(inverse)
    np.fill_diagonal(speaks, 0)
    scores = has @ speaks
    scores[7] = crowd.popularity
    assert lists(ease(crowd), 6) == plain_lists(scores, crowd, 6)


def test_items_outside_the_head_of_ease_come_last_by_popularity(crowd):
    head = set(np.argsort(-crowd.popularity, kind="stable")[:10].tolist())
    rest = [item for item in np.argsort(-crowd.popularity, kind="stable").tolist() if item not in head]
    for user, items in lists(ease(crowd, n_head=10), 40).items():
        own = set(crowd.profile(user))
        assert set(items[: len(head - own)]) == head - own
        assert items[len(head - own) :] == [item for item in rest if item not in own]


def test_ease_knows_taste_and_popularity_does_not(crowd):
    right = {}
    for make in (ease, popularity):
        pairs = [(user, item) for user, items in lists(make(crowd), 3).items() if user != 7 for item in items]
        right[make] = np.mean([user % 3 == item % 3 for user, item in pairs])
    assert right[ease] > 0.8
    assert right[popularity] < 0.5


def test_bad_arguments_are_refused(crowd):
    with refused("n"):
        popularity(crowd).recommend(n=0)
    with refused("epsilon"):
        private_popularity(crowd, epsilon=0)
    with refused("n_head"):
        ease(crowd, n_head=0)
