"""Audit cases of `PrivateRecommender`: `fit` and `partial_fit`, with names, counts and evidence on pairs.

The promise states one epsilon for all parts. The share of counts is measured, that of names is read from the public
settings, and the noise of the rest must be as wide as what is left of `guarantee_` implies.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, scale_case, weight_zero_case
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState
from hetdp.neighbors.audit_cases import ITEMS, having, profiles_of
from hetdp.profiles import Profiles
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import ONE_ITEM, ONE_PAIR, MatrixRule
from hetdp.recommender.names import MOST_NAMES
from hetdp.tables.audit_cases import chance_of_key

Floats = NDArray[np.float64]

_PEOPLE = 16
#: Items that few people have, of which some are named.
_RARE, _OWNERS = 6_000, (3, 4)
#: A delta at which a few people are enough for a name.
_ODD_DELTA = 0.08
#: Weights of people whose presence is audited; all have everything.
PERSON_WEIGHTS = (1.0, 0.0, 0.5, 0.25)
#: People beside them, and an epsilon at which their items may be named.
_CROWD, _LOUD = 60, 300


def _owned(n_items: int, owners: int) -> Profiles:
    """Return people; each item has some owners among them, in turns."""
    items = np.arange(n_items)
    return profiles_of([((np.arange(owners)[:, None] + items) % _PEOPLE, items, 1.0)], n_users=_PEOPLE)


def _nobody(n_items: int, first: int = 0, step: int = 1) -> Profiles:
    """Return people with one item of weight 0; with a step of 4, a quarter of them."""
    return profiles_of([(np.arange(first, _PEOPLE, step), np.array(0), 0.0)], n_items)


def _counts(model: PrivateRecommender, exact: int, epsilon: float) -> Reached:
    """Measure counts from sketches, in standard deviations; the first item may be an exception."""
    off = model._public.counts[1:] - exact  # noqa: SLF001  (audits may see all)
    return Reached("counts", off * 2 * math.sinh(epsilon / 2) / math.sqrt(_PEOPLE), "gaussian", symmetric=False)


def _names(model: PrivateRecommender, words: str, chance: float, slack: float) -> Reached:
    """Measure which of the rare items a fitted model names."""
    found = np.isin(np.arange(_RARE), model.item_ids_.astype(np.int64))
    return Reached(f"names that {words} have", found, "coins", chance, slack=slack)


def _sketched(random_state: RandomState, *, parts: int = 1, n_items: int = 120_000) -> list[Reached]:
    """Measure the counts of items that nobody has, from the sketches of everybody; people may come in parts."""
    model = PrivateRecommender(1.0, catalogue=np.arange(n_items), head=[0, 1], random_state=random_state)
    for place in range(parts):
        (model.partial_fit if parts > 1 else model.fit)(_nobody(n_items, place, parts))
    return [_counts(model, 0, model.guarantee_.amount)]


def _named(random_state: RandomState) -> list[Reached]:
    """Measure which items are named that few people have; nearly all items that everybody has are named."""
    model = PrivateRecommender(1.0, delta=_ODD_DELTA, head=[0, 1], random_state=random_state)
    model.fit(_owned(15_000, _PEOPLE))
    left = model.guarantee_.amount - float(model._public.settings.names_epsilon)  # noqa: SLF001
    parts = [_counts(model, _PEOPLE, left)]
    for owners in _OWNERS:
        model = PrivateRecommender(10.0, delta=0.01, random_state=random_state, n_head=2).fit(_owned(_RARE, owners))
        level = float(model._public.settings.names_epsilon)  # noqa: SLF001
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to a step.
        chance = chance_of_key(owners, level=level, delta=model.guarantee_.delta)
        parts.append(_names(model, f"{owners} people", chance, slack=0.02))
    return parts


def _matrix(
    random_state: RandomState, *, unit: str = "item", catalogue: str = "given", n_head: int = 600
) -> list[Reached]:
    """Measure the evidence on pairs, which has what counts and names leave of rho."""
    model = PrivateRecommender(
        1.0, delta=_ODD_DELTA, release="matrix", unit=unit, catalogue=catalogue, random_state=random_state
    ).fit(_owned(n_head, _PEOPLE) if catalogue == "private" else _nobody(n_head))
    public = model._public  # noqa: SLF001
    rule, size = MatrixRule(unit), public.head.size
    counts = public.counts - np.median(public.counts)
    taken = (rule.count_spread / ONE_ITEM) ** 2 / (2 * float((counts**2).mean()))
    taken += float(public.settings.names_epsilon) ** 2 / 2
    left = max(model.guarantee_.amount - taken, 1e-9)
    pairs = model._crowd._learning.evidence().gram[np.tril_indices(size, -1)]  # type: ignore[union-attr]  # noqa: SLF001
    sigma = rule.pair_spread(size) / ONE_PAIR / math.sqrt(2 * left)
    # The variance of counts is known to a few per cent, and counts have a twentieth or a tenth of rho.
    return [Reached("pairs", (pairs - pairs.mean()) / sigma, "gaussian", slack=0.004)]


def _names_of_people(random_state: RandomState) -> list[Reached]:
    """Measure which items are named where whole people are protected.

    People have as many items as count in full, or twice as many, which count half: then a name needs twice the owners.
    """
    parts = []
    for times in (1, 2):
        for owners in (_OWNERS[0] * times, 2 * _OWNERS[0] * times):
            users = np.arange(_RARE * owners).reshape(owners, _RARE) // (MOST_NAMES * times)
            model = PrivateRecommender(
                200.0, delta=_ODD_DELTA, release="matrix", unit="user", n_head=2, random_state=random_state
            ).fit(profiles_of([(users, np.arange(_RARE), 1.0)]))
            settings = model._public.settings  # noqa: SLF001
            level, delta = float(settings.names_epsilon), float(settings.names_delta)
            chance = chance_of_key(owners / times, level=level, delta=delta, groups=MOST_NAMES)
            parts.append(_names(model, f"{owners} people with {MOST_NAMES * times} items", chance, slack=0.01))
    return parts


_FIT = "PrivateRecommender.fit"
#: Every public way to a model, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    f"{_FIT}, sketches": _sketched,
    "PrivateRecommender.partial_fit, sketches": partial(_sketched, parts=4),
    f"{_FIT}, sketches, private names": _named,
    f"{_FIT}, matrix": _matrix,
    f"{_FIT}, matrix of people": partial(_matrix, unit="user"),
    f"{_FIT}, matrix, private names": partial(_matrix, catalogue="private", n_head=250),
    f"{_FIT}, matrix of people, private names": _names_of_people,
}


def published(
    profile: Sequence[float], size: int, random_state: RandomState, *, release: str = "matrix", unit: str = "item"
) -> Floats:
    """Return all that is published about a crowd and one person's items, or about a crowd and some of four people."""
    own, user_weights, weights = [having(profile)], None, np.array(WEIGHTS)
    if unit == "user":
        own = [having([present] * ITEMS) for present in profile]
        user_weights = [*PERSON_WEIGHTS, *[1.0] * _CROWD]
    crowd = [np.array([item for item in range(ITEMS) if (item + person) % 3]) for person in range(_CROWD)]
    rows = [
        (np.array(person), items, weights[items] if unit == "item" or person < len(own) else np.array(1.0))
        for person, items in enumerate([*own, *crowd])
    ]
    return fits(profiles_of(rows, n_users=len(rows)), user_weights, size, random_state, release=release)


