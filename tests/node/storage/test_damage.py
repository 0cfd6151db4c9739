"""Damaged files of a node: whatever is wrong with them is told as an error, and nothing that was there is destroyed.

Bytes are flipped, files cut, emptied, removed, swapped and filled with noise, in copies of a node that has published.
"""

import io
import shutil
import tempfile
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pytest
from tests.support.page_node import PageNodes

from hetdp.cli.main import main
from hetdp.core.errors import HetdpError
from hetdp.core.randomness import seeded_stream
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.page.application import PAGES, Frame
from hetdp.node.page.owner_guard import Session
from hetdp.node.publication import publish
from hetdp.node.storage.crowd import CrowdModel, save_model
from hetdp.recommender.model import ItemModel

FILES = ["node.db", "node.db", "node.db", "node.db", "node.db-wal", "network.toml", "node.toml", "identity.key"]
FILES += ["model.npz", "lock"]
KINDS = ["flip", "flip", "flip", "flips", "cut", "zeros", "noise", "remove", "swap", "folder"]
#: Exit codes of an error that was told: bad data, and a ledger that cannot be used.
TOLD = {0, 3, 5}


@pytest.fixture(scope="module")
def sound():
    """Make the folder of a node that has published, in memory, with a log that is not yet in the database."""
    memory = Path("/dev/shm")  # noqa: S108  (made with a name that nobody knows)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        nodes, folder = PageNodes(Path(name)), Path(name, "node")
        shutil.copytree(nodes.lived_in(running=False).folder, folder)
        nodes.close()
        keep_log(folder)
        model = ItemModel(np.arange(600.0), np.full((600, 600), 0.1, dtype=np.float32))
        save_model(folder / "model.npz", CrowdModel(model, 60))
        yield folder


def keep_log(folder):
    """Change something, and copy the files while the log is there, as after a power failure."""
    with closing(NodeHandle.open(folder)) as handle:
        with handle.store.database.transaction(durable=True):
            handle.store.events.note("paused", now_s=1.0)
        saved = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name, contents in saved.items():
        (folder / name).write_bytes(contents)
    assert (folder / "node.db-wal").stat().st_size > 0


def damage(folder, stream):
    """Damage one file of a folder in one way, and say which and how."""
    words = [int(word) for word in stream.words(8)]
    name, kind = FILES[words[0] % len(FILES)], KINDS[words[1] % len(KINDS)]
    path = folder / name
    raw = bytearray(path.read_bytes())
    if kind in ("flip", "flips"):
        for word in words[2 : 3 if kind == "flip" else 8]:
            if raw:
                raw[word % len(raw)] ^= 1 << (word >> 32) % 8
    elif kind == "cut":
        raw = raw[: words[2] % (len(raw) + 1)]
    elif kind == "zeros":
        begin = words[2] % (len(raw) + 1)
        raw[begin : begin + 4096] = bytes(len(raw[begin : begin + 4096]))
    elif kind == "noise":
        raw = bytearray(stream.words(words[2] % 600).tobytes())
    elif kind == "swap":
        raw = bytearray((folder / FILES[words[2] % len(FILES)]).read_bytes())
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "remove":
        path.write_bytes(raw)
    return name, kind, words[2]


def told(arguments):
    """Return the exit code of a command; what is not an error of hetdp is raised."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def start(folder):
    """Do what a node does when it starts, without its transport, and show every page."""
    with closing(NodeHandle.open(folder)) as handle:
        handle.check_open()
        handle.store.other_charges.repair(handle.store.events, now_s=handle.now())
        Daemon(handle)._node()
        pages = [kind(handle) for kind in PAGES]
        frame = Frame(handle, Session(), pages)
        for page in pages:
            frame.around(page)
        who, network, now_s = handle.identity, handle.network, handle.now()
        publish(handle.store, identity=who, network=network, now_s=now_s, uptime=handle.uptime())


def use(folder, backup):
    """Go through everything that opens a folder."""
    for command in ("status", "export"):
        assert told(["node", command, "--folder", str(folder), "--json"]) in TOLD
    assert told(["node", "run", "--dry-run", "--folder", str(folder)]) in TOLD
    assert told(["node", "backup", str(backup), "--folder", str(folder)]) in TOLD
    with suppress(HetdpError):
        start(folder)


def attack(sound, numbers):
    """Use damaged copies of a folder; return what went wrong, by number."""
    wrong = {}
    with tempfile.TemporaryDirectory(dir=sound.parent) as name:
        for number in numbers:
            folder = Path(name, str(number))
            shutil.copytree(sound, folder)
            how = damage(folder, seeded_stream(14, number))
            try:
                use(folder, Path(name, f"{number}.backup"))
            except Exception as error:  # noqa: BLE001  (all of them are wrong)
                wrong[number] = (how, repr(error))
            shutil.rmtree(folder)
    return wrong


#: Damage that raised a bare exception once: catalogue rows that are gone, draws without dials.
REPAIRED = (353, 384, 457, 508)


@pytest.mark.slow
def test_damaged_files_are_told_as_errors(sound, sampled):
    assert attack(sound, {*sampled(range(1000), every=12), *REPAIRED}) == {}


def test_a_sound_folder_starts(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "node")
    start(tmp_path / "node")
    assert told(["node", "status", "--folder", str(tmp_path / "node")]) == 0
