"""Whatever a user has becomes one frame, and no engine's message gets out."""

import datetime as dt
import gzip
import logging
import math
import subprocess
import sys
from decimal import Decimal

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.support.errors import refused

from hetdp.core.errors import DataError, HetdpError, InvalidInput, MissingExtra
from hetdp.tables.sources import HALF, open_source, scrubbed

SECRET = "Rumpelstilzchen"  # noqa: S105  (the cell that nobody may see)
TEXTS = (
    "1",
    "2.5",
    " 3 ",
    SECRET,
    "",
    "nan",
    "inf",
    "-Infinity",
    "1e400",
    "+5",
    "5.",
    ".5",
    "1_000",
    "1f",
    "0x10",
    "1,5",
)
VISITS = pa.table(
    {
        "person": pa.array([1, 2, 3, 2**60 + 1, None], pa.int64()),
        "ward": pa.array(["er", "icu", None, "er", "lab"]),
        "hours": pa.array([1.5, None, math.inf, -0.0, 1e308]),
        "smokes": pa.array([True, False, True, False, True]),
    }
)


def numbers(source, column):
    """Return a column as numbers, in order of `row`."""
    found = source.collect(source.frame.select("row", number=source.numeric(column)))
    order = np.argsort(found["row"].to_numpy())
    return [known(value) for value in found["number"].take(order).to_pylist()]


def known(value):
    """Return a value, or None for nan, which is how pandas says that there is none."""
    return None if isinstance(value, float) and math.isnan(value) else value


def rows(table):
    """Return the rows of a table in an order of their own; what is missing is None."""
    listed = [{name: known(value) for name, value in row.items()} for row in table.to_pylist()]
    return sorted(listed, key=lambda row: [str(value) for value in row.values()])


def test_each_engine_gives_the_same_rows_and_types(engine, engine_table):
    table = VISITS.drop_columns(["person"])  # whole numbers with gaps are no whole numbers to pandas
    with open_source(engine_table(engine, table)) as source:
        assert list(source.schema) == table.column_names
        assert rows(source.collect(source.frame)) == rows(table)
        assert rows(pa.Table.from_batches(source.batches(source.frame, 2))) == rows(table)


def test_other_columns_are_not_read(engine, engine_table):
    with open_source(engine_table(engine, VISITS), columns=["ward"], numbers=["hours"]) as source:
        assert list(source.schema) == ["ward", "hours"]
        assert source.collect(source.frame).column_names == ["ward", "hours"]


def test_a_small_table_is_joined_in_the_engine(engine, engine_table):
    ids = pa.table({"person": pa.array([2, 3], pa.int64()), "cap": [0.25, 1.0]})
    table = VISITS.slice(0, 4)
    with open_source(engine_table(engine, table)) as source:
        small = source.from_arrow(ids)
        stay = source.collect(source.frame.join(small, on="person", how="anti").select("person"))
        assert sorted(stay["person"].to_pylist()) == [1, 2**60 + 1]
        joined = source.collect(source.frame.join(small, on="person", how="left").select("person", "cap"))
        caps = {row["person"]: row["cap"] for row in rows(joined)}
        assert caps == {1: None, 2: 0.25, 3: 1.0, 2**60 + 1: None}


def test_texts_are_joined_in_the_engine(engine, engine_table):
    with open_source(engine_table(engine, VISITS), columns=["ward", "hours"]) as source:
        small = source.from_arrow(pa.table({"ward": ["er"]}))
        kept = source.collect(source.frame.filter(~nw.col("ward").is_null()).join(small, on="ward", how="anti"))
        assert sorted(kept["ward"].to_pylist()) == ["icu", "lab"]


def test_sums_come_back_as_whole_numbers(engine, engine_table):
    table = pa.table({"key": ["a", "b", "a"], "whole": pa.array([2**40, -1, 2**40], pa.int64())})
    with open_source(engine_table(engine, table)) as source:
        sums = source.collect(source.frame.group_by("key").agg(nw.col("whole").sum(), nw.len().alias("rows")))
    assert sums.schema.field("whole").type == sums.schema.field("rows").type == pa.int64()
    assert rows(sums) == [{"key": "a", "whole": 2**41, "rows": 2}, {"key": "b", "whole": -1, "rows": 1}]


