"""Cells of a table that a spreadsheet may open: what it would run as a formula is marked as a text, and read again.

Titles come from a catalogue that others wrote. A title that is a formula could send the list away.
"""

import re

__all__ = ["bare_cell", "harmless_cell"]

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")


def harmless_cell(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one that begins like one gets a ' in front.

    Examples
    --------
    >>> harmless_cell("=HYPERLINK(A2)")
    "'=HYPERLINK(A2)"
    >>> harmless_cell("'Tis tea")
    "'Tis tea"
    """
    return f"'{text}" if _FORMULA.match(text) else text


def bare_cell(text: str) -> str:
    """Return what `harmless_cell` was given.

    Examples
    --------
    >>> [bare_cell(harmless_cell(text)) for text in ("=1", "'=1", "tea", "'Tis tea", "-")]
    ['=1', "'=1", 'tea', "'Tis tea", '-']
    """
    return text[1:] if _MARKED.match(text) else text
