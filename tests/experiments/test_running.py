"""Sweeps go on where they stopped, and give the same numbers wherever they run."""

import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from hetdp.errors import DataError, InvalidInput
from hetdp.experiments.running import DaskRunner, LocalRunner, run_sweep
from hetdp.experiments.store import ResultsStore
from hetdp.experiments.sweeps import plan_tasks


@pytest.fixture
def tasks(small_settings, crowd):
    return plan_tasks(small_settings, {"crowd": crowd.mark})


def run(crowd, tasks, store, runner, progress=None):
    return run_sweep({crowd.mark: crowd.profiles}, tasks, store, runner, progress)


def numbers(store, tasks):
    return [(outcome.task, outcome.points) for outcome in store.outcomes(tasks)]


def test_a_second_call_computes_nothing(tmp_path, crowd, tasks):
    with ResultsStore(tmp_path / "r.sqlite") as store:
        assert run(crowd, tasks, store, LocalRunner()) == len(tasks)
        before = numbers(store, tasks)
        assert run(crowd, tasks, store, LocalRunner()) == 0
    with ResultsStore(tmp_path / "r.sqlite") as store:
        assert numbers(store, tasks) == before
        assert len(store) == len(tasks)


def test_an_interrupted_sweep_goes_on(tmp_path, crowd, tasks):
    class Tired(LocalRunner):
        def run(self, batches):
            yield from list(super().run(batches[:2]))
            raise KeyboardInterrupt

    with ResultsStore(tmp_path / "r.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            run(crowd, tasks, store, Tired())
        kept = len(store)
        assert 0 < kept < len(tasks)
        seen = []
        assert run(crowd, tasks, store, LocalRunner(), lambda *step: seen.append(step)) == len(tasks) - kept
    assert seen[0] == (kept, len(tasks))
    assert seen[-1] == (len(tasks), len(tasks))


def test_a_killed_sweep_goes_on(tmp_path, crowd_file):
    path = tmp_path / "out"
    code = (
        "import sys; from pathlib import Path; from hetdp.experiments.settings import Settings;"
        "from hetdp.experiments.reproduction import reproduce;"
        "reproduce(Settings(data=(sys.argv[1],), runs=50, k=4), Path(sys.argv[2]))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(crowd_file), str(path)]) as process:
        results = path / "results.sqlite"
        for _ in range(600):
            if results.exists() and _kept(results) > 0:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    with ResultsStore(results) as store:
        kept = len(store)
    assert kept > 0
    with sqlite3.connect(results) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _kept(results):
    try:
        with sqlite3.connect(f"file:{results}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.Error:  # not there yet
        return 0


def test_several_processes_find_what_one_finds(tmp_path, crowd, tasks):
    with ResultsStore(tmp_path / "1.sqlite") as one, ResultsStore(tmp_path / "2.sqlite") as two:
        run(crowd, tasks, one, LocalRunner())
        run(crowd, tasks, two, LocalRunner(jobs=2))
        assert numbers(one, tasks) == numbers(two, tasks)


@pytest.mark.filterwarnings("default")  # Dask's own servers warn about sockets when they close
def test_a_cluster_finds_what_one_process_finds(tmp_path, crowd, tasks):
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, ResultsStore(tmp_path / "1.sqlite") as one, ResultsStore(tmp_path / "2.sqlite") as two:
        runner = DaskRunner(cluster.scheduler_address)
        try:
            assert run(crowd, tasks, two, runner) == len(tasks)
            busy = runner._client.run(lambda dask_worker: dask_worker.state.executed_count)
        finally:
            runner.close()
        run(crowd, tasks, one, LocalRunner())
        assert numbers(one, tasks) == numbers(two, tasks)
    assert len(busy) == 2
    assert min(busy.values()) > 0


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "tcp://"])
def test_a_cluster_that_does_not_answer_is_refused(address):
    pytest.importorskip("distributed", reason="needs dask[distributed]")
    with pytest.raises(InvalidInput, match="--dask must be the address of a Dask scheduler that answers"):
        DaskRunner(address, timeout_s=1.0)


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
