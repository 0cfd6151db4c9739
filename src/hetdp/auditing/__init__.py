"""Audits: attempts to break every promise. They can refute a promise; nothing here can prove one."""

from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow, Finding
from hetdp.auditing.statistical import AuditPlan, audit, plan_audit
from hetdp.auditing.statistics import plan_samples

__all__ = [
    "AuditInterrupted",
    "AuditPlan",
    "AuditReport",
    "AuditRow",
    "Finding",
    "audit",
    "plan_audit",
    "plan_samples",
]
