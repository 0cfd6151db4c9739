"""What was promised, what was released, what is left: Guarantee, Release, Ledger."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.accounting.by_dial import ByDial, release_by_dial
    from hetdp.accounting.guarantee import Guarantee
    from hetdp.accounting.ledger.ledger import Ledger
    from hetdp.accounting.planning import Plans, plan
    from hetdp.accounting.releasing import Release, release, release_distortion_bound

__all__ = [
    "ByDial",
    "Guarantee",
    "Ledger",
    "Plans",
    "Release",
    "plan",
    "release",
    "release_by_dial",
    "release_distortion_bound",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "by_dial": ("ByDial", "release_by_dial"),
        "guarantee": ("Guarantee",),
        "ledger.ledger": ("Ledger",),
        "planning": ("Plans", "plan"),
        "releasing": ("Release", "release", "release_distortion_bound"),
    },
)
