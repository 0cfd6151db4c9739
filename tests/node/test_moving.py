"""Moving a node: everything comes along, losses add up, and whatever is interrupted is neither lost nor spent twice."""

import shutil
import stat
import tempfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.support.node_kills import changes, killed_at, lines_of, moments_of

from hetdp.core import files as whole_files
from hetdp.core.errors import DataError, InvalidInput
from hetdp.node import moving
from hetdp.node.handle import NodeHandle
from hetdp.node.moving import IntoNode, NewNode, ParcelFile, cancel, move, target_of
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage import bringing_along, other_charges, parcels, passage
from hetdp.node.storage.folder import init_node, locked
from hetdp.node.storage.network_file import new_network
from hetdp.node.storage.parcels import open_origin

STEPS = [moving, parcels, passage, bringing_along, other_charges, whole_files]
NOW = 2_000_000_000.0
LISTEN = NodeSettings(listen="tcp://127.0.0.1:7470")


def a_network_file(folder, name, items, epsilon, titles=None):
    rows = [f"{item},{title}\n" for item, title in zip(items, titles or items, strict=True)]
    (folder / f"{name}.csv").write_text("item,title\n" + "".join(rows))
    made = new_network(
        folder / f"{name}.toml",
        catalogue=folder / f"{name}.csv",
        epsilon=Fraction(epsilon),
        epoch_length_s=1000,
        period_s=10.0,
        name=name,
    )
    (folder / f"{name}.toml").write_text(made.to_toml())
    return made


@pytest.fixture
def world():
    """Make two networks, and a node of the first that has published three times; in memory, as disks are slow."""
    memory = Path("/dev/shm")  # noqa: S108  (made with a name that nobody knows)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        make_world(Path(name))
        yield Path(name)


def make_world(tmp_path):
    a_network_file(tmp_path, "tea", [f"i{n}" for n in range(8)], "0.5")
    a_network_file(tmp_path, "films", ["I1 ", "i2", "i4", "x1", "x2"], "0.7")
    (tmp_path / "me.csv").write_text("item,weight\ni1,1\ni2,0.5\ni3,0.25\ni4,0\n")
    init_node(tmp_path / "old", network_path=tmp_path / "tea.toml", profile_path=tmp_path / "me.csv", settings=LISTEN)
    with closing(NodeHandle.open(tmp_path / "old")) as handle:
        for epoch in range(3):
            draw(handle, epoch)
        store = handle.store
        store.ledger.set_limit(1, 2.0)
        store.ledger.set_limit(3, 4.0)
        store.profile.dismiss(4)
        with store.database.transaction(durable=True):
            store.database.execute("INSERT INTO hidden VALUES (?)", b"k" * 32)
            store.database.execute("INSERT INTO group_limits VALUES ('teas', 3.0)")
            store.unknown.keep("x1", 80, lost=30, lifetime=5.0)


def draw(handle, epoch):
    now_s = handle.network.starts(epoch) + 1.0
    return publish(
        handle.store, identity=handle.identity, network=handle.network, now_s=now_s, uptime=Uptime("boot", now_s)
    )


def move_to(source, target, **more):
    with open_origin(source) as origin:
        move(origin, target if not isinstance(target, type(source)) else target_of(origin, target, **more), now_s=NOW)


def person(folder):
    """Return what a node knows of its owner, by item."""
    with closing(NodeHandle.open(folder)) as handle:
        store = handle.store
        names = dict(store.database.rows("SELECT place, item FROM catalogue"))
        return {
            "dials": {item.item: item.dial for item in store.profile.items()},
            "lost": {names[place]: steps for place, steps in enumerate(store.database.array("lost").tolist()) if steps},
            "limits": dict(store.database.rows("SELECT item, epsilon FROM limits JOIN catalogue USING (place)")),
            "dismissed": {names[place] for place in store.profile.dismissed()},
            "hidden": store.database.rows("SELECT key FROM hidden"),
            "groups": store.database.rows("SELECT * FROM group_limits"),
            "unknown": sorted(store.database.rows("SELECT name, dial, lost, lifetime FROM unknown")),
        }


def is_open(folder):
    """Return whether a node could draw in a folder."""
    if not folder.exists():
        return False
    with closing(NodeHandle.open(folder)) as handle:
        return handle.store.mode.get() != "closed"


