"""`hetdp budget`: what a ledger has recorded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.output import (
    Voice,
    output_options,
    plain,
    print_facts,
    print_json,
    print_private,
    print_rows,
    rounded,
)
from hetdp.core.text import counted, several

if TYPE_CHECKING:
    from hetdp.accounting import Ledger
    from hetdp.accounting.ledger.levels import LedgerLevel
    from hetdp.accounting.ledger.state import Entry, LedgerSummary

__all__ = ["budget"]

#: Digits shown, in tables and in JSON.
_DIGITS = {False: 6, True: 12}
#: Releases shown.
_SHOWN = 20


@click.command()
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--delta", default=1e-6, show_default=True, help="Of a ledger in rho: losses in epsilon hold but for this chance."
)
@click.option("--items", is_flag=True, help="Also list every person, row or item.")
@output_options
def budget(ledger: Path, *, delta: float, items: bool, voice: Voice) -> None:
    """Show what LEDGER has recorded: whose losses, limits, what was paid and what is left, every release.

    What was paid is rounded up and what is left is rounded down. The figures are the owner's: they depend on the
    secret dials. Showing them spends nothing.
    """
    from hetdp.accounting import Ledger

    with Ledger.open(ledger) as opened:
        levels, history = opened.levels(), opened.history
        summary = {"ledger": ledger.name, **_summary(opened, delta, _DIGITS[voice.as_json])}
        of_profiles = opened.colluders is not None  # one total, and nobody's account
        private = {} if of_profiles else _private(opened.summary(delta), _DIGITS[voice.as_json])
        listed = _items(opened, _DIGITS[voice.as_json]) if items else []
    if voice.as_json:
        owned = {**private, **({"per_item": listed} if items else {}), "levels": [_told_level(one) for one in levels]}
        owned = {} if of_profiles else owned
        print_json({**summary, "history": [_told(entry) for entry in history]}, private=owned)
        return
    print_facts(f"Privacy budget: {ledger.name}", _facts(summary))
    if history:
        deltas = any(entry.delta for entry in history[-_SHOWN:])
        rows = [_release(entry, deltas=deltas) for entry in history[-_SHOWN:]]
        last = f" (the last {_SHOWN} of {len(history):,})" if len(history) > _SHOWN else ""
        header = ("time (UTC)", "query", "level", *(("delta",) if deltas else ()), "dials paid", "")
        print_rows(f"Releases{last}", header, rows)
    if of_profiles:
        return
    print_private(_private_facts(summary, private))
    _show_levels(levels, several(summary["protects"]))
    if items:
        header = ("item", "limit", "spent", "remaining")
        print_rows(
            f"All {several(summary['protects'])}",
            ("", *header[1:]),
            [tuple(f"{row[name]}" for name in header) for row in listed],
        )
    voice.note("Paid is what was lost to one who has seen all of these releases, and everything public.")


def _summary(ledger: "Ledger", delta: float, digits: int) -> dict[str, Any]:
    """Return what follows from the releases alone, whoever is in the ledger."""
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


def _private(found: "LedgerSummary", digits: int) -> dict[str, Any]:
    """Return the figures about all items together, of which there may be millions."""
    up, down = (partial(rounded, digits=digits, up=way) for way in (True, False))
    return {
        "items": found.items,
        "limit_min": down(found.limit_min),
        "limit_max": down(found.limit_max) if found.items else None,
        "spent_mean": up(found.spent_mean),
        "spent_max": up(found.spent_max),
        "remaining_min": down(found.remaining_min),
        "exhausted_items": found.exhausted,
        "dropped_items": found.dropped,
        "epsilon_max": up(found.epsilon_max),
        "rho_max": up(found.rho_max),
        "epsilon_delta_max": up(found.epsilon_delta_max),
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
            f"paid at weight 1, of {unit}": _figure(shown["total_of_weight_1"]),
            "left at weight 1": left or "any amount: there is no limit",
            "delta": _of(shown["delta_spent"], shown["delta_limit"]),
        }
    return {
        f"paid at weight 1, of {unit}": _figure(shown["total_of_weight_1"]),
        f"limit of new {several(shown['protects'])}": None if new is None else f"{unit} = {new:g}",
        "paid by dials": _of(shown["weights_spent"], shown["weights_limit"]),
        "delta": _of(shown["delta_spent"], shown["delta_limit"]) if shown["delta_spent"] else None,
    }


def _private_facts(summary: Mapping[str, Any], private: Mapping[str, Any]) -> dict[str, str | None]:
    """Return in words whose a ledger is, what they have paid and what they have left."""
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
        "paid": f"at most {_figure(shown['spent_max'])}, on average {_figure(shown['spent_mean'])}" if items else None,
        "paid in epsilon": None if unit == "epsilon" or not items else _in_epsilon(shown),
        "left": f"at least {_figure(shown['remaining_min'])}" if items else None,
        "nothing left": counts.get("exhausted"),
        "dropped": counts.get("dropped"),
    }


def _of(spent: float, limit: float | None) -> str:
    return f"{_figure(spent)} of {limit:g}" if limit is not None else f"{_figure(spent)}, without a limit"


def _in_epsilon(shown: Mapping[str, Any]) -> str:
    return f"at most {_figure(shown['epsilon_delta_max'])}, but for a chance of {shown['delta']:g}"


def _figure(value: float | None) -> str:
    return "any amount" if value is None else f"{value:g}"


def _show_levels(levels: Sequence["LedgerLevel"], who: str) -> None:
    """Print how many have paid how much, by dial where the ledger knows dials; by what is left where many differ."""
    if not levels:
        return
    shared, dialled = levels[0].share is not None, any(level.dial is not None for level in levels)
    first = ("left of the limit",) if shared else ("dial",) if dialled else ()
    rows = [
        (
            *((_words(level),) if first else ()),
            f"{level.items:,}",
            _spent(level.spent),
            _figure(rounded(level.remaining, _DIGITS[False], up=False)),
            "dropped" if level.dropped else "",
        )
        for level in levels
    ]
    figures = ("paid at most", "left at least") if shared else ("paid", "left")
    print_rows("Who has paid how much", (*first, who, *figures, ""), rows)


def _words(level: "LedgerLevel") -> str:
    """Return the dial of a level, or the share of a limit that it has left."""
    if level.share is None:
        return "none" if level.dial is None else f"{level.dial:g}"
    low, high = level.share
    return {0.0: "nothing", 1.0: "all"}[low] if low == high else f"{low:.0%} to {high:.0%}"


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


def _told_level(level: "LedgerLevel") -> dict[str, Any]:
    spent, remaining = rounded(level.spent, _DIGITS[True], up=True), rounded(level.remaining, _DIGITS[True], up=False)
    return {**plain(asdict(level)), "spent": spent, "remaining": remaining}


def _time(entry: "Entry") -> str:
    """Return when, to the minute; the JSON has the rest."""
    return entry.time[:16].replace("T", " ")


def _release(entry: "Entry", *, deltas: bool) -> tuple[str, ...]:
    """Return a row about a release: when, what, its level, and what dials paid."""
    level = "" if entry.amount is None else f"{entry.unit} = {_spent(entry.amount)}"
    delta = (_spent(entry.delta) if entry.delta else "",) if deltas else ()
    return _time(entry), entry.description, level, *delta, _spent(entry.weights_loss), _dropping(entry)


def _spent(value: float) -> str:
    return _figure(rounded(value, _DIGITS[False], up=True))


def _dropping(entry: "Entry") -> str:
    return "dropping" if entry.dropping else ""
