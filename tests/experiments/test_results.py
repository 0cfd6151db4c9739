"""Files of results: those of other versions and applications are left alone."""

import sqlite3

import pytest

from hetdp.core.errors import DataError
from hetdp.experiments.results import ResultsStore, count_missing


def test_results_of_a_later_version_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "results.sqlite"
    ResultsStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(DataError, match="unknown file version 9; this hetdp reads version 1"):
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
    with pytest.raises(DataError, match="Got another database"):
        ResultsStore(path)
    (tmp_path / "text").write_text("this is not a database, but a text of some length\n" * 100)
    with pytest.raises(DataError, match="results must be a file of results"):
        ResultsStore(tmp_path / "text")
    with pytest.raises(DataError, match="existing folder"):
        ResultsStore(tmp_path / "no" / "r.sqlite")


def test_a_new_file_is_empty(tmp_path):
    with ResultsStore(tmp_path / "results.sqlite") as store:
        assert len(store) == 0
    assert count_missing(tmp_path / "no such file", []) == 0