def test_whole_steps_are_added_up_in_halves(engine, engine_table):
    steps = [2.0**40, -1.0, -(2.0**40), -(2.0**20), 3.0, 2.0**20 - 1, -5.0, 0.0]
    table = pa.table({"key": ["a", "b", "c", "c", "b", "a", "d", "d"], "q": steps, "r": [-step for step in steps]})
    with open_source(engine_table(engine, table)) as source:
        found = source.collect(source.add_up(source.frame, ["key"], ["q", "r"])).to_pylist()
        counted = source.collect(source.add_up(source.frame, ["key"], []))
    sums = {row["key"]: row["high_q"] * HALF + row["low_q"] for row in found}
    assert sums == {"a": 2**40 + 2**20 - 1, "b": 2, "c": -(2**40) - 2**20, "d": -5}
    assert {row["key"]: row["high_r"] * HALF + row["low_r"] for row in found} == {key: -sums[key] for key in sums}
    assert [row["n"] for row in found] == counted["n"].to_pylist() == [2, 2, 2, 2]


@pytest.mark.parametrize("step", [2**40, -(2**40), 1 - 2**40])
def test_duckdb_adds_up_beyond_64_bits(step):
    import duckdb

    rows = f"SELECT 'a' AS k, {step}::DOUBLE AS q FROM range(9000000)"  # noqa: S608
    with duckdb.connect() as connection, open_source(connection.sql(rows)) as source:
        (row,) = source.collect(source.add_up(source.frame, ["k"], ["q"])).to_pylist()
    assert row["high_q"] * HALF + row["low_q"] == 9_000_000 * step
    assert abs(9_000_000 * step) > 2**63


def test_text_becomes_numbers_or_nothing(engine, engine_table):
    table = pa.table({"row": range(len(TEXTS)), "text": TEXTS})
    native = engine_table(engine, table)
    if engine == "postgres":  # whose casts raise
        with refused(problem="the column 'text' must be one of numbers: this engine", kind=DataError):
            open_source(native, numbers=["text"]).__enter__()
        return
    with open_source(native, numbers=["text"]) as source:
        found = numbers(source, "text")
    wanted = [1.0, 2.5, 3.0, None, None, None, math.inf, -math.inf, math.inf, 5.0, 5.0, 0.5, None, None, None, None]
    assert found == wanted


@pytest.mark.slow
def test_booleans_whole_numbers_and_decimals_are_numbers(engine, engine_table):
    table = pa.table({"row": [0, 1], "smokes": [True, False], "whole": pa.array([2**60 + 1, -3], pa.int64())})
    with open_source(engine_table(engine, table), numbers=["smokes", "whole"]) as source:
        assert numbers(source, "smokes") == [1.0, 0.0]
        assert numbers(source, "whole") == [float(2**60), -3.0]
    if engine in {"pandas", "polars", "pyarrow", "dask", "duckdb", "ibis"}:
        decimals = pa.table({"row": [0, 1], "money": [Decimal("0.10"), None]})
        with open_source(engine_table(engine, decimals), numbers=["money"]) as source:
            assert numbers(source, "money") == [0.1, None]


def test_what_is_no_number_is_refused_by_its_type(engine, engine_table):
    table = pa.table({"day": pa.array([dt.date(2026, 1, 1)] * 3, pa.date32()), "ward": ["er"] * 3})
    if engine in {"pandas", "dask"}:
        pytest.skip("dates of arrow are plain objects to pandas")
    with refused(problem="the column 'day' must be one of numbers", kind=DataError):
        open_source(engine_table(engine, table), numbers=["day"]).__enter__()


def test_a_missing_column_is_named(engine, engine_table):
    with refused(problem="'dial'", kind=DataError):
        open_source(engine_table(engine, VISITS), columns=["dial"]).__enter__()


