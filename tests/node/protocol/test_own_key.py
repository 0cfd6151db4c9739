"""A node finds out that a copy of it publishes under its key, and nobody can see whether it has."""

import pytest
from tests.support.node_swarm import Swarm, address_of, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol.exchanges import OwnKeyWatch
from hetdp.node.protocol.messages import Slip
from hetdp.node.protocol.node import Node
from hetdp.node.protocol.sketches import sign_sketch

TWIN = 900


def another_sketch(swarm, number, epoch):
    bits = draw_bits({}, epsilon=3, size=swarm.network.items, stream=seeded_stream(99, number, epoch))
    return sign_sketch(bits, epoch=epoch, identity=identity_of(number), network=swarm.network)


def add_twin(swarm, number, epoch):
    """Let another machine run a copy of a node, which has drawn a sketch of its own."""
    who = identity_of(number)
    twin = Node(
        who,
        address=address_of(TWIN),
        network=swarm.network,
        settings=swarm.settings,
        stream=seeded_stream(5, TWIN),
        now_s=swarm.wire.now_s,
    )
    twin.adopt(another_sketch(swarm, number, epoch))
    swarm.wire.add(twin, address=address_of(TWIN), curve=who.curve)
    return twin


@pytest.mark.parametrize("seed", range(4))
def test_of_two_twins_one_finds_out_at_once_though_they_draw_the_same_epochs(seed):
    """Everybody holds the sketch of whoever was quicker; the other sees that it is not its own."""
    swarm = Swarm(12, seed=seed)
    twins = [add_twin(swarm, 3, epoch=0), swarm.nodes[3]]
    swarm.cycles(5)
    found = [twin.own_key.take_found() for twin in twins]
    assert any(found)
    for mine, other in zip(found, reversed(twins), strict=True):
        assert mine in ([], [other.shelf.own])
    assert all(node.own_key.take_found() == [] for number, node in swarm.nodes.items() if number != 3)


@pytest.mark.slow
def test_a_node_alone_under_its_key_finds_nothing():
    swarm = Swarm(12, seed=4)
    swarm.cycles(60)
    assert all(node.own_key.take_found() == [] for node in swarm.nodes.values())


@pytest.mark.slow
def test_what_a_lost_node_had_published_is_found_by_the_restored_one():
    """Others hold a sketch of epoch 0; the restored node shows none."""
    swarm = Swarm(12, seed=4)
    swarm.cycles(30)
    lost = swarm.nodes[3].shelf.own
    swarm.leave(3)
    swarm.join(3)
    restored = swarm.nodes[3]
    restored.shelf._own = None
    swarm.cycles(10)
    assert restored.own_key.take_found() == [lost]


def test_a_sketch_under_the_own_key_with_a_false_signature_is_refused():
    swarm = Swarm(2, seed=4)
    node = swarm.nodes[0]
    forged = swarm.sketch(0, 1)
    bad = type(forged)(forged.key, forged.epoch, forged.bits, forged.invitation, bytes(64), forged.catalogue)
    before = node.traffic.refused
    node.restore([bad], now_s=swarm.wire.now_s)
    assert node.traffic.refused == before
    assert node.own_key.take_found() == []


def test_what_is_asked_for_depends_on_what_is_announced_and_on_chance():
    key, epochs = bytes(32), range(4, 7)
    watch = OwnKeyWatch(key, stream=seeded_stream(1))
    assert watch.wants([Slip(key, 3), Slip(b"x" * 32, 5)], epochs=epochs) == ()
    assert watch.wants([Slip(key, 5)], epochs=epochs) == (key,)
    swarm = Swarm(1)
    watch.look_at(swarm.sketch(0, 5), shown=None)
    asked = [watch.wants([Slip(key, 5)], epochs=epochs) == (key,) for _ in range(1000)]
    assert 60 < sum(asked) < 200  # 125 expected; outside once in 10**9
    assert watch.wants([Slip(key, 6)], epochs=epochs) == (key,)


@pytest.mark.slow
def test_many_sketches_under_the_own_key_take_no_room():
    swarm = Swarm(1)
    watch = OwnKeyWatch(identity_of(0).key, stream=seeded_stream(1))
    for epoch in range(3000):
        watch.look_at(swarm.sketch(0, 0) if epoch == 0 else another_sketch(swarm, 0, epoch), shown=None)
    assert len(watch.take_found()) == 16
    assert len(watch._seen) <= 1001
    assert watch.take_found() == []


@pytest.mark.slow
def test_nobody_sees_whether_a_node_has_found_out():
    """Same seeds: in one network what is found is taken up after every cycle, in the other never."""
    logs = []
    for taking in (True, False):
        swarm = Swarm(12, seed=4)
        add_twin(swarm, 3, epoch=0)
        for _ in range(60):
            swarm.cycles(1)
            if taking:
                swarm.nodes[3].own_key.take_found()
        logs.append(swarm.wire.log)
    assert logs[0] == logs[1]
