"""Audits: attempts to break every promise. They can refute a promise; nothing here can prove one."""

from hetdp.auditing.battery import battery, run_cases
from hetdp.auditing.floating_point import floating_point_audit
from hetdp.auditing.mutants import MUTANTS, catch_all
from hetdp.auditing.neighbours import worst_pair
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow, Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.statistical import AuditPlan, audit, plan_audit
from hetdp.auditing.statistics import plan_samples
from hetdp.auditing.timing import timing_audit

__all__ = [
    "MUTANTS",
    "AuditInterrupted",
    "AuditPlan",
    "AuditReport",
    "AuditRow",
    "Finding",
    "audit",
    "battery",
    "catch_all",
    "floating_point_audit",
    "plan_audit",
    "plan_samples",
    "replay_audit",
    "run_cases",
    "sampler_audit",
    "timing_audit",
    "worst_pair",
]
