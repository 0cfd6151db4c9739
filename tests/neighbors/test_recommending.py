"""Votes: what they start from, and who is allowed to cast them."""

from fractions import Fraction

import numpy as np
import pytest

from hetdp import PrivateNeighbors, Profiles
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.recommending import _prior, split_epsilon, vote_weights
from hetdp.profiles.coded import CodedProfiles, code_profiles


def crowd(n_users=300):
    """Item i is had by every user whose number i + 1 divides."""
    pairs = [(user, item) for user in range(n_users) for item in range(60) if user % (item + 1) == 0]
    return code_profiles(Profiles.from_pairs(*zip(*pairs, strict=True)))


def test_votes_start_from_the_share_of_everybody():
    coded = crowd()
    base = _prior(coded, Fraction(10**6), 20.0, seeded_stream(1))
    share = np.bincount(coded.items) / 300
    np.testing.assert_allclose(base / 255, 20 * share, atol=0.01)


def test_popularity_that_is_mostly_noise_makes_no_difference_between_items():
    """Noise of 1,000 users on counts of up to 300: drawn to the mean, no item begins far ahead. A fixed seed."""
    plain = _prior(crowd(), Fraction(1, 1000), 20.0, seeded_stream(1)) / 255
    assert np.ptp(plain) < 0.4 * 20
    assert np.ptp(_prior(crowd(), Fraction(1), 20.0, seeded_stream(1)) / 255) > 0.8 * 20


def test_nothing_to_start_from():
    nothing = CodedProfiles(np.zeros(3, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8), 0)
    assert _prior(nothing, Fraction(1), 20.0, seeded_stream(1)).size == 0


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_parts_of_epsilon_add_up(engine):
    for epsilon in (Fraction(1, 3), 1, 7.5):
        assert sum(split_epsilon(epsilon, engine)) == Fraction(epsilon)


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_many_voters_find_more_than_few(engine):
    """Two tastes, and each user lacks half of the own one, which should be recommended. Seeds are fixed.

    A share of 200 lists has a standard error of 0.02 at most, if each list counts as one draw; 0.2 is ten of them.
    """
    random = np.random.default_rng(1)
    pairs = [
        (user, item) for user in range(200) for item in range(80) if item % 2 == user % 2 and random.random() < 0.5
    ]
    profiles = Profiles.from_pairs(*zip(*pairs, strict=True))
    own = []
    for voters in (3, 90):
        model = PrivateNeighbors(3, n_voters=voters, epsilon=1, engine=engine, catalogue="given", random_state=2).fit(
            profiles
        )
        frame = model.recommend(5, epsilon=0.5)
        own.append((frame["item"] % 2 == frame["user"] % 2).mean())
    assert own[1] > own[0] + 0.2


def test_votes_are_weighed_by_how_alike_the_voters_seem():
    scores = np.array([[9.0, 6.0, 3.0, 0.0, -2.0, np.nan], [-1.0, -2.0, -3.0, -4.0, -5.0, np.nan]])
    weights = vote_weights(scores, 2)
    assert weights[0].tolist() == [1, 1, 0.5, 0, 0, 0]
    assert weights[1].tolist() == [1, 1, 1, 1, 1, 0], "nobody seems alike: all count the same"
    assert vote_weights(scores[:, :1], 10).tolist() == [[1], [1]]
