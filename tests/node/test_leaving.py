"""Leaving: closed before anything else, consistent wherever it is broken off, nothing of the node's left behind."""

import shutil
import threading
from contextlib import closing
from functools import partial

import msgspec
import pytest
from tests.support.node_kills import changes, killed_at, moments_of
from tests.support.node_swarm import a_network

from hetdp.core.errors import DataError
from hetdp.node.catalogue_file import read_network_catalogue
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.leaving import erase_if_wanted, finish_leaving, leave_into_file, what_leaving_means
from hetdp.node.moving import move, target_of
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.folder import init_node, is_running, locked
from hetdp.node.storage.network_file import read_network
from hetdp.node.storage.parcels import open_origin
from hetdp.node.storage.passage import Passage


@pytest.fixture
def home(tmp_path):
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"i{n},Item {n}\n" for n in range(20)))
    (tmp_path / "me.csv").write_text("item\ni1\nunheard of\n")
    digest = read_network_catalogue(tmp_path / "items.csv")[1]
    (tmp_path / "n.toml").write_text(a_network(items=20, catalogue_sha256=digest, period_s=0.5).to_toml())
    settings = NodeSettings(listen="tcp://127.0.0.1:0")
    made = tmp_path / "home"
    init_node(made, network_path=tmp_path / "n.toml", profile_path=tmp_path / "me.csv", settings=settings)
    return made


def published(handle):
    now_s = handle.now()
    uptime = Uptime("boot", now_s)
    return publish(handle.store, identity=handle.identity, network=handle.network, now_s=now_s, uptime=uptime)


def test_who_has_left_draws_nothing_and_does_not_start_again(home):
    handle = NodeHandle.open(home)
    handle.leave()
    assert (handle.mode(), handle.stopping.is_set()) == ("closed", True)
    assert published(handle) is None
    with pytest.raises(DataError, match="it has left its network"):
        Daemon(handle).run()
    for change in (handle.pause, handle.resume):
        with pytest.raises(ValueError, match="The node is"):
            change()
    handle.leave()
    handle.close()
    assert not erase_if_wanted(home)
    assert home.exists()


def test_what_can_be_taken_back_is_told_and_names_no_item(home):
    handle = NodeHandle.open(home)
    published(handle)
    can, cannot = what_leaving_means(handle)
    handle.close()
    told = " ".join(can + cannot)
    assert "1 sketch)" in told
    assert "forget the last one after" in told
    assert "i1" not in told
    assert "unheard of" not in told


def test_a_running_node_sees_that_it_is_closed_and_its_folder_is_erased(home):
    ready = threading.Event()
    running = NodeHandle.open(home)
    thread = threading.Thread(target=Daemon(running, ready=lambda _address: ready.set()).run)
    thread.start()
    try:
        assert ready.wait(60)
        other = NodeHandle.open(home)
        with pytest.raises(DataError, match="must be closed before"):
            finish_leaving(home)
        other.leave(erase=True)
        other.close()
        assert finish_leaving(home) == []
    finally:
        running.stopping.set()
        thread.join(60)
        running.close()
    assert not home.exists()


def test_a_node_that_does_not_stop_is_not_erased_under_its_feet(home):
    handle = NodeHandle.open(home)
    handle.leave(erase=True)
    handle.close()
    with locked(home), pytest.raises(DataError, match="still runs: it is closed"):
        finish_leaving(home, patience_s=0.3)
    assert (home / "identity.key").exists()
    assert erase_if_wanted(home)
    assert not home.exists()
    assert finish_leaving(home) == [], "gone is done: the node erases its folder, too"


def test_two_may_erase_at_once(home):
    handle = NodeHandle.open(home)
    handle.leave(erase=True)
    handle.close()
    together, results = threading.Barrier(4), []

    def erase():
        together.wait(60)
        results.append(finish_leaving(home))

    threads = [threading.Thread(target=erase) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[]] * 4
    assert not home.exists()


def test_files_of_others_are_left_and_told(home):
    (home / "holiday.jpg").write_bytes(b"x")
    handle = NodeHandle.open(home)
    handle.leave(erase=True)
    handle.close()
    assert finish_leaving(home) == ["holiday.jpg"]
    assert [path.name for path in home.iterdir()] == ["holiday.jpg"]


@pytest.mark.slow
def test_killed_at_any_step_it_draws_nothing_and_leaving_again_finishes(home):
    """Killed before each file that is removed, and when all are."""
    with closing(NodeHandle.open(home)) as handle:
        handle.leave(erase=True)
    copy = home.parent / "copy"
    shutil.copytree(home, copy)
    moments = moments_of(partial(finish_leaving, copy), changes)
    assert not copy.exists()
    assert moments >= 6, "identity, store, settings, network, lock at least"
    for moment in range(1, moments + 1):
        shutil.copytree(home, copy)
        assert killed_at(moment, partial(finish_leaving, copy), changes)
        if (copy / "identity.key").exists() and (copy / "node.db").exists():
            with closing(NodeHandle.open(copy)) as handle:
                assert (handle.mode(), published(handle)) == ("closed", None)
        else:
            with pytest.raises(DataError):
                NodeHandle.open(copy)
        assert finish_leaving(copy) == []
        assert not copy.exists()


def test_a_node_on_its_way_is_not_erased(home):
    handle = NodeHandle.open(home)
    passage = Passage(id="1", kind="moved", at_s=1.0, where="elsewhere")
    with handle.store.database.transaction(durable=True):
        handle.store.passage.close(passage)
    with pytest.raises(DataError, match="its move to elsewhere has not ended"):
        handle.leave(erase=True)
    with handle.store.database.transaction(durable=True):
        handle.store.passage.close(msgspec.structs.replace(passage, done=True))
    handle.leave(erase=True)
    handle.close()
    assert finish_leaving(home) == []


def test_losses_go_into_a_file_that_another_network_takes(home, tmp_path, monkeypatch):
    handle = NodeHandle.open(home)
    published(handle)
    lost = handle.store.ledger.spent()
    handle.close()
    monkeypatch.setattr("hetdp.node.leaving._STOPS_WITHIN_S", 0.2)
    with locked(home), pytest.raises(DataError, match="give the same command again"):
        leave_into_file(home, tmp_path / "me.parcel", now_s=1.0)
    handle = NodeHandle.open(home)
    assert (handle.mode(), handle.store.ledger.spent()) == ("closed", lost)
    handle.close()
    leave_into_file(home, tmp_path / "me.parcel", now_s=1.0)
    assert finish_leaving(home) == []
    network = read_network(tmp_path / "n.toml")
    (tmp_path / "other.toml").write_text(msgspec.structs.replace(network, name="other").to_toml())
    with open_origin(tmp_path / "me.parcel") as origin:
        end = target_of(origin, tmp_path / "new", network_path=tmp_path / "other.toml")
        move(origin, end, now_s=2.0)
    handle = NodeHandle.open(tmp_path / "new")
    assert handle.store.ledger.spent() == lost == {1: 3.0}
    assert [item.name for item in handle.store.unknown.all()] == ["unheard of"]
    handle.close()


def test_the_store_alone_cannot_publish_under_the_key(home):
    """What is left once the key is gone: a store that nobody can open as a node."""
    handle = NodeHandle.open(home)
    handle.leave(erase=True)
    handle.close()
    (home / "identity.key").unlink()
    with pytest.raises(DataError):
        NodeHandle.open(home)
    assert not is_running(home)
    assert finish_leaving(home) == []
