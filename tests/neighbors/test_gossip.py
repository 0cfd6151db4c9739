"""The gossip engine: the same whatever the threads and the way scores are kept, and close to the best there is.

All seeds are fixed.
"""

import re
from fractions import Fraction

import numpy as np
import pytest

from hetdp import Profiles, errors
from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.gossip import engine, noisy_scores as gossip_scores, protocol as gossip_protocol
from hetdp.neighbors.engines.gossip.engine import gossip_neighbors
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.profiles.steps import CodedProfiles, code_profiles


def population(n, *, items=400, per_user=25, seed=1, weights=(1.0,)):
    """Communities of twenty with items of their own, and some for all."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(n), per_user)
    own = (users // 20 * 31 + rng.integers(0, 50, users.size)) % items
    chosen = np.where(rng.random(users.size) < 0.8, own, rng.integers(0, items, users.size))
    _, first = np.unique(users * items + chosen, return_index=True)
    users, chosen = users[first], chosen[first]
    return Profiles.from_pairs(users, chosen, rng.choice(weights, users.size))


def run(coded, *, seed=3, k=10, epsilon=1, factors=None, **options):
    factors = np.ones(coded.n_users) if factors is None else factors
    stream = seeded_stream(seed)
    return gossip_neighbors(coded, k=k, epsilon=Fraction(epsilon), stream=stream, factors=factors, **options)


def assert_same(one, two):
    assert np.array_equal(one.lists.indices, two.lists.indices)
    assert np.array_equal(one.lists.scores, two.lists.scores, equal_nan=True)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that a network of a few hundred nodes has many of them, and needs threads."""
    for module in (gossip_scores, gossip_protocol):
        monkeypatch.setattr(module, "BLOCK_NODES", 32)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("table", [False, True])
def test_threads_change_nothing(table):
    coded = code_profiles(population(300, weights=(0.2, 0.5, 1.0)))
    one, two, three = (run(coded, threads=threads, cycles=8, table=table) for threads in (1, 2, 3))
    assert_same(one, two)
    assert_same(one, three)
    assert np.array_equal(one.agreement, three.agreement)
    assert one.comparisons.distinct_mean == three.comparisons.distinct_mean
    assert one.comparisons.total == three.comparisons.total


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    coded = code_profiles(population(200))
    whole = run(coded, cycles=5)
    for module in (gossip_scores, gossip_protocol):
        monkeypatch.setattr(module, "BLOCK_NODES", 17)
    assert_same(whole, run(coded, cycles=5))


@pytest.mark.parametrize("combine", ["smaller", "product"])
@pytest.mark.parametrize("squared", [False, True])
def test_looking_scores_up_or_computing_them_is_the_same(combine, squared):
    coded = code_profiles(population(250, items=60, weights=(0.1, 0.3, 0.77, 1.0)))
    factors = 1 / np.sqrt(np.random.default_rng(2).integers(5, 40, 250))
    options = {"combine": combine, "squared": squared, "factors": factors, "cycles": 8}
    one, two = run(coded, table=True, **options), run(coded, table=False, **options)
    assert_same(one, two)
    assert np.array_equal(one.agreement, two.agreement)


@pytest.mark.parametrize("combine", ["smaller", "product"])
def test_remembering_less_changes_nothing_but_the_work(monkeypatch, combine):
    """A large network forgets whom it turned down, and does the work again with the same outcome."""
    coded = code_profiles(population(300, weights=(0.2, 1.0)))
    everything = run(coded, combine=combine)
    monkeypatch.setattr(gossip_protocol, "_REMEMBERED_NODES", 100)
    forgetful = run(coded, combine=combine)
    assert_same(everything, forgetful)
    assert forgetful.comparisons.total > everything.comparisons.total
    # The sample is everybody here, so the count of distinct comparisons is the same from the log as from the bits.
    assert forgetful.comparisons.distinct_mean == everything.comparisons.distinct_mean
    assert forgetful.comparisons.distinct_max == everything.comparisons.distinct_max
    assert forgetful.comparisons.distinct_bound >= forgetful.comparisons.distinct_max
    monkeypatch.setattr(engine, "_COUNTED_NODES", 50)
    sampled = run(coded, combine=combine)
    assert_same(everything, sampled)
    assert sampled.comparisons.nodes_counted == 50
    assert 0.8 < sampled.comparisons.distinct_mean / everything.comparisons.distinct_mean < 1.25


