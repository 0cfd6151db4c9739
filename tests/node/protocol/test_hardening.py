"""What one bad peer cannot do: be asked out of turn, get others banned, wash off bans, take all the work."""

from collections import Counter

import msgspec
import pytest
from tests.support.node_swarm import START, a_network, address_of, draw_bits, identity_of

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import Refused
from hetdp.node.protocol.addresses import address_kind, near_host
from hetdp.node.protocol.admission import Gate
from hetdp.node.protocol.exchanges import Exchanges
from hetdp.node.protocol.host_shares import HostShares
from hetdp.node.protocol.identity import check_signature
from hetdp.node.protocol.messages import Answer, Delivery, Opening, Record, SignedSketch, Slip, decode, encode, name_of
from hetdp.node.protocol.network import Bootstrap
from hetdp.node.protocol.node import Call, HangUp, Node, Reply
from hetdp.node.protocol.peer_view import PeerView
from hetdp.node.protocol.sketch_shelf import SketchShelf
from hetdp.node.protocol.sketches import check_sketch, sign_sketch
from hetdp.node.settings import NodeSettings

NETWORK = a_network()
ME, VICTIM, CROOK, FRIEND = 0, 1, 2, 3


def signed(number, *, now_s=START, address=None, curve=None, invitation=b""):
    who = identity_of(number)
    fields = (who.key, curve or who.curve, address or address_of(number), int(1000 * now_s), invitation)
    return Record(*fields, who.sign(Record(*fields, b"").text(NETWORK.id)))


def a_node(number=ME, *, now_s=START, settings=None, network=NETWORK):
    return Node(
        identity_of(number),
        address=address_of(number),
        network=network,
        settings=settings or NodeSettings(),
        stream=seeded_stream(9, number),
        now_s=now_s,
    )


def opening(number, *, now_s=START, entries=(), nonce=bytes(8), have=(), **record):
    return encode(NETWORK.id, Opening(nonce, signed(number, now_s=now_s, **record), tuple(entries), have))


def hear(node, number, raw, *, now_s=START, curve=None):
    return node.receive(b"from-%d" % number, curve or identity_of(number).curve, raw, now_s=now_s)


def known(node):
    return {record.key for record in node.view.records()}


# --- whom a node asks ------------------------------------------------------------------------------------------------


def test_who_was_asked_is_not_asked_again_before_the_others_however_old_it_looks():
    view = PeerView(bytes(32), "tcp://10.0.0.1:1", size=10, shuffle_size=8, most_per_host=0, stream=seeded_stream(1))
    others = [Record(bytes([n]) * 32, bytes(32), address_of(n), 1000 * n, b"", b"") for n in range(5, 9)]
    old = Record(b"\1" * 32, bytes(32), address_of(1), 7, b"", b"")
    view.merge([*others, old], sent=[], source=b"x")
    asked = []
    for turn in range(10):
        peer = view.oldest()
        asked.append(peer.key[0])
        view.remove(peer.key)
        view.note_asked(peer.key, 100_000.0 + turn)
        view.reached.note(peer.key, peer.address, answered=True)
        view.merge([peer], sent=[], source=peer.key)  # back with the same old record
    assert asked == [1, 5, 6, 7, 8] * 2


def test_what_is_remembered_of_asking_is_bounded():
    view = PeerView(bytes(32), "tcp://10.0.0.1:1", size=10, shuffle_size=8, most_per_host=0, stream=seeded_stream(1))
    for number in range(5000):
        view.note_asked(number.to_bytes(32, "big"), float(number))
    assert len(view._asked_ms) == 1024


def test_a_sender_must_show_a_fresh_record_of_itself():
    now_s = START + 10_000.0
    period_s, skew_s = NETWORK.period_s, NodeSettings().clock_skew_s
    for age_s, heard in ((0.0, True), (2 * period_s + skew_s, True), (4 * period_s + skew_s, False)):
        node = a_node(now_s=now_s)
        answered = hear(node, CROOK, opening(CROOK, now_s=now_s - age_s), now_s=now_s)
        assert bool(answered) is heard
        assert (identity_of(CROOK).key in known(node)) is heard
        assert not node.gate.bans(now_s)
    node = a_node(now_s=now_s)  # what others tell of somebody may be older
    old = signed(CROOK, now_s=now_s - 30 * period_s)
    assert hear(node, FRIEND, opening(FRIEND, now_s=now_s, entries=[old]), now_s=now_s)
    assert identity_of(CROOK).key in known(node)


