"""Which sketches count: each key once per epoch, few of one host, claims never more than who was reached."""

from fractions import Fraction

import pytest
from tests.support import node_swarm
from tests.support.node_swarm import Swarm, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.protocol.seen_sketches import SeenSketches, least_difference
from hetdp.node.protocol.who_counts import Counted, CrowdCount
from hetdp.node.settings import NodeSettings
from hetdp.sketching.drawing import pack, unpack

OWN, HEAD = bytes(32), 400
HOME = "tcp://10.9.9.9:7470"


def key_of(number):
    return number.to_bytes(32, "big")


def sketch(number, epoch=0, bits=None):
    """Return a sketch; those of different numbers or epochs were drawn independently, unless `bits` says otherwise."""
    drawn = seeded_stream(1, number, epoch).uniforms(HEAD) < 0.3
    return SignedSketch(key_of(number), epoch, pack(drawn) if bits is None else bits, b"", b"")


def record(number, address, issued_ms=0):
    return Record(key_of(number), bytes(32), address, issued_ms, b"", b"")


class Crowd:
    """A count, and the peers that were reached."""

    def __init__(self, **changes):
        self.reached = set()
        given = {"most": 1000, "most_per_host": 4, "n_head": HEAD, "learn_epochs": 10} | changes
        given["size_of"] = {b"": HEAD, b"new": 2 * HEAD}.get
        given["seen"] = SeenSketches(Fraction(1))
        self.count = CrowdCount(OWN, HOME, reached=lambda key, address: (key, address) in self.reached, **given)

    def add(self, number, address, *, reached=False, epoch=0, bits=None):
        if reached:
            self.reached.add((key_of(number), address))
        self.count.locate(record(number, address))
        return self.count.count(sketch(number, epoch, bits))


def test_each_key_counts_once_per_epoch():
    crowd = Crowd()
    assert crowd.add(1, "tcp://10.0.0.1:1", reached=True)
    assert not crowd.add(1, "tcp://10.0.0.1:1")
    assert crowd.add(1, "tcp://10.0.0.1:1", epoch=1)
    assert len(crowd.count) == 2
    news, gone = crowd.count.take_news()
    assert [(one.key, one.epoch, one.reached, of.epoch) for one, of in news] == [
        (key_of(1), 0, True, 0), (key_of(1), 1, True, 1),
    ]  # fmt: skip
    assert gone == []
    assert crowd.count.take_news() == ([], [])


def test_a_sketch_waits_until_it_is_known_where_its_owner_is():
    crowd = Crowd()
    assert not crowd.count.wants(key_of(1), 0)
    assert not crowd.count.count(sketch(1))
    crowd.count.locate(record(1, "tcp://10.0.0.1:1"))
    assert crowd.count.wants(key_of(1), 0)
    assert crowd.count.count(sketch(1))


def test_the_own_sketch_does_not_count():
    crowd = Crowd()
    crowd.count.locate(record(0, "tcp://10.0.0.1:1"))
    assert not crowd.count.count(sketch(0))


@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.parametrize("address", ["tcp://10.0.0.1:{}", "tcp://[2001:db8::{}]:7470"])
def test_a_host_with_a_hundred_keys_counts_four_times(reached, address):
    crowd = Crowd()
    assert sum(crowd.add(number, address.format(number), reached=reached) for number in range(1, 101)) == 4
    assert sum(crowd.add(number, address.format(number), reached=True) for number in range(101, 201)) == 4 * (
        not reached  # in the place of claims
    )
    assert len(crowd.count) == 4


def test_claims_together_never_count_for_more_than_those_reached():
    crowd = Crowd()
    assert sum(crowd.add(number, f"tcp://10.1.0.{number}:1") for number in range(1, 101)) == 4
    for number in range(101, 111):
        assert crowd.add(number, f"tcp://10.0.0.{number}:1", reached=True)
    assert sum(crowd.add(number, f"tcp://10.2.0.{number}:1") for number in range(111, 200)) == 6
    assert len(crowd.count) == 20


def test_who_was_reached_takes_the_place_of_a_claim_and_is_none_any_more():
    crowd = Crowd()
    for number in range(1, 5):
        assert crowd.add(number, f"tcp://10.0.0.1:{number}")
    assert crowd.add(5, "tcp://10.0.0.1:5", reached=True)
    news, gone = crowd.count.take_news()
    assert gone == [(key_of(1), 0)]
    assert {one.key for one, _ in news} == {key_of(number) for number in range(2, 6)}
    crowd.reached.add((key_of(2), "tcp://10.0.0.1:2"))
    crowd.count.confirm(key_of(2))
    assert crowd.count.take_news() == ([(Counted(key_of(2), 0, "10.0.0.1", reached=True), None)], [])
    for number in (6, 7):
        assert crowd.add(number, f"tcp://10.0.0.1:{number}", reached=True)
    assert not crowd.add(8, "tcp://10.0.0.1:8", reached=True)
    assert len(crowd.count) == 4


def test_what_counted_before_a_restart_counts():
    crowd, again = Crowd(), Crowd()
    for number in range(1, 6):
        crowd.add(number, f"tcp://10.0.0.1:{number}", reached=number > 1)
    again.count.restore([one for one, _ in crowd.count.take_news()[0]], {})
    assert len(again.count) == 4
    assert not again.add(2, "tcp://10.0.0.1:2", reached=True)
    assert not again.add(9, "tcp://10.0.0.1:9", reached=True)


