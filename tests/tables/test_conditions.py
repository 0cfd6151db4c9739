"""The `where` of a table: one condition, the same rows in every engine, and errors that say where the text is wrong."""

import datetime as dt
import functools
import itertools
import math
import operator
import random
from decimal import Decimal

import duckdb
import ibis
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings, strategies as st
from tests.support.errors import refused

from hetdp.tables.conditions import MAXIMUM_DEPTH, parse_condition

#: ibis calls an old name of DuckDB's.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

# --- One table in every engine ----------------------------------------------------------------------------------------

WHOLE = [None, 0, 1, -1, 2, 18, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 1.0, 1e308, -1e308, 5e-324, 18.0]
TEXTS = [None, "", "er", "ER", "it's", 'say "hi"', "18", "0.1", "null", "naïve", " er"]
BOOLEANS = [None, True, False]
DATES = [None, *(dt.date(*day) for day in [(1969, 12, 31), (2024, 2, 29), (2024, 3, 1), (1700, 1, 1)])]
TIMES = [None, *(dt.datetime(2024, 2, 29, hour, 0, second) for hour, second in [(0, 0), (0, 1), (23, 59)])]  # noqa: DTZ001

COLUMNS = {
    "i": (pa.int64(), WHOLE),
    "k": (pa.int64(), WHOLE[1:]),
    "j": (pa.int8(), [-128, -1, 0, 1, 18, 127]),
    "u": (pa.uint64(), [None, 0, 1, 18, 2**64 - 1]),
    "f": (pa.float64(), FLOATS),
    "g g": (pa.float64(), FLOATS),
    "h": (pa.float32(), [None, math.nan, math.inf, 0.0, -0.0, 0.5, float(np.float32(0.1)), 1e30]),
    "s": (pa.string(), TEXTS),
    'r"r': (pa.string(), TEXTS),
    "b": (pa.bool_(), BOOLEANS),
    "c": (pa.bool_(), BOOLEANS[1:]),
    "d": (pa.date32(), DATES),
    "e": (pa.date32(), DATES),
    "t": (pa.timestamp("us"), TIMES),
}
_random = random.Random(11)  # noqa: S311  (a table, not noise)
DATA = {name: [_random.choice(pool) for _ in range(150)] for name, (_, pool) in COLUMNS.items()}
ARROW = pa.table({name: pa.array(DATA[name], dtype) for name, (dtype, _) in COLUMNS.items()})
ROWS = ARROW.to_pylist()

NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.string(): pd.StringDtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def plain_pandas():
    """Return the types that pandas has by itself, where they can hold the values at all."""
    frame = ARROW.to_pandas(types_mapper=pd.ArrowDtype)
    for name in ("i", "b", "u"):  # numpy would make floats and objects of them
        frame[name] = pd.array(DATA[name], dtype=NULLABLE[COLUMNS[name][0]])
    for name in ("k", "j", "f", "g g", "h", "c", "t"):
        frame[name] = ARROW[name].to_pandas()
    frame["s"] = pd.Series(DATA["s"], dtype=object)
    return frame.assign(**{'r"r': pd.Series(DATA['r"r'])})


def nullable_pandas():
    return ARROW.to_pandas(types_mapper=lambda dtype: NULLABLE.get(dtype, pd.ArrowDtype(dtype)))


def dask_frame(frame):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3)


CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.register("people", ARROW)
FRAMES = {
    "pandas": plain_pandas,
    "pandas, nullable": nullable_pandas,
    "pandas, arrow": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(pl.from_arrow(ARROW)),
    "polars, lazy": lambda: pl.DataFrame(pl.from_arrow(ARROW)).lazy(),
    "pyarrow": lambda: ARROW,
    "dask": lambda: dask_frame(plain_pandas()),
    "dask, arrow": lambda: dask_frame(ARROW.to_pandas(types_mapper=pd.ArrowDtype)),
    "duckdb": lambda: CONNECTION.table("people"),
    "ibis": lambda: ibis.duckdb.from_connection(CONNECTION).table("people"),
}


