"""What one task does: the paper's protocol, the same luck for all configurations, groups by exact shares."""

import numpy as np
import pytest

from hetdp.evaluation.metrics import recall
from hetdp.evaluation.neighbor_baselines import true_neighbors
from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.evaluation import _Searches, run_task
from hetdp.experiments.weight_rules import GROUPS, GroupRule, PracticeRule, SameRule, SharedSliceRule, SliceRule
from hetdp.profiles import Profiles, policies, split

pytestmark = pytest.mark.slow

PRACTICE = PracticeRule(0.25, 0.5, 0.25)


def points(crowd, seed=0, **how):
    how = {"k": 4, "cycles": 5, "epsilons": (0.5, 3.0), **how}
    return run_task(crowd.profiles, Task(crowd.fingerprint, Configuration(**how), seed)).points


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_the_same_task_gives_the_same_numbers_and_another_seed_others(crowd, engine):
    assert points(crowd, engine=engine, score="overlap") == points(crowd, engine=engine, score="overlap")
    assert points(crowd, engine=engine, score="overlap") != points(crowd, seed=1, engine=engine, score="overlap")


def test_the_baseline_is_the_recall_of_true_neighbours(crowd):
    train, test = split(crowd.profiles, random_state=3)
    (point,) = points(crowd, seed=3, engine="baseline", epsilons=())
    assert point.epsilon is None
    assert point.recall == {"all": recall(true_neighbors(train, 4), crowd.profiles, test)}


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_hardly_any_noise_is_better_than_much_noise(crowd, engine):
    """Means over 8 seeds differ by far more than their spread; fixed seeds, so the test cannot flicker."""
    found = [points(crowd, seed, engine=engine, score="overlap", epsilons=(0.01, 30.0)) for seed in range(8)]
    much, little = np.mean([[point.recall["all"] for point in run] for run in found], axis=0)
    assert little > much + 0.05


def test_one_slice_means_both_ends_as_two_do(crowd):
    one, two, three = (points(crowd, engine="gossip", weights=SliceRule(0.25, n)) for n in (1, 2, 3))
    assert one == two != three


def test_weight_zero_everywhere_is_as_good_as_empty_profiles(crowd):
    """Whatever people have, the neighbours are the same: those of noise alone."""
    other = Profiles.from_pairs(range(40), [0] * 40, user_ids=crowd.profiles.user_ids, item_ids=crowd.profiles.item_ids)
    how = Configuration(engine="gossip", weights=SameRule(0.0), score="overlap", epsilons=(1.0,), k=4, cycles=5)
    (mine,), (theirs,) = (run_task(people, Task("", how, 0)).points for people in (crowd.profiles, other))
    assert (mine.met_mean, mine.met_max) == (theirs.met_mean, theirs.met_max)


@pytest.mark.parametrize("per", ["item", "user"])
def test_groups_are_exact_shares_and_weigh_what_they_should(crowd, per):
    drawn = GroupRule(0.25, 0.5, 0.25, per=per).draw(crowd.profiles, 5)
    assert np.bincount(drawn.groups).tolist() == [10, 20, 10]
    owners, weights = crowd.profiles.owners, drawn.profiles.weights
    allowed = ({0.0, 0.5, 1.0}, {0.5, 0.75, 1.0}, {1.0})
    for group, values in enumerate(allowed):
        assert set(weights[drawn.groups[owners] == group].tolist()) == values
    spread = [len(set(weights[owners == user].tolist())) for user in range(40)]
    assert (max(spread) == 1) == (per == "user")


def test_the_recall_of_groups_adds_up_to_that_of_all(crowd):
    for point in points(crowd, engine="gossip", weights=GroupRule(0.25, 0.5, 0.25)):
        shares = dict(zip(GROUPS, (0.25, 0.5, 0.25), strict=True))
        assert sum(share * point.recall[group] for group, share in shares.items()) == pytest.approx(point.recall["all"])


def test_a_group_without_members_has_no_recall(crowd):
    (first, _) = points(crowd, engine="gossip", weights=GroupRule(0.0, 0.5, 0.5))
    assert "fundamentalists" not in first.recall