def test_an_epoch_is_bounded_and_old_ones_are_forgotten():
    crowd = Crowd(most=3)
    assert sum(crowd.add(n, f"tcp://10.0.0.{n}:1", reached=True) for n in range(1, 10)) == 3
    assert crowd.add(1, "tcp://10.0.0.1:1", reached=True, epoch=5)
    crowd.count.expire(range(5, 100))
    assert len(crowd.count) == 1


def test_the_newest_word_about_a_place_counts():
    crowd = Crowd()
    crowd.count.locate(record(1, "tcp://10.0.0.1:1", issued_ms=5))
    crowd.count.locate(record(1, "tcp://10.0.0.2:1", issued_ms=4))
    crowd.count.count(sketch(1))
    assert crowd.count.take_news()[0][0][0].host == "10.0.0.1"


def flipped(bits, count):
    """Return packed bits with some of them flipped, from the first on."""
    changed = unpack(bits, HEAD).copy()
    changed[:count] ^= True
    return pack(changed)


def test_what_hardly_differs_counts_once_the_first_seen():
    crowd, least = Crowd(), least_difference(Fraction(1), HEAD)
    assert least == 100
    bits = sketch(1).bits
    assert crowd.add(1, "tcp://10.0.0.1:1", reached=True)
    assert not crowd.add(2, "tcp://10.0.0.2:1", reached=True, bits=bits)
    assert not crowd.add(3, "tcp://10.0.0.3:1", reached=True, bits=flipped(bits, least - 1))
    assert crowd.add(4, "tcp://10.0.0.4:1", reached=True, bits=flipped(bits, least))
    assert crowd.add(5, "tcp://10.0.0.5:1", reached=True)
    assert len(crowd.count) == 3
    assert [one.key for one, _ in crowd.count.take_news()[0]] == [key_of(1), key_of(4), key_of(5)]
    assert not crowd.count.wants(key_of(2), 0), "a copy is not asked for again"


def test_copies_take_the_places_of_their_host():
    """Else a machine could have any number of sketches compared."""
    crowd = Crowd()
    crowd.add(1, "tcp://10.0.0.1:1", reached=True)
    assert not any(crowd.add(n, "tcp://10.0.0.2:1", reached=True, bits=sketch(1).bits) for n in range(2, 6))
    assert not crowd.add(6, "tcp://10.0.0.2:1", reached=True)
    assert len(crowd.count) == 1


def test_sketches_of_earlier_epochs_and_own_ones_are_copied_in_vain():
    crowd = Crowd()
    crowd.add(1, "tcp://10.0.0.1:1", reached=True, epoch=3)
    crowd.count.remember(sketch(0, epoch=4))
    crowd.count.expire(range(12, 100))
    assert not crowd.add(2, "tcp://10.0.0.2:1", reached=True, epoch=12, bits=sketch(1, epoch=3).bits)
    assert not crowd.add(1, "tcp://10.0.0.1:1", reached=True, epoch=12, bits=sketch(1, epoch=3).bits)
    assert not crowd.add(3, "tcp://10.0.0.3:1", reached=True, epoch=12, bits=sketch(0, epoch=4).bits)
    crowd.count.expire(range(14, 100))  # by now it adds to no model
    assert crowd.add(2, "tcp://10.0.0.2:1", reached=True, epoch=14, bits=sketch(1, epoch=3).bits)
    again = Crowd()
    again.count.restore([], {HEAD: {(key_of(1), 3): sketch(1, epoch=3).bits}})
    assert not again.add(2, "tcp://10.0.0.2:1", reached=True, epoch=12, bits=sketch(1, epoch=3).bits)


def test_who_copies_first_and_gives_way_keeps_nobody_out():
    crowd = Crowd()
    for number in range(1, 5):
        crowd.add(number, f"tcp://10.0.0.1:{number}", bits=sketch(10 + number).bits)
    assert not crowd.add(11, "tcp://10.0.0.11:1", reached=True), "somebody was quicker"
    crowd.count.confirm(key_of(11))
    assert crowd.add(5, "tcp://10.0.0.1:5", reached=True)
    assert crowd.add(11, "tcp://10.0.0.11:1", reached=True), "its copy has had to go"
    assert len(crowd.count) == 5


def counted_by(swarm, number):
    return {one.key for one, _ in swarm.nodes[number].crowd.take_news()[0]}


@pytest.mark.slow
def test_a_node_learns_from_more_than_its_shelf_holds():
    swarm = Swarm(30, settings=NodeSettings(most_sketches=5))
    swarm.cycles(180)
    assert set(swarm.held().values()) == {5}
    for number in range(0, 30, 6):
        # The last ones come at the slowest pace: of all 870, a dozen are missing by then, whatever the seed.
        assert len({identity_of(n).key for n in range(30) if n != number} - counted_by(swarm, number)) <= 3


@pytest.mark.slow
def test_a_machine_with_many_keys_counts_little(monkeypatch):
    """Nodes 20 to 39 are at one host: of it, four count, whoever else there is."""
    usual = node_swarm.address_of
    monkeypatch.setattr(node_swarm, "address_of", lambda n: usual(n) if n < 20 else f"tcp://10.77.0.1:{7000 + n}")
    swarm = Swarm(40)
    swarm.cycles(20)
    many = {identity_of(number).key for number in range(20, 40)}
    for number in range(0, 20, 5):
        counted = counted_by(swarm, number)
        assert len(counted & many) <= 4
        assert len(counted - many) >= 15