@functools.cache
def engine(name):
    return nw.from_native(FRAMES[name]())


def truths(frame, texts):
    """Return what an engine makes of each text: a list of True and False per text; null would show."""
    schema = frame.collect_schema()
    hits = {f"hit{place}": parse_condition(text).expression(schema) for place, text in enumerate(texts)}
    found = frame.lazy().select(**hits).collect()
    return [found[name].to_list() for name in hits]


# --- The reference: three-valued logic, one row at a time -------------------------------------------------------------

OPERATORS = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WHOLE_COLUMNS = {"i", "k", "j"}
FLOAT_COLUMNS = {"u", "f", "g g", "h"}


def known(value):
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def comparable(columns, values):
    """Beside a column of doubles everything is a double; Python compares int with float exactly."""
    if FLOAT_COLUMNS & columns:
        return [float(value) for value in values]
    if "t" in columns:
        return [value if isinstance(value, dt.datetime) else dt.datetime(*value.timetuple()[:3]) for value in values]  # noqa: DTZ001
    return values


def evaluate(tree, row):  # noqa: PLR0911  (one return per kind of node)
    """Return True, False or None."""
    kind, *parts = tree
    if kind == "not":
        inside = evaluate(parts[0], row)
        return None if inside is None else not inside
    if kind in {"and", "or"}:
        outcomes = [evaluate(part, row) for part in parts]
        decisive = kind == "or"
        return decisive if decisive in outcomes else None if None in outcomes else not decisive
    if kind == "null":
        return not known(row[parts[0]])
    if kind == "in":
        return evaluate(("or", *(("compare", ("column", parts[0]), "=", value) for value in parts[1:])), row)
    if kind == "between":
        operand, low, high = parts
        return evaluate(("and", ("compare", operand, ">=", low), ("compare", operand, "<=", high)), row)
    left, sign, right = parts
    sides = [row[value] if kind == "column" else value for kind, value in (left, right)]
    if not all(known(side) for side in sides):
        return None
    columns = {value for kind, value in (left, right) if kind == "column"}
    return bool(OPERATORS[sign](*comparable(columns, sides)))


@functools.cache
def rows_kept(tree):
    """Whether each row is kept, computed once for all engines; literals that are equal, as 1 and 1.0, keep the same."""
    return [evaluate(tree, row) is True for row in ROWS]


def written(operand):
    kind, value = operand
    if kind == "column":
        return value if value.isalnum() else '"' + value.replace('"', '""') + '"'
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "True", False: "false"}[value]
    if isinstance(value, str | dt.date):
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)


def render(tree):
    kind, *parts = tree
    if kind == "not":
        return f"NOT ({render(parts[0])})"
    if kind in {"and", "or"}:
        return f" {kind} ".join(f"({render(part)})" for part in parts)
    if kind == "null":
        return f"{written(('column', parts[0]))} is NULL"
    if kind == "in":
        return f"{written(('column', parts[0]))} In ({', '.join(map(written, parts[1:]))})"
    if kind == "between":
        return "{} between {} AND {}".format(*map(written, parts))
    return f"{written(parts[0])} {parts[1]} {written(parts[2])}"


NUMBERS = [0, 1, 18, 2.5, -0.5, 0.1, 0.2, 0.3, 0.30000000000000004, -0.0, 1e308, -1e308, 127, 128, -129]
NUMBERS += [2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, 9.3e18, None]
DAYS = [None, dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(1970, 1, 1), dt.date(1700, 1, 1)]
#: Columns of the same type and values as others, there to be compared with those.
ALIKE = {"g g", "e"}
#: Columns that may be compared with each other, literals for them, and how.
KINDS = [
    (sorted(WHOLE_COLUMNS | FLOAT_COLUMNS), NUMBERS, list(OPERATORS)),
    (["s", 'r"r'], TEXTS, ["=", "!=", "<>", "=="]),
    (["b", "c"], BOOLEANS, ["=", "!="]),
    (["d", "e"], DAYS, list(OPERATORS)),
    (["t"], DAYS, list(OPERATORS)),
]