def test_one_key_does_not_take_the_outgoing_exchanges():
    """Eight peers come by in turn, and each brings an old record of the crook. Its fair share is 1/9; it had all."""
    node, asked = a_node(), []
    for turn in range(90):
        now_s, number = node.pace.next_s, 10 + turn % 8
        old = signed(CROOK, now_s=max(START, now_s - 55 * NETWORK.period_s))
        hear(node, number, opening(number, now_s=now_s, entries=[old]), now_s=now_s)
        dialled = [action for action in node.tick(now_s) if isinstance(action, Call)]
        asked += [action.curve == identity_of(CROOK).curve for action in dialled]
    assert len(asked) == 90
    assert sum(asked) / len(asked) <= 0.2


# --- who is blamed ---------------------------------------------------------------------------------------------------


def test_a_record_that_names_anothers_transport_key_gets_nobody_banned():
    """A crook's record leads to the victim; the victim answers as itself; nobody is struck, the crook's key goes."""
    node, victim, now_s = a_node(), a_node(VICTIM), START
    led = 0
    for _ in range(12):
        now_s = node.pace.next_s
        evil = signed(CROOK, now_s=now_s, address=address_of(VICTIM), curve=identity_of(VICTIM).curve)
        hear(node, FRIEND, opening(FRIEND, now_s=now_s - 1, entries=[evil]), now_s=now_s - 0.5)
        node.view.remove(identity_of(FRIEND).key)
        for action in node.tick(now_s):
            if isinstance(action, Call) and action.curve == identity_of(VICTIM).curve:
                led += 1
                (reply,) = victim.receive(b"in", identity_of(ME).curve, action.raw, now_s=now_s)
                after = node.receive(action.link, identity_of(VICTIM).curve, reply.raw, now_s=now_s)
                assert after == [HangUp(action.link)]  # the exchange is over at once
                assert identity_of(CROOK).key not in known(node)
    assert led >= 10
    assert node.gate.bans(now_s) == {}
    assert node.gate._of(identity_of(VICTIM).curve, now_s).strikes == 0
    assert node.traffic.failures == led


def test_a_second_record_under_the_senders_key_does_not_count():
    node = a_node()
    evil = signed(CROOK, now_s=START + 1, address=address_of(VICTIM), curve=identity_of(VICTIM).curve)
    assert hear(node, CROOK, opening(CROOK, entries=[evil]))
    (kept,) = node.view.records()
    assert (kept.address, kept.curve) == (address_of(CROOK), identity_of(CROOK).curve)


def test_a_known_peer_changes_its_transport_key_only_itself_and_its_address_only_to_a_free_one():
    view = PeerView(bytes(32), "tcp://10.0.0.1:1", size=10, shuffle_size=8, most_per_host=2, stream=seeded_stream(1))

    def record(number, issued_ms, *, curve=bytes(32), address=None):
        return Record(bytes([number]) * 32, curve, address or f"tcp://6.6.6.{number}:1", issued_ms, b"", b"")

    view.merge([record(1, 10), record(2, 10), record(3, 10)], sent=[], source=b"x")
    view.merge([record(1, 20, curve=b"\7" * 32)], sent=[], source=b"x")
    assert {one.curve for one in view.records()} == {bytes(32)}
    view.merge([record(1, 20, curve=b"\7" * 32)], sent=[], source=bytes([1]) * 32)
    assert {one.curve for one in view.records()} == {bytes(32), b"\7" * 32}
    for taken in ("tcp://6.6.6.2:1", "tcp://6.6.6.2:01", "tcp://10.0.0.1:1"):
        view.merge([record(1, 30, curve=b"\7" * 32, address=taken)], sent=[], source=bytes([1]) * 32)
    assert "tcp://6.6.6.1:1" in {one.address for one in view.records()}
    view.merge([record(1, 40, curve=b"\7" * 32, address="tcp://6.6.6.9:1")], sent=[], source=bytes([1]) * 32)
    assert "tcp://6.6.6.9:1" in {one.address for one in view.records()}
    view.merge([record(2, 50, address="tcp://6.6.6.9:2")], sent=[], source=b"x")
    view.merge([record(3, 50, address="tcp://6.6.6.9:3")], sent=[], source=b"x")  # a third one on that host
    assert sum("6.6.6.9" in one.address for one in view.records()) == 2


