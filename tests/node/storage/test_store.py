"""The store: edits, undo, limits, the ledger; and publishing once per epoch whatever happens."""

import gc
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.errors import refused
from tests.support.node_swarm import START, a_network, identity_of

from hetdp.core.errors import DataError, InvalidInput, SimulatedResult
from hetdp.core.randomness import seeded_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import DrawRecord, Uptime
from hetdp.node.protocol.messages import Record
from hetdp.node.protocol.node import Traffic
from hetdp.node.protocol.sketches import check_sketch
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.ledger import checked_limit, loss, most_steps
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import unpack

HERE = Path(__file__).parent
EPOCH_S = 100
NETWORK = a_network(items=40, epoch_length_s=EPOCH_S, most_items=30)
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}", group="even" if n % 2 == 0 else "odd") for n in range(40)]
WHO = identity_of(1)


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=9.0) as made:
        yield made


def publish_at(store, epoch, **options):
    return publish_now(store, NETWORK.starts(epoch) + 1.0, **options)


def publish_now(store, now_s, *, network=NETWORK, **options):
    """Publish on a machine whose clock was never set."""
    return publish(store, identity=WHO, network=network, now_s=now_s, uptime=Uptime("boot", now_s), **options)


def dials(store):
    return {item.place: item.dial for item in store.profile.items()}


def test_edits_and_undo(store):
    store.profile.set_dials({1: 100, 2: 50})
    store.profile.set_dials({2: 0})
    store.profile.remove([1])
    assert dials(store) == {2: 0}
    version = store.profile.version()
    assert store.profile.undo()
    assert dials(store) == {1: 100, 2: 0}
    assert store.profile.undo()
    assert store.profile.undo()
    assert dials(store) == {}
    assert not store.profile.undo()
    assert store.profile.version() > version


def test_an_item_has_the_limit_of_all_unless_it_has_its_own(store):
    store.profile.set_dials({0: 50})
    assert [(item.item, item.dial, item.limit) for item in store.profile.items()] == [("i0", 50, 9.0)]


def test_bad_edits_change_nothing(store):
    store.profile.set_dials({1: 100})
    for bad, message in (
        ({2: 101}, "0 to 100"),
        ({2: 1.5}, "0 to 100"),
        ({2: True}, "0 to 100"),
        ({40: 5}, "place must be"),
    ):
        with pytest.raises(InvalidInput, match=message):
            store.profile.set_dials({3: 10, **bad})
    with pytest.raises(InvalidInput, match="at most 30 items"):
        store.profile.set_dials(dict.fromkeys(range(31), 100))
    assert dials(store) == {1: 100}
    store.profile.set_dials({})
    assert store.profile.undo()
    assert dials(store) == {}


def test_search_finds_words_and_takes_signs_literally(store):
    assert [item.place for item in store.catalogue.search("item 12")] == [12]
    assert len(store.catalogue.search("ITEM odd", limit=50)) == 20
    assert store.catalogue.search("%") == []
    assert store.catalogue.search("' OR 1 --") == []
    assert len(store.catalogue.search("", limit=5, offset=38)) == 2
    assert store.catalogue.places_of("i7") == [7]
    assert store.catalogue.places_of("nothing") == []
    assert {item.group for item in store.catalogue.search("", limit=50)} == {"even", "odd"}
    with pytest.raises(InvalidInput, match="place must be"):
        store.catalogue.item(99)


def test_an_epoch_is_charged_and_drawn_once(store):
    store.profile.set_dials({1: 100, 2: 50, 3: 0})
    first = publish_at(store, 0)
    assert store.ledger.charges(1) == [(0, 3.0)]
    assert store.ledger.spent() == {1: 3.0, 2: 1.5}
    store.profile.set_dials({1: 100, 4: 100})
    assert publish_at(store, 0) == first
    assert store.publications.newest().dials == {1: 100, 2: 50}
    assert {item.place: item.published_dial for item in store.profile.items()} == {1: 100, 2: 50, 3: None, 4: None}
    second = publish_at(store, 1)
    assert second.epoch == 1
    assert store.ledger.spent() == {1: 6.0, 2: 3.0, 4: 3.0}
    assert [one.epoch for one in store.publications.all()] == [0, 1]
    assert store.ledger.all_charges() == [(0, 1, 3.0), (0, 2, 1.5), (1, 1, 3.0), (1, 2, 1.5), (1, 4, 3.0)]


