"""Cost of the ledger, as ratios that carry over between machines: `python benchmarks/ledger.py`."""

import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hetdp.accounting import Charge, Ledger

ITEMS = 10_000
CHARGES = 10_000
SINGLE_CHARGES = 200
PEOPLE = 10_000_000


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


def table_of_people(path: Path) -> None:
    """Numbered through and shuffled, as customer numbers in a lake are."""
    chance = np.random.default_rng(1)
    ids = pa.array(chance.permutation(PEOPLE) + 1_000_000)
    dials = pa.array(chance.choice([0.0, 0.05, 0.5, 1.0], PEOPLE))
    pq.write_table(pa.table({"id": ids, "dial": dials}), path, row_group_size=2**20)


def people(path: Path, columns: tuple[str, ...] = ("id", "dial")) -> Iterator[tuple[pa.Array, np.ndarray]]:
    for batch in pq.ParquetFile(path).iter_batches(2**18, columns=list(columns), use_threads=False):
        yield batch.column(0), batch.column(len(columns) - 1).to_numpy()


def read_ids(path: Path) -> int:
    return sum(len(ids) for ids, _ in people(path, ("id",)))


def memory() -> float:
    """Return the most that this process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def millions(folder: Path) -> list[tuple[str, str]]:
    table, path = folder / "people.parquet", folder / "people.db"
    table_of_people(table)
    reading = min(seconds(lambda: read_ids(table)) for _ in range(3))
    before = memory()
    with Ledger.of_people(path, limit=3.0, on_exhausted="drop") as ledger:
        admission = seconds(lambda: ledger.charge_people(people(table), amount=0.5))
    after = memory()
    with Ledger.open(path, "drop") as ledger:
        charge = seconds(lambda: ledger.charge_people(None, amount=0.1), times=10)
        matched = seconds(lambda: ledger.charge_people(people(table), amount=0.1))
        ended = seconds(lambda: ledger.charge_people(None, amount=2.0))
        dial = seconds(lambda: ledger.set_dials([1_000_000], [0.2]))
    return [
        (f"reading {PEOPLE:,} ids from parquet", f"{reading:.2f} s"),
        ("  charge of all of them, with check, over that (aim: 0.1)", f"{charge / reading:.3f}"),
        ("  the same, comparing ids and dials with a table", f"{matched / reading:.1f}"),
        ("  the same, listing those whose accounts end (a quarter)", f"{ended / reading:.1f}"),
        ("  admission", f"{admission / reading:.1f}"),
        ("  one new dial", f"{dial / reading:.1f}"),
        ("memory of reading and admission", f"{before:.0f} and {after:.0f} MB"),
        ("the file", f"{path.stat().st_size / 1e6:.0f} MB"),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = millions(Path(folder))
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
