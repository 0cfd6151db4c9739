"""One SQLite helper: files of other formats are refused, and a change is all or nothing."""

import os
import sqlite3
from contextlib import closing

import pytest

from hetdp.core import sqlite
from hetdp.core.sqlite import Format, WrongFormat, connect, transaction

LIST = Format("a list", 1, "CREATE TABLE words (word TEXT)", application_id=77)


@pytest.fixture
def path(tmp_path):
    """Return a file of the first format that holds one word."""
    path = tmp_path / "words.db"
    path.touch()
    with closing(connect(path)) as connection:
        LIST.create(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO words VALUES ('tea')")
    return path


def words(path):
    with closing(connect(path, "ro")) as connection:
        return connection.execute("SELECT * FROM words").fetchall()


@pytest.mark.parametrize(
    ("pragma", "message"),
    [
        ("user_version = 9", "has the unknown file version 9; this hetdp reads version 1"),
        ("user_version = 0", "has the unknown file version 0; this hetdp reads version 1"),
        ("application_id = 5", "is not a list: it is a database of another application"),
    ],
)
def test_other_files_are_refused(path, pragma, message):
    with closing(connect(path)) as connection:
        LIST.version_of(connection)
        connection.execute(f"PRAGMA {pragma}")
        with pytest.raises(WrongFormat, match=message):
            LIST.version_of(connection)
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
