"""Aggregates per group over frames, files and databases: integer sums where the data lives, exact noise here."""

from hetdp.tables.aggregates import AGGREGATES, Aggregate, count, mean, parse_aggregate, total, variance
from hetdp.tables.answer import TableAnswer
from hetdp.tables.keys import UnknownKeys, unknown_keys
from hetdp.tables.plan import TablePlan, plan_table
from hetdp.tables.release import release_table

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "TableAnswer",
    "TablePlan",
    "UnknownKeys",
    "count",
    "mean",
    "parse_aggregate",
    "plan_table",
    "release_table",
    "total",
    "unknown_keys",
    "variance",
]
