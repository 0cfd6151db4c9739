"""How people choose privacy weights, as assumptions for simulations: slices, three groups, or all alike.

A policy draws weights for given profiles and knows the public prior that it stands for.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, simulation_stream
from hetdp.profiles.priors import WESTIN_GROUPS, WeightPrior
from hetdp.profiles.profiles import Profiles

__all__ = ["Constant", "Policy", "Slices", "Westin", "constant", "slices", "westin"]

_PURPOSE = "policy"


class Policy(Protocol):
    """What every policy can do.

    Privacy
    -------
    A policy is public: an assumption about people, not a summary of their weights.
    """

    def draw(self, profiles: Profiles, random_state: RandomState, per: Literal["item", "user"] = "item") -> Profiles:
        """Return the profiles with weights drawn by this policy.

        Parameters
        ----------
        profiles
            Whose weights they replace.
        random_state
            A seed, a stream, or None for the secure stream.
        per
            Whether each "item" of a user gets a weight of its own, or each "user" one for all.
        """
        ...

    def prior(self) -> WeightPrior:
        """Return the distribution of one weight."""
        ...


@dataclasses.dataclass(frozen=True)
class Slices:
    """Weights drawn uniformly from `n` equally spaced values between two ends, which are included: `policies.slices`.

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

    lower: float
    upper: float
    n: int

    def __post_init__(self) -> None:
        lower, upper = finite("lower", self.lower), finite("upper", self.upper)
        if not 0.0 <= lower <= upper <= 1.0:
            raise InvalidInput(f"lower and upper must satisfy 0 <= lower <= upper <= 1 (got {lower:g}, {upper:g})")
        # For n = 1 the formula of the paper divides by zero, and its figures show n = 1 and n = 2 alike.
        whole("n", self.n, minimum=1)

    def __str__(self) -> str:
        return f"slices {self.lower:g},{self.upper:g},{self.n}"

    @property
    def values(self) -> NDArray[np.float64]:
        """The possible weights, ends included; one slice has both ends, as two have."""
        return np.linspace(self.lower, self.upper, max(2, self.n))

    def draw(self, profiles: Profiles, random_state: RandomState, per: Literal["item", "user"] = "item") -> Profiles:
        """Return the profiles with a uniformly drawn slice per pair, or one per user.

        Examples
        --------
        >>> profiles = Profiles.from_pairs([1, 1, 2], ["a", "b", "a"])
        >>> slices(0, 1, 2).draw(profiles, random_state=0)
        Profiles(private: 2 users, 2 items, 3 pairs)
        """
        groups = np.zeros(profiles.n_users, dtype=np.int64)
        return _draw(profiles, [self.values], groups, simulation_stream(random_state, _PURPOSE), per)

    def prior(self) -> WeightPrior:
        """Return the uniform distribution over the slices.

        Examples
        --------
        >>> slices(0, 1, 3).prior().mean()
        0.5
        """
        return WeightPrior(self.values)


