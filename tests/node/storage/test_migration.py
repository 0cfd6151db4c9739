"""Files of earlier versions open and hold the same; those of later ones are refused; a change of format is whole."""

import dataclasses
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hetdp.core.errors import DataError
from hetdp.core.sqlite import Format
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.who_counts import Counted
from hetdp.node.publication import publish
from hetdp.node.storage.database import FORMAT, Database
from hetdp.sketching.bits import unpack

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
#: A format that does not exist: one more table, which a step fills from what is there.
NEXT = "CREATE TABLE later (place INTEGER, dial INTEGER)"


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a node that hetdp 0.1.0 has written."""
    with tarfile.open(FORMATS / "version-0.1.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "node").chmod(0o700)
    return tmp_path / "node"


@pytest.fixture
def folder_3(tmp_path):
    """Return the folder of a node whose store has format 3."""
    with tarfile.open(FORMATS / "node-3.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "node").chmod(0o700)
    return tmp_path / "node"


def step(connection):
    connection.execute(NEXT)
    connection.execute("INSERT INTO later SELECT place, 7 FROM catalogue")


def later(change=step):
    return Format(FORMAT.name, FORMAT.version + 1, NEXT, steps={**FORMAT.steps, FORMAT.version: change})


def whole_content(path):
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def set_version(path, version):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def plain(value):
    """Return a value as JSON would give it back."""
    return json.loads(json.dumps(value, default=dataclasses.asdict))


def _but(fields, later):
    """Return fields without one that came later, and that says nothing yet."""
    assert not fields.pop(later)
    return fields


def all_that_is_read(folder):
    handle = NodeHandle.open(folder)
    store = handle.store
    try:
        newest = store.publications.newest()
        return {
            "bans": sorted([key.hex(), until_s] for key, until_s in store.peers.bans().items()),
            "charges": store.ledger.all_charges(),
            "default_limit": store.ledger.default_limit(),
            "default_limit_chosen": store.ledger.default_limit_chosen(),
            "dismissed": sorted(store.profile.dismissed()),
            "effective_dials": sorted(store.ledger.effective_dials().items()),
            "group_counts": store.profile.group_counts(),
            "groups": sorted({item.group for item in store.catalogue.search("", limit=1000)} - {""}),
            "newest_bits": np.flatnonzero(newest.bits).tolist(),
            "newest_dials": sorted(newest.dials.items()),
            "peers": [dataclasses.asdict(peer) for peer in store.peers.known()],
            "profile": [_but(dataclasses.asdict(item), "retired") for item in store.profile.items()],
            "profile_version": store.profile.version(),
            "publications": [dataclasses.astuple(one) for one in store.publications.all()],
            "sketch_keys": sorted(sketch.key.hex() for sketch in store.peers.sketches()),
            "spent": sorted(store.ledger.spent().items()),
            "traffic": dataclasses.asdict(store.peers.traffic()),
            "traffic_history": store.peers.traffic_history(),
            "waiting": [dataclasses.asdict(one) for one in store.profile.waiting(100)[0]],
        }
    finally:
        handle.close()


def test_a_folder_of_version_0_1_opens_and_holds_the_same(folder):
    expected = json.loads((FORMATS / "version-0.1.json").read_text())["node"]
    assert plain(all_that_is_read(folder)) == expected
    assert plain(all_that_is_read(folder)) == expected, "also the second time"


def test_a_store_of_format_3_opens_and_holds_the_same(folder_3):
    expected = json.loads((FORMATS / "node-3.json").read_text())
    crowd = expected.pop("crowd")
    for _ in range(2):
        assert plain(all_that_is_read(folder_3)) == expected
    with closing(NodeHandle.open(folder_3)) as handle:
        counted = handle.store.crowd.counted(0)
    assert sorted([one.key.hex(), one.epoch, one.host, one.reached] for one in counted) == crowd


@pytest.mark.parametrize(("made", "epochs"), [("folder", [0, 1]), ("folder_3", [0, 1, 5])])
def test_a_store_from_before_knows_what_it_has_drawn_and_lost(made, epochs, request):
    with closing(NodeHandle.open(request.getfixturevalue(made))) as handle:
        store = handle.store
        assert store.database.rows("SELECT epoch, why FROM drawn") == [(epoch, "published") for epoch in epochs]
        draws = store.database.rows("SELECT draw FROM publications ORDER BY epoch")
        assert [draw for (draw,) in draws] == [number + 1 for number in range(len(epochs))]
        assert store.mode.get() == "open"
        assert not store.other_charges.repair(store.events, now_s=0.0), "losses are the sum of what was published"


@pytest.mark.parametrize("kind", ["folder", "folder_3"])
def test_an_earlier_store_draws_no_sooner_than_an_epoch_length_after_its_last_sketch(kind, request):
    """Nobody knows how long its machine was up since; nothing counts from before the first look."""
    with closing(NodeHandle.open(request.getfixturevalue(kind))) as handle:
        store, network = handle.store, handle.network
        before = store.publications.all()
        epochs, length_s = [one.epoch for one in before], network.epoch_length_s
        assert epochs == sorted(epochs)
        assert sorted(store.draws.record().drawn) == epochs
        late_s = network.starts(epochs[-1] + 1) - 1.0
        with store.database.transaction(durable=True):
            store.database.execute("UPDATE publications SET published_s = ? WHERE epoch = ?", late_s, epochs[-1])

        def drawn_at(passed_s):
            uptime = Uptime("boot", 10.0**8 + passed_s)
            options = {"identity": handle.identity, "network": network, "uptime": uptime}
            publish(store, now_s=late_s + passed_s, **options)
            store.draws.look(network, now_s=late_s + passed_s, uptime=uptime)
            return [one.epoch for one in store.publications.all()]

        assert drawn_at(0.5) == drawn_at(5.0) == drawn_at(0.99 * length_s) == epochs
        assert drawn_at(length_s) == [*epochs, epochs[-1] + 1]


def test_a_folder_of_version_0_1_can_learn_from_the_crowd(folder):
    """Its network file says nothing of a head, and its store has no table for it."""
    assert "n_head" not in (folder / "network.toml").read_text()
    handle = NodeHandle.open(folder)
    try:
        sketch = handle.store.peers.sketches()[0]
        counted = Counted(sketch.key, sketch.epoch, "10.0.0.1", reached=True)
        handle.store.crowd.keep([(counted, sketch)], n_head=24, sizes={b"": 24}, first_epoch=0)
        assert handle.network.head_of(handle.store.catalogue.size()) == 24
        assert handle.store.crowd.counted(0) == [counted]
        (bits,) = handle.store.crowd.bits(24, lambda size: np.zeros(size, dtype=np.bool_))
        assert np.array_equal(bits[0], unpack(sketch.bits, 24))
    finally:
        handle.close()


def test_a_later_version_is_refused_and_left_as_it_is(folder):
    path = folder / "node.db"
    set_version(path, FORMAT.version + 1)
    before = path.read_bytes()
    with pytest.raises(DataError, match=rf"has format version {FORMAT.version + 1}, but this hetdp reads up to"):
        NodeHandle.open(folder)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1])
def test_a_version_that_was_never_released_is_refused(folder, version):
    set_version(folder / "node.db", version)
    with pytest.raises(DataError, match=f"has format version {version}, which no hetdp has written as the store of"):
        NodeHandle.open(folder)


def test_a_database_of_another_application_is_refused(folder):
    shutil.copy(folder.parent / "ledgers" / "plain.ledger", folder / "node.db")
    with pytest.raises(DataError, match="is not the store of a node"):
        NodeHandle.open(folder)


def test_an_earlier_version_is_brought_forward_once(folder):
    path, done = folder / "node.db", []

    def change(connection):
        done.append(1)
        step(connection)

    for _ in range(2):
        database = Database(path, file_format=later(change))
        assert database.rows("SELECT count(*), min(dial) FROM later") == [(24, 7)]
        assert database.one("PRAGMA user_version") == FORMAT.version + 1
        database.close()
    assert done == [1]
    with pytest.raises(DataError, match="reads up to"):
        NodeHandle.open(folder)


def test_a_step_that_fails_changes_nothing(folder):
    path = folder / "node.db"
    before = whole_content(path)

    def change(connection):
        step(connection)
        connection.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(DataError, match="no such table: nowhere"):
        Database(path, file_format=later(change))
    assert whole_content(path) == before
    assert plain(all_that_is_read(folder)) == json.loads((FORMATS / "version-0.1.json").read_text())["node"]


CHILD = """
    import os, signal, sys, time
    from pathlib import Path
    sys.path[:0] = [{tests!r}]
    from test_migration import later, step
    from hetdp.node.storage.database import Database

    def change(connection):
        step(connection)
        print("changing", flush=True)
        {then}

    Database(Path({path!r}), file_format=later(change)).close()
    print("done", flush=True)
"""


def start(path, then):
    code = textwrap.dedent(CHILD).format(tests=str(Path(__file__).parent), path=str(path), then=then)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_process_killed_in_the_middle_leaves_the_earlier_version(folder):
    path = folder / "node.db"
    before = whole_content(path)
    child = start(path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert child.communicate()[0] == "changing\n"
    assert child.returncode == -signal.SIGKILL
    assert whole_content(path) == before
    assert plain(all_that_is_read(folder)) == json.loads((FORMATS / "version-0.1.json").read_text())["node"]


@pytest.mark.slow
def test_of_two_processes_at_once_one_changes_and_both_go_on(folder):
    path = folder / "node.db"
    children = [start(path, "time.sleep(0.5)") for _ in range(2)]
    said = sorted(child.communicate()[0] for child in children)
    assert said == ["changing\ndone\n", "done\n"]
    database = Database(path, file_format=later())
    assert database.one("SELECT count(*) FROM later") == 24
    database.close()
