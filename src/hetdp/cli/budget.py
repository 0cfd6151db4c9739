"""`hetdp budget`: what a ledger has recorded."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.output import Voice, output_options, print_facts, print_json, print_rows

if TYPE_CHECKING:
    from hetdp.accounting import Ledger
    from hetdp.accounting.ledger.ledger import Entry

__all__ = ["budget"]

#: Digits shown, in tables and in JSON.
_DIGITS = {False: 6, True: 12}


@click.command(short_help="Show what a ledger has recorded.")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--delta", default=1e-6, show_default=True, help="For the (epsilon, delta) figure.")
@click.option("--items", is_flag=True, help="Also list every item.")
@output_options
def budget(ledger: Path, *, delta: float, items: bool, voice: Voice) -> None:
    """Show what LEDGER has recorded: limits, losses so far, what is left, every release.

    Losses are rounded up and what is left is rounded down. The figures are the owner's: they depend on the secret
    weights. Showing them spends nothing.
    """
    from hetdp.accounting import Ledger

    digits = _DIGITS[voice.as_json]
    with Ledger.open(ledger) as opened:
        summary = {"ledger": ledger.name, **_summary(opened, delta, digits)}
        history = opened.history
        listed = _items(opened, digits) if items else []
    if voice.dry_run:
        voice.note("--dry-run: showing a budget never spends anything.")
    if voice.as_json:
        told = [_told(entry) for entry in history]
        print_json({**summary, **({"per_item": listed} if items else {}), "history": told})
        return
    print_facts("Privacy budget", {name.replace("_", " "): value for name, value in summary.items()})
    if history:
        rows = [(entry.time, entry.description, _level(entry), _dropping(entry)) for entry in history[-20:]]
        print_rows("Releases (the last 20)", ("time", "query", "level", ""), rows)
    if items:
        header = ("item", "limit", "spent", "remaining")
        print_rows("Items", header, [tuple(f"{row[name]}" for name in header) for row in listed])


def _summary(ledger: "Ledger", delta: float, digits: int) -> dict[str, Any]:
    """Return the figures about all items together, of which there may be millions."""
    found = ledger.summary(delta)

    def up(value: float) -> float | None:
        return rounded(value, digits, up=True)

    def down(value: float | None) -> float | None:
        return None if value is None else rounded(value, digits, up=False)

    return {
        "protects": ledger.protects,
        "against": "one who has seen all releases charged here, and everything public",
        "unit": ledger.unit,
        "items": found.items,
        "releases": len(ledger.history),
        "spent_mean": up(found.spent_mean),
        "spent_max": up(found.spent_max),
        "remaining_min": down(found.remaining_min),
        "exhausted_items": found.exhausted,
        "dropped_items": found.dropped,
        "total_of_weight_1": up(ledger.total),
        "limit_of_new_people": down(ledger.limit),
        "weights_spent": up(ledger.weights_spent),
        "weights_limit": down(ledger.weights_limit),
        "epsilon_max": up(found.epsilon_max),
        "rho_max": up(found.rho_max),
        "epsilon_delta_max": up(found.epsilon_delta_max),
        "delta": delta,
        "delta_spent": up(ledger.delta_spent),
        "delta_limit": down(ledger.delta_limit),
    }


def _items(ledger: "Ledger", digits: int) -> list[dict[str, Any]]:
    labels = ledger.items or tuple(str(place) for place in range(ledger.size))
    figures = zip(labels, ledger.limits.tolist(), ledger.spent.tolist(), ledger.remaining.tolist(), strict=True)
    return [
        {
            "item": label,
            "limit": rounded(limit, digits, up=False),
            "spent": rounded(spent, digits, up=True),
            "remaining": rounded(remaining, digits, up=False),
        }
        for label, limit, spent, remaining in figures
    ]


def rounded(value: float, digits: int, *, up: bool) -> float | None:
    """Return a figure with so many digits, never to the nearest; None for infinity, which JSON does not have.

    Examples
    --------
    >>> rounded(1 / 3, 3, up=True), rounded(2 / 3, 3, up=False), rounded(0.1, 3, up=True)
    (0.334, 0.666, 0.1)
    """
    if not math.isfinite(value):
        return None
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return float(context.create_decimal(repr(value)))


def _told(entry: "Entry") -> dict[str, Any]:
    return {
        "time": entry.time,
        "query": entry.description,
        entry.unit: entry.amount,
        "delta": entry.delta,
        "weights_loss": entry.weights_loss,
        "dropping": entry.dropping,
    }


def _level(entry: "Entry") -> str:
    levels = [] if entry.amount is None else [f"{entry.unit} = {rounded(entry.amount, 6, up=True):g}"]
    return ", ".join([*levels, *([f"delta = {rounded(entry.delta, 6, up=True):g}"] if entry.delta else [])])


def _dropping(entry: "Entry") -> str:
    return "dropping" if entry.dropping else ""
