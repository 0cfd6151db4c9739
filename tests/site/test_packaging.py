"""What a wheel and a source archive hold: all of hetdp, nothing that lies around, and always the same bytes."""

import os
import shutil
import stat
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

sdist = pytest.importorskip("hatchling.builders.sdist", reason="hatchling is not installed: pip install --group test")
wheel = pytest.importorskip("hatchling.builders.wheel")

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
#: What is in the source archive, and what hatchling adds of its own accord.
ARCHIVED = {*SETTINGS["sdist"]["only-include"], "pyproject.toml", ".gitignore", "PKG-INFO"}
#: Kinds of files that a package may hold; a new one is welcome here, a stray one is not.
KINDS = {".py", ".pyi", ".typed", ".html", ".css", ".js", ".json", ".svg"}
#: What a working copy gathers.
LITTER = (
    "ledger.db",
    ".venv/lib/x.py",
    "build/docs/index.html",
    "dist/hetdp-0.0.1.tar.gz",
    "src/hetdp/__pycache__/x.cpython-311.pyc",
    "src/hetdp/neighbors/_kernels/__pycache__/ranking.rank-1.py311.nbi",
    "src/hetdp/neighbors/_kernels/ranking.rank-1.py311.1.nbc",
    "tests/__pycache__/x.pyc",
    "tests/people.db",
)


def build(builder, root, to):
    return Path(next(builder(str(root)).build(directory=str(to), versions=["standard"])))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source archive of this tree, made from a copy in which a lot lies around."""
    place = tmp_path_factory.mktemp("packaging")
    copy = place / "copy"
    copy.mkdir()
    for name in (*ARCHIVED - {"PKG-INFO"}, ".gitignore"):
        if (ROOT / name).is_dir():
            caches = shutil.ignore_patterns("__pycache__", "*.db", "*.db-*")
            shutil.copytree(ROOT / name, copy / name, ignore=caches, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, copy / name)
    for name in LITTER:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("litter")
    made = [build(kind, copy, place / "first") for kind in (wheel.WheelBuilder, sdist.SdistBuilder)]
    return copy, *made


def names_of(path):
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


@pytest.mark.slow
def test_a_wheel_holds_the_package_and_the_unit_of_a_node(built):
    copy, made, _ = built
    package = {path.relative_to(copy / "src") for path in (copy / "src" / "hetdp").rglob("*") if path.suffix in KINDS}
    names = names_of(made)
    assert {Path(name) for name in names if name.startswith("hetdp/")} == package
    assert {
        "hetdp/py.typed",
        "hetdp/node/page/static/page.js",
        "hetdp/node/page/templates/base.html",
        "hetdp/experiments/report/template.html",
        "hetdp/experiments/data/published_figures.json",
    } <= set(names)
    others = {name.partition("/")[2] for name in names if not name.startswith("hetdp/")}
    unit, licence = "data/share/hetdp/hetdp-node.service", "licenses/LICENSE"
    assert others == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", licence, unit}


def test_the_package_holds_no_kind_of_file_that_nobody_expects():
    files = [path for path in (ROOT / "src" / "hetdp").rglob("*") if path.is_file()]
    found = [path for path in files if path.parent.name != "__pycache__"]
    assert [path.name for path in found if path.suffix not in KINDS] == []


def test_a_source_archive_holds_what_was_chosen(built):
    names = names_of(built[2])
    assert {name.partition("/")[0] for name in names} == ARCHIVED
    assert {"src/hetdp/py.typed", "tests/site/test_packaging.py", "tools/release_check.py"} <= set(names)


@pytest.mark.parametrize("which", [1, 2], ids=["wheel", "sdist"])
def test_nothing_that_lies_around_is_taken(built, which):
    names = names_of(built[which])
    assert not set(LITTER) & {*names, *(f"src/{name}" for name in names)}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc", ".db"))]


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(built, tmp_path):
    """Another day, another umask, other rights of files; and from the archive instead of the tree."""
    copy, *first = built
    again = tmp_path / "again"
    shutil.copytree(copy, again)
    later = time.time() + 86400
    for path in again.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (later, later))
    before = os.umask(0o077)
    try:
        second = [build(kind, again, tmp_path / "second") for kind in (wheel.WheelBuilder, sdist.SdistBuilder)]
    finally:
        os.umask(before)
    assert [path.read_bytes() for path in second] == [path.read_bytes() for path in first]
    with tarfile.open(first[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("hetdp-*")
    assert build(wheel.WheelBuilder, unpacked, tmp_path / "third").read_bytes() == first[0].read_bytes()


def test_everybody_may_read_what_is_installed_and_nothing_is_run_by_itself(built):
    with zipfile.ZipFile(built[1]) as archive:
        modes = {stat.S_IMODE(info.external_attr >> 16) for info in archive.infolist()}
    with tarfile.open(built[2]) as archive:
        members = archive.getmembers()
    assert modes | {member.mode for member in members} == {0o644}
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
