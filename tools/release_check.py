"""Is what we would publish whole? Builds it twice, compares bytes, installs it, and runs every group of commands.

`python tools/release_check.py` (or `make release-check`) takes the last commit, from clean clones, so that nothing that
lies around can help. The wheel and the source archive are built on two days with two umasks, and the wheel once more
from the archive: all bytes must agree. Then, for each Python that we promise and that is installed, the wheel goes
into environments of its own, without extras and with each one, outside of the tree, and real commands are run there.
Minutes for each environment, most of them pip's and numba's. Nothing is left behind but what --output asks for.
"""

import argparse
import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
_DAY_S = 86400
_LONGEST_S = 1800
_SHOWN = 12
_PAID = "--weight-column weight --epsilon 1 --ledger ledger.db"

Result = TypeVar("Result")

#: What every installation can do: one real command of each group. `people.csv` and `likes.csv` come from the first two.
BARE = (
    "hetdp --version",
    "hetdp warm-up exact",
    "hetdp demo",
    "hetdp demo --save people.csv",
    "hetdp datasets digg_like -o likes.csv",
    f"hetdp release people.csv --query mean --column hours --lower 0 --upper 80 {_PAID} --id-column id -o answer.json",
    "hetdp compare --query mean --items 100 --runs 20 --epsilon 1",
    "hetdp budget ledger.db",
    "hetdp label answer.json",
    "hetdp neighbors likes.csv --epsilon 1 -k 5 -o near.parquet --ledger likes.db --limit 5",
    "hetdp learn likes.csv --epsilon 3 -o model.hetdp",
    "hetdp recommend model.hetdp me.csv --why",
    "hetdp recommend model.hetdp likes.csv -o items.jsonl",
    "hetdp evaluate likes.csv --epsilon 1 -k 5 --runs 2",
    "hetdp audit mine.py:noisy_sum --claimed 1 --adjacent '[[[0, 1], [1, 1]]]' --samples 2000",
    "python -m doctest -o ELLIPSIS -o NORMALIZE_WHITESPACE README.md",
)
#: What an extra is for. An extra that is not named here is a failure: nobody would know whether it works.
WITH_EXTRA = {
    "report": ("hetdp reproduce --quick -o reproduction",),
    "node": (
        "hetdp network create net.toml --catalogue items.csv --epsilon 1 --epoch-length 1d",
        "hetdp node init --network net.toml --profile me.csv --folder home",
        "hetdp node status --folder home",
        "hetdp label home",
        "hetdp node demo --nodes 4",
        "hetdp audit --all --list",
    ),
    "dask": ("python on_dask.py",),
    "duckdb": (
        "hetdp demo --save people.csv",
        f"hetdp release people.csv --aggregate mean:hours:0:80 --aggregate count --unit id {_PAID}",
    ),
    "sql": ("python on_sql.py",),
    "sklearn": ("python on_sklearn.py",),
    "plot": ("hetdp compare --query mean --items 100 --runs 20 --epsilon 1 --plot errors.svg",),
}
#: Files that commands find where they run.
GIVEN = {
    "me.csv": "item\n3\n14\n15\n92\n",
    "items.csv": "item,title\n" + "".join(f"{number},Item {number}\n" for number in range(200)),
    "mine.py": "import hetdp\n\n\ndef noisy_sum(values):\n"
    "    return sum(values) + int(hetdp.discrete_laplace(4, 1)[0])\n",
    "on_dask.py": """
import subprocess, sys
from pathlib import Path
from distributed import LocalCluster

hetdp = str(Path(sys.executable).parent / "hetdp")
if __name__ == "__main__":
    subprocess.run([hetdp, "datasets", "digg_like", "-o", "likes.csv", "-q"], check=True)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        words = ["learn", "likes.csv", "--epsilon", "3", "-o", "model.hetdp", "--dask", cluster.scheduler_address]
        subprocess.run([hetdp, *words], check=True)
""",
    "on_sql.py": """
import hetdp, ibis

people = ibis.memtable({"id": range(1000), "hours": [n % 80 for n in range(1000)]})
aggregates = {"hours": hetdp.tables.mean("hours", lower=0, upper=80)}
print(hetdp.release_table(people, aggregates, unit="id", epsilon=1.0).rows)
""",
    "on_sklearn.py": """
import hetdp
from sklearn.base import clone

likes = hetdp.datasets.digg_like(random_state=0)
model = clone(hetdp.PrivateNeighbors(5, epsilon=1.0, catalogue="given", random_state=0)).fit(likes)
print(model, model.kneighbors(likes)[1].shape)
""",
}