@st.composite
def simple(draw):
    columns, literals, signs = draw(st.sampled_from(KINDS))
    column = ("column", draw(st.sampled_from(columns)))
    values = st.sampled_from(literals).map(lambda value: ("value", value))
    operand = st.one_of(values, values, st.sampled_from(columns).map(lambda name: ("column", name)))
    shape = draw(st.sampled_from(["compare", "compare", "mirrored", "in", "null"] + ["between"] * ("<" in signs)))
    if shape == "null":
        return ("null", column[1])
    if shape == "in":
        return ("in", column[1], *draw(st.lists(values, min_size=1, max_size=4)))
    if shape == "between":
        return ("between", column, draw(operand), draw(operand))
    sides = (column, draw(operand)) if shape == "compare" else (draw(operand), column)
    return ("compare", sides[0], draw(st.sampled_from(signs)), sides[1])


def joined(parts):
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        st.builds(lambda part: ("not", part), parts),
        st.builds(lambda word, rest: (word, *rest), st.sampled_from(["and", "or"]), several),
    )


@pytest.mark.slow
# The text that fails is short enough; making it shorter would take minutes.
@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.lists(st.recursive(simple(), joined, max_leaves=6), min_size=12, max_size=12))
def test_every_engine_keeps_the_rows_that_three_valued_logic_keeps(trees):
    texts = [render(tree) for tree in trees]
    expected = [[evaluate(tree, row) is True for row in ROWS] for tree in trees]
    for name in FRAMES:
        looked_at = 4 if name.startswith("dask") else len(trees)  # it evaluates with pandas, and plans for long
        found = truths(engine(name), texts[:looked_at])
        for text, got, wanted in zip(texts[:looked_at], found, expected[:looked_at], strict=True):
            assert got == wanted, (name, text)


def test_the_reference_has_all_three_values():
    """Every comparison that a kind allows, so that none is left to chance."""
    trees = [
        ("compare", ("column", columns[0]), sign, ("value", value))
        for columns, values, signs in KINDS
        for sign, value in itertools.product(signs, values)
    ]
    outcomes = {evaluate(tree, row) for tree in trees for row in ROWS}
    assert outcomes == {True, False, None}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.exhaustive if one.startswith("dask") else ()) for one in FRAMES]
)
def test_each_literal_with_each_comparison(name):
    """With Dask in make exhaustive only: it evaluates conditions with pandas, and takes ten times as long."""
    frame = engine(name)
    cases = [
        (column, sign, values)
        for columns, values, signs in KINDS
        for column, sign in itertools.product(columns, sorted({*signs} - {"==", "<>"}))
        if column not in ALIKE
    ]
    for column, sign, values in cases:
        trees = [("compare", ("column", column), sign, ("value", value)) for value in values]
        expected = [rows_kept(tree) for tree in trees]
        assert truths(frame, [render(tree) for tree in trees]) == expected, (column, sign)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("postgres", marks=pytest.mark.network),
                                  pytest.param("spark", marks=pytest.mark.spark)])  # fmt: skip
