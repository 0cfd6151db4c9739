"""Audit cases of `PrivateNeighbors`: its public methods, and each engine with an epsilon of its own.

Public calls: epsilon is read from `guarantee_`, `per_recipient` for lists and `shared` for sizes. Catalogues are given,
so that all of epsilon belongs to what is measured.

Engines: the profile says which of six items one user has. The output is all that one recipient gets from the engine.
Engines serve many recipients at once, so many equal recipients are as many runs.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import SAMPLES, Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.neighbors.scores import SCORES
from hetdp.profiles import Profiles
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, Holdings, code_profiles
from hetdp.sketching.bit_law import USUAL_TUNING
from hetdp.sketching.drawing import GROUP_USERS, Sketches
from hetdp.tables.audit_cases import chance_of_key
from hetdp.tables.names import NAMES_SHARE

Floats = NDArray[np.float64]
#: What is audited: from a profile, a number of runs and a random state to outputs, one row per run.
Subject: TypeAlias = Callable[..., Floats]

ITEMS, EPSILON = len(WEIGHTS), Fraction(1)
#: Users whose lists name everybody else, so that every score is known; with pairs of 450 users, 2 % are seen.
_USERS = 450
#: Users of the sketch engine, fits, and a weight in whole steps of 1/255.
_SKETCHED, _SKETCH_FITS, _PART = 180, 20, 0.4
#: Items that some people have, where names are private, and a delta at which some items are named.
_NAMED, _DELTA = 6_000, 0.01
#: Where names are audited by their runs: delta, and the weights of two others who have every item. Together these are
#: below the bound, with or without the user.
_NAMES_DELTA, _OTHERS = Fraction(1, 20), (1.0, 0.25)
#: People who share no item with anybody, among whom engines are audited.
_STRANGERS = 40
_PUBLIC_SAMPLES = {"exact": 60_000, "gossip": 30_000, "sketch": 20_000}


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


def _alone(n_users: int) -> Profiles:
    """Return users who have one item each, and none in common."""
    return profiles_of([(np.arange(n_users), np.arange(n_users), 1.0)], n_users)


def _model(profiles: Profiles, random_state: RandomState, **settings: Any) -> PrivateNeighbors:  # noqa: ANN401
    settings = {"n_neighbors": profiles.n_users - 1, "catalogue": "given", **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HetdpWarning)  # about scores for comparison, and about too few names
        return PrivateNeighbors(random_state=random_state, **settings).fit(profiles)


def _lists(random_state: RandomState, **settings: Any) -> list[Reached]:  # noqa: ANN401
    """Measure lists that name everybody: each score is noise. With public sizes, cosines are too."""
    model = _model(_alone(_USERS), random_state, **settings)
    return [Reached("scores", model.kneighbors()[0].ravel() * model.guarantee_.per_recipient)]


def _short_lists(random_state: RandomState) -> list[Reached]:
    """Measure lists that name one user: the best of 1,499 draws."""
    stream, n_users, found = as_stream(random_state), 1_500, []
    for _ in range(5):
        model = _model(_alone(n_users), stream, n_neighbors=1)
        found.append(model.kneighbors()[0].ravel() * model.guarantee_.per_recipient)
    # The best of m draws is below x with probability F(x)**m, and minus the logarithm of the rest is exponential.
    below = (n_users - 1) * np.log1p(-np.exp(-np.concatenate(found)) / 2)
    return [Reached("best of all", -np.log(-np.expm1(below)), "exponential")]


def _new_recipients(random_state: RandomState) -> list[Reached]:
    """Measure lists for people who were not fitted; each has one item that nobody else has.

    All users but one have 40 items in common with them. That one is left out of every list.
    """
    common, everybody = 40, np.arange(_USERS)
    together = (everybody[:, None], np.arange(common), 1.0)
    n_items = common + 1 + _USERS
    fitted = profiles_of([together, (_USERS, [common], 1.0)], n_items)
    asking = profiles_of([together, (everybody, common + 1 + everybody, 1.0)], n_items)
    model = _model(fitted, random_state)
    before = model.guarantee_.per_recipient
    found = (model.kneighbors(asking)[0] - common).ravel()
    return [Reached("scores", found * (model.guarantee_.per_recipient - before))]


def _gossip(random_state: RandomState) -> list[Reached]:
    """Measure lists of nodes that have met everybody: the noise of a pair is the same on both sides."""
    stream, n_users, found = as_stream(random_state), 230, []
    for _ in range(8):
        model = _model(_alone(n_users), stream, engine="gossip", cycles=60)
        scored, indices = model.kneighbors()
        mine, others = np.nonzero(indices > np.arange(n_users)[:, None])
        found.append(scored[mine, others] * model.guarantee_.per_recipient)
    return [Reached("scores", np.concatenate(found))]


def _sizes(random_state: RandomState, *, score: str = "cosine", fits: int = 80) -> list[Reached]:
    """Measure cosines of 300 people who share 200 items: the sizes in the denominator are known to a thousandth."""
    common, n_users, pair_fits = 200, 300, 6
    profiles = profiles_of([(np.arange(n_users)[:, None], np.arange(common), 1.0)], common)
    stream, found, rest = as_stream(random_state), list[Floats](), list[Floats]()
    for _ in range(fits):
        model = _model(profiles, stream, score=score)
        scored, indices = model.kneighbors()
        logs, root = np.zeros((n_users, n_users)), 2 if SCORES[score].squared else 1
        np.put_along_axis(logs, indices.astype(np.int64), np.log(scored) / root - math.log(common), axis=1)
        # Each is minus half the logarithms of both sizes, and a little noise.
        sums = (logs.sum(axis=1) + logs.sum(axis=0)) / 2
        own = (sums - sums.sum() / (2 * (n_users - 1))) / (n_users - 2)
        found.append((np.exp(-2 * own) - common) * model.guarantee_.shared)
        if len(rest) < pair_fits:
            left = (logs - own[:, None] - own)[~np.eye(n_users, dtype=np.bool_)]
            rest.append(np.expm1(left) * common * model.guarantee_.per_recipient)
    pairs = Reached("pairs", np.concatenate(rest), slack=0.01)  # the estimate of a size contains some of their noise
    return [Reached("sizes", np.concatenate(found), slack=0.005), pairs]


def _sketch(random_state: RandomState, *, names: str = "given") -> list[Reached]:
    """Measure sketches as people with one item each read them: a bit that is set has the higher score."""
    readers = np.arange(_SKETCHED)
    strict, relaxed = readers.reshape(2, -1) + _SKETCHED
    readings = (readers, readers, 0.0)  # weight 0: their item is used for their own list only
    profiles = profiles_of([readings, (strict[:, None], readers, 1.0), (relaxed[:, None], readers, _PART)], _SKETCHED)
    stream, rare_ones, relaxed_ones = as_stream(random_state), [], []
    for _ in range(_SKETCH_FITS):
        model = _model(profiles, stream, engine="sketch", epsilon=2.0, catalogue=names, delta=_DELTA)
        scored, indices = (part[:_SKETCHED] for part in model.kneighbors())
        shown = np.zeros((_SKETCHED, profiles.n_users), dtype=np.bool_)
        np.put_along_axis(shown, indices.astype(np.int64), scored > (scored[:, :1] + scored[:, -1:]) / 2, axis=1)
        rare_ones += [shown[:, :_SKETCHED][~np.eye(_SKETCHED, dtype=np.bool_)], ~shown[:, strict].ravel()]
        relaxed_ones.append(shown[:, relaxed].ravel())
    share = 1 - (float(NAMES_SHARE) if names == "private" else 0.0)
    epsilon = model.guarantee_.amount * share  # the rest is spent on names
    rare = 1 / (1 + math.exp(epsilon))
    chance = rare * math.exp(epsilon * _PART)
    return [
        Reached("bits of absent items and of weight 1", np.concatenate(rare_ones), "coins", rare),
        Reached("bits of weight 0.4", np.concatenate(relaxed_ones), "coins", chance),
    ]


def _names(random_state: RandomState) -> list[Reached]:
    """Measure which items `fit` names that three or four people have."""
    parts, n_users, items = [], 40, np.arange(_NAMED)
    for owners in (3, 4):
        users = (np.arange(owners)[:, None] + items) % n_users
        profiles = profiles_of([(users, items, 1.0)], n_users=n_users)
        model = PrivateNeighbors(1, epsilon=10, engine="sketch", delta=_DELTA, random_state=random_state).fit(profiles)
        found = np.zeros(_NAMED, dtype=np.bool_)
        found[model.item_ids_.astype(np.int64)] = True
        level = model.guarantee_.amount * float(NAMES_SHARE)
        chance = chance_of_key(owners, level=level, delta=model.guarantee_.delta)
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to a step.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


#: Every public way to neighbours, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    "PrivateNeighbors.kneighbors, exact": _lists,
    "PrivateNeighbors.kneighbors, exact, lists of one": _short_lists,
    "PrivateNeighbors.kneighbors, exact, new recipients": _new_recipients,
    "PrivateNeighbors.kneighbors, exact, cosine": _sizes,
    "PrivateNeighbors.kneighbors, exact, squared-cosine": partial(_sizes, score="squared-cosine", fits=20),
    "PrivateNeighbors.kneighbors, exact, public sizes": partial(_lists, score="cosine", sizes="public"),
    "PrivateNeighbors.kneighbors, gossip": _gossip,
    "PrivateNeighbors.kneighbors, sketch": _sketch,
    "PrivateNeighbors.kneighbors, sketch, private names": partial(_sketch, names="private"),
    "PrivateNeighbors.fit, sketch, private names": _names,
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
        model = _model(profiles, stream, engine=engine, cycles=80)
        scored, indices = (part[:readers] for part in model.kneighbors())
        matrix = np.full((readers, profiles.n_users), -99.0)  # stands for users whom a node has not met
        np.put_along_axis(matrix, indices.astype(np.int64), scored, axis=1)
        seen.append(matrix[:, readers:].T if sketched else matrix[:, readers:].reshape(-1, 1))
        found += len(seen[-1])
    together = np.concatenate(seen)[:size]
    return together.round(6) if sketched and not every_digit else together


def _named(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return which of the six items `fit` names, for as many copies of them as there are runs.

    Two others have every copy, so that the user decides; the noise of each copy is independent.
    """
    items, copies, everything = having(profile), np.arange(size)[:, None], np.arange(ITEMS * size)
    rows = [(0, copies * ITEMS + items, np.array(WEIGHTS)[items])]
    rows += [(other, everything, np.array(weight)) for other, weight in enumerate(_OTHERS, start=1)]
    model = _model(
        profiles_of(rows, n_users=3), as_stream(random_state), n_neighbors=1, epsilon=EPSILON / NAMES_SHARE,
        engine="sketch", catalogue="private", delta=_NAMES_DELTA,
    )  # fmt: skip
    found = np.zeros(everything.size)
    found[model.item_ids_.astype(np.int64)] = 1.0
    return found.reshape(size, ITEMS)