def test_a_clock_set_back_never_draws_again(store):
    store.profile.set_dials({1: 100})
    newest = publish_at(store, 5)
    for epoch in (4, 0, 5):
        assert publish_at(store, epoch) == newest
    assert store.ledger.spent() == {1: 3.0}
    assert publish_now(store, START - 10**5) == newest


def test_nothing_is_published_before_the_first_epoch(store):
    assert publish_now(store, START - 1) is None
    assert store.publications.newest() is None
    assert store.publications.newest_epoch() is None


def test_an_unchanged_profile_gets_fresh_bits_every_epoch(tmp_path):
    """Of 2,000 bits, each the same in two draws with probability 0.91: equal by chance once in 10**80."""
    network = a_network(items=2000, epoch_length_s=EPOCH_S)
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(2000)]
    with NodeStore.make(tmp_path / "large.db", network, items, default_limit=9.0) as store:
        store.profile.set_dials({1: 100})
        drawn = [publish_now(store, network.starts(epoch), network=network) for epoch in range(3)]
        assert len({sketch.bits for sketch in drawn}) == 3


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(1, 2)])
def test_bits_that_leave_follow_the_law_of_the_network(tmp_path, tuned_for):
    """2,000 items at each of three dials: ones are as frequent as the law says, to 5 standard errors (6e-7 each)."""
    network = a_network(items=6000, epsilon=Fraction(2), tuned_for=tuned_for, epoch_length_s=EPOCH_S)
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(6000)]
    with NodeStore.make(tmp_path / "large.db", network, items, default_limit=9.0) as store:
        store.profile.set_dials(dict.fromkeys(range(2000), 100) | dict.fromkeys(range(2000, 4000), 40))
        sketch = publish_now(store, network.starts(0), network=network, stream=seeded_stream(3), simulation=True)
    check_sketch(sketch, network=network, network_id=network.id, size=network.items)
    shown = unpack(sketch.bits, 6000).reshape(3, 2000).mean(axis=1)
    for share, weight in zip(shown, (1.0, 102 / 255, 0.0), strict=True):
        chance = chance_of_one(2, weight, tuned_for=tuned_for)
        assert abs(share - chance) < 5 * (chance * (1 - chance) / 2000) ** 0.5


def test_an_item_at_its_limit_weighs_0_from_then_on(store):
    store.profile.set_dials({1: 100, 2: 50, 3: 100})
    store.ledger.set_limit(3, 2.9)  # not even once
    for epoch in range(8):
        publish_at(store, epoch)
    assert store.ledger.spent() == {1: 9.0, 2: 9.0}
    profile = {item.place: item for item in store.profile.items()}
    assert [profile[place].exhausted for place in (1, 2, 3)] == [True, True, True]
    assert profile[1].effective_dial == 0
    assert [epoch for epoch, _ in store.ledger.charges(1)] == [0, 1, 2]
    store.ledger.set_limit(1, 12.0)
    publish_at(store, 8)
    assert store.ledger.spent()[1] == 12.0
    store.ledger.set_limit(1, None)
    assert {item.place: item.limit for item in store.profile.items()}[1] == 9.0
    store.ledger.set_default_limit(0.0)
    publish_at(store, 9)
    assert store.ledger.spent() == {1: 12.0, 2: 9.0}
    with pytest.raises(InvalidInput, match="limit must be"):
        store.ledger.set_limit(1, -1.0)


def test_removing_and_adding_an_item_does_not_reset_its_losses(store):
    store.profile.set_dials({1: 100})
    for epoch in range(3):
        publish_at(store, epoch)
    store.profile.remove([1])
    store.profile.set_dials({1: 100})
    publish_at(store, 3)
    assert store.ledger.spent() == {1: 9.0}


