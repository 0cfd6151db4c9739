"""Audit cases of `PrivateNeighbors`: lists of every engine, and the names of items.

Epsilon is read from `guarantee_`. Catalogues are given where names are not measured, so that all of epsilon belongs to
what is.
"""

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.profiles import Profiles
from hetdp.tables.audit_cases import chance_of_key
from hetdp.tables.names import NAMES_SHARE

Floats = NDArray[np.float64]

ITEMS = len(WEIGHTS)
#: A weight in whole steps of 1/255, and a delta at which names are chosen that three or four people have.
_PART, _DELTA = 0.4, 0.01
#: Where names are audited by their runs: delta, and the weights of two others who have every item. Together these are
#: below the bound, with or without the user.
NAMES_DELTA, _OTHERS = Fraction(1, 20), (1.0, 0.25)


def having(profile: Sequence[float]) -> NDArray[np.int64]:
    """Return the items that a profile of indicators has."""
    return np.flatnonzero(np.asarray(profile) >= 0.5)  # noqa: PLR2004


def profiles_of(
    rows: Sequence[tuple[Any, Any, Any]], n_items: int | None = None, n_users: int | None = None
) -> Profiles:
    """Return profiles from rows of users, items and weights, which are broadcast against each other."""
    parts = [np.broadcast_arrays(*row) for row in rows]
    users, items, weights = (np.concatenate([part[place].ravel() for part in parts]) for place in range(3))
    user_ids, item_ids = (None if number is None else np.arange(number) for number in (n_users, n_items))
    return Profiles.from_pairs(users, items, weights, user_ids=user_ids, item_ids=item_ids)


def fitted(profiles: Profiles, random_state: RandomState, **settings: Any) -> PrivateNeighbors:  # noqa: ANN401
    """Return a fitted estimator whose lists name everybody, by a given catalogue, unless the settings say otherwise."""
    settings = {"n_neighbors": profiles.n_users - 1, "catalogue": "given", **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HetdpWarning)  # about scores for comparison, and about too few names
        return PrivateNeighbors(random_state=random_state, **settings).fit(profiles)


def _lists(random_state: RandomState, *, n_users: int = 450, fits: int = 1, **settings: Any) -> list[Reached]:  # noqa: ANN401
    """Measure lists of people who have nothing in common: each score is noise. With public sizes, cosines are too."""
    found = []
    for _ in range(fits):
        users = np.arange(n_users)
        model = fitted(profiles_of([(users, users, 1.0)], n_users), random_state, **settings)
        scores, indices = model.kneighbors()
        # In gossip, the noise of a pair is the same on both sides.
        kept = indices > (users[:, None] if settings.get("engine") == "gossip" else -1)
        found.append(scores[kept] * model.guarantee_.per_recipient)
    return [Reached("scores", np.concatenate(found))]


def _short_lists(random_state: RandomState) -> list[Reached]:
    """Measure lists that name one user: the best of 1,499 draws."""
    n_users = 1_500
    best = _lists(random_state, n_users=n_users, fits=5, n_neighbors=1)[0].values
    # The best of m draws is below x with probability F(x)**m, and minus the logarithm of the rest is exponential.
    below = (n_users - 1) * np.log1p(-np.exp(-best) / 2)
    return [Reached("best of all", -np.log(-np.expm1(below)), "exponential")]


def _new_recipients(random_state: RandomState) -> list[Reached]:
    """Measure lists for people who were not fitted; each has one item that nobody else has.

    All users but one have 40 items in common with them. That one is left out of every list.
    """
    common, n_users, everybody = 40, 450, np.arange(450)
    together, n_items = (everybody[:, None], np.arange(common), 1.0), common + 1 + n_users
    model = fitted(profiles_of([together, (n_users, [common], 1.0)], n_items), random_state)
    before = model.guarantee_.per_recipient
    asking = profiles_of([together, (everybody, common + 1 + everybody, 1.0)], n_items)
    found = (model.kneighbors(asking)[0] - common).ravel()
    return [Reached("scores", found * (model.guarantee_.per_recipient - before))]


def _sketch(random_state: RandomState, *, names: str = "given", n_users: int = 180, fits: int = 20) -> list[Reached]:
    """Measure sketches as people with one item each read them: a bit that is set has the higher score."""
    readers = np.arange(n_users)
    strict, relaxed = readers.reshape(2, -1) + n_users
    readings = (readers, readers, 0.0)  # weight 0: their item is used for their own list only
    profiles = profiles_of([readings, (strict[:, None], readers, 1.0), (relaxed[:, None], readers, _PART)], n_users)
    rare_ones, relaxed_ones = [], []
    for _ in range(fits):
        model = fitted(profiles, random_state, engine="sketch", epsilon=2.0, catalogue=names, delta=_DELTA)
        scored, indices = (part[:n_users] for part in model.kneighbors())
        shown = np.zeros((n_users, profiles.n_users), dtype=np.bool_)
        np.put_along_axis(shown, indices.astype(np.int64), scored > (scored[:, :1] + scored[:, -1:]) / 2, axis=1)
        rare_ones += [shown[:, :n_users][~np.eye(n_users, dtype=np.bool_)], ~shown[:, strict].ravel()]
        relaxed_ones.append(shown[:, relaxed].ravel())
    epsilon = model.guarantee_.amount * (1 - float(NAMES_SHARE) * (names == "private"))
    rare = 1 / (1 + math.exp(epsilon))
    return [
        Reached("bits of absent items and of weight 1", np.concatenate(rare_ones), "coins", rare),
        Reached("bits of weight 0.4", np.concatenate(relaxed_ones), "coins", rare * math.exp(epsilon * _PART)),
    ]


