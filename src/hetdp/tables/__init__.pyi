from .aggregates import (
    AGGREGATES as AGGREGATES,
    Aggregate as Aggregate,
    count as count,
    mean as mean,
    parse_aggregate as parse_aggregate,
    total as total,
    variance as variance,
)
from .answer import Row as Row, TableAnswer as TableAnswer
from .keys import UnknownKeys as UnknownKeys, unknown_keys as unknown_keys
from .plan import TablePlan as TablePlan, plan_table as plan_table
from .release import release_table as release_table
