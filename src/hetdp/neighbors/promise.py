"""What a fitted model promises: against whom, how much per item, and how it adds up when recipients collude."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from hetdp.core.checks import whole

__all__ = ["NeighborsGuarantee"]

_SWAPPED = "swapping an item of a user for another one (sizes of profiles are declared public)"
_OWN_WEIGHT = "v_i in [0, 1] is the item's own weight"
_ADDED = "adding or removing an item of a user"
#: Six digits are enough to read, but never fewer than are promised.
_SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


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
    Public. The loss of an item is a number here times its own weight v_i; where sizes are public, times the weights of
    both items that are swapped, v_i + v_j.

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
        """Return the factor of `unit` in the loss of an item against so many recipients who share their lists.

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
        count = self.most_recipients if self.engine == "gossip" else lists
        return float(_as_shown(self.shared) + count * _as_shown(self.per_recipient))

    @property
    def total(self) -> float:
        """The factor against everybody together."""
        return self.against(max(1, self.most_recipients))

    @property
    def neighbours(self) -> str:
        """What may differ between two sets of profiles that cannot be told apart."""
        return _SWAPPED if self.public_sizes else _ADDED

    @property
    def unit(self) -> str:
        """What the factors are multiplied by: the weight of the item, or of both items that are swapped."""
        return "(v_i + v_j)" if self.public_sizes else "v_i"

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
        weights = "v_i and v_j in [0, 1] are the items' own weights" if self.public_sizes else _OWN_WEIGHT
        text = (
            f"(epsilon, v)-differential privacy with epsilon = {_digits(one)}: {self.neighbours} changes the "
            f"probability of any output by a factor of at most exp({_digits(one)} * {self.unit}), where {weights}. "
            f"Holds against {self.adversary}."
        )
        if self.engine == "exact":
            once = f"{_digits(self.shared)} + " if self.shared else ""
            text += (
                f" Against c who collude: ({once}{_digits(self.per_recipient)} c) * {self.unit}; all "
                f"{self.most_recipients:,} lists together: {_digits(self.total)} * {self.unit}. Whoever holds the "
                "profiles is trusted."
            )
        elif self.engine == "gossip":
            text += (
                f" Each comparison costs {_digits(self.per_recipient)} * {self.unit}, and in this run no user was "
                f"compared with more than {self.most_recipients:,} peers. One process simulates all nodes and is "
                "trusted."
            )
        text += " A list is made from the own profile of its recipient, and says so much about it: it is for them only."
        if self.observed_catalogue:
            text += " Names of users, and of items that somebody counts, are taken as public."
        return text

    def __str__(self) -> str:
        return self.text


def _as_shown(number: float) -> Fraction:
    """Return the decimal number that a float is shown as, so that sums come out as a reader would add them."""
    return Fraction(repr(float(number)))


def _digits(number: float) -> str:
    """Return a number in six digits, rounded up.

    Examples
    --------
    >>> _digits(1.9), _digits(1.0000004), _digits(12345678.0)
    ('1.9', '1.00001', '12345700')
    """
    return f"{_SIX_DIGITS.create_decimal(repr(float(number))).normalize():f}"
