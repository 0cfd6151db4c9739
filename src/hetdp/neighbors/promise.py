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
        Epsilon of one list (for gossip: of one comparison).
    shared
        Epsilon of what all recipients see alike: noisy sizes, the popularity of items, sketches.
    most_recipients
        How many lists there are that an item has a part in (for gossip: peers that a user was compared with).
    public_sizes
        Whether sizes of profiles are declared public.
    observed_catalogue
        Whether the names of items that somebody counts are taken as public, because no catalogue was given.
    simulated
        Whether any noise came from a seed, in which case nothing is promised.

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
    observed_catalogue: bool = False
    simulated: bool = False

    def against(self, colluders: int) -> float:
        """Return the factor of v_i in the loss of item i against so many recipients who share their lists.

        Privacy
        -------
        Losses against different recipients add up; what all see alike counts once. In gossip the list of one peer also
        depends on comparisons of others, so the number of colluders does not matter.

        Examples
        --------
        >>> NeighborsGuarantee("sketch", per_recipient=0.0, shared=3.0, most_recipients=500).against(400)
        3.0
        >>> NeighborsGuarantee("gossip", per_recipient=1.0, shared=0.0, most_recipients=300).against(1)
        300.0
        """
        lists = min(whole("colluders", colluders, minimum=1), self.most_recipients)
        return self.shared + (self.most_recipients if self.engine == "gossip" else lists) * self.per_recipient

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
        if self.engine == "exact":
            return "one recipient who sees one list, the own, whatever else they know"
        return "everybody together, whatever else they know"

    @property
    def text(self) -> str:
        """The promise in plain words. Public."""
        if self.simulated:
            return "Simulated: the noise was made from a seed and can be recomputed by anyone, so nothing is promised."
        one = self.against(1)
        loss = f"{one:.6g} * (v_i + v_j)" if self.public_sizes else f"{one:.6g} * v_i"
        text = (
            f"(epsilon, v)-differential privacy with epsilon = {one:.6g}: {self.neighbours} changes the probability of "
            f"any output by a factor of at most exp({loss}), where v_i in [0, 1] is the item's own weight. "
            f"Holds against {self.adversary}."
        )
        if self.engine == "exact":
            once = f"{self.shared:.6g} + " if self.shared else ""
            text += (
                f" Against c who collude: {once}{self.per_recipient:.6g} c times v_i; all {self.most_recipients:,} "
                f"lists together: {self.total:.6g} v_i. Whoever holds the profiles is trusted."
            )
        elif self.engine == "gossip":
            text += (
                f" Each comparison costs {self.per_recipient:.6g} v_i, and in this run no user was compared with more "
                f"than {self.most_recipients:,} peers. One process simulates all nodes and is trusted."
            )
        text += " A list is made from the own profile of its recipient, and says so much about it: it is for them only."
        if self.observed_catalogue:
            text += " Names of users, and of items that somebody counts, are taken as public."
        return text

    def __str__(self) -> str:
        return self.text