def test_no_message_of_an_engine_gets_out(engine, engine_table, capfd, caplog):
    table = pa.table({"text": [SECRET, "1"]})
    with (
        open_source(engine_table(engine, table)) as source,
        pytest.raises(DataError, match="could not compute the sums") as caught,
        scrubbed(source.engine, "compute the sums"),  # pandas and arrow compute while the expression is built
    ):
        source.collect(source.frame.select(nw.col("text").cast(nw.Float64)))
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err + caplog.text


def test_scrubbing_lets_our_own_errors_and_the_user_pass():
    with refused(problem="ours"), scrubbed("pandas", "count"):
        raise InvalidInput("ours")
    with pytest.raises(KeyboardInterrupt), scrubbed("pandas", "count"):
        raise KeyboardInterrupt
    assert not logging.getLogger("DataFrameQueryContextLogger").disabled


@pytest.mark.parametrize("table", [object(), 3, None, [], {"a": [1]}, np.zeros(3)])
def test_an_engine_that_is_not_known_is_refused(table):
    with refused("table", "a pandas, Polars,"):
        open_source(table).__enter__()


def test_names_of_columns_are_texts_and_come_once():
    import pandas as pd

    with refused("table", "a different name for each column", kind=DataError):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"])).__enter__()
    with refused("table", "texts for names of columns", kind=DataError):
        open_source(pd.DataFrame([[1, 2]], columns=[0, 1])).__enter__()


# Files.

CELLS = pa.table({"row": range(len(TEXTS)), "text": TEXTS, "hours": [0.1 * number for number in range(len(TEXTS))]})


def write_csv(path, table, separator=","):
    lines = [separator.join(table.column_names)]
    lines += [separator.join('"' + str(cell) + '"' for cell in row.values()) for row in table.to_pylist()]
    text = "\n".join(lines).encode() + b"\n"
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


@pytest.mark.parametrize("name", ["visits.csv", "visits.tsv", "visits.csv.gz", "visits.parquet"])
def test_files_of_each_kind_hold_the_same_numbers(tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".parquet":
        parquet.write_table(CELLS, path)
    else:
        write_csv(path, CELLS, "\t" if ".tsv" in name else ",")
    for given in (path, str(path), [path], str(tmp_path / "vis*")):
        with open_source(given, columns=[], numbers=["row", "text", "hours"], threads=1) as source:
            assert source.engine == "duckdb"
            found = source.collect(source.frame.select(**{name: source.numeric(name) for name in CELLS.column_names}))
    order = np.argsort(found["row"].to_numpy())
    assert found["hours"].take(order).to_pylist() == CELLS["hours"].to_pylist()
    texts = [known(number) for number in found["text"].take(order).to_pylist()]
    wanted = [1.0, 2.5, 3.0, None, None, None, math.inf, -math.inf, math.inf, 5.0, 5.0, 0.5, None, None, None, None]
    assert texts == wanted


def test_many_files_are_one_table_and_columns_go_by_name(tmp_path):
    parquet.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"b": ["y"], "a": [2]}), tmp_path / "2.parquet")
    with open_source(tmp_path / "*.parquet") as source:
        assert rows(source.collect(source.frame)) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_the_memory_of_files_is_bounded_and_what_is_spilled_goes(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parquet.write_table(pa.table({"a": range(1000)}), tmp_path / "a.parquet")
    with open_source(tmp_path / "a.parquet", threads=1, memory="64MB") as source:
        asked = "SELECT current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
        memory, threads, folder = source.frame.to_native().query("settings", asked).fetchall()[0]
        assert (memory, threads) == ("61.0 MiB", 1)
        assert folder.startswith(str(tmp_path / "hetdp-"))
    assert list(tmp_path.glob("hetdp-*")) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'a,b\n1,"{SECRET}\n2,3\n', (None, "must have rows as long as the header, and quotes that end")),
        (f"a,b\n1,{SECRET},3\n", (None, "must have rows as long as the header")),
        (f"a,b\n1\n2,{SECRET}\n", (None, "must have rows as long as the header")),
        ("34,er\n35,icu\n", (None, "must begin with a line of names")),
        ("a,A\n1,2\n", (None, "must have a different name for each column")),
        ("a,\n1,2\n", (None, "must begin with a line of names")),
        ("\na,b\n1,2\n", (None, "must begin with a line of names")),
        ("", (None, "empty")),
    ],
)
def test_a_file_that_is_no_table_is_refused_without_a_word_of_it(tmp_path, text, told):
    path = tmp_path / "visits.csv"
    path.write_text(text, encoding="utf-8")
    with refused(*told, kind=DataError) as caught, open_source(path) as source:
        source.collect(source.frame)
    assert SECRET not in str(caught.error)


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n1,2\n")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "3.parquet")
    with refused(problem="must have the same header", kind=DataError):
        open_source(tmp_path / "*.csv").__enter__()
    with refused(problem="all of one kind", kind=DataError):
        open_source(str(tmp_path / "*")).__enter__()
    with refused(problem="File not found", kind=DataError):
        open_source(str(tmp_path / "*.tsv")).__enter__()
    (tmp_path / "4.xlsx").write_text("a")
    with refused(problem=".xlsx", kind=DataError):
        open_source(tmp_path / "4.xlsx").__enter__()


