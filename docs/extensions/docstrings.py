"""What our docstrings have beyond numpydoc: a section on privacy, and names of pages, which become links."""

import re
from collections.abc import Iterator
from typing import Any

_PAGE = re.compile(r"(?<![\w/])docs/([\w/]+)\.md\b")
_TITLE, _LINE = "Privacy", re.compile(r"-{3,}\s*$")
#: Numpydoc runs at 500 and drops sections that it does not know: ours is taken out before and put back after.
_BEFORE, _AFTER = 400, 600

_kept: dict[str, list[str]] = {}


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a docstring: the title, "" for what comes first, and all lines."""
    title, held = "", list[str]()
    for place, line in enumerate(lines):
        if line.strip() and place + 1 < len(lines) and _LINE.match(lines[place + 1].strip()):
            yield title, held
            title, held = line.strip(), []
        held.append(line)
    yield title, held


def _take_out(_app: Any, _what: str, name: str, _thing: object, _options: object, lines: list[str]) -> None:  # noqa: ANN401
    """Keep the section on privacy for later, and turn the names of pages into links."""
    kept, rest = list[str](), list[str]()
    for title, section in _sections([_PAGE.sub(r":doc:`/\1`", line) for line in lines]):
        if title == _TITLE:
            kept = section[2:]
        else:
            rest += section
    lines[:] = rest
    _kept[name] = kept


def _put_back(_app: Any, _what: str, name: str, _thing: object, _options: object, lines: list[str]) -> None:  # noqa: ANN401
    """Put the section on privacy before the examples, as a box of its own."""
    kept = _kept.pop(name, [])
    if not kept:
        return
    box = ["", ".. admonition:: Privacy", "   :class: privacy", "", *(f"   {line}" for line in kept), ""]
    place = next((place for place, line in enumerate(lines) if line.startswith(".. rubric:: Examples")), len(lines))
    lines[place:place] = box


def setup(app: Any) -> dict[str, bool]:  # noqa: ANN401  (Sphinx's application)
    """Listen before and after numpydoc."""
    app.connect("autodoc-process-docstring", _take_out, priority=_BEFORE)
    app.connect("autodoc-process-docstring", _put_back, priority=_AFTER)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
