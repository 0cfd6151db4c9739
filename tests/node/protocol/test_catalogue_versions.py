"""The catalogue grows in signed versions that only add: what is taken over, what is refused, how it gets around."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from tests.support.node_swarm import START, Swarm, a_network, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.neighbors import find_neighbors, votes
from hetdp.node.protocol import Refused
from hetdp.node.protocol.catalogue_versions import CatalogueHistory, CatalogueVersion, NewItem, sign_versions
from hetdp.node.protocol.messages import Delivery, encode
from hetdp.node.protocol.network import MOST_VERSION_BYTES
from hetdp.node.protocol.sketches import sign_sketch

MAKER = identity_of(999)
GROWS = {"network_key": MAKER.key.hex(), "most_catalogue": 1000}
NETWORK = a_network(items=100, **GROWS)
NAMES = [f"i{place}" for place in range(100)]


def rows(*names):
    return [NewItem(name, name.title(), "", "new") for name in names]


def a_history(network=NETWORK):
    return CatalogueHistory(network, names=NAMES)


def signed(maker=MAKER, *, number=2, previous=b"", items=(), retired=(), network=NETWORK):
    unsigned = CatalogueVersion(number, previous, tuple(items), tuple(retired), b"")
    return msgspec.structs.replace(unsigned, signature=maker.sign(unsigned.text(network.id)))


def test_versions_add_up_and_places_never_change():
    history = a_history()
    made = sign_versions(history, NETWORK, MAKER, rows("a", "b"), [3])
    made += sign_versions(history, NETWORK, MAKER, rows("c"), [100])
    assert [version.number for version in made] == [2, 3]
    assert (history.size, history.number, history.retired) == (103, 3, {3, 100})
    assert [history.size_of(digest) for digest in (b"", made[0].digest(NETWORK.id), history.digest)] == [100, 102, 103]
    assert history.size_of(bytes(16)) is None
    again = CatalogueHistory(NETWORK, made, names=NAMES)
    assert (again.digest, again.size, again.retired) == (history.digest, 103, {3, 100})
    assert not again.add(made[0]), "known already"
    assert again.take_news() == []


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (signed(identity_of(1), items=rows("a")), "signed by its maker"),
        (msgspec.structs.replace(signed(items=rows("a")), items=tuple(rows("b"))), "signed by its maker"),
        (signed(items=rows("a"), network=a_network(items=99, **GROWS)), "signed by its maker"),
        (signed(number=3, items=rows("a")), "follow on the one before"),
        (signed(items=rows("i7")), "all different"),
        (signed(items=rows("a", "a")), "all different"),
        (signed(retired=[100]), "that are in use"),
        (signed(retired=[-1]), "that are in use"),
        (signed(), "change something"),
        (signed(items=rows(*(f"n{n}" for n in range(901)))), "within what the network allows"),
        (signed(items=rows(*(f"{n:0500}" for n in range(140)))), "fit into a message"),
        (signed(items=[NewItem("a\n", "a", "", "")]), "printable"),
        (signed(items=[NewItem("a", "a", "javascript:alert(1)", "")]), "http"),
        (signed(items=[NewItem("a", "a", "", " ")]), "single-spaced"),
        (signed(items=rows("I7")), "all different"),
    ],
)
def test_what_no_honest_maker_makes_is_refused(version, why):
    history = a_history()
    with pytest.raises(Refused, match=why):
        history.add(version)
    assert (history.number, history.size, history.take_news()) == (1, 100, [])


def test_a_catalogue_without_a_maker_stays_as_it_is():
    frozen = a_network(network_key=MAKER.key.hex())
    with pytest.raises(Refused, match="stay as it is"):
        CatalogueHistory(frozen, names=NAMES).add(signed(items=rows("a"), network=frozen))


def test_of_two_versions_with_one_number_the_first_stays_and_it_is_told():
    history = a_history()
    history.add(signed(items=rows("a")))
    digest = history.digest
    with pytest.raises(Refused, match="only one of its number") as refusal:
        history.add(signed(items=rows("b")))
    assert refusal.value.blame == 0, "whoever passes it on is not to blame"
    assert (history.forked_at, history.digest) == (2, digest)
    other = a_history()
    sign_versions(other, NETWORK, MAKER, rows("b"))
    (third,) = sign_versions(other, NETWORK, MAKER, rows("c"))
    with pytest.raises(Refused, match="only one of its number"):
        history.add(third)
    assert (history.digest, history.size) == (digest, 101)


def test_a_large_addition_becomes_several_versions_that_each_fit_into_a_message():
    network = a_network(items=100, **{**GROWS, "most_catalogue": 100_000})
    history = CatalogueHistory(network, names=NAMES)
    made = sign_versions(history, network, MAKER, rows(*(f"thing number {n}" for n in range(5000))), range(100))
    assert len(made) > 3
    assert (history.size, len(history.retired)) == (5100, 100)
    behind = CatalogueHistory(network, names=NAMES)
    rounds = 0
    while behind.number < history.number:
        sent = history.after(behind.number)
        message = encode(network.id, Delivery(bytes(8), (), (), sent))
        assert len(message) <= network.largest_message
        assert sum(len(msgspec.msgpack.encode(version)) for version in sent) <= MOST_VERSION_BYTES
        for version in sent:
            behind.add(version)
        rounds += 1
    assert behind.digest == history.digest
    assert rounds <= len(made)


@pytest.mark.slow
def test_a_version_reaches_everybody_and_longer_sketches_follow():
    """One node of 12 gets it by hand; sketches for both versions are kept by all, whoever they came from."""
    swarm = Swarm(12, **GROWS, epoch_length_s=1000)
    swarm.cycles(15)
    made = sign_versions(CatalogueHistory(swarm.network), swarm.network, MAKER, rows("a", "b", "c"), [7])
    swarm.nodes[5].take_up(made)
    swarm.cycles(20)
    assert {node.catalogue.number for node in swarm.nodes.values()} == {2}
    assert {tuple(node.catalogue.take_news()) for node in swarm.nodes.values()} == {tuple(made)}
    digest = swarm.nodes[0].catalogue.digest
    for number in range(6):
        bits = draw_bits({}, epsilon=Fraction(3), size=103, stream=seeded_stream(9, number))
        who = identity_of(number)
        swarm.nodes[number].adopt(sign_sketch(bits, epoch=1, identity=who, network=swarm.network, catalogue=digest))
    swarm.wire.run(until_s=START + swarm.network.epoch_length_s + 400)
    kept = {sketch.key: sketch.catalogue for sketch in swarm.nodes[11].shelf}
    assert [kept[identity_of(number).key] for number in range(11)] == [digest] * 6 + [b""] * 5


def test_a_sketch_for_a_version_that_is_not_known_waits_and_nobody_is_blamed():
    swarm = Swarm(2, **GROWS)
    bits = draw_bits({}, epsilon=Fraction(3), size=103, stream=seeded_stream(9))
    strange = sign_sketch(bits, epoch=0, identity=identity_of(1), network=swarm.network, catalogue=bytes(16))
    node = swarm.nodes[0]
    with pytest.raises(Refused, match="known version") as refusal:
        node.gate.check_sketch(strange, size=node.catalogue.size_of(strange.catalogue), now_s=START)
    assert refusal.value.blame == 0


def test_a_forged_version_is_held_against_who_sends_it():
    swarm = Swarm(3, **GROWS)
    forged = signed(identity_of(1), items=rows("a"), network=swarm.network)
    swarm.nodes[1].catalogue._versions.append(forged)
    swarm.nodes[1].catalogue._known.append((bytes(16), 101))
    swarm.cycles(60)
    assert swarm.nodes[0].catalogue.number == 1
    assert swarm.nodes[0].gate.bans(swarm.wire.now_s)


def test_sketches_of_different_lengths_are_compared_on_what_they_share():
    """Two people with the owner's first 20 items; one published before the catalogue grew by 10, which they have.

    The owner has 20 old items and 10 new ones: who published later is found more alike, who published earlier no less
    than before, and is not asked about what is new.
    """
    sizes = {b"": 200, b"later": 210}
    mine = [*range(20), *range(200, 210)]
    items = dict.fromkeys(mine, 100)
    early = draw_bits(dict.fromkeys(range(30), 100), epsilon=Fraction(6), size=200, stream=seeded_stream(1))
    late = draw_bits(items | {205: 100, 30: 100}, epsilon=Fraction(6), size=210, stream=seeded_stream(2))
    network = a_network(items=200)
    sketches = [
        sign_sketch(early, epoch=0, identity=identity_of(1), network=network),
        sign_sketch(late, epoch=0, identity=identity_of(2), network=network, catalogue=b"later"),
    ]
    best, second = find_neighbors(sketches, mine, epsilon=Fraction(6), sizes=sizes, count=5)
    assert (best.key_hex, second.key_hex) == (identity_of(2).key.hex(), identity_of(1).key.hex())
    assert second.shared == pytest.approx(20, abs=2)
    assert best.shared == pytest.approx(30, abs=2)
    (alone,) = find_neighbors(sketches[:1], mine[:20], epsilon=Fraction(6), sizes={b"": 200}, count=5)
    assert (alone.score, alone.share) == (second.score, second.share)
    found = {
        vote.place: vote
        for vote in votes(sketches, [best, second], without=mine[:25], epsilon=Fraction(6), sizes=sizes, count=300)
    }
    assert found[205].asked == 1
    assert {vote.asked for place, vote in found.items() if place < 200} == {2}
    assert np.isfinite([vote.deviations for vote in found.values()]).all()
