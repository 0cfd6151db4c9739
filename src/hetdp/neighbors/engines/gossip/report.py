"""What the gossip engine says about itself: comparisons, agreement, whether it settled, what it costs."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.text import counted
from hetdp.neighbors.engines.base import NeighborLists

__all__ = ["Comparisons", "GossipResult"]

#: Gossip has settled when this share of the best peers there are has been found, or this share of all nodes met.
SETTLED = 0.8
SETTLED_MET = 0.4


@dataclass(frozen=True)
class Comparisons:
    """How many comparisons a run made.

    Attributes
    ----------
    total
        Scores computed; a pair may count more than once.
    seconds
        Time of the cycles, by the clock.
    distinct_mean, distinct_max
        Distinct peers that a node was compared with, whichever of the two asked: mean and largest over
        `nodes_counted` nodes.
    nodes_counted
        All nodes, or a random sample where there are many.
    distinct_bound
        No node at all was compared with more peers than this; equals `distinct_max` where all were counted.
    """

    total: int
    seconds: float
    distinct_mean: float
    distinct_max: int
    nodes_counted: int
    distinct_bound: int

    @property
    def per_second(self) -> float:
        """Comparisons per second."""
        return self.total / self.seconds if self.seconds > 0 else float("nan")


@dataclass(frozen=True, repr=False, eq=False)
class GossipResult:
    """The lists that gossip found, and how far to trust them.

    Attributes
    ----------
    lists
        The neighbours of each user.
    epsilon
        What an item of weight 1 pays per distinct peer.
    cycles
        How many cycles were run.
    comparisons
        How many comparisons that took.
    agreement
        For each cycle, the share of the best k peers there are (by noisy score over all pairs, under the same noise)
        that had been found by then, over `agreement_users` users.
    simulated
        Whether the noise came from a seed.

    Privacy
    -------
    Each list is for its user. Agreement is made of the noisy scores of all pairs, also of those that never met, so it
    belongs to whoever runs the simulation and to nobody in the network.
    """

    lists: NeighborLists
    epsilon: Fraction
    cycles: int
    comparisons: Comparisons
    agreement: NDArray[np.float64]
    agreement_users: int
    simulated: bool

    def __repr__(self) -> str:
        return f"GossipResult({self.lists!r}, {self.cycles} cycles, settled={self.settled})"

    @property
    def facts(self) -> dict[str, object]:
        """What the run has to say about itself, as plain values: known afterwards only, and to whoever runs it."""
        made = self.comparisons
        known = {
            "comparisons": made.total,
            "comparisons_per_second": made.per_second,
            "distinct_comparisons_mean": made.distinct_mean,
            "distinct_comparisons_max": made.distinct_max,
            "distinct_comparisons_bound": made.distinct_bound,
            "agreement_with_exact": self.agreement.tolist(),
            "agreement_users": self.agreement_users,
            "settled": self.settled,
            "verdict": self.verdict,
            "afterwards": self.afterwards,
        }
        return {"cycles": self.cycles, "private": known}

    @property
    def met(self) -> float:
        """Share of the network that a node was compared with, on average."""
        return float(self.comparisons.distinct_mean / max(1, self.lists.indices.shape[0] - 1))

    @property
    def settled(self) -> bool:
        """Whether the cycles were enough: four out of five of the best peers there are have been found.

        Where agreement was not measured (`sample=0`), whether a node met two out of five of all nodes, which is when
        the first is usual.
        """
        if self.agreement.size:
            return bool(self.agreement[-1] >= SETTLED)
        return self.lists.indices.shape[0] <= 1 or self.met >= SETTLED_MET

    @property
    def verdict(self) -> str:
        """Whether the cycles were enough, in words."""
        n = self.lists.indices.shape[0]
        text = f"In {counted(self.cycles, 'cycle')} a node met {self.met:.0%} of the {n:,} nodes"
        if self.agreement.size:
            text += f" and found {self.agreement[-1]:.0%} of the best peers there are"
        if self.settled:
            return f"Settled. {text}."
        return f"Not settled. {text}: too few cycles for a network of this size. Use more cycles, or the exact engine."

    @property
    def afterwards(self) -> str:
        """How much the run compared, in words: known only afterwards, so it is no promise."""
        level, made = float(self.epsilon), self.comparisons
        counted = (
            "" if made.nodes_counted == self.lists.indices.shape[0] else f" of {made.nodes_counted:,} counted nodes"
        )
        return (
            f"An item of weight v pays {level:g} v per comparison. A node was compared with {made.distinct_mean:.0f} "
            f"distinct peers on average and {made.distinct_max} at most{counted}; no node with more than "
            f"{made.distinct_bound}. That is known only afterwards; what is promised before holds for comparisons with "
            "everybody."
        )
