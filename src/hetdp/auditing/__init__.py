"""Audits: attempts to break every promise. They can refute a promise; nothing here can prove one."""

from hetdp.auditing.adjacency import worst_pair
from hetdp.auditing.bounds import plan_samples
from hetdp.auditing.floating_point import floating_point_audit
from hetdp.auditing.registry import BatteryReport, all_mutants, battery, catch_all, run_battery, run_cases
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow, Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.scales import Reached, scale_audit
from hetdp.auditing.statistical import AuditPlan, audit, plan_audit
from hetdp.auditing.timing import timing_audit

__all__ = [
    "AuditInterrupted",
    "AuditPlan",
    "AuditReport",
    "AuditRow",
    "BatteryReport",
    "Finding",
    "Reached",
    "all_mutants",
    "audit",
    "battery",
    "catch_all",
    "floating_point_audit",
    "plan_audit",
    "plan_samples",
    "replay_audit",
    "run_battery",
    "run_cases",
    "sampler_audit",
    "scale_audit",
    "timing_audit",
    "worst_pair",
]
