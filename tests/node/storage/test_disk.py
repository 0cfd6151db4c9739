"""What goes wrong with files is called by its name: a folder that cannot be written, a full disk, another file."""

import os
import resource
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.node_swarm import a_network

from hetdp.cli.network import network as network_command
from hetdp.core.errors import DataError
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.storage.folder import init_node
from hetdp.node.storage.store import NodeStore

NETWORK = a_network(items=40, most_items=30)
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(40)]
NOBODY = 65534


def told_by(action, *, user=None, largest_file=None):
    """Run something in a process of its own, with less rights or room, and return the error that it ends with."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
            if user is not None and os.getuid() == 0:  # root may write everywhere
                os.setuid(user)
            action()
        except BaseException as error:  # noqa: BLE001  (it goes to the parent)
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as end:
        return end.read()


def test_a_folder_that_cannot_be_written_is_called_that():
    with tempfile.TemporaryDirectory() as name:  # pytest's own is closed to other users
        folder, path = Path(name), Path(name, "node.db")
        NodeStore.make(path, NETWORK, ITEMS, default_limit=1.0).close()
        path.chmod(0o444)
        folder.chmod(0o555)
        told = told_by(lambda: NodeStore(path), user=NOBODY)
        folder.chmod(0o700)
    assert told.startswith("DataError")
    assert "this user may read and write" in told
    assert "another file" not in told


def test_a_file_without_read_permission_is_called_that():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "node.db")
        NodeStore.make(path, NETWORK, ITEMS, default_limit=1.0).close()
        path.chmod(0)
        Path(name).chmod(0o755)
        told = told_by(lambda: NodeStore(path), user=NOBODY)
    assert "this user may read and write" in told


@pytest.mark.parametrize("largest_file", [0, 8192])
def test_a_full_disk_is_called_that(tmp_path, largest_file):
    """A limit on the size of files stands for a disk without room."""
    path = tmp_path / "node.db"
    told = told_by(lambda: NodeStore.make(path, NETWORK, ITEMS, default_limit=1.0), largest_file=largest_file)
    assert told.startswith("DataError")
    assert "on a disk with room" in told
    (tmp_path / "node.db").unlink()
    NodeStore.make(path, NETWORK, ITEMS, default_limit=1.0).close()
    told = told_by(lambda: NodeStore(path), largest_file=largest_file)
    assert told.startswith("DataError")
    assert "on a disk with room" in told


@pytest.mark.parametrize("largest_file", [20, 60_000])
def test_a_node_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path, largest_file):
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"i{n},{'x' * 90} {n}\n" for n in range(3000)))
    made = CliRunner().invoke(
        network_command,
        ["create", str(tmp_path / "n.toml"), "--catalogue", str(tmp_path / "items.csv"), "--epsilon", "3", "-q"],
    )
    assert made.exit_code == 0, made.output
    told = told_by(lambda: init_node(tmp_path / "home", network_path=tmp_path / "n.toml"), largest_file=largest_file)
    assert told.startswith("DataError")
    assert "room" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.csv", "n.toml", "n.toml.key"]


def test_another_file_is_called_that(tmp_path):
    (tmp_path / "node.db").write_text("not a database at all, but long enough to have a header of sixteen bytes")
    with pytest.raises(DataError, match="another file"):
        NodeStore(tmp_path / "node.db")
