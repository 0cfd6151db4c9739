"""Row by row, every engine comes to the integers of numpy, on the numbers that tell engines apart."""

import itertools
import math

import numpy as np
import pyarrow as pa

from hetdp.tables.sources import open_source
from hetdp.tables.sums import PEOPLE, STEPS, KeyColumn, Question, Sum, group_sums

#: A common range, one that nearly overflows, one of tenths, one around 0, one of hardly anything.
RANGES = ((0.0, 99.0), (-8e307, 8e307), (0.1, 0.7), (-5.0, 5.0), (0.0, 1e-290))
VALUES = (None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1e308, -1e308, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e15)
VALUES += (0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 2.5, 3.5, -2.5, 49.5, 49.49999999999999, 98.99999999999999, 2.0**53 + 2)
WEIGHTS = (0.0, 5e-324, 1e-300, 2.0**-60, 2.0**-40, 0.1, 0.3, 0.5, 0.7, 1 / 3, 0.99, 1 - 2.0**-53, 1.0)


def table():
    """Return every value with every weight, and as many again at random."""
    random = np.random.default_rng(11)
    pairs = list(itertools.product(VALUES, WEIGHTS))
    pairs += list(zip(random.uniform(-10, 110, len(pairs)), random.uniform(0, 1, len(pairs)), strict=True))
    values, weights = zip(*pairs, strict=True)
    columns = {"row": range(len(pairs)), "x": pa.array(values, pa.float64()), "v": pa.array(weights, pa.float64())}
    return pa.table(columns)


def by_numpy(rows, lower, upper):
    """Return q of each row."""
    center = lower / 2 + upper / 2
    x = np.array([math.nan if value is None else value for value in rows["x"].to_pylist()])
    apart = np.clip(np.where(np.isnan(x), center, x), lower, upper) - center
    steps = np.trunc(np.clip(apart * (STEPS / (upper - lower)), -STEPS / 2, STEPS / 2))
    return np.trunc(rows["v"].to_numpy() * (1 - 2.0**-51) * steps).astype(np.int64)


def test_every_row_has_the_integer_of_numpy(engine, engine_table):
    rows = table()
    values = {limits: Sum("x", *limits, limits[0] / 2 + limits[1] / 2, power=1) for limits in RANGES}
    each_row = KeyColumn("row", tuple(range(rows.num_rows)))  # a group of its own
    with open_source(engine_table(engine, rows), numbers=["x", "v"]) as source:
        found = group_sums(source, Question((PEOPLE, *values.values()), (each_row,), "v"))
    nothing = dict.fromkeys((PEOPLE, *values.values()), 0)
    for limits, own in values.items():
        wanted = by_numpy(rows, *limits)
        assert np.abs(wanted).max() > 2**38  # so that there is something to compare
        assert [found.get((row,), nothing)[own] for row in range(rows.num_rows)] == wanted.tolist(), limits
    people = np.trunc(rows["v"].to_numpy() * (1 - 2.0**-51) * STEPS).astype(np.int64)
    assert [found.get((row,), nothing)[PEOPLE] for row in range(rows.num_rows)] == people.tolist()
