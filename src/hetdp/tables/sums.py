"""The private part of every table: integer sums per group, computed where the data lives.

Every row becomes whole steps: D = trunc((clamp(x) - c) * s) within a public range, then q = trunc(v (1 - 2**-51) D). In
doubles, and never a multiplication followed by an addition whose rounding could matter, so that fused arithmetic,
rounding modes and the order of rows change nothing: every engine computes the same integers. What the promise needs is
only that |q| <= v * `most` and that q depends on one person's rows alone (docs/proofs/tables.md).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

from hetdp.tables.conditions import Condition
from hetdp.tables.keys import UnknownKeys
from hetdp.tables.sources import HALF, TableSource

#: What a person of weight 1 adds to a count, and the most steps from the lowest to the highest value of any sum.
STEPS = 2**40
#: Makes up for the four roundings between a dial and its steps, so that |q| <= v * most holds exactly.
_MARGIN = 1 - 2.0**-51
#: The weight of everybody where there are no dials. A literal 1.0 would be a decimal in PostgreSQL, whatever ibis says.
_ONE = nw.lit(1).cast(nw.Float64)
#: A dial below this adds no step in any case; some engines raise where a number gets too small for a double.
_UNNOTICED = 2.0**-60


@dataclass(frozen=True)
class Sum:
    """What is added up over a group: people (power 0), values (1) or squares (2), about a public centre.

    Attributes
    ----------
    column, lower, upper, center
        Of the values; cells are clamped to the range, and cells that are no number count as the centre.
    power
        0 adds one for everybody, 1 adds x - center, 2 adds (x - center)**2 less `shift`.
    added_up
        Whether a person's rows are added up (and clamped) rather than averaged.
    free
        For squares: adds the room (upper - x) (x - lower) instead. Whoever adds much to the values adds little to that,
        so that it is released beside them, with noise of the same scale, at no further cost (docs/proofs/tables.md).
    """

    column: str | None = None
    lower: float = 0.0
    upper: float = 1.0
    center: float = 0.5
    power: int = 0
    added_up: bool = False
    free: bool = False

    @property
    def beside(self) -> "Sum":
        """The sum whose cost covers this one: itself, or the values that a free one goes with."""
        return self.cells if self.free else self

    @property
    def room(self) -> "Sum":
        """The free companion of a sum of values."""
        return replace(self, power=2, free=True)

    @property
    def _linear(self) -> float:
        """Steps per unit of x."""
        return STEPS / (self.upper - self.lower)

    @property
    def _ends(self) -> tuple[float, float]:
        """The lowest and the highest D, in doubles."""
        if self.added_up:
            return (float(int(self.lower * self._linear)), float(int(self.upper * self._linear)))
        return (-STEPS / 2, STEPS / 2)

    @property
    def most(self) -> int:
        """The most steps, up or down, that a person of weight 1 adds."""
        return STEPS if self.power == 0 else int(max(abs(end) for end in self._ends))

    @property
    def steps_per_unit(self) -> float:
        """How many steps one unit of the released sum has."""
        if self.power == 0:
            return float(STEPS)
        if self.power == 1:
            return self._linear
        return self._linear * self._linear * (2.0**-40 if self.free else 2.0**-38)

    @property
    def shift(self) -> float:
        """What every square is less by: half of the largest, so that squares too lie around 0 and need less noise."""
        return (self.upper - self.lower) ** 2 / 8 if self.power == 2 and not self.free else 0.0  # noqa: PLR2004

    def of(self, place: float) -> float:
        """Return what people of weight 1 add on average whose mean lies so far from the centre (0) to the end (1).

        Values are taken as spread as if evenly over the range, or as far as such a mean leaves room for.
        """
        apart = place * (self.upper - self.center)
        room = (self.upper - self.center - apart) * (apart + self.center - self.lower)
        variance = min((self.upper - self.lower) ** 2 / 12, room)
        if self.free:
            return room - variance
        return (1.0, apart, apart * apart + variance - self.shift)[self.power]

    @property
    def cells(self) -> "Sum":
        """What a row of the table adds; squares are made of these, once per person."""
        return Sum(self.column, self.lower, self.upper, self.center, 1, self.added_up)

    def within(self, steps: nw.Expr) -> nw.Expr:
        """Return D within its public range."""
        return steps.clip(*self._ends)


PEOPLE = Sum()


#: The exact sums of each group by its key: private.
GroupSums = dict[tuple[Any, ...], dict[Sum, int]]


@dataclass(frozen=True)
class KeyColumn:
    """A column that rows are grouped by: its public keys, or how keys are chosen from the data."""

    column: str
    keys: tuple[Any, ...] | UnknownKeys


@dataclass(frozen=True)
class Question:
    """Which rows count how much in which group; all of it is public."""

    sums: tuple[Sum, ...]
    by: tuple[KeyColumn, ...] = ()
    weights: str | None = None
    unit: str | None = None
    max_groups: int = 1
    where: Condition | None = None
    default_weight: float | None = None

    @property
    def counts_fully(self) -> bool:
        """Whether every row weighs 1, publicly."""
        return self.unit is None and self.weights is None

    @property
    def key_names(self) -> list[str]:
        """Return the names that group columns have on the way."""
        return [f"k{place}" for place in range(len(self.by))] or ["k0"]


def people(source: TableSource, question: Question) -> nw.LazyFrame[Any]:
    """Return one row per person, (u, v): the smallest dial of all their rows, before any condition."""
    dial = _ONE if question.weights is None else source.dial(question.weights, question.default_weight)
    rows = source.frame.select(u=source.person(str(question.unit)), v=dial)
    return _with_person(source, question, rows).group_by("u").agg(nw.col("v").min())


def group_sums(source: TableSource, question: Question, *, allowed: pa.Table | None = None) -> GroupSums:
    """Return the exact integer sums of every group that has a person of positive weight. The owner's.

    `allowed` holds people (u) whose dial is lowered to `cap`, 0 for those who cannot pay.
    """
    rows = source.each_row(_rows(source, question), partial(_cell_steps, question=question))
    if question.unit is not None:
        rows = _per_person(source, question, rows, allowed)
    rows = source.each_row(rows, partial(_weighted_steps, question=question))
    names, steps = question.key_names, _sum_steps(question)
    summed = source.add_up(rows, names, list(steps))
    found: GroupSums = {}
    for row in source.collect(summed).to_pylist():
        key = tuple(map(_key, (row[name] for name in names))) if question.by else ()
        found[key] = {
            added: int(row[f"high_q{place}"]) * HALF + int(row[f"low_q{place}"])
            if f"q{place}" in steps
            else int(row["n"]) * STEPS
            for place, added in enumerate(question.sums)
        }
    return found


def _key(part: Any) -> Any:  # noqa: ANN401  (as many types as keys have)
    return int(part) if isinstance(part, float) else part


def _rows(source: TableSource, question: Question) -> nw.LazyFrame[Any]:
    """Return the rows that count, with the columns k0.. (key), u (person) or w (weight), and d0.. (cells)."""
    frame = source.frame
    if question.where is not None:
        frame = frame.filter(source.condition(question.where))
    columns: dict[str, nw.Expr] = {f"k{place}": source.key(key.column) for place, key in enumerate(question.by)}
    if not question.by:
        columns["k0"] = nw.lit(0)
    if question.unit is not None:
        columns["u"] = source.person(question.unit)
    elif question.weights is not None:
        columns["w"] = source.dial(question.weights, question.default_weight)
    for place, cells in enumerate(_cells(question)):
        columns[f"d{place}"] = source.numeric(str(cells.column))
    # A real column comes first: a selection of constants only would be a single row.
    rows = frame.select(nw.col(next(iter(source.schema))).alias("a"), **columns)
    for name, key in zip(question.key_names, question.by, strict=False):
        if isinstance(key.keys, UnknownKeys):
            rows = rows.filter(~nw.col(name).is_null())
        else:
            rows = source.having(rows, name, key.keys)
    return rows if question.unit is None else _with_person(source, question, rows)


def _weighted_steps(rows: nw.LazyFrame[Any], question: Question) -> nw.LazyFrame[Any]:
    """Add q0.., what each row adds to each sum, from its weight and the steps of its cells."""
    steps = _sum_steps(question)
    if question.counts_fully:
        return _with(rows, steps)
    rows = rows.filter(nw.col("w") >= _UNNOTICED)
    rows = _with(rows, {name: nw.col("w") * _MARGIN * own for name, own in steps.items()})
    return _with(rows, {name: _trunc(name) for name in steps})


def _cell_steps(rows: nw.LazyFrame[Any], question: Question) -> nw.LazyFrame[Any]:
    """Turn cells, which may be null, nan or infinite, into steps.

    One small expression at a time: an expression inside another is written out wherever it is used.
    """
    cells = {f"d{place}": own for place, own in enumerate(_cells(question))}

    def then(change: Callable[[nw.Expr, Sum], nw.Expr]) -> nw.LazyFrame[Any]:
        return _with(rows, {name: change(nw.col(name), own) for name, own in cells.items()})

    rows = then(lambda cell, own: _pick(cell.is_null() | cell.is_nan(), own.center, cell))
    rows = then(lambda cell, own: cell.clip(own.lower, own.upper) - own.center)
    rows = then(lambda apart, own: own.within(_product(apart, own.steps_per_unit)))
    return _with(rows, {name: _trunc(name) for name in cells})


def _per_person(
    source: TableSource, question: Question, rows: nw.LazyFrame[Any], allowed: pa.Table | None
) -> nw.LazyFrame[Any]:
    """Return one row per person and group: the weight w there, and d0.. of the person."""
    cells = [f"d{place}" for place, _ in enumerate(_cells(question))]
    each = source.add_up(rows, ["u", *question.key_names], cells)
    if question.by:
        each = each.with_columns(g=nw.len().over("u"))
    if question.weights is None:
        each = each.with_columns(v=_ONE)
    else:
        each = each.join(people(source, question), on="u", how="left")
    capped = allowed is not None and allowed.num_rows > 0
    if capped:
        each = each.join(source.from_arrow(allowed), on="u", how="left")
    return source.each_row(each, partial(_person_steps, question=question, capped=capped))


def _person_steps(each: nw.LazyFrame[Any], question: Question, *, capped: bool) -> nw.LazyFrame[Any]:
    """Add the weight w of a person in a group, and d0.. of the person."""
    cells = {f"d{place}": own for place, own in enumerate(_cells(question))}
    if capped:
        cap, dial = nw.col("cap"), nw.col("v")
        each = each.with_columns(v=_pick(cap.is_null() | (cap >= dial), dial, cap))
    each = each.with_columns(w=_pick(nw.col("v") < _UNNOTICED, 0.0, nw.col("v")))
    if question.by:
        share = nw.col("w") * float(question.max_groups) / nw.col("g").cast(nw.Float64)
        each = each.with_columns(w=share.clip(0.0, 1.0))

    def added_up(name: str) -> nw.Expr:
        # The product is exact, so it does not matter whether an engine rounds before it adds.
        return nw.col(f"high_{name}").cast(nw.Float64) * float(HALF) + nw.col(f"low_{name}").cast(nw.Float64)

    number = nw.col("n").cast(nw.Float64)
    means = {name: own.within(added_up(name) / (1 if own.added_up else number)) for name, own in cells.items()}
    return _with(_with(each, means), {name: _trunc(name) for name in cells})


def _with_person(source: TableSource, question: Question, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Leave out rows without a person: null, nan, or a text that is empty."""
    person, kind = nw.col("u"), source.schema[str(question.unit)]
    absent = person.is_null()
    if kind.is_float():
        absent |= person.is_nan()
    elif kind != nw.Object and not kind.is_integer():
        absent |= person == ""
    return rows.filter(~absent)


