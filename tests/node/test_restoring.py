"""Backups hold a whole node; who restores one pays for every epoch since, and draws none of them."""

import shutil
import stat
import tempfile
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.node_kills import changes, killed_at, lines_of, moments_of

from hetdp.core import files as whole_files
from hetdp.core.errors import DataError
from hetdp.node import restoring
from hetdp.node.handle import NodeHandle
from hetdp.node.moving import IntoNode, NewNode, begin_move, move
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.restoring import Restored, back_up, restore
from hetdp.node.settings import NodeSettings
from hetdp.node.storage import other_charges, parcels, passage
from hetdp.node.storage.folder import init_node, locked
from hetdp.node.storage.network_file import new_network, read_network
from hetdp.node.storage.parcels import open_origin

LISTEN = NodeSettings(listen="tcp://127.0.0.1:7470", lifetime_epochs=20)
STEPS = [restoring, parcels, passage, other_charges, whole_files]


@pytest.fixture
def world():
    """Make a network of 8 items and a node that has published in epochs 0 and 1; in memory, as disks are slow."""
    memory = Path("/dev/shm")  # noqa: S108  (made with a name that nobody knows)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        (folder / "tea.csv").write_text("item\n" + "".join(f"i{n}\n" for n in range(8)))
        network = new_network(
            folder / "tea.toml", catalogue=folder / "tea.csv", epsilon=Fraction(1), epoch_length_s=1000, period_s=10.0
        )
        (folder / "tea.toml").write_text(network.to_toml())
        (folder / "me.csv").write_text("item,weight\ni1,1\ni2,0.5\n")
        init_node(folder / "old", network_path=folder / "tea.toml", profile_path=folder / "me.csv", settings=LISTEN)
        draw(folder / "old", 0)
        draw(folder / "old", 1)
        yield folder


def at(world, epoch):
    return read_network(world / "tea.toml").starts(epoch) + 500.0


def draw(folder, epoch):
    with closing(NodeHandle.open(folder)) as handle:
        now_s = handle.network.starts(epoch) + 500.0
        publish(
            handle.store, identity=handle.identity, network=handle.network, now_s=now_s, uptime=Uptime("boot", now_s)
        )


def lost(folder):
    with closing(NodeHandle.open(folder)) as handle:
        assert not handle.store.other_charges.repair(handle.store.events, now_s=0.0)
        return handle.store.database.array("lost").tolist()


def drawn(folder):
    with closing(NodeHandle.open(folder)) as handle:
        return handle.store.database.rows("SELECT epoch, why FROM drawn ORDER BY epoch")


def mode(folder):
    with closing(NodeHandle.open(folder)) as handle:
        return handle.store.mode.get()


def test_a_restored_node_pays_for_every_epoch_since_at_full_weight_for_every_item(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))
    draw(world / "old", 2)  # the backup does not know of it
    assert stat.S_IMODE((world / "me.backup").stat().st_mode) == 0o600
    found = restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 5))
    assert found == Restored(first=1, last=5, charged=4)
    assert lost(world / "new") == [400, 600, 500, 400, 400, 400, 400, 400]
    assert drawn(world / "new") == [(0, "published"), (1, "published"), *((epoch, "restored") for epoch in range(2, 6))]
    draw(world / "new", 5)
    assert lost(world / "new")[1] == 600, "an epoch that was paid for is not drawn"
    draw(world / "new", 6)
    assert lost(world / "new") == [400, 700, 550, 400, 400, 400, 400, 400]
    assert (world / "new" / "identity.key").read_bytes() == (world / "old" / "identity.key").read_bytes()
    with closing(NodeHandle.open(world / "new")) as handle:
        (event,) = handle.store.events.all()
        assert (event.kind, event.detail) == ("restored", {"epochs": 4})
    assert stat.S_IMODE((world / "new").stat().st_mode) == 0o700


def test_an_epoch_that_the_backup_was_made_in_is_paid_for_unless_it_had_been_drawn(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 2))
    found = restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 2) + 1)
    assert found == Restored(first=2, last=2, charged=1)


def test_a_node_that_has_never_drawn_pays_from_when_it_was_made(world, monkeypatch):
    """Not from the first epoch of a network that may be many years old."""
    monkeypatch.setattr("hetdp.node.storage.store.time.time", lambda: at(world, 50))
    init_node(world / "young", network_path=world / "tea.toml", settings=LISTEN)
    monkeypatch.undo()
    back_up(world / "young", world / "file", now_s=at(world, 51))
    assert restore(world / "file", world / "new", settings={}, now_s=at(world, 52)).charged == 3


def test_limits_apply_to_what_was_restored(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))
    restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 25))
    draw(world / "new", 26)
    assert lost(world / "new") == [2400, 2600, 2500, 2400, 2400, 2400, 2400, 2400], "the limit of 20 is spent"


