"""Pictures of the documentation show what is there and what was measured; documents name files that exist."""

import importlib.util
import re
from pathlib import Path

import hetdp

ROOT = Path(__file__).parents[2]
SOURCE = Path(hetdp.__file__).parent


def script(path):
    """Load a script of the project that is no package."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_picture_of_the_architecture_shows_the_packages_there_are():
    drawing = script(ROOT / "docs" / "update_architecture.py")
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= set(drawing.layers())
    drawn = (ROOT / "docs" / "pictures" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == drawing.render(), "run docs/update_architecture.py"


def test_the_picture_of_quality_shows_what_was_measured():
    drawn = (ROOT / "docs" / "pictures" / "quality.svg").read_text(encoding="utf-8")
    assert drawn == script(ROOT / "docs" / "update_quality.py").render(), "run docs/update_quality.py"


def test_documents_name_no_file_of_the_project_that_is_not_there():
    folders = [ROOT, SOURCE, *(path for top in ("docs", "src") for path in (ROOT / top).rglob("*") if path.is_dir())]
    tests = {path.name for path in (ROOT / "tests").rglob("*.py")}
    for page in (*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")):
        for named in re.findall(r"`([\w/.-]+\.py)`", page.read_text(encoding="utf-8")):
            there = any((folder / named).exists() for folder in folders) or Path(named).name in tests
            assert there, f"{page.name} names {named}"