@dataclass
class Findings:
    """What was tried and what failed, told as it happens."""

    planned: int = 0
    tried: int = 0
    failed: list[str] = field(default_factory=list)

    def attempt(self, what: str, action: Callable[[], Result]) -> Result | None:
        """Return what an action gives; if it fails, note that, and return None so that the rest can go on."""
        self.tried += 1
        begin = time.monotonic()
        print(f"[{self.tried}/{self.planned}] {what} ... ", end="", flush=True)
        try:
            found = action()
        except Failed as failure:
            self.failed.append(what)
            last = "\n".join(f"    {line}" for line in str(failure).splitlines()[-_SHOWN:])
            print(f"FAILED after {time.monotonic() - begin:.0f} s\n{last}", flush=True)
            return None
        print(f"{time.monotonic() - begin:.0f} s", flush=True)
        return found


class Failed(Exception):
    """Something that would be published is not as it should be."""


def _run(words: Sequence[str | Path], folder: Path, *, home: Path | None = None) -> str:
    """Return what a command printed; raise its last words if it failed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SOURCE_DATE"))}
    environment |= {"PYTHONNOUSERSITE": "1"} | ({} if home is None else {"HOME": str(home)})
    try:
        done = subprocess.run(  # noqa: S603  (our own words)
            [str(word) for word in words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {_LONGEST_S} s") from None
    if done.returncode:
        raise Failed(f"{done.stdout}{done.stderr}\nexit code {done.returncode}")
    if "Traceback (most recent call last)" in done.stderr:
        raise Failed(done.stderr)
    return done.stdout


def settings() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pythons() -> list[str]:
    """Return the Pythons that we promise and that are installed."""
    prefix = "Programming Language :: Python :: 3."
    promised = [f"python3.{one.removeprefix(prefix)}" for one in settings()["project"]["classifiers"] if prefix in one]
    return [one for one in promised if _works(one)]


def _works(python: str) -> bool:
    try:
        _run([python, "-c", ""], ROOT)
    except (Failed, OSError):  # missing, or a shim of a version that is not
        return False
    return True


def _environment(python: str, folder: Path, *requirements: str) -> Path:
    """Make an environment that has nothing but some requirements; return where its commands are."""
    _run([python, "-m", "venv", folder], folder.parent)
    _run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *requirements], folder.parent)
    return folder / "bin"


def _built(builder: Path, sources: Path, to: Path) -> list[Path]:
    """Build a source archive and a wheel of a tree; return both."""
    _run([builder / "python", "-m", "hatchling", "build", "-d", to], sources)
    return sorted(to.iterdir())


def build(findings: Findings, scratch: Path) -> Path | None:
    """Build everything twice and once more from the archive; return the wheel."""
    first, second = scratch / "first", scratch / "second"

    def once() -> tuple[Path, list[Path]]:
        builder = _environment(sys.executable, scratch / "builder", *settings()["build-system"]["requires"])
        for copy in (first, second):
            _run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, copy], scratch)
        return builder, _built(builder, first, scratch / "dist")

    made = findings.attempt("build a wheel and a source archive from a clean clone", once)
    if made is None:
        return None
    builder, found = made

    def on_another_day() -> None:
        for path in second.rglob("*"):
            if ".git" not in path.parts:
                os.utime(path, (time.time() + _DAY_S,) * 2)
                path.chmod(path.stat().st_mode & 0o700)
        before = os.umask(0o077)
        try:
            _same(found, _built(builder, second, scratch / "again"))
        finally:
            os.umask(before)

    def from_the_archive() -> None:
        with tarfile.open(found[1]) as archive:
            archive.extractall(scratch / "unpacked", filter="data")
        (unpacked,) = (scratch / "unpacked").iterdir()
        _same(found[:1], [one for one in _built(builder, unpacked, scratch / "third") if one.suffix == ".whl"])

    findings.attempt("the same bytes on another day, with another umask", on_another_day)
    findings.attempt("the same wheel from the source archive", from_the_archive)
    for path in found:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"    {path.name}: {path.stat().st_size:,} bytes, SHA-256 {digest}")
    return found[0]


def _same(ours: Sequence[Path], others: Sequence[Path]) -> None:
    if [path.name for path in ours] != [path.name for path in others]:
        raise Failed(f"built {[path.name for path in others]}, and {[path.name for path in ours]} before")
    different = [one.name for one, other in zip(ours, others, strict=True) if one.read_bytes() != other.read_bytes()]
    if different:
        raise Failed(f"bytes differ: {', '.join(different)}")


def commands_of(extra: str | None) -> tuple[str, ...]:
    """Return what is run with an extra, or without any."""
    return BARE if extra is None else WITH_EXTRA[extra]


def install_and_run(findings: Findings, scratch: Path, wheel: Path, python: str, extra: str | None) -> None:
    """Install the wheel into an environment of its own and run what it should be able to do there."""
    brackets = "" if extra is None else f"[{extra}]"
    place = scratch / f"{Path(python).name}{brackets}"
    work = place / "work"
    work.mkdir(parents=True)

    def install() -> Path:
        found = _environment(python, place / "env", f"{wheel}{brackets}")
        where = _run([found / "python", "-c", "import hetdp; print(hetdp.__file__)"], work).strip()
        if not Path(where).is_relative_to(place):
            raise Failed(f"hetdp comes from {where}, not from the wheel")
        return found

    def run(programs: Path, command: str) -> None:
        program, *words = shlex.split(command)
        if not _run([programs / program, *words], work, home=place) and program == "hetdp":
            raise Failed("nothing was printed")

    programs = findings.attempt(f"{python}: pip install 'hetdp{brackets}'", install)
    if programs is None:
        findings.planned -= len(commands_of(extra))
        return
    shutil.copy(scratch / "first" / "README.md", work)
    for file, text in GIVEN.items():
        (work / file).write_text(text, encoding="utf-8")
    for command in commands_of(extra):
        findings.attempt(f"{python}{brackets}: {command}", partial(run, programs, command))
    shutil.rmtree(place)


def main() -> int:
    """Check everything; return 1 if anything failed."""
    known = list(settings()["project"]["optional-dependencies"])
    parser = argparse.ArgumentParser(description="Is what we would publish whole?")
    parser.add_argument("--python", action="append", help="a Python to install into; default: all that we promise")
    parser.add_argument("--extra", action="append", choices=["none", *known], help="default: none, and each of them")
    parser.add_argument("--output", type=Path, help="folder that gets the wheel and the archive if all is well")
    chosen = parser.parse_args()
    versions = chosen.python or pythons()
    for python in versions:
        if not _works(python):
            parser.error(f"--python must be a program such as python3.11. Got {python!r} instead.")
    wanted = chosen.extra or ["none", *known]
    extras = [None if one == "none" else one for one in wanted if one == "none" or one in WITH_EXTRA]
    findings = Findings(planned=3 + len(versions) * sum(1 + len(commands_of(extra)) for extra in extras))
    begin = time.monotonic()
    if _run(["git", "status", "--porcelain"], ROOT):
        print("There are changes that are not committed: what is checked is the last commit.")
    print(f"{findings.planned} steps for {', '.join(versions) or 'no Python at all'}; extras: {', '.join(wanted)}.")
    untried = [one for one in wanted if one != "none" and one not in WITH_EXTRA]
    findings.failed += [f"the extra {one} is not tried by any command of WITH_EXTRA" for one in untried]
    with tempfile.TemporaryDirectory(prefix="hetdp-release-") as folder:
        wheel = build(findings, Path(folder))
        if wheel is not None:
            for python, extra in itertools.product(versions, extras):
                install_and_run(findings, Path(folder), wheel, python, extra)
        if wheel is not None and chosen.output is not None and not findings.failed:
            shutil.copytree(wheel.parent, chosen.output, dirs_exist_ok=True)
    print(f"\n{findings.tried} of {findings.planned} steps were tried in {(time.monotonic() - begin) / 60:.0f} min.")
    for what in findings.failed:
        print(f"  failed: {what}")
    print("Something is wrong." if findings.failed or not versions else "All is well.")
    return 1 if findings.failed or not versions else 0


if __name__ == "__main__":
    sys.exit(main())