def test_a_dry_run_leaves_nothing(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))
    before = sorted(path.name for path in world.iterdir())
    found = restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 5), dry_run=True)
    assert found.charged == 4
    assert sorted(path.name for path in world.iterdir()) == before
    restore(world / "old", world / "new", settings={}, now_s=at(world, 5), dry_run=True)
    assert mode(world / "old") == "open"


def test_a_backup_is_restored_again_and_again_and_never_runs_itself(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))
    (world / "me.backup").chmod(0o400)
    content = (world / "me.backup").read_bytes()
    for name in ("one", "two"):
        restore(world / "me.backup", world / name, settings={"listen": "tcp://127.0.0.1:7999"}, now_s=at(world, 3))
        assert "7999" in (world / name / "node.toml").read_text()
    assert (world / "me.backup").read_bytes() == content
    shutil.copy(world / "me.backup", world / "one" / "node.db")
    with closing(NodeHandle.open(world / "one")) as handle, pytest.raises(DataError, match="it is a backup"):
        handle.check_open()


def test_a_copy_of_a_folder_pays_from_its_last_sketch_on_and_is_closed(world):
    shutil.copytree(world / "old", world / "copy")
    assert restore(world / "copy", world / "new", settings={}, now_s=at(world, 4)) == Restored(2, 4, 3)
    assert (mode(world / "copy"), mode(world / "new")) == ("closed", "open")
    assert restore(world / "copy", world / "again", settings={}, now_s=at(world, 4)) == Restored(2, 4, 3)
    init_node(world / "idle", network_path=world / "tea.toml", settings=LISTEN)
    assert restore(world / "idle", world / "other", settings={}, now_s=at(world, 1)) == Restored(0, 1, 2)


def test_a_backup_proves_nothing_beyond_its_last_sketch(world):
    """A clock that was ahead, or a copy that was old when it was backed up, must not launder what was drawn since."""
    back_up(world / "old", world / "ahead.backup", now_s=at(world, 5))  # it is epoch 1
    for epoch in range(2, 7):
        draw(world / "old", epoch)
    found = restore(world / "ahead.backup", world / "new", settings={}, now_s=at(world, 6))
    assert found == Restored(first=2, last=6, charged=5)
    assert lost(world / "new")[1] == lost(world / "old")[1] == 700
    shutil.copytree(world / "old", world / "copy")
    draw(world / "old", 7)
    back_up(world / "copy", world / "late.backup", now_s=at(world, 9))
    assert restore(world / "late.backup", world / "other", settings={}, now_s=at(world, 9)) == Restored(7, 9, 3)


def test_a_clock_that_was_behind_at_the_restore_is_paid_for_at_the_first_draw(world):
    """Lost in epoch 10, restored by a clock that says 4: the first draw, in epoch 14, pays for all that is between."""
    back_up(world / "old", world / "file", now_s=at(world, 1))
    for epoch in range(2, 11):
        draw(world / "old", epoch)
    restore(world / "file", world / "new", settings={}, now_s=at(world, 4))
    assert lost(world / "new")[1] == 500
    draw(world / "new", 14)
    assert lost(world / "new")[:3] == [1200, 1500, 1350], "epochs 2 to 13 at full weight, and what the node has drawn"
    draw(world / "new", 16)
    assert lost(world / "new")[:3] == [1200, 1600, 1400], "from then on the node knows what it has done"


def test_a_sketch_drawn_ahead_of_its_time_proves_nothing(world):
    draw(world / "old", 6)  # the clock is ahead
    with closing(NodeHandle.open(world / "old")) as handle:  # and is put right; an epoch length has passed
        draws = handle.network.starts(2) + 500.0
        uptime = Uptime("boot", handle.network.starts(9))
        publish(handle.store, identity=handle.identity, network=handle.network, now_s=draws, uptime=uptime)
        assert handle.store.publications.newest_epoch() == 2
    back_up(world / "old", world / "me.backup", now_s=at(world, 2))
    found = restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 7))
    assert found == Restored(first=2, last=7, charged=4), "epochs 3, 4, 5 and 7"
    shutil.copytree(world / "old", world / "copy")
    assert restore(world / "copy", world / "other", settings={}, now_s=at(world, 7)) == Restored(3, 7, 4)


def test_a_node_that_has_moved_away_is_restored_but_not_backed_up(world):
    with open_origin(world / "old") as origin:
        move(origin, NewNode(world / "there"), now_s=at(world, 1))
    draw(world / "there", 2)
    with pytest.raises(DataError, match="must be of a node that is in use"):
        back_up(world / "old", world / "me.backup", now_s=at(world, 4))
    assert restore(world / "old", world / "new", settings={}, now_s=at(world, 4)).charged == 3