def test_within_a_network_everything_comes_along(world):
    before = person(world / "old")
    old_key, old_files = (world / "old" / "identity.key").read_bytes(), {p.name for p in (world / "old").iterdir()}
    move_to(world / "old", world / "new")
    assert person(world / "new") == before
    assert (world / "new" / "identity.key").read_bytes() == old_key
    assert old_files <= {path.name for path in (world / "new").iterdir()}
    assert stat.S_IMODE((world / "new").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (world / "new").iterdir()} == {0o600}
    with closing(NodeHandle.open(world / "new")) as handle:
        assert draw(handle, 2).epoch == 2, "what was drawn is shown, and not drawn again"
        assert handle.store.publications.newest_epoch() == 2
        assert handle.store.events.all()[0].kind == "moved_here"
        assert not handle.store.other_charges.repair(handle.store.events, now_s=NOW)
        draw(handle, 3)
    assert person(world / "new")["lost"]["i1"] == 400


def test_a_closed_node_does_not_run_or_publish_and_says_where_it_went(world):
    move_to(world / "old", world / "new")
    with closing(NodeHandle.open(world / "old")) as handle:
        with pytest.raises(DataError, match=r"closed: it has moved to the folder .*/new\. Run it there"):
            handle.check_open()
        assert draw(handle, 3).epoch == 2
    move_to(world / "old", world / "new")  # nothing to do
    with pytest.raises(DataError, match=r"moves to one place only"):
        move_to(world / "old", world / "elsewhere")
    with pytest.raises(DataError, match="must have begun and not ended"), open_origin(world / "old") as origin:
        cancel(origin)


def test_in_another_network_losses_are_converted_and_rounded_up(world):
    """0.5 to 0.7: 300 hundredths become 215 (214.3), 150 become 108, 75 of what is unknown become 54, 30 become 22."""
    move_to(world / "old", world / "new", network_path=world / "films.toml")
    assert person(world / "new") == {
        "dials": {"I1": 100, "i2": 50, "i4": 0, "x1": 80},
        "lost": {"I1": 215, "i2": 108, "x1": 22},
        "limits": {"I1": 2.0, "x1": 5.0},
        "dismissed": {"i4"},
        "hidden": [(b"k" * 32,)],
        "groups": [("teas", 3.0)],
        "unknown": [("i3", 25, 54, 4.0)],
    }
    assert (world / "new" / "identity.key").read_bytes() != (world / "old" / "identity.key").read_bytes()
    with closing(NodeHandle.open(world / "new")) as handle:
        assert handle.store.publications.newest_epoch() is None
        assert not handle.store.other_charges.repair(handle.store.events, now_s=NOW)
        draw(handle, 0)
        assert handle.store.publications.newest().dials == {1: 50, 3: 80}, "I1 has no room left: 2.15 * 0.7 + 0.7 > 2"


def test_into_a_node_that_exists_losses_add_and_what_is_stricter_counts(world):
    (world / "you.csv").write_text("item,weight\nI1,0.2\ni2,1\nx2,1\n")
    init_node(world / "there", network_path=world / "films.toml", profile_path=world / "you.csv", settings=LISTEN)
    with closing(NodeHandle.open(world / "there")) as handle:
        draw(handle, 0)
        handle.store.ledger.set_limit(0, 1.5)
        handle.store.ledger.set_default_limit(6.0)
    with closing(NodeHandle.open(world / "old")) as handle:
        handle.store.ledger.set_default_limit(5.0)
    key = (world / "there" / "identity.key").read_bytes()
    move_to(world / "old", world / "there")
    move_to(world / "old", world / "there")  # once is enough
    found = person(world / "there")
    assert found["dials"] == {"I1": 20, "i2": 50, "i4": 0, "x1": 80, "x2": 100}
    assert found["lost"] == {"I1": 20 + 215, "i2": 100 + 108, "x1": 22, "x2": 100}
    assert found["limits"] == {"I1": 1.5, "x1": 5.0}
    assert (world / "there" / "identity.key").read_bytes() == key
    with closing(NodeHandle.open(world / "there")) as handle:
        assert handle.store.ledger.default_limit() == 5.0
        assert not handle.store.other_charges.repair(handle.store.events, now_s=NOW)
    assert not is_open(world / "old")


def test_a_parcel_opens_once(world):
    before = person(world / "old")
    move_to(world / "old", ParcelFile(world / "me.parcel"))
    assert stat.S_IMODE((world / "me.parcel").stat().st_mode) == 0o600
    assert [path.name for path in world.iterdir() if path.name.startswith((".me", "me.parcel-"))] == []
    shutil.copy(world / "me.parcel", world / "copy.parcel")
    move_to(world / "me.parcel", world / "new", settings={"listen": "tcp://127.0.0.1:7471"})
    assert person(world / "new") == before
    assert "7471" in (world / "new" / "node.toml").read_text()
    with pytest.raises(DataError, match="one place only"):
        move_to(world / "me.parcel", world / "second")
    move_to(world / "me.parcel", world / "new")  # nothing to do
    with pytest.raises(DataError, match="must not exist yet"):
        move_to(world / "copy.parcel", world / "new")  # the same, carried twice
    assert person(world / "new") == before


