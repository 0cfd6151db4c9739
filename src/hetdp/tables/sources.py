"""Where a table lives: whatever a user has becomes one lazy frame of narwhals, and is never copied into Python.

An engine is a subclass of `TableSource` and a line in `_ENGINES`: how a small table is brought to it, how text becomes
numbers without an error, how rows come back. An engine's own message may quote a cell: `scrubbed` keeps it in.
"""

import contextlib
import datetime as dt
import glob
import importlib
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import narwhals as nw
import pyarrow as pa

from hetdp.core.errors import DataError, HetdpError, InvalidInput
from hetdp.core.optional import require, require_all
from hetdp.profiles.formats import COMPRESSIONS, ENDINGS, check_columns, open_file
from hetdp.tables.conditions import Condition

#: Sums are added up in two halves: 64-bit integers wrap silently in some engines after 2**23 rows of 2**40 steps.
HALF = 2**20
_HUGE = 1e300
#: Whole numbers that may not fit into 64 bits with a sign.
_LARGE = {nw.UInt64, nw.Int128, nw.UInt128}
#: What DuckDB may keep in memory for files; what is larger goes to a private folder of temporary files.
_MEMORY = "256MB"
_ROWS = 2**17
#: What DuckDB may find wrong with a row that is a matter of that row alone.
_ROWS_LEFT_OUT = {"INVALID ENCODING", "LINE SIZE OVER MAXIMUM"}
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_POSTGRES = ("postgresql", "postgres")
_TAKEN = (
    "a pandas, Polars, Dask or Spark frame, an Arrow table, a DuckDB relation, an ibis table, paths of .parquet, .csv "
    "or .tsv files, postgresql://... or duckdb://..."
)
#: The first version of Spark that takes a table of Arrow.
_SPARK = 4
#: A table of any engine.
Native: TypeAlias = Any
#: What becomes of rows, one at a time.
Change: TypeAlias = Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]
#: Spark writes what went wrong, with the cell, to this log of Python, whatever becomes of the exception.
_TELLTALE = "DataFrameQueryContextLogger"


