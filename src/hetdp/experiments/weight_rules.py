"""How the people of an evaluation choose their weights: slices, three groups, all alike, or homogeneous practice."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.profiles import Profiles, policies
from hetdp.profiles.policies import WESTIN_GROUPS

Per: TypeAlias = Literal["item", "user"]

#: The three groups, strictest first.
GROUPS = tuple(WESTIN_GROUPS)
#: The lowest weight of those who are left when the strictest group is dropped.
_LOWEST_LEFT = Fraction(1, 2)


@dataclass(frozen=True)
class Drawn:
    """Profiles with the weights of one run.

    Attributes
    ----------
    profiles
        The full profiles with their weights.
    groups
        Group of each user (position in `GROUPS`), or None where there are no groups.
    level
        What epsilon is multiplied by: 1 unless everybody shares a lower level.
    taking_part
        Which users take part, or None if all do. Those who do not are nobody's candidates, and have random neighbours.
    """

    profiles: Profiles
    groups: NDArray[np.int64] | None = None
    level: Fraction = Fraction(1)
    taking_part: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class SliceRule:
    """Weights uniform over `n` equally spaced values from `lower` to 1; n = 1 means {lower, 1}.

    The formula of the paper is undefined for n = 1, and its figures show n = 1 and n = 2 alike.
    """

    kind: ClassVar[str] = "slices"
    lower: float
    n: int

    def __post_init__(self) -> None:
        whole("slices", self.n, minimum=1)
        policies.slices(self.lower, 1.0, 2)

    @property
    def _policy(self) -> policies.Policy:
        return policies.slices(self.lower, 1.0, self.n)

    def draw(self, profiles: Profiles, seed: int) -> Drawn:
        """Return the profiles with the weights of one run."""
        return Drawn(self._policy.draw(profiles, seed))


@dataclass(frozen=True)
class SharedSliceRule:
    """As `SliceRule`, but an item has one weight that all its owners share: another reading of the paper.

    Then a common item counts v * v on average, which falls as slices are added; with weights of each owner's own it
    counts E[v] * E[v], which does not.
    """

    kind: ClassVar[str] = "shared slices"
    lower: float
    n: int

    def __post_init__(self) -> None:
        _ = self._own

    @property
    def _own(self) -> SliceRule:
        return SliceRule(self.lower, self.n)

    def draw(self, profiles: Profiles, seed: int) -> Drawn:
        """Return the profiles with the weights of one run."""
        # Drawn for a user who has everything, and taken over by all others.
        everything = Profiles.from_pairs(np.zeros(profiles.n_items, dtype=np.int64), np.arange(profiles.n_items))
        weights = self._own.draw(everything, seed).profiles.weights
        return Drawn(profiles.with_weights(weights[profiles.indices]))


@dataclass(frozen=True)
class GroupRule:
    """Three groups of users in exact shares: {0, 0.5, 1}, {0.5, 0.75, 1} and {1}, drawn per item or once per user."""

    kind: ClassVar[str] = "groups"
    fundamentalists: float
    pragmatists: float
    unconcerned: float
    per: Per = "item"

    def __post_init__(self) -> None:
        one_of("per", self.per, ("item", "user"))
        _ = self.policy

    @property
    def policy(self) -> policies.Policy:
        """The shares as a policy; refuses an impossible mix."""
        return policies.westin(self.fundamentalists, self.pragmatists, self.unconcerned)

    def draw(self, profiles: Profiles, seed: int) -> Drawn:
        """Return the profiles with the weights of one run, and who belongs to which group."""
        return Drawn(self.policy.draw(profiles, seed, self.per), self.policy.groups(profiles, seed))


@dataclass(frozen=True)
class SameRule:
    """One weight for everything; 1 is ordinary differential privacy."""

    kind: ClassVar[str] = "same"
    weight: float = 1.0

    def __post_init__(self) -> None:
        policies.constant(self.weight)

    def draw(self, profiles: Profiles, seed: int) -> Drawn:
        """Return the profiles with this weight everywhere."""
        return Drawn(policies.constant(self.weight).draw(profiles, seed))


@dataclass(frozen=True)
class PracticeRule:
    """What is done today for people with different wishes: leave out the strictest, give all others the lowest level.

    The fundamentalists take no part: nobody finds them, and all they get is neighbours drawn at random from those who
    do. Everybody else gets ordinary differential privacy at half the epsilon, the lowest weight that is left.
    """

    kind: ClassVar[str] = "practice"
    fundamentalists: float
    pragmatists: float
    unconcerned: float

    def __post_init__(self) -> None:
        if self.fundamentalists >= 1.0:
            raise InvalidInput("must be below 1 where they are left out (got 1)", parameter="fundamentalists")
        _ = self._policy

    @property
    def _policy(self) -> policies.Policy:
        return policies.westin(self.fundamentalists, self.pragmatists, self.unconcerned)

    def draw(self, profiles: Profiles, seed: int) -> Drawn:
        """Return the profiles of one run, and who belongs to which group: the same people as `GroupRule` draws."""
        groups = self._policy.groups(profiles, seed)
        taking_part = groups > 0
        weighted = profiles.with_weights(taking_part.astype(np.float64)[profiles.owners])
        return Drawn(weighted, groups, _LOWEST_LEFT, taking_part)


WeightRule: TypeAlias = SliceRule | SharedSliceRule | GroupRule | SameRule | PracticeRule