def test_a_parcel_that_is_not_done_cannot_be_received(world, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(ParcelFile, "finish", lambda *_, **__: None)
        move_to(world / "old", ParcelFile(world / "me.parcel"))
    with pytest.raises(DataError, match="has not ended; give the same"):
        move_to(world / "me.parcel", world / "new")
    move_to(world / "old", ParcelFile(world / "me.parcel"))
    move_to(world / "me.parcel", world / "new")
    assert is_open(world / "new")


def test_a_parcel_as_the_store_of_a_node_does_not_run(world):
    init_node(world / "new", network_path=world / "tea.toml", settings=LISTEN)
    move_to(world / "old", ParcelFile(world / "me.parcel"))
    shutil.copy(world / "me.parcel", world / "new" / "node.db")
    with closing(NodeHandle.open(world / "new")) as handle, pytest.raises(DataError, match="`hetdp node receive`"):
        handle.check_open()


def test_a_mode_comes_along(world):
    with closing(NodeHandle.open(world / "old")) as handle, handle.store.database.transaction(durable=True):
        handle.store.mode.set("paused")
    move_to(world / "old", ParcelFile(world / "me.parcel"))
    move_to(world / "me.parcel", world / "new")
    with closing(NodeHandle.open(world / "new")) as handle:
        assert handle.store.mode.get() == "paused"


def test_what_cannot_work_is_refused_before_anything_changes(world):
    init_node(world / "there", network_path=world / "films.toml", settings=LISTEN)
    (world / "taken").mkdir()
    shutil.copytree(world / "old", world / "copy")
    cases = {
        "must not exist yet": NewNode(world / "taken"),
        "outside of the old one": NewNode(world / "old" / "inner"),
        "copy of the same": IntoNode(world / "copy"),
        "must be new": ParcelFile(world / "me.csv"),
        "outside of the node's folder": ParcelFile(world / "old" / "me.parcel"),
        "a folder that exists": ParcelFile(world / "nowhere" / "me.parcel"),
        "IP address": NewNode(world / "new", settings={"advertise": "tcp://some.name:7470"}),
        "must be readable": NewNode(world / "new", network_path=world / "nowhere.toml"),
    }
    for words, target in cases.items():
        with pytest.raises(InvalidInput, match=words):
            move_to(world / "old", target)
        assert is_open(world / "old"), words
    with locked(world / "there"), pytest.raises(DataError, match="only one node may run"):
        move_to(world / "old", world / "there")
    with locked(world / "old"), pytest.raises(DataError, match="only one node may run"):
        move_to(world / "old", world / "new")
    with pytest.raises(DataError, match="those of the node that is there"):
        move_to(world / "old", world / "there", network_path=world / "tea.toml")
    with pytest.raises(DataError, match="a file that holds one"):
        move_to(world / "nowhere", world / "new")
    with pytest.raises(DataError, match="another file"):
        move_to(world / "me.csv", world / "new")
    assert is_open(world / "old")


def test_a_move_that_has_not_ended_can_go_elsewhere_or_be_cancelled(world, monkeypatch):
    before = person(world / "old")

    def no_room(*_, **__):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(moving, "unpack", no_room)
        with pytest.raises(DataError, match="Got: no room"):
            move_to(world / "old", world / "full")
    assert not is_open(world / "old")
    with (
        closing(NodeHandle.open(world / "old")) as handle,
        pytest.raises(DataError, match="or `hetdp node move --cancel`"),
    ):
        handle.check_open()
    with open_origin(world / "old") as origin:
        cancel(origin)
    assert is_open(world / "old")
    with monkeypatch.context() as patch:
        patch.setattr(moving, "settle", no_room)
        with pytest.raises(DataError, match="no room"):
            move_to(world / "old", world / "full")
    move_to(world / "old", world / "new")
    assert person(world / "new") == before
    assert not (world / "full").exists()


@pytest.mark.parametrize("existing", [False, True])
def test_the_limit_of_all_items_does_not_grow_by_moving(world, existing):
    """Of a node with a limit of 2 epochs of 0.5, in its settings only, to a network of 0.7 where ten are usual."""
    settings = (world / "old" / "node.toml").read_text().replace("lifetime_epochs = 10.0", "lifetime_epochs = 2.0")
    (world / "old" / "node.toml").write_text(settings)
    with closing(NodeHandle.open(world / "old")) as handle:
        assert handle.store.ledger.default_limit() == 1.0
    if existing:
        init_node(world / "new", network_path=world / "films.toml", settings=LISTEN)
        with closing(NodeHandle.open(world / "new")) as handle:
            handle.store.ledger.set_limit(1, 6.0)  # i2, which has no limit of its own at the source
        move_to(world / "old", world / "new")
        assert person(world / "new")["limits"] == {"I1": 2.0, "i2": 1.0, "x1": 5.0}
    else:
        move_to(world / "old", world / "new", network_path=world / "films.toml")
    with closing(NodeHandle.open(world / "new")) as handle:
        assert handle.store.ledger.default_limit() == 1.0
        (world / "new" / "node.toml").write_text("lifetime_epochs = 20.0\n")
    with closing(NodeHandle.open(world / "new")) as handle:
        assert handle.store.ledger.default_limit() == 1.0


def test_a_limit_of_one_item_is_not_raised_beyond_that_of_all_in_a_node_that_exists(world):
    init_node(world / "there", network_path=world / "films.toml", settings=LISTEN)
    with closing(NodeHandle.open(world / "there")) as handle:
        handle.store.ledger.set_default_limit(3.0)
    with closing(NodeHandle.open(world / "old")) as handle:
        handle.store.ledger.set_default_limit(9.0)
    move_to(world / "old", world / "there")
    found = person(world / "there")
    assert found["limits"] == {"I1": 2.0, "x1": 3.0}
    assert found["unknown"] == [("i3", 25, 54, 3.0)]
    with closing(NodeHandle.open(world / "there")) as handle:
        assert handle.store.ledger.default_limit() == 3.0


def test_what_every_item_has_paid_comes_along_to_items_that_the_source_does_not_know(world):
    """800 hundredths of 0.5 are 572 of 0.7; 300 beyond them are 215, as without."""
    with closing(NodeHandle.open(world / "old")) as handle, handle.store.database.transaction(durable=True):
        handle.store.other_charges.add("restored", "restored", every=800)
    move_to(world / "old", world / "new", network_path=world / "films.toml")
    found = person(world / "new")
    assert found["lost"] == {"I1": 572 + 215, "i2": 572 + 108, "i4": 572, "x1": 572 + 22, "x2": 572}
    assert found["unknown"] == [("i3", 25, 54, 4.0)], "it begins with what every item has paid, should it come"
    with closing(NodeHandle.open(world / "new")) as handle:
        assert handle.store.other_charges.of_every_item() == 572
        assert not handle.store.other_charges.repair(handle.store.events, now_s=NOW)


def test_two_items_that_are_one_at_the_target_have_both_paid(tmp_path):
    a_network_file(tmp_path, "two", ["a", "b"], "1", titles=["Tea", "TEA"])
    a_network_file(tmp_path, "one", ["Tea", "x"], "1")
    init_node(tmp_path / "old", network_path=tmp_path / "two.toml", settings=LISTEN)
    with closing(NodeHandle.open(tmp_path / "old")) as handle, handle.store.database.transaction(durable=True):
        handle.store.other_charges.add("restored", "restored", every=100)
    move_to(tmp_path / "old", tmp_path / "new", network_path=tmp_path / "one.toml")
    assert person(tmp_path / "new")["lost"] == {"Tea": 200, "x": 100}


def test_the_label_counts_what_was_spent_elsewhere(world):
    def spent(folder):
        with closing(NodeHandle.open(folder)) as handle:
            label = handle.label()
            assert label.spending is not None
            assert "Nothing has been spent yet" not in label.text
            return label.spending.spent

    assert spent(world / "old") == 1.5
    with closing(NodeHandle.open(world / "old")) as handle, handle.store.database.transaction(durable=True):
        handle.store.other_charges.add("restored", "restored", every=800)
    assert spent(world / "old") == 5.5
    move_to(world / "old", world / "new", network_path=world / "films.toml")
    assert spent(world / "new") == pytest.approx(0.7 * (5.72 + 2.15))
    with closing(NodeHandle.open(world / "new")) as handle:
        draw(handle, 0)
        assert max(handle.store.ledger.spent().values()) <= spent(world / "new")


def test_where_a_name_fits_several_items_each_has_lost(tmp_path):
    a_network_file(tmp_path, "one", ["Tea"], "1")
    a_network_file(tmp_path, "two", ["t1", "t2", "t3"], "1", titles=["TEA", "tea", "Coffee"])
    (tmp_path / "me.csv").write_text("item\nTea\n")
    init_node(tmp_path / "old", network_path=tmp_path / "one.toml", profile_path=tmp_path / "me.csv", settings=LISTEN)
    with closing(NodeHandle.open(tmp_path / "old")) as handle:
        draw(handle, 0)
    move_to(tmp_path / "old", tmp_path / "new", network_path=tmp_path / "two.toml")
    found = person(tmp_path / "new")
    assert found["lost"] == {"t1": 100, "t2": 100}
    assert found["dials"] == {}
    assert found["unknown"] == [("Tea", 100, 100, None)], "what a later version brings may be it, too"


def test_what_has_no_room_on_the_list_waits_with_its_losses_charged(world):
    made = a_network_file(world, "small", [f"i{n}" for n in range(8)], "0.5")
    small = msgspec.structs.replace(made, most_items=2)
    (world / "small.toml").write_text(small.to_toml())
    move_to(world / "old", world / "new", network_path=world / "small.toml")
    found = person(world / "new")
    assert found["dials"] == {"i1": 100, "i2": 50}
    assert found["lost"] == {"i1": 300, "i2": 150, "i3": 75}
    assert found["unknown"] == [("i3", 25, 0, 4.0), ("i4", 0, 0, None), ("x1", 80, 30, 5.0)]


def test_the_same_id_for_another_thing_is_not_guessed(tmp_path):
    """Both networks number their items; what was 1 there is 2 here, and either may be what was published."""
    a_network_file(tmp_path, "one", ["1"], "1", titles=["Dune"])
    a_network_file(tmp_path, "two", ["1", "2", "3"], "1", titles=["Brazil", "DUNE", "Alien"])
    (tmp_path / "me.csv").write_text("item\n1\n")
    init_node(tmp_path / "old", network_path=tmp_path / "one.toml", profile_path=tmp_path / "me.csv", settings=LISTEN)
    with closing(NodeHandle.open(tmp_path / "old")) as handle:
        draw(handle, 0)
    move_to(tmp_path / "old", tmp_path / "new", network_path=tmp_path / "two.toml")
    found = person(tmp_path / "new")
    assert found["lost"] == {"1": 100, "2": 100}
    assert found["dials"] == {}


def copied(world, name):
    shutil.copytree(world / "old", world / name)
    return world / name


WAYS = {
    "a folder": lambda world: lambda: move_to(world / "a", world / "new"),
    "a network": lambda world: lambda: move_to(world / "a", world / "new", network_path=world / "films.toml"),
    "a node": lambda world: lambda: move_to(world / "a", world / "there"),
    "a parcel": lambda world: lambda: move_to(world / "a", ParcelFile(world / "new.parcel")),
    "from a parcel": lambda world: lambda: move_to(world / "b.parcel", world / "new"),
}


def a_fresh_start(world, way):
    """Put everything back to where a move begins."""
    for name in ("a", "new", "there", "b"):
        shutil.rmtree(world / name, ignore_errors=True)
    for path in [*world.glob("*.parcel*"), *world.glob(".new*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    copied(world, "a")
    if way == "a node":
        shutil.copytree(world / "prepared", world / "there")
    if way == "from a parcel":
        move_to(copied(world, "b"), ParcelFile(world / "b.parcel"))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_move_killed_at_any_moment_loses_nothing_and_spends_nothing_twice(world, way, pytestconfig):
    """The same command ends it; at no time are source and target both open."""
    init_node(world / "prepared", network_path=world / "films.toml", settings=LISTEN)
    action = WAYS[way](world)
    source = world / ("b.parcel" if way == "from a parcel" else "a")
    end = world / ("there" if way == "a node" else "new")
    a_fresh_start(world, way)
    watch = lines_of(STEPS) if pytestconfig.getoption("exhaustive") else changes
    moments = moments_of(action, watch)
    assert moments >= 4
    if way == "a parcel":
        move_to(world / "new.parcel", end)
    expected = person(end)
    assert expected["lost"]
    for moment in range(1, moments + 1):
        a_fresh_start(world, way)
        there = person(end) if way == "a node" else None
        assert killed_at(moment, action, watch), moment
        if way == "a node":
            assert not (is_open(world / "a") and person(end) != there), moment
        elif way != "from a parcel":
            assert not (is_open(source) and is_open(end)), moment
        action()
        if way == "a parcel":
            move_to(world / "new.parcel", end)
        assert person(end) == expected, moment
        assert is_open(end)
        with closing(NodeHandle.open(end)) as handle:
            assert np.array_equal(handle.store.other_charges.recomputed(), handle.store.database.array("lost"))
        left = [path.name for path in world.iterdir() if path.name.startswith(".")]
        assert left == [], moment