def test_servers_keep_the_same_rows(name, engine_table):
    there = [column for column in ARROW.column_names if column not in {"u", 'r"r'}]
    table = ARROW.select(there).append_column("row", pa.array(range(len(ROWS))))
    frame = nw.from_native(engine_table(name, table))
    schema = frame.collect_schema()
    if name == "spark":  # its times belong to the time zone of a session
        there.remove("t")
        with refused(problem="times without a time zone [(]got t of type Datetime"):
            parse_condition("t > '2024-01-01'").expression(schema)
    cases = []
    for columns, values, signs in KINDS:
        listed = [column for column in columns if column in there]
        sides = [("value", value) for value in values] + [("column", column) for column in listed]
        different = [column for column in listed if column not in ALIKE | {"k"}]
        cases += [(*case, sides) for case in itertools.product(different, sorted({*signs} - {"==", "<>"}))]
    for column, sign, sides in cases:
        trees = [("compare", ("column", column), sign, side) for side in sides]
        trees += [("not", tree) for tree in trees] + [("null", column)]
        hits = {f"hit{place}": parse_condition(render(tree)).expression(schema) for place, tree in enumerate(trees)}
        found = frame.lazy().select("row", **hits).collect().sort("row")
        for hit, tree in zip(hits, trees, strict=True):
            assert found[hit].to_list() == rows_kept(tree), render(tree)


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_filtered_by_it(name):
    frame = engine(name)
    condition = parse_condition("f >= 0.1 and not (s = 'er' or b = true)")
    above = ("compare", ("column", "f"), ">=", ("value", 0.1))
    either = (
        "or",
        ("compare", ("column", "s"), "=", ("value", "er")),
        ("compare", ("column", "b"), "=", ("value", True)),
    )
    tree = ("and", above, ("not", either))
    kept = frame.lazy().filter(condition.expression(frame.collect_schema())).collect()
    assert len(kept) == sum(evaluate(tree, row) is True for row in ROWS) > 0


# --- Types that only some engines have --------------------------------------------------------------------------------


def test_tenths_of_decimals_are_tenths():
    values = [Decimal("0.1"), Decimal("0.3"), None, Decimal("12345.5")]
    table = pa.table({"m": pa.array(values, pa.decimal128(12, 1))})
    CONNECTION.register("money", table)
    frames = [table, pl.from_arrow(table), CONNECTION.table("money")]
    frames.append(ibis.duckdb.from_connection(CONNECTION).table("money"))
    for frame in frames:
        texts = ["m = 0.1", "m < 0.3", "m != 0.3", "m is null", "m = 12345.5"]
        assert truths(nw.from_native(frame), texts) == [
            [True, False, False, False],
            [True, False, False, False],
            [True, False, False, True],
            [False, False, True, False],
            [False, False, False, True],
        ]


def test_categories_are_texts():
    values = ["a", None, "b", "a"]
    frames = [
        pd.DataFrame({"s": pd.Categorical(values), "r": values}),
        pl.DataFrame({"s": pl.Series(values, dtype=pl.Categorical), "r": values}),
        pl.DataFrame({"s": pl.Series(values, dtype=pl.Enum(["a", "b"])), "r": values}).lazy(),
        pa.table({"s": pa.array(values).dictionary_encode(), "r": values}),
    ]
    for frame in frames:
        found = truths(nw.from_native(frame), ["s = 'a'", "s not in ('a', 'unheard of')", "s = r"])
        assert found == [[True, False, False, True], [False, False, True, False], [True, False, True, True]]


def test_times_in_nanoseconds_take_the_dates_they_can_hold():
    frame = nw.from_native(pd.DataFrame({"t": pd.to_datetime(["2024-01-01", None, "2262-01-01"]).astype("M8[ns]")}))
    assert truths(frame, ["t < '2261-01-01'", "t >= '1678-01-01'"]) == [[True, False, False], [True, False, True]]
    with refused(problem="dates from 1678 to 2261 for a column in nanoseconds (got '2262-01-01'"):
        truths(frame, ["t < '2262-01-01'"])


# --- Size -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FRAMES if name != "dask, arrow"])
def test_the_deepest_and_the_widest_condition_run(name):
    """Dask once: what it plans, and how deep that is, does not depend on types."""
    deep = "k = 1"
    for level in range(MAXIMUM_DEPTH):
        deep = f"not {deep}" if level % 3 == 0 else f"({deep} {'and' if level % 2 else 'or'} j = 18)"
    assert len(truths(engine(name), [deep])[0]) == len(ROWS)
    wide = f"k in ({', '.join(map(str, range(400)))})"
    assert truths(engine(name), [wide]) == [[0 <= row["k"] < 400 for row in ROWS]]