@dataclasses.dataclass(frozen=True)
class Westin:
    """The paper's three groups of users, after the polls of Alan Westin, as shares of all users: `policies.westin`.

    Fundamentalists draw from {0, 0.5, 1}, pragmatists from {0.5, 0.75, 1}, the unconcerned take 1. Group sizes are
    exact shares of the users, who are assigned without replacement.

    Parameters
    ----------
    fundamentalists, pragmatists, unconcerned
        Shares that sum to 1, from a public poll, such as 34/43/23 %.

    Examples
    --------
    >>> westin(0.34, 0.43, 0.23).group_sizes(10), westin(0.34, 0.43, 0.23).group_sizes(100)
    ((4, 4, 2), (34, 43, 23))
    """

    fundamentalists: float
    pragmatists: float
    unconcerned: float

    def __post_init__(self) -> None:
        shares = [finite(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        if min(shares) < 0.0 or abs(sum(shares) - 1.0) > 1e-9:  # noqa: PLR2004  (rounding of the sum)
            listed = ", ".join(f"{share:g}" for share in shares)
            raise InvalidInput("fundamentalists, pragmatists and unconcerned must be >= 0 and sum to 1", got=listed)

    def __str__(self) -> str:
        return f"westin {self.fundamentalists:g},{self.pragmatists:g},{self.unconcerned:g}"

    def group_sizes(self, n_users: int) -> tuple[int, int, int]:
        """Return how many of `n_users` users belong to each group: exact shares, rounded by largest remainder.

        Examples
        --------
        >>> westin(0.5, 0.5, 0).group_sizes(5)
        (3, 2, 0)
        """
        users = whole("n_users", n_users, minimum=0)
        # 0.29 * 100 is below 29 in floating point; as the fraction that was meant it is 29.
        exact = [Fraction(float(share)).limit_denominator(10**9) * users for share in dataclasses.astuple(self)]
        sizes = [math.floor(part) for part in exact]
        by_remainder = sorted(range(3), key=lambda group: sizes[group] - exact[group])  # ties: the stricter group
        for group in by_remainder[: users - sum(sizes)]:
            sizes[group] += 1
        return sizes[0], sizes[1], sizes[2]

    def groups(self, profiles: Profiles, random_state: RandomState) -> NDArray[np.int64]:
        """Return the group of each user (0 fundamentalist, 1 pragmatist, 2 unconcerned), as `draw` with this seed does.

        Examples
        --------
        >>> profiles = Profiles.from_pairs(range(4), ["a"] * 4)
        >>> sorted(westin(0.5, 0.25, 0.25).groups(profiles, random_state=0).tolist())
        [0, 0, 1, 2]
        """
        return self._groups(profiles.n_users, simulation_stream(random_state, _PURPOSE))

    def _groups(self, n_users: int, stream: Stream) -> NDArray[np.int64]:
        groups = np.empty(n_users, dtype=np.int64)
        groups[np.argsort(stream.uniforms(n_users), kind="stable")] = np.repeat(np.arange(3), self.group_sizes(n_users))
        return groups

    def draw(self, profiles: Profiles, random_state: RandomState, per: Literal["item", "user"] = "item") -> Profiles:
        """Return the profiles with weights drawn from the values of each user's group, per pair or once per user.

        Examples
        --------
        >>> profiles = Profiles.from_pairs([1, 1, 2], ["a", "b", "a"])
        >>> westin(0, 0, 1).draw(profiles, random_state=0).profile(1)
        {'a': 1.0, 'b': 1.0}
        """
        stream = simulation_stream(random_state, _PURPOSE)
        groups = self._groups(profiles.n_users, stream)
        values = [np.array(WESTIN_GROUPS[field.name]) for field in dataclasses.fields(self)]
        return _draw(profiles, values, groups, stream, per)

    def prior(self) -> WeightPrior:
        """Return `WeightPrior.westin` with the same shares.

        Examples
        --------
        >>> westin(0.34, 0.43, 0.23).prior().mean()
        0.7225
        """
        return WeightPrior.westin(self.fundamentalists, self.pragmatists, self.unconcerned)


@dataclasses.dataclass(frozen=True)
class Constant:
    """The same weight for everything, of which 1 is ordinary differential privacy: `policies.constant`.

    Attributes
    ----------
    value
        The weight, in [0, 1].

    Examples
    --------
    >>> constant(0.5)
    Constant(value=0.5)
    >>> constant(1).draw(Profiles.from_pairs([1], ["a"])).profile(1)
    {'a': 1.0}
    """

    value: float

    def __post_init__(self) -> None:
        if not 0.0 <= finite("value", self.value) <= 1.0:
            raise InvalidInput("must lie in [0, 1]", parameter="value", got=self.value)

    def __str__(self) -> str:
        return f"constant {self.value:g}"

    def draw(
        self, profiles: Profiles, random_state: RandomState = 0, per: Literal["item", "user"] = "item"
    ) -> Profiles:
        """Return the profiles with this weight everywhere; nothing is drawn, whatever the seed.

        Parameters
        ----------
        profiles
            Whose weights they replace.
        random_state, per
            Have no part in it: every policy takes them.

        Examples
        --------
        >>> constant(0.5).draw(Profiles.from_pairs([1], ["a"])).profile(1)
        {'a': 0.5}
        """
        simulation_stream(random_state, _PURPOSE)  # a bad seed is refused here as by every other policy
        one_of("per", per, ("item", "user"))
        return profiles.with_weights(self.value)

    def prior(self) -> WeightPrior:
        """Return the distribution with this one weight.

        Examples
        --------
        >>> constant(0.5).prior().mean()
        0.5
        """
        return WeightPrior([self.value])


slices, westin, constant = Slices, Westin, Constant


def _draw(
    profiles: Profiles, values: list[NDArray[np.float64]], groups: NDArray[np.int64], stream: Stream, per: str
) -> Profiles:
    """Return the profiles with weights drawn uniformly from the values of each user's group."""
    one_of("per", per, ("item", "user"))
    owners = profiles.owners
    count = np.array([options.size for options in values])
    begin = np.cumsum(count) - count
    drawn = stream.uniforms(profiles.n_pairs) if per == "item" else stream.uniforms(profiles.n_users)[owners]
    group = groups[owners]
    # The product can round up to `count` itself.
    place = np.minimum((drawn * count[group]).astype(np.int64), count[group] - 1)
    return profiles.with_weights(np.concatenate(values)[begin[group] + place])