@contextlib.contextmanager
def scrubbed(engine: str, step: str, hint: str = "") -> Iterator[None]:
    """Turn whatever an engine raises into an error that names engine, step and kind, and quotes nothing.

    Parameters
    ----------
    engine
        Its name.
    step
        What it was asked to do, in words.
    hint
        What may be the reason, where no cell was looked at.

    Examples
    --------
    >>> with scrubbed("pandas", "add up"):
    ...     float("a secret")
    Traceback (most recent call last):
    ...
    hetdp.core.errors.DataError: pandas could not add up (ValueError). Its message may quote a cell and is not shown.
    """
    telltale = logging.getLogger(_TELLTALE)
    silent, telltale.disabled = telltale.disabled, True
    try:
        yield
    except (HetdpError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  (each engine has its own, panics included; any may quote a cell)
        if type(error) is RuntimeError and "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None  # what DuckDB makes of Ctrl-C
        reason = hint or "Its message may quote a cell and is not shown."
        raise DataError(f"{engine} could not {step} ({type(error).__name__})", hint=reason) from None
    finally:
        telltale.disabled = silent


@dataclass(frozen=True, repr=False, eq=False)
class TableSource:
    """A table where it lives.

    Attributes
    ----------
    engine
        What computes, in a word, for messages.
    frame
        Its rows, lazy.
    schema
        Names of its columns and their types, read without touching a row.
    numbers
        Of columns of text (and of others that need care) that are to be numbers, the helper column of `frame`.
    loose
        Columns of values whose type does not tell whether they hold numbers.
    """

    engine: str
    frame: nw.LazyFrame[Any]
    schema: Mapping[str, nw.dtypes.DType]
    numbers: Mapping[str, str]
    loose: tuple[str, ...] = ()

    #: Whether text becomes numbers here, and null where it is none, without an error.
    reads_text: ClassVar[bool] = True
    #: Numbers that do not simply become doubles here, either.
    awkward: ClassVar[tuple[type[nw.dtypes.DType], ...]] = ()
    #: What may keep a small table from being joined here, in words; no cell is looked at to find out.
    joining: ClassVar[str] = ""

    def numeric(self, column: str) -> nw.Expr:
        """Return a column as doubles: null where it holds no number, and never an error.

        `open_source` must have been told (`numbers`).
        """
        if column in self.numbers:
            return nw.col(self.numbers[column])
        kind = self.schema[column]
        if kind == nw.Boolean:
            # PostgreSQL does not know the cast, and takes 1.0 for a decimal, whatever ibis believes: whole ones first.
            value = nw.col(column)
            return nw.when(value).then(nw.lit(1)).otherwise(nw.when(~value).then(nw.lit(0))).cast(nw.Float64)
        if not kind.is_numeric():
            raise _no_numbers(column, kind)
        return self._double(column)

    def dial(self, column: str, default: float | None) -> nw.Expr:
        """Return a column of dials as doubles; empty cells take the default, if there is one, and no others do."""
        number = self.numeric(column)
        if default is None:
            return number
        cell, kind = nw.col(column), self.schema[column]
        empty = cell.is_null()
        if kind.is_float():
            empty |= cell.is_nan()  # what pandas makes of empty cells
        elif _is_text(kind) and kind != nw.Object:
            empty |= cell.cast(nw.String) == ""
        return nw.when(empty).then(nw.lit(float(default))).otherwise(number)

    @classmethod
    def untyped(cls, native: Native, column: str) -> bool:  # noqa: ARG003  (of engines whose types mean something)
        """Return whether the type of a column says nothing about its cells. From the schema alone.

        Parameters
        ----------
        native
            A table of this engine.
        column
            One of its columns.
        """
        return False

    def key(self, column: str) -> nw.Expr:
        """Return a column to group by: as text where it is kept as categories, and null where Python has no such date.

        Doubles are taken for whole numbers: that is what pandas makes of whole numbers with gaps.
        """
        kind, key = self.schema[column], nw.col(column)
        if kind in {nw.Categorical, nw.Enum}:
            return key.cast(nw.String)
        if kind in _LARGE:
            # A quotient is a double, without a cast that raises; the last doubles below 2**63 are 2**10 apart.
            return nw.when((key / 1).abs() < 2.0**63).then(key).otherwise(None)
        if kind.is_float():
            whole = (key.abs() <= float(2**53)) & (key.floor() == key) & ~key.is_nan()
            return nw.when(whole).then(key).otherwise(None)
        if kind == nw.Date:
            return nw.when((key >= dt.date.min) & (key <= dt.date.max)).then(key).otherwise(None)
        return key

    def person(self, column: str) -> nw.Expr:
        """Return a column that says whose a row is, in a type that comes back to be joined as it went.

        White space around a text does not make another person; a ledger applies the whole rule (`profiles.ids`).
        """
        kind, unit = self.schema[column], nw.col(column)
        if kind.is_integer() and kind not in _LARGE:
            return unit.cast(nw.Int64)
        if kind.is_float():
            return unit.cast(nw.Float64)
        return unit if kind == nw.Object else unit.cast(nw.String).str.strip_chars()

    def condition(self, where: Condition) -> nw.Expr:
        """Return whether a row counts; text that is read as numbers is compared as numbers."""
        texts = {column: number for column, number in self.numbers.items() if _is_text(self.schema[column])}
        return where.renamed(texts).expression({**self.schema, **dict.fromkeys(texts.values(), nw.Float64())})

    def having(self, rows: nw.LazyFrame[Any], column: str, keys: Collection[Any]) -> nw.LazyFrame[Any]:
        """Return the rows in which a column is one of some keys."""
        return rows.filter(nw.col(column).is_in(list(keys)))

    def each_row(self, rows: nw.LazyFrame[Any], change: Change) -> nw.LazyFrame[Any]:
        """Return rows after a change that looks at one row at a time."""
        return change(rows)

    def add_up(self, rows: nw.LazyFrame[Any], keys: Sequence[str], names: Sequence[str]) -> nw.LazyFrame[Any]:
        """Return the rows `n` of each group, and each column of whole steps added up: high_... * `HALF` + low_..."""
        halves = [f"{half}_{name}" for half in ("high", "low") for name in names]
        rows = self.each_row(rows, partial(_halved, names=names)) if names else rows
        return rows.group_by(keys).agg(nw.len().alias("n"), *(nw.col(half).sum() for half in halves))

    def from_arrow(self, table: pa.Table) -> nw.LazyFrame[Any]:
        """Return a small table as a frame of the same engine, to join with."""
        with scrubbed(self.engine, "take a table of ids"):
            return nw.from_native(self._from_arrow(table)).lazy()  # type: ignore[no-any-return]

    def collect(self, frame: nw.LazyFrame[Any], step: str = "compute the sums", hint: str = "") -> pa.Table:
        """Compute a frame: whole numbers are int64, text is text. See `scrubbed` for what is said if that fails."""
        with scrubbed(self.engine, step, hint):
            return _plain(self._collect(frame))

    def batches(self, frame: nw.LazyFrame[Any], size: int = _ROWS) -> Iterator[pa.RecordBatch]:
        """Compute a frame and yield about `size` rows at a time, without holding all where the engine can."""
        with scrubbed(self.engine, "read the rows"):
            for batch in self._batches(frame, size):
                yield from _plain(pa.Table.from_batches([batch])).to_batches()

    def _double(self, column: str) -> nw.Expr:
        return nw.col(column).cast(nw.Float64)

    def _from_arrow(self, table: pa.Table, /) -> Native:
        return nw.from_arrow(table, backend=self.frame.implementation).to_native()

    def _collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return frame.collect("pyarrow").to_arrow()

    def _batches(self, frame: nw.LazyFrame[Any], size: int) -> Iterator[pa.RecordBatch]:
        yield from self._collect(frame).to_batches(max_chunksize=size)

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        """Return a native table with further columns: the numbers that columns of text, or awkward ones, hold."""
        raise NotImplementedError


def _halved(rows: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Add both halves of columns of whole steps: high_... * `HALF` + low_..."""
    high = {f"high_{name}": (nw.col(name) / float(HALF)).floor().cast(nw.Float64) for name in names}
    low = {f"low_{name}": (nw.col(name) - nw.col(f"high_{name}") * HALF).cast(nw.Int64) for name in names}
    return rows.with_columns(**high).with_columns(**low, **{half: nw.col(half).cast(nw.Int64) for half in high})


class _Unreadable(TableSource):
    """An engine that has no cast without errors, as far as we know."""

    reads_text: ClassVar[bool] = False


class _Pandas(TableSource):
    @classmethod
    def untyped(cls, native: Native, column: str) -> bool:
        return _any_object(native, column)

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        import pandas as pd

        return native.assign(
            **{
                new: pd.to_numeric(native[old].astype("object"), errors="coerce").astype("float64")
                for old, new in names.items()
            }
        )


class _Polars(TableSource):
    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        import polars as pl

        return native.with_columns(
            pl.col(old).cast(pl.String).str.strip_chars(" \t\r\n").cast(pl.Float64, strict=False).alias(new)
            for old, new in names.items()
        )

    def _collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return frame.to_native().collect(engine="streaming").to_arrow()


class _Arrow(TableSource):
    #: Casts of arrow raise for what a double cannot hold to the last digit.
    awkward: ClassVar[tuple[type[nw.dtypes.DType], ...]] = (nw.Int64, nw.UInt64, nw.Decimal)
    #: What arrow takes for a number: it raises if one cell of a column is none.
    NUMBER: ClassVar[str] = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        from pyarrow import compute

        for old, new in names.items():
            column = native[old]
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            if not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
                text = compute.utf8_trim(column.cast(pa.string()), " \t\r\n")
                column = compute.if_else(compute.match_substring_regex(text, cls.NUMBER), text, None)
            native = native.append_column(new, column.cast(pa.float64(), safe=False))
        return native


class _Dask(TableSource):
    @classmethod
    def untyped(cls, native: Native, column: str) -> bool:
        return _any_object(native, column)

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        from dask import dataframe

        return native.assign(
            **{
                new: dataframe.to_numeric(native[old].astype("object"), errors="coerce").astype("float64")
                for old, new in names.items()
            }
        )

    def each_row(self, rows: nw.LazyFrame[Any], change: Change) -> nw.LazyFrame[Any]:
        # Dask plans every operation on every column, for seconds where there are many; a function it just calls.
        changed = rows.to_native().map_partitions(_changed, change)
        return nw.from_native(changed).lazy()  # type: ignore[no-any-return]

    def _from_arrow(self, table: pa.Table, /) -> Native:
        dataframe: Any = importlib.import_module("dask.dataframe")  # untyped
        return dataframe.from_pandas(table.to_pandas(), npartitions=1)

    def _collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return pa.Table.from_pandas(frame.to_native().compute(), preserve_index=False)

    def _batches(self, frame: nw.LazyFrame[Any], size: int) -> Iterator[pa.RecordBatch]:
        for part in frame.to_native().partitions:
            yield from pa.Table.from_pandas(part.compute(), preserve_index=False).to_batches(max_chunksize=size)


def _changed(part: Native, change: Change) -> Native:
    """Return a part of a Dask table, which is a frame of pandas, after a change."""
    return change(nw.from_native(part).lazy()).to_native()


class _DuckDB(TableSource):
    def having(self, rows: nw.LazyFrame[Any], column: str, keys: Collection[Any]) -> nw.LazyFrame[Any]:
        import duckdb

        # What narwhals writes for `is_in` looks through the whole list for every row.
        one_of_them = duckdb.ColumnExpression(column).isin(*map(duckdb.ConstantExpression, keys))
        return nw.from_native(rows.to_native().filter(one_of_them)).lazy()  # type: ignore[no-any-return]

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        added = (f"{_duckdb_number(_quoted(old))} AS {_quoted(new)}" for old, new in names.items())
        return native.project(f"*, {', '.join(added)}")

    def _from_arrow(self, table: pa.Table, /) -> Native:
        # Asked through the relation: one of another connection could not be joined with it. DuckDB looks for a name in
        # its catalogue first, then among the variables of Python, so nobody must be able to have a table of that name.
        name = f"hetdp_{secrets.token_hex(16)}"
        globals()[name] = table
        try:
            return self.frame.to_native().query("hetdp_relation", f"SELECT * FROM {name}")  # noqa: S608  (our own name)
        finally:
            del globals()[name]

    def _collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return self._narrow(frame).to_arrow_table()

    def _batches(self, frame: nw.LazyFrame[Any], size: int) -> Iterator[pa.RecordBatch]:
        relation = self._narrow(frame)
        yield from getattr(relation, "to_arrow_reader", relation.fetch_arrow_reader)(size)  # its name from DuckDB 2 on

    def add_up(self, rows: nw.LazyFrame[Any], keys: Sequence[str], names: Sequence[str]) -> nw.LazyFrame[Any]:
        # DuckDB adds up in 128 bits: halves of few sums, not sums of many halves.
        by = ", ".join(map(_quoted, keys))
        sums = "".join(f", sum(CAST({name} AS BIGINT)) AS {name}" for name in names)
        low = "CAST(({0} % {1} + {1}) % {1} AS BIGINT)"
        halves = "".join(
            f", CAST(({name} - {low.format(name, HALF)}) // {HALF} AS BIGINT) AS high_{name}, "
            f"{low.format(name, HALF)} AS low_{name}"
            for name in names
        )
        added = rows.to_native().aggregate(f"{by}, count(*) AS n{sums}", by)
        return nw.from_native(added.project(f"{by}, n{halves}")).lazy()  # type: ignore[no-any-return]

    @staticmethod
    def _narrow(frame: nw.LazyFrame[Any]) -> Native:
        """Return a relation with its sums, which DuckDB makes of 128 bits, in 64; too large a one is an error."""
        relation = frame.to_native()
        columns = [(_quoted(name), str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]
        return relation.project(
            ", ".join(f"CAST({name} AS BIGINT) AS {name}" if kind == "HUGEINT" else name for name, kind in columns)
        )


class _DelimitedFiles(_DuckDB):
    """Files of text: a row that is no text, or too long for DuckDB, is left out, whatever it weighs.

    An error would tell about the row. Rows of another length than the header, and quotes that do not end, break the
    file as a whole, and are refused.
    """

    @classmethod
    def untyped(cls, native: Native, column: str) -> bool:  # noqa: ARG003
        return True

    def _collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        found = super()._collect(frame)
        self._refuse_broken()
        return found

    def _batches(self, frame: nw.LazyFrame[Any], size: int) -> Iterator[pa.RecordBatch]:
        yield from super()._batches(frame, size)
        self._refuse_broken()

    def _refuse_broken(self) -> None:
        kinds: list[tuple[str]] = []
        if self._asked("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'"):  # a file has been read
            kinds = self._asked("SELECT DISTINCT error_type FROM reject_errors")
        if {str(kind) for (kind,) in kinds} - _ROWS_LEFT_OUT:
            raise DataError("files of a table must have rows as long as the header, and quotes that end")

    def _asked(self, question: str) -> list[Any]:
        return list(self.frame.to_native().query("hetdp_relation", question).fetchall())


class _SemicolonFiles(_DelimitedFiles):
    """Files of text with semicolons between columns, in which 3,5 is a number."""

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        points = {new: f"replace({_quoted(old)}, ',', '.')" for old, new in names.items()}
        added = (f"{_duckdb_number(cell)} AS {_quoted(new)}" for new, cell in points.items())
        return native.project(f"*, {', '.join(added)}")


class _Ibis(TableSource):
    joining: ClassVar[str] = "With a ledger, the database must let you make temporary tables. Nothing was charged."

    def _double(self, column: str) -> nw.Expr:
        number = nw.col(column)
        if self.schema[column].is_decimal():  # a server's may be too large for a double, and its cast raise
            largest = nw.when(number > _HUGE).then(nw.lit(_HUGE)).otherwise(number)
            number = nw.when(number < -_HUGE).then(nw.lit(-_HUGE)).otherwise(largest)
        return number.cast(nw.Float64)

    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        import ibis

        numbers = {}
        for old, new in names.items():
            text = native[old].strip()
            numbers[new] = ibis.ifelse(text.contains("_"), ibis.null("string"), text).try_cast("float64")
        read = native.mutate(**numbers)
        # What some servers (PostgreSQL) make of a cast that must not raise is one that does.
        if re.search(r"(TRY|SAFE)_CAST\(", str(ibis.to_sql(read)).upper()) is None:
            raise _no_numbers(next(iter(names)), nw.String())
        return read

    def _from_arrow(self, table: pa.Table, /) -> Native:
        import ibis

        return ibis.memtable(table)

    def _batches(self, frame: nw.LazyFrame[Any], size: int) -> Iterator[pa.RecordBatch]:
        if self.engine == "duckdb":  # ibis 12 asks DuckDB 2 for what it no longer has
            yield from super()._batches(frame, size)
        else:
            yield from frame.to_native().to_pyarrow_batches(chunk_size=size)


class _Spark(TableSource):
    @classmethod
    def read_numbers(cls, native: Native, names: Mapping[str, str]) -> Native:
        # Java takes `1f` and `5d` for numbers.
        number = "CASE WHEN trim({0}) NOT RLIKE '[0-9.][dDfF]$' THEN try_cast(trim({0}) AS double) END AS {1}"
        added = (number.format(_quoted(old, "`"), _quoted(new, "`")) for old, new in names.items())
        return native.selectExpr("*", *added)

    def _from_arrow(self, table: pa.Table, /) -> Native:
        session = self.frame.to_native().sparkSession
        return session.createDataFrame(table if int(session.version.partition(".")[0]) >= _SPARK else table.to_pandas())


_ENGINES: dict[nw.Implementation, type[TableSource]] = {
    nw.Implementation.PANDAS: _Pandas,
    nw.Implementation.MODIN: _Unreadable,
    nw.Implementation.CUDF: _Unreadable,
    nw.Implementation.POLARS: _Polars,
    nw.Implementation.PYARROW: _Arrow,
    nw.Implementation.DASK: _Dask,
    nw.Implementation.DUCKDB: _DuckDB,
    nw.Implementation.IBIS: _Ibis,
    nw.Implementation.PYSPARK: _Spark,
    nw.Implementation.PYSPARK_CONNECT: _Spark,
}


@contextlib.contextmanager
def open_source(
    table: Native,
    *,
    columns: Collection[str] | None = None,
    numbers: Collection[str] = (),
    values: Mapping[str, str] | None = None,
    name: str | None = None,
    threads: int | None = None,
    memory: str = _MEMORY,
) -> Iterator[TableSource]:
    """Open a table where it lives; no row is read before something is collected.

    Parameters
    ----------
    table
        A frame, a relation, an ibis table, paths or patterns of files, or the address of a database.
    columns
        Those that are needed; others are not read. All unless given.
    numbers
        Those of them that must be numbers, whatever they are kept as; perhaps with what chooses each, for messages.
    values
        Those of `numbers` that must have a type of numbers, where types mean something, each with the aggregate that is
        about it: of a column of text every cell would be none.
    name
        Which table of a database.
    threads, memory
        How many threads, and what memory, DuckDB may use for files; other engines have settings of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> with open_source(pd.DataFrame({"hours": ["3.5", "none"]}), numbers=["hours"]) as source:
    ...     source.collect(source.frame.select(source.numeric("hours"))).column(0).to_pylist()
    [3.5, None]
    """
    kind = None
    with contextlib.ExitStack() as stack:
        if isinstance(table, str) and _URL.match(table):
            native, described = _of_database(stack, table, name), f"the table {name!r}"
        elif isinstance(table, str | os.PathLike) or (isinstance(table, list | tuple) and table):
            paths = _listed([table] if isinstance(table, str | os.PathLike) else table)
            native, described = _of_files(_connect(stack, ":memory:", threads, memory), paths), paths[0].name
            if _ending(paths[0]) != ".parquet":
                kind = _SemicolonFiles if open_file(paths[0]).delimiter == ";" else _DelimitedFiles
        else:
            native, described = table, "table"
        yield _source(native, described, columns, numbers, values=values or {}, kind=kind)


def _framed(native: Native) -> nw.LazyFrame[Any]:
    """Return a native table as a lazy frame."""
    with scrubbed("narwhals", "take the table"):
        try:
            return nw.from_native(native).lazy()  # type: ignore[no-any-return]
        except TypeError:
            raise InvalidInput(f"must be {_TAKEN}", parameter="table", got=type(native)) from None
        except nw.exceptions.DuplicateError:
            raise DataError("must have a different name for each column", parameter="table") from None


def _source(
    native: Native,
    described: str,
    columns: Collection[str] | None,
    numbers: Collection[str],
    *,
    values: Mapping[str, str],
    kind: type[TableSource] | None,
) -> TableSource:
    """Return a native table as a source, of the kind that its engine has unless another is given."""
    frame = _framed(native)
    kind = kind or _ENGINES.get(frame.implementation)
    if kind is None:
        raise InvalidInput(f"must be {_TAKEN} (got a table of {frame.implementation})", parameter="table")
    engine = frame.implementation.value.partition("[")[0]
    with scrubbed(engine, "tell the columns of the table"):
        if kind is _Ibis:
            engine = str(frame.to_native().get_backend().name)
        names = list(frame.collect_schema().names())
    if not all(isinstance(name, str) for name in names):
        raise DataError("must have texts for names of columns", parameter="table")
    wanted = names if columns is None else list(dict.fromkeys([*columns, *numbers]))
    chosen_by = {**dict.fromkeys(wanted, "columns"), **(numbers if isinstance(numbers, Mapping) else {})}
    check_columns(described, names, {name: chosen_by[name] for name in (numbers if columns is None else wanted)})
    with scrubbed(engine, "choose the columns of the table"):
        frame = frame.select(wanted) if wanted else frame
        schema = dict(frame.collect_schema())
    read = {}
    loose = tuple(column for column in values if kind.untyped(frame.to_native(), column))
    for place, column in enumerate(numbers):
        found = schema[column]
        if column in values and column not in loose and not (found.is_numeric() or found == nw.Boolean):
            raise _no_values(values[column], column, found)
        if not ((kind.reads_text and _is_text(found)) or found.is_numeric() or found == nw.Boolean):
            raise _no_numbers(column, found)
        if _is_text(found) or isinstance(found, kind.awkward):
            read[column] = _free_name(place, schema)
    if read:
        with scrubbed(engine, "read numbers"):
            frame = nw.from_native(kind.read_numbers(frame.to_native(), read)).lazy()
    return kind(engine, frame, schema, read, loose)


def _is_text(kind: nw.dtypes.DType) -> bool:
    return kind in {nw.String, nw.Categorical, nw.Object} or isinstance(kind, nw.Enum)


def _any_object(native: Native, column: str) -> bool:
    """Return whether a column of pandas holds any objects of Python; narwhals looks at cells to call it text."""
    return str(native.dtypes[column]) == "object"


def _no_values(aggregate: str, column: str, kind: nw.dtypes.DType) -> DataError:
    remedy = (
        "Cast it to a type of numbers first, in a view for instance, such that cells that are none become null."
        if _is_text(kind)
        else "Make a column of numbers of it first: of a date, for instance, a number of days or years."
    )
    return DataError(
        f"The {aggregate} needs a column of numbers: {column!r} is of type {kind.base_type().__name__}",
        hint=f"{remedy} Nothing was charged.",
    )


def _no_numbers(column: str, kind: nw.dtypes.DType) -> DataError:
    if _is_text(kind):
        return DataError(
            f"the column {column!r} must be one of numbers: this engine cannot read text as numbers without "
            "errors that quote a cell",
            got=kind.base_type().__name__,
            hint="Give the column a type of numbers, in a view for instance.",
        )
    return DataError(f"the column {column!r} must be one of numbers", got=kind)


def _free_name(number: int, taken: Collection[str]) -> str:
    """Return a name for a helper column; names that differ in case only are the same to SQL."""
    name = f"hetdp_number_{number}"
    while name in {column.lower() for column in taken}:
        name += "_"
    return name


def _plain(table: pa.Table) -> pa.Table:
    """Return a table with int64 for whole numbers of any width, and plain text."""

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_dictionary(kind):
            return plain(kind.value_type)
        if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
            return pa.int64()  # what does not fit is an error, never a wrong number
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return pa.string()
        return kind

    schema = pa.schema([pa.field(field.name, plain(field.type)) for field in table.schema])
    # Most of the time of a small release is that of imports, and a cast has one of its own.
    return table if table.schema.equals(schema, check_metadata=True) else table.cast(schema).replace_schema_metadata()


# Files, through DuckDB.


def _connect(stack: contextlib.ExitStack, path: str, threads: int | None, memory: str) -> Any:  # noqa: ANN401
    """Return a connection to DuckDB of our own, which keeps large things in a folder that nobody else can read."""
    duckdb: Any = require("duckdb", extra="duckdb", purpose="Reading a table from files")
    config = {
        "memory_limit": memory,
        "temp_directory": stack.enter_context(tempfile.TemporaryDirectory(prefix="hetdp-")),
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",  # a release asks nobody else
        "autoload_known_extensions": "false",
    } | ({} if threads is None else {"threads": str(threads)})
    with scrubbed("duckdb", "open a database"):
        connection = duckdb.connect(path, read_only=path != ":memory:", config=config)
    stack.callback(connection.close)
    return connection


def _shown(path: str) -> str:
    """Return a path for a message; what looks like an address may hold a password."""
    return "something like an address" if re.search(r"[@=?]|:/|//", path) else repr(path)


def _listed(patterns: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files that paths and patterns name."""
    found: list[Path] = []
    for pattern in patterns:
        if not isinstance(pattern, str | os.PathLike):
            raise InvalidInput(f"must be {_TAKEN} (got a list of {type(pattern).__name__})", parameter="table")
        path = Path(pattern)
        path = path / "*" if path.is_dir() else path
        files = [path] if path.is_file() else sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in files if file.is_file()]
        if not files:
            raise DataError(f"File not found: {_shown(str(pattern))}")
        found += files
    return list(dict.fromkeys(found))


def _of_files(connection: Any, paths: Sequence[Path]) -> Native:  # noqa: ANN401
    """Return files as one relation."""
    endings = {_ending(path) for path in paths}
    if len(endings) != 1 or not endings <= set(ENDINGS):
        listed = ", ".join(sorted(repr(ending) for ending in endings))
        database = " A DuckDB file is opened as duckdb://FILE." if endings & {".db", ".duckdb"} else ""
        raise DataError(
            "must name .parquet, .csv or .tsv files, all of one kind", parameter="table", got=listed, hint=database
        )
    files = "[" + ", ".join(_literal(str(path)) for path in paths) + "]"
    if endings == {".parquet"}:
        with scrubbed("duckdb", f"read {paths[0].name} as parquet"):
            return connection.sql(f"SELECT * FROM read_parquet({files}, union_by_name = true)")  # noqa: S608  (quoted)
    headers = {path: _header(path) for path in paths}
    delimiter, names = first = headers[paths[0]]
    for path, header in headers.items():
        if header != first:
            raise DataError(f"all files of a table must have the same header (got another in {path.name})")
    columns = "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names) + "}"
    # Nothing is guessed: a guess from the first rows might fail, or change an id, in a later one.
    options = f"columns = {columns}, delim = {_literal(delimiter)}, auto_detect = false, header = true, quote = '\"', "
    options += (
        "escape = '\"', strict_mode = true, null_padding = false, allow_quoted_nulls = false, ignore_errors = true, "
        "store_rejects = true"
    )
    with scrubbed("duckdb", f"read {paths[0].name}"):
        return connection.sql(f"SELECT * FROM read_csv({files}, {options})")  # noqa: S608  (quoted)