@pytest.mark.parametrize("text", ["(" * 10_000 + "a = 1" + ")" * 10_000, "not " * 51 + "a = 1"])
def test_deeper_is_refused(text):
    with refused(problem="at most 50 brackets and nots inside each other (got one more at position"):
        parse_condition(text)


def test_double_negation_is_none():
    (found,) = truths(engine("polars"), ["not " * MAXIMUM_DEPTH + "f > 0"])
    assert [found] == truths(engine("polars"), ["f > 0"])


# --- Reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("18 <= age", "age >= 18"),
        ("AGE<-5", '"AGE" < -5'),
        ("a==1 AND b<>2", "a = 1 and b != 2"),
        ("a = 1 or b = 2 and c = 3", "a = 1 or (b = 2 and c = 3)"),
        ("not a = 1 and b = 2", "(not a = 1) and b = 2"),
        ("a between 1 and 2 and b = 3", "(a >= 1 and a <= 2) and b = 3"),
        ("a not between 1 and 2", "not (1 <= a and 2 >= a)"),
        ("a Not In (1, .5, null)", "not (a = 1 or a = 0.5 or a = null)"),
        ("a IS NOT NULL", "not a is null"),
        ("2 between a and b", "a <= 2 and b >= 2"),
        ("a = -0.0", "a = 0.0"),
        ("\n a\t= 1e2", "a=100.0"),
    ],
)
def test_two_ways_to_write_one_condition(text, same):
    assert parse_condition(text).root == parse_condition(same).root


def test_columns_come_in_order_of_appearance_exactly_as_written():
    condition = parse_condition('3 < b and "in" = A or a is null and b = "x ""y"""')
    assert condition.columns == ("b", "in", "A", "a", 'x "y"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "have a column or a value (got the end at position 1"),
        ("  ", "have a column or a value (got the end at position 3"),
        ("age", "have =, !=, <, <=, >, >=, in, between or is after age (got the end at position 4"),
        ("age 18", "have =, !=, <, <=, >, >=, in, between or is after age (got 18 at position 5"),
        ("age -5 < 2", "have =, !=, <, <=, >, >=, in, between or is after age (got -5 at position 5"),
        ("age >= and", "have a column or a value after '>=' (got and at position 8"),
        ("age = 1 age = 2", "have and, or, or the end after 1 (got age at position 9"),
        ("(age = 1", "have and, or, or ) after 1 (got the end at position 9"),
        ("age = 1)", "have and, or, or the end after 1 (got ')' at position 8"),
        ("()", "have a column or a value after '(' (got ')' at position 2"),
        ("(age) = 1", "have =, !=, <, <=, >, >=, in, between or is after age (got ')' at position 5"),
        ("age in 1", "have ( after in (got 1 at position 8"),
        ("age in ()", "have a value after '(' (got ')' at position 9"),
        ("age in (1 2)", "have a comma or ) after 1 (got 2 at position 11"),
        ("age in (hours)", "have a value after '(' (got hours at position 9"),
        ("age not 3", "have in or between after not (got 3 at position 9"),
        ("age is 3", "have null or not null after is (got 3 at position 8"),
        ("age is not 3", "have null after not (got 3 at position 12"),
        ("age between 1 or 2", "have and after 1 (got or at position 15"),
        ("3 is null", "have a column before in and is (got 3 at position 1"),
        ("'it''s' in (1)", "have a column before in and is (got 'it''s' at position 1"),
        ("1 = 2", "compare a column with something (got two values, 1 the first, at position 1"),
        ("true = null", "compare a column with something (got two values, true the first, at position 1"),
        ("name = 'er", "brackets (got a ' that is not closed at position 8"),
        ('"name = 3', 'brackets (got a " that is not closed at position 1'),
        ('"" = 3', 'brackets (got a " that is not closed at position 1'),
        ("age + 1 > 3", "brackets (got '+' at position 5"),
        ("lower(name) = 'er'", "or is after lower (got '(' at position 6"),
        ("age::int = 3", "brackets (got '::int' at position 4"),
        ("age = 18years", "brackets (got '18years' at position 7"),
        ("age = 1.2.3", "brackets (got '1.2.3' at position 7"),
        ("age = 1; drop", "brackets (got ';' at position 8"),
        ("age = 1e999", "have numbers below 1.8e308 (got 1e999 at position 7"),
        ("age = " + "1" * 5000, "have numbers of at most 400 characters (got one of 5000 at position 7"),
        ("not", "have a column or a value after not (got the end at position 4"),
        ("age = 1 and", "have a column or a value after and (got the end at position 12"),
    ],
)
def test_a_syntax_error_says_where_and_what_was_expected(text, message):
    with refused("where", message):
        parse_condition(text)


