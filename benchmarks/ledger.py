"""Cost of the ledger, as ratios that carry over between machines: `python benchmarks/ledger.py`."""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from hetdp.accounting.ledger.ledger import Charge, Ledger

ITEMS = 10_000
CHARGES = 10_000
SINGLE_CHARGES = 200


def seconds(action: Callable[[], object], *, times: int = 1) -> float:
    """Return the mean time of one call."""
    begin = time.perf_counter()
    for _ in range(times):
        action()
    return (time.perf_counter() - begin) / times


def charges(count: int) -> Iterator[Charge]:
    losses = np.random.default_rng(1).random(ITEMS) / CHARGES / 2
    return (Charge(losses, description="mean", amount=1e-4, weights_loss=1e-4) for _ in range(count))


def one_pass(count: int, path: Path | None) -> float:
    with Ledger(limits=np.ones(ITEMS), path=path) as ledger:
        return seconds(lambda: ledger.charge_all(charges(count)))


def single_charges(path: Path, items: int) -> float:
    losses = np.full(items, 1e-6)
    with Ledger(limits=np.ones(items), path=path) as ledger:
        ledger.charge(losses)
        return seconds(lambda: ledger.charge(losses), times=SINGLE_CHARGES)


def plain_updates(path: Path) -> float:
    """One row, one number, one commit: the least that SQLite needs in the same settings."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE state (spent REAL)"
        )
        connection.execute("INSERT INTO state VALUES (0.0)")

        def update() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE state SET spent = spent + 0.5")
            connection.execute("COMMIT")

        return seconds(update, times=SINGLE_CHARGES)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name, paths in [
            ("memory", (None, None)),
            ("file", (Path(folder, "one.db"), Path(folder, "half.db"))),
        ]:
            one_pass(100, None)
            half, whole = one_pass(CHARGES // 2, paths[1]), one_pass(CHARGES, paths[0])
            rows += [
                (f"charge_all, {CHARGES} charges x {ITEMS} items, in {name}", f"{whole:.2f} s"),
                (f"  {CHARGES} charges over {CHARGES // 2} (linear: 2)", f"{whole / half:.2f}"),
            ]
        plain = plain_updates(Path(folder, "plain.db"))
        rows.append(("plain SQLite UPDATE and commit", f"{1e3 * plain:.2f} ms"))
        for items in (10, ITEMS):
            ratio = single_charges(Path(folder, f"{items}.db"), items) / plain
            rows.append((f"  one durable charge of {items} items over that", f"{ratio:.1f}"))
    width = max(len(label) for label, _ in rows)
    for label, figure in rows:
        print(f"{label:{width}}  {figure:>8}")


if __name__ == "__main__":
    main()
