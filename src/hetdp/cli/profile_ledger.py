"""Ledgers of profiles on the command line: what neighbours, recommendations and models are charged to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from hetdp.cli.output import DEFAULT_LIMITS, rounded
from hetdp.core.errors import BudgetExhausted, DataError
from hetdp.core.text import several

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee, Ledger

__all__ = ["LEDGER_OPTIONS", "ProfileLedger", "in_words", "ledger_options"]

_LIMITS = ", ".join(f"{unit} {limit:g}" for unit, limit in DEFAULT_LIMITS.items())
#: By name, for help in sections.
LEDGER_OPTIONS = ("ledger_path", "limit", "delta_limit", "colluders")
_DIGITS = 12

Command = TypeVar("Command", bound=Callable[..., Any])


def ledger_options(function: Command) -> Command:
    """Give a command the options of a ledger of profiles; `ProfileLedger` takes them all."""
    for option in (
        click.option("--colluders", type=click.IntRange(min=1),
                     help="Of a new ledger: recipients of lists who may share what they have.  [default: 1]"),
        click.option("--delta-limit", type=float, help="Of a new ledger: the most that deltas may add up to."),
        click.option("--limit", type=float,
                     help=f"Of a new ledger: the most that weight 1 may ever lose.  [default: {_LIMITS}]"),
        click.option("--ledger", "ledger_path", type=click.Path(path_type=Path),
                     help="Ledger of these profiles to charge; made if missing."),
    ):  # fmt: skip
        function = option(function)
    return function


@dataclass(frozen=True, kw_only=True)
class ProfileLedger:
    """Where a command counts what profiles lose, if anywhere, and what is asked of a new ledger."""

    ledger_path: Path | None = None
    limit: float | None = None
    delta_limit: float | None = None
    colluders: int | None = None

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """Take the options of a ledger out of those of a command. Refuse those without effect."""
        own = cls(**{field.name: options.pop(field.name) for field in fields(cls)})
        for name in LEDGER_OPTIONS[1:]:
            if own.ledger_path is None and getattr(own, name) is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} must not be given without --ledger.")
        return own

    @contextmanager
    def opened(self, promise: "Guarantee") -> "Iterator[Ledger | None]":
        """Give the ledger, if there is to be one; a new one is made for such promises, by its first charge."""
        from hetdp.accounting import Ledger

        if self.ledger_path is None:
            yield None
        elif self.ledger_path.exists():
            with Ledger.open(self.ledger_path) as ledger:
                self._check_same(ledger)
                yield ledger
        else:
            limit = DEFAULT_LIMITS[promise.unit] if self.limit is None else self.limit
            kept = {"unit": promise.unit, "protects": promise.protected, "colluders": self.colluders or 1}
            with Ledger.of_profiles(
                self.ledger_path,
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
            kind = several(ledger.protects)
            raise DataError(f"--ledger must be a ledger of profiles (got {name}, which is one of {kind},)")
        for option in LEDGER_OPTIONS[1:]:
            asked, kept = getattr(self, option), getattr(ledger, option)
            if asked is not None and asked != kept:
                must = "not be given" if kept is None else f"be {kept:g}"
                raise click.UsageError(
                    f"--{option.replace('_', '-')} must {must}: {name} was made so. Got {asked:g} instead."
                )

    def planned(self, ledger: "Ledger | None", promise: "Guarantee") -> dict[str, Any]:
        """Return what a charge would leave, for a dry run; nothing if there is no ledger."""
        if ledger is None:
            return {}
        try:
            left, would = ledger.preview_profiles(promise), "be charged"
        except BudgetExhausted:
            left, would = ledger.left, "be refused (exit code 4)"
        return {"ledger": {**self._told(ledger, promise), "left": rounded(left, _DIGITS, up=False), "would": would}}

    def charged(self, ledger: "Ledger | None", promise: "Guarantee") -> dict[str, Any]:
        """Return what was spent and what is left, after a charge; nothing if there is no ledger."""
        if ledger is None:
            return {}
        return {"ledger": {**self._told(ledger, promise), "left": rounded(ledger.left, _DIGITS, up=False)}}

    def _told(self, ledger: "Ledger", promise: "Guarantee") -> dict[str, Any]:
        return {
            "file": str(self.ledger_path),
            "against": ledger.adversary,
            "colluders": ledger.colluders,
            "unit": ledger.unit,
            "charge": ledger.cost_of(promise),
            "total": rounded(ledger.total, _DIGITS, up=True),
            "limit": ledger.limit,
            "delta_spent": rounded(ledger.delta_spent, _DIGITS, up=True),
        }


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
