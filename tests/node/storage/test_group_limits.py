"""Limits of groups: what they propose, what an edit may still do, undo; and that no sketch ever looks at them."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.node_swarm import a_network, identity_of

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.store import NodeStore

NETWORK = a_network(items=30, epsilon=Fraction(2), epoch_length_s=100, most_items=25)
GROUPS = ("tea", "health", "")
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}", group=GROUPS[n % 3]) for n in range(30)]
TEA = [item.place for item in ITEMS if item.group == "tea"]
HEALTH = [item.place for item in ITEMS if item.group == "health"]


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=20.0) as made:
        yield made


def dials(store):
    return {item.place: item.dial for item in store.profile.items()}


def total(store, places):
    """Return the loss of a group in one sketch, at epsilon 2."""
    return 2 * sum(dials(store).get(place, 0) for place in places) / 100


def test_a_limit_proposes_first_and_lowers_when_it_is_set(store):
    store.profile.set_dials({TEA[0]: 100, TEA[1]: 100, TEA[2]: 50, HEALTH[0]: 100})
    version = store.profile.version()
    proposed = store.group_limits.proposed("tea", 2.0)
    assert proposed == {TEA[0]: 40, TEA[1]: 40, TEA[2]: 20}
    assert store.profile.version() == version
    assert store.group_limits.all() == {}
    assert store.profile.set_group_limit("tea", 2.0) == proposed
    assert store.group_limits.all() == {"tea": 2.0}
    assert dials(store) == proposed | {HEALTH[0]: 100}
    assert total(store, TEA) == 2.0


def test_the_limit_and_its_dials_are_one_step(store):
    store.profile.set_dials({TEA[0]: 100, TEA[1]: 60})
    store.profile.set_group_limit("tea", 1.0)
    store.profile.set_group_limit("tea", 0.5)
    assert store.profile.undo()
    assert store.group_limits.all() == {"tea": 1.0}
    assert total(store, TEA) == 1.0
    assert store.profile.undo()
    assert store.group_limits.all() == {}
    assert dials(store) == {TEA[0]: 100, TEA[1]: 60}


def test_a_limit_that_lowers_nothing_is_a_step_of_its_own(store):
    store.profile.set_group_limit("tea", 1.0)
    assert store.profile.set_dials({TEA[0]: 100}) == {TEA[0]: 50}
    store.profile.set_group_limit("tea", None)
    assert store.group_limits.all() == {}
    assert dials(store) == {TEA[0]: 50}, "what was lowered stays until its owner raises it"
    assert store.profile.undo()
    assert store.group_limits.all() == {"tea": 1.0}


def test_what_comes_later_gets_what_is_left(store):
    store.profile.set_dials({TEA[0]: 30})
    store.profile.set_group_limit("tea", 1.0)  # 50 hundredths
    assert store.profile.set_dials({TEA[1]: 100, HEALTH[0]: 100}) == {TEA[1]: 20, HEALTH[0]: 100}
    assert store.profile.set_dials({TEA[2]: 100}) == {TEA[2]: 0}, "on the list, and never counts"
    assert dials(store)[TEA[0]] == 30, "an edit touches nothing that it is not about"
    store.profile.remove([TEA[0]])
    assert store.profile.set_dials({TEA[2]: 25}) == {TEA[2]: 25}
    assert total(store, TEA) == 0.9


def test_what_one_edit_adds_shares_what_is_left(store):
    store.profile.set_group_limit("tea", 2.0)
    assert set(store.profile.set_dials(dict.fromkeys(TEA[:4], 100)).values()) == {25}
    assert len(store.profile.set_group("tea", 100)) == 4
    assert set(dials(store).values()) == {25}
    assert len(store.profile.set_group("tea", 10)) == 4
    assert len(store.profile.set_group(None, 100)) == 4
    assert total(store, TEA) == 2.0


def test_an_edit_may_lower_one_and_raise_another(store):
    store.profile.set_dials({TEA[0]: 50, TEA[1]: 10})
    store.profile.set_group_limit("tea", 1.2)
    assert store.profile.set_dials({TEA[0]: 20, TEA[1]: 100}) == {TEA[0]: 20, TEA[1]: 40}


def test_the_whole_list_can_have_a_limit_too(store):
    store.profile.set_group_limit("tea", 1.0)
    store.profile.set_group_limit(WHOLE_LIST, 2.0)
    store.profile.set_dials(dict.fromkeys([*TEA[:2], *HEALTH[:2]], 100))
    assert total(store, TEA) <= 1.0
    assert total(store, range(30)) <= 2.0
    assert store.profile.set_group_limit(WHOLE_LIST, 0.4) != {}
    assert total(store, range(30)) == 0.4


def test_undo_does_not_go_round_a_limit(store):
    """Room that an undo would fill again may have been taken meanwhile, by an item that a new catalogue has brought."""
    store.profile.set_group_limit("tea", 1.0)
    store.profile.set_dials({TEA[0]: 50})
    store.profile.remove([TEA[0]])
    with store.database.transaction(durable=True):
        taken = store.database.array("dials")
        taken[TEA[1]] = 45
        store.database.set_array("dials", taken)
    assert store.profile.undo()
    assert dials(store) == {TEA[0]: 5, TEA[1]: 45}


def test_a_limit_of_nothing_mutes_the_group(store):
    store.profile.set_dials({TEA[0]: 100, TEA[1]: 3})
    store.profile.set_group_limit("tea", 0)
    assert dials(store) == {TEA[0]: 0, TEA[1]: 0}


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), 1e7])
def test_a_bad_limit_changes_nothing(store, bad):
    store.profile.set_dials({TEA[0]: 100})
    with pytest.raises(InvalidInput, match="limit must be"):
        store.profile.set_group_limit("tea", bad)
    with pytest.raises(InvalidInput, match="group must be"):
        store.profile.set_group_limit("coffee", 1.0)
    assert dials(store) == {TEA[0]: 100}
    assert store.group_limits.all() == {}


@pytest.mark.slow
def test_no_random_walk_of_edits_gets_past_a_limit(store):
    chance = np.random.default_rng(5)
    limits = {"tea": 1.5, "health": 0.3, WHOLE_LIST: 2.5}
    for _ in range(100):
        kind = chance.integers(6)
        places = chance.choice(30, size=int(chance.integers(1, 6)), replace=False).tolist()
        if kind <= 1:
            store.profile.set_dials({place: int(chance.integers(101)) for place in places})
        elif kind == 2:
            store.profile.remove(places)
        elif kind == 3:
            store.profile.undo()
        elif kind == 4:
            store.profile.set_group(GROUPS[int(chance.integers(3))], int(chance.integers(101)))
        else:
            group = list(limits)[int(chance.integers(3))]
            store.profile.set_group_limit(group, limits[group])
        for group, epsilon in store.group_limits.all().items():
            here = range(30) if group == WHOLE_LIST else [item.place for item in ITEMS if item.group == group]
            assert total(store, here) <= epsilon + 1e-9


def test_no_sketch_looks_at_a_limit(store, tmp_path):
    """The same dials give the same bits and the same losses, with limits and without."""
    with NodeStore.make(tmp_path / "other.db", NETWORK, ITEMS, default_limit=20.0) as other:
        store.profile.set_dials(dict.fromkeys(TEA[:5], 100))
        store.profile.set_group_limit("tea", 3.0)
        other.profile.set_dials(dials(store))
        with store.database.transaction(durable=True):  # even one that the dials are far above
            store.database.execute("UPDATE group_limits SET epsilon = 0.01")
        sketches = [
            publish(
                one, identity=identity_of(1), network=NETWORK, now_s=NETWORK.starts(0) + 1.0,
                uptime=Uptime("boot", 0.0), stream=seeded_stream(3), simulation=True,
            )
            for one in (store, other)
        ]  # fmt: skip
        assert sketches[0].bits == sketches[1].bits
        assert store.ledger.spent() == other.ledger.spent()


def test_a_limit_of_a_group_that_the_catalogue_does_not_have_waits(store):
    """As after a move to a network with other groups: edits go on, and what is brought along is held to the others."""
    with store.database.transaction(durable=True):
        store.database.execute("INSERT INTO group_limits VALUES ('coffee', 1.0), ('tea', 1.0)")
        brought = store.database.array("dials")
        brought[TEA[:2]] = 100
        store.database.set_array("dials", brought)
        store.group_limits.hold()
    assert dials(store) == {TEA[0]: 25, TEA[1]: 25}
    assert store.profile.set_dials({HEALTH[0]: 100, TEA[2]: 100}) == {HEALTH[0]: 100, TEA[2]: 0}
    store.profile.set_group_limit("coffee", None)
    assert store.group_limits.all() == {"tea": 1.0}