def test_limits_are_exact_in_spite_of_floats(tmp_path):
    network = a_network(items=40, epoch_length_s=EPOCH_S, epsilon=Fraction(1, 10))
    with NodeStore.make(tmp_path / "x.db", network, ITEMS, default_limit=0.3) as store:
        store.profile.set_dials({1: 100})
        for epoch in range(5):
            publish_now(store, network.starts(epoch), network=network)
        assert [epoch for epoch, _ in store.ledger.charges(1)] == [0, 1, 2]


def test_losses_are_counted_in_whole_hundredths():
    assert loss(150, Fraction(3)) == 4.5
    assert [most_steps(0.3, Fraction(1, 10)), most_steps(4.5, Fraction(3))] == [300, 150]
    assert most_steps(1e6, Fraction(1, 10**12)) == 2147483547
    assert checked_limit(30) == 30.0


def test_seeded_sketches_are_not_published(store):
    with pytest.raises(SimulatedResult):
        publish_at(store, 0, stream=seeded_stream(1))
    assert store.publications.all() == []
    first = publish_at(store, 0, stream=seeded_stream(1), simulation=True)
    assert first.epoch == 0


def test_a_store_of_another_network_is_refused(store):
    with pytest.raises(DataError, match="other parameters"):
        publish_now(store, START, network=a_network(items=40, epsilon=Fraction(9)))


def test_a_failure_while_drawing_charges_nothing(store, monkeypatch):
    store.profile.set_dials({1: 100})

    def fail(*_args, **_named):
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("hetdp.node.publication.sign_sketch", fail)
        with pytest.raises(sqlite3.OperationalError):
            publish_at(store, 0)
    assert store.ledger.spent() == {}
    assert publish_at(store, 0).epoch == 0


CHILD = """
    import sys, time
    from pathlib import Path
    sys.path[:0] = {tests!r}
    from test_store import publish_at
    from hetdp.node.storage.store import NodeStore
    store = NodeStore(Path({path!r}))
    epoch = (store.publications.newest_epoch() or 0) + 1
    print("ready", flush=True)
    while True:
        sketch = publish_at(store, epoch)
        print(epoch, sketch.bits.hex(), flush=True)  # from here on the whole world may have it
        epoch += 1
"""


@pytest.mark.slow
def test_kill_9_at_any_moment_never_draws_an_epoch_twice(store):
    """Whatever had left the process before it was killed is still there afterwards, paid for, bit by bit."""
    store.ledger.set_default_limit(10.0**6)
    store.profile.set_dials({1: 100, 2: 7})
    seen = {}
    for turn in range(3):
        code = textwrap.dedent(CHILD).format(tests=[str(HERE), str(HERE.parents[2])], path=str(store.path))
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        first = [child.stdout.readline() for _ in range(2)]  # on a busy machine nothing might leave in time otherwise
        time.sleep(0.05 + 0.037 * turn)
        child.send_signal(signal.SIGKILL)
        lines = ("".join(first) + child.stdout.read()).split("\n")[:-1]  # a line cut off by the kill has not left
        child.stdout.close()
        child.wait()
        for line in lines:
            epoch, bits = line.split()
            assert int(epoch) not in seen
            seen[int(epoch)] = bits
    assert len(seen) > 3
    stored = {row[0]: row[1] for row in store.database.rows("SELECT epoch, hex(sketch) FROM publications")}
    for epoch, bits in seen.items():
        assert bits.upper() in stored[epoch]
    assert {epoch for epoch, _ in store.ledger.charges(1)} == stored.keys()


