"""What a fitted model promises: against whom, how much per item, and how it adds up when recipients collude."""

from dataclasses import replace
from fractions import Fraction

from hetdp.accounting.guarantee import Guarantee, Recipients, in_digits

__all__ = ["promise"]

_SWAPPED = "swapping an item of a user for another one (sizes of profiles are declared public)"
_ADDED = "adding or removing an item of a user"
_ONE = "one recipient who sees one list, the own, whatever else they know"
_EVERYBODY = "everybody together, whatever else they know"
_OWN = "A list is made from the own profile of its recipient, and says so much about it: it is for them only."
_NAMES = "Names of users, and of items that somebody counts, are taken as public."


def promise(
    engine: str,
    *,
    per_recipient: Fraction,
    shared: Fraction,
    most_recipients: int,
    public_sizes: bool = False,
    observed_catalogue: bool = False,
    simulated: bool = False,
) -> Guarantee:
    """Return the promise of neighbour lists and recommendations.

    Parameters
    ----------
    engine
        Which engine makes the lists.
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

    Examples
    --------
    >>> promise("sketch", per_recipient=Fraction(0), shared=Fraction(3), most_recipients=500).against(400)
    3.0
    """
    factor = "(v_i + v_j)" if public_sizes else "v_i"
    remarks = [_OWN]
    if engine == "exact":
        remarks.insert(0, "Whoever holds the profiles is trusted.")
    elif engine == "gossip":
        remarks.insert(
            0,
            f"Each comparison costs {in_digits(per_recipient)} * {factor}, and in this run no user was compared with "
            f"more than {most_recipients:,} peers. One process simulates all nodes and is trusted.",
        )
    if observed_catalogue:
        remarks.append(_NAMES)
    lists = Guarantee.of_lists(
        Recipients(per_recipient, shared, most_recipients, together=engine != "exact"),
        adjacent=_SWAPPED if public_sizes else _ADDED,
        adversary=_ONE if engine == "exact" else _EVERYBODY,
        factor=factor,
        remarks=tuple(remarks),
    )
    return replace(lists, simulated=simulated)