def test_what_is_watched_changes_nothing():
    coded = code_profiles(population(300))
    assert_same(run(coded, cycles=4, sample=0), run(coded, cycles=4, sample=7))


def test_the_seed_decides():
    coded = code_profiles(population(200))
    assert_same(run(coded, seed=5), run(coded, seed=5))
    assert not np.array_equal(run(coded, seed=5).lists.indices, run(coded, seed=6).lists.indices)


def test_items_of_weight_zero_change_nothing_bitwise():
    base = population(150, weights=(0.4, 1.0))
    users, items, weights = base.owners, base.indices, base.weights
    extra_users, extra_items = np.repeat(np.arange(150), 3), np.tile([390, 391, 392], 150)
    keep = ~np.isin(items, [390, 391, 392])
    without = CodedProfiles(*parts(users[keep], items[keep], weights[keep]))
    more = (np.append(users[keep], extra_users), np.append(items[keep], extra_items))
    with_zeros = CodedProfiles(*parts(*more, np.append(weights[keep], np.zeros(extra_users.size))))
    for table in (True, False):
        assert_same(run(without, cycles=6, table=table), run(with_zeros, cycles=6, table=table))
    heavy = CodedProfiles(*parts(*more, np.append(weights[keep], np.ones(extra_users.size))))
    assert not np.array_equal(run(without, cycles=6).lists.scores, run(heavy, cycles=6).lists.scores)


def parts(users, items, weights):
    profiles = Profiles.from_csr(_csr(users, items, weights))
    coded = code_profiles(profiles)
    return coded.indptr, coded.items, coded.codes, coded.n_items


def _csr(users, items, weights):
    """Rows with explicit zeros, which are items of weight 0."""
    from scipy import sparse

    order = np.lexsort((items, users))
    indptr = np.append(0, np.cumsum(np.bincount(users, minlength=150)))
    return sparse.csr_array((np.asarray(weights, dtype=float)[order], items[order], indptr), shape=(150, 400))


def test_lists_hold_distinct_others_best_first():
    coded = code_profiles(population(300))
    found = run(coded)
    indices, scores = found.lists.indices, found.lists.scores
    assert (indices >= 0).all()
    assert (indices != np.arange(300)[:, None]).all()
    assert all(len(set(row)) == 10 for row in indices.tolist())
    assert (np.diff(scores, axis=1) <= 0).all()


def test_scores_are_those_of_the_pair():
    """What a list says about a pair is the one noisy score of that pair, also for the other side."""
    coded = code_profiles(population(200))
    key = seeded_stream(3).key()
    found = run(coded, seed=3, table=False).lists
    scores = noisy_scores(coded, key=key, epsilon=Fraction(1), factors=np.ones(200))
    users, worker = np.arange(200, dtype=np.int32), scores.worker()
    flat = found.indices.reshape(-1)
    again = scores.score(users, np.arange(0, 2001, 10), flat, worker)
    assert np.array_equal(again, found.scores.reshape(-1))
    swapped = scores.score(flat, np.arange(2001), np.repeat(users, 10), worker)
    assert np.array_equal(swapped, again)


