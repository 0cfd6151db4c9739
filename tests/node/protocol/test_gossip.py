"""The parts of the protocol by themselves: view, shelf, gate."""

from tests.support.node_swarm import START, a_network, address_of, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import Refused
from hetdp.node.protocol.admission import Gate
from hetdp.node.protocol.exchange_pace import SLOWEST
from hetdp.node.protocol.exchanges import Exchanges
from hetdp.node.protocol.identity import sign_invitation
from hetdp.node.protocol.messages import Record, SignedSketch, Slip
from hetdp.node.protocol.peer_view import PeerView, Reachability, choose_one, choose_some
from hetdp.node.protocol.sketch_shelf import SketchShelf
from hetdp.node.settings import NodeSettings

OWN = "tcp://10.0.0.0:1"


def record(number, *, issued_ms=1000, address=None):
    return Record(bytes([number]) * 32, bytes(32), address or address_of(number), issued_ms, b"", b"")


def a_view(size=10, shuffle_size=4, most_per_host=0, own="tcp://10.0.0.0:1"):
    return PeerView(
        bytes(32),
        own,
        size=size,
        shuffle_size=shuffle_size,
        most_per_host=most_per_host,
        stream=seeded_stream(1),
    )


def keys(view):
    return {entry.key[0] for entry in view.records()}


def test_an_empty_view_has_nobody_to_ask():
    assert len(a_view()) == 0
    assert a_view().oldest() is None


def test_one_peer_cannot_fill_a_view():
    view = a_view()
    for turn in range(20):
        view.merge([record(10 * turn + place + 1) for place in range(4)], sent=view.records(), source=b"crook")
    assert len(view) == 5  # half of it, however often it tries
    view.merge([record(n) for n in range(230, 234)], sent=[], source=b"other")
    assert len(view) == 9


def test_one_shuffle_changes_few_slots():
    view = a_view(size=20)
    for source in range(4):
        view.merge([record(1 + 4 * source + place) for place in range(4)], sent=[], source=bytes([source]))
    before = keys(view)
    view.merge([record(n) for n in range(100, 120)], sent=view.records(), source=b"new")
    assert len(keys(view) - before) == 4


def test_slots_of_sent_records_are_given_up_and_no_others():
    view = a_view(size=4)
    view.merge([record(n) for n in (1, 2)], sent=[], source=b"a")
    view.merge([record(n) for n in (3, 4)], sent=[], source=b"b")
    view.merge([record(n) for n in (5, 6)], sent=[record(1)], source=b"c")
    assert keys(view) == {2, 3, 4, 5}


def test_one_identity_one_address_one_slot_and_the_newest_record_stays():
    view = a_view()
    view.merge([record(1), record(1, issued_ms=3000), record(1, issued_ms=2000)], sent=[], source=b"a")
    view.merge([record(2, address=address_of(1))], sent=[], source=b"a")
    view.merge([record(0), record(3, address="tcp://10.0.0.0:1")], sent=[], source=b"a")  # itself, and its address
    assert [entry.issued_ms for entry in view.records()] == [3000]


def test_one_host_holds_few_slots_but_loopback_many_for_a_node_on_loopback():
    for own, most in (("tcp://127.0.0.1:1", 5), ("tcp://10.0.0.0:1", 4)):
        view = a_view(most_per_host=2, own=own)
        view.merge([record(n, address=f"tcp://6.6.6.6:{n}") for n in range(1, 5)], sent=[], source=b"a")
        assert len(view) == 2
        view.merge([record(n, address=f"tcp://127.0.0.1:{n}") for n in range(5, 8)], sent=[], source=b"b")
        assert len(view) == most


def test_a_host_is_the_same_however_it_is_spelled():
    view = a_view(most_per_host=2, shuffle_size=10)
    spelled = ["[2a00:0:0::1]:1", "[2A00::2]:2", "[2a00:0::3]:3", "[2a00:0:0:0:ffff::]:4", "[2a00:0:0:1::1]:5"]
    spelled += ["[::ffff:606:606]:6", "6.6.6.6:7", "6.6.6.6:8", "6.6.6.6:07"]
    view.merge([record(n, address=f"tcp://{text}") for n, text in enumerate(spelled, start=1)], sent=[], source=b"a")
    assert keys(view) == {1, 2, 5, 6, 7}