def _cells(question: Question) -> list[Sum]:
    """Return what is read from rows, each column and range once."""
    return list(dict.fromkeys(added.cells for added in question.sums if added.power))


def _sum_steps(question: Question) -> dict[str, nw.Expr]:
    """Return D of each sum, q0.., except where counting rows is enough."""
    return {f"q{place}": own for place, own in enumerate(_steps_of_sums(question)) if own is not None}


def _steps_of_sums(question: Question) -> Iterator[nw.Expr | None]:
    """Yield D of each sum from the columns d0.. of the cells; None where counting rows is all there is to do."""
    cells = _cells(question)
    for added in question.sums:
        if added.power == 0:
            yield None if question.counts_fully else nw.lit(float(STEPS))
            continue
        own = nw.col(f"d{cells.index(added.cells)}")
        if added.power == 1:
            yield own
        elif added.free:  # (2**78 - D**2) / 2**40, at most 2**38; as a product it is rounded once, fused or not
            yield ((2.0**39 - own) * (2.0**39 + own) * 2.0**-40).floor().cast(nw.Float64)
        else:
            yield (own * own * 2.0**-38).floor().cast(nw.Float64) - STEPS / 2


def _with(rows: nw.LazyFrame[Any], columns: Mapping[str, nw.Expr]) -> nw.LazyFrame[Any]:
    """Add or replace columns, of which there may be none."""
    return rows.with_columns(**columns) if columns else rows


def _trunc(name: str) -> nw.Expr:
    """Cut a column toward 0. Never a cast or `round`, on which engines disagree; some floor to integers: cast back."""
    whole = nw.col(name).abs().floor().cast(nw.Float64)
    return _pick(nw.col(name) < 0.0, -whole, whole)


def _product(number: nw.Expr, factor: float) -> nw.Expr:
    """Multiply; where that could give less than a double can hold, for which some engines raise, it is 0."""
    product = number * factor
    return product if factor >= 1 else _pick(number.abs() < 0.5 / factor, 0.0, product)


def _pick(condition: nw.Expr, true: nw.Expr | float, false: nw.Expr) -> nw.Expr:
    """Choose between doubles; without the cast, a literal would make them decimals in some engines."""
    return nw.when(condition).then(true).otherwise(false).cast(nw.Float64)