def test_strikes_are_forgiven_one_per_period():
    gate = Gate(NETWORK, NodeSettings(strikes=20), own_address=address_of(ME))
    for turn in range(100):
        now_s = START + turn * 5 * NETWORK.period_s
        gate.strike(b"k" * 32, now_s=now_s, count=5)
        assert not gate.bans(now_s)
    for _ in range(4):
        gate.strike(b"k" * 32, now_s=START + 10**5, count=5)
    assert gate.banned(b"k" * 32, now_s=START + 10**5)


# --- a clock that was ahead ------------------------------------------------------------------------------------------


def test_a_record_signed_in_the_future_is_signed_anew():
    node = a_node()
    assert node.own_record(START + 3600.0).issued_ms == int(1000 * (START + 3600.0))
    again = node.own_record(START)
    assert again.issued_ms == int(1000 * START)
    assert node.own_record(START + NETWORK.period_s / 2) is again


def test_bans_made_in_the_future_end_like_others():
    gate = Gate(NETWORK, NodeSettings(ban_s=100), own_address=address_of(ME))
    gate.ban(b"b" * 32, until_s=START + 10**6)
    gate.ban(b"c" * 32, until_s=START + 50)
    gate.forget_the_future(START)
    assert gate.bans(START) == {b"b" * 32: START + 100, b"c" * 32: START + 50}


def test_exchanges_noted_in_the_future_are_given_up_in_time():
    exchanges = Exchanges(most=8, patience_s=5.0)
    link = exchanges.start(b"k", b"c", "", [], (), now_s=1e6).link
    exchanges.join(b"in", b"nonce", key=b"k", curve=b"c", offered=(), wanted=(), catalogue=1, now_s=1e6)
    assert exchanges.overdue(100.0) == []
    assert exchanges.next_deadline_s() == 105.0
    assert exchanges.overdue(105.0) == [link]
    assert exchanges.joined() == []


def test_records_from_the_future_are_forgotten_and_who_was_asked_then_was_asked_now():
    view = PeerView(bytes(32), "tcp://10.0.0.1:1", size=10, shuffle_size=8, most_per_host=0, stream=seeded_stream(1))
    early, late = (Record(bytes([n]) * 32, bytes(32), address_of(n), 10**6 * n, b"", b"") for n in (1, 9))
    view.merge([early, late], sent=[], source=b"x")
    view.note_asked(early.key, 9e6)
    view.forget_outside(0.0, 2e6, now_ms=1.5e6)
    assert view.records() == [early]
    assert view._asked_ms == {early.key: 1.5e6}


# --- what keys cost --------------------------------------------------------------------------------------------------


def test_a_signing_key_has_a_rate_and_strikes_of_its_own():
    """Fresh transport keys do not help: after its burst the signing key is cut off, then banned."""
    node = a_node(settings=NodeSettings(message_burst=5, strikes=4))
    answered = []
    for turn in range(12):
        fresh = identity_of(1000 + turn).curve
        answered.append(bool(hear(node, CROOK, opening(CROOK, curve=fresh), curve=fresh)))
    assert answered == [True] * 5 + [False] * 7
    assert node.gate.banned(identity_of(CROOK).key, now_s=START)
    assert identity_of(CROOK).key in node.gate.bans(START)
    told = signed(CROOK)
    assert hear(node, FRIEND, opening(FRIEND, entries=[told]))
    late = a_node()
    late.gate.ban(identity_of(CROOK).key, until_s=START + 100)
    hear(late, FRIEND, opening(FRIEND, entries=[told]))
    assert identity_of(CROOK).key not in known(late)