def test_a_node_that_went_into_another_network_or_node_is_not_restored(world):
    shutil.copytree(world / "old", world / "second")
    other = new_network(
        world / "films.toml", catalogue=world / "tea.csv", epsilon=Fraction(3), epoch_length_s=100, period_s=10.0
    )
    (world / "films.toml").write_text(other.to_toml())
    init_node(world / "joined", network_path=world / "tea.toml", settings=LISTEN)
    for source, target in (
        ("old", NewNode(world / "films", world / "films.toml")),
        ("second", IntoNode(world / "joined")),
    ):
        with open_origin(world / source) as origin:
            begin_move(origin, target, now_s=at(world, 1))
        with pytest.raises(DataError, match="a node on its way cannot be restored"):
            restore(world / source, world / "new", settings={}, now_s=at(world, 2))
        with open_origin(world / source) as origin:
            move(origin, target, now_s=at(world, 1))
        with pytest.raises(DataError, match=r"has moved to .*Use that one, or a backup of it"):
            restore(world / source, world / "new", settings={}, now_s=at(world, 2))
    assert not (world / "new").exists()
    back_up(world / "films", world / "films.backup", now_s=at(world, 1))
    assert restore(world / "films.backup", world / "new", settings={}, now_s=at(world, 1)).charged > 0


def test_a_paused_node_stays_paused(world):
    with closing(NodeHandle.open(world / "old")) as handle, handle.store.database.transaction(durable=True):
        handle.store.mode.set("paused")
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))
    restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 2))
    assert mode(world / "new") == "paused"


def test_what_cannot_work_is_refused(world):
    back_up(world / "old", world / "me.backup", now_s=at(world, 3))
    with pytest.raises(DataError, match="must be new"):
        back_up(world / "old", world / "me.backup", now_s=at(world, 3))
    with pytest.raises(DataError, match="outside of the node's folder"):
        back_up(world / "old", world / "old" / "me.backup", now_s=at(world, 3))
    with pytest.raises(DataError, match="the clock must be later than the backup"):
        restore(world / "me.backup", world / "new", settings={}, now_s=at(world, 2))
    with pytest.raises(DataError, match="must not exist yet"):
        restore(world / "me.backup", world / "old", settings={}, now_s=at(world, 4))
    with pytest.raises(DataError, match="or a file that holds one"):
        restore(world / "nowhere", world / "new", settings={}, now_s=at(world, 4))
    with locked(world / "old"), pytest.raises(DataError, match="only one node may run"):
        restore(world / "old", world / "new", settings={}, now_s=at(world, 4))
    whole = (world / "me.backup").read_bytes()
    (world / "half.backup").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError):
        restore(world / "half.backup", world / "new", settings={}, now_s=at(world, 4))
    assert sorted(path.name for path in world.iterdir() if path.name.startswith((".", "new"))) == []


def test_a_backup_of_a_node_that_writes_is_of_one_moment(world):
    """A thread draws epoch after epoch meanwhile: losses and sketches of each backup must agree."""
    stopping, epoch = threading.Event(), 2

    def keep_drawing():
        nonlocal epoch
        while not stopping.is_set():
            draw(world / "old", epoch)
            epoch += 1

    thread = threading.Thread(target=keep_drawing)
    thread.start()
    try:
        for number in range(10):
            back_up(world / "old", world / f"{number}.backup", now_s=at(world, 0))
    finally:
        stopping.set()
        thread.join()
    for number in range(10):
        restore(world / f"{number}.backup", world / f"new{number}", settings={}, now_s=at(world, 0))
        assert lost(world / f"new{number}")[3] == 0
    assert epoch > 3


@pytest.mark.slow
@pytest.mark.parametrize("source", ["me.backup", "copy"])
def test_a_restore_killed_at_any_moment_can_be_given_again(world, source, pytestconfig):
    back_up(world / "old", world / "me.backup", now_s=at(world, 1))

    def again():
        for path in (world / "copy", world / "new"):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(world / "old", world / "copy")

    def action():
        return restore(world / source, world / "new", settings={}, now_s=at(world, 4))

    again()
    watch = lines_of(STEPS) if pytestconfig.getoption("exhaustive") else changes
    moments = moments_of(action, watch)
    assert moments >= 4
    for moment in range(1, moments + 1):
        again()
        assert killed_at(moment, action, watch), moment
        if not (world / "new").exists():
            assert action().charged == 3, moment
        assert lost(world / "new") == [300, 500, 400, 300, 300, 300, 300, 300], moment
        assert mode(world / "new") == "open"
        assert source == "me.backup" or mode(world / "copy") == "closed"
