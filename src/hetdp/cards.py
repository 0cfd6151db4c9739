"""A card in a notebook: a title, a number shown large, facts, a table and sentences. Everything is escaped.

Text has the colour of the page around it (`currentColor`, no background), so that a card fits light and dark pages. A
card has no script, makes no request, and stays readable where a page removes its style.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources

from hetdp.core.text import printable

INK, MUTED, LINE, PAPER = "#22272e", "#5d6673", "#e3e6ea", "white"
#: Their replacements on dark pages.
DARK = {PAPER: "#14181d", INK: "#e6eaf0", MUTED: "#9aa5b3", LINE: "#2d3540"}
#: Colours of marks, readable on white and on near-black, and told apart by most colour-blind people. Text has none of
#: them: no colour is easy to read on both.
BLUE, ORANGE, GREEN, PURPLE = "#3f7fd1", "#d97a1f", "#1f9e78", "#a565c9"
PINK, OCHRE = "#cf5590", "#a8842c"
#: For a promise that is broken.
RED = "#d8453b"

#: Pixels of a small drawing in a table.
_WIDE, _HIGH = 120, 14


@dataclass(frozen=True)
class Glyph:
    """A small drawing in a cell; `words` describe it to people who cannot see it."""

    inside: str
    words: str

    def html(self) -> str:
        """Return the drawing as SVG."""
        return (
            f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
            f'aria-label="{_text(self.words)}">{self.inside}</svg>'
        )


def bar(share: float, words: str, color: str = BLUE) -> Glyph:
    """Return a bar that is filled up to some share."""
    filled = _WIDE * min(max(share, 0.0), 1.0)
    track = f'<rect x="0" y="4" width="{_WIDE}" height="6" rx="3" fill="currentColor" opacity=".16"/>'
    return Glyph(f'{track}<rect x="0" y="4" width="{filled:.1f}" height="6" rx="3" fill="{color}"/>', words)


def interval(low: float | None, estimate: float, high: float | None, span: tuple[float, float], words: str) -> Glyph:
    """Return an estimate within its interval, on the scale from the lowest to the highest of a table."""
    begin, end = span

    def place(number: float) -> float:
        return 5 + (_WIDE - 10) * ((number - begin) / (end - begin) if end > begin else 0.5)

    reach = ""
    if low is not None and high is not None:
        reach = (
            f'<line x1="{place(low):.1f}" x2="{place(high):.1f}" y1="7" y2="7" stroke="{BLUE}" stroke-width="6" '
            'stroke-linecap="round" opacity=".35"/>'
        )
    return Glyph(f'{reach}<circle cx="{place(estimate):.1f}" cy="7" r="3.6" fill="{BLUE}"/>', words)


@dataclass(frozen=True)
class CardTable:
    """Rows of texts and small drawings.

    Attributes
    ----------
    header
        Names of the columns.
    rows
        Cells, as many as there are names; more than `most` rows are counted rather than shown.
    numbers
        Places of the columns that are numbers.
    rest
        Where all rows are, in words.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Glyph]]
    numbers: Sequence[int] = ()
    most: int = 20
    rest: str = ""

    def html(self) -> str:
        """Return the table, and how many rows it leaves out."""
        header = "".join(
            f'<th scope="col"{self._kind(place)}>{_text(name)}</th>' for place, name in enumerate(self.header)
        )
        body = "".join(f"<tr>{''.join(map(self._cell, range(len(row)), row))}</tr>" for row in self.rows[: self.most])
        left = len(self.rows) - self.most
        more = f'<p class="quiet">{left:,} more{_text(self.rest)}.</p>' if left > 0 else ""
        return f'<table class="rows"><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>{more}'

    def _kind(self, place: int) -> str:
        return ' class="number"' if place in self.numbers else ""

    def _cell(self, place: int, cell: str | Glyph) -> str:
        inside = cell.html() if isinstance(cell, Glyph) else _text(cell)
        return f'<th scope="row">{inside}</th>' if not place else f"<td{self._kind(place)}>{inside}</td>"


@dataclass(frozen=True)
class Card:
    """What a card shows, from top to bottom; what is empty is left out.

    Attributes
    ----------
    title, about
        What it is, and what of it, quieter.
    marks
        Words that must not be overlooked: "private", "simulated".
    lead
        A number shown large, and what belongs to it.
    facts
        By name; a drawing may stand for a fact.
    table
        Rows.
    sentences
        Each a paragraph.
    folded
        What is shown when its heading is clicked: sentences, or facts.
    """

    title: str
    about: str = ""
    marks: Sequence[str] = ()
    lead: tuple[str, str] | None = None
    facts: Mapping[str, str | Glyph] = field(default_factory=dict)
    table: CardTable | None = None
    sentences: Sequence[str] = ()
    folded: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)

    def html(self) -> str:
        """Return the card.

        Examples
        --------
        >>> "<b>&lt;b&gt;</b>" in Card("<b>").html()
        True
        """
        marks = "".join(f'<span class="flag">{_text(mark)}</span>' for mark in self.marks)
        about = f'<span class="quiet">{_text(self.about)}</span>' if self.about else ""
        parts = [f'<p class="title"><b>{_text(self.title)}</b>{about}{marks}</p>']
        if self.lead is not None:
            large, beside = self.lead
            parts.append(f'<p class="lead"><b>{_text(large)}</b>{_text(beside)}</p>')
        parts.append(_facts(self.facts))
        if self.table is not None:
            parts.append(self.table.html())
        parts += [f"<p>{_text(sentence)}</p>" for sentence in self.sentences]
        for heading, inside in self.folded.items():
            shown = f"<p>{_text(inside)}</p>" if isinstance(inside, str) else _facts(inside)
            parts.append(f"<details><summary>{_text(heading)}</summary>{shown}</details>")
        return f'<div class="hetdp-card"><style>{_rules()}</style>{"".join(parts)}</div>'


def _facts(facts: Mapping[str, str | Glyph]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{fact.html() if isinstance(fact, Glyph) else _text(fact)}</td></tr>'
        for name, fact in facts.items()
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>' if rows else ""


@functools.cache
def _rules() -> str:
    lines = resources.files("hetdp").joinpath("card.css").read_text(encoding="utf-8").splitlines()[1:]
    # The class three times, so that it wins against the rules of notebooks for every row of every table.
    return "".join(map(str.strip, lines)).replace(".card", ".hetdp-card" * 3).replace("ORANGE", ORANGE)


def _text(text: str) -> str:
    return escape(printable(text))
