"""`PrivateRecommender` by the front door: `fit` and `partial_fit`, with names, counts and evidence on pairs.

What one part takes of the promise is not stated by the promise; but together they must take all of it, and no more.
So the level of counts is measured, that of names is what the public settings of the model say, and what reaches the
rest must be as wide as what is left of `guarantee_` implies.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, behind, told_otherwise
from hetdp.auditing.registry import Case, scale_case
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.randomness import RandomState, Stream
from hetdp.profiles import Profiles
from hetdp.recommender import crowd, matrix, names
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import ONE_ITEM, ONE_PAIR, MatrixRule
from hetdp.recommender.settings import ModelSettings

__all__ = ["FRONT_DOORS", "MUTANTS", "audit_cases"]

Floats = NDArray[np.float64]

#: People, and items that nobody counts: enough to see that bits are 2 % too sharp.
_PEOPLE, _ITEMS = 16, 120_000
#: Items that everybody has, where names are private.
_NAMED = 15_000
#: Items that so many have, of which some are named.
_RARE, _OWNERS = 6_000, (3, 4)
#: A delta at which a few people are enough for a name.
_ODD_DELTA = 0.08
_HEAD, _NAMED_HEAD = 600, 250


def _crowd(n_items: int, owners: int, weight: float = 1.0) -> Profiles:
    """Return people each of so many items has so many of, in turns."""
    items = np.repeat(np.arange(n_items), owners)
    users = (np.tile(np.arange(owners), n_items) + items) % _PEOPLE
    return Profiles.from_pairs(users, items, np.full(items.size, weight), user_ids=np.arange(_PEOPLE))


def _nobody(n_items: int, first: int = 0, step: int = 1) -> Profiles:
    """Return people with an item that does not count, over a catalogue: all, or some of them."""
    people = np.arange(first, _PEOPLE, step)
    return Profiles.from_pairs(people, np.zeros_like(people), np.zeros(people.size), item_ids=np.arange(n_items))


def _in_spreads(counts: Floats, epsilon: float) -> Floats:
    """Return counts of sketches in what bits of that level let them vary by."""
    return counts * 2 * math.sinh(epsilon / 2) / math.sqrt(_PEOPLE)


def _sketched(random_state: RandomState, *, parts: int = 1) -> list[Reached]:
    """Look at the counts of items that nobody has, from the sketches of everybody, who come in parts."""
    model = PrivateRecommender(1.0, catalogue=np.arange(_ITEMS), head=[0, 1], random_state=random_state)
    if parts == 1:
        model.fit(_nobody(_ITEMS))
    for place in range(parts if parts > 1 else 0):
        model.partial_fit(_nobody(_ITEMS, place, parts))
    counts = model._public.counts[1:]  # noqa: SLF001  (auditors see all)
    return [Reached("counts", _in_spreads(counts, model.guarantee_.amount), "gaussian", symmetric=False)]


def _named(random_state: RandomState) -> list[Reached]:
    """Look at which names come out of those that a few people count; nearly all that everybody counts do."""
    parts = []
    model = PrivateRecommender(1.0, delta=_ODD_DELTA, head=[0, 1], random_state=random_state)
    public = model.fit(_crowd(_NAMED, _PEOPLE))._public  # noqa: SLF001
    left = model.guarantee_.amount - float(public.settings.names_epsilon)
    parts.append(Reached("counts", _in_spreads(public.counts - _PEOPLE, left), "gaussian", symmetric=False))
    for owners in _OWNERS:
        model = PrivateRecommender(10.0, delta=0.01, random_state=random_state, n_head=2)
        found = np.zeros(_RARE, dtype=np.bool_)
        found[model.fit(_crowd(_RARE, owners)).item_ids_.astype(np.int64)] = True
        level = float(model._public.settings.names_epsilon)  # noqa: SLF001
        bound = math.log((math.expm1(level) / model.guarantee_.delta + 2) / 2)
        chance = (math.exp(owners * level - bound) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to one.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


def _matrix(random_state: RandomState, *, unit: str = "item", catalogue: str = "given") -> list[Reached]:
    """Look at the evidence on pairs; what the counts and names have not taken of rho is all theirs."""
    private = catalogue == "private"
    people = _crowd(_NAMED_HEAD, _PEOPLE) if private else _nobody(_HEAD)
    model = PrivateRecommender(
        1.0, delta=_ODD_DELTA, release="matrix", unit=unit, catalogue=catalogue, random_state=random_state
    ).fit(people)
    public = model._public  # noqa: SLF001
    evidence = model._crowd._learning.evidence()  # type: ignore[union-attr]  # noqa: SLF001
    rule, size = MatrixRule(unit), public.head.size
    counts = public.counts - np.median(public.counts)
    taken = (rule.count_spread / ONE_ITEM) ** 2 / (2 * float((counts**2).mean()))
    taken += float(public.settings.names_epsilon) ** 2 / 2
    left = max(model.guarantee_.amount - taken, 1e-9)
    pairs = evidence.gram[np.tril_indices(size, -1)]
    sigma = rule.pair_spread(size) / ONE_PAIR / math.sqrt(2 * left)
    # How far counts vary is known to a few per cent, of a twentieth or a tenth of rho.
    return [Reached("pairs", (pairs - pairs.mean()) / sigma, "gaussian", slack=0.004)]


#: Every public way to a model, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "PrivateRecommender.fit, sketches": _sketched,
    "PrivateRecommender.partial_fit, sketches": partial(_sketched, parts=4),
    "PrivateRecommender.fit, sketches, private names": _named,
    "PrivateRecommender.fit, matrix": _matrix,
    "PrivateRecommender.fit, matrix of people": partial(_matrix, unit="user"),
    "PrivateRecommender.fit, matrix, private names": partial(_matrix, catalogue="private"),
}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateRecommender`, for the battery."""
    doors = [scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()]
    return [] if size == "quick" else doors


