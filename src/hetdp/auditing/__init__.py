"""Audits: attempts to break every promise. They can refute a promise; nothing here can prove one."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.auditing.adjacency import worst_pair
    from hetdp.auditing.bounds import SampleSize, plan_samples
    from hetdp.auditing.floating_point import floating_point_audit
    from hetdp.auditing.registry import BatteryReport, Case, battery, run_battery, run_cases
    from hetdp.auditing.replay import replay_audit
    from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow, Finding
    from hetdp.auditing.samplers import sampler_audit
    from hetdp.auditing.scales import Reached, scale_audit
    from hetdp.auditing.statistical import audit

__all__ = [
    "AuditInterrupted",
    "AuditReport",
    "AuditRow",
    "BatteryReport",
    "Case",
    "Finding",
    "Reached",
    "SampleSize",
    "audit",
    "battery",
    "floating_point_audit",
    "plan_samples",
    "replay_audit",
    "run_battery",
    "run_cases",
    "sampler_audit",
    "scale_audit",
    "worst_pair",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "adjacency": ("worst_pair",),
        "bounds": ("SampleSize", "plan_samples"),
        "floating_point": ("floating_point_audit",),
        "registry": ("BatteryReport", "Case", "battery", "run_battery", "run_cases"),
        "replay": ("replay_audit",),
        "report": ("AuditInterrupted", "AuditReport", "AuditRow", "Finding"),
        "samplers": ("sampler_audit",),
        "scales": ("Reached", "scale_audit"),
        "statistical": ("audit",),
    },
)