def test_the_oldest_is_asked_and_the_too_old_forgotten():
    view = a_view()
    view.merge([record(1, issued_ms=500), record(2, issued_ms=100), record(3, issued_ms=900)], sent=[], source=b"a")
    assert view.oldest().key[0] == 2
    view.forget_outside(600, 1000, now_ms=900)
    assert keys(view) == {3}
    assert [entry.key[0] for entry in view.sample(5, without=bytes([3]) * 32)] == []


def sketch(number, epoch=1):
    return SignedSketch(number.to_bytes(32, "big"), epoch, b"x", b"", b"")


def a_shelf(most=1000):
    return SketchShelf(bytes(32), most=most, stream=seeded_stream(1))


def test_the_first_sketch_of_an_epoch_stays():
    shelf = a_shelf()
    assert shelf.keep(sketch(1, epoch=5))
    assert not shelf.keep(SignedSketch(sketch(1).key, 5, b"other", b"", b""))
    assert not shelf.keep(sketch(1, epoch=4))
    assert next(iter(shelf)).bits == b"x"
    assert shelf.keep(sketch(1, epoch=6))
    assert [(one.key, one.epoch) for one in shelf] == [(sketch(1).key, 6)]
    assert not shelf.keep(sketch(0))  # somebody else's copy of the own one
    shelf.expire(range(7, 100))
    assert len(shelf) == 0


def test_only_what_was_announced_is_served_and_only_what_is_lacking_asked_for():
    shelf = a_shelf()
    shelf.own = sketch(0, epoch=2)
    for number in range(1, 40):
        shelf.keep(sketch(number))
    announced = shelf.announce(10)
    assert len(announced) == 10
    assert announced[0] == Slip(bytes(32), 2)
    assert {slip.key for slip in announced[1:6]} == {sketch(number).key for number in range(35, 40)}
    names = [slip.key for slip in announced]
    assert len(shelf.serve([*names, *names], offered=announced, count=50)) == 10
    unannounced = [sketch(number).key for number in range(1, 40) if sketch(number).key not in names]
    assert shelf.serve(unannounced, offered=announced, count=50) == ()
    have = [Slip(sketch(number).key, 1) for number in range(30, 50)] + [Slip(sketch(60).key, 9)]
    asked = shelf.lacking(have, epochs=range(1, 3), count=50)
    assert set(asked) == {sketch(number).key for number in range(40, 50)}
    assert len(shelf.lacking(have, epochs=range(1, 3), count=3)) == 3


def test_a_full_shelf_keeps_a_selection_that_newcomers_cannot_take_over():
    """1000 honest keys, then 1000 of a crowd, 100 places: the crowd gets about half, as many as its share.

    The number is hypergeometric with mean 50 and deviation below 5; 20 to 80 is 6 deviations: false alarm below 1e-8.
    """
    shelf = a_shelf(most=100)
    for number in range(1, 2001):
        shelf.keep(sketch(number))
        assert len(shelf) <= 100
    crowd = sum(int.from_bytes(kept.key, "big") > 1000 for kept in shelf)
    assert 20 <= crowd <= 80
    kept = {one.key for one in shelf}
    for number in range(1, 2001):  # the selection is stable: offering everything again changes nothing
        shelf.keep(sketch(number))
    assert {one.key for one in shelf} == kept


def test_what_is_held_and_new_is_told_once():
    shelf = a_shelf(most=10)
    for number in range(1, 31):
        shelf.keep(sketch(number))
    assert [one.key for one in shelf.take_news()] == [one.key for one in shelf]
    assert shelf.take_news() == []
    (first, *_) = shelf
    shelf.keep(SignedSketch(first.key, 2, b"x", b"", b""))
    assert [(one.key, one.epoch) for one in shelf.take_news()] == [(first.key, 2)]
    shelf.keep(SignedSketch(first.key, 3, b"x", b"", b""))
    shelf.expire(range(4, 100))
    assert shelf.take_news() == []


