"""What a fitted model promises: against whom, how much per item, and how it adds up when recipients collude."""

from dataclasses import dataclass

from hetdp.checks import whole

__all__ = ["NeighborsGuarantee"]

_SWAPPED = "swapping an item of a user for another one (sizes of profiles are declared public)"
_ADDED = "adding or removing an item of a user"


@dataclass(frozen=True)
class NeighborsGuarantee:
    """The promise of neighbour lists and recommendations.

    Attributes
    ----------
    engine
        Which engine made the lists.
    per_recipient
        Epsilon of what one recipient (for gossip: one peer) gets to see that nobody else does.
    shared
        Epsilon of what all recipients see alike: noisy sizes, the popularity of items, sketches.
    most_recipients
        No more than so many can ever collude: all other users, or for gossip the peers compared with.
    public_sizes
        Whether sizes of profiles are declared public.
    simulated
        Whether the noise came from a seed, in which case nothing is promised.

    Privacy
    -------
    Public. The loss of an item is a number here times its own weight v_i.

    Examples
    --------
    >>> promise = NeighborsGuarantee("exact", per_recipient=1.0, shared=0.0, most_recipients=119)
    >>> promise.against(1), promise.against(3), promise.total
    (1.0, 3.0, 119.0)
    """

    engine: str
    per_recipient: float
    shared: float
    most_recipients: int
    public_sizes: bool = False
    simulated: bool = False

    def against(self, colluders: int) -> float:
        """Return the factor of v_i in the loss of item i against so many recipients who share what they see.

        Privacy
        -------
        Losses against different recipients add up; what all see alike counts once.

        Examples
        --------
        >>> NeighborsGuarantee("sketch", per_recipient=0.0, shared=3.0, most_recipients=500).against(400)
        3.0
        """
        return self.shared + min(whole("colluders", colluders, minimum=1), self.most_recipients) * self.per_recipient

    @property
    def total(self) -> float:
        """The factor against everybody together."""
        return self.against(max(1, self.most_recipients))

    @property
    def neighbours(self) -> str:
        """What may differ between two sets of profiles that cannot be told apart."""
        return _SWAPPED if self.public_sizes else _ADDED

    @property
    def adversary(self) -> str:
        """Against whom it holds, in words."""
        if self.engine == "sketch":
            return "everybody together, however many look at the published sketches"
        seen = "who is compared with the user" if self.engine == "gossip" else "who sees only the own list"
        return f"one {'peer' if self.engine == 'gossip' else 'recipient'} {seen}, whatever else they know"

    @property
    def text(self) -> str:
        """The promise in plain words. Public."""
        if self.simulated:
            return "Simulated: the noise was made from a seed and can be recomputed by anyone, so nothing is promised."
        one, everybody = self.against(1), self.total
        factor = "exp" if not self.public_sizes else "exp of the sum over both items of"
        text = (
            f"(epsilon, v)-differential privacy with epsilon = {one:g}: {self.neighbours} changes the probability of "
            f"any output by a factor of at most {factor}({one:g} * v_i), where v_i in [0, 1] is the item's own weight. "
            f"Holds against {self.adversary}."
        )
        if self.engine != "sketch":
            text += (
                f" Against c who collude: {self.shared:g} + {self.per_recipient:g} c times v_i; against all "
                f"{self.most_recipients:,} together {everybody:g} v_i."
            )
        if self.engine == "exact":
            text += " The party that holds the profiles is trusted, and each list is for its recipient only."
        elif self.engine == "gossip":
            text += " Views are exchanged, so count on the last figure. One process simulates all nodes and is trusted."
        else:
            text += " Lists are made at home from the own exact profile, and are for their owner only."
        return text

    def __str__(self) -> str:
        return self.text
