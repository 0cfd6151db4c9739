"""Release a table: check, charge, let the engine add up integers, add exact noise to a few of them here."""

import datetime as dt
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import pyarrow as pa

from hetdp.core.checks import Real, float_up
from hetdp.core.errors import DataError, HetdpError, InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.samplers import laplace_integers
from hetdp.profiles.formats import check_columns
from hetdp.tables.aggregates import Aggregate
from hetdp.tables.answer import Row, TableAnswer
from hetdp.tables.keys import UnknownKeys, choose
from hetdp.tables.plan import Keys, TablePlan, plan_table
from hetdp.tables.ratios import NoisySum
from hetdp.tables.sources import TableSource, open_source, scrubbed
from hetdp.tables.sums import PEOPLE, STEPS, GroupSums, KeyColumn, Question, Sum, group_sums, people

_BATCH = 1_000_000


@dataclass(frozen=True)
class Bound:
    """A question in the types of one table."""

    question: Question
    #: Per group column: what the table calls each public key, and what the caller did.
    as_given: tuple[Mapping[Any, Any], ...]

    @property
    def keys(self) -> Iterator[tuple[Any, ...]]:
        """The groups in the types of the table, in the caller's order, where all keys are public."""
        return itertools.product(*self.as_given)

    def given(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a group's key as the caller wrote it."""
        return tuple(names.get(part, part) for names, part in zip(self.as_given, key, strict=True))


class PeopleLedger(Protocol):
    """What a table needs of a ledger; `hetdp.Ledger` is one, and is not loaded where there is none."""

    @property
    def dialled(self) -> bool:
        """Whether people may have dials other than 1."""

    def charge_people(self, *people: Any, **told: Any) -> Any:  # noqa: ANN401  (as `hetdp.Ledger.charge_people`)
        """Charge everybody, and return those who may count for less."""


class _Told(NamedTuple):
    """What the caller says about people in a ledger; see `release_table`."""

    limit: float | None
    new_people: bool
    update_dials: bool


def release_table(
    table: Any,  # noqa: ANN401  (as many types as there are engines)
    aggregates: Mapping[str, Aggregate],
    *,
    epsilon: Real,
    by: Keys | None = None,
    weights: str | None = None,
    default_weight: float | None = None,
    unit: str | None = None,
    max_groups: int | None = None,
    where: str | None = None,
    population: float | None = None,
    confidence: float = 0.95,
    ledger: PeopleLedger | None = None,
    limit: float | None = None,
    new_people: bool = False,
    update_dials: bool = False,
    table_name: str | None = None,
    random_state: RandomState = None,
) -> TableAnswer:
    """Release counts, means, totals and variances per group of a table, wherever it lives.

    Parameters
    ----------
    table
        A table of pandas, Polars (lazy too), Arrow, DuckDB, Dask, Spark or ibis; or files: a path, a pattern
        such as `visits/*.parquet`, or a list of paths; or the address of a database, "postgresql://localhost/clinic".
    aggregates
        What to release: your names for `hetdp.tables.count()`, `mean(...)`, `total(...)` and `variance(...)`.
    epsilon
        What a person of dial 1 loses by all of it together.
    by
        Columns to group by, each with its public keys, or with `hetdp.unknown_keys(delta=...)` to have them chosen
        from the data. Groups without people are answered like all others; rows with other keys do not count.
    weights
        Column of dials in [0, 1]. Default: everybody's is 1.
    default_weight
        The dial of rows that have set none: without it, empty cells are refused.
    unit
        Column that says whose a row is: then all rows of one person are protected together, and their dial is the
        smallest of all their rows. Rows without a person are left out. Default: each row is protected by itself.
    max_groups
        With `unit` and `by`: in how many groups a person counts fully, 1 unless said. Somebody in more counts a little
        less in each; noise grows with it.
    where
        Which rows count, as in SQL: "age >= 18 and ward in ('er', 'icu')". Comparisons, and, or, not, in, between, is
        null; a comparison with null or nan is neither true nor false.
    population
        Number of people in all groups together (somebody in two groups counts twice), if it is known from elsewhere:
        with it, counts and totals are scaled up to what they would be if every dial were 1.
    confidence
        Of the intervals.
    ledger
        Charged before the values are looked at; `unit` identifies people. Nobody's dial counts for more than the one
        that the ledger has.
    limit, new_people
        For people whom the ledger does not know: what each may lose in a lifetime, by default as the ledger says; and
        whether they may be the majority of this table.
    update_dials
        Whether the dials of the table take the place of those in the ledger, from this release on.
    table_name
        Which table of a database.
    random_state
        A seed makes the release reproducible, and unfit to be published.

    Returns
    -------
    TableAnswer

    Privacy
    -------
    Unit: all rows of one person (one row, without `unit`) present or absent. They lose epsilon * v over keys, sums and
    denominators together, and delta * v at most where keys are chosen from the data. Exact: integer sums of which one
    person moves at most `v * 2**40` steps, and discrete Laplace noise (docs/proofs/tables.md).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hetdp.tables import count, mean
    >>> visits = pa.table({"ward": ["er", "icu"] * 500, "hours": [30.0, 40.0] * 500})
    >>> answer = release_table(
    ...     visits, {"people": count(), "hours": mean("hours", lower=0, upper=99)},
    ...     by={"ward": ["er", "icu"]}, epsilon=1.0, random_state=1)
    >>> [(*row.key, row.aggregate, round(row.estimate)) for row in answer.rows if row.aggregate == "hours"]
    [('er', 'hours', 30), ('icu', 'hours', 40)]
    """
    plan = plan_table(
        aggregates, epsilon=epsilon, by=by, weights=weights, default_weight=default_weight, unit=unit,
        max_groups=max_groups, where=where,
        population=population, confidence=confidence,
    )  # fmt: skip
    if ledger is not None and not hasattr(ledger, "charge_people"):
        raise InvalidInput("must be a hetdp.Ledger", parameter="ledger", got=type(ledger))
    if ledger is not None and unit is None:
        raise InvalidInput("must be given with a ledger: it says who is charged", parameter="unit")
    told = _Told(limit, new_people, update_dials)
    try:
        with open_source(table, numbers=_numbers(plan), values=_values(plan), name=table_name) as source:
            return _released(source, plan, ledger, told, as_stream(random_state))
    except HetdpError as error:
        error.__context__ = None  # what an engine has said may quote a cell
        raise


def _released(
    source: TableSource, plan: TablePlan, ledger: PeopleLedger | None, told: _Told, stream: Stream
) -> TableAnswer:
    """Check, charge, add up, add noise: in this order."""
    bound = bind(plan, source)
    _refuse_bad_weights(source, plan.question)
    dialled, allowed = plan.question.weights is not None, None
    if ledger is not None:
        dialled = dialled or ledger.dialled
        allowed = _charged(source, bound.question, plan, ledger, told, dialled=dialled)
    with scrubbed(source.engine, "add up the table"):  # frames in memory compute while they are asked
        found = group_sums(source, bound.question, allowed=allowed)
    return _answer(plan, bound, found, stream, dialled=dialled, loose=source.loose)


def _numbers(plan: TablePlan) -> dict[str, str]:
    """Return the columns that must be numbers, whatever a file keeps them as, each with the parameter that names it."""
    question = plan.question
    names = [question.weights, *(added.column for added in question.sums)]
    compared = question.where.number_columns if question.where is not None else ()
    ways = columns_of(question)
    return {name: ways[name] for name in (*names, *compared) if name is not None}


def _values(plan: TablePlan) -> dict[str, str]:
    """Return the columns of private values, each with an aggregate that is about it."""
    asked = [(added.column, name) for name, each in plan.aggregates.items() for added in each.sums()]
    return {column: name for column, name in reversed(asked) if column is not None}


def _refuse_bad_weights(source: TableSource, question: Question) -> None:
    """Refuse a column of dials that has a cell which is none, without saying which."""
    weights = question.weights
    if weights is None:
        return
    dial = nw.col("v")
    bad = nw.when(dial.is_null() | dial.is_nan()).then(1).when((dial < 0) | (dial > 1)).then(1).otherwise(0)
    with scrubbed(source.engine, "look at the privacy weights"):
        rows = source.frame.select(v=source.dial(weights, question.default_weight)).select(bad=bad.cast(nw.Int64))
        (count,) = source.collect(rows.select(nw.col("bad").sum()))["bad"].to_pylist()
    if count:
        raise DataError(
            f"must be numbers from 0 to 1 in every row: column {weights!r} has empty or other cells, such as '0,5'",
            parameter="weights",
            hint="Give every row a weight (1 counts fully, 0 not at all), or empty cells a default weight. Nothing was "
            "charged.",
        )


def _charged(
    source: TableSource, question: Question, plan: TablePlan, ledger: PeopleLedger, told: _Told, *, dialled: bool
) -> pa.Table:
    """Charge everybody in the table, and return those whose dial counts for less than the table says."""
    with scrubbed(source.engine, "join a table of ids"):  # found out now, rather than when it has been charged
        nobody = people(source, question).head(0)
        kind = source.collect(nobody).schema.field("u").type
        none = source.from_arrow(_caps(pa.array([], kind), []))
        source.collect(nobody.join(none, on="u", how="left"), "join a table of ids", source.joining)

    def batches() -> Iterator[tuple[pa.Array, pa.Array]]:
        with scrubbed(source.engine, "tell who is in the table"):
            for batch in source.batches(people(source, question), _BATCH):
                yield batch.column("u"), batch.column("v")

    lowered = ledger.charge_people(
        batches(),
        amount=float_up(plan.epsilon),
        delta=plan.delta,
        description=plan.description,
        # Where everybody counts fully, publicly, there are no dials that could lose something.
        weights_loss=float_up(plan.epsilon) if dialled else 0.0,
        limit=told.limit,
        new_people=told.new_people,
        update_dials=told.update_dials,
    )
    return _caps(lowered.to_arrow()["id"].cast(kind), lowered.to_arrow()["dial"])


def _caps(ids: pa.Array, dials: Any) -> pa.Table:  # noqa: ANN401  (pyarrow has no types)
    """Return people whose dial is lowered, for an engine to join."""
    return pa.table({"u": ids, "cap": pa.array(dials, pa.float64()) if isinstance(dials, list) else dials})


def _answer(
    plan: TablePlan, bound: Bound, found: GroupSums, stream: Stream, *, dialled: bool, loose: tuple[str, ...]
) -> TableAnswer:
    """Add noise to the integer sums of every group, and say what they tell."""
    keys = _chosen_keys(plan, found, stream) if plan.unknown else list(bound.keys)
    steps = noisy_sums(plan, keys, found, stream)
    told = [(added, own, added.steps_per_unit, plan.scale(added)) for added, own in steps.items()]
    noisy = [
        {added: NoisySum(own[place] / steps_per_unit, scale) for added, own, steps_per_unit, scale in told}
        for place in range(len(keys))
    ]
    context = plan.context(_everybody(noisy), dialled=dialled)
    return TableAnswer(
        keys=tuple(key.column for key in plan.question.by),
        rows=tuple(
            Row(bound.given(key), name, aggregate.estimate(sums, context), aggregate.value(sums))
            for key, sums in zip(keys, noisy, strict=True)
            for name, aggregate in plan.aggregates.items()
        ),
        plan=plan,
        guarantee=plan.guarantee(simulated=stream.simulated),
        dialled=dialled,
        simulated=stream.simulated,
        loose=loose,
    )


def noisy_sums(
    plan: TablePlan, keys: Sequence[tuple[Any, ...]], found: GroupSums, stream: Stream
) -> dict[Sum, list[int]]:
    """Return each sum of every group in steps, with noise: all that ever leaves of the exact ones."""
    released = plan.released
    exact = {key: [sums[added] for added in released] for key, sums in found.items()}
    nobody = [0] * len(released)
    groups = [exact.get(key, nobody) for key in keys]
    noise = {added: laplace_integers(plan.spread(added), len(keys), stream).tolist() for added in released}
    return {
        added: [sums[place] + one for sums, one in zip(groups, own, strict=True)]
        for place, (added, own) in enumerate(noise.items())
    }


def _chosen_keys(plan: TablePlan, found: GroupSums, stream: Stream) -> list[tuple[Any, ...]]:
    """Return the keys that enough people have, chosen privately, sorted."""
    # Without a step nobody's presence may show, not even in how much noise is drawn.
    candidates = sorted(key for key, sums in found.items() if sums[PEOPLE] > 0)
    wanted = choose(
        [found[key][PEOPLE] for key in candidates],
        epsilon=plan.keys_share,
        delta=plan.delta,
        steps=STEPS,
        groups=plan.question.max_groups,
        stream=stream,
    )
    return list(itertools.compress(candidates, wanted))


def _everybody(noisy: list[dict[Sum, NoisySum]]) -> NoisySum | None:
    """Return the noisy sum of weights over all groups.

    Independent noises add up to less than one whose scale is that of their sum's deviation: its tails are heavier.
    """
    own = [sums[PEOPLE] for sums in noisy if PEOPLE in sums]
    if not own:
        return None
    return NoisySum(math.fsum(each.value for each in own), own[0].scale * math.sqrt(len(own)))


_KEY_TYPES = "texts, whole numbers, booleans or dates"


def columns_of(question: Question) -> dict[str, str]:
    """Return the columns that a question is about, each with the parameter that names it."""
    chosen: dict[str, Sequence[str | None]] = {
        "by": [key.column for key in question.by],
        "weights": [question.weights],
        "unit": [question.unit],
        "aggregates": [added.column for added in question.sums],
        "where": question.where.columns if question.where is not None else (),
    }
    return {name: way for way, names in chosen.items() for name in names if name is not None}


def bind(plan: TablePlan, source: TableSource) -> Bound:
    """Return the question as this table can be asked it, or say which column is missing or of another type."""
    question, schema = plan.question, source.schema
    check_columns("table", schema, columns_of(question))
    if question.where is not None:
        source.condition(question.where)  # compares what cannot be compared, if so, before anything is charged
    names = [_native_keys(key, schema[key.column]) for key in question.by]
    by = tuple(
        key if isinstance(key.keys, UnknownKeys) else KeyColumn(key.column, tuple(native))
        for key, native in zip(question.by, names, strict=True)
    )
    return Bound(replace(question, by=by), tuple(names))


def _native_keys(key: KeyColumn, dtype: nw.dtypes.DType) -> dict[Any, Any]:
    """Return the public keys as the column has them, each with the key as given; none for unknown keys."""
    kind, read = _reader(dtype)
    if read is None:
        raise DataError(f"column {key.column!r} of by must hold {_KEY_TYPES}", got=dtype)
    if isinstance(key.keys, UnknownKeys):
        return {}
    native: dict[Any, Any] = {}
    for given in key.keys:
        try:
            own = read(given)
        except (TypeError, ValueError):
            raise DataError(f"keys of {key.column!r} must be {kind}, as the column is", got=given) from None
        if own in native:
            raise DataError(f"keys of {key.column!r} must be all different (got {given!r} and {native[own]!r})")
        native[own] = given
    return native


def _reader(dtype: nw.dtypes.DType) -> tuple[str, Callable[[Any], Any] | None]:
    """Return what keys of a column must be, and a function that reads one."""
    if dtype.is_integer() or dtype.is_float():  # floats are what pandas makes of whole numbers with gaps
        return "whole numbers", _whole
    if dtype == nw.Boolean:
        return "true or false", _boolean
    if dtype == nw.Date:
        return "dates", _date
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "texts", _text
    return "", None


def _text(key: Any) -> str:  # noqa: ANN401  (a key as given)
    if isinstance(key, bool | dt.date):
        raise TypeError
    str(key).encode()  # a lone surrogate is a ValueError here, not in the middle of a release
    return str(key)


def _whole(key: Any) -> int:  # noqa: ANN401
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise TypeError
    number = int(key)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _boolean(key: Any) -> bool:  # noqa: ANN401
    if isinstance(key, str) and key.strip().lower() in ("true", "false"):
        return key.strip().lower() == "true"
    if not isinstance(key, bool):
        raise TypeError
    return key


def _date(key: Any) -> dt.date:  # noqa: ANN401
    return dt.date.fromisoformat(key) if isinstance(key, str) else key