def test_threads_and_processes_draw_an_epoch_once(store):
    store.profile.set_dials({1: 100})
    other = NodeStore(store.path)
    found = []

    def work(which):
        found.append(publish_at(which, 0).bits)

    threads = [threading.Thread(target=work, args=(which,)) for which in (store, other) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert store.ledger.spent() == {1: 3.0}


def test_what_the_protocol_learns_is_kept(store):
    sketch = publish_at(store, 3)
    record = Record(WHO.key, WHO.curve, "tcp://127.0.0.1:9", 5, b"", b"")
    traffic = Traffic(sent_bytes=7)
    store.peers.keep(
        sketches=[sketch],
        peers=[(record, 12.0)],
        reached={record.key},
        bans={b"c": 50.0},
        traffic=traffic,
        now_s=20.0,
        first_epoch=2,
    )
    assert store.peers.sketches() == [sketch]
    assert [(peer.key_hex, peer.epoch, peer.seen_s) for peer in store.peers.known()] == [(WHO.key.hex(), 3, 12.0)]
    assert store.peers.contacts(5, own_address="tcp://127.0.0.1:1", most_per_host=4)[0].curve == WHO.curve.hex()
    assert store.peers.bans() == {b"c": 50.0}
    assert store.peers.traffic() == traffic
    store.peers.keep(now_s=60.0, first_epoch=2, held=())
    assert store.peers.sketch_count() == 0
    assert store.peers.bans() == {}


def test_nothing_private_is_shown(store):
    store.profile.set_dials({1: 37})
    publish_at(store, 0)
    for shown in (store.profile.items()[0], store.publications.newest()):
        assert re.fullmatch(r"<hetdp\.node\.storage\.\w+\.\w+ object at 0x[0-9a-f]+>", repr(shown))


def test_foreign_files_are_refused(tmp_path):
    (tmp_path / "node.db").write_text("not a database at all, but long enough to have a header of sixteen bytes")
    with pytest.raises(DataError, match="store of a node"):
        NodeStore(tmp_path / "node.db")
    with pytest.raises(DataError, match="hetdp node init"):
        NodeHandle.open(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="new file"):
        NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=1.0)


def test_the_owner_sees_clock_and_status(store, tmp_path):
    now = [NETWORK.starts(2) + 10.0]
    handle = NodeHandle(tmp_path, NETWORK, NodeSettings(), WHO, store, now=lambda: now[0])
    store.profile.set_dials({1: 100})
    publish_at(store, 2)
    clock = handle.clock()
    assert (clock.epoch, clock.published_epoch, clock.ends_s) == (2, 2, NETWORK.starts(3))
    now[0] = NETWORK.starts(1) + 10.0
    status = handle.status()
    assert status.clock_behind
    assert not status.running
    assert (status.items, status.exhausted) == (1, 0)
    assert repr(handle) == f"NodeHandle({handle.name})"


# --- the same work for every profile ---------------------------------------------------------------------------------


def work_of(tmp_path, name, profile, *, limits=()):
    """Everything that a draw does: each call of a function, in Python and in C, and each statement of SQL."""
    network = a_network(items=2000, epoch_length_s=EPOCH_S, most_items=2000)
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(2000)]
    with NodeStore.make(tmp_path / f"{name}.db", network, items, default_limit=30.0) as store:
        store.profile.set_dials(profile)
        for place in limits:
            store.ledger.set_limit(place, 4.5)

        def draw(epoch):
            stream = seeded_stream(1, epoch)
            publish_now(store, network.starts(epoch), network=network, stream=stream, simulation=True)

        draw(0)  # what is made once and kept is there from now on
        calls, statements = [], []
        store.database._connection().set_trace_callback(statements.append)

        def watch(frame, event, argument):
            calls.append((event, argument.__name__ if event.startswith("c_") else frame.f_code.co_name))

        gc.collect()
        gc.disable()  # it calls what others have registered with it, whenever it likes
        sys.setprofile(watch)
        try:
            draw(1)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert len(store.publications.all()) == 2
        return calls, [re.split(r"['(]", sql)[0] for sql in statements]  # without the values


@pytest.mark.slow
def test_a_draw_is_the_same_work_whatever_the_profile(tmp_path):
    """The very same calls and statements, for no items, for many, for items of dial 0, of own limits, and exhausted."""
    calls, statements = work_of(tmp_path, "empty", {})
    assert len(calls) > 100
    assert len(statements) > 8
    for name, profile, limits in (
        ("one", {7: 100}, ()),
        ("many", {n: n % 101 for n in range(1500)}, ()),
        ("silent", dict.fromkeys(range(1500), 0), ()),
        ("limited", dict.fromkeys(range(1500), 100), range(0, 40, 2)),
    ):
        assert work_of(tmp_path, name, profile, limits=limits) == (calls, statements), name


