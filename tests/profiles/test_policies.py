"""Weights for simulations: slices, three groups, constant."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.support.errors import refused

from hetdp.core.randomness import seeded_stream
from hetdp.profiles import Profiles, policies


def block(n_users, per_user=50):
    users = np.repeat(np.arange(n_users), per_user)
    return Profiles.from_pairs(users, np.tile(np.arange(per_user), n_users), user_ids=range(n_users + 1))


ALL = [policies.slices(0, 1, 5), policies.westin(0.34, 0.43, 0.23), policies.constant(0.5)]


def test_slices_are_equally_spaced_with_both_ends():
    """Trap 10."""
    assert policies.slices(0.5, 1, 3).values.tolist() == [0.5, 0.75, 1]
    assert policies.slices(0, 1, 2).values.tolist() == [0, 1]
    assert policies.slices(1, 1, 2).values.tolist() == [1, 1]


@given(lower=st.floats(0, 1), upper=st.floats(0, 1), n=st.integers(2, 20))
def test_slices_stay_between_their_ends(lower, upper, n):
    lower, upper = sorted((lower, upper))
    values = policies.slices(lower, upper, n).values
    assert values.size == n
    assert (values[0], values[-1]) == (lower, upper)
    assert ((values >= lower) & (values <= upper)).all()


@pytest.mark.parametrize("policy", ALL, ids=str)
@pytest.mark.parametrize("per", ["item", "user"])
def test_draws_keep_the_profiles_and_repeat_with_the_seed(policy, per):
    profiles = block(40)
    drawn = policy.draw(profiles, 7, per=per)
    assert drawn.with_weights(1) == profiles
    assert drawn == policy.draw(profiles, random_state=7, per=per)
    assert policy.draw(profiles, seeded_stream(7), per) == policy.draw(profiles, seeded_stream(7), per)
    assert set(drawn.weights) <= set(policy.values)
    if policy != policies.constant(0.5):
        assert drawn != policy.draw(profiles, 8, per=per)
    if per == "user":
        assert all(len(set(drawn.profile(user).values())) == 1 for user in range(40))


@pytest.mark.parametrize("policy", ALL, ids=str)
def test_draws_follow_the_shares(policy):
    """Five standard deviations each: a false alarm below 1e-5 for all, and the seed is fixed."""
    profiles = block(1000)
    drawn = policy.draw(profiles, 1).weights
    groups = list(zip(policy.shares, policy.weights, strict=True))
    for weight in set(policy.values):
        expected = sum(share * group.count(weight) / len(group) for share, group in groups)
        assert abs((drawn == weight).mean() - expected) <= 5 * (expected * (1 - expected) / drawn.size) ** 0.5 + 0.001


def test_weights_by_labels_of_items():
    labels, weights = {0: "open", 1: "sensitive", 99: "sensitive"}, {"open": 1, "sensitive": 0.25, "unused": 0.5}
    policy = policies.from_labels(labels, weights, default=0.75)
    drawn = policy.draw(block(3, per_user=4))
    assert drawn.profile(0) == drawn.profile(2) == {0: 1, 1: 0.25, 2: 0.75, 3: 0.75}
    assert policies.from_labels(labels, weights).draw(block(3, per_user=4)).profile(1)[2] == 0
    with refused("weights", "Missing: sensitive"):
        policies.from_labels(labels, {"open": 1})
    with refused("weights", "[0, 1]"):
        policies.from_labels(labels, {"open": 1, "sensitive": 2})


def test_each_group_draws_from_its_own_weights():
    profiles = block(100)
    policy = policies.westin(0.5, 0.3, 0.2)
    for per in ("item", "user"):
        drawn = policy.draw(profiles, 11, per=per)
        groups = policy.groups(profiles, 11)
        assert np.bincount(groups).tolist() == list(policy.group_sizes(101))
        for group, values in enumerate([{0, 0.5, 1}, {0.5, 0.75, 1}, {1}]):
            assert set(drawn.weights[groups[profiles.owners] == group]) == values


@pytest.mark.parametrize(
    ("shares", "n_users", "expected"),
    [
        ((0.34, 0.43, 0.23), 100, (34, 43, 23)),
        ((0.29, 0.57, 0.14), 100, (29, 57, 14)),
        ((0.34, 0.43, 0.23), 500, (170, 215, 115)),
        ((0.5, 0.5, 0), 3, (2, 1, 0)),
        ((1 / 3, 1 / 3, 1 / 3), 120, (40, 40, 40)),
        ((1 / 3, 1 / 3, 1 / 3), 2, (1, 1, 0)),
        ((0, 0, 1), 7, (0, 0, 7)),
        ((0.2, 0.3, 0.5), 0, (0, 0, 0)),
    ],
)
def test_group_sizes_are_exact_by_largest_remainder(shares, n_users, expected):
    assert policies.westin(*shares).group_sizes(n_users) == expected


@given(st.tuples(*[st.integers(0, 1000)] * 3).filter(any), st.integers(0, 10**6))
def test_group_sizes_always_add_up(parts, n_users):
    shares = [part / sum(parts) for part in parts]
    sizes = policies.westin(*shares).group_sizes(n_users)
    assert sum(sizes) == n_users
    assert all(abs(size - share * n_users) < 1 + 1e-3 for size, share in zip(sizes, shares, strict=True))


def test_empty_profiles_get_empty_weights():
    nobody = Profiles.from_pairs([], [], user_ids=["a"], item_ids=["x"])
    for policy in ALL:
        for per in ("item", "user"):
            assert policy.draw(nobody, 0, per=per) == nobody


def test_one_slice_has_both_ends_as_two_have():
    assert policies.slices(0.25, 1, 1).values.tolist() == [0.25, 1.0] == policies.slices(0.25, 1, 2).values.tolist()


def test_policies_tell_what_they_are():
    shown = map(str, (policies.slices(0, 0.5, 3), policies.westin(0.34, 0.43, 0.23), policies.constant(1)))
    assert list(shown) == ["slices 0,0.5,3", "westin 0.34,0.43,0.23", "constant 1"]


def test_policies_are_values():
    assert policies.slices(0, 1, 3) == policies.slices(0, 1, 3)
    assert len({policies.constant(1), policies.constant(1), policies.constant(0)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        policies.constant(1).name = "0"


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: policies.slices(0, 1, 0), "n"),
        (lambda: policies.slices(0, 1, 2.0), "n"),
        (lambda: policies.slices(0.5, 0.25, 3), "lower"),
        (lambda: policies.slices(-0.5, 1, 3), "lower"),
        (lambda: policies.slices(0, 1.5, 3), "lower"),
        (lambda: policies.slices(0, float("nan"), 3), "upper"),
        (lambda: policies.westin(0.6, 0.6, 0), "fundamentalists"),
        (lambda: policies.westin(1.5, -0.5, 0), "fundamentalists"),
        (lambda: policies.westin(0, "all", 0), "pragmatists"),
        (lambda: policies.constant(2), "value"),
        (lambda: policies.constant(None), "value"),
        (lambda: policies.slices(0, 1, 2).draw(block(2), 0, per="pair"), "per"),
        (lambda: policies.constant(1).draw(block(2), 0, per="pair"), "per"),
        (lambda: policies.constant(1).draw(block(2), -1), "random_state"),
        (lambda: policies.westin(1, 0, 0).draw(block(2), "seed"), "random_state"),
        (lambda: policies.westin(1, 0, 0).group_sizes(-1), "n_users"),
    ],
)
def test_bad_arguments_are_refused(call, parameter):
    with refused(parameter):
        call()