def _all_of(whole: str) -> Callable[[object], property]:
    """Return how to make a share of the settings the whole."""
    return lambda _: property(lambda settings: getattr(settings, whole))


def _twice(level: Fraction) -> Fraction:
    return 2 * level


def _sharper(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda level, *rest, **more: real(level * Fraction(103, 100), *rest, **more)


def _sums_at(
    counts: Fraction = Fraction(1), pairs: Fraction = Fraction(1)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return how to make noise for other levels of counts and pairs of the noise that there should be."""

    def make(real: Callable[..., Any]) -> Callable[..., Any]:
        def noisy(exact: NDArray[np.int64], *, spread: int, rho: Fraction, stream: Stream) -> object:
            factor = counts if exact.size == _HEAD else pairs
            return real(exact, spread=spread, rho=rho * factor, stream=stream)

        return noisy

    return make


_PRIVATE_MATRIX = FRONT_DOORS["PrivateRecommender.fit, matrix, private names"]

#: Splits of a model, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    behind(_sketched, "sketches of the crowd 3 % too sharp", crowd, SketchLearning=_sharper),
    behind(_named, "sketches at the full level, beside names", ModelSettings, model_epsilon=_all_of("epsilon")),
    behind(_named, "names at twice their level", names, chosen_names=told_otherwise(epsilon=_twice)),
    behind(_named, "names at ten times delta", names, chosen_names=told_otherwise(delta=lambda delta: 10 * delta)),
    behind(_PRIVATE_MATRIX, "a matrix at the full level, beside names", ModelSettings, model_rho=_all_of("rho")),
    behind(_matrix, "pairs at the full level, beside counts", matrix, noisy_sums=_sums_at(pairs=Fraction(20, 19))),
    behind(_matrix, "counts at twice their level", matrix, noisy_sums=_sums_at(counts=Fraction(2))),
)
