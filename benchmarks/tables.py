"""Releases per group beside their peers: `python benchmarks/tables.py [--rows 1e8] [--folder FOLDER]`.

Every figure is that of a whole process, imports included, on one core with one thread: CPU time, the least of several
runs, taken in turns, and the most memory it ever held. The data are the same parquet files for all, made once:
departments (100), hours in [0, 99], people who are in three departments each, and weights of 1, since the peers know no
others. The peers live in environments of their own (`.venv-peers/`), because their pins clash with ours, and are used
as their documentation does. This process stays small: what it had in memory when it starts another would count as the
other's.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GROUPS, LOWER, UPPER, EPSILON = 100, 0.0, 99.0, 1.0
KEYS = [f"d{group:02}" for group in range(GROUPS)]
ROWS_OF_A_FILE = 10_000_000
PEOPLE = 1_000_000
DEPARTMENTS_OF_A_PERSON = 3
#: What each peer needs. The newest scikit-learn has lost names that diffprivlib imports.
PEERS = {
    "opendp": ("opendp[polars]", "pyarrow"),
    "pydp": ("python-dp", "pandas", "pyarrow"),
    "diffprivlib": ("diffprivlib", "scikit-learn<1.6", "pandas", "pyarrow"),
}
ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


# What is measured: each function below is a process of its own, and prints its answers as JSON.


def ours(path: str, times: int, **options: Any) -> list[dict[str, float]]:  # noqa: ANN401
    hetdp: Any = importlib.import_module("hetdp")
    answers = []
    for _ in range(times):
        answer = hetdp.release_table(
            path,
            aggregates={"people": hetdp.tables.count(), "hours": hetdp.tables.mean("hours", lower=LOWER, upper=UPPER)},
            by={"department": KEYS},
            epsilon=EPSILON,
            **options,
        )
        answers.append({row.key[0]: row.estimate for row in answer.rows if row.aggregate == "hours"})
    return answers


def ours_by_person(path: str, times: int) -> list[dict[str, float]]:
    return ours(path, times, unit="person_id", max_groups=DEPARTMENTS_OF_A_PERSON)


def duckdb(path: str, times: int) -> list[dict[str, float]]:
    import duckdb

    query = "SELECT department, avg(hours), count(*) FROM read_parquet(?) GROUP BY department"
    with duckdb.connect(config={"threads": 1}) as connection:
        return [{key: mean for key, mean, _ in connection.execute(query, [path]).fetchall()} for _ in range(times)]


def opendp(path: str, times: int) -> list[dict[str, float]]:
    import opendp.prelude as dp

    pl: Any = importlib.import_module("polars")  # opendp adds methods that polars has no types for

    dp.enable_features("contrib")
    # A public bound on the length of a group: its sum of floats needs one, and a larger one means more noise.
    margin = dp.polars.Margin(by=["department"], max_length=50_000, max_groups=GROUPS, invariant="keys")
    answers = []
    for _ in range(times):
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[margin],
        )
        # A sum beside the count costs less epsilon than dp.mean, which counts once more.
        hours = pl.col("hours").fill_null(0.0).fill_nan(0.0).dp.sum((LOWER, UPPER))
        rows = context.query().group_by("department").agg(dp.len(signed=True), hours).release().collect().to_dicts()
        answers.append({row["department"]: row["hours"] / row["len"] for row in rows})
    return answers


def pydp(path: str, times: int) -> list[dict[str, float]]:
    import pandas as pd
    from pydp.algorithms.laplacian import BoundedMean, Count

    table = pd.read_parquet(Path(path).parent, columns=["department", "hours"])
    answers = []
    for _ in range(times):
        means = {}
        for key, column in table.groupby("department")["hours"]:
            values = column.tolist()
            mean = BoundedMean(EPSILON / 2, lower_bound=LOWER, upper_bound=UPPER, dtype="float")
            means[str(key)] = mean.quick_result(values)
            Count(EPSILON / 2, dtype="float").quick_result(values)
        answers.append(means)
    return answers


def diffprivlib(path: str, times: int) -> list[dict[str, float]]:
    import pandas as pd
    from diffprivlib import tools

    table = pd.read_parquet(Path(path).parent, columns=["department", "hours"])
    answers = []
    for _ in range(times):
        means = {}
        for key, column in table.groupby("department")["hours"]:
            means[str(key)] = float(tools.mean(column.to_numpy(), epsilon=EPSILON / 2, bounds=(LOWER, UPPER)))
            tools.count_nonzero(column.notna().to_numpy(), epsilon=EPSILON / 2)
        answers.append(means)
    return answers


def make_file(path: str, seed: int) -> list[dict[str, float]]:
    """Write one file of random visits; the number of rows is in its name."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rows, random, writer = int(Path(path).stem.split("-")[1]), np.random.default_rng(seed), None
    with Path(path).open("wb") as file:
        for begin in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - begin)
            person = random.integers(0, PEOPLE, size)
            group = (7 * person + random.integers(0, DEPARTMENTS_OF_A_PERSON, size)) % GROUPS
            hours = np.minimum(UPPER, np.round(4 * random.gamma(4.0, 8 + group / 10)) / 4)
            table = pa.table(
                {
                    "person_id": person,
                    "department": pa.array(KEYS).take(pa.array(group)),
                    "hours": hours,
                }
            )
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
    return []


WORKS: dict[str, Callable[[str, int], list[dict[str, float]]]] = {
    work.__name__: work for work in (ours, ours_by_person, duckdb, opendp, pydp, diffprivlib, make_file)
}


# How it is measured.


@dataclass(frozen=True)
class Run:
    """What one process took and said."""

    seconds: float
    megabytes: float
    answers: list[dict[str, float]]