def test_a_new_sketch_is_shown_a_fixed_number_of_exchanges_after_it_was_ordered():
    """However soon the draw is done: the moment says nothing about how long it took."""
    from types import SimpleNamespace

    from hetdp.node.daemon import Daemon

    for done_after in (0, 1, 2):
        draws = SimpleNamespace(record=lambda: DrawRecord(None, ()))
        store = SimpleNamespace(peers=SimpleNamespace(traffic=Traffic), draws=draws)
        up = Uptime("boot", 5.0)
        daemon = Daemon(SimpleNamespace(store=store, network=NETWORK, folder=None, now=None, uptime=lambda up=up: up))
        shown, turns = [], [0]
        own_key = SimpleNamespace(take_found=list)
        node = SimpleNamespace(own_key=own_key, adopt=lambda sketch, to=shown: to.append(sketch))
        drawn = SimpleNamespace(done=lambda n=done_after, t=turns: t[0] >= n, result=lambda: "sketch")
        worker = SimpleNamespace(submit=lambda _work, drawn=drawn: drawn)
        seen = []
        for turn in range(3):
            turns[0] = turn
            daemon._take_over(node, worker, START)
            seen.append(len(shown))
        assert seen == [0, 0, 1]


# --- limits ----------------------------------------------------------------------------------------------------------


def test_limits_that_are_no_limits_are_refused_and_large_ones_work(store, tmp_path):
    store.profile.set_dials({1: 100})
    for limit in (1e308, 1e7, float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match="limit must be"):
            store.ledger.set_default_limit(limit)
        with pytest.raises(InvalidInput, match="limit must be"):
            store.ledger.set_limit(1, limit)
    with pytest.raises(InvalidInput, match="limit must be at most 1,000,000"):
        NodeStore.make(tmp_path / "other.db", NETWORK, ITEMS, default_limit=1e308)
    store.ledger.set_default_limit(1e6)
    store.ledger.set_limit(1, 1e6)
    assert publish_at(store, 0).epoch == 0
    assert store.profile.items()[0].limit == 1e6
    tiny = a_network(items=40, epoch_length_s=EPOCH_S, epsilon=Fraction(1, 10**15))
    with NodeStore.make(tmp_path / "tiny.db", tiny, ITEMS, default_limit=1e6) as other:
        other.profile.set_dials({1: 100})
        publish_now(other, tiny.starts(0), network=tiny)
        assert not other.profile.items()[0].exhausted


# --- pages of the list -----------------------------------------------------------------------------------------------


