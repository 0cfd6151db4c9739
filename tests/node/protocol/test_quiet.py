"""A network in which nothing happens: little traffic, healthy views, and back to speed when something does."""

from collections import Counter

import pytest
from tests.support.node_swarm import FAKE, Crowd, Swarm, address_of, identity_of

from hetdp.node.protocol.coding import sketch_code
from hetdp.node.protocol.exchange_pace import SLOWEST
from hetdp.node.protocol.sketches import shortened

pytestmark = pytest.mark.slow

WEEK_S, HOUR = 7 * 86_400.0, 360  # the second in periods
COUNT = 20


def everybody_has(swarm):
    return all(count == len(swarm.nodes) - 1 for count in swarm.held().values())


@pytest.fixture
def quiet():
    """Twenty nodes with views of twelve that have had no news for an hour."""
    swarm = Swarm(COUNT, bootstrap=2, view_size=12)
    swarm.cycles(HOUR)
    assert everybody_has(swarm)
    return swarm


def exchanges(swarm):
    return sum(node.traffic.exchanges for node in swarm.nodes.values())


def periods_until(swarm, true, *, most):
    for count in range(most):
        if true():
            return count
        swarm.cycles(1)
    return most


def test_a_quiet_network_says_little_and_keeps_its_views(quiet):
    before, begin_s = exchanges(quiet), quiet.wire.now_s
    quiet.wire.log.clear()
    quiet.cycles(4 * HOUR)
    started = (exchanges(quiet) - before) / COUNT
    assert started == pytest.approx(4 * HOUR / SLOWEST, rel=0.1)
    both_ways = 2 * sum(one.size for one in quiet.wire.log) / COUNT
    assert both_ways * WEEK_S / (quiet.wire.now_s - begin_s) < 20e6
    assert sum(node.traffic.failures for node in quiet.nodes.values()) == 0
    for node in quiet.nodes.values():
        assert len(node.view) >= 9
    known = Counter(one.key for node in quiet.nodes.values() for one in node.view.records())
    assert min(known[identity_of(number).key] for number in quiet.nodes) >= 3


def test_a_newcomer_is_known_to_all_within_minutes(quiet):
    quiet.join(COUNT)
    assert (
        periods_until(quiet, lambda: everybody_has(quiet), most=60) < 45
    )  # whoever is asleep wakes after 40 at the latest


def test_a_new_epoch_finds_all_awake():
    swarm = Swarm(COUNT, epoch_length_s=10 * HOUR)
    swarm.wire.run(until_s=swarm.network.starts(1) - 1.0)
    before = exchanges(swarm)
    swarm.cycles(3)
    assert exchanges(swarm) - before >= 2 * COUNT  # two or three each, where one in ten was due
    for number, node in swarm.nodes.items():
        node.adopt(swarm.sketch(number, 1))
    new = lambda: all(len({one.epoch for one in node.shelf} | {1}) == 1 for node in swarm.nodes.values())  # noqa: E731
    assert periods_until(swarm, new, most=60) < 20


def test_a_partition_of_a_quiet_network_heals(quiet):
    half = {address_of(number) for number in range(0, COUNT, 2)}
    quiet.wire.conditions.reachable = lambda one, two: (one in half) == (two in half)
    quiet.cycles(HOUR)
    for number, node in quiet.nodes.items():
        assert all((one.address in half) == (number % 2 == 0) for one in node.view.records()), "the halves forget"
    for number in (COUNT, COUNT + 1):
        quiet.join(number)
    quiet.cycles(HOUR)
    quiet.wire.conditions.reachable = lambda _one, _two: True
    assert not everybody_has(quiet)
    # All twenty together ask a bootstrap peer every 16 periods at the slowest; each has to be of the other half.
    assert periods_until(quiet, lambda: everybody_has(quiet), most=4 * HOUR) < HOUR


def test_the_dead_leave_the_views_of_a_quiet_network(quiet):
    for number in range(2, 14):
        quiet.leave(number)
    quiet.cycles(2 * HOUR)
    living = {identity_of(number).key for number in quiet.nodes}
    for node in quiet.nodes.values():
        records = node.view.records()
        assert sum(one.key in living for one in records) >= 5
        assert sum(one.key not in living for one in records) <= len(records) // 3


@pytest.mark.exhaustive
def test_made_up_hosts_hold_a_quarter_of_a_view_of_a_quiet_network_too(quiet):
    crowd = Crowd(quiet, [7], count=60, every_s=20.0, brings=7)
    quiet.wire.add(crowd, address=f"tcp://{FAKE}0.1:1", curve=bytes(32))
    quiet.cycles(4 * HOUR)
    node = quiet.nodes[7]
    fakes = [FAKE in one.address for one in node.view.records()]
    assert sum(fakes) <= 5  # a quarter of 12 are claims; one or two may still be around from elsewhere
    assert len(fakes) - sum(fakes) >= 6
    quiet.join(COUNT)
    assert (
        periods_until(quiet, lambda: everybody_has(quiet), most=60) < 45
    )  # whoever is asleep wakes after 40 at the latest


def test_sketches_travel_in_one_of_two_public_lengths_and_arrive_whole(monkeypatch):
    """Node 5 has a profile whose sketch does not fit; nobody draws again to make it fit."""
    sent = {}

    def noted(sketch, **more):
        shorter = shortened(sketch, **more)
        sent.setdefault(len(shorter.bits), set()).add(sketch.key)
        return shorter

    monkeypatch.setattr("hetdp.node.protocol.node.shortened", noted)
    swarm = Swarm(
        12,
        dials=lambda number: dict.fromkeys(range(200 if number == 5 else 4 * number), 100),
        items=2000,
        most_items=200,
    )
    swarm.cycles(30)
    assert everybody_has(swarm)
    code = sketch_code(2000, epsilon=swarm.network.epsilon, most_items=200)
    assert set(sent) == {code.coded_bytes, code.raw_bytes}
    assert sent[code.raw_bytes] == {identity_of(5).key}
    own = {identity_of(number).key: node.shelf.own.bits for number, node in swarm.nodes.items()}
    assert all(sketch.bits == own[sketch.key] for node in swarm.nodes.values() for sketch in node.shelf)


def test_shelves_that_are_the_same_are_not_listed(quiet):
    """An exchange of two that hold the same is two messages of records; one that lacks something is told of all."""
    quiet.wire.log.clear()
    quiet.cycles(HOUR)
    assert len(quiet.wire.log) == pytest.approx(2 * COUNT * HOUR / SLOWEST, rel=0.2)
    assert quiet.nodes[3].shelf.digest() == quiet.nodes[4].shelf.digest()
    quiet.nodes[3].shelf.expire(range(1, 9))
    assert quiet.nodes[3].shelf.digest() != quiet.nodes[4].shelf.digest()
    assert periods_until(quiet, lambda: everybody_has(quiet), most=10 * SLOWEST) < 2 * SLOWEST