def test_gossip_settles_500_nodes_in_20_cycles_and_says_so():
    coded = code_profiles(population(500))
    found = run(coded, epsilon=3)
    assert found.agreement.shape == (20,)
    assert found.agreement_users == 500
    assert found.agreement[-1] > 0.85
    assert found.agreement[-1] > found.agreement[3] > found.agreement[0]
    assert (np.diff(found.agreement) >= 0).all()
    assert found.settled
    assert re.match(r"Settled\. In 20 cycles a node met \d+% of the [\d,]+ nodes and found \d+% of the", found.verdict)
    assert 150 < found.comparisons.distinct_mean < 400
    assert found.comparisons.distinct_max <= 499
    assert (
        f"no node with more than {found.comparisons.distinct_bound}. That is known only afterwards" in found.afterwards
    )


def test_too_few_cycles_are_told():
    coded = code_profiles(population(3000))
    found = run(coded, cycles=3, sample=50)
    assert not found.settled
    assert "too few cycles" in found.verdict
    assert found.agreement_users == 50
    unwatched = run(coded, cycles=3, sample=0)
    assert not unwatched.settled
    assert unwatched.agreement.size == 0


def test_many_cycles_find_the_best_there_is():
    coded = code_profiles(population(60))
    found = run(coded, cycles=120)
    assert found.agreement[-1] == 1.0
    key = seeded_stream(3).key()
    scores = noisy_scores(coded, key=key, epsilon=Fraction(1), factors=np.ones(60))
    best = scores.best(np.arange(60, dtype=np.int32), 10, scores.worker())
    assert np.array_equal(best, found.lists.indices)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("table", [True, False])
def test_tiny_networks(n, table):
    coded = code_profiles(population(n))
    found = run(coded, k=max(1, n - 1), table=table, cycles=30)
    assert found.lists.indices.shape == (n, max(1, n - 1))
    everybody = [sorted(set(range(n)) - {user}) or [-1] for user in range(n)]
    assert [sorted(row) for row in found.lists.indices.tolist()] == everybody
    assert found.settled


def test_a_network_of_nobody():
    none = CodedProfiles(np.zeros(1, dtype=np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), 3)
    found = run(none, k=2)
    assert found.lists.indices.shape == (0, 2)
    assert found.comparisons.total == 0


def test_more_neighbours_than_peers_leaves_places_empty():
    found = run(code_profiles(population(4)), k=6)
    assert (found.lists.indices[:, 3:] == -1).all()
    assert np.isnan(found.lists.scores[:, 3:]).all()
    assert (found.lists.indices[:, :3] >= 0).all()


def test_empty_profiles_take_part():
    profiles = population(40)
    coded = code_profiles(profiles)
    kept = np.where(np.arange(40) % 2 == 0, coded.sizes, 0)
    take = np.repeat(np.arange(40) % 2 == 0, coded.sizes)
    indptr = np.append(0, np.cumsum(kept))
    half = CodedProfiles(indptr, coded.items[take], coded.codes[take], coded.n_items)
    for table in (True, False):
        found = run(half, table=table)
        assert (found.lists.indices >= 0).all()
    none = CodedProfiles(np.zeros(41, dtype=np.int64), coded.items[:0], coded.codes[:0], coded.n_items)
    assert (run(none).lists.indices >= 0).all()


def test_tiny_epsilons_need_no_table():
    coded = code_profiles(population(30))
    assert_same(run(coded, epsilon=Fraction(1, 10**6), table=True), run(coded, epsilon=Fraction(1, 10**6), table=False))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1 [(]got 0[)]."),
        ({"cycles": 0}, "cycles must be a whole number of at least 1"),
        ({"cycles": 40_000}, "cycles must be at most 32000 [(]got 40000[)]."),
        ({"combine": "sum"}, "combine must be one of 'smaller', 'product'"),
        ({"cyclon_view": 0}, "cyclon_view must be"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        ({"sample": -1}, "sample must be a whole number of at least 0"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(errors.InvalidInput, match=message):
        run(code_profiles(population(30)), **options)


def test_progress_is_told_and_nothing_secret_is_shown():
    seen = []
    found = run(code_profiles(population(50)), cycles=4, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert repr(found) == f"GossipResult(NeighborLists(50 users, k=10), 4 cycles, settled={found.settled})"
    assert found.simulated