def signed(number, network, *, issued_ms, invitation=b"", address=None):
    who = identity_of(number)
    fields = (who.key, who.curve, address or address_of(number), issued_ms, invitation)
    return Record(*fields, who.sign(Record(*fields, b"").text(network.id)))


def refused(gate, one, now_s=START):
    try:
        gate.check_record(one, now_s=now_s)
    except Refused as refusal:
        return str(refusal)
    return ""


def test_records_are_checked():
    network = a_network()
    gate = Gate(network, NodeSettings(record_periods=10, clock_skew_s=5), own_address=OWN)
    good = signed(1, network, issued_ms=int(START * 1000))
    assert refused(gate, good) == ""
    assert "signature" in refused(
        gate, Record(good.key, good.curve, address_of(9), good.issued_ms, b"", good.signature)
    )
    assert "signature" in refused(gate, signed(1, a_network(name="x"), issued_ms=good.issued_ms))
    assert "recent" in refused(gate, good, now_s=START + 10 * SLOWEST * 10 + 1)
    assert "recent" in refused(gate, good, now_s=START - 6)
    assert "address" in refused(gate, signed(1, network, issued_ms=good.issued_ms, address="tcp://nowhere"))


def test_admission_by_list_and_by_invitation():
    host = identity_of(99)
    network = a_network(admission="invite", network_key=host.key.hex())
    gate = Gate(network, NodeSettings(), own_address=OWN)
    invitation = sign_invitation(host.signing_secret, network.id, identity_of(1).key)
    now_ms = int(START * 1000)
    assert refused(gate, signed(1, network, issued_ms=now_ms, invitation=invitation)) == ""
    assert "admitted" in refused(gate, signed(2, network, issued_ms=now_ms, invitation=invitation))
    assert "admitted" in refused(gate, signed(1, network, issued_ms=now_ms))
    opened = Gate(a_network(), NodeSettings(), own_address=OWN)
    assert opened.admits(identity_of(2).key, b"")
    assert not opened.admits(identity_of(1).key, invitation), "nothing can be hidden where an invitation would be"


def test_floods_are_cut_and_banned_and_bans_end():
    network = a_network(period_s=10.0)
    gate = Gate(network, NodeSettings(message_burst=5, messages_per_period=10, strikes=3, ban_s=100), own_address=OWN)
    passed = [gate.lets_through(b"k", now_s=0.0) for _ in range(10)]
    assert passed == [True] * 5 + [False] * 5
    assert gate.banned(b"k", now_s=99.0)
    assert gate.bans(1.0) == {b"k": 100.0}
    assert not gate.banned(b"other", now_s=0.0)
    assert gate.lets_through(b"k", now_s=101.0)
    for _ in range(4):
        assert gate.lets_through(b"slow", now_s=0.0)
    assert gate.lets_through(b"slow", now_s=10.0)


def test_memory_about_strangers_is_bounded():
    gate = Gate(a_network(), NodeSettings(), own_address=OWN)
    for number in range(10_000):
        gate.lets_through(number.to_bytes(32, "big"), now_s=0.0)
    assert len(gate._conduct) <= 4096


def test_an_exchange_is_overdue_after_its_time_and_forgotten_at_its_end():
    exchanges = Exchanges(most=8, patience_s=5.0)
    assert exchanges.start(b"key", b"curve", "", [], (), now_s=0.0).link == 1
    assert exchanges.next_deadline_s() == 5.0
    assert exchanges.overdue(5.0) == [1]
    assert exchanges.end(1).key == b"key"
    assert exchanges.started(1) is None


def test_who_answered_at_one_address_did_not_at_another():
    reached = Reachability()
    reached.note(b"tea", "tcp://10.0.0.1:7470", answered=True)
    assert reached.at(b"tea", "tcp://10.0.0.1:7470")
    assert not reached.at(b"tea", "tcp://10.0.0.2:7470")


def test_choices_are_among_what_there_is():
    assert sorted(choose_some("abc", 5, seeded_stream(1))) == ["a", "b", "c"]
    assert choose_one(["tea"], seeded_stream(1)) == "tea"