def test_bad_sketches_are_held_against_the_signing_key_too():
    node = a_node()
    bits = draw_bits({}, epsilon=NETWORK.epsilon, size=NETWORK.items, stream=seeded_stream(3))
    good = sign_sketch(bits, epoch=0, identity=identity_of(VICTIM), network=NETWORK)
    forged = msgspec.structs.replace(good, signature=bytes(64))
    hear(node, CROOK, opening(CROOK, have=(Slip(name_of(good.key), 0),)))
    assert hear(node, CROOK, encode(NETWORK.id, Delivery(bytes(8), (forged,), ()))) == []
    assert len(node.shelf) == 0
    for key in (identity_of(CROOK).key, identity_of(CROOK).curve):
        assert node.gate._of(key, START).strikes == 5


def test_a_called_peer_that_delivers_rubbish_is_hung_up_on():
    network = a_network(bootstrap=(Bootstrap(address_of(CROOK), identity_of(CROOK).key.hex(), "ab" * 32),))
    node = a_node(network=network)
    now_s = node.pace.next_s
    (dial,) = node.tick(now_s)
    asked = decode(network.id, dial.raw, largest=10**6)
    fields = (identity_of(CROOK).key, dial.curve, address_of(CROOK), int(1000 * now_s), b"")
    record = Record(*fields, identity_of(CROOK).sign(Record(*fields, b"").text(network.id)))
    answer = Answer(asked.nonce, record, (), (Slip(name_of(identity_of(FRIEND).key), 0),), ())
    (reply,) = node.receive(dial.link, dial.curve, encode(network.id, answer), now_s=now_s)
    assert isinstance(reply, Reply)
    unasked = SignedSketch(bytes(32), 0, b"", b"", b"")
    rubbish = encode(network.id, Delivery(asked.nonce, (unasked,), ()))
    assert node.receive(dial.link, dial.curve, rubbish, now_s=now_s) == [HangUp(dial.link)]


def test_bans_are_not_washed_off_by_fresh_keys():
    gate = Gate(NETWORK, NodeSettings(), own_address=address_of(ME))
    gate.strike(b"b" * 32, now_s=START, count=20)
    for number in range(10_000):
        gate.lets_through(number.to_bytes(32, "big"), now_s=START)
    assert gate.banned(b"b" * 32, now_s=START + 1)


def test_the_list_of_bans_is_bounded_and_the_longest_stay():
    gate = Gate(NETWORK, NodeSettings(), own_address=address_of(ME))
    gate.ban(b"b" * 32, until_s=START + 10**6)
    for number in range(5000):
        gate.ban(number.to_bytes(32, "big"), until_s=START + 1 + number)
    assert len(gate._bans) == 4096
    assert gate.banned(b"b" * 32, now_s=START)
    assert gate.banned((4999).to_bytes(32, "big"), now_s=START)
    assert not gate.banned((0).to_bytes(32, "big"), now_s=START)


def test_all_peers_together_have_one_bucket_but_answers_come_through():
    node = a_node(settings=NodeSettings(messages_per_s=1.0))
    heard = [bool(hear(node, 100 + n, opening(100 + n))) for n in range(15)]
    assert heard == [True] * 10 + [False] * 5
    assert not node.gate.bans(START)
    now_s = node.pace.next_s
    (dial,) = (action for action in node.tick(now_s) if isinstance(action, Call))
    while node.gate.has_room(now_s=now_s):
        pass
    number = next(n for n in range(100, 115) if identity_of(n).curve == dial.curve)
    nonce = decode(NETWORK.id, dial.raw, largest=10**6).nonce
    answer = encode(NETWORK.id, Answer(nonce, signed(number, now_s=now_s), (), (), ()))
    assert node.receive(dial.link, dial.curve, answer, now_s=now_s)
    assert not hear(node, 300, opening(300, now_s=now_s), now_s=now_s)


@pytest.mark.slow
def test_a_host_has_a_share_of_its_own_whatever_keys_it_uses():
    """One host sends 500 messages a second under fresh keys, another one per second: before, few of these were read."""
    node = a_node(settings=NodeSettings(messages_per_s=20.0, messages_per_host_s=2.0))
    read = Counter()
    for turn in range(5000):
        now_s = START + turn / 500
        number, host = (9, "10.0.0.9") if turn % 500 == 499 else (100 + turn, "10.0.0.66")
        raw = opening(number, now_s=now_s, nonce=turn.to_bytes(8, "big"))
        read[host] += len(node.receive(turn, identity_of(number).curve, raw, now_s=now_s, host=host))
    assert read == {"10.0.0.9": 10, "10.0.0.66": 20 + 20 - 1}  # ten seconds' worth at once, and what came together
    assert node.gate.hosts.take_flood() == "10.0.0.66"
    assert node.gate.hosts.take_flood() is None


