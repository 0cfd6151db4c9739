"""Sweeps go on where they stopped, and give the same numbers wherever they run."""

import http.server
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from tests.support.errors import refused

from hetdp.core.cluster import within
from hetdp.core.errors import InvalidInput
from hetdp.experiments.running import DaskRunner, LocalRunner, ResultsStore, run_sweep
from hetdp.experiments.sweep import plan_tasks

pytestmark = pytest.mark.slow


@pytest.fixture
def tasks(small_settings, crowd):
    return plan_tasks(small_settings, {"crowd": crowd.fingerprint})


def run(crowd, tasks, store, runner, progress=None):
    return run_sweep({crowd.fingerprint: crowd.profiles}, tasks, store, runner, progress)


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
        "import sys; from pathlib import Path; from hetdp.experiments.sweep import SweepSettings;"
        "from hetdp.experiments.reproduction import reproduce;"
        "reproduce(SweepSettings(data=(sys.argv[1],), runs=50, k=4), Path(sys.argv[2]))"
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
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",  # as between machines: what is sent is pickled, although both workers are in this process
        dashboard_address=None,
        silence_logs=50,
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
    with refused("address", "Dask scheduler that answers"):
        DaskRunner(address, timeout_s=1.0)


@pytest.fixture
def strangers():
    """Return the addresses of two peers that are no Dask scheduler: an HTTP server, and one that never says a word."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield {"http": server.server_port, "silent": silent.getsockname()[1]}
    server.shutdown()
    server.server_close()
    thread.join()


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.parametrize("who", ["http", "silent"])
def test_a_peer_that_is_no_scheduler_is_refused_in_a_process_that_then_ends(strangers, who):
    """The whole process ends: neither a thread nor the end of a client holds it up. It is killed after a minute."""
    pytest.importorskip("distributed", reason="needs dask[distributed]")
    code = (
        "import sys; from hetdp.core.errors import InvalidInput; from hetdp.experiments.running import DaskRunner\n"
        "try: DaskRunner(sys.argv[1], timeout_s=1.0)\n"
        "except InvalidInput as error: print(error)"
    )
    address = f"tcp://127.0.0.1:{strangers[who]}"
    done = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, check=True, timeout=60)
    assert repr(address) in done.stdout
    assert "Traceback" not in done.stderr


def test_a_connection_that_hangs_is_given_up_and_one_that_fails_in_any_way_is_told():
    never = threading.Event()
    with pytest.raises(TimeoutError):
        within(time.monotonic() + 0.05, never.wait)
    never.set()
    with pytest.raises(ZeroDivisionError):
        within(time.monotonic() + 60, lambda: 1 / 0)
    assert within(time.monotonic() + 60, lambda: 7) == 7


@pytest.mark.filterwarnings("default")  # Dask's own servers warn about sockets when they close
def test_a_scheduler_without_workers_and_a_worker_are_refused():
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=50) as cluster:
        with pytest.raises(InvalidInput, match="at least one worker"):
            DaskRunner(cluster.scheduler_address)
        cluster.scale(1)
        cluster.wait_for_workers(1)
        (worker,) = cluster.workers.values()
        if worker.address.startswith("tcp://"):
            with pytest.raises(InvalidInput, match="must be the address of a Dask scheduler"):
                DaskRunner(worker.address)