def run(python: Path, work: str, path: Path | str, number: int = 1) -> Run:
    """Start a process on one core and wait for it."""
    command = [str(python), __file__, "--work", work, str(path), str(number)]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        core = min(os.sched_getaffinity(0))
        process = subprocess.Popen(
            command,
            stdout=said,
            stderr=complained,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | ONE_THREAD,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509  (no threads here)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        if process.returncode:
            raise SystemExit(f"{work} failed:\n{complained.read().decode()[-2000:]}")
        answers = json.loads(said.read() or b"[]")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, answers)


def best(pythons: dict[str, Path], path: Path | str, rounds: int = 7) -> dict[str, Run]:
    """Return the quickest run of each work. They take turns, so that a busy moment hits all; memory is the most."""
    runs: dict[str, list[Run]] = {work: [] for work in pythons}
    for _ in range(rounds):
        for work, python in pythons.items():
            runs[work].append(run(python, work, path))
    return {
        work: Run(min(one.seconds for one in own), max(one.megabytes for one in own), own[0].answers)
        for work, own in runs.items()
    }


def environment(peer: str) -> Path:
    """Return the Python of a peer, installed once."""
    folder = ROOT / ".venv-peers" / peer
    if not (folder / ".installed").exists():
        print(f"Installing {peer} (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install: list[str | Path] = [
            folder / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*install, *PEERS[peer]], check=True)
        (folder / ".installed").touch()
    return folder / "bin" / "python"


def files(folder: Path, rows: int) -> str:
    """Return a pattern that names files with so many rows together, made once."""
    size = min(rows, ROWS_OF_A_FILE)
    for seed in range(rows // size):
        path = folder / f"{rows}-rows" / f"visits-{size}-{seed}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"draft-{size}-{seed}.parquet")
            run(Path(sys.executable), "make_file", draft, seed)
            draft.rename(path)
    return str(folder / f"{rows}-rows" / "visits-*.parquet")


def rmse(answers: Iterable[dict[str, float]], truth: dict[str, float]) -> float:
    """Return the error of a group's mean."""
    squares = [(answer[key] - truth[key]) ** 2 for answer in answers for key in truth]
    return float((sum(squares) / len(squares)) ** 0.5)


def line(work: str, figure: str, reached: str, *, good: bool | None = None) -> None:
    """Print one line of the table."""
    mark = {True: "yes", False: "NO", None: ""}[good]
    print(f"{work:<46}{figure:<44}{reached:<70}{mark}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Releases per group beside their peers.")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=float, default=1e7, help="the largest table: 1e6, 1e7 (unless given) or 1e8")
    parser.add_argument("--folder", type=Path, default=ROOT / ".benchmarks", help="where tables are kept for next time")
    chosen = parser.parse_args()
    if chosen.work:
        work, path, number = chosen.work
        print(json.dumps(WORKS[work](path, int(number))))
        return

    here = Path(sys.executable)
    peers = {peer: environment(peer) for peer in PEERS}
    line("work", "figure to reach", "reached")

    million = files(chosen.folder, 1_000_000)
    theirs = best({"ours": here, "duckdb": here, **peers}, million)
    mine = theirs["ours"]
    for peer, most in (("opendp", 0.15), ("pydp", 0.6)):
        ratio = mine.seconds / theirs[peer].seconds
        said = f"{ratio:.2f} x ({mine.seconds:.2f} s of {theirs[peer].seconds:.2f} s)"
        line("mean + count in 100 groups, 1e6 rows", f"at most {most} x {peer}", said, good=ratio <= most)

    truth = theirs["duckdb"].answers[0]
    errors = {peer: rmse(run(python, peer, million, 20).answers, truth) for peer, python in peers.items()}
    error = rmse(run(here, "ours", million, 20).answers, truth)
    said = f"{error:.4f} against " + ", ".join(f"{errors[peer]:.4f} ({peer})" for peer in errors)
    least = min(errors["opendp"], errors["diffprivlib"])
    line("error of a group's mean, epsilon 1, 1e6 rows", "below opendp and diffprivlib", said, good=error < least)
    if chosen.rows < ROWS_OF_A_FILE:
        return

    many = files(chosen.folder, 10_000_000)
    found = best({"duckdb": here, "ours": here}, many)
    plain, private = found["duckdb"], found["ours"]
    ratio = private.seconds / plain.seconds
    said = f"{ratio:.2f} x ({private.seconds:.2f} s of {plain.seconds:.2f} s), {private.megabytes:.0f} MB"
    good = ratio <= 3 and private.megabytes < 300
    line("same, 1e7 rows", "at most 3 x duckdb, under 300 MB", said, good=good)
    people = best({"ours_by_person": here}, many, rounds=3)["ours_by_person"]
    ratio = people.seconds / private.seconds
    said = f"{ratio:.2f} x ({people.seconds:.2f} s), {people.megabytes:.0f} MB"
    line("with unit, 1e6 people, 1e7 rows", "report; aim 5 x without", said)
    if chosen.rows < 10 * ROWS_OF_A_FILE:
        return

    longest = best({"ours": here}, files(chosen.folder, 100_000_000), rounds=3)["ours"]
    # Without what a start takes, whatever there is to read: 1 means that ten times the rows take ten times as long.
    growth = (longest.seconds - private.seconds) / (private.seconds - mine.seconds) / 10
    said = f"{longest.megabytes:.0f} MB, {growth:.2f} x per row ({longest.seconds:.2f} s in all)"
    good = longest.megabytes < 500 and 0.8 <= growth <= 1.2
    line("same, 1e8 rows", "under 500 MB, time per row as 1e7 +- 20 %", said, good=good)


if __name__ == "__main__":
    main()