def test_shares_are_bounded_and_end_at_the_own_machine():
    shares = HostShares(rate=1.0, near="127.0.0.1")
    assert all(shares.lets_through("127.0.0.1", now_s=0.0) for _ in range(100))
    assert sum(shares.lets_through("127.0.0.2", now_s=0.0) for _ in range(100)) == 10
    assert all(HostShares(rate=0.0).lets_through("h", now_s=0.0) for _ in range(100))
    for number in range(10_000):
        shares.lets_through(f"10.0.0.{number}", now_s=1.0)
    assert len(shares._buckets) == 4096
    assert near_host("tcp://127.0.0.1:5") == "127.0.0.1"
    assert near_host("tcp://10.0.0.1:5") == near_host("") == ""


def test_one_key_has_two_exchanges_open_at_most():
    node = a_node()
    for turn in range(6):
        hear(node, CROOK, opening(CROOK, nonce=bytes([turn]) * 8))
    assert [nonce[0] for nonce in node.exchanges.joined()] == [4, 5]
    for turn in range(6):  # other signing keys over the same connection
        fields = (identity_of(50 + turn).key, identity_of(CROOK).curve, address_of(50 + turn), int(1000 * START), b"")
        record = Record(*fields, identity_of(50 + turn).sign(Record(*fields, b"").text(NETWORK.id)))
        raw = encode(NETWORK.id, Opening(bytes([50 + turn]) * 8, record, (), ()))
        assert hear(node, CROOK, raw)
    assert len(node.exchanges.joined()) == 2
    hear(node, FRIEND, opening(FRIEND))
    assert len(node.exchanges.joined()) == 3


@pytest.mark.slow
def test_a_crowd_of_callers_keeps_no_sketch_from_the_disk():
    """An honest sketch comes, then 2,100 keys call before the next period: more than are remembered."""
    node = a_node(settings=NodeSettings(messages_per_s=1e6))
    bits = draw_bits({}, epsilon=NETWORK.epsilon, size=NETWORK.items, stream=seeded_stream(3))
    good = sign_sketch(bits, epoch=0, identity=identity_of(VICTIM), network=NETWORK)
    hear(node, VICTIM, opening(VICTIM, have=(Slip(name_of(good.key), 0),)))
    assert hear(node, VICTIM, encode(NETWORK.id, Delivery(bytes(8), (good,), ())))
    for number in range(100, 2200):
        assert hear(node, number, opening(number))
    assert node.shelf.take_news() == [good]
    assert len(node.met) == 2000
    assert identity_of(2199).key in node.met


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "believed"),
    [
        ("8.8.8.8", {"9.9.9.9"}),
        ("10.0.0.1", {"9.9.9.9", "192.168.1.1", "[fd00::1]", "100.64.0.9"}),
        ("127.0.0.1", {"9.9.9.9", "127.0.0.2", "[::1]", "[::ffff:7f00:2]"}),
        ("169.254.0.1", {"9.9.9.9", "169.254.3.4", "[fe80::7]"}),
    ],
)
def test_records_do_not_lead_into_networks_that_only_the_node_can_reach(own, believed):
    gate = Gate(NETWORK, NodeSettings(), own_address=f"tcp://{own}:1")
    tried = ["9.9.9.9", "192.168.1.1", "[fd00::1]", "100.64.0.9", "127.0.0.2", "[::1]", "[::ffff:7f00:2]"]
    tried += ["169.254.3.4", "[fe80::7]", "0.0.0.0", "224.0.0.1", "240.0.0.1", "[2002:7f00:1::]", "[64:ff9b::a00:1]"]  # noqa: S104
    found = set()
    for host in tried:
        try:
            gate.check_record(signed(5, address=f"tcp://{host}:1"), now_s=START)
        except Refused as refusal:
            assert refusal.blame == 0  # noqa: PT017  (where it was heard of, it may be right)
        else:
            found.add(host)
    assert found == believed


