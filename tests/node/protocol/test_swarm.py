"""Whole networks in memory: loss, reordering, duplication, partitions, churn, skewed clocks, bad peers, 1,000 nodes."""

from collections import Counter

import pytest
from tests.support.memory_network import Conditions, MemoryNetwork
from tests.support.node_swarm import BadPeer, Swarm, address_of, identity_of

from hetdp.node.settings import NodeSettings

pytestmark = pytest.mark.slow


def everybody_has(swarm, share=1.0):
    return min(swarm.held().values()) >= share * (len(swarm.nodes) - 1)


def test_a_network_converges():
    swarm = Swarm(40)
    swarm.cycles(8)
    assert everybody_has(swarm)
    assert all(node.traffic.refused == node.traffic.failures == 0 for node in swarm.nodes.values())


def test_two_nodes_are_a_network():
    swarm = Swarm(2)
    swarm.cycles(30)
    assert everybody_has(swarm)
    assert all(node.traffic.refused == 0 for node in swarm.nodes.values())


@pytest.mark.exhaustive
def test_a_thousand_nodes_spread_sketches_evenly():
    swarm = Swarm(1000)
    swarm.cycles(3)
    held = swarm.held().values()
    assert sum(held) / len(held) > 25
    # All start at once and know nobody but node 0, so at first they all know the same few: who has been reached and so
    # is passed on. That this passes, test_peer_eclipse shows for a smaller network. Sketches do not wait for it.
    spread = Counter(sketch.key for node in swarm.nodes.values() for sketch in node.shelf)
    assert len(spread) == 1000


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(loss=0.2),
        Conditions(duplication=0.5, delay_s=(0.01, 0.5)),
        Conditions(delay_s=(0.0, 3.0)),
        Conditions(loss=0.1, duplication=0.2, delay_s=(0.0, 2.0)),
    ],
    ids=["loss", "duplication", "reordering", "all"],
)
def test_a_bad_network_is_survived(conditions):
    swarm = Swarm(18, conditions=conditions)
    swarm.cycles(20)
    assert everybody_has(swarm)
    assert not any(node.gate.bans(swarm.wire.now_s) for node in swarm.nodes.values())


def test_a_partition_heals():
    swarm = Swarm(20, bootstrap=2)
    swarm.cycles(3)
    half = {address_of(number) for number in range(0, 20, 2)}
    swarm.wire.conditions.reachable = lambda one, two: (one in half) == (two in half)
    swarm.cycles(40)
    for number in (20, 21):
        swarm.join(number)
    swarm.cycles(10)
    both = [number for number, node in swarm.nodes.items() if identity_of(21).key in {one.key for one in node.shelf}]
    assert all(address_of(number) not in half for number in both)
    swarm.wire.conditions.reachable = lambda _one, _two: True
    swarm.cycles(40)
    assert everybody_has(swarm)


def test_nodes_come_and_go():
    swarm = Swarm(20)
    for turn in range(14):
        swarm.join(100 + turn)
        swarm.leave(1 + turn)
        swarm.cycles(1)
    swarm.cycles(15)
    living = {identity_of(number).key for number in swarm.nodes}
    for number, node in swarm.nodes.items():
        assert living - {identity_of(number).key} <= {sketch.key for sketch in node.shelf}
        dead = sum(record.key not in living for record in node.view.records())
        assert dead <= len(node.view) // 2


def test_clocks_that_differ_a_little_are_fine():
    swarm = Swarm(0)
    for number in range(15):
        swarm.join(number, clock_offset_s=(number % 5 - 2) * 10.0)
    swarm.cycles(12)
    assert everybody_has(swarm)


def test_a_clock_set_back_does_not_silence_a_node():
    swarm = Swarm(2)
    node = swarm.nodes[1]
    node.tick(swarm.wire.now_s + 10**6)
    before = node.traffic.exchanges
    node.tick(swarm.wire.now_s)
    node.tick(swarm.wire.now_s + swarm.network.period_s + 1)
    assert node.traffic.exchanges > before


