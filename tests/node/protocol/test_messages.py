"""Decoders meet everything: random bytes, broken messages, other networks. Nothing but `Refused` comes out."""

import msgspec
import pytest
from hypothesis import example, given, settings, strategies as some
from tests.support.node_swarm import Swarm, a_network, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import Refused
from hetdp.node.protocol.messages import Answer, Delivery, Opening, Record, SignedSketch, Slip, decode, encode
from hetdp.node.protocol.network import sketch_bytes
from hetdp.node.protocol.sketches import check_sketch, sign_sketch

NETWORK = a_network()
ID = NETWORK.id
LARGEST = NETWORK.largest_message
KEY, SIGNATURE = some.binary(min_size=32, max_size=32), some.binary(max_size=64)

records = some.builds(
    Record,
    KEY,
    KEY,
    some.text(max_size=20) | some.just("tcp://127.0.0.1:9"),
    some.integers(0, 2**50),
    SIGNATURE,
    SIGNATURE,
)
NAME = some.binary(min_size=8, max_size=8)
slips = some.builds(Slip, NAME, some.integers(0, 2**40))
sketches = some.builds(SignedSketch, KEY, some.integers(0, 2**40), some.binary(max_size=30), SIGNATURE, SIGNATURE)
nonces = some.binary(min_size=8, max_size=8)
messages = (
    some.builds(Opening, nonces, records, some.lists(records, max_size=3).map(tuple), some.lists(slips).map(tuple))
    | some.builds(
        Answer,
        nonces,
        records,
        some.lists(records, max_size=3).map(tuple),
        some.lists(slips).map(tuple),
        some.lists(NAME, max_size=3).map(tuple),
    )
    | some.builds(
        Delivery, nonces, some.lists(sketches, max_size=3).map(tuple), some.lists(NAME, max_size=3).map(tuple)
    )
)


def decoded_or_refused(raw):
    try:
        return decode(ID, raw, largest=LARGEST)
    except Refused:
        return None


@settings(max_examples=300)
@given(some.binary(max_size=400))
@example(b"\x93" * 2000)  # nested deeper than any parser may follow
@example(b"\xdd\xff\xff\xff\xff")  # a list that claims four billion entries
@example(b"\xc6\xff\xff\xff\xff")  # bytes that claim four gigabytes
def test_random_bytes_are_refused(raw):
    assert decoded_or_refused(raw) is None


@pytest.mark.slow
@settings(max_examples=200)
@given(messages)
def test_messages_survive_the_wire(message):
    assert decode(ID, encode(ID, message), largest=LARGEST) == message


@pytest.mark.slow
@settings(max_examples=300)
@given(messages, some.data())
def test_broken_messages_are_read_or_refused(message, data):
    raw = bytearray(encode(ID, message))
    for _ in range(data.draw(some.integers(1, 5))):
        raw[data.draw(some.integers(0, len(raw) - 1))] = data.draw(some.integers(0, 255))
    found = decoded_or_refused(bytes(raw[: data.draw(some.integers(0, len(raw)))]))
    assert found is None or isinstance(found, Opening | Answer | Delivery)


@pytest.mark.slow
@settings(max_examples=150)
@given(messages | some.binary(max_size=200))
def test_a_node_survives_any_message_and_says_nothing_to_strangers(message):
    swarm = Swarm(2)
    node = swarm.nodes[0]
    raw = message if isinstance(message, bytes) else encode(ID, message)
    # The sender of a random message is not who the connection says, so nothing is answered.
    assert node.receive(b"link", identity_of(1).curve, raw, now_s=swarm.wire.now_s) == []
    assert node.traffic.refused == 1
    assert len(node.shelf) == len(node.view) == 0


def recorded(count=4, cycles=3):
    """Every message of a small network, with who received it over which connection."""
    swarm = Swarm(count)
    seen = []
    for node in swarm.nodes.values():
        original = node.receive

        def receive(link, curve, raw, *, now_s, original=original, node=node):
            seen.append((node, link, curve, raw, now_s))
            return original(link, curve, raw, now_s=now_s)

        node.receive = receive
    swarm.cycles(cycles)
    return list(seen)


def test_real_messages_with_a_few_bytes_changed_do_no_harm():
    """What an admitted peer could send: the keys are right, the content is not."""
    stream = seeded_stream(5)
    for turn in range(6):
        for node, link, curve, raw, now_s in recorded():
            broken = bytearray(raw)
            for _ in range(1 + turn):
                place, value = stream.words(2)
                broken[int(place) % len(raw)] = int(value) % 256
            node.receive(link, curve, bytes(broken), now_s=now_s)
            honest = {identity_of(number).key for number in range(4)}
            assert {sketch.key for sketch in node.shelf} <= honest
            assert {record.key for record in node.view.records()} <= honest


def test_size_version_and_network_are_checked():
    raw = encode(ID, Delivery(bytes(8), (), ()))
    with pytest.raises(Refused, match="at most 10 bytes"):
        decode(ID, raw, largest=10)
    with pytest.raises(Refused, match="for this network"):
        decode(bytes(16), raw, largest=LARGEST)
    with pytest.raises(Refused, match="version 1"):
        decode(ID, b"\x93\x02" + raw[2:], largest=LARGEST)


def test_too_many_of_anything_is_refused():
    many = Delivery(bytes(8), (), (bytes(32),) * 65)
    assert decoded_or_refused(encode(ID, many)) is None
    assert decoded_or_refused(encode(ID, Opening(bytes(8), None, (), ()))) is None


def test_a_sketch_of_50000_items_fits_into_8_kilobytes():
    network = a_network(items=50_000)
    bits = draw_bits({}, epsilon=network.epsilon, size=50_000, stream=seeded_stream(1))
    sketch = sign_sketch(bits, epoch=10**6, identity=identity_of(1), network=network, invitation=bytes(64))
    check_sketch(sketch, network=network, network_id=network.id, size=network.items)
    assert len(msgspec.msgpack.encode(sketch)) <= 8000


@pytest.mark.parametrize("admission", ["open", "invite"])
def test_every_honest_message_fits_the_largest(admission):
    """The longest addresses, full lists: still no longer than what the transport lets through."""
    network = a_network(admission=admission, network_key="ab" * 32, inventory_size=500, sketches_per_message=64)
    record = Record(bytes(32), bytes(32), "tcp://" + "h" * 253 + ":65535", 2**50, bytes(64), bytes(64))
    sketch = SignedSketch(bytes(32), 2**40, bytes(sketch_bytes(network.items)), bytes(64), bytes(64))
    slips = (Slip(bytes(8), 2**40),) * network.inventory_size
    entries = (record,) * network.shuffle_size
    for message in (
        Answer(bytes(8), record, entries, slips, (bytes(8),) * network.sketches_per_message),
        Delivery(bytes(8), (sketch,) * network.sketches_per_message, (bytes(8),) * network.sketches_per_message),
    ):
        assert len(encode(network.id, message)) <= network.largest_message