def test_who_sits_behind_a_router_may_ask_but_is_not_told_of():
    node = Node(
        identity_of(ME),
        address="tcp://8.8.8.8:1",
        network=NETWORK,
        settings=NodeSettings(),
        stream=seeded_stream(1),
        now_s=START,
    )
    (answer,) = hear(node, FRIEND, opening(FRIEND, address="tcp://192.168.1.20:1"))
    assert isinstance(decode(NETWORK.id, answer.raw, largest=10**6), Answer)
    assert (known(node), len(node.met)) == (set(), 0)
    hear(node, VICTIM, opening(VICTIM, address="tcp://9.9.9.9:1"))
    assert (known(node), len(node.met)) == ({identity_of(VICTIM).key}, 1)


@pytest.mark.parametrize("host", ["localhost", "evil.example", "127.evil.example", "6.6.6.06", "127.1", "2130706433"])
def test_names_do_not_travel_by_gossip(host):
    assert address_kind(f"tcp://{host}:1") == "name"
    gate = Gate(NETWORK, NodeSettings(), own_address="tcp://127.0.0.1:1")
    with pytest.raises(Refused, match="an IP address"):
        gate.check_record(signed(5, address=f"tcp://{host}:1"), now_s=START)
    with pytest.raises(InvalidInput, match="names are for"):
        Gate(NETWORK, NodeSettings(), own_address=f"tcp://{host}:1")


# --- invitations, signatures, the shelf ------------------------------------------------------------------------------


def test_nothing_can_be_hung_on_a_signed_sketch():
    bits = draw_bits({}, epsilon=NETWORK.epsilon, size=NETWORK.items, stream=seeded_stream(3))
    good = sign_sketch(bits, epoch=3, identity=identity_of(1), network=NETWORK)
    tagged = msgspec.structs.replace(good, invitation=b"handed to peer 17".ljust(64, b"."))
    with pytest.raises(Refused, match="signed"):
        check_sketch(tagged, network=NETWORK, network_id=NETWORK.id, size=NETWORK.items)
    gate = Gate(NETWORK, NodeSettings(), own_address=address_of(ME))
    assert gate.admits(good.key, b"")
    assert not gate.admits(good.key, tagged.invitation)
    shifted = msgspec.structs.replace(good, invitation=good.bits[:1], bits=good.bits[1:])
    assert shifted.text(NETWORK.id) != good.text(NETWORK.id)


def test_an_invitation_is_not_shown_where_nobody_asks_for_it():
    node = Node(
        identity_of(ME),
        address=address_of(ME),
        network=NETWORK,
        settings=NodeSettings(),
        stream=seeded_stream(1),
        now_s=START,
        invitation=bytes(64),
    )
    record = node.own_record(START)
    assert record.invitation == b""
    assert hear(a_node(VICTIM), ME, encode(NETWORK.id, Opening(bytes(8), record, (), ())))


def test_another_cut_of_the_same_bytes_is_not_genuine():
    who = identity_of(1)
    signature = who.sign(b"text")
    assert check_signature(who.key, b"text", signature)
    assert not check_signature(who.key, signature[63:] + b"text", signature[:63])
    assert not check_signature(who.key, b"ext", signature + b"t")
    assert not check_signature(who.key + signature[:1], b"text", signature[1:])


def test_ranks_are_worked_out_once(monkeypatch):
    """A full shelf asks for the rank of each announced key, not for those of all that it holds."""
    shelf = SketchShelf(bytes(32), most=200, stream=seeded_stream(1))
    for number in range(1, 1000):
        shelf.keep(SignedSketch(number.to_bytes(32, "big"), 1, b"", b"", b""))
    asked = []
    rank = SketchShelf._rank
    monkeypatch.setattr(SketchShelf, "_rank", lambda self, key: asked.append(key) or rank(self, key))
    have = [Slip(number.to_bytes(32, "big"), 1) for number in range(5000, 5064)]
    shelf.lacking(have, epochs=range(3), count=8)
    assert len(asked) == 64
    monkeypatch.undo()
    held = {sketch.key for sketch in shelf}
    expected = sorted((n.to_bytes(32, "big") for n in range(1, 1000)), key=shelf._rank)[:200]
    assert held == set(expected)
    shelf.expire(range(2, 100))
    assert len(shelf) == len(shelf._ranks) == 0
    assert shelf.keep(SignedSketch(b"1" * 32, 2, b"", b"", b""))