def _ending(path: Path) -> str:
    compressed = path.suffix.lower() in COMPRESSIONS and path.suffix.lower() != ".bz2"  # which DuckDB does not know
    return (path.with_suffix("") if compressed else path).suffix.lower()


def _header(path: Path) -> tuple[str, list[str]]:
    """Return what is between the columns of a file, and the names in its first line."""
    file = open_file(path)
    names = file.columns
    if len({name.lower() for name in names}) < len(names):
        raise DataError(f"{path.name} must have a different name for each column, whatever the case")
    if not file.named or file.blank or any(re.fullmatch(r"\s*[+-]?[\d.]+\s*", name) or not name for name in names):
        raise DataError(f"{path.name} must begin with a line of names (got a number, or nothing, for a name)")
    return str(file.delimiter), names


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str, mark: str = '"') -> str:
    return mark + name.replace(mark, 2 * mark) + mark


def _duckdb_number(column: str) -> str:
    """Return what reads text as a number in DuckDB; an underscore within digits is for programmers."""
    return f"CASE WHEN contains({column}, '_') THEN NULL ELSE TRY_CAST({column} AS DOUBLE) END"


# Databases.


def _of_database(stack: contextlib.ExitStack, address: str, name: str | None) -> Native:
    """Return a table of a database. Its address may hold a password: no message shows it."""
    scheme, _, rest = address.partition("://")
    if scheme not in {*_POSTGRES, "duckdb"}:
        raise InvalidInput(
            f"must be {_TAKEN} (got an address of another kind, {scheme}://,)",
            parameter="table",
            hint="Open it with ibis and give its table.",
        )
    if not name:
        raise InvalidInput("must tell which table of the database", parameter="table_name")
    space, _, short = name.rpartition(".")
    if scheme == "duckdb":
        if not Path(rest).is_file():
            raise DataError(f"must name a database that exists (got {_shown(rest)})", parameter="table")
        connection = _connect(stack, rest, None, _MEMORY)
        with scrubbed("duckdb", f"open the table {name!r}", "Is there one of that name?"):
            return connection.table(".".join(_quoted(part) for part in (space, short) if part))
    require_all(("ibis", "psycopg"), extra="sql", purpose="Reading a table from a database")
    ibis: Any = importlib.import_module("ibis")
    with scrubbed("postgresql", "connect", "Is the server there, and are name and password right?"):
        server = ibis.connect(address)
    stack.callback(server.disconnect)
    # One snapshot for all that is asked: whoever joins while it is released is neither charged nor counted.
    psycopg: Any = importlib.import_module("psycopg")
    server.con.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    stack.enter_context(server.con.transaction())
    with scrubbed("postgresql", f"open the table {name!r}", "Is there one of that name?"):
        return server.table(short, database=space or None)
