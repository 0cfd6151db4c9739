from .audit_all import BatteryReport as BatteryReport, Case as Case, battery as battery, run_battery as run_battery
from .replay import replay_audit as replay_audit
from .report import (
    AuditInterrupted as AuditInterrupted,
    AuditReport as AuditReport,
    AuditRow as AuditRow,
    Finding as Finding,
)
from .samplers import floating_point_audit as floating_point_audit, sampler_audit as sampler_audit
from .scales import Reached as Reached, scale_audit as scale_audit
from .statistical import SampleSize as SampleSize, audit as audit, plan_samples as plan_samples
from .subjects import worst_pair as worst_pair
