"""Columns of private cells: each is read as Python's float reads it, whatever stands beside it."""

import datetime as dt
import decimal
import math
import random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.support.errors import refused

from hetdp import Categories
from hetdp.errors import DataError
from hetdp.profiles.columns import Table, read_table

ODD = [
    *(" 12 ", "1,000", "n/a", "", "nan", "-nan", "nan(1)", "inf", "-Infinity", "1e400", "-1e400", "1e-400", "0x10"),
    *(
        "\uff11\uff12",
        "1_000",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e5",
        "1d5",
        "true",
        " FALSE ",
        "1\n",
        "\t3",
        "1 2",
        "- 1",
        "--1",
    ),
    *("9" * 400, "0" * 500 + "1", "9" * 100_000, "x" * 100_000, "5e-324", "\u00a07", "\x1c8", "\x00", "1\x00", "-0"),
    *("123456789012345678901234567890.123456789", "0.1", "2.5e-99", "1e99", "1e+05", "9007199254740993", "."),
]


def as_python_reads(cell):
    """Return what a cell means: the reference that readers of columns are held to."""
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        return float(cell.strip().lower() == "true")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def table_of(cells, kind=None, *, pieces=1):
    parts = [cells[begin::pieces] for begin in range(pieces)]
    return Table("people.parquet", {"x": [pa.array(part, kind) for part in parts]})


def read_back(tmp_path, column):
    parquet.write_table(pa.table({"x": column}), tmp_path / "people.parquet")
    return read_table(tmp_path / "people.parquet", {"x": "column"})


def same(found, wanted):
    """Tell whether numbers are the same, bit for bit but for the sign of a nan."""
    found, wanted = (np.where(np.isnan(numbers), math.nan, numbers) for numbers in (found, wanted))
    return found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_odd_texts_are_read_as_python_reads_them(tmp_path, kind):
    table = read_back(tmp_path, pa.array([*ODD, None, "7"], pa.string()).cast(kind))
    wanted = [as_python_reads(cell) for cell in [*ODD, None, "7"]]
    assert same(table.numbers("x"), wanted)
    assert table.indicators("x", None, None).tolist() == [float(cell not in ("", None)) for cell in [*ODD, None, "7"]]


def test_odd_texts_of_a_csv_file(tmp_path):
    cells = [cell for cell in ODD if "\x00" not in cell]
    csv.write_csv(pa.table({"x": cells, "y": ["1"] * len(cells)}), tmp_path / "people.csv")
    assert same(
        read_table(tmp_path / "people.csv", {"x": "column"}).numbers("x"),
        [as_python_reads(cell) for cell in cells],
    )


@pytest.mark.parametrize("cell", ODD)
def test_a_cell_is_read_alike_alone_and_among_others(cell):
    alone = table_of([cell, "1"]).numbers("x")[0]
    among = table_of([cell, "1", *ODD]).numbers("x")[0]
    assert same([alone], [among])
    assert same([alone], [as_python_reads(cell)])


def test_random_texts_are_read_as_python_reads_them():
    draw = random.Random(3)  # noqa: S311  (test data)
    cells = ["".join(draw.choices("0123456789+-.eE_ nainf,\uff11\t", k=draw.randint(0, 9))) for _ in range(20_000)]
    cells += [repr(draw.uniform(-1, 1) * 10.0 ** draw.randint(-320, 308)) for _ in range(20_000)]
    wanted = [as_python_reads(cell) for cell in cells]
    assert 15_000 < np.isfinite(wanted).sum() < 39_000, "neither all odd nor all plain"
    for pieces in (1, 7):
        order = [cell for begin in range(pieces) for cell in wanted[begin::pieces]]
        assert same(table_of(cells, pa.string(), pieces=pieces).numbers("x"), order)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, None, 2**53 + 1, -(2**63), 2**63 - 1], pa.int64()),
        ([2**64 - 1, 2**63 + 1025, None], pa.uint64()),
        ([1.5, None, math.nan, math.inf, -0.0], pa.float64()),
        ([0.1, None], pa.float32()),
        ([np.float16(0.1), None], pa.float16()),
        ([True, False, None], pa.bool_()),
        ([b"12", b"", b"true", b"\xff", b" 3 ", None, b"\xef\xbc\x91"], pa.binary()),
        ([b"12", b"ab", None], pa.binary(2)),
        ([decimal.Decimal("0.10"), decimal.Decimal("-1234567890123456789.05"), None], pa.decimal128(30, 2)),
    ],
)
def test_typed_cells_are_read_as_python_reads_them(tmp_path, cells, kind):
    table = read_back(tmp_path, pa.array(cells, kind))
    given = pa.array(cells, kind).to_pylist()
    assert same(table.numbers("x"), [as_python_reads(cell) for cell in given])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([dt.date(2026, 11, 16)]),
        pa.array([dt.datetime(2026, 11, 16, tzinfo=dt.UTC)]),
        pa.array([dt.timedelta(days=1)]),
        pa.array([[1.0]]),
        pa.array([{"a": 1.0}]),
    ],
)
def test_a_column_is_refused_by_its_type(tmp_path, column):
    with pytest.raises(DataError, match=r"column 'x' of people.parquet must have a type of numbers"):
        read_back(tmp_path, column).numbers("x")


