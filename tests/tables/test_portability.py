"""The integers that a release adds up are the same in every engine, row by row, on numbers that tell engines apart."""

import itertools
import math

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from hetdp.tables.sources import open_source

LARGEST = 2.0**40
#: lower, upper, centre, steps per unit: a common range, one that nearly overflows, one of tenths, one around 0.
RANGES = (
    (0.0, 99.0, 49.5, 2.0**40 / 99),
    (-8e307, 8e307, 0.0, 2.0**40 / 1.6e308),
    (0.1, 0.7, 0.4, 2.0**40 / 0.7),
    (-5.0, 5.0, 0.0, 1e11),
    (0.0, 1e-290, 0.0, 2.0**40 / 1e-290),
)
VALUES = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    2.2e-308,
    1e-300,
    1e15,
    2.0**53 + 2,
)
VALUES += (
    0.1,
    0.2,
    0.3,
    0.7,
    0.1 + 0.2,
    2.5,
    3.5,
    -2.5,
    49.5,
    49.49999999999999,
    98.99999999999999,
    99.0,
    99.00000000000001,
)
WEIGHTS = (0.0, 5e-324, 1e-300, 2.0**-40, 0.1, 0.3, 0.5, 0.7, 1 / 3, 0.99, 1 - 2.0**-53, 1.0)


def table():
    """Return every value with every weight, and as many again at random."""
    random = np.random.default_rng(11)
    pairs = list(itertools.product(VALUES, WEIGHTS))
    pairs += list(zip(random.uniform(-10, 110, len(pairs)), random.uniform(0, 1, len(pairs)), strict=True))
    values, weights = zip(*pairs, strict=True)
    columns = {"row": range(len(pairs)), "x": pa.array(values, pa.float64()), "v": pa.array(weights, pa.float64())}
    return pa.table(columns | {"key": [("er", "icu", "lab")[row % 3] for row in range(len(pairs))]})


def by_numpy(rows, lower, upper, centre, steps):
    """Return D and q of each row as numpy has them."""
    x = np.array([math.nan if value is None else value for value in rows["x"].to_pylist()])
    x = np.clip(np.where(np.isnan(x), centre, x), lower, upper)
    whole = np.clip(np.trunc((x - centre) * steps), -LARGEST, LARGEST)
    return whole, np.trunc(rows["v"].to_numpy() * (1 - 2.0**-51) * whole)


def truncated(number):
    """Return a number without what comes after its point; some engines make a whole number of it, so cast back."""
    whole = number.abs().floor().cast(nw.Float64)
    return nw.when(number < 0.0).then(-whole).otherwise(whole)


def by_engine(frame, lower, upper, centre, steps):
    """Return the frame with D, q and the halves of q, written once for all engines."""
    x, y, d, q = nw.col("x"), nw.col("y"), nw.col("d"), nw.col("q")
    frame = frame.with_columns(
        y=nw.when(x.is_null() | x.is_nan()).then(nw.lit(centre)).otherwise(x)
    )  # nan may be > 1e308
    inside = nw.when(y > upper).then(nw.lit(upper)).otherwise(y)
    frame = frame.with_columns(y=nw.when(y < lower).then(nw.lit(lower)).otherwise(inside)).with_columns(y=y - centre)
    # PostgreSQL raises where a product is too small for a double.
    frame = frame.with_columns(y=nw.when(y.abs() < 0.5 / steps).then(nw.lit(0.0)).otherwise(y * steps))
    frame = frame.with_columns(d=truncated(y)).with_columns(d=d.clip(-LARGEST, LARGEST).cast(nw.Float64))
    frame = frame.with_columns(q=nw.col("v") * (1 - 2.0**-51) * d).with_columns(q=truncated(q))
    frame = frame.with_columns(high=(q / 2.0**20).floor().cast(nw.Float64))
    return frame.with_columns(low=(q - nw.col("high") * 2.0**20).cast(nw.Int64), high=nw.col("high").cast(nw.Int64))


@pytest.mark.parametrize("limits", RANGES)
def test_every_row_has_the_integer_of_numpy(engine, engine_table, limits):
    rows = table()
    whole, product = by_numpy(rows, *limits)
    assert np.abs(product).max() > 2.0**37  # so that there is something to compare
    with open_source(engine_table(engine, rows)) as source:
        frame = by_engine(source.frame, *limits)
        found = source.collect(frame.select("row", "d", "q", "high", "low")).sort_by("row")
        sums = source.collect(frame.group_by("key").agg(nw.col("high").sum(), nw.col("low").sum())).sort_by("key")
    np.testing.assert_array_equal(found["d"].to_numpy(), whole)
    np.testing.assert_array_equal(found["q"].to_numpy(), product)
    integers = product.astype(np.int64)
    np.testing.assert_array_equal(found["high"].to_numpy() * 2**20 + found["low"].to_numpy(), integers)
    wanted = [int(integers[place::3].sum()) for place in range(3)]
    assert [row["high"] * 2**20 + row["low"] for row in sums.to_pylist()] == wanted