@pytest.mark.parametrize(("module", "extra"), [("duckdb", "duckdb"), ("ibis", "sql"), ("psycopg", "sql")])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, module, extra):
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, module, None)
    given = tmp_path / "a.parquet" if module == "duckdb" else "postgresql://localhost/clinic"
    with pytest.raises(MissingExtra, match=rf"needs {module}, which is not.*: pip install 'hetdp\[{extra}\]'"):
        open_source(given, name="visits").__enter__()


# Databases.


def test_a_database_of_duckdb_is_opened_read_only(tmp_path):
    import duckdb

    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA ward; CREATE TABLE ward.visits AS SELECT 1 AS a; CREATE TABLE visits AS SELECT 2 AS a"
        )
    for name, wanted in (("visits", 2), ("ward.visits", 1), ("main.visits", 2)):
        with open_source(f"duckdb://{path}", name=name) as source:
            assert source.collect(source.frame)["a"].to_pylist() == [wanted]
            with pytest.raises(duckdb.Error):
                source.frame.to_native().insert([3])
    with refused(problem="could not open the table 'nothing'", kind=DataError):
        open_source(f"duckdb://{path}", name="nothing").__enter__()
    with refused(problem="must tell which table"):
        open_source(f"duckdb://{path}").__enter__()
    with refused(problem="database that exists", kind=DataError):
        open_source("duckdb://nowhere.duckdb", name="visits").__enter__()


@pytest.mark.network
def test_a_server_is_opened_by_its_address(filled_postgres):
    address, name = filled_postgres(VISITS)
    for called in (name, f"public.{name}"):
        with open_source(address, name=called, columns=["ward"], numbers=["hours"]) as source:
            assert source.engine == "postgres"
            assert "no-secret" not in repr(source)
            assert source.collect(source.frame).num_rows == VISITS.num_rows
    with refused(problem="could not open the table 'nothing'", kind=DataError):
        open_source(address, name="nothing").__enter__()


@pytest.mark.parametrize(
    "address",
    [f"postgresql://me:{SECRET}@localhost:1/clinic", f"postgres://me:{SECRET}@[", f"mysql://me:{SECRET}@localhost/a"],
)
def test_a_password_is_never_shown(address):
    with pytest.raises(HetdpError) as caught:
        open_source(address, name="visits").__enter__()
    assert SECRET not in str(caught.value)


def test_the_command_line_loads_no_engine():
    code = (
        "import sys, hetdp.cli.main; print(*sorted({'duckdb', 'ibis', 'polars', 'pandas', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_file_with_semicolons_has_decimal_commas(tmp_path):
    (tmp_path / "hours.csv").write_text("person;hours\nann;3,5\nbob;4.25\ncleo;none\n")
    with open_source(tmp_path / "hours.csv", numbers=["hours"]) as source:
        found = source.collect(source.frame.select("person", hours=source.numeric("hours")))
    assert sorted(found.to_pylist(), key=lambda row: row["person"]) == [
        {"person": "ann", "hours": 3.5},
        {"person": "bob", "hours": 4.25},
        {"person": "cleo", "hours": None},
    ]
