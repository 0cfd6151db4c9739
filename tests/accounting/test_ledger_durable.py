"""The ledger file: crashes, other processes, forks, threads, and files that are not ours or not whole."""

import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import hetdp.accounting.ledger.ledger
from hetdp.accounting.ledger import file as ledger_file
from hetdp.accounting.ledger.ledger import Charge, Ledger
from hetdp.core import sqlite
from hetdp.core.errors import BudgetExhausted, InvalidInput, LedgerError

pytestmark = pytest.mark.slow

SOURCE = Path(hetdp.accounting.ledger.ledger.__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def charged(path):
    """Return a closed ledger file with two items and two charges."""
    with Ledger(limits=[1.0, 2.0], path=path, items=["diary", "clinic"]) as ledger:
        ledger.charge([0.25, 0.5], description="mean", amount=0.5, weights_loss=0.5)
        ledger.charge([0.125, 0.0], description="total", amount=0.25, weights_loss=0.25)
    return path


def start(script, *arguments):
    """Start a Python process that runs `script`; warnings are errors there too."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output.split()


def snapshot(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def assert_refused(path, message):
    """Check that a file is refused, by both ways to open it, and that nothing in its folder has changed."""
    before = snapshot(path.parent)
    for use in (lambda: Ledger.open(path), lambda: Ledger(limits=[1.0, 2.0], path=path)):
        with pytest.raises(LedgerError, match=message) as caught:
            use()
        assert str(path) in str(caught.value)
    assert snapshot(path.parent) == before


# --- What is kept -----------------------------------------------------------------------------------------


def test_everything_is_there_again_after_reopening(charged):
    with Ledger.open(charged) as ledger:
        assert ledger.spent.tolist() == [0.375, 0.5]
        assert ledger.limits.tolist() == [1.0, 2.0]
        assert ledger.items == ("diary", "clinic")
        assert ledger.weights_spent == 0.75
        assert [(entry.description, entry.amount) for entry in ledger.history] == [
            ("mean", 0.5),
            ("total", 0.25),
        ]
        assert ledger.path == charged
        assert repr(ledger) == "Ledger(unit epsilon, 2 charges, file ledger.db; private: 2 items)"
    assert "ledger.db" in repr(ledger)
    assert str(charged.parent) not in repr(ledger)


def test_the_file_is_its_owners_alone_and_comes_without_company(charged):
    assert charged.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in charged.parent.iterdir()] == ["ledger.db"]


def test_settings_on_disk_are_durable(path):
    with Ledger(limits=[1.0], path=path) as ledger:
        connection = ledger._store._connected()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_drops_are_kept_and_hold_in_either_mode(path):
    with Ledger(limits=[1.0, 0.1], path=path, on_exhausted="drop") as ledger:
        assert ledger.charge([0.5, 0.5]).tolist() == [True, False]
    with Ledger.open(path) as ledger:
        assert ledger.active.tolist() == [True, False]
        assert ledger.charge([0.25, 0.05]).tolist() == [True, False]
        assert ledger.spent.tolist() == [0.75, 0.0]


def test_items_added_by_a_view_are_kept(charged):
    with Ledger.open(charged) as ledger:
        ledger.view(["diary", "recipes"], limit=3.0).charge([0.0, 1.0])
    with Ledger.open(charged) as ledger:
        assert ledger.items == ("diary", "clinic", "recipes")
        assert ledger.spent.tolist() == [0.375, 0.5, 1.0]


def test_rho_ledger_is_kept_with_its_infinite_epsilon(path):
    with Ledger(limits=[1.0, 1.0], path=path, unit="rho") as ledger:
        ledger.charge([0.25, 0.0], unit="rho")
    with Ledger.open(path) as ledger:
        assert ledger.unit == "rho"
        assert ledger.report().epsilon.tolist() == [float("inf"), 0.0]


def test_refused_charges_leave_no_trace(charged):
    before = snapshot(charged.parent)
    with Ledger.open(charged) as ledger:
        with pytest.raises(BudgetExhausted):
            ledger.charge_all([Charge([0.5, 0.0]), Charge([0.5, 0.0])])
        with pytest.raises(InvalidInput):
            ledger.charge([0.5, float("nan")])
        assert ledger.spent.tolist() == [0.375, 0.5]
        assert len(ledger.history) == 2
    assert snapshot(charged.parent) == before


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"limits": [1.0, 3.0], "items": ["diary", "clinic"]}, "limits"),
        ({"limits": [1.0], "items": ["diary"]}, "limits"),
        ({"limits": [1.0, 2.0], "items": ["diary", "clinic"], "unit": "rho"}, "unit"),
        ({"limits": [1.0, 2.0], "items": ["diary", "doctor"]}, "items"),
        ({"limits": [1.0, 2.0]}, "items"),
    ],
)
def test_an_existing_file_must_match(charged, arguments, name):
    with pytest.raises(InvalidInput, match=rf"^{name} must be the same .* Ledger\.open\(path\)") as caught:
        Ledger(path=charged, **arguments)
    assert "clinic" not in str(caught.value)
    with Ledger(limits=[1.0, 2.0], items=["diary", "clinic"], path=str(charged)) as ledger:
        assert ledger.spent.tolist() == [0.375, 0.5]


def test_a_durable_ledger_travels_by_its_path(charged):
    with Ledger.open(charged, "drop") as ledger, pickle.loads(pickle.dumps(ledger)) as other:  # noqa: S301
        other.charge([0.25, 9.0])
        assert ledger.spent.tolist() == [0.625, 0.5]
        assert ledger.active.tolist() == [True, False]


def test_odd_names_and_relative_paths_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger(limits=[1.0], path="a b?c#d%20é.db") as ledger:
        monkeypatch.chdir("/")
        ledger.charge([0.5])
    assert [file.name for file in tmp_path.iterdir()] == ["a b?c#d%20é.db"]
    (tmp_path / "link.db").symlink_to(tmp_path / "a b?c#d%20é.db")
    with Ledger.open(tmp_path / "link.db") as ledger:
        assert ledger.spent.tolist() == [0.5]


def test_any_text_can_be_a_description(path):
    with Ledger(limits=[1.0], path=path) as ledger:
        for text in ("", "naïve \N{SNOWMAN}", "a\0b", "'; DROP TABLE state; --"):
            ledger.charge([0.1], description=text, amount=-0.0, weights_loss=-0.0)
    with Ledger.open(path) as ledger:
        assert [entry.description for entry in ledger.history][1:3] == ["naïve \N{SNOWMAN}", "a\0b"]


def test_a_lazy_ledger_is_made_by_its_first_charge(path):
    with Ledger(limits=[1.0, 0.5], path=path, items=["ann", "bob"], lazy=True) as ledger:
        assert (ledger.spent.tolist(), ledger.history, ledger.size) == ([0.0, 0.0], (), 2)
        assert repr(ledger) == "Ledger(unit epsilon, no charges, file ledger.db; private: 2 items)"
        with pytest.raises(BudgetExhausted):
            ledger.charge([1.0, 1.0])
        assert ledger.preview([1.0, 1.0]).tolist() == [True, False]
        assert list(path.parent.iterdir()) == []
        ledger.charge([0.25, 0.25], description="mean")
        ledger.charge([0.25, 0.0], description="total")
    with Ledger.open(path) as ledger:
        assert ledger.spent.tolist() == [0.5, 0.25]
        assert [entry.description for entry in ledger.history] == ["mean", "total"]
    with Ledger(limits=[1.0, 0.5], path=path, items=["ann", "bob"], lazy=True) as ledger:
        assert ledger.spent.tolist() == [0.5, 0.25]


def test_a_lazy_ledger_that_another_process_has_made_is_not_charged(path):
    with Ledger(limits=[1.0], path=path, lazy=True) as ledger:
        with Ledger(limits=[1.0], path=path) as faster:
            faster.charge([0.5])
        with pytest.raises(LedgerError, match=r"was made by another process meanwhile\. Nothing was charged"):
            ledger.charge([0.25])
    with Ledger.open(path) as ledger:
        assert ledger.spent.tolist() == [0.5]
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


# --- Crashes ----------------------------------------------------------------------------------------------

CHARGE_FOREVER = """
    import sys
    import numpy as np
    from hetdp.accounting.ledger.ledger import Ledger
    with Ledger.open(sys.argv[1]) as ledger:
        losses = np.full(ledger.size, 0.25)
        while True:
            ledger.charge(losses, description="mean")
            print("charged", flush=True)
"""


def test_kill_minus_nine_never_loses_a_charge(path):
    """Big enough a ledger that checkpoints of the log fall into the time of the kills, too."""
    chance = random.Random(20)  # noqa: S311  (a test)
    Ledger(limits=np.full(3000, 1e6), path=path).close()
    sure = 0
    for _ in range(6):
        with start(CHARGE_FOREVER, path) as process:
            for _ in range(chance.randrange(1, 60)):
                assert process.stdout.readline() == "charged\n"
                sure += 1
            process.send_signal(signal.SIGKILL)
            sure += process.stdout.read().count("charged\n")
            assert process.wait() == -signal.SIGKILL
        with Ledger.open(path) as ledger:
            recorded = ledger.spent / 0.25
            assert (recorded == recorded[0]).all()
            assert sure <= recorded[0] <= sure + 1
            assert len(ledger.history) == recorded[0]
            sure = int(recorded[0])


def test_a_kill_between_two_pages_of_a_checkpoint_is_mended_by_the_log(tmp_path, path):
    """Page 1 with the new page count is written first, so the file may be shorter than it says."""
    copy = tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir()
    losses = np.arange(5001) / 8192  # a constant would take no room
    with Ledger(limits=[1.0], path=path, items=["first"]) as ledger:
        ledger.view(["first", *range(5000)], limit=1.0, new_people=True).charge(losses)
        content = bytearray(path.read_bytes())
        content[28:32] = (1000).to_bytes(4, "big")
        copy.write_bytes(content)
        Path(f"{copy}-wal").write_bytes(Path(f"{path}-wal").read_bytes())
    with Ledger.open(copy) as ledger:
        assert ledger.spent == pytest.approx(losses, abs=1e-11)


def test_a_failure_before_the_commit_spends_nothing(path, monkeypatch):
    def fail(*_):
        raise OSError

    with Ledger(limits=[1.0], path=path) as ledger:
        monkeypatch.setattr(ledger_file, "_write_state", fail)
        with pytest.raises(OSError, match=r"^$"):
            ledger.charge([0.5])
        monkeypatch.undo()
        assert ledger.spent.tolist() == [0.0]
        assert ledger.history == ()
        assert ledger.charge([0.5]).all()


def test_a_failed_creation_leaves_nothing_behind(path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(LedgerError, match="cannot be created: No space left on device"):
        Ledger(limits=[1.0], path=path)
    assert list(path.parent.iterdir()) == []


def test_the_log_of_a_vanished_ledger_is_not_replayed_into_a_new_one(charged):
    Path(f"{charged}-wal").write_bytes(b"losses")
    charged.unlink()
    with pytest.raises(LedgerError, match=r"is gone but its log ledger\.db-wal is still there"):
        Ledger(limits=[1.0], path=charged)
    assert snapshot(charged.parent) == {"ledger.db-wal": b"losses"}


# --- Processes, forks and threads -------------------------------------------------------------------------


def test_processes_create_and_share_one_ledger(path):
    script = """
        import sys
        from hetdp.accounting.ledger.ledger import Ledger
        print("ready", flush=True)
        sys.stdin.readline()
        with Ledger(limits=[1000.0, 1000.0], path=sys.argv[1]) as ledger:
            for _ in range(25):
                ledger.charge([0.25, 0.5], weights_loss=0.125)
    """
    processes = [start(script, path) for _ in range(3)]
    assert all(process.stdout.readline() == "ready\n" for process in processes)
    for process in processes:
        finish(process)
    with Ledger.open(path) as ledger:
        assert ledger.spent.tolist() == [75 * 0.25, 75 * 0.5]
        assert ledger.weights_spent == 75 * 0.125
        assert len(ledger.history) == 75


def test_the_faster_of_two_creators_wins(path, monkeypatch):
    """Another process makes the file after we have looked and before we have finished ours."""
    make_link = os.link

    def late_link(source, target):
        monkeypatch.setattr(os, "link", make_link)
        with Ledger(limits=[1.0], path=path) as faster:
            faster.charge([0.5])
        make_link(source, target)

    monkeypatch.setattr(os, "link", late_link)
    with Ledger(limits=[1.0], path=path) as ledger:
        assert ledger.spent.tolist() == [0.5]
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


def test_two_ledgers_see_each_others_charges_at_once(charged):
    with Ledger.open(charged) as one, Ledger.open(charged) as two:
        one.charge([0.25, 0.0])
        assert two.spent.tolist() == [0.625, 0.5]
        two.charge([0.0, 0.25])
        assert one.remaining.tolist() == [0.375, 1.25]
        assert len(one.history) == 4
        with pytest.raises(BudgetExhausted):
            one.charge([0.5, 0.0])


def test_opening_a_ledger_keeps_the_locks_of_another_one_in_the_same_process(charged):
    """Reading the file with `open` would drop them; another process could then delete the log in use here."""
    script = "import sys; from hetdp.accounting.ledger.ledger import Ledger; Ledger.open(sys.argv[1]).close()"
    with Ledger.open(charged) as ledger:
        ledger.charge([0.25, 0.0])
        Ledger.open(charged).close()
        finish(start(script, charged))
        assert Path(f"{charged}-wal").exists()
        ledger.charge([0.25, 0.0])
    with Ledger.open(charged) as ledger:
        assert ledger.spent.tolist() == [0.875, 0.5]


def test_a_locked_ledger_gives_up_after_the_timeout(charged, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with Ledger.open(charged) as ledger:
        with closing(sqlite3.connect(charged, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerError, match="is locked by another process"):
                ledger.charge([0.25, 0.0])
            assert ledger.spent.tolist() == [0.375, 0.5]
            other.execute("ROLLBACK")
        assert ledger.charge([0.25, 0.0]).all()


def in_child(action):
    """Run `action` in a forked child; return whether it raised nothing."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def test_parent_and_forked_child_both_charge(charged):
    with Ledger.open(charged) as ledger:
        ledger.charge([0.125, 0.0])
        assert in_child(lambda: ledger.charge([0.125, 0.125]))
        ledger.charge([0.125, 0.125])
        assert ledger.spent.tolist() == [0.75, 0.75]
        assert len(ledger.history) == 5


def test_a_lock_held_by_another_thread_does_not_survive_a_fork(charged):
    ledger = Ledger.open(charged)
    ledger.charge([0.125, 0.0])
    held = threading.Thread(target=ledger._lock.acquire)  # ends without letting go
    held.start()
    held.join()
    assert in_child(lambda: ledger.charge([0.125, 0.0]))
    with Ledger.open(charged) as other:
        assert other.spent.tolist() == [0.625, 0.5]
    ledger._lock = threading.RLock()
    ledger.close()


def test_a_fork_in_the_middle_of_a_charge_pays_in_the_parent_only(charged):
    script = """
        import os, sys
        from hetdp.accounting.ledger.ledger import Charge, Ledger
        from hetdp.core.errors import LedgerError
        with Ledger.open(sys.argv[1]) as ledger:
            children = []
            def forking():
                yield Charge([0.25, 0.0])
                children.append(os.fork())
            try:
                ledger.charge_all(forking())
                assert children[0]
            except LedgerError as error:
                assert not children[0] and "forked" in str(error), error
            if children[0]:
                assert os.waitpid(children[0], 0)[1] == 0
    """
    finish(start(script, charged))
    with Ledger.open(charged) as ledger:
        assert ledger.spent.tolist() == [0.625, 0.5]
        assert len(ledger.history) == 3


def test_a_child_that_ends_normally_does_not_disturb_its_parent(charged):
    """The end of the child's interpreter must not close the parent's connection, nor warn about it."""
    script = """
        import os, sys
        from hetdp.accounting.ledger.ledger import Ledger
        ledger = Ledger.open(sys.argv[1])
        ledger.charge([0.125, 0.0])
        child = os.fork()
        if child == 0:
            ledger.charge([0.125, 0.0])
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.exists(sys.argv[1] + "-wal")
        ledger.charge([0.125, 0.0])
        print(*ledger.spent)
    """
    process = start(script, charged)
    output, errors = process.communicate(timeout=60)
    assert (output.split(), errors) == (["0.75", "0.5"], "")


def test_threads_share_a_durable_ledger(path):
    with Ledger(limits=[1000.0], path=path) as ledger:
        threads = [threading.Thread(target=lambda: [ledger.charge([0.25]) for _ in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.spent.tolist() == [10.0]


def test_a_forgotten_ledger_closes_itself(charged):
    Ledger.open(charged).charge([0.25, 0.0])
    assert [file.name for file in charged.parent.iterdir()] == ["ledger.db"]


def test_a_ledger_moved_or_replaced_while_open_is_not_charged(charged, tmp_path):
    with Ledger.open(charged) as ledger:
        charged.rename(tmp_path / "moved.db")
        with pytest.raises(LedgerError, match="was moved, deleted or replaced"):
            ledger.charge([0.25, 0.0])
        assert repr(ledger) == "Ledger(closed or unreadable, file ledger.db)"
        (tmp_path / "moved.db").rename(charged)
        assert ledger.charge([0.25, 0.0]).all()


# --- Files that are not ours, not whole, or not to be written ---------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a ledger: it is empty"),
        (b"hello", "is not a ledger: it is not an SQLite file"),
        (b"item,weight\n" * 500, "is not a ledger: it is not an SQLite file"),
        (b"SQLite format 3\0", "is not a ledger"),
        (b"SQLite format 3\0" + bytes(range(256)) * 64, "is not a ledger|damaged"),
    ],
)
def test_foreign_bytes_are_refused(path, content, message):
    path.write_bytes(content)
    assert_refused(path, message)


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_the_database_of_another_application_is_refused(path, journal):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE state (x)")
    assert_refused(path, "is a database of another application")


def test_a_database_in_use_by_another_application_is_refused(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE state (x);")
        assert_refused(path, "is a database of another application")


def test_a_newer_format_is_refused(charged):
    with closing(sqlite3.connect(charged)) as connection:
        connection.execute("PRAGMA user_version = 9")
    assert_refused(charged, "unknown file version 9; this hetdp reads version 1")


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, message in [("folder", "not a regular file"), ("fifo", "not a regular file")]:
        assert_refused(tmp_path / name, message)
    with pytest.raises(LedgerError, match=r"missing/ledger\.db cannot be created: No such file or directory"):
        Ledger(limits=[1.0], path=tmp_path / "missing" / "ledger.db")
    with pytest.raises(LedgerError, match="not found"):
        Ledger.open(tmp_path / "missing.db")
    with pytest.raises(LedgerError, match="cannot be reached"):
        Ledger.open(tmp_path / ("long" * 100))
    assert not (tmp_path / "missing.db").exists()


def test_every_truncation_is_refused(charged):
    content = charged.read_bytes()
    for length in [*range(1, len(content), 977), len(content) - 1, len(content) - 4096]:
        charged.write_bytes(content[:length])
        assert_refused(charged, "is damaged|is not a ledger")


def test_a_flipped_byte_is_refused_or_harmless(charged):
    """A byte may sit in unused space. Then the ledger must be exactly what it was; else it is refused."""
    with Ledger.open(charged) as ledger:
        history = ledger.history
    content = charged.read_bytes()
    used = [index for index, byte in enumerate(content) if byte]
    refused = 0
    for index in [*range(100), *used[::5]]:
        damaged = bytearray(content)
        damaged[index] ^= 0xFF
        charged.write_bytes(damaged)
        try:
            with Ledger.open(charged) as ledger:
                assert ledger.spent.tolist() == [0.375, 0.5]
                assert ledger.limits.tolist() == [1.0, 2.0]
                assert ledger.items == ("diary", "clinic")
                assert ledger.weights_spent == 0.75
                assert ledger.history == history
        except LedgerError:
            refused += 1
            assert charged.read_bytes() == damaged
    assert refused > 100


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET epsilon = zeroblob(16)",
        "UPDATE chunks SET active = x'0101', limits = x'00'",
        "UPDATE chunks SET ends = ends + 1",
        "UPDATE chunks SET keys = zeroblob(16)",
        "UPDATE chunks SET rho_then = 'text'",
        "DELETE FROM chunks",
        "UPDATE chunks SET id = 1",
        "UPDATE state SET totals = replace(totals, '\"weights_spent\": 1', '\"weights_spent\": 0')",
        "UPDATE state SET totals = replace(totals, '\"charges\": 2', '\"charges\": 0')",
        "UPDATE state SET totals = 'nonsense'",
        "UPDATE state SET chain = 'text'",
        "UPDATE state SET checksum = 'text'",
        "DELETE FROM state",
        "DROP TABLE state",
        "DELETE FROM history WHERE id = 2",
        "UPDATE history SET amount = 0.0 WHERE id = 1",
        "UPDATE history SET dropping = 1 WHERE id = 1",
        "UPDATE state SET totals = replace(totals, 'false', 'true')",
        "UPDATE history SET description = x'ff' WHERE id = 1",
        "INSERT INTO history VALUES (NULL, 't', 'd', 'epsilon', 0.0, 0.0, 0, 0.0)",
    ],
)
def test_a_doctored_ledger_is_refused(charged, damage):
    with closing(sqlite3.connect(charged, isolation_level=None)) as connection:
        connection.execute(damage)
    assert_refused(charged, "is damaged")


def test_damage_under_a_log_is_refused_and_the_file_left_alone(charged, tmp_path):
    copy = tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir()
    with Ledger.open(charged) as ledger:
        ledger.charge([0.25, 0.0])
        copy.write_bytes(charged.read_bytes().replace(b"CREATE TABLE history", b"CREATE TABLE hist0ry"))
        Path(f"{copy}-wal").write_bytes(Path(f"{charged}-wal").read_bytes())
    before = copy.read_bytes()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger.open(copy)
    assert copy.read_bytes() == before


def test_errors_of_the_callers_charges_are_not_blamed_on_the_ledger(charged):
    def broken():
        yield Charge([0.25, 0.0])
        raise sqlite3.OperationalError

    with Ledger.open(charged) as ledger:
        with pytest.raises(sqlite3.OperationalError):
            ledger.charge_all(broken())
        assert ledger.spent.tolist() == [0.375, 0.5]


def test_what_cannot_be_written_is_refused_before_any_charge():
    script = """
        import os, sys
        from hetdp.accounting.ledger.ledger import Ledger
        from hetdp.core.errors import LedgerError
        folder = sys.argv[1]
        for name in ("file", "folder"):
            os.mkdir(f"{folder}/{name}")
            Ledger(limits=[1.0], path=f"{folder}/{name}/ledger.db").close()
        if os.getuid() == 0:  # permissions do not bind root
            for place in (folder, f"{folder}/file", f"{folder}/folder"):
                os.chown(place, 65534, 65534)
            for name in ("file", "folder"):
                os.chown(f"{folder}/{name}/ledger.db", 65534, 65534)
            os.setgid(65534)
            os.setuid(65534)
        os.chmod(f"{folder}/file/ledger.db", 0o400)
        os.chmod(f"{folder}/folder", 0o500)
        for use in (
            lambda: Ledger.open(f"{folder}/file/ledger.db"),
            lambda: Ledger.open(f"{folder}/folder/ledger.db"),
            lambda: Ledger(limits=[1.0], path=f"{folder}/folder/new.db"),
        ):
            try:
                use()
            except LedgerError as error:
                print("writ" in str(error) or "Permission denied" in str(error))
        print(sorted(os.listdir(f"{folder}/file")) == ["ledger.db"])
        print(sorted(os.listdir(f"{folder}/folder")) == ["ledger.db"])
        os.chmod(f"{folder}/folder", 0o700)
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own folders are closed to other users
        Path(folder).chmod(0o755)
        assert finish(start(script, folder)) == ["True"] * 5


def test_a_lazy_ledger_does_not_overlook_what_another_has_charged(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger([1.0, 1.0], path, lazy=True) as first, Ledger([1.0, 1.0], path, lazy=True) as second:
        first.charge([0.7, 0.1])
        for look in (lambda: second.spent, lambda: second.history, lambda: second.charge([0.2, 0.1])):
            with pytest.raises(LedgerError, match="made by another process meanwhile"):
                look()
        with Ledger.open(path) as opened:
            assert opened.spent.tolist() == [0.7, 0.1]
