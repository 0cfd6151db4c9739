"""Ledger files of versions 1 and 2 open, hold what they held, and go on; files of later versions are left alone."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import textwrap
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import hetdp
from hetdp.accounting.ledger import file as ledger_file
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.core.errors import BudgetExhausted, LedgerError

FORMATS = Path(__file__).parents[1] / "fixtures" / "formats"
HELD = json.loads((FORMATS / "version-0.1.json").read_text())["ledgers"]
HELD_BY_2 = json.loads((FORMATS / "ledgers-2.json").read_text())
SOURCE = Path(hetdp.__file__).parents[1]


@pytest.fixture
def old(tmp_path):
    """Return a folder with ledgers as version 1 wrote them."""
    with tarfile.open(FORMATS / "version-0.1.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "ledgers"


@pytest.fixture
def second(tmp_path):
    """Return a folder with ledgers as version 2 wrote them."""
    with tarfile.open(FORMATS / "ledgers-2.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "ledgers"


def same(ledger, expected):
    """Check what a ledger holds; losses are rounded up to whole steps, of the decimals that floats stand for."""
    found = held(ledger)
    assert found.pop("limits") == expected["limits"]
    for name in ("spent", "weights_spent"):
        now, then = np.array(found.pop(name)), np.array(expected[name])
        assert (then * (1 - 1e-15) <= now).all()
        assert (now <= then + 4e-12).all()
    return found == {name: value for name, value in expected.items() if name in found}


def version_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def held(ledger):
    """Return what a ledger holds, in the words of the fixtures."""
    return {
        "active": ledger.active.tolist(),
        "drops": ledger.drops,
        "history": [
            [entry.time, entry.description, entry.unit, entry.amount, entry.weights_loss] for entry in ledger.history
        ],
        "items": None if ledger.items is None else list(ledger.items),
        "limits": ledger.limits.tolist(),
        "spent": ledger.spent.tolist(),
        "unit": ledger.unit,
        "weights_spent": ledger.weights_spent,
    }


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", sorted(HELD))
def test_an_old_file_holds_what_it_held(old, name):
    path = old / name
    assert version_of(path) == 1
    for _ in range(2):
        with Ledger.open(path) as ledger:
            assert same(ledger, HELD[name])
        assert version_of(path) == 3
    assert [entry.name for entry in old.iterdir() if entry.name.startswith(name)] == [name]


def test_old_marks_count_as_dropping_and_descriptions_stay(old):
    with Ledger.open(old / "plain.ledger") as ledger:
        assert [(entry.description, entry.dropping) for entry in ledger.history] == [
            ("mean", False),
            ("total (dropping)", True),
        ]


@pytest.mark.parametrize("name", sorted(HELD))
def test_charges_go_on(old, name):
    with Ledger.open(old / name) as ledger:
        before, charges = ledger.spent, len(ledger.history)
        ledger.charge(np.full(ledger.size, 2**-10), unit=ledger.unit, description="more", amount=2**-10)
        assert (ledger.spent - before == np.where(ledger.active, 2**-10, 0)).all()
        with pytest.raises(BudgetExhausted):
            ledger.charge(np.full(ledger.size, 99.0), unit=ledger.unit)
    with Ledger.open(old / name) as ledger:
        assert len(ledger.history) == charges + 1
        assert (ledger.history[-1].description, ledger.history[-1].dropping) == ("more", False)
        assert ledger.drops == HELD[name]["drops"]


def test_the_command_line_shows_an_old_ledger(old, run):
    code, out, _ = run("budget", old / "dropping.ledger", "--json", "--items")
    shown = json.loads(out)
    own = shown["private"]
    assert (code, shown["releases"], own["dropped_items"]) == (0, 1, 1)
    assert [item["spent"] for item in own["per_item"]] == HELD["dropping.ledger"]["spent"]


def test_a_later_version_is_refused_and_left_byte_for_byte(old):
    path = old / "plain.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 4")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"has format version 4, but this hetdp reads up to 3\. .*left untouched"):
        Ledger.open(path)
    assert path.read_bytes() == before
    assert not Path(f"{path}-wal").exists()


def test_a_version_that_never_was_is_refused(old):
    path = old / "plain.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 0")
    with pytest.raises(LedgerError, match="has format version 0, which no hetdp has written as a ledger"):
        Ledger.open(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE state SET epsilon = zeroblob(24)",
        "UPDATE state SET weights_spent = 0.0",
        "DELETE FROM history WHERE id = 2",
        "UPDATE history SET description = 'total' WHERE id = 2",
    ],
)
def test_a_doctored_old_file_is_not_brought_forward(old, damage):
    path = old / "plain.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_failure_in_the_middle_changes_nothing(old, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    path = old / "plain.ledger"
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file, "_write_state", fail)
        with pytest.raises(OSError, match="No space left"):
            Ledger.open(path)
    assert version_of(path) == 1
    with Ledger.open(path) as ledger:
        assert same(ledger, HELD["plain.ledger"])


@pytest.mark.parametrize("moment", ["_make_tables", "_write_history", "_write_accounts", "_write_state"])
def test_a_kill_between_the_steps_leaves_a_file_that_opens(old, moment):
    script = """
        import os, signal, sys
        from hetdp.accounting.ledger import file
        whole = getattr(file, sys.argv[2])
        def killed(*arguments, **options):
            whole(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(file, sys.argv[2], killed)
        from hetdp.accounting.ledger.ledger import Ledger
        Ledger.open(sys.argv[1])
    """
    path = old / "plain.ledger"
    with start(script, path, moment) as process:
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    with Ledger.open(path) as ledger:
        assert same(ledger, HELD["plain.ledger"])
        assert ledger.charge([0.01, 0.01, 0.01]).all()


@pytest.mark.parametrize("name", ["plain.ledger", "rho.ledger"])
def test_a_file_of_version_2_holds_what_it_held(second, name):
    assert version_of(second / name) == 2
    for _ in range(2):
        with Ledger.open(second / name) as ledger:
            expected = HELD_BY_2[name]
            for entry, told in zip(ledger.history, expected["history"], strict=True):
                assert [entry.dropping, entry.delta] == [told[5], 0.0]
            assert same(ledger, {**expected, "history": [told[:5] for told in expected["history"]]})
            assert ledger.report().rho == pytest.approx(expected["rho"], rel=1e-9)
        assert version_of(second / name) == 3


def test_ids_that_are_one_person_become_one_account_that_has_lost_the_sum(second):
    """The old ledger took 1, "1" and " 1.0" for three people, and "ann" and "ann " for two."""
    with Ledger.open(second / "people.ledger") as ledger:
        assert ledger.items == (1, "ann", "01", "new")
        assert ledger.spent == pytest.approx([0.875, 2.35, 0.0, 0.5], rel=1e-15)
        assert ledger.limits.tolist() == [1.0, 1.0, 3.0, 2.0]
        assert ledger.remaining == pytest.approx([0.125, 0.0, 3.0, 1.5])
        # In zCDP the roots add up, as for a group of which all may change.
        roots = [sum(e / np.sqrt(2) for e in one) for one in ([0.5, 0.25, 0.125], [np.sqrt(2.0**2 + 0.25**2), 0.1])]
        assert ledger.report().rho[:2] == pytest.approx(np.square(roots), rel=1e-9)
        with pytest.raises(BudgetExhausted):
            ledger.view(["ann"]).charge([0.001])


def test_who_was_dropped_under_one_id_is_out_under_the_other(second):
    with Ledger.open(second / "dropping.ledger") as ledger:
        assert ledger.items == ("ann", 7)
        assert ledger.active.tolist() == [True, False]
        assert ledger.spent.tolist() == [0.5, 0.25]


@pytest.mark.slow
def test_processes_bring_a_file_forward_at_once(old):
    script = """
        import sys
        from hetdp.accounting.ledger.ledger import Ledger
        print("ready", flush=True)
        with Ledger.open(sys.argv[1]) as ledger:
            for _ in range(2):
                ledger.charge([0.0625, 0.0, 0.0], description="more")
    """
    path = old / "dropping.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # all of them see version 1 and wait
        processes = [start(script, path) for _ in range(3)]
        assert all(process.stdout.readline() == "ready\n" for process in processes)
        time.sleep(0.5)
        connection.execute("ROLLBACK")
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    with Ledger.open(path) as ledger:
        assert len(ledger.history) == 1 + 6
        assert ledger.spent.tolist() == [0.5 + 6 * 0.0625, 0.0, 0.0]
        assert held(ledger)["history"][0] == HELD["dropping.ledger"]["history"][0]
