"""Promises, answers, models and ledgers as cards for notebooks: what their `repr` dares to tell, and what is public."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.accounting.label import Spending
from hetdp.accounting.rows import charged_when, confidence_words, one_row, promise_words, vector_rows
from hetdp.core.errors import LedgerError
from hetdp.core.estimator import Estimator, shown_params
from hetdp.core.text import counted, several
from hetdp.pictures.cards import Card, CardTable, Glyph, bar, interval

if TYPE_CHECKING:
    from hetdp.accounting.ledger.ledger import Ledger
    from hetdp.accounting.releasing import Release

__all__ = ["guarantee_card", "interval_cells", "ledger_card", "model_card", "promised", "release_card"]

#: Charges that are shown, and numbers of a vector.
_LAST, _MOST = 5, 12


def promised(guarantee: Guarantee) -> dict[str, Any]:
    """Return the parts of a card that tell a promise: in a line, what it means, and in full."""
    if guarantee.simulated:
        return {"marks": ("simulated: do not publish",), "sentences": [guarantee.text]}
    return {
        "sentences": [promise_words(guarantee), guarantee.label().headline],
        "folded": {"The promise in full": guarantee.text},
    }


def guarantee_card(guarantee: Guarantee) -> Card:
    """Return the card of a promise."""
    return Card("Guarantee", **promised(guarantee))


def model_card(model: Estimator, guarantee: Guarantee | None) -> Card:
    """Return the card of a model: its parameters, and once it is fitted what it promises."""
    chosen, usual = shown_params(model)
    parts: dict[str, Any] = {"about": "not fitted yet" if guarantee is None else "fitted"}
    parts |= {} if guarantee is None else promised(guarantee)
    folded = {**parts.pop("folded", {}), **({"Parameters as by default": usual} if usual else {})}
    return Card(type(model).__name__, facts=chosen, folded=folded, **parts)


def release_card(answer: "Release") -> Card:
    """Return the card of an answer: the estimate and its interval, what was released, and the promise."""
    facts: dict[str, str | Glyph] = {}
    lead = table = None
    if isinstance(answer.value, np.ndarray):
        table = _vector_table(answer)
    else:
        row = one_row(answer)
        within = f"{row['from']} to {row['to']} ({confidence_words(answer.confidence)})" if row["from"] else ""
        lead = (row["shown"], within) if row["shown"] else (row["as_left"], "as dials leave it")
        if row["shown"]:
            facts["as dials leave it"] = row["as_left"]
    if answer.reason is not None:
        facts["no estimate" if answer.estimate is None else "no interval"] = answer.reason
    if answer.scale is not None:
        facts["noise"] = f"{answer.noise}, scale {answer.scale:.6g}"
    return Card("Release", about=answer.query, lead=lead, table=table, facts=facts, **promised(answer.guarantee))


def _vector_table(answer: "Release") -> CardTable:
    """Return the table of a histogram, or of another vector."""
    rows = vector_rows(answer)
    if answer.estimate is None:
        noisy = [(row["name"], row["as_left"]) for row in rows]
        return CardTable(("", "as dials leave it"), noisy, numbers=(1,), most=_MOST, rest=" in .value")
    header = ("", "estimate", "from", "to", confidence_words(answer.confidence))
    shown = [(row["name"], *cells) for row, cells in zip(rows, interval_cells(rows), strict=True)]
    return CardTable(header, shown, numbers=(1, 2, 3), most=_MOST, rest=" in .estimate, .low and .high")


def interval_cells(rows: "list[dict[str, Any]]") -> Iterator[tuple[str | Glyph, ...]]:
    """Yield the cells of estimates with their intervals, and a small drawing of each on a common scale."""
    known = [row[end] for row in rows for end in ("estimate", "low", "high") if row[end] is not None]
    for row in rows:
        drawing: str | Glyph = ""
        if row["estimate"] is not None:
            span = (min(known), max(known))
            drawing = interval(row["low"], row["estimate"], row["high"], span, f"{row['name']}: {row['words']}")
        yield row["shown"], row["from"], row["to"], drawing


def ledger_card(ledger: "Ledger") -> Card:
    """Return the card of a ledger: what is public about it, and how many accounts there are, which is private."""
    place = "in memory" if ledger.path is None else f"file {ledger.path.name}"
    try:
        facts, history = dict(_ledger_facts(ledger)), ledger.history
        kind = several(ledger.protects) if ledger.colluders is None else "profiles"
    except LedgerError:
        return Card("Ledger", about=f"closed or unreadable, {place}")
    charges = [
        (
            entry.description or "a charge",
            "not said" if entry.amount is None else f"{entry.unit} = {in_digits(entry.amount)}",
            charged_when(entry),
        )
        for entry in reversed(history)
    ]
    header = ("last charges", "level", "when (UTC)")
    table = CardTable(header, charges, numbers=(1,), most=_LAST, rest=" in .history") if charges else None
    return Card(f"Ledger of {kind}", about=f"{counted(len(history), 'charge')}, {place}", facts=facts, table=table)


def _ledger_facts(ledger: "Ledger") -> Iterator[tuple[str, str | Glyph]]:
    spending, limit = Spending.of(ledger), ledger.limit
    boundless = limit is None or math.isinf(limit)
    if math.isinf(spending.spent):
        yield "spent at a dial of 1", "not known: a charge did not say its level"
    else:
        words = f"{spending.unit} = {in_digits(spending.spent)}" + ("" if boundless else f" of {limit:g}")
        yield "spent at a dial of 1", words
        if limit is not None and not boundless:
            yield "", bar(spending.spent / limit if limit else 1.0, words)
    accounts: Mapping[str, tuple[float, float | None]] = {
        "spent by dials": (ledger.weights_spent, ledger.weights_limit),
        "delta": (ledger.delta_spent, ledger.delta_limit),
    }
    for name, (spent, most) in accounts.items():
        if spent or most is not None:
            yield name, in_digits(spent) + ("" if most is None or math.isinf(most) else f" of {most:g}")
    yield "against", spending.against
    if ledger.colluders is None:
        yield "private", counted(ledger.size, ledger.protects, several(ledger.protects))