def _names(random_state: RandomState) -> list[Reached]:
    """Measure which items `fit` names that three or four people have."""
    parts, n_users, items = [], 40, np.arange(6_000)
    for owners in (3, 4):
        users = (np.arange(owners)[:, None] + items) % n_users
        profiles = profiles_of([(users, items, 1.0)], n_users=n_users)
        model = PrivateNeighbors(1, epsilon=10, engine="sketch", delta=_DELTA, random_state=random_state).fit(profiles)
        level = model.guarantee_.amount * float(NAMES_SHARE)
        chance = chance_of_key(owners, level=level, delta=model.guarantee_.delta)
        found = np.isin(items, model.item_ids_.astype(np.int64))
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to a step.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


_KNEIGHBORS, _FIT = "PrivateNeighbors.kneighbors", "PrivateNeighbors.fit, sketch, private names"
#: Every public way to neighbours, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    f"{_KNEIGHBORS}, exact": _lists,
    f"{_KNEIGHBORS}, exact, lists of one": _short_lists,
    f"{_KNEIGHBORS}, exact, new recipients": _new_recipients,
    f"{_KNEIGHBORS}, exact, public sizes": partial(_lists, score="cosine", sizes="public"),
    f"{_KNEIGHBORS}, gossip": partial(_lists, n_users=230, fits=8, engine="gossip", cycles=60),
    f"{_KNEIGHBORS}, sketch": _sketch,
    f"{_KNEIGHBORS}, sketch, private names": partial(_sketch, names="private"),
    _FIT: _names,
}


def _seen(
    profile: Sequence[float], size: int, random_state: RandomState, *, engine: str, every_digit: bool = False
) -> Floats:
    """Return what one recipient sees of one user: with 100 recipients and 100 users, each pair is a run.

    Sketches are read by recipients with one item each. The last digits of a bit's value depend on the bits of everybody
    and are shared by all runs of a fit: they are rounded, unless a replay compares `every_digit`.
    """
    stream, sketched, found, n_users = as_stream(random_state), engine == "sketch", 0, 100
    readers = ITEMS if sketched else n_users
    # Gossip counts the smaller of both weights; otherwise the items of recipients are used for their lists only.
    own = np.arange(ITEMS)[:, None] if sketched else np.arange(ITEMS)
    rows = [(np.arange(readers)[:, None], own, 1.0 if engine == "gossip" else 0.0)]
    watched = readers + np.arange(n_users)
    rows += [(watched, item, WEIGHTS[item]) for item in having(profile)]
    rows.append((watched, np.array(ITEMS), 0.0))  # so that users without items are there too
    profiles, seen = profiles_of(rows, ITEMS + 1), []
    while found < size:
        scored, indices = (part[:readers] for part in fitted(profiles, stream, engine=engine, cycles=80).kneighbors())
        matrix = np.full((readers, profiles.n_users), -99.0)  # stands for users whom a node has not met
        np.put_along_axis(matrix, indices.astype(np.int64), scored, axis=1)
        seen.append(matrix[:, readers:].T if sketched else matrix[:, readers:].reshape(-1, 1))
        found += len(seen[-1])
    together = np.concatenate(seen)[:size]
    return together.round(6) if sketched and not every_digit else together


def named(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return which of the six items `fit` names, for as many copies of them as there are runs.

    Two others have every copy, so that the user decides; the noise of each copy is independent.
    """
    items, copies, everything = having(profile), np.arange(size)[:, None], np.arange(ITEMS * size)
    rows = [(0, copies * ITEMS + items, np.array(WEIGHTS)[items])]
    rows += [(other, everything, np.array(weight)) for other, weight in enumerate(_OTHERS, start=1)]
    model = fitted(
        profiles_of(rows, n_users=3), as_stream(random_state), n_neighbors=1, epsilon=1 / NAMES_SHARE,
        engine="sketch", catalogue="private", delta=NAMES_DELTA,
    )  # fmt: skip
    return np.isin(everything, model.item_ids_.astype(np.int64)).astype(np.float64).reshape(size, ITEMS)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateNeighbors`."""
    cases = [scale_case(name, call) for name, call in PUBLIC_CALLS.items()]
    cases.append(weight_zero_case(_FIT, named, 1, ITEMS))
    for engine in ("exact", "gossip", "sketch"):
        replayed = partial(_seen, engine=engine, every_digit=True)
        cases.append(weight_zero_case(f"{_KNEIGHBORS}, {engine}", replayed, 1, ITEMS))
    if size == "quick":
        return cases
    deltas, pairs = [float(NAMES_DELTA) * weight for weight in WEIGHTS], without(range(4), ITEMS)
    names = statistical_case(_FIT, named, adjacent=pairs, claimed=WEIGHTS, delta=deltas, samples=20_000)
    lists = [
        statistical_case(
            f"{_KNEIGHBORS}, {engine}", partial(_seen, engine=engine), adjacent=without(items, ITEMS),
            claimed=WEIGHTS, samples=samples,
        )
        for engine, items, samples in (
            ("exact", (0, 1, 3), 60_000), ("gossip", (1, 3), 30_000), ("sketch", (1, 3), 20_000)
        )
    ]  # fmt: skip
    return [*cases, names, *lists]