def fits(
    profiles: Profiles,
    user_weights: Sequence[float] | None,
    size: int,
    random_state: RandomState,
    *,
    release: str = "matrix",
) -> Floats:
    """Return everything that some fits publish, with private names."""
    runs, unit = [], "item" if user_weights is None else "user"
    for _ in range(size):
        model = PrivateRecommender(
            _LOUD, release=release, unit=unit, n_head=3, catalogue="private", random_state=random_state
        )
        public = model.fit(profiles, user_weights=user_weights)._public  # noqa: SLF001
        parts = [public.item_ids, public.head, public.counts, *public.model.arrays().values()]
        runs.append(np.concatenate([np.ravel(part).astype(np.float64) for part in parts]))
    return np.array(runs)


def audit_cases(size: str) -> list[Case]:  # noqa: ARG001  (each takes less than a second)
    """Return the cases of models."""
    return [
        *(scale_case(name, call) for name, call in PUBLIC_CALLS.items()),
        weight_zero_case(f"{_FIT}, sketches", partial(published, release="sketch"), 1, ITEMS),
        weight_zero_case(f"{_FIT}, matrix", published, 1, ITEMS),
        weight_zero_case(f"{_FIT}, matrix of people", partial(published, unit="user"), 1, len(PERSON_WEIGHTS)),
    ]
