"""What comes out of a table: one row per group and aggregate, and the promise they were made under."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Unpack

from hetdp._version import __version__
from hetdp.accounting.display import confidence_words, interval_cells, interval_row, promise_words, promised
from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.label import Label, LabelOptions
from hetdp.cards import Card, CardTable, Glyph
from hetdp.core.errors import SimulatedResult
from hetdp.core.files import as_frame
from hetdp.core.text import counted, listed, printable
from hetdp.plots import WIDTH, drawn, interval_layers, layer, stacked, text_of, titled
from hetdp.tables.plan import TablePlan
from hetdp.tables.ratios import Estimate

_WEIGHTED = (
    "People count with their privacy weights. An estimate is right if weights do not depend on what is asked; if they "
    "do, people with small weights are under-represented in it."
)

#: Rows that a card shows, and reasons why there is no estimate.
_MOST, _REASONS = 24, 2


@dataclass(frozen=True)
class Row:
    """One aggregate of one group.

    Attributes
    ----------
    key
        Of the group, one part per column of `by`.
    aggregate
        Its name, as it was asked for.
    guess
        Where `estimate`, `low`, `high` and `reason` are from.
    value
        As the noisy sums have it: people count with their dials. nan where a noisy count came out as 0.
    estimate, low, high
        If everybody counted fully, with its interval; None where that cannot be told.
    reason
        Why there is no estimate.
    """

    key: tuple[Any, ...]
    aggregate: str
    guess: Estimate = field(repr=False)
    value: float

    @property
    def estimate(self) -> float | None:
        """The answer if everybody counted fully."""
        return self.guess.value

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.guess.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.guess.high

    @property
    def reason(self) -> str | None:
        """Why there is no estimate."""
        return self.guess.reason


@dataclass(frozen=True, eq=False, repr=False)
class TableAnswer:
    """A released table.

    Attributes
    ----------
    keys
        Names of the columns that were grouped by.
    rows
        One per group and aggregate, groups in the order of the keys.
    plan
        How epsilon was split and how much noise that meant; all of it public.
    guarantee
        The promise, in words and numbers.
    dialled
        Whether people may have counted with dials other than 1.
    simulated
        True if made with a seed; then nothing publishes it.
    loose
        Columns of values whose type does not tell whether they hold numbers, as in files of text.
    version
        Of hetdp.

    Privacy
    -------
    Everything in it is safe to publish, unless it is simulated. No exact sum is kept.
    """

    keys: tuple[str, ...]
    rows: tuple[Row, ...]
    plan: TablePlan
    guarantee: Guarantee
    dialled: bool
    simulated: bool = False
    loose: tuple[str, ...] = ()
    version: str = __version__

    def __repr__(self) -> str:
        groups = counted(len({row.key for row in self.rows}), "group")
        return f"TableAnswer({groups}, {', '.join(self.plan.aggregates)}, epsilon={self.guarantee.amount:g})"

    def to_frame(self) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return a data frame: the key columns, then aggregate, estimate, low, high and value.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from hetdp import release_table, tables
        >>> people = pa.table({"ward": ["er", "icu", "er"]})
        >>> answer = release_table(people, {"people": tables.count()}, by={"ward": ["er", "icu"]}, epsilon=1.0)
        >>> answer.to_frame().columns.tolist()
        ['ward', 'aggregate', 'estimate', 'low', 'high', 'value']
        """
        columns: dict[str, list[Any]] = {
            name: [row.key[place] for row in self.rows] for place, name in enumerate(self.keys)
        }
        columns["aggregate"] = [row.aggregate for row in self.rows]
        for name in ("estimate", "low", "high", "value"):
            columns[name] = [math.nan if getattr(row, name) is None else getattr(row, name) for row in self.rows]
        return as_frame(columns)

    def public(self) -> dict[str, Any]:
        """Return what may be published, ready for JSON.

        Refuses a simulated release: anyone who knows the seed can subtract the noise.
        """
        if self.simulated:
            raise SimulatedResult(
                "This table was made with a seed (random_state) and must not be published: its noise can be "
                "recomputed. Make it again without random_state. In a simulation, read .rows instead."
            )
        return {
            "rows": [
                {
                    **{name: _plain(part) for name, part in zip(self.keys, row.key, strict=True)},
                    "aggregate": row.aggregate,
                    "estimate": row.estimate,
                    "low": row.low,
                    "high": row.high,
                    "value": None if math.isnan(row.value) else row.value,
                    **({} if row.reason is None else {"reason": row.reason}),
                }
                for row in self.rows
            ],
            "confidence": self.plan.confidence,
            "epsilon": self.guarantee.amount,
            "delta": self.guarantee.delta,
            "split": self.plan.split,
            "noise_scale": self.plan.scales,
            "remarks": list(self.remarks),
            "guarantee": self.guarantee.text,
            "promise": self.guarantee.facts(),
            "version": self.version,
        }

    def plot(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: estimates with their intervals by group, a panel for each aggregate.

        Needs the extra `plot`. Notebooks show it as an image; `hetdp.plots.save` writes it to a file.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from hetdp import release_table, tables
        >>> people = pa.table({"ward": ["er", "icu", "er"]})
        >>> answer = release_table(people, {"people": tables.count()}, by={"ward": ["er", "icu"]}, epsilon=1.0)
        >>> answer.plot().title["text"]
        'A released table: people by ward'
        """
        by = f" by {listed(self.keys)}" if self.keys else ""
        told = {row.aggregate for row in self.rows if row.estimate is not None}
        grey = any(name not in told for name in self.plan.aggregates)
        title = titled(
            f"A released table: {listed(list(self.plan.aggregates))}{by}",
            f"{confidence_words(self.plan.confidence)} of each estimate by itself."
            + (" Grey: raw values, without an estimate." if grey else ""),
            promise_words(self.guarantee),
        )
        panels = [
            {
                "title": printable(name),
                "width": WIDTH,
                "height": {"step": 24},
                "layer": interval_layers(
                    _rows(self, name),
                    shown={"name": "group", "words": "estimate", "as_left": "raw value"},
                ),
            }
            for name in self.plan.aggregates
            if self.rows
        ]
        if not panels:
            none = [{"words": "No group has enough people to be named."}]
            words = layer(none, {"type": "text"}, text=text_of("words"))
            panels = [{"width": WIDTH, "height": 40, "layer": [words]}]
        return drawn(stacked(title, panels))

    def _repr_html_(self) -> str:
        # What is drawn beside the numbers has one scale for each aggregate.
        found = {name: _rows(self, name) for name in self.plan.aggregates}
        drawings = {name: zip(rows, interval_cells(rows), strict=True) for name, rows in found.items()}
        rows: list[tuple[str | Glyph, ...]] = []
        for row in self.rows:
            own, cells = next(drawings[row.aggregate])
            same = row.estimate is not None and math.isclose(row.value, row.estimate)  # a ratio, in which dials cancel
            left = ("" if same else own["as_left"],) if self.dialled else ()
            rows.append((*map(str, row.key), row.aggregate, *cells, *left))
        first = len(self.keys) + 1
        left_name = ("raw value",) if self.dialled else ()
        header = (*self.keys, "", "estimate", "from", "to", confidence_words(self.plan.confidence), *left_name)
        numbers = (*range(first, first + 3), first + 4)
        reasons = list(dict.fromkeys(f"No estimate: {row.reason}" for row in self.rows if row.reason is not None))
        more = [f"{len(reasons) - _REASONS} more reasons in .rows."] if len(reasons) > _REASONS else []
        parts = promised(self.guarantee)
        parts["sentences"] = [*reasons[:_REASONS], *more, *self.remarks, *parts["sentences"]]
        groups = counted(len({row.key for row in self.rows}), "group") if self.keys else ""
        table = CardTable(header, rows, numbers=numbers, most=_MOST, rest=" in .to_frame()")
        return Card("Table", about=groups, table=table, **parts).html()

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what publishing the table means to people; see `Guarantee.label`."""
        titled: LabelOptions = {"title": f"A released table: {listed(list(self.plan.aggregates))}", **options}
        return Label.of(self.guarantee, mechanism="sums of stretched numbers, noise: laplace", **titled)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to keep in mind when reading it; public."""
        groups = self.plan.question.max_groups
        shrunk = (
            f"People in more than {counted(groups, 'group')} count for less in each. Counts and totals are right if "
            "nobody is."
        )
        return (
            *([_WEIGHTED] if self.dialled else []),
            *([shrunk] if self.plan.shrinks_by_groups else []),
            *self._no_numbers(),
        )

    def _no_numbers(self) -> Iterator[str]:
        """Yield what cells that are no number count as, unless a condition decides about their column."""
        question = self.plan.question
        decided = question.where.columns if question.where is not None else ()
        sums = [
            added
            for added in question.sums
            if added.column is not None
            and added.column not in decided
            # Nobody wonders that an empty cell adds nothing to a total.
            and (added.column in self.loose or not added.added_up)
        ]
        counts = dict.fromkeys(f"{added.column} as {added.center:g}" for added in sums)
        if counts:
            column = str(sums[0].column)
            name = column if column.isidentifier() else "..."
            loose = any(added.column in self.loose for added in sums)
            which = "Cells that are empty or no number ('6148,81' is none)" if loose else "Empty cells"
            yield (
                f"{which} count as the middle of the range, in a total as 0: {listed(list(counts))}. "
                f'Leave them out with the condition "{name} is not null".'
            )


def _plain(part: Any) -> Any:  # noqa: ANN401  (a key)
    return part if isinstance(part, str | int) else str(part)


def _rows(answer: TableAnswer, aggregate: str) -> list[dict[str, Any]]:
    """Return the rows of one aggregate, named by their group."""
    return [
        interval_row(
            printable(" · ".join(map(str, row.key))) or "all", row.estimate, row.low, row.high, _known(row.value)
        )
        for row in answer.rows
        if row.aggregate == aggregate
    ]


def _known(value: float) -> float | None:
    """Return a number, or None for that of a noisy count of 0."""
    return None if math.isnan(value) else value