def population(profile: Sequence[float], weights: Sequence[float] = WEIGHTS, copies: int = 1) -> CodedProfiles:
    """Return some users with the given profile, and strangers who share no item with anybody."""
    items, strangers = having(profile), np.arange(_STRANGERS)
    rows = [(np.arange(copies)[:, None], items, np.array(weights)[items]), (copies + strangers, ITEMS + strangers, 1.0)]
    return code_profiles(profiles_of(rows, ITEMS + _STRANGERS, copies + _STRANGERS))


def _recipients(count: int, first: NDArray[np.int64] | None = None) -> Holdings:
    """Return recipients who have all six items, after one with the items of `first`."""
    sizes = [*([] if first is None else [first.size]), *[ITEMS] * count]
    items = np.concatenate([[] if first is None else first, np.tile(np.arange(ITEMS), count)]).astype(np.int32)
    return Holdings(np.cumsum([0, *sizes], dtype=np.int64), items)


def _exact_lists(profile: Sequence[float], size: int, random_state: RandomState, *, every_pair: bool = False) -> Floats:
    """Return three neighbours and their scores for each recipient; the user's own list is made before them."""
    coded = population(profile)
    lists = exact_neighbors(
        coded, k=3, epsilon=EPSILON, stream=as_stream(random_state), factors=np.ones(coded.n_users),
        own=_recipients(size, having(profile)), members=False, every_pair=every_pair,
    )  # fmt: skip
    return np.concatenate([lists.indices, lists.scores], axis=1)[1:]


