"""What a sketch tells about a group of items, at home and for the owner's eyes: how often a curious peer is right.

A sketch is private item by item, and a group loses the sum of its items' losses. So the figure for one item is no
comfort for a group: with twenty items of one taste at epsilon 3, one sketch tells the taste. Here a peer is told two
lists, the owner's as it is, dials and all, and the same without one group, and must say whose sketch it is. No real
peer knows that much, so none does better (docs/proofs/groups.md).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hetdp.node.dials import FULL_DIAL, weight_of
from hetdp.node.guessing import CoinPair, guessing_accuracy, most_accuracy
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.ledger import Standing, loss, most_steps
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bit_law import chance_of_one

#: From here on words say more than a number would.
_HARDLY, _ALMOST, _NEARLY_ALWAYS = 0.55, 0.99, 0.999
#: A guess that is right more often than this is worth a warning.
OFTEN = 0.75
#: How often a guess may be right at most, for limits to choose from.
TARGETS = (0.9, 0.75, 0.6)

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False)
class GroupTold:
    """What sketches tell about one group of the owner's items. Private: `repr` shows nothing."""

    group: str
    items: int  # on the list
    counting: int  # in the next sketch
    next_loss: float  # sum over items, in epsilon
    next_accuracy: float  # of the best guess from the next sketch alone
    lost: float  # so far, removed items included
    all_accuracy: float  # from all that was published so far and the next sketch
    limit: float | None  # on `next_loss`, if the owner has set one

    @property
    def name(self) -> str:
        """The group in words."""
        return group_name(self.group)

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.next_accuracy > OFTEN:
            return "If that is nobody's business: set a limit, or turn what is delicate down to 0."
        if self.all_accuracy > OFTEN and self.counting:
            return "The next sketch by itself tells little, but they add up; those that are out cannot be taken back."
        if self.all_accuracy > OFTEN:
            return "New sketches tell nothing about it; those that are out cannot be taken back."
        if self.next_accuracy > _HARDLY:
            return "A guess, not knowledge. It grows with every sketch and every item that you add."
        return "Nothing to do."


@dataclass(frozen=True, slots=True, repr=False)
class DialChange:
    """A dial that a limit would lower."""

    place: int
    title: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, repr=False)
class GroupProposal:
    """What a limit of a group would do: nothing is stored yet."""

    limit: float
    now: GroupTold
    then: GroupTold
    changes: tuple[DialChange, ...]

    @property
    def promise(self) -> str:
        """What the limit means, whatever is in the group and whatever is added to it."""
        most = right_words(accuracy) if (accuracy := most_accuracy(self.limit)) <= _ALMOST else ""
        return (
            f"From one sketch a peer is right about the group {most} at most, whatever you add later."
            if most
            else "That is for today's items: within so high a limit, others that you add later may tell far more."
        ) + f" Sketches add up: ten of them may tell ε {10 * self.limit:.3g}."

    @property
    def spent(self) -> str:
        """What to say where more than the limit has been told already; "" where it has not."""
        if self.now.lost <= self.limit:
            return ""
        return (
            f"Sketches so far have told ε {self.now.lost:.3g} about it, more than this limit. That cannot be taken "
            "back; the limit holds for each sketch from the next one on."
        )


