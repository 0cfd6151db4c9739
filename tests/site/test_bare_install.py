"""`pip install hetdp` alone: what works without any extra, and what is said where one is missing.

Everything that is installed here and that hetdp itself does not ask for is hidden from a process of its own.
"""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pyarrow import csv, parquet

ROOT = Path(__file__).resolve().parents[2]
#: Then `json.loads(sys.argv[1])` cannot be imported.
HIDING = """
import contextlib, doctest, io, json, sys

hidden = json.loads(sys.argv[1])

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
COMMANDS = """
from hetdp.cli.main import main

results = []
for command in json.loads(sys.argv[2]):
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(command)
        except SystemExit as left:
            code = left.code
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""
EXAMPLES = """
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
print("failed:", doctest.testfile(sys.argv[2], module_relative=False, optionflags=flags).failed)
"""
#: What is asked for, and what is missing for it.
MISSING = {
    "node status": ("msgspec and zmq", "node"),
    "network create net.toml --catalogue me.csv --epsilon 1": ("msgspec and zmq", "node"),
    "label .": ("msgspec and zmq", "node"),
    "audit --all --quick": ("msgspec", "node"),
    "reproduce --quick": ("jinja2, joblib and vl_convert", "report"),
    "learn likes.csv --epsilon 1 -o m.hetdp --dask tcp://127.0.0.1:9": ("distributed", "dask"),
    "release people.csv --aggregate count --epsilon 1": ("duckdb", "duckdb"),
    "release postgresql://127.0.0.1/x --table t --aggregate count --epsilon 1": ("ibis and psycopg", "sql"),
}


def needed(distribution, extras=frozenset()):
    """Return the distributions that one needs, and all that those need."""
    found = {canonicalize_name(distribution)}
    for text in metadata.requires(distribution) or []:
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            found |= needed(one.name, frozenset(one.extras))
    return found


@pytest.fixture(scope="module")
def hidden():
    """The modules that a bare installation would not have."""
    kept = needed("hetdp")
    found = sorted(
        module
        for module, owners in metadata.packages_distributions().items()
        if not kept & {canonicalize_name(owner) for owner in owners}
    )
    assert {"pandas", "polars", "sklearn", "duckdb", "msgspec", "zmq", "jinja2", "distributed"} <= set(found)
    assert not {"numpy", "numba", "scipy", "pyarrow", "rich", "click", "cryptography", "hetdp"} & set(found)
    return json.dumps(found)


@pytest.fixture
def bare(hidden, tmp_path):
    """Run commands as a bare installation would; (exit code, standard output, standard error) of each."""

    def run(*commands):
        script = [
            sys.executable,
            "-c",
            HIDING + COMMANDS,
            hidden,
            json.dumps([command.split() for command in commands]),
        ]
        done = subprocess.run(script, capture_output=True, text=True, check=True, cwd=tmp_path)
        return json.loads(done.stdout)

    return run


@pytest.fixture
def files(tmp_path):
    pairs = [(user, item) for user in range(60) for item in range(30) if (user + item) % 3]
    users, items = zip(*pairs, strict=True)
    ids = range(200)
    people = pa.table({"id": ids, "hours": [n % 80 for n in ids], "dial": [n % 3 / 2 for n in ids]})
    for name, table in {"likes": pa.table({"user": users, "item": items}), "people": people}.items():
        csv.write_csv(table, tmp_path / f"{name}.csv")
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "me.csv").write_text("item\n3\n4\n")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(30))))
    (tmp_path / "mine.py").write_text(
        "import hetdp\n\ndef noisy_sum(values):\n    return sum(values) + int(hetdp.discrete_laplace(4, 1)[0])\n"
    )
    return tmp_path


@pytest.mark.slow
def test_answers_neighbours_models_and_recommendations_need_no_extra(bare, files):
    mean = "--query mean --column hours --lower 0 --upper 80 --weight-column dial --epsilon 1"
    commands = [
        f"release people.csv {mean} --ledger people.db --id-column id -o answer.json",
        f"release people.parquet {mean} --ledger people.db --id-column id",
        "neighbors likes.csv --epsilon 1 -k 3 -o near.csv --ledger likes.db --limit 9",
        "neighbors likes.parquet --epsilon 1 -k 3 -o near.jsonl --ledger likes.db",
        "learn likes.csv --epsilon 3 --catalogue items.txt -o model.hetdp",
        "recommend model.hetdp me.csv -n 2 --why",
        "recommend model.hetdp likes.csv -n 2 -o mine.parquet",
        "evaluate likes.csv --epsilon 1 -k 3 --runs 2 --engine exact",
        "budget people.db",
        "label model.hetdp",
        "compare --query mean --items 50 --runs 2 --epsilon 1",
        "datasets likes.csv -o copy.parquet",
        "audit mine.py:noisy_sum --claimed 1 --adjacent [[[0,1],[1,1]]] --samples 1000 --seed 1",
        "--version",
    ]
    for command, (code, out, err) in zip(commands, bare(*commands), strict=True):
        assert code == 0, f"{command}: {err}"
        assert out, command
    assert parquet.read_table(files / "mine.parquet").column_names == ["user", "item", "score"]
    assert len((files / "near.jsonl").read_text().splitlines()) == 180
    assert (files / "near.csv").read_text().startswith("user,neighbor,score,significance\n")


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_where_an_extra_is_missing_the_command_that_brings_it_is_told(bare):
    for (code, out, err), (command, (missing, extra)) in zip(bare(*MISSING), MISSING.items(), strict=True):
        told = " ".join(err.split())
        assert (code, out) == (2, ""), command
        assert f"needs {missing}, which" in told, command
        assert f"pip install 'hetdp[{extra}]'." in told, command
        assert "Traceback" not in told, command


@pytest.mark.slow
def test_the_readme_needs_no_extra(hidden):
    """The only run of its examples: pytest does not collect README.md."""
    command = [sys.executable, "-c", HIDING + EXAMPLES, hidden, ROOT / "README.md"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "failed: 0"
