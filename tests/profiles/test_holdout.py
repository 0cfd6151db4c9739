"""Splits into training and test items: the paper's, and a share of each profile."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hetdp import errors
from hetdp.core.randomness import seeded_stream, simulation_stream
from hetdp.profiles import Profiles, policies, split

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey" / "survey.csv.gz"


def crowd(n_users=200, n_items=300, seed=0):
    generator = np.random.default_rng(seed)
    users, items = np.nonzero(generator.random((n_users, n_items)) < generator.random(n_items) * 0.3)
    weights = generator.random(users.size)
    return Profiles.from_pairs(users, items, weights, user_ids=range(n_users), item_ids=range(n_items))


def pairs_of(profiles):
    users, items, weights = profiles.to_pairs()
    return set(zip(users.tolist(), items.tolist(), weights.tolist(), strict=True))


@given(
    pairs=st.sets(st.tuples(st.integers(0, 6), st.sampled_from("abcdef")), max_size=30),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**70),
)
def test_every_pair_lands_on_exactly_one_side(pairs, share, seed):
    ordered = sorted(pairs)
    profiles = Profiles.from_pairs(
        [user for user, _ in ordered],
        [item for _, item in ordered],
        weights=np.linspace(0, 1, len(ordered)),
        user_ids=range(7),
        item_ids=list("abcdef"),
    )
    train, test = split(profiles, share=share, random_state=seed)
    assert pairs_of(train) | pairs_of(test) == pairs_of(profiles)
    assert train.n_pairs + test.n_pairs == profiles.n_pairs
    for part in (train, test):
        assert part.user_ids.tolist() == profiles.user_ids.tolist()
        assert part.item_ids.tolist() == profiles.item_ids.tolist()
    assert (profiles.popularity[test.indices] >= 2).all()


def test_items_of_a_single_user_are_never_tested():
    alone = Profiles.from_pairs(range(1000), range(1000))
    train, test = split(alone, share=0.99)
    assert test.n_pairs == 0
    assert train == alone


def test_the_share_is_right():
    """False alarm below 1e-6: five standard deviations."""
    profiles = crowd()
    testable = int((profiles.popularity[profiles.indices] > 1).sum())
    for share in (0.1, 0.5):
        _, test = split(profiles, share=share, random_state=3)
        assert abs(test.n_pairs - share * testable) < 5 * (testable * share * (1 - share)) ** 0.5


@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=8), share=st.floats(0.01, 0.99))
def test_each_gives_up_a_share_of_the_own_items_at_least_one_and_never_all(sizes, share):
    users = np.repeat(np.arange(len(sizes)), sizes)
    items = np.concatenate([np.arange(size) for size in sizes])
    profiles = Profiles.from_pairs(users, items, user_ids=range(len(sizes)))
    train, test = split(profiles, protocol="each", share=share)
    assert pairs_of(train) | pairs_of(test) == pairs_of(profiles)
    assert not pairs_of(train) & pairs_of(test)
    expected = [min(max(1, round(share * size)), size - 1) if size else 0 for size in sizes]
    assert test.sizes.tolist() == expected


def test_which_items_are_hidden_of_each_is_chance():
    """Of 2,000 people with ten items each, every place is hidden by about a fifth; five standard deviations."""
    profiles = Profiles.from_pairs(np.repeat(np.arange(2000), 10), np.tile(np.arange(10), 2000))
    _, test = split(profiles, protocol="each", share=0.2)
    assert (abs(test.popularity - 400) < 5 * (2000 * 0.2 * 0.8) ** 0.5).all()
    assert test == split(profiles, protocol="each", share=0.2)[1]


def test_the_same_seed_gives_the_same_split():
    profiles = crowd()
    assert (
        split(profiles)
        == split(profiles, protocol="paper", random_state=0)
        == split(profiles, random_state=np.int64(0))
    )
    assert split(profiles, random_state=1) != split(profiles, random_state=2)
    assert split(profiles, random_state=seeded_stream(4)) == split(profiles, random_state=seeded_stream(4))
    assert split(profiles, random_state=None) != split(profiles, random_state=None)


def test_a_policy_with_the_same_seed_is_independent():
    """With one stream for both, all test items would carry the lowest weight."""
    weighted = policies.slices(0, 1, 2).draw(crowd(), random_state=0)
    _, test = split(weighted, random_state=0)
    assert abs(test.weights.mean() - 0.5) < 5 * 0.5 / test.n_pairs**0.5
    assert simulation_stream(0, "split").words(4).tolist() != simulation_stream(0, "policy").words(4).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocol": "leave-one-out"}, "protocol must be one of 'paper', 'each' [(]got 'leave-one-out'[)]"),
        ({"share": 0}, "share must be above 0 and below 1 [(]got 0[)]"),
        ({"share": 1.0}, "share must be above 0 and below 1 [(]got 1.0[)]"),
        ({"share": float("nan")}, "share must be a finite number"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0 [(]got -1[)]"),
        ({"random_state": 0.5}, "random_state must be a whole number of at least 0 [(]got 0.5[)]"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(errors.InvalidInput, match=message):
        split(crowd(5, 5), **arguments)


def test_real_survey():
    if not SURVEY.is_file():
        pytest.skip(f"the survey data are not in {SURVEY}")
    profiles = Profiles.read(SURVEY)
    train, test = split(profiles)
    assert train.n_users == test.n_users == 120
    assert train.n_items == test.n_items == 200
    assert 650 < test.n_pairs < 980
