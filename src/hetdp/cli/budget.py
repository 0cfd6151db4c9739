"""`hetdp budget`: what a ledger has recorded."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hetdp.cli.output import Voice, output_options, print_facts, print_json, print_rows

if TYPE_CHECKING:
    from hetdp.accounting.ledger.ledger import Entry

__all__ = ["budget"]


@click.command(short_help="Show what a ledger has recorded.")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--delta", default=1e-6, show_default=True, help="For the (epsilon, delta) figure.")
@click.option("--items", is_flag=True, help="Also list every item.")
@output_options
def budget(ledger: Path, *, delta: float, items: bool, voice: Voice) -> None:
    """Show what LEDGER has recorded: limits, losses so far, what is left, every release.

    The figures are the owner's: they depend on the secret weights. Showing them spends nothing.
    """
    import numpy as np

    from hetdp.accounting import Ledger

    with Ledger.open(ledger) as opened:
        spent, remaining, limits = opened.spent, opened.remaining, opened.limits
        report, history = opened.report(delta=delta), opened.history
        labels = opened.items or tuple(str(place) for place in range(opened.size))
        active, unit, weights_spent = opened.active, opened.unit, opened.weights_spent
    if voice.dry_run:
        voice.note("--dry-run: showing a budget never spends anything.")
    summary = {
        "ledger": ledger.name,
        "unit": unit,
        "items": int(spent.size),
        "releases": len(history),
        "spent_mean": float(spent.mean()),
        "spent_max": float(spent.max()),
        "remaining_min": float(remaining.min()),
        "exhausted_items": int(np.count_nonzero(remaining <= 0)),
        "dropped_items": int(np.count_nonzero(~active)),
        "weights_spent": weights_spent,
        "epsilon_max": _number(report.epsilon.max()),
        "rho_max": float(report.rho.max()),
        "epsilon_delta_max": float(report.epsilon_delta.max()),
        "delta": delta,
    }
    if voice.as_json:
        if items:
            summary["per_item"] = [
                {"item": label, "limit": float(limit), "spent": float(loss), "remaining": float(left)}
                for label, limit, loss, left in zip(labels, limits, spent, remaining, strict=True)
            ]
        summary["history"] = [
            {"time": entry.time, "query": entry.description, entry.unit: entry.amount, "dropping": entry.dropping}
            for entry in history
        ]
        print_json(summary)
        return
    print_facts("Privacy budget", {name.replace("_", " "): value for name, value in summary.items()})
    if history:
        rows = [(entry.time, entry.description, _level(entry), _dropping(entry)) for entry in history[-20:]]
        print_rows("Releases (the last 20)", ("time", "query", "level", ""), rows)
    if items:
        listed = [
            (str(label), f"{limit:.6g}", f"{loss:.6g}", f"{left:.6g}")
            for label, limit, loss, left in zip(labels, limits, spent, remaining, strict=True)
        ]
        print_rows("Items", ("item", "limit", "spent", "remaining"), listed)


def _level(entry: "Entry") -> str:
    return "" if entry.amount is None else f"{entry.unit} = {entry.amount:g}"


def _dropping(entry: "Entry") -> str:
    return "dropping" if entry.dropping else ""


def _number(value: float) -> float | None:
    """JSON has no infinity; None says that no pure epsilon holds."""
    return float(value) if value < float("inf") else None
