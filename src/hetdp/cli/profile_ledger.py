"""Ledgers of profiles on the command line: what `hetdp neighbors` and `hetdp learn` charge."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from hetdp.cli.options import cannot_be_used, given, refuse
from hetdp.cli.output import DEFAULT_LIMITS, rounded
from hetdp.core.errors import BudgetExhausted, DataError, Problem
from hetdp.core.text import several

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee, Ledger

_LIMITS = ", ".join(f"{unit} {limit:g}" for unit, limit in DEFAULT_LIMITS.items())
#: What a new ledger is made with.
_SETTINGS = ("limit", "delta_limit", "colluders")
#: By name, for help in sections.
LEDGER_OPTIONS = ("ledger", *_SETTINGS)
_DIGITS = 12

Command = TypeVar("Command", bound=Callable[..., Any])


def ledger_options(function: Command) -> Command:
    """Give a command the options of a ledger of profiles; `ProfileLedger` takes them all."""
    for option in (
        click.option("--colluders", type=click.IntRange(min=1),
                     help="For a new ledger: number of users who may combine their lists. The ledger counts the loss "
                     "against all of them together.  [default: 1]"),
        click.option("--delta-limit", type=click.FloatRange(min=0),
                     help="For a new ledger: largest sum of delta over all releases.  [default: no limit]"),
        click.option("--limit", type=click.FloatRange(min=0),
                     help="For a new ledger: largest privacy loss of an item of weight 1 over all releases.  "
                     f"[default: {_LIMITS}]"),
        click.option("--ledger", type=click.Path(path_type=Path),
                     help="File that records the privacy losses of these users; created if it does not exist."),
    ):  # fmt: skip
        function = option(function)
    return function


def ledger_problems() -> Iterator[Problem]:
    """Yield options that have no effect without a ledger."""
    if not given("ledger"):
        yield from cannot_be_used(_SETTINGS, "without --ledger")


@dataclass(frozen=True, kw_only=True)
class ProfileLedger:
    """The ledger that a command charges, if any, and the limits of a new one."""

    path: Path | None = None
    limit: float | None = None
    delta_limit: float | None = None
    colluders: int | None = None

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """Take the options of a ledger out of those of a command."""
        return cls(path=options.pop("ledger"), **{name: options.pop(name) for name in _SETTINGS})

    @contextmanager
    def opened(self, promise: "Guarantee") -> "Iterator[Ledger | None]":
        """Give the ledger, if there is to be one; a new one is made for such promises, by its first charge."""
        from hetdp.accounting import Ledger

        if self.path is None:
            yield None
        elif self.path.exists():
            with Ledger.open(self.path) as ledger:
                self._check_same(ledger)
                yield ledger
        else:
            limit = DEFAULT_LIMITS[promise.unit] if self.limit is None else self.limit
            kept = {"unit": promise.unit, "protects": promise.protected, "colluders": self.colluders or 1}
            with Ledger.of_profiles(
                self.path,
                limit=limit,
                delta_limit=self.delta_limit,
                lazy=True,
                **kept,  # type: ignore[arg-type]
            ) as ledger:
                yield ledger

    def _check_same(self, ledger: "Ledger") -> None:
        """Refuse a ledger of another kind, and settings other than those it was made with."""
        name = "" if ledger.path is None else ledger.path.name
        if ledger.colluders is None:
            raise DataError(
                f"must be a ledger of profiles: {name} is one of {several(ledger.protects)}", parameter="ledger"
            )
        pairs = [(option, getattr(self, option), getattr(ledger, option)) for option in _SETTINGS]
        refuse(
            Problem(f"was {'not set' if kept is None else f'{kept:g}'} when {name} was created", option, got=asked)
            for option, asked, kept in pairs
            if asked is not None and asked != kept
        )

    def planned(self, ledger: "Ledger | None", promise: "Guarantee") -> dict[str, Any]:
        """Return what a charge would leave, for a dry run; nothing if there is no ledger."""
        if ledger is None:
            return {}
        try:
            left, would = ledger.preview_profiles(promise), "be charged"
        except BudgetExhausted:
            left, would = ledger.left, "be refused (exit code 4)"
        return self._state(ledger, promise, left, would=would)

    def charged(self, ledger: "Ledger | None", promise: "Guarantee") -> dict[str, Any]:
        """Return what was spent and what is left, after a charge; nothing if there is no ledger."""
        return {} if ledger is None else self._state(ledger, promise, ledger.left)

    def _state(self, ledger: "Ledger", promise: "Guarantee", left: float | None, **more: str) -> dict[str, Any]:
        state = {
            "file": str(self.path),
            "against": ledger.adversary,
            "colluders": ledger.colluders,
            "unit": ledger.unit,
            "charge": ledger.cost_of(promise),
            "total": rounded(ledger.total, _DIGITS, up=True),
            "limit": ledger.limit,
            "delta_spent": rounded(ledger.delta_spent, _DIGITS, up=True),
            "left": rounded(left, _DIGITS, up=False),
        }
        return {"ledger": {**state, **more}}


def in_words(facts: dict[str, Any]) -> dict[str, str]:
    """Return what a ledger was charged, or would be, in a line."""
    if "ledger" not in facts:
        return {}
    told = facts["ledger"]
    verb = f"would {told['would']}" if "would" in told else "charged"
    left = "no limit" if told["left"] is None else f"{told['left']:.6g} of {told['limit']:g} left at weight 1"
    return {
        "ledger": f"{told['file']}: {verb}, {told['unit']} = {told['charge']:.6g}; {left}; counts {told['against']}"
    }
