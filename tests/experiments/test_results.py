"""Files of results: files of other versions and kinds are left alone."""

import sqlite3

import pytest

from hetdp.core.errors import DataError
from hetdp.experiments.running import ResultsStore


def test_results_of_a_later_version_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "results.sqlite"
    ResultsStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(DataError, match="9"):
        ResultsStore(path)
    assert _version(path) == 9


def _version(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version


def test_other_databases_are_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    with pytest.raises(DataError, match=r"other\.sqlite"):
        ResultsStore(path)
    (tmp_path / "text").write_text("this is not a database, but a text of some length\n" * 100)
    with pytest.raises(DataError, match="text"):
        ResultsStore(tmp_path / "text")
    with pytest.raises(DataError, match="no"):
        ResultsStore(tmp_path / "no" / "r.sqlite")


def test_a_new_file_is_empty(tmp_path):
    with ResultsStore(tmp_path / "results.sqlite") as store:
        assert len(store) == 0