class GroupLosses:
    """What was published about the owner's groups so far, read once, and what the next sketch would add.

    Privacy
    -------
    Computed from the exact profile, the dials and the losses, and for their owner alone. It reads the store and writes
    nothing, and nothing that leaves the node depends on it.
    """

    def __init__(self, store: NodeStore, network: NetworkParameters) -> None:
        self._store, self._epsilon, self._tuned_for = store, network.epsilon, network.tuned_for
        self._standing = store.ledger.standing()
        self._names, numbers = store.catalogue.groups()
        self._numbers = numbers.astype(np.int64)
        self._limits = store.group_limits.all()
        self._past, published = self._counted_so_far()
        # Losses beyond those sketches (after a move or a restore) count as one release each, which tells no less.
        self._other = np.maximum(self._standing.lost - published, 0)

    def all(self) -> tuple[GroupTold, ...]:
        """Return what is told about each group that has or had something to tell, most telling first.

        The whole list is the last one, as a group of its own.
        """
        # What a restored node pays for every item says nothing about a group that the owner never had.
        somewhere = self._standing.listed | (self._standing.lost > self._store.other_charges.of_every_item())
        groups = sorted({self._names[number] for number in set(self._numbers[somewhere].tolist())})
        found = [self._told(group, self._standing) for group in groups]
        found.sort(key=lambda told: (-told.next_accuracy, -told.all_accuracy, -told.next_loss, told.group))
        return (*found, self._told(WHOLE_LIST, self._standing)) if found else ()

    def proposal(self, group: str, epsilon: float) -> GroupProposal:
        """Return what a limit of a group would do. Nothing is stored."""
        lowered = self._store.group_limits.proposed(group, epsilon)
        items = self._store.catalogue.items_at(sorted(lowered))
        dials = self._standing.dials
        return GroupProposal(
            epsilon,
            now=self._told(group, self._standing),
            then=replace(self._told(group, self._lowered(lowered)), limit=epsilon),
            changes=tuple(
                DialChange(item.place, item.title, int(dials[item.place]), lowered[item.place]) for item in items
            ),
        )

    def choices(self, group: str) -> list[tuple[float, float]]:
        """Return limits to choose from: the most accuracy that each allows with today's items, and the limit.

        Of those below what the next sketch tells now. A limit is a whole number of hundredths of epsilon.
        """
        told = self._told(group, self._standing)
        wanted = [target for target in TARGETS if target < told.next_accuracy]
        return [(target, self._limit_for(group, target, told.next_loss)) for target in wanted]

    def _limit_for(self, group: str, target: float, most: float) -> float:
        """Return the largest limit whose proposal keeps a guess within a target, by halving."""
        step = self._epsilon / FULL_DIAL
        low, high = 0, most_steps(most, self._epsilon)
        while high - low > 1:
            middle = (low + high) // 2
            lowered = self._store.group_limits.proposed(group, float(step * middle))
            fits = self._accuracy(self._next(group, self._lowered(lowered)), ()) <= target
            low, high = (middle, high) if fits else (low, middle)
        return float(step * low)

    def _lowered(self, dials: Mapping[int, int]) -> Standing:
        changed = self._standing.dials.copy()
        changed[list(dials)] = list(dials.values())
        return replace(self._standing, dials=changed)

    def _told(self, group: str, standing: Standing) -> GroupTold:
        here, counts = self._members(group), self._next(group, standing)
        other, numbers = np.unique(self._other[here], return_counts=True)
        rest = [(steps, number) for steps, number in zip(other.tolist(), numbers.tolist(), strict=True) if steps]
        past = self._past.sum(axis=0) if group == WHOLE_LIST else self._past[self._names.index(group)]
        return GroupTold(
            group,
            items=int(np.count_nonzero(standing.listed & here)),
            counting=int(counts[1:].sum()),
            next_loss=loss(int(counts @ np.arange(counts.size)), self._epsilon),
            next_accuracy=self._accuracy(counts, ()),
            lost=loss(int(standing.lost[here].sum(dtype=np.int64)), self._epsilon),
            all_accuracy=self._accuracy(counts + past, rest),
            limit=self._limits.get(group),
        )

    def _members(self, group: str) -> NDArray[np.bool_]:
        return self._store.group_limits.members(group)

    def _next(self, group: str, standing: Standing) -> Counts:
        """Return how many items of a group count in the next sketch, by dial."""
        return np.bincount(standing.effective[self._members(group)], minlength=FULL_DIAL + 1)

    def _counted_so_far(self) -> tuple[Counts, Counts]:
        """Return how often each dial counted in sketches so far, by group; and the sum of dials of each item."""
        kinds = FULL_DIAL + 1
        counts = np.zeros(len(self._names) * kinds, dtype=np.int64)
        published = np.zeros(self._numbers.size, dtype=np.int64)
        for dials in self._store.publications.all_dials():
            numbers = self._numbers[: dials.size]  # a catalogue may have grown since
            counts += np.bincount(numbers * kinds + dials, minlength=counts.size)
            published[: dials.size] += dials
        return counts.reshape(-1, kinds), published

    def _accuracy(self, counts: Counts, rest: Iterable[tuple[int, int]]) -> float:
        """Return the accuracy of the best guess from bits of some dials, and from releases of other losses."""
        absent = self._chance(0)
        coins = [
            CoinPair(int(counts[dial]), self._chance(dial), absent) for dial in np.flatnonzero(counts).tolist() if dial
        ]
        for steps, number in rest:
            most = most_accuracy(loss(steps, self._epsilon))
            coins.append(CoinPair(number, most, 1.0 - most))
        return _accuracy_of(tuple(coins))

    def _chance(self, dial: int) -> float:
        return chance_of_one(self._epsilon, weight_of(dial), tuned_for=self._tuned_for)


@lru_cache(maxsize=1024)
def _accuracy_of(coins: tuple[CoinPair, ...]) -> float:
    """Return the accuracy, computed once for groups that are alike and for a page that is shown again."""
    return guessing_accuracy(coins)


def group_name(group: str) -> str:
    """Return a group as people are told about it.

    Examples
    --------
    >>> group_name("Health"), group_name(""), group_name(WHOLE_LIST)
    ('Health', 'Everything else', 'Your whole list')
    """
    return {"": "Everything else", WHOLE_LIST: "Your whole list"}.get(group, group)


def right_words(accuracy: float) -> str:
    """Say how often a guess between two is right; rounded up, so that it is never too little.

    Examples
    --------
    >>> right_words(0.5), right_words(0.9), right_words(0.731), right_words(0.9936)
    ('1 time in 2', '9 times in 10', '74 times in 100', '994 times in 1,000')
    >>> right_words(0.99999)
    'practically always'
    """
    if accuracy > _NEARLY_ALWAYS:
        return "practically always"
    whole = 100 if accuracy <= 0.99 else 1000  # noqa: PLR2004  (where hundredths would round to all)
    times = math.ceil(accuracy * whole - 1e-4)  # what the calculation adds for rounding is no time more
    if times * 2 <= whole:
        return "1 time in 2"
    if whole == 100 and times == 75:  # noqa: PLR2004  (a fraction that people know)
        return "3 times in 4"
    if whole == 100 and times % 10 == 0:  # noqa: PLR2004  (tenths)
        return f"{times // 10} times in 10"
    return f"{times} times in {whole:,}"
