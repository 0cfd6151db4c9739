"""One SQLite helper: formats move forward or not at all, and a change is all or nothing."""

import os
import sqlite3
from contextlib import closing

import pytest

from hetdp.core import sqlite
from hetdp.core.sqlite import Format, WrongFormat, connect, transaction

FIRST = Format("a list", 1, "CREATE TABLE words (word TEXT)", application_id=77)


def add_count(connection):
    connection.execute("ALTER TABLE words ADD COLUMN count INTEGER NOT NULL DEFAULT 1")


def add_note(connection):
    connection.execute("ALTER TABLE words ADD COLUMN note TEXT")


THIRD = Format(
    "a list",
    3,
    "CREATE TABLE words (word TEXT, count INTEGER, note TEXT)",
    {1: add_count, 2: add_note},
    application_id=77,
)


@pytest.fixture
def path(tmp_path):
    """Return a file of the first format that holds one word."""
    path = tmp_path / "words.db"
    path.touch()
    with closing(connect(path)) as connection:
        FIRST.create(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO words VALUES ('tea')")
    return path


def words(path):
    with closing(connect(path, "ro")) as connection:
        return connection.execute("SELECT * FROM words").fetchall()


def test_a_file_goes_through_every_step_to_today(path):
    with closing(connect(path)) as connection:
        assert THIRD.version_of(connection) == 1
        assert THIRD.bring_forward(connection)
        assert not THIRD.bring_forward(connection)
        assert THIRD.version_of(connection) == 3
    assert words(path) == [("tea", 1, None)]


def test_a_step_that_fails_takes_those_before_it_back(path):
    def fail(_):
        raise RuntimeError

    broken = Format("a list", 3, "", {1: add_count, 2: fail}, application_id=77)
    with closing(connect(path)) as connection:
        with pytest.raises(RuntimeError):
            broken.bring_forward(connection)
        assert FIRST.version_of(connection) == 1
    assert words(path) == [("tea",)]


@pytest.mark.parametrize(
    ("pragma", "message"),
    [
        ("user_version = 4", "unknown file version 4; this hetdp reads version 3"),
        ("user_version = 0", "unknown file version 0; this hetdp reads version 3"),
        ("application_id = 5", "is not a list: it is a database of another application"),
    ],
)
def test_other_files_are_refused(path, pragma, message):
    with closing(connect(path)) as connection:
        connection.execute(f"PRAGMA {pragma}")
        with pytest.raises(WrongFormat, match=message):
            THIRD.bring_forward(connection)
    assert words(path) == [("tea",)]


def test_a_missing_file_is_not_made(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        connect(tmp_path / "missing.db").execute("SELECT 1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("durable", [True, False])
def test_a_transaction_is_all_or_nothing(path, durable):
    with closing(connect(path)) as connection:
        with transaction(connection, durable=durable):
            connection.execute("INSERT INTO words VALUES ('milk')")
            assert connection.execute("PRAGMA synchronous").fetchone() == ((2,) if durable else (1,))
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        with pytest.raises(sqlite3.OperationalError), transaction(connection, durable=durable):
            connection.execute("INSERT INTO words VALUES ('rum')").execute("nonsense")
        assert not connection.in_transaction
    assert words(path) == [("tea",), ("milk",)]


def test_a_second_writer_waits_and_gives_up(path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with closing(connect(path)) as one, closing(connect(path)) as two, transaction(one, durable=True):
        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(two, durable=True):
            pass
        one.execute("INSERT INTO words VALUES ('milk')")
    assert words(path) == [("tea",), ("milk",)]


def test_a_connection_closed_in_the_middle_writes_nothing(path):
    connection = connect(path)

    def close_in_the_middle():
        with transaction(connection, durable=True):
            connection.execute("INSERT INTO words VALUES ('milk')")
            connection.close()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        close_in_the_middle()
    assert words(path) == [("tea",)]


def test_a_forked_child_leaves_the_transaction_to_its_parent(path):
    connection = connect(path)
    child = -1
    try:
        with transaction(connection, durable=True):
            connection.execute("INSERT INTO words VALUES ('milk')")
            child = os.fork()
            if child == 0:
                connection.execute("nonsense")
    except sqlite3.OperationalError:
        os._exit(0 if connection.in_transaction else 1)
    assert os.waitpid(child, 0)[1] == 0
    connection.close()
    assert words(path) == [("tea",), ("milk",)]
