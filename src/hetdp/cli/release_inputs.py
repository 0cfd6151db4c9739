"""From options and a table to a mechanism and a ledger."""

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Ledger
from hetdp.accounting.ledger.view import LedgerView
from hetdp.cli.output import note
from hetdp.core.errors import DataError, InvalidInput
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.plan import Mechanism, Plan
from hetdp.mechanisms.stretching import stretch
from hetdp.profiles import Box, PrivacyWeights, WeightPrior
from hetdp.profiles.reading.tables import Table, read_table

__all__ = ["DEFAULT_LIMITS", "QUERIES", "SELECTED", "ReleaseOptions", "parse_westin"]

#: Chosen among 1,001 values of the range by a personalised exponential mechanism: noise as large as the range, which
#: stretching needs for an extreme, would drown them.
SELECTED = selection.SELECTED_BY_NAME
QUERIES = (*queries.RELEASED_BY_NAME, *SELECTED)
DEFAULT_LIMITS = {"epsilon": 3.0, "rho": 0.25}


def parse_westin(text: str) -> WeightPrior:
    """Return the prior that `--westin 0.34,0.43,0.23` stands for."""
    try:
        return WeightPrior.westin(*(float(share) for share in text.replace("/", ",").split(",")))
    except (TypeError, ValueError) as error:
        reason = f" ({error})" if isinstance(error, InvalidInput) else ""
        raise click.UsageError(
            f"--westin must be three shares that sum to 1, such as 0.34,0.43,0.23{reason}."
        ) from None


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """The options of `hetdp release`, and what can be made of them."""

    query_name: str
    column: str
    lower: float | None
    upper: float | None
    center: float | None
    bins: int
    weight_column: str | None
    default_weight: float
    epsilon: float | None
    rho: float | None
    multiplier: str
    westin: str | None
    ledger_path: Path | None
    limit: float | None
    id_column: str | None
    on_exhausted: str
    quiet: bool

    @property
    def noise(self) -> dict[str, float | str]:
        """The noise arguments of `hetdp.release`."""
        if (self.epsilon is None) == (self.rho is None):
            raise click.UsageError("exactly one of --epsilon and --rho must be given.")
        return {"noise": "gaussian", "rho": self.rho} if self.epsilon is None else {"epsilon": self.epsilon}  # type: ignore[dict-item]

    def read(self, path: Path) -> Table:
        """Read the columns that the options name."""
        names = [self.column, self.weight_column, self.id_column]
        return read_table(path, list(dict.fromkeys(name for name in names if name is not None)))

    def mechanism(self, table: Table) -> tuple[Mechanism, NDArray[np.float64]]:
        """Return what is asked, fitted to the weights in the table, and the private values it will be asked on."""
        if self.query_name == "count":
            counted = queries.count(Box.uniform(0, 1, size=table.rows))
            return self._stretched(counted, table), self._indicators(table)
        if self.lower is None or self.upper is None:
            raise click.UsageError(
                f"--lower and --upper must be given for --query {self.query_name}: the range is public."
            )
        values = table.numbers(self.column)
        if self.query_name == "variance":  # a midpoint centre keeps the most of a variance
            middle = self.lower / 2 + self.upper / 2 if self.center is None else self.center
            spread = queries.variance(Box.uniform(self.lower, self.upper, size=table.rows, center=middle))
            return self._stretched(spread, table), values
        domain = Box.uniform(self.lower, self.upper, size=table.rows, center=self.center)
        if self.query_name in SELECTED:
            return self._selected(domain, table), values
        if self.query_name == "histogram":
            query = queries.histogram(domain, np.linspace(self.lower, self.upper, self.bins + 1))
        else:
            query = queries.RELEASED_BY_NAME[self.query_name](domain)
        return self._stretched(query, table), values

    def _selected(self, domain: Box, table: Table) -> Mechanism:
        stretching = {"--rho": self.rho, "--westin": self.westin, "--multiplier": self.multiplier}
        for name, given in stretching.items():
            if given is not None and given not in ("1", "1.0"):
                raise click.UsageError(f"{name} must not be given for --query {self.query_name}: nothing is stretched.")
        return SELECTED[self.query_name](domain, self._weights(table))

    def _indicators(self, table: Table) -> NDArray[np.float64]:
        """Return 1 for every row that has a value, inside the range if there is one."""
        if self.lower is None and self.upper is None:
            return np.array([cell not in (None, "") for cell in table.columns[self.column]], dtype=np.float64)
        values = table.numbers(self.column)
        low = -np.inf if self.lower is None else self.lower
        high = np.inf if self.upper is None else self.upper
        return ((values >= low) & (values <= high)).astype(np.float64)

    def _stretched(self, query: queries.Query, table: Table) -> Mechanism:
        """Stretch the query to the weights in the table."""
        prior = None if self.westin is None else parse_westin(self.westin)
        if self.multiplier != "best":
            try:
                factor = float(self.multiplier)
            except ValueError:
                raise click.UsageError(
                    f"--multiplier must be a number >= 1 or 'best', not {self.multiplier!r}."
                ) from None
        elif prior is None or self.epsilon is None:
            raise click.UsageError("--multiplier best needs --westin and --epsilon.")
        else:
            factor = best_multiplier(query, prior, self.epsilon)
            note(f"The best multiplier for this prior is {factor:g}.", quiet=self.quiet)
        return stretch(query, self._weights(table), multiplier=factor, prior=prior)

    def _weights(self, table: Table) -> PrivacyWeights:
        if not 0 <= self.default_weight <= 1:
            raise click.UsageError(f"--default-weight must lie in [0, 1], not {self.default_weight:g}.")
        if self.weight_column is None:
            return PrivacyWeights(np.full(table.rows, self.default_weight))
        cells = table.columns[self.weight_column]
        absent = np.array([cell in (None, "") for cell in cells])
        if absent.any():
            note(
                f"{int(absent.sum())} rows set no weight and take --default-weight {self.default_weight:g}.",
                quiet=self.quiet,
            )
        weights = np.where(absent, self.default_weight, table.numbers(self.weight_column))
        try:
            return PrivacyWeights(weights)
        except InvalidInput as error:
            raise DataError(f"column {self.weight_column!r} of {table.path.name}: {error}") from None

    def open_ledger(self, table: Table, plan: Plan) -> Ledger | None:
        """Open the ledger, or make it; rows that a ledger with identifiers has not met yet are added to it.

        Neither happens for a release that the ledger will refuse.
        """
        if self.ledger_path is None:
            return None
        if not self.ledger_path.exists():
            self._fresh_ledger(table, None).charge(plan.losses, unit=plan.unit)  # in memory: refused before it is made
            note(
                f"Making {self.ledger_path.name}: every row may lose {self.unit} = {self.row_limit:g} in its lifetime.",
                quiet=self.quiet,
            )
            return self._fresh_ledger(table, self.ledger_path)
        ledger = Ledger.open(self.ledger_path, on_exhausted=self.on_exhausted)
        try:
            self._admit(ledger, table, plan)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _admit(self, ledger: Ledger, table: Table, plan: Plan) -> None:
        """Add the rows that the ledger has not met yet, unless the release would be refused."""
        new = self._unknown_rows(ledger, table)
        if self.limit is not None and not new:
            note("--limit is for rows new to the ledger; there are none.", quiet=self.quiet)
        if not new or self.id_column is None:
            return
        if self.on_exhausted == "raise":
            known = [label for label in table.labels(self.id_column) if label not in set(new)]
            met = np.isin(table.labels(self.id_column), known)
            limits = np.concatenate([LedgerView(ledger, known).remaining, np.full(len(new), self.row_limit)])
            losses = np.concatenate([plan.losses[met], plan.losses[~met]])
            Ledger(limits, unit=ledger.unit).charge(losses, unit=plan.unit)  # in memory: raises if it does not fit
        ledger.extend(np.full(len(new), self.row_limit), items=new)
        note(f"Added {len(new)} new rows to {ledger.path.name if ledger.path else 'the ledger'}.", quiet=self.quiet)

    def rows_that_cannot_pay(self, plan: Plan, table: Table) -> int:
        """Return how many rows could not pay for a planned release; nothing is spent, made or changed."""
        if self.ledger_path is None:
            return 0
        if not self.ledger_path.exists():
            return int((~self._fresh_ledger(table, None).preview(plan.losses, unit=plan.unit)).sum())
        with Ledger.open(self.ledger_path) as ledger:
            new = set(self._unknown_rows(ledger, table))
            if self.id_column is None:
                return int((~ledger.preview(plan.losses, unit=plan.unit) & ledger.active).sum())
            labels = table.labels(self.id_column)
            met = np.array([label not in new for label in labels])
            view = LedgerView(ledger, [label for label in labels if label not in new])
            unable = ~view.preview(plan.losses[met], unit=plan.unit) & view.active
            return int(unable.sum() + (plan.losses[~met] > self.row_limit).sum())

    def rows_dropped(self, table: Table) -> int:
        """Return how many rows an existing ledger has dropped for good, so that they count no more."""
        if self.ledger_path is None or not self.ledger_path.exists():
            return 0
        with Ledger.open(self.ledger_path) as ledger:
            if self.id_column is None:
                return int((~ledger.active).sum())
            known = set(ledger.items or ())
            view = LedgerView(ledger, [label for label in table.labels(self.id_column) if label in known])
            return int((~view.active).sum())

    def charged(self, ledger: Ledger | None, table: Table) -> Ledger | LedgerView | None:
        """Return the ledger as this table's rows see it."""
        if ledger is None or self.id_column is None:
            return ledger
        return LedgerView(ledger, table.labels(self.id_column))

    @property
    def unit(self) -> str:
        """Unit of a new ledger."""
        return "epsilon" if self.epsilon is not None else "rho"

    @property
    def row_limit(self) -> float:
        """Lifetime limit of a row that the ledger has not met yet."""
        return DEFAULT_LIMITS[self.unit] if self.limit is None else self.limit

    def _fresh_ledger(self, table: Table, path: Path | None) -> Ledger:
        labels = None if self.id_column is None else table.labels(self.id_column)
        limits = np.full(table.rows, self.row_limit)
        return Ledger(limits, path, unit=self.unit, on_exhausted=self.on_exhausted, items=labels)

    def _unknown_rows(self, ledger: Ledger, table: Table) -> list[str]:
        """Return the identifiers that the ledger does not know, after checking that the two fit together."""
        if (self.id_column is None) != (ledger.items is None):
            have = "without" if ledger.items is None else "with"
            raise DataError(
                f"--id-column must be used as when the ledger was made. Got a ledger {have} identifiers instead."
            )
        if self.id_column is None:
            if ledger.size != table.rows:
                raise DataError(
                    f"{table.path.name} must have as many rows as the ledger ({ledger.size}). "
                    f"Got {table.rows} instead. A ledger made with --id-column lets rows come and go."
                )
            return []
        known = set(ledger.items or ())
        return [label for label in table.labels(self.id_column) if label not in known]
