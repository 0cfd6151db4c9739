"""How people choose privacy weights, as assumptions for simulations: slices, three groups, all alike, or by labels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, simulation_stream
from hetdp.profiles.profiles import Profiles

__all__ = ["Policy", "constant", "from_labels", "slices", "westin"]

_PURPOSE = "policy"
#: The weights that the paper's three groups draw from.
WESTIN_GROUPS = {
    "fundamentalists": (0.0, 0.5, 1.0),
    "pragmatists": (0.5, 0.75, 1.0),
    "unconcerned": (1.0,),
}


@dataclass(frozen=True, repr=False)
class Policy:
    """Groups of people, each with the weights that its members draw from; made by the functions of this module.

    Attributes
    ----------
    name
        What it is, in a few characters.
    shares
        The share of each group of all users. Group sizes are exact; users are assigned without replacement.
    weights
        The weights of each group, all as likely.
    labelled
        Weights by item, as pairs of item and weight; the weight in `weights` is that of other items.

    Privacy
    -------
    A policy is public: an assumption about people, not a summary of their weights.
    """

    name: str
    shares: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    labelled: tuple[tuple[str | int, float], ...] = ()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Policy({self.name})"

    @property
    def values(self) -> NDArray[np.float64]:
        """All weights that somebody may draw, group by group."""
        return np.array([weight for group in self.weights for weight in group])

    def group_sizes(self, n_users: int) -> tuple[int, ...]:
        """Return how many of `n_users` users belong to each group: exact shares, rounded by largest remainder."""
        users = whole("n_users", n_users, minimum=0)
        # 0.29 * 100 is below 29 in floating point; as the fraction that was meant it is 29.
        exact = [Fraction(float(share)).limit_denominator(10**9) * users for share in self.shares]
        sizes = [math.floor(part) for part in exact]
        by_remainder = sorted(range(len(sizes)), key=lambda group: sizes[group] - exact[group])  # ties: the first group
        for group in by_remainder[: users - sum(sizes)]:
            sizes[group] += 1
        return tuple(sizes)

    def groups(self, profiles: Profiles, random_state: RandomState = 0) -> NDArray[np.int64]:
        """Return the group of each user in `profiles`, as `draw` with this `random_state` assigns it."""
        return self._groups(profiles.n_users, simulation_stream(random_state, _PURPOSE))

    def _groups(self, n_users: int, stream: Stream) -> NDArray[np.int64]:
        groups = np.zeros(n_users, dtype=np.int64)
        if len(self.shares) > 1:
            members = np.repeat(np.arange(len(self.shares)), self.group_sizes(n_users))
            groups[np.argsort(stream.uniforms(n_users), kind="stable")] = members
        return groups

    def draw(
        self, profiles: Profiles, random_state: RandomState = 0, per: Literal["item", "user"] = "item"
    ) -> Profiles:
        """Return the profiles with weights drawn by this policy.

        Parameters
        ----------
        profiles
            Whose weights they replace.
        random_state
            A seed, a stream, or None for the secure stream.
        per
            Whether each "item" of a user gets a weight of its own, or each "user" one for all. Has no part in labels.

        Examples
        --------
        >>> profiles = Profiles.from_pairs([1, 1, 2], ["a", "b", "a"])
        >>> constant(0.5).draw(profiles).profile(1)
        {'a': 0.5, 'b': 0.5}
        """
        stream = simulation_stream(random_state, _PURPOSE)
        one_of("per", per, ("item", "user"))
        if self.labelled:
            known = dict(self.labelled)
            of_items = [known.get(item, self.weights[0][0]) for item in profiles.item_ids.tolist()]
            return profiles.with_weights(np.array(of_items, dtype=np.float64)[profiles.indices])
        if self.values.size == 1:
            return profiles.with_weights(self.weights[0][0])
        groups, owners = self._groups(profiles.n_users, stream), profiles.owners
        count = np.array([len(group) for group in self.weights])
        begin = np.cumsum(count) - count
        drawn = stream.uniforms(profiles.n_pairs) if per == "item" else stream.uniforms(profiles.n_users)[owners]
        group = groups[owners]
        # The product can round up to `count` itself.
        place = np.minimum((drawn * count[group]).astype(np.int64), count[group] - 1)
        return profiles.with_weights(self.values[begin[group] + place])


def slices(lower: float, upper: float, n: int) -> Policy:
    """Return the policy of weights drawn uniformly from `n` equally spaced values between two ends, ends included.

    Parameters
    ----------
    lower, upper
        Ends, `0 <= lower <= upper <= 1`.
    n
        How many values; 1 means both ends, as 2 does (the paper). A single value is what `constant` is for.

    Examples
    --------
    >>> slices(0.5, 1, 3).values
    array([0.5 , 0.75, 1.  ])
    """
    low, high = finite("lower", lower), finite("upper", upper)
    if not 0.0 <= low <= high <= 1.0:
        raise InvalidInput(
            f"and upper must satisfy 0 <= lower <= upper <= 1 (got {low:g}, {high:g})", parameter="lower"
        )
    # For n = 1 the formula of the paper divides by zero, and its figures show n = 1 and n = 2 alike.
    values = np.linspace(low, high, max(2, whole("n", n, minimum=1)))
    return Policy(f"slices {low:g},{high:g},{n}", (1.0,), (tuple(values.tolist()),))


def westin(fundamentalists: float, pragmatists: float, unconcerned: float) -> Policy:
    """Return the policy of the paper's three groups of users, after the polls of Alan Westin.

    Fundamentalists draw from {0, 0.5, 1}, pragmatists from {0.5, 0.75, 1}, the unconcerned take 1.

    Parameters
    ----------
    fundamentalists, pragmatists, unconcerned
        Shares of all users that sum to 1, from a public poll, such as 34/43/23 %.

    Examples
    --------
    >>> westin(0.34, 0.43, 0.23).group_sizes(10), westin(0.34, 0.43, 0.23).group_sizes(100)
    ((4, 4, 2), (34, 43, 23))
    """
    given = {"fundamentalists": fundamentalists, "pragmatists": pragmatists, "unconcerned": unconcerned}
    shares = [finite(name, share) for name, share in given.items()]
    listed = ",".join(f"{share:g}" for share in shares)
    if min(shares) < 0.0 or abs(sum(shares) - 1.0) > 1e-9:  # noqa: PLR2004  (rounding of the sum)
        what = "and the shares of the other groups must be >= 0 and sum to 1"
        raise InvalidInput(what, parameter="fundamentalists", got=listed)
    return Policy(f"westin {listed}", tuple(shares), tuple(WESTIN_GROUPS.values()))


def constant(value: float) -> Policy:
    """Return the policy of the same weight for everything, of which 1 is ordinary differential privacy.

    Parameters
    ----------
    value
        The weight, in [0, 1].
    """
    return Policy(f"constant {_weight('value', value):g}", (1.0,), ((float(value),),))


def from_labels(
    labels: Mapping[str, str] | Mapping[int, str], weights: Mapping[str, float], default: float = 0.0
) -> Policy:
    """Return the policy of weights by label: every item that has a label gets the weight of that label.

    Parameters
    ----------
    labels
        From item to label, such as "sensitive". Public.
    weights
        From label to weight, in [0, 1].
    default
        The weight of items without a label.

    Examples
    --------
    >>> policy = from_labels({"clinic": "restricted", "jazz": "normal"}, {"normal": 1, "restricted": 0.25})
    >>> policy.draw(Profiles.from_pairs(["ann"] * 3, ["clinic", "golf", "jazz"])).profile("ann")
    {'clinic': 0.25, 'golf': 0.0, 'jazz': 1.0}
    """
    known = {label: _weight("weights", weight) for label, weight in weights.items()}
    unknown = sorted({str(label) for label in labels.values() if label not in known})
    if unknown:
        raise InvalidInput(
            "must have a weight for every label", parameter="weights", hint=f"Missing: {', '.join(unknown)}."
        )
    listed = ",".join(f"{label}={weight:g}" for label, weight in known.items())
    labelled = tuple((item, known[label]) for item, label in labels.items())
    return Policy(f"labels {listed}", (1.0,), ((_weight("default", default),),), labelled)


def _weight(name: str, value: float) -> float:
    weight = finite(name, value)
    if not 0.0 <= weight <= 1.0:
        raise InvalidInput("must lie in [0, 1]", parameter=name, got=value)
    return weight
