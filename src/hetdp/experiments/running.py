"""Run the tasks of a sweep that are not finished yet, here or on a Dask cluster, and keep the results on disk."""

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from hetdp.core.cluster import connect_dask
from hetdp.core.errors import DataError
from hetdp.core.sqlite import Format, WrongFormat, connect, transaction
from hetdp.experiments.configurations import Task
from hetdp.experiments.evaluation import Outcome, Point, run_tasks
from hetdp.neighbors.engines.base import Progress
from hetdp.profiles import Profiles

#: Tasks handed over at a time: about a second of work on a few hundred users.
_TASKS_PER_BATCH = 8
_PARENT_SEEN_EVERY_S = 0.5
#: With more users than this a task is worth handing over alone.
_MANY_USERS = 2_000


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
            raise DataError(f"Folder not found: {path.parent}")
        with contextlib.suppress(OSError):  # SQLite says better what is wrong
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
            raise DataError(f"{path} cannot be used as a file of results ({error})") from error
        except WrongFormat as error:
            raise DataError(f"{path} is not a file of results: it {error}") from error

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
            raise DataError(f"{self.path} could not be written ({error})") from error

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


def _pack(point: Point) -> dict[str, object]:
    return {"epsilon": point.epsilon, "recall": dict(point.recall), "met": [point.met_mean, point.met_max]}


def _unpack(point: dict[str, Any]) -> Point:
    met_mean, met_max = point["met"]
    return Point(point["epsilon"], point["recall"], met_mean, met_max)


@dataclass(frozen=True)
class Batch:
    """Tasks on the same data set."""

    profiles: Profiles
    tasks: tuple[Task, ...]


class Runner(Protocol):
    """Where tasks are run."""

    def run(self, batches: Sequence[Batch]) -> Generator[list[Outcome], None, None]:
        """Yield the outcomes of each batch as they come, in any order."""
        ...


@dataclass(frozen=True)
class LocalRunner:
    """Runs tasks here, on `jobs` cores."""

    jobs: int = 1

    def run(self, batches: Sequence[Batch]) -> Generator[list[Outcome], None, None]:
        """Yield the outcomes of each batch as they come."""
        if self.jobs == 1 or len(batches) == 1:
            yield from (run_tasks(batch.profiles, batch.tasks) for batch in batches)
            return
        from joblib.externals.loky import (  # type: ignore[import-untyped, unused-ignore]
            ProcessPoolExecutor,
            as_completed,
        )

        # The first batch compiles what is not compiled yet; several processes would all do it again.
        yield run_tasks(batches[0].profiles, batches[0].tasks)
        workers = ProcessPoolExecutor(min(self.jobs, len(batches)), initializer=_end_with_parent)
        try:
            waiting = [workers.submit(run_tasks, batch.profiles, batch.tasks) for batch in batches[1:]]
            for done in as_completed(waiting):
                yield done.result()
        finally:  # whatever ended it, a signal included: nobody is left behind
            workers.shutdown(wait=True, kill_workers=True)


class DaskRunner:
    """Runs tasks on a Dask cluster, whose workers need hetdp installed.

    Parameters
    ----------
    address
        Of the scheduler, such as tcp://10.0.0.1:8786.
    timeout_s
        How long to wait for its answer.

    Privacy
    -------
    The profiles travel to the workers, unencrypted unless the address starts with tls://.
    """

    def __init__(self, address: str, *, timeout_s: float = 5.0) -> None:
        self._client = connect_dask(address, timeout_s=timeout_s)

    def close(self) -> None:
        """Leave the cluster; it goes on running."""
        self._client.close()

    def run(self, batches: Sequence[Batch]) -> Generator[list[Outcome], None, None]:
        """Yield the outcomes of each batch as they come."""
        from distributed import as_completed

        completed: Any = as_completed
        sent: dict[int, Any] = {}
        for batch in batches:  # each data set travels once
            if id(batch.profiles) not in sent:
                sent[id(batch.profiles)] = self._client.scatter(batch.profiles, broadcast=True, hash=False)
        futures = [
            self._client.submit(run_tasks, sent[id(batch.profiles)], batch.tasks, pure=False) for batch in batches
        ]
        for future in completed(futures, loop=self._client.loop):
            yield future.result()
            future.release()


def run_sweep(
    data: Mapping[str, Profiles],
    tasks: Sequence[Task],
    store: ResultsStore,
    runner: Runner,
    progress: Progress | None = None,
) -> int:
    """Run what is missing, keep every outcome, and return how many tasks were run."""
    missing = store.missing(tasks)
    done, total = len(tasks) - len(missing), len(tasks)
    if progress is not None:
        progress(done, total)
    if not missing:
        return 0
    with contextlib.closing(runner.run(_batches(data, missing))) as found:  # at once, and not when it is forgotten
        for outcomes in found:
            store.add(outcomes)
            done += len(outcomes)
            if progress is not None:
                progress(done, total)
    return len(missing)


def _end_with_parent() -> None:
    """In a worker: leave signals to the process that started it, and end when that has ended, even if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_SEEN_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _batches(data: Mapping[str, Profiles], tasks: Sequence[Task]) -> list[Batch]:
    """Divide tasks into batches, keeping their order as far as data sets allow."""
    pending: dict[str, list[Task]] = {}
    batches = []
    for task in tasks:
        waiting = pending.setdefault(task.data, [])
        waiting.append(task)
        profiles = data[task.data]
        if len(waiting) >= (_TASKS_PER_BATCH if profiles.n_users <= _MANY_USERS else 1):
            batches.append(Batch(profiles, tuple(waiting)))
            waiting.clear()
    batches += [Batch(data[fingerprint], tuple(waiting)) for fingerprint, waiting in pending.items() if waiting]
    return batches
