"""Files of results: those of earlier versions open, others are left alone."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from hetdp.core.errors import DataError
from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.evaluation import Point
from hetdp.experiments.results import ResultsStore, count_missing

FORMATS = Path(__file__).parents[1] / "fixtures" / "formats"


def test_results_of_the_first_version_open_and_are_brought_forward(tmp_path):
    path = tmp_path / "results.sqlite"
    shutil.copy(FORMATS / "results-0.1", path)
    assert count_missing(path, []) == 0  # only reads
    assert _version(path) == 0
    for _ in range(2):
        with ResultsStore(path) as store:
            assert len(store) == 10
        assert _version(path) == 1
    with sqlite3.connect(path) as connection:
        rows = [list(row) for row in connection.execute("SELECT * FROM outcomes ORDER BY task")]
    connection.close()
    assert rows == json.loads((FORMATS / "results-0.1.json").read_text())


def test_outcomes_of_the_first_version_are_found_again(tmp_path, monkeypatch):
    shutil.copy(FORMATS / "results-0.1", tmp_path / "results.sqlite")
    task = Task("fc44bd2f7f3e398915dcb25a620ec71c", Configuration(engine="random", k=4), 0)
    monkeypatch.setattr(Task, "name", "8e88781554d1d3ef8af74ea76aa330a9")  # as version 0.1 called it
    with ResultsStore(tmp_path / "results.sqlite") as store:
        (outcome,) = store.outcomes([task])
    assert outcome.points == (Point(None, {"all": 0.25}),)


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