def test_a_clock_that_was_ahead_and_is_right_again_leaves_no_trace():
    """Once right, it is believed by others at once; before, its exchanges failed until the wrong date had come."""
    swarm = Swarm(6, seed=3)
    swarm.cycles(20)
    node, member = swarm.nodes[5], swarm.wire._members[address_of(5)]
    member.clock_offset_s = 3600.0
    swarm.cycles(3)
    member.clock_offset_s = 0.0
    swarm.wire._act(member, node.tick(swarm.wire.now_s))
    swarm.wire._wake(member)
    swarm.cycles(3)  # an exchange that was under way may still fail
    before = node.traffic
    swarm.cycles(50)
    assert node.traffic.exchanges - before.exchanges >= 8
    assert node.traffic.failures == before.failures
    known = [identity_of(5).key in {one.key for one in other.view.records()} for other in swarm.nodes.values()]
    assert sum(known) >= 3
    now_ms = 1000 * swarm.wire.now_s
    assert max(node.view._asked_ms.values()) <= now_ms
    assert node.own_record(swarm.wire.now_s).issued_ms <= now_ms


def test_sketches_taken_while_the_clock_was_ahead_give_way_to_those_of_now():
    """Machines that were wrong together have exchanged sketches of an epoch that is ten years away."""
    swarm = Swarm(2, epoch_length_s=100)
    node, ahead_s = swarm.nodes[1], swarm.wire.now_s + 10 * 365 * 86400.0
    for number in (0, 5):
        node._keep(swarm.sketch(number, swarm.network.epoch_at(ahead_s)), ahead_s)
    assert len(node.shelf) == 2
    node.tick(swarm.wire.now_s)
    node.tick(swarm.wire.now_s + swarm.network.period_s)
    assert (len(node.shelf), len(node.crowd)) == (0, 0)
    swarm.cycles(3)
    assert [sketch.epoch for sketch in node.shelf] == [0]


@pytest.mark.parametrize("kind", ["garbage", "oversized", "replaying", "silent", "flooding", "mixed"])
def test_bad_peers_do_not_stop_convergence(kind):
    swarm = Swarm(18)
    kinds = ["garbage", "flooding", "replaying"] if kind == "mixed" else [kind] * 2
    for place, one in enumerate(kinds):
        bad = BadPeer(200 + place, swarm, one)
        swarm.wire.add(bad, address=address_of(200 + place), curve=bad.identity.curve)
    swarm.cycles(20)
    honest = {identity_of(number).key for number in swarm.nodes}
    for number, node in swarm.nodes.items():
        assert honest - {identity_of(number).key} <= {sketch.key for sketch in node.shelf}
        assert len(node.exchanges.joined()) <= node.settings.most_exchanges
        banned = set(node.gate.bans(swarm.wire.now_s))
        assert not banned & {identity_of(other).curve for other in swarm.nodes}
    if kind in ("garbage", "flooding", "oversized"):
        assert any(node.gate.bans(swarm.wire.now_s) for node in swarm.nodes.values())


def test_a_new_epoch_replaces_old_sketches():
    swarm = Swarm(15, epoch_length_s=200, settings=NodeSettings(keep_epochs=1, clock_skew_s=1))
    swarm.cycles(10)
    swarm.wire.run(until_s=swarm.network.starts(1) + 1.0)
    for number, node in swarm.nodes.items():
        node.adopt(swarm.sketch(number, 1))
    swarm.cycles(10)
    assert everybody_has(swarm)
    assert {sketch.epoch for node in swarm.nodes.values() for sketch in node.shelf} == {1}
    old = swarm.sketch(3, 0)
    assert not swarm.nodes[0].shelf.keep(old)


def test_time_passes_in_an_empty_network_and_nothing_happens():
    network = MemoryNetwork(seed=1)
    network.run(until_s=10.0)
    assert (network.now_s, network.log) == (10.0, [])
