"""The true, the random and the same neighbours against plain definitions."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.support.errors import refused
from tests.support.plain_profiles import USERS, crowd, pairs, profiles_of
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp import datasets
from hetdp.evaluation.metrics import recall
from hetdp.evaluation.neighbor_baselines import random_neighbors, same_neighbors, true_neighbors
from hetdp.profiles import Profiles, split


def plain_neighbours(profiles, k, score):
    has = profiles.to_csr()[0].toarray().astype(np.int64)
    common = has @ has.T
    rank = common.astype(float) if score == "overlap" else common**2 / np.maximum(1, has.sum(axis=1))
    np.fill_diagonal(rank, -1)
    indices = np.argsort(-rank, axis=1, kind="stable")[:, :k]
    sizes = has.sum(axis=1)
    scores = np.take_along_axis(common, indices, axis=1).astype(float)
    if score == "cosine":
        scores /= np.sqrt(np.maximum(1, sizes[:, None] * sizes[indices]))
    return scores, indices


@given(pairs, st.sampled_from(["cosine", "overlap"]), st.integers(1, USERS - 1))
def test_true_neighbours_are_exact_with_ties_to_the_smaller_index(full, score, k):
    profiles = profiles_of(full)
    scores, indices = true_neighbors(profiles, k, score=score)
    expected_scores, expected = plain_neighbours(profiles, k, score)
    assert indices.tolist() == expected.tolist()
    assert scores == pytest.approx(expected_scores)


@pytest.mark.parametrize("density", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("score", ["cosine", "overlap"])
def test_true_neighbours_of_a_crowd(score, density):
    profiles = crowd(n_users=150, n_items=100, density=density, seed=3)
    assert true_neighbors(profiles, 10, score=score)[1].tolist() == plain_neighbours(profiles, 10, score)[1].tolist()
    assert true_neighbors(profiles.with_weights(0), score=score)[1].tolist() == (
        true_neighbors(profiles, score=score)[1].tolist()
    )


def test_random_neighbours_are_uniform_different_and_others():
    """Chi-square over all ordered pairs of two neighbours; false alarm FALSE_ALARM, fixed seed."""
    n_users, k, rounds = 6, 2, 4000
    counts = np.zeros((n_users, n_users, n_users))
    for seed in range(rounds):
        scores, indices = random_neighbors(n_users, k, random_state=seed)
        assert (scores == 0).all()
        counts[np.arange(n_users), indices[:, 0], indices[:, 1]] += 1
    for user in range(n_users):
        others = [other for other in range(n_users) if other != user]
        seen = np.array([counts[user, one, two] for one in others for two in others if one != two])
        assert seen.sum() == rounds  # never oneself, never the same twice
        assert stats.chisquare(seen).pvalue > FALSE_ALARM / n_users


def test_random_neighbours_can_be_all_others_and_follow_the_seed():
    for k in (1, 4, 9):
        indices = random_neighbors(10, k, random_state=5)[1]
        assert all(len(set(row)) == k and user not in row for user, row in enumerate(indices.tolist()))
    assert (random_neighbors(50, 10, random_state=1)[1] == random_neighbors(50, 10, random_state=1)[1]).all()
    assert (random_neighbors(50, 10, random_state=1)[1] != random_neighbors(50, 10, random_state=2)[1]).any()
    assert (random_neighbors(50, 10, random_state=None)[1] != random_neighbors(50, 10, random_state=None)[1]).any()


def plain_same(profiles, k):
    """Greedy coverage, word for word."""
    has = [set(profiles.profile(user)) for user in profiles.user_ids.tolist()]
    worth = {item: sum(1 / len(mine) for mine in has if item in mine) for item in set().union(*has)}
    covered, chosen = set(), []
    while len(chosen) <= k:
        gains = [
            -1 if user in chosen else round(sum(worth[i] for i in mine - covered), 9) for user, mine in enumerate(has)
        ]
        chosen.append(gains.index(max(gains)))
        covered |= has[chosen[-1]]
    return [[chosen[k] if other == user else other for other in chosen[:k]] for user in range(len(has))]


@given(pairs, st.integers(1, USERS - 1))
def test_the_same_people_are_chosen_greedily_and_nobody_gets_themselves(full, k):
    profiles = profiles_of(full)
    scores, indices = same_neighbors(profiles, k)
    assert indices.tolist() == plain_same(profiles, k)
    assert (scores == 0).all()


def test_the_same_people_beat_random_ones_by_the_recall_of_the_paper():
    generator = np.random.default_rng(3)
    wide = generator.random((60, 200)) < np.where(np.arange(60) < 5, 0.6, 0.03)[:, None]
    profiles = Profiles.from_pairs(*np.nonzero(wide), user_ids=range(60), item_ids=range(200))
    same, lots = (recall(found, profiles, profiles) for found in (same_neighbors(profiles, 5), random_neighbors(60, 5)))
    assert same > lots + 0.2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_people_get_far_on_sparse_data_but_not_as_far_as_true_neighbours(seed):
    """Means of five splits; 20 seeds vary by 0.005 around 0.203, between 0.079 and 0.258."""
    profiles = datasets.delicious_like(seed)
    found = []
    for run in range(5):
        train, test = split(profiles, random_state=run)
        chosen = (random_neighbors(profiles.n_users, random_state=run), same_neighbors(train), true_neighbors(train))
        found.append([recall(one, profiles, test) for one in chosen])
    lots, same, true = np.mean(found, axis=0)
    assert lots + 0.1 < same < true - 0.03
    assert same == pytest.approx(0.203, abs=0.025)


def test_bad_arguments_of_the_baselines_are_refused():
    profiles = crowd(5, 5)
    with refused("k", "(5)"):
        true_neighbors(profiles, 5)
    with refused("k"):
        random_neighbors(5, 0)
    with refused("score"):
        true_neighbors(profiles, 2, score="jaccard")
    with refused("n_users"):
        random_neighbors(1, 1)


@pytest.mark.slow
def test_true_neighbours_hear_ctrl_c():
    """In the main thread, numba would turn it into a SystemError or end the process."""
    script = (
        "import hetdp\n"
        "from hetdp.evaluation.neighbor_baselines import true_neighbors\n"
        "profiles = hetdp.datasets.digg_like()\n"
        "true_neighbors(profiles)\n"
        "try:\n"
        "    print('busy', flush=True)\n"
        "    while True:\n"
        "        true_neighbors(profiles)\n"
        "except KeyboardInterrupt:\n"
        "    print('heard')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "busy\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "heard\n"
