"""Fresh addresses of the page: for whoever may write into the folder, once, and not for long."""

import os
import stat

import pytest

from hetdp.core.errors import DataError
from hetdp.node.storage.folder import locked
from hetdp.node.storage.page_door import PageDoor


@pytest.fixture
def home(tmp_path):
    (tmp_path / "lock").write_text("")
    return tmp_path


def token_of(address):
    base, _, token = address.partition("?token=")
    assert base == "http://127.0.0.1:1/"
    return token


def test_an_address_works_once_and_a_later_one_replaces_it(home):
    door = PageDoor(home)
    door.open_at("http://127.0.0.1:1/")
    assert not door.admits("")
    with locked(home):
        first, second = token_of(door.fresh_address()), token_of(PageDoor(home).fresh_address())
    assert first != second
    kept = b"".join(path.read_bytes() for path in home.iterdir())
    assert second.encode() not in kept
    assert {stat.S_IMODE((home / name).stat().st_mode) for name in ("page.address", "page.token")} == {0o600}
    assert not door.admits(first)
    assert not door.admits("\ud800")
    assert door.admits(second)
    assert not door.admits(second)


def test_an_old_address_does_not_work(home):
    door = PageDoor(home)
    door.open_at("http://127.0.0.1:1/")
    with locked(home):
        token = token_of(door.fresh_address())
    moment = (home / "page.token").stat().st_mtime - 601
    os.utime(home / "page.token", (moment, moment))
    assert not door.admits(token)


def test_without_a_node_that_runs_or_without_its_page_there_is_no_address(home):
    door = PageDoor(home)
    door.open_at("http://127.0.0.1:1/")
    with pytest.raises(DataError, match="a node must run"):
        door.fresh_address()
    door.close()
    with locked(home), pytest.raises(DataError, match="must run with its page"):
        door.fresh_address()
    assert not (home / "page.token").exists()