def test_the_list_comes_in_pages_and_can_be_searched(store):
    store.profile.set_dials({n: n for n in range(25)})
    whole = store.profile.items()
    pages = [store.profile.listing(limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [(len(items), total) for items, total in pages] == [(10, 25), (10, 25), (5, 25), (0, 25)]
    found = [item for items, _ in pages for item in items]
    assert [(item.group, item.title) for item in found] == sorted((item.group, item.title) for item in whole)
    by_place = {item.place: item for item in whole}
    fields = ("dial", "effective_dial", "published_dial", "spent", "limit", "exhausted", "item", "link")
    for item in found:
        assert [getattr(item, f) for f in fields] == [getattr(by_place[item.place], f) for f in fields]
    assert [item.place for item in store.profile.listing("item 1 EVEN", limit=50)[0]] == [10, 12, 14, 16, 18]
    assert store.profile.listing("30", limit=5) == ([], 0), "in the catalogue, not on the list"
    assert [item.place for item in store.profile.listing("item 1", group="odd", limit=2, offset=1)[0]] == [11, 13]
    assert store.profile.listing(group="nothing", limit=5) == ([], 0)
    assert store.profile.item(7).dial == 7
    assert store.profile.item(30) is store.profile.item(-1) is store.profile.item(99) is None
    assert store.profile.listed_among([3, 30, 24]) == {3, 24}


def test_counts_groups_and_what_waits(store):
    assert (store.profile.group_counts(), store.profile.waiting(5)) == ([], ([], 0))
    store.profile.set_dials({0: 100, 1: 0, 2: 50, 4: 100})
    store.ledger.set_limit(4, 1.0)
    counts = store.profile.counts()
    assert (counts.size, counts.counting, counts.exhausted) == (4, 2, 1)
    assert store.profile.group_counts() == [("even", 3), ("odd", 1)]
    publish_at(store, 0)
    assert store.profile.waiting(5) == ([], 0)
    store.profile.remove([0])
    store.ledger.set_limit(2, 0.0)
    store.profile.set_dials({4: 20, 6: 10})
    waiting, total = store.profile.waiting(3)
    seen = [(one.place, one.before, one.after, one.listed, one.exhausted) for one in waiting]
    assert seen == [(0, 100, 0, False, False), (2, 50, 0, True, True), (4, 0, 20, True, False)]
    assert total == 4
    even, odd = store.profile.groups()
    assert (even.name, even.size, even.counting, even.exhausted, even.waiting) == ("even", 3, 2, 1, 3)
    assert (odd.name, odd.size, odd.counting, odd.exhausted, odd.waiting) == ("odd", 1, 0, 0, 0)
    assert [(group.name, group.size) for group in store.profile.groups("item 4")] == [("even", 1)]
    assert len(store.profile.set_group("even", 30)) == 3
    assert dials(store) == {1: 0, 2: 30, 4: 30, 6: 30}
    assert len(store.profile.set_group("nothing", 30)) == 0
    assert store.profile.undo()
    assert dials(store) == {1: 0, 2: 50, 4: 20, 6: 10}
    assert len(store.profile.set_group(None, 0)) == 4
    with pytest.raises(InvalidInput, match="0 to 100"):
        store.profile.set_group("even", 255)
    with pytest.raises(InvalidInput, match="0 to 100"):
        store.profile.set_dials({1: 255})


def test_published_bits_of_one_item(store):
    store.profile.set_dials({9: 100})
    for epoch in range(3):
        sketch, newest = publish_at(store, epoch), store.publications.newest()
        assert (sketch.epoch, newest.epoch, newest.dials) == (epoch, epoch, {9: 100})
        assert newest.bits[9] == bool(sketch.bits[1] >> 1 & 1)
    assert [epoch for epoch, _ in store.ledger.charges(9)] == [0, 1, 2]
    assert store.ledger.charges(8) == []


def test_what_begins_like_the_search_comes_first(tmp_path):
    titles = ["A green tea", "Green", "Green tea", "Tea, green", "Greenhouse"]
    network = a_network(items=len(titles))
    items = [CatalogueItem(n, f"i{n}", title) for n, title in enumerate(titles)]
    with NodeStore.make(tmp_path / "x.db", network, items, default_limit=1.0) as store:
        assert [item.title for item in store.catalogue.search("green")] == [
            "Green",
            "Green tea",
            "Greenhouse",
            "A green tea",
            "Tea, green",
        ]
        assert store.catalogue.search("GREEN tea")[0].title == "Green tea"


def test_signs_of_patterns_are_searched_for_like_any_other(tmp_path):
    titles = ["50%! more tea", "50 more teas", "half_full", "half full"]
    items = [CatalogueItem(n, f"i{n}", title) for n, title in enumerate(titles)]
    with NodeStore.make(tmp_path / "x.db", a_network(items=4), items, default_limit=1.0) as store:
        assert [store.catalogue.places_of(text) for text in ("50%!", "%", "_", "!")] == [[0], [0], [2], [0]]


@pytest.mark.parametrize(
    ("pragma", "told"), [("user_version = 9", "version 9"), ("application_id = 5", "not the store")]
)
def test_a_file_of_another_kind_or_version_is_refused_and_left_as_it_is(store, pragma, told):
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    before = store.path.read_bytes()
    with refused(None, told, kind=DataError):
        NodeStore(store.path)
    assert store.path.read_bytes() == before