def _gossip_scores(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return the noisy score of a pair."""
    first, own = population(profile, copies=size), _recipients(size)
    indptr = np.concatenate([first.indptr, first.indptr[-1] + own.indptr[1:]])
    items, full = np.concatenate([first.items, own.items]), np.full(own.items.size, WEIGHT_STEPS, dtype=np.uint8)
    both = CodedProfiles(indptr, items, np.concatenate([first.codes, full]), first.n_items)
    scores = noisy_scores(both, key=as_stream(random_state).key(), epsilon=EPSILON, factors=np.ones(both.n_users))
    peers = (first.n_users + np.arange(size)).astype(np.int32)
    return scores.score(np.arange(size, dtype=np.int32), np.arange(size + 1), peers, scores.worker())[:, None]


def _sketch_bits(
    profile: Sequence[float], size: int, random_state: RandomState, *, tuned_for: Fraction = USUAL_TUNING
) -> Floats:
    """Return one bit per item."""
    stream = as_stream(random_state)
    sketches = Sketches(population(profile, copies=size), epsilon=EPSILON, tuned_for=tuned_for, stream=stream)
    rows = np.empty((ITEMS, sketches.n_groups * GROUP_USERS // 64), dtype=np.uint64)
    sketches.rows(np.arange(ITEMS), rows)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :size].T.astype(np.float64)


#: What one recipient, or everybody, gets to see of a user.
SUBJECTS: dict[str, Subject] = {
    "exact engine, one list": _exact_lists,
    "exact engine, noise for every pair": partial(_exact_lists, every_pair=True),
    "gossip engine, one score": _gossip_scores,
    "sketch engine, one sketch": _sketch_bits,
    "sketch engine, one sketch tuned for a half": partial(_sketch_bits, tuned_for=Fraction(1, 2)),
    "sketch engine, private names": _named,
}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateNeighbors` and its engines."""
    cases = []
    for name, subject in SUBJECTS.items():
        delta = [float(_NAMES_DELTA) * weight if "names" in name else 0.0 for weight in WEIGHTS]
        settings: dict[str, Any] = {"claimed": WEIGHTS, "delta": delta, "samples": SAMPLES[size]}
        cases.append(statistical_case(name, subject, adjacent=without((0, 1, 2, 3), ITEMS), **settings))
        cases.append(weight_zero_case(name, subject, 1, ITEMS))
    calls = [scale_case(name, call) for name, call in PUBLIC_CALLS.items()]
    if size == "quick":
        return [*cases, calls[0]]
    for engine in ENGINES:
        name, subject = f"PrivateNeighbors.kneighbors, {engine}", partial(_seen, engine=engine)
        pairs = without((0, 1, 3) if engine == "exact" else (1, 3), ITEMS)
        samples = _PUBLIC_SAMPLES[engine]
        cases.append(weight_zero_case(name, partial(subject, every_digit=True), 1, ITEMS))
        cases.append(statistical_case(name, subject, adjacent=pairs, claimed=WEIGHTS, samples=samples))
    return [*cases, *calls]
