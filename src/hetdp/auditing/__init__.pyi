from .adjacency import worst_pair as worst_pair
from .bounds import SampleSize as SampleSize, plan_samples as plan_samples
from .floating_point import floating_point_audit as floating_point_audit
from .mutants.base import Mutant as Mutant
from .registry import (
    BatteryReport as BatteryReport,
    Case as Case,
    all_mutants as all_mutants,
    battery as battery,
    catch_all as catch_all,
    run_battery as run_battery,
    run_cases as run_cases,
)
from .replay import replay_audit as replay_audit
from .report import (
    AuditInterrupted as AuditInterrupted,
    AuditReport as AuditReport,
    AuditRow as AuditRow,
    Finding as Finding,
)
from .samplers import sampler_audit as sampler_audit
from .scales import Reached as Reached, scale_audit as scale_audit
from .statistical import AuditPlan as AuditPlan, PlannedPair as PlannedPair, audit as audit, plan_audit as plan_audit
from .timing import timing_audit as timing_audit
