"""Results on disk: every finished task is kept, so that a sweep goes on where it was interrupted."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

from hetdp.core.errors import DataError
from hetdp.core.sqlite import Format, WrongFormat, connect, transaction
from hetdp.experiments.configurations import Task
from hetdp.experiments.evaluation import Outcome, Point

__all__ = ["ResultsStore", "count_missing"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    task TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    configuration TEXT NOT NULL,
    seed INTEGER NOT NULL,
    points TEXT NOT NULL,
    seconds REAL NOT NULL
) WITHOUT ROWID
"""
#: "hdpr" in the header of the file.
_FORMAT = Format("a file of results", 1, _SCHEMA, application_id=0x68647072)


class ResultsStore:
    """A SQLite file of finished tasks, written by one process at a time and never damaged by a kill.

    Parameters
    ----------
    path
        The file; made if missing.

    Privacy
    -------
    Holds evaluations without noise, so it is as private as the data they were made from.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise DataError("must be kept in an existing folder", parameter="results", got=str(path))
        with suppress(OSError):  # SQLite says better what is wrong
            path.touch()
            path.chmod(0o600)
        try:
            self._connection = connect(path)
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise DataError(
                f"results must be a file of results that can be written. Got {str(path)!r} instead ({error})."
            ) from error
        except WrongFormat as error:
            raise DataError(
                f"results must be a file of results. Got another database, {str(path)!r}, instead: it {error}."
            ) from error

    def _open(self) -> None:
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            _FORMAT.version_of(self._connection)
        else:
            _FORMAT.create(self._connection)
        self._connection.execute("PRAGMA journal_mode = WAL")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM outcomes").fetchone()
        return int(count)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Keep outcomes: all of them or, after a kill, none of them."""
        rows = [
            (
                outcome.task.name,
                outcome.task.data,
                json.dumps(outcome.task.configuration.facts()),
                outcome.task.seed,
                json.dumps([_pack(point) for point in outcome.points]),
                outcome.seconds,
            )
            for outcome in outcomes
        ]
        try:
            with transaction(self._connection, durable=False) as connection:
                connection.executemany("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise DataError(f"results could not be written to {str(self.path)!r} ({error}).") from error

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that are not finished yet."""
        known = {name for (name,) in self._connection.execute("SELECT task FROM outcomes")}
        return [task for task in tasks if task.name not in known]

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcomes of finished tasks, in the order of the tasks."""
        known = {
            name: (points, seconds)
            for name, points, seconds in self._connection.execute("SELECT task, points, seconds FROM outcomes")
        }
        for task in tasks:
            found = known.get(task.name)
            if found is not None:
                yield Outcome(task, tuple(_unpack(point) for point in json.loads(found[0])), found[1])


def count_missing(path: Path, tasks: Iterable[Task]) -> int:
    """Return how many tasks are not finished yet, without touching the file of results, which may not be there."""
    names = [task.name for task in tasks]
    if not path.is_file():
        return len(names)
    # What no writer has open is read as it lies there, so that not even a lock file is made.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"
    try:
        with closing(connect(path, mode)) as connection:
            known = {name for (name,) in connection.execute("SELECT task FROM outcomes")}
    except sqlite3.Error as error:
        raise DataError(f"results must be a file of results. Got {str(path)!r} instead ({error}).") from error
    return sum(name not in known for name in names)


def _pack(point: Point) -> dict[str, object]:
    return {"epsilon": point.epsilon, "recall": dict(point.recall), "met": [point.met_mean, point.met_max]}


def _unpack(point: dict[str, Any]) -> Point:
    met_mean, met_max = point["met"]
    return Point(point["epsilon"], point["recall"], met_mean, met_max)
