"""Aggregates per group over frames, files and databases: integer sums where the data lives, exact noise here."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.tables.aggregates import AGGREGATES, Aggregate, count, mean, parse_aggregate, total, variance
    from hetdp.tables.answer import Row, TableAnswer
    from hetdp.tables.keys import UnknownKeys, unknown_keys
    from hetdp.tables.plan import TablePlan, plan_table
    from hetdp.tables.release import release_table

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Row",
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

__getattr__, __dir__ = attach(
    __name__,
    {
        "aggregates": ("AGGREGATES", "Aggregate", "count", "mean", "parse_aggregate", "total", "variance"),
        "answer": ("Row", "TableAnswer"),
        "keys": ("UnknownKeys", "unknown_keys"),
        "plan": ("TablePlan", "plan_table"),
        "release": ("release_table",),
    },
)
