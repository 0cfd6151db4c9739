"""What was promised, what was released, what is left: Guarantee, Release, Ledger."""

from hetdp.accounting.by_dial import ByDial, release_by_dial
from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.accounting.planning import Plans, plan
from hetdp.accounting.release import Release, release, release_distortion_bound

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
