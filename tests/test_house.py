"""The house keeps its floor plan: rooms and their picture, one name for one thing, walks that stay short."""

import ast
import importlib.util
import re
from collections import defaultdict
from pathlib import Path

import pytest

import hetdp

ROOT = Path(__file__).parents[1]
SOURCE = Path(hetdp.__file__).parent
#: The most modules that a walk may run through.
LONGEST = {"a CSV to neighbours": 28, "a release": 23, "a release from Python": 22, "a release charged to a ledger": 31}


def script(path):
    """Load a script of the project that is no package."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def modules():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def test_the_picture_shows_the_packages_there_are():
    drawing = script(ROOT / "docs" / "update_architecture.py")
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert set(drawing.layers()) == packages
    assert (ROOT / "docs" / "pictures" / "architecture.svg").read_text(encoding="utf-8") == drawing.render(), (
        "run docs/update_architecture.py"
    )


def test_the_picture_of_quality_shows_what_was_measured():
    drawn = (ROOT / "docs" / "pictures" / "quality.svg").read_text(encoding="utf-8")
    assert drawn == script(ROOT / "docs" / "update_quality.py").render(), "run docs/update_quality.py"


def test_the_page_on_architecture_names_every_package_and_no_file_that_is_not_there():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in SOURCE.glob("*/__init__.py"):
        assert f"`{path.parent.name}/" in page, f"docs/architecture.md does not name {path.parent.name}/"
    for named in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page):
        places = (SOURCE / named, ROOT / named)
        assert any(place.exists() for place in places), f"docs/architecture.md names {named}"


def test_documents_name_no_file_of_the_project_that_is_not_there():
    folders = [
        ROOT,
        SOURCE,
        ROOT / "docs",
        *(path for path in (ROOT / "docs").rglob("*") if path.is_dir()),
        *(path for path in SOURCE.rglob("*") if path.is_dir()),
    ]
    tests = {path.name for path in (ROOT / "tests").rglob("*.py")}
    for page in (*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")):
        for named in re.findall(r"`([\w/.-]+\.py)`", page.read_text(encoding="utf-8")):
            there = any((folder / named).exists() for folder in folders) or Path(named).name in tests
            assert there, f"{page.name} names {named}"


def test_no_two_classes_share_a_name():
    found = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(SOURCE).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_neighbors_are_spelled_in_one_way_and_adjacent_data_are_not_called_so():
    named = set()
    for path, tree in modules().items():
        named.add((path, path.stem))
        for node in ast.walk(tree):
            named.update(
                (path, getattr(node, field)) for field in ("name", "id", "attr", "arg") if hasattr(node, field)
            )
    wrong = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path, name in named
        if isinstance(name, str) and ("neighbour" in name.lower() or re.search(r"neighbo?ring", name))
    }
    assert wrong == set()


@pytest.mark.slow
def test_walks_are_short(tmp_path):
    met = script(ROOT / "tools" / "walk.py").take_all(tmp_path)
    for name, most in LONGEST.items():
        assert len(met[name]) <= most, f"{name}: {sorted(met[name])}"
