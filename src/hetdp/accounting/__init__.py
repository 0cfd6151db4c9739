"""What was promised, what was released, what is left: Guarantee, Release, Ledger, and labels for people."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.accounting.by_dial import ByDial, release_by_dial
    from hetdp.accounting.guarantee import Guarantee, Recipients
    from hetdp.accounting.label import Label, LabelOptions, Odds, Spending
    from hetdp.accounting.ledger.ledger import Ledger, LedgerReport, LedgerView
    from hetdp.accounting.ledger.levels import LedgerLevel
    from hetdp.accounting.ledger.rollcall import AllowedDials, PeoplePreview
    from hetdp.accounting.ledger.state import Charge, Entry, LedgerSummary
    from hetdp.accounting.planning import Plans, plan
    from hetdp.accounting.releasing import Release, release, release_distortion_bound

__all__ = [
    "AllowedDials",
    "ByDial",
    "Charge",
    "Entry",
    "Guarantee",
    "Label",
    "LabelOptions",
    "Ledger",
    "LedgerLevel",
    "LedgerReport",
    "LedgerSummary",
    "LedgerView",
    "Odds",
    "PeoplePreview",
    "Plans",
    "Recipients",
    "Release",
    "Spending",
    "plan",
    "release",
    "release_by_dial",
    "release_distortion_bound",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "by_dial": ("ByDial", "release_by_dial"),
        "guarantee": ("Guarantee", "Recipients"),
        "label": ("Label", "LabelOptions", "Odds", "Spending"),
        "ledger.ledger": ("Ledger", "LedgerReport", "LedgerView"),
        "ledger.levels": ("LedgerLevel",),
        "ledger.rollcall": ("AllowedDials", "PeoplePreview"),
        "ledger.state": ("Charge", "Entry", "LedgerSummary"),
        "planning": ("Plans", "plan"),
        "releasing": ("Release", "release", "release_distortion_bound"),
    },
)