def test_homogeneous_practice_leaves_out_the_same_people_and_halves_epsilon(crowd):
    practice, groups = (kind(0.25, 0.5, 0.25).draw(crowd.profiles, 5) for kind in (PracticeRule, GroupRule))
    assert (practice.groups == groups.groups).all()
    assert practice.level == 1 / 2
    out = practice.groups[crowd.profiles.owners] == 0
    assert (practice.taking_part == (practice.groups > 0)).all()
    assert not practice.profiles.weights[out].any()
    assert (practice.profiles.weights[~out] == 1).all()


def neighbours_in_practice(crowd, engine, rule=PRACTICE, k=4):
    drawn = rule.draw(crowd.profiles, 5)
    train, _ = split(drawn.profiles, random_state=5)
    how = Configuration(engine=engine, weights=rule, score="overlap", epsilons=(1.0,), k=k, cycles=5)
    seen = []
    _Searches(how, train, 5, drawn.taking_part).point(1.0, drawn.level, lambda found: seen.append(found) or {})
    return drawn, seen[0]


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_in_homogeneous_practice_nobody_finds_those_left_out_who_get_random_neighbours(crowd, engine):
    drawn, found = neighbours_in_practice(crowd, engine)
    assert found.shape == (40, 4)
    assert drawn.taking_part[found].all()
    assert (found != np.arange(40)[:, None]).all()
    assert all(len(set(row)) == 4 for row in found.tolist())
    again = neighbours_in_practice(crowd, "sketch")[1]
    assert (found[~drawn.taking_part] == again[~drawn.taking_part]).all()  # the engine has no part in them


def test_those_taking_part_find_what_they_would_find_among_themselves(crowd):
    """Without noise to speak of, the engine on those who take part gives their true neighbours by overlap."""
    drawn = PRACTICE.draw(crowd.profiles, 5)
    train, _ = split(drawn.profiles, random_state=5)
    how = Configuration(engine="exact", weights=PRACTICE, score="overlap", epsilons=(1e6,), k=4)
    seen = []
    _Searches(how, train, 5, drawn.taking_part).point(1e6, drawn.level, lambda found: seen.append(found) or {})
    rows = train.to_csr()[0].toarray() * (drawn.profiles.n_users > 0)
    common = (rows > 0).astype(int) @ (rows > 0).astype(int).T
    np.fill_diagonal(common, -1)
    common[:, ~drawn.taking_part] = -1
    for user in np.flatnonzero(drawn.taking_part):
        assert sorted(common[user, seen[0][user]]) == sorted(np.sort(common[user])[-4:])


def test_practice_with_hardly_anybody_left_gives_what_there_is(crowd):
    drawn, found = neighbours_in_practice(crowd, "gossip", PracticeRule(0.9, 0.05, 0.05), k=10)
    assert int(drawn.taking_part.sum()) == 4
    assert found.shape == (40, 3)
    drawn, found = neighbours_in_practice(crowd, "gossip", PracticeRule(0.98, 0.02, 0.0), k=10)
    assert int(drawn.taking_part.sum()) == 1
    assert (found == -1).all()


def test_shared_weights_belong_to_items(crowd):
    weights = SharedSliceRule(0.0, 5).draw(crowd.profiles, 2).profiles.weights
    items = crowd.profiles.indices
    assert len(set(weights.tolist())) == 5
    assert all(len(set(weights[items == item].tolist())) == 1 for item in np.unique(items))


def test_cosine_uses_sizes_and_overlap_does_not(crowd):
    cosine, overlap, squared = (
        points(crowd, engine="gossip", score=score) for score in ("cosine", "overlap", "squared-cosine")
    )
    assert len({str(cosine), str(overlap), str(squared)}) == 3


def test_weights_in_the_data_do_not_matter(crowd):
    weighted = policies.slices(0, 1, 5).draw(crowd.profiles, 1)
    task = Task("", Configuration(engine="gossip", epsilons=(1.0,), k=4, cycles=5), 0)
    assert run_task(weighted, task).points == run_task(crowd.profiles, task).points
