"""Signals end long commands, whatever they are doing, with the right exit code and with nobody left behind."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hetdp.cli.interrupts import INTERRUPTED, TERMINATED, ending_on_signals
from hetdp.experiments.running import ResultsStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see who is left"),
]

#: Long enough for any machine; what hangs is ended by the test.
_PATIENCE_S = 120
#: Says when the command reaches a moment: it is about to import a module, or to call a function of one.
_BEGIN = """
import sys
from importlib import import_module
from hetdp.cli.entry import main

moment, *words = sys.argv[1:]
module, _, function = moment.partition(":")

class Told:
    def find_spec(self, name, *_):
        if name == module and not function:
            print("up", flush=True)

sys.meta_path.insert(0, Told())
if function:
    owner = import_module(module)
    real = getattr(owner, function)

    def told(*given, **named):
        print("up", flush=True)
        return real(*given, **named)

    setattr(owner, function, told)
main(words)
"""
#: The first import of the command itself: what comes before is Python's to answer for.
_START = "hetdp.cli.main"


def start(*arguments, code=_BEGIN):
    """Start a command in a process group of its own, and return once it says that it is up."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    if process.stdout.readline() != "up\n":
        pytest.fail(finish(process)[1])
    return process


def finish(process):
    """Return the exit code and what was said; a process that hangs is killed."""
    try:
        said = process.communicate(timeout=_PATIENCE_S)[1]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said


def descendants(pid):
    """Return the processes that a process has started, and those that these have."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):  # gone by now
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def until(condition):
    """Wait until something is so."""
    for _ in range(10 * _PATIENCE_S):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def likes(tmp_path):
    path = tmp_path / "likes.csv"
    rows = "".join(f"{user},{user * item % 997}\n" for user in range(1, 200) for item in range(1, 40))
    path.write_text(f"user,item\n{rows}")
    return path


@pytest.mark.parametrize(
    "moment",
    [_START, "pyarrow", "numba", "hetdp.evaluation.neighbor_baselines:over_batches", "numpy.linalg:inv"],
    ids=["while it imports", "while it reads", "while it compiles", "while threads compare", "in a linear system"],
)
def test_evaluate_ends_with_130_whenever_it_is_interrupted(likes, moment):
    process = start(moment, "evaluate", likes, "--runs", 400)
    os.killpg(process.pid, signal.SIGINT)
    code, said = finish(process)
    assert code == INTERRUPTED
    assert "Traceback" not in said


#: A command whose search swallows an interruption, as finalizers of libraries do, and would go on for a minute.
_SWALLOW = """
import sys, time
from hetdp import PrivateNeighbors, PrivateRecommender
from hetdp.cli.entry import main

def deaf(*_, **__):
    print("up", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(1)
        except KeyboardInterrupt:
            pass

PrivateNeighbors.fit = PrivateRecommender.fit = deaf
main(sys.argv[1:])
"""


@pytest.mark.parametrize("command", ["neighbors", "learn"])
def test_a_command_ends_even_if_a_library_swallows_the_interruption(likes, tmp_path, command):
    process = start(command, likes, "--epsilon", 3, "-o", tmp_path / "found.hetdp.csv", code=_SWALLOW)
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] == INTERRUPTED


def test_an_interruption_that_is_swallowed_still_ends_the_process():
    code = """
import time
from hetdp.cli.interrupts import ending_on_signals
with ending_on_signals():
    while True:
        try:
            print("up", flush=True)
            time.sleep(60)
        except BaseException:
            pass
"""
    for number, expected in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
        process = start(code=code)
        process.send_signal(number)
        assert finish(process)[0] == expected


def test_outside_of_a_command_signals_are_as_they_were():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with ending_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, TERMINATED), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_reproduction_that_is_ended_leaves_no_workers_and_goes_on_later(tmp_path, likes, number, expected):
    out = tmp_path / "out"
    process = start(_START, "reproduce", "--data", likes, "-j", 2, "-o", out, "-q")
    assert until(lambda: len(descendants(process.pid)) >= 2 and _kept(out / "results.sqlite") > 8)
    workers = descendants(process.pid)
    process.send_signal(number)  # to it alone, not to its group
    code, said = finish(process)
    assert code == expected
    assert "Traceback" not in said
    if number == signal.SIGTERM:
        assert not {pid for pid in workers if _runs(pid)}
    assert until(lambda: not any(_runs(pid) for pid in workers))
    with sqlite3.connect(out / "results.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with ResultsStore(out / "results.sqlite") as store:
        assert len(store) > 8
    assert not (out / "report.html").exists()


def _runs(pid):
    try:
        return "hetdp" in Path(f"/proc/{pid}/cmdline").read_text() or "loky" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def _kept(results):
    try:
        with sqlite3.connect(f"file:{results}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.Error:  # not there yet
        return 0
