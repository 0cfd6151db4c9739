"""`hetdp budget`: what a ledger has recorded."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hetdp.cli.output import (
    Voice,
    output_options,
    print_facts,
    print_json,
    print_private,
    print_rows,
    rounded,
)
from hetdp.core.text import counted, several

if TYPE_CHECKING:
    from hetdp.accounting import Ledger
    from hetdp.accounting.ledger.state import Entry

#: Digits shown, in tables and in JSON.
_DIGITS = {False: 6, True: 12}
#: Releases shown.
_SHOWN = 20


@click.command()
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--delta",
    default=1e-6,
    show_default=True,
    help="Of a ledger in rho: probability that a loss in epsilon does not hold.",
)
@click.option("--items", is_flag=True, help="Also list every person, row or item.")
@output_options
def budget(ledger: Path, *, delta: float, items: bool, voice: Voice) -> None:
    """Show what LEDGER has recorded: losses, limits, remaining budgets and every release.

    Losses are rounded up and remaining budgets down. The figures are the owner's: they depend on the
    secret privacy weights. Showing them spends nothing.
    """
    from hetdp.accounting import Ledger

    with Ledger.open(ledger) as opened:
        history = opened.history
        summary = {"ledger": ledger.name, **_summary(opened, delta, _DIGITS[voice.as_json])}
        of_profiles = opened.colluders is not None  # one total, and nobody's account
        private = {} if of_profiles else _private(opened, delta, _DIGITS[voice.as_json])
        listed = _items(opened, _DIGITS[voice.as_json]) if items else []
    if voice.as_json:
        owned = {} if of_profiles else {**private, **({"per_item": listed} if items else {})}
        print_json({**summary, "history": [_told(entry) for entry in history]}, private=owned)
        return
    print_facts(f"Privacy budget: {ledger.name}", _facts(summary))
    if history:
        deltas = any(entry.delta for entry in history[-_SHOWN:])
        rows = [_release(entry, deltas=deltas) for entry in history[-_SHOWN:]]
        last = f" (the last {_SHOWN} of {len(history):,})" if len(history) > _SHOWN else ""
        header = ("time (UTC)", "query", "level", *(("delta",) if deltas else ()), "weights", "")
        print_rows(f"Releases{last}", header, rows)
    if of_profiles:
        return
    print_private(_private_facts(summary, private))
    if items:
        header = ("item", "limit", "spent", "remaining")
        print_rows(
            f"All {several(summary['protects'])}",
            ("", *header[1:]),
            [tuple(f"{row[name]}" for name in header) for row in listed],
        )
    voice.note("Losses are against one who has seen all of these releases, and everything public.")


def _summary(ledger: "Ledger", delta: float, digits: int) -> dict[str, Any]:
    """Return what follows from the releases alone."""
    up, down = (partial(rounded, digits=digits, up=way) for way in (True, False))
    return {
        "protects": ledger.protects,
        "against": ledger.adversary,
        "unit": ledger.unit,
        "releases": len(ledger.history),
        "total_of_weight_1": up(ledger.spent_by_weight_1),
        **_limits(ledger, down),
        "weights_spent": up(ledger.weights_spent),
        "weights_limit": down(ledger.weights_limit),
        "delta": delta,
        "delta_spent": up(ledger.delta_spent),
        "delta_limit": down(ledger.delta_limit),
    }


def _limits(ledger: "Ledger", down: Callable[[float | None], float | None]) -> dict[str, Any]:
    """Return the limit of those who come later; of profiles, which have one total, also what is left of it."""
    if ledger.colluders is None:
        return {"limit_of_new_people": down(ledger.limit)}
    return {"colluders": ledger.colluders, "limit": down(ledger.limit), "left": down(ledger.left)}


def _private(ledger: "Ledger", delta: float, digits: int) -> dict[str, Any]:
    """Return the figures about all items together."""
    up, down = (partial(rounded, digits=digits, up=way) for way in (True, False))
    limits, spent, remaining, lost = ledger.limits, ledger.spent, ledger.remaining, ledger.report(delta)
    return {
        "items": ledger.size,
        "limit_min": down(float(limits.min(initial=math.inf))),
        "limit_max": down(float(limits.max(initial=0.0))) if ledger.size else None,
        "spent_mean": up(math.fsum(spent) / max(ledger.size, 1)),
        "spent_max": up(float(spent.max(initial=0.0))),
        "remaining_min": down(float(remaining.min(initial=math.inf))),
        "exhausted_items": int(np.count_nonzero(remaining <= 0)),
        "dropped_items": int(np.count_nonzero(~ledger.active)),
        "epsilon_max": up(float(lost.epsilon.max(initial=0.0))),
        "rho_max": up(float(lost.rho.max(initial=0.0))),
        "epsilon_delta_max": up(float(lost.epsilon_delta.max(initial=0.0))),
    }


def _facts(shown: Mapping[str, Any]) -> dict[str, str | None]:
    """Return in words what the releases add up to."""
    unit, new = shown["unit"], shown.get("limit_of_new_people")
    if "colluders" in shown:
        left = None if shown["left"] is None else f"{_figure(shown['left'])} of {shown['limit']:g}"
        return {
            "protects": f"each {shown['protects']} of a set of profiles",
            "against": shown["against"],
            "colluders": str(shown["colluders"]),
            f"spent at weight 1, of {unit}": _figure(shown["total_of_weight_1"]),
            "left at weight 1": left or "any amount: there is no limit",
            "delta": _of(shown["delta_spent"], shown["delta_limit"]),
        }
    return {
        f"spent at weight 1, of {unit}": _figure(shown["total_of_weight_1"]),
        f"limit of new {several(shown['protects'])}": None if new is None else f"{unit} = {new:g}",
        "spent by weights": _of(shown["weights_spent"], shown["weights_limit"]),
        "delta": _of(shown["delta_spent"], shown["delta_limit"]) if shown["delta_spent"] else None,
    }


def _private_facts(summary: Mapping[str, Any], private: Mapping[str, Any]) -> dict[str, str | None]:
    """Return in words whose a ledger is, what they have lost and what remains."""
    shown = {**summary, **private}
    unit, who, items = shown["unit"], several(shown["protects"]), shown["items"]
    if not items:
        limits = None
    elif shown["limit_min"] is None:
        limits = "none"
    elif shown["limit_min"] == shown["limit_max"]:
        limits = f"{unit} = {shown['limit_min']:g} each"
    else:
        limits = f"{unit} = {shown['limit_min']:g} to {_figure(shown['limit_max'])}"
    without = {name: shown[f"{name}_items"] for name in ("exhausted", "dropped") if shown[f"{name}_items"]}
    counts = {name: counted(number, shown["protects"], who) for name, number in without.items()}
    return {
        "who": counted(items, shown["protects"], who),
        "limit": limits,
        "spent": f"at most {_figure(shown['spent_max'])}, on average {_figure(shown['spent_mean'])}" if items else None,
        "spent in epsilon": None if unit == "epsilon" or not items else _in_epsilon(shown),
        "left": f"at least {_figure(shown['remaining_min'])}" if items else None,
        "nothing left": counts.get("exhausted"),
        "dropped": counts.get("dropped"),
    }


def _of(spent: float, limit: float | None) -> str:
    return f"{_figure(spent)} of {limit:g}" if limit is not None else f"{_figure(spent)}, without a limit"


def _in_epsilon(shown: Mapping[str, Any]) -> str:
    return f"at most {_figure(shown['epsilon_delta_max'])}, with delta = {shown['delta']:g}"


def _figure(value: float | None) -> str:
    return "any amount" if value is None else f"{value:g}"


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


def _told(entry: "Entry") -> dict[str, Any]:
    return {
        "time": entry.time,
        "query": entry.description,
        entry.unit: entry.amount,
        "delta": entry.delta,
        "weights_loss": entry.weights_loss,
        "dropping": entry.dropping,
    }


def _time(entry: "Entry") -> str:
    """Return when, to the minute; the JSON has the rest."""
    return entry.time[:16].replace("T", " ")


def _release(entry: "Entry", *, deltas: bool) -> tuple[str, ...]:
    """Return a row about a release: when, what, its level, and what weights lost."""
    level = "" if entry.amount is None else f"{entry.unit} = {_spent(entry.amount)}"
    delta = (_spent(entry.delta) if entry.delta else "",) if deltas else ()
    return _time(entry), entry.description, level, *delta, _spent(entry.weights_loss), _dropping(entry)


def _spent(value: float) -> str:
    return _figure(rounded(value, _DIGITS[False], up=True))


def _dropping(entry: "Entry") -> str:
    return "dropping" if entry.dropping else ""
