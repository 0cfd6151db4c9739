"""A label as text, HTML and a record for registries: consequences first, small print last, no outside request."""

import functools
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from hetdp.accounting.guarantee import in_digits
from hetdp.accounting.label import SCHEMA, SCHEMA_VERSION, Label, Odds, Spending, posterior
from hetdp.core.checks import float_up
from hetdp.core.text import printable, several

if TYPE_CHECKING:
    from hetdp.accounting.guarantee import Guarantee

_COLUMNS = 80
_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)
_NOT_STOPPED = "Conclusions from the data of others, or from what is known already."


@dataclass(frozen=True)
class _Table:
    """How sure a reader can be: a row per prior, a column per weight."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _table(label: Label) -> _Table:
    weights = list(dict.fromkeys(odds.weight for odds in label.odds))
    named = [f"weight {weight:g}" for weight in weights] if label.guarantee.protects == "values" else ["any weight"]
    rows: dict[str, list[str]] = {}
    for odds in label.odds:
        rows.setdefault(_row_name(label, odds), []).append(odds.people)
    return _Table(("before reading", *named), tuple((name, *cells) for name, cells in rows.items()))


def _row_name(label: Label, odds: Odds) -> str:
    return (
        f"{odds.before}"
        if odds.items == 1
        else f"{odds.before}, {odds.items:,} {several(label.guarantee.protected)} at once"
    )


def _sections(label: Label) -> Iterator[tuple[str, list[str]]]:
    """Yield headings with their sentences, all but the headline and the table."""
    promise = label.guarantee
    if promise.simulated:
        yield (
            "What to do",
            ["This is fit for trying things out. Make it again without a seed before anybody relies on it."],
        )
        return
    yield "Who may be reading", [*_readers(label), f"Trust: {label.trust_text}."]
    if label.spending is not None:
        yield "What it adds up to", list(_spent(label, label.spending))
    together = "What goes together adds up" + (": see the last row." if label.items > 1 else ".")
    yield "What it does not stop", [f"{_NOT_STOPPED} {together}"]
    told = [*_about_weights(label), *promise.remarks]
    if told:
        yield "What else to know", told


def _about_weights(label: Label) -> Iterator[str]:
    """Yield how well it is hidden which weight somebody has chosen, where the promise says so and it costs more."""
    promise = label.guarantee
    if promise.protects == "weights" or promise.weights_amount is None or promise.unit != "epsilon":
        return
    right = _people(posterior(50, promise.weights_amount))
    yield f"Your privacy weights are secret, too. A reader would be right about {right} on which of two you chose."


def _readers(label: Label) -> Iterator[str]:
    adversary = label.guarantee.adversary
    yield f"{adversary[:1].upper()}{adversary[1:]}."
    if label.colluders is not None:
        number, level = label.colluders
        twice = 2 if label.guarantee.factor != "v_i" else 1
        right = _people(posterior(50, float_up(level * twice), min(1.0, label.guarantee.delta * twice)))
        yield f"{number} such readers who put what they have together would be right about {right}."


def _spent(label: Label, spending: Spending) -> Iterator[str]:
    if not spending.spent:
        yield "Nothing has been spent yet."
    elif math.isinf(spending.spent):
        yield "What was spent so far is not known: some charge did not say its level."
    else:
        chance = f" and delta = {in_digits(spending.delta)}" if spending.delta else ""
        level = f"{spending.unit} = {in_digits(spending.spent)}{chance}"
        right = "" if label.spent_odds is None else f" would be right about {_people(label.spent_odds)} of 100"
        yield f"So far, at weight 1: {level}. Someone who has read all of it{right}, instead of 50."
    if spending.left is not None:
        left = f"{spending.unit} = {_SIX_DOWN.create_decimal(repr(spending.left)).normalize():f}"
        yield f"Left: {left}. When that is used up, {spending.then}."
    yield f"Counted against {spending.against}."


def _people(after: Decimal) -> str:
    return f"{after.quantize(Decimal(1), rounding=ROUND_CEILING)}"


def _under_headline(label: Label) -> str:
    if label.guarantee.protects == "weights":
        return f"They want to know {label.question}. Your values play no part in it."
    whose = "your" if label.guarantee.protected == "person" else "its"
    return f"They want to know {label.question}, with {whose} privacy weight at {label.weights[0]:g}."


_CAPTION = "How many of 100 such people a reader may be sure of, after reading"


def _below_table(label: Label) -> str:
    if label.guarantee.protects == "weights":
        return "Rounded up."
    if label.guarantee.factor != "v_i":
        return "Rounded up. How many items there are is public, whatever their weights."
    what = {"item": "an item", "row": "a row", "person": "a person"}[label.guarantee.protected]
    return f"Rounded up. A privacy weight of 0 keeps {what} out: nobody learns anything by reading."


def _small_print(label: Label) -> list[tuple[str, str]]:
    promise = label.guarantee
    found = [
        ("level at weight 1" if promise.protects == "values" else "level", _level(label)),
        ("protected", f"{promise.protected if promise.protects == 'values' else 'weight'}: {label.adjacent}"),
        ("made by", label.mechanism),
        ("date", label.date),
        ("software", f"hetdp {label.version}"),
    ]
    return [(name, fact) for name, fact in found if fact is not None]


def _level(label: Label) -> str:
    """Return the numbers of the promise at weight 1, for those who know them."""
    promise = label.guarantee
    if promise.simulated:
        return "none"
    text = f"{promise.unit} = {in_digits(promise.amount)}"
    if promise.unit == "rho":
        epsilon, delta = label.level()
        return f"{text} (zCDP), which implies epsilon = {in_digits(epsilon)} with delta = {in_digits(delta)}"
    return f"{text}, delta = {in_digits(promise.delta)}" if promise.delta else text


# -- text -------------------------------------------------------------------------------------------------------------


def as_text(label: Label) -> str:
    """Return a label as text of at most 80 columns."""
    lines = [*_filled(f"Privacy label: {printable(label.title)}"), ""]
    lines[-1] = "=" * max(map(len, lines))
    lines += ["", *_filled(label.headline)]
    if not label.guarantee.simulated:
        lines += [
            *_filled(_under_headline(label)),
            "",
            f"{_CAPTION}:",
            *_text_table(_table(label)),
            *_filled(_below_table(label), 2),
        ]
    for heading, sentences in _sections(label):
        lines += ["", heading]
        for sentence in sentences:
            lines += _filled(sentence, 2)
    lines += ["", "Small print"]
    for name, fact in _small_print(label):
        lines += _filled(f"{name}: {printable(fact)}", 2, hanging=4)
    return "\n".join(lines) + "\n"


def _text_table(table: _Table) -> list[str]:
    widths = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
    rows = []
    for row in (table.header, *table.rows):
        cells = [
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        rows.append("  " + "   ".join(cells).rstrip())
    return rows


def _filled(text: str, indent: int = 0, hanging: int | None = None) -> list[str]:
    rest = " " * (indent if hanging is None else hanging)
    return textwrap.wrap(
        text, _COLUMNS, initial_indent=" " * indent, subsequent_indent=rest, break_on_hyphens=False
    ) or [""]


# -- HTML -------------------------------------------------------------------------------------------------------------


def as_html(label: Label, *, page: bool) -> str:
    """Return a label as a page of its own, or as a part of one."""
    title = escape(printable(label.title))
    parts = [
        f'<article class="hetdp-label" lang="en" aria-label="Privacy label: {title}">',
        f"<style>{_style()}</style>",
    ]
    parts += [
        f"<header><p>Privacy label</p><h1>{title}</h1></header>",
        f'<p class="headline">{escape(label.headline)}</p>',
    ]
    if not label.guarantee.simulated:
        parts += [
            f"<p>{escape(_under_headline(label))}</p>",
            _html_picture(label),
            _html_table(_table(label)),
            f"<p class='quiet'>{escape(_below_table(label))}</p>",
        ]
    for heading, sentences in _sections(label):
        parts.append(f"<h2>{escape(heading)}</h2>")
        parts += [f"<p>{escape(printable(sentence))}</p>" for sentence in sentences]
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(printable(fact))}</dd>" for name, fact in _small_print(label))
    parts += [f"<h2>Small print</h2><dl>{rows}</dl>", "</article>"]
    body = "\n".join(parts)
    if not page:
        return body
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    scheme = '<meta name="color-scheme" content="light dark">'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}{scheme}<title>Privacy label: {title}</title>'
        f'</head>\n<body class="hetdp-label-page">\n<main>\n{body}\n</main>\n</body></html>\n'
    )


@functools.cache
def _style() -> str:
    lines = resources.files("hetdp.accounting").joinpath("label.css").read_text(encoding="utf-8").splitlines()[1:]
    return "".join(map(str.strip, lines))


def _html_table(table: _Table) -> str:
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in table.rows
    )
    return f"<table><caption>{_CAPTION}</caption><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _html_picture(label: Label) -> str:
    before, after, keys = _counts(label)
    words = ", ".join(keys.values())
    described = f'role="img" aria-label="100 dots: {words}"'
    drawn = f'<svg width="170" height="170" viewBox="0 0 170 170" {described}>{_dots(before, after)}</svg>'
    listed = "".join(
        f'<div><span class="key {name}" aria-hidden="true"></span>{escape(text)}</div>' for name, text in keys.items()
    )
    return f"<figure>{drawn}<figcaption>{listed}</figcaption></figure>"


def _counts(label: Label) -> tuple[int, int, dict[str, str]]:
    """Return whom a reader is right about before and after, of 100, and what the dots mean."""
    worst = next(odds for odds in label.odds if odds.before == 50)  # noqa: PLR2004  (a coin)
    before, after = worst.before, int(worst.people)
    keys = {
        "before": f"{before} right anyway, by tossing a coin",
        "more": f"{after - before} more, by reading this",
        "rest": f"{100 - after} still wrong",
    }
    return before, after, keys


def _dots(before: int, after: int) -> str:
    """Return 100 dots in rows of ten."""
    kinds = ["before"] * before + ["more"] * (after - before) + ["rest"] * (100 - after)
    return "".join(
        f'<circle class="{kind}" cx="{8.5 + 17 * (place % 10):g}" cy="{8.5 + 17 * (place // 10):g}" r="6"/>'
        for place, kind in enumerate(kinds)
    )


# -- registry ---------------------------------------------------------------------------------------------------------

_LAWS: Mapping[str, str] = {
    "epsilon": "epsilon and delta times the weight",
    "rho": "rho times the square of the weight, delta times the weight",
}


def _at_other_weights(promise: "Guarantee") -> str:
    if promise.protects == "weights":
        return "the same at every weight"
    if promise.factor != "v_i":
        return f"{promise.unit} times the sum of the weights of two items that are swapped"
    return _LAWS[promise.unit]


def _lost_by_weights(promise: "Guarantee") -> float:
    return promise.amount if promise.weights_amount is None else promise.weights_amount


def _composition(spending: Spending | None) -> dict[str, Any]:
    rule = "losses add up over releases, and over items of one person"
    if spending is None:
        return {"rule": rule}
    return {
        "rule": rule,
        "unit": spending.unit,
        "spent_at_weight_1": None if math.isinf(spending.spent) else spending.spent,
        "delta_spent_at_weight_1": spending.delta,
        "left_at_weight_1": None if spending.left is None or math.isinf(spending.left) else spending.left,
        "adversary": spending.against,
    }


def as_record(label: Label) -> dict[str, Any]:
    """Return a label in the form of a registry of deployments."""
    promise, nothing = label.guarantee, label.guarantee.simulated
    colluders = label.colluders
    level = (None, None) if nothing else label.level()
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "title": label.title,
        **({} if label.date is None else {"date": label.date}),
        "software": {"name": "hetdp", "version": label.version},
        "simulated": nothing,
        "headline": label.headline,
        "protects": {
            "unit": promise.protected,
            "what": "values" if promise.protects == "values" else "weights",
            "question": label.question,
            "adjacency": label.adjacent,
        },
        "trust": label.guarantee.trust,
        "adversary": promise.adversary,
        "at_weight_1": {
            "epsilon": level[0],
            "delta": level[1],
            "rho": promise.amount if promise.unit == "rho" and not nothing else None,
        },
        "at_other_weights": _at_other_weights(promise),
        "weights_loss": None if nothing or promise.recipients is not None else _lost_by_weights(promise),
        "colluders": None
        if colluders is None or nothing
        else {"number": colluders[0], "epsilon_at_weight_1": float(in_digits(colluders[1]))},
        "composition": _composition(label.spending),
        "mechanism": label.mechanism,
        "odds": [
            {"weight": odds.weight, "items": odds.items, "before": odds.before, "after": float(odds.after)}
            for odds in label.odds
        ],
        "remarks": [] if nothing else list(promise.remarks),
    }
