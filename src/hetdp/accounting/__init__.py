"""What was promised, what was released, what is left: Guarantee, Release, Ledger."""

from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.accounting.release import Release, plan, release, release_distortion_bound

__all__ = ["Guarantee", "Ledger", "Release", "plan", "release", "release_distortion_bound"]