def test_no_cell_is_a_reason_to_refuse_a_column(tmp_path):
    assert np.isnan(read_back(tmp_path, pa.array(["a", "b"])).numbers("x")).all()


def test_a_column_without_a_cell_is_all_nan(tmp_path):
    assert np.isnan(read_back(tmp_path, pa.nulls(3)).numbers("x")).all()


def test_no_cell_of_weights_is_refused(tmp_path):
    table = read_back(tmp_path, pa.array(["0.5", "", None, "2.25", "strict", "-1", "1"]))
    assert table.weights("x", default=None).values.tolist() == [0.5, 0, 0, 0, 0, 0, 1]
    assert table.weights("x", default=0.25).values.tolist() == [0.5, 0.25, 0.25, 0, 0, 0, 1]
    assert table.weights(None, default=None).values.tolist() == [1.0] * 7
    assert table.weights(None, default=0.5).values.tolist() == [0.5] * 7


def test_a_file_with_semicolons_has_decimal_commas(tmp_path):
    (tmp_path / "people.csv").write_text("x;weight\n3,5;0,25\n4.5;1\n")
    table = read_table(tmp_path / "people.csv", {"x": "column", "weight": "weights"})
    assert table.numbers("x").tolist() == [3.5, 4.5]
    assert table.weights("weight", default=None).values.tolist() == [0.25, 1]


def test_all_missing_columns_are_said_at_once(tmp_path):
    (tmp_path / "people.csv").write_text("x,y\n1,2\n")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "people.csv", {"x": "column", "v": "weights", "who": "id_column"})
    assert [(one.parameter, one.got) for one in caught.value.problems] == [("weights", "v"), ("id_column", "who")]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array(["a", " a", "A"]), ["a", "a", "A"]),
        (pa.array(["1", " 1", "1.0"]), [1, 1, 1]),
        (pa.array([1, -2, 2**63 - 1]), [1, -2, 2**63 - 1]),
        (pa.array([1.0, 1e16]), [1, 10**16]),
        (pa.array([decimal.Decimal("1.50")]), ["1.5"]),
        (pa.array([b"a", b"1"]), ["a", "1"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    ],
)
def test_labels_follow_the_rule_for_people(tmp_path, column, labels):
    assert read_back(tmp_path, column).labels("x").to_pylist() == labels


@pytest.mark.parametrize("column", [pa.array([True]), pa.array([dt.date(2026, 11, 16)])], ids=["bool", "date"])
def test_a_column_of_another_type_names_nobody(tmp_path, column):
    parquet.write_table(pa.table({"x": column}), tmp_path / "people.parquet")
    with refused("x", "texts or whole numbers"):
        read_table(tmp_path / "people.parquet", {"x": "id_column"}).labels("x")


@pytest.mark.parametrize("cells", [["a", None], ["a", ""]])
def test_labels_must_identify(tmp_path, cells):
    with pytest.raises(DataError, match="must identify each row") as caught:
        read_back(tmp_path, pa.array(cells)).labels("x")
    assert "'a'" not in str(caught.value)


def test_texts_that_are_not_unicode_are_just_odd(tmp_path):
    column = pa.array([b"12", b"secret\xff"]).view(pa.string())
    table = read_back(tmp_path, column)
    np.testing.assert_array_equal(table.numbers("x"), [12, np.nan])


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pa.array([" er ", "icu", "ER", "", None, "lab", "er"]), [0, 1, -1, -1, -1, -1, 0]),
        (pa.array(["er", "icu", None]).dictionary_encode(), [0, 1, -1]),
        (pa.array([b"er", b"\xff"]), [0, -1]),
        (pa.array([7, 8, None]), [2, -1, -1]),
        (pa.array([7.0, float("nan"), 7.5]), [2, -1, -1]),
        (pa.array([True, False, None]), [3, -1, -1]),
        (pa.nulls(2), [-1, -1]),
        (pa.array([["er"], None]), [-1, -1]),
        (pa.array([{"er": "er"}]), [-1]),
        (pa.array([dt.timedelta(days=1)]), [-1]),
        (pa.array([dt.date(2026, 11, 16), None]), [4, -1]),
        (pa.array([1], pa.timestamp("ns")), [-1]),
    ],
)
def test_cells_are_coded_by_their_category(tmp_path, column, codes):
    assert read_back(tmp_path, column).codes("x", Categories(["er", "icu", 7, True, "2026-11-16"])).tolist() == codes