def test_a_condition_is_a_text():
    with refused("where", "a text such as 'age >= 18'"):
        parse_condition(3)


SCHEMA = {
    "age": nw.Int64(),
    "hours": nw.Float64(),
    "town": nw.String(),
    "active": nw.Boolean(),
    "born": nw.Date(),
    "seen": nw.Datetime("us"),
    "zoned": nw.Datetime("us", "UTC"),
    "rough": nw.Datetime("ms"),
    "tags": nw.List(nw.String()),
    "in": nw.Object(),
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee > 3", 'columns of the table: age, hours, town, active, born, seen, zoned, rough, tags and "in" (got'),
        ("town = 'a' and Age is null", "(got Age at position 16"),
        ("age = 'old'", "compare age (Int64) with a number (got 'old' at position 7"),
        ("age = '18'", "compare age (Int64) with a number (got '18' at position 7"),
        ("age = true", "compare age (Int64) with a number (got true at position 7"),
        ("'a' = hours", "compare hours (Float64) with a number (got 'a' at position 1"),
        ("town = 3", "compare town (String) with a text in single quotes (got 3 at position 8"),
        ("town in ('a', 3)", "compare town (String) with a text in single quotes (got 3 at position 15"),
        ("town < 'b'", "=, != or in only (texts are sorted differently by different engines) (got town at"),
        ("town between 'a' and 'b'", "compare text columns by =, != or in only"),
        ("active = 1", "compare active (Boolean) with true or false (got 1 at position 10"),
        ("active = 'true'", "compare active (Boolean) with true or false (got 'true' at position 10"),
        ("active > false", "compare boolean columns by =, != or in only (true is not above false) (got active"),
        ("born > '2024-13-01'", "compare born (Date) with a date such as '2026-01-31' (got '2024-13-01' at position 8"),
        ("born > '20240101'", "with a date such as '2026-01-31' (got '20240101' at position 8"),
        ("born > 2024", "with a date such as '2026-01-31' (got 2024 at position 8"),
        ("seen > '2024-01-01 12:00'", "with a date such as '2026-01-31' (got '2024-01-01 12:00' at position 8"),
        ("zoned > '2024-01-01'", "compare numbers, texts, booleans, dates, or times without a time zone (got zoned of"),
        ("tags = 'a'", "or times without a time zone (got tags of type List(String) at position 1"),
        ('"in" = 3', 'or times without a time zone (got "in" of type Object at position 1'),
        ("age = town", "compare age (Int64) with a column of the same type (got town (String) at position 7"),
        ("born = seen", "with a column of the same type (got seen (Datetime(time_unit='us', time_zone=None)) at"),
        ("rough = seen", "with a column of the same type (got seen (Datetime(time_unit='us', time_zone=None)) at"),
    ],
)  # fmt: skip
def test_a_type_error_is_told_before_any_row_is_read(text, message):
    with refused("where", message):
        parse_condition(text).expression(SCHEMA)


@pytest.mark.parametrize(
    "text", ["tags is null", '"in" is not null', "zoned is null", "age < hours", "age in (1, 2.5)"]
)
def test_what_every_type_can_be_asked(text):
    assert parse_condition(text).expression(SCHEMA) is not None
