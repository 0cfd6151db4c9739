"""Audit cases of `PrivateNeighbors`: its public methods, and each engine with an epsilon of its own.

Public calls: epsilon is read off `guarantee_`; of lists `per_recipient`, of sizes `shared`. Catalogues are given, so
that every figure belongs to what is looked at.

Engines: one user's profile is the subject: which of six items the user has. What is looked at is all that one recipient
gets from the engine. Engines serve many recipients at once, so many equal recipients are as many runs.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, replay_case, scale_case, statistical_case
from hetdp.auditing.scales import PublicCall as FrontDoor, Reached
from hetdp.auditing.subjects import Pair
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import RandomState, as_stream
from hetdp.mechanisms.examples import WEIGHTS
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.neighbors.scores import SCORES
from hetdp.profiles import Profiles
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, Holdings, code_profiles
from hetdp.sketching.bits import GROUP_USERS, Sketches
from hetdp.sketching.law import USUAL_TUNING
from hetdp.tables.names import NAMES_SHARE

Floats = NDArray[np.float64]
#: What is audited: from a profile, how many runs and a random state to what is seen, one row per run.
Subject: TypeAlias = Callable[..., Floats]

ITEMS = len(WEIGHTS)
EPSILON = Fraction(1)
#: Users whose lists name everybody else, so that every score comes out; pairs of 450 see 2 % of too little noise.
_USERS = 450
#: Items in common that no noise hides.
_MUCH = 40
#: Lists of one: the best of so many strangers, some times over.
_CROWD, _CROWDS = 1_500, 5
#: Items that all have in common where sizes are looked at: far from where a size is taken for 1.
_COMMON, _SIZED, _SIZE_FITS, _PAIR_FITS = 200, 300, 80, 6
#: A weight in whole steps of 1/255.
_PART = 0.4
_SKETCHED, _SKETCH_FITS = 180, 20
#: Recipients, and users whom they see, of one fit that is audited by its runs.
_WATCHING, _WATCHED = 100, 100
#: Stands for the score of somebody whom a node has not met.
_UNMET = -99.0
#: Items that a few people have, where names are private, and a delta at which some of them are named.
_NAMED, _DELTA = 6_000, 0.01
#: People with nothing in common with anybody, in the crowd that engines are audited in.
_STRANGERS = 40
#: Where names are audited by their runs: delta, and weights of others who count every copy of every item. Together they
#: are below the bound, whoever is missing.
_NAMES_DELTA, _OTHERS = Fraction(1, 20), (1.0, 0.25)
_PUBLIC_SAMPLES = {"exact": 60_000, "gossip": 30_000, "sketch": 20_000}
_SAMPLES = {"quick": 20_000, "full": 60_000}


def without(items: Sequence[int]) -> list[Pair]:
    """Return the full profile against the one without an item, for each of some items."""
    return [([1.0] * ITEMS, [float(place != item) for place in range(ITEMS)]) for item in items]


def having(profile: Sequence[float]) -> NDArray[np.int64]:
    """Return the items that a profile of indicators has."""
    return np.flatnonzero(np.asarray(profile) >= 0.5)  # noqa: PLR2004


def _profiles(rows: Sequence[tuple[Any, Any, float]], n_items: int) -> Profiles:
    """Return profiles from rows of users, items and a weight for all of them, over a given catalogue."""
    users, items, weights = zip(
        *((user, item, np.full(np.size(user), weight)) for user, item, weight in rows), strict=True
    )
    together = (np.concatenate([np.ravel(part) for part in column]) for column in (users, items, weights))
    return Profiles.from_pairs(*together, item_ids=np.arange(n_items))


def _alone(n_users: int, weight: float = 1.0) -> Profiles:
    """Return users who have one item each, and none in common."""
    everybody = np.arange(n_users)
    return _profiles([(everybody, everybody, weight)], n_users)


def _model(profiles: Profiles, random_state: RandomState, **settings: Any) -> PrivateNeighbors:  # noqa: ANN401
    settings = {"n_neighbors": profiles.n_users - 1, "catalogue": "given", **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HetdpWarning)  # about scores that are for comparison only
        return PrivateNeighbors(random_state=random_state, **settings).fit(profiles)


def _lists(random_state: RandomState, *, epsilon: float = 1.0) -> list[Reached]:
    """Look at lists that name everybody: the score of each pair is noise."""
    model = _model(_alone(_USERS), random_state, epsilon=epsilon)
    return [Reached("scores", model.kneighbors()[0].ravel() * model.guarantee_.per_recipient)]


def _short_lists(random_state: RandomState) -> list[Reached]:
    """Look at lists that name one: the best of many draws."""
    stream, found = as_stream(random_state), []
    for _ in range(_CROWDS):
        model = _model(_alone(_CROWD), stream, n_neighbors=1)
        found.append(model.kneighbors()[0].ravel() * model.guarantee_.per_recipient)
    # The best of m draws is below x with the chance F(x)**m, and minus the logarithm of the rest is exponential.
    below = (_CROWD - 1) * np.log1p(-np.exp(-np.concatenate(found)) / 2)
    return [Reached("best of all", -np.log(-np.expm1(below)), "exponential")]


def _new_recipients(random_state: RandomState) -> list[Reached]:
    """Look at lists for people who were not fitted, told apart by an item that nobody has.

    All but one of the users have much in common with them, and it is that one whom a list leaves out.
    """
    everybody, items = np.arange(_USERS), np.arange(_MUCH)
    together = np.repeat(everybody, _MUCH), np.tile(items, _USERS)
    fitted = _profiles([(*together, 1.0), ([_USERS], [_MUCH], 1.0)], _MUCH + 1 + _USERS)
    asking = _profiles([(*together, 1.0), (everybody, _MUCH + 1 + everybody, 1.0)], _MUCH + 1 + _USERS)
    model = _model(fitted, random_state)
    before = model.guarantee_
    found = (model.kneighbors(asking)[0] - _MUCH).ravel()
    return [Reached("scores", found * (model.guarantee_.per_recipient - before.per_recipient))]


def _gossip(random_state: RandomState) -> list[Reached]:
    """Look at lists of nodes who have met everybody: the noise of a pair is the same on both sides."""
    stream, found = as_stream(random_state), []
    for _ in range(8):
        n_users = 230
        model = _model(_alone(n_users), stream, engine="gossip", cycles=60)
        scored, indices = model.kneighbors()
        mine, others = np.nonzero(indices > np.arange(n_users)[:, None])
        found.append(scored[mine, others] * model.guarantee_.per_recipient)
    return [Reached("scores", np.concatenate(found))]


def _sizes(random_state: RandomState, *, score: str = "cosine", fits: int = _SIZE_FITS) -> list[Reached]:
    """Look at cosines of people who have everything in common: what they are divided by comes out to a thousandth."""
    everybody, items = np.meshgrid(np.arange(_SIZED), np.arange(_COMMON), indexing="ij")
    profiles, stream = _profiles([(everybody, items, 1.0)], _COMMON), as_stream(random_state)
    found: list[Floats] = []
    rest: list[Floats] = []
    for _ in range(fits):
        model = _model(profiles, stream, score=score)
        scored, indices = model.kneighbors()
        logs = np.zeros((_SIZED, _SIZED))
        root = 2 if SCORES[score].squared else 1
        np.put_along_axis(logs, indices.astype(np.int64), np.log(scored) / root - math.log(_COMMON), axis=1)
        # Each is minus half the logarithms of both sizes, and a little noise.
        sums = (logs.sum(axis=1) + logs.sum(axis=0)) / 2
        own = (sums - sums.sum() / (2 * (_SIZED - 1))) / (_SIZED - 2)
        found.append((np.exp(-2 * own) - _COMMON) * model.guarantee_.shared)
        if len(rest) < _PAIR_FITS:
            left = (logs - own[:, None] - own)[~np.eye(_SIZED, dtype=np.bool_)]
            rest.append(np.expm1(left) * _COMMON * model.guarantee_.per_recipient)
    pairs = Reached("pairs", np.concatenate(rest), slack=0.01)  # what is taken for a size takes some of it along
    return [Reached("sizes", np.concatenate(found), slack=0.005), pairs]


def _public_sizes(random_state: RandomState) -> list[Reached]:
    """Look at cosines over sizes that are declared public: all of epsilon goes to the pairs."""
    model = _model(_alone(_USERS), random_state, score="cosine", sizes="public")
    return [Reached("scores", model.kneighbors()[0].ravel() * model.guarantee_.per_recipient)]


def _sketch(random_state: RandomState, *, names: str = "given") -> list[Reached]:
    """Look at sketches as people read them with one item each, who tell a bit that is set by its higher score."""
    half = _SKETCHED // 2
    readers, items = np.arange(_SKETCHED), np.arange(_SKETCHED)
    strict, relaxed = (_SKETCHED + half * place + np.arange(half) for place in (0, 1))
    profiles = _profiles(
        [
            (readers, items, 0.0),  # it counts for the own list alone
            (np.repeat(strict, _SKETCHED), np.tile(items, half), 1.0),
            (np.repeat(relaxed, _SKETCHED), np.tile(items, half), _PART),
        ],
        _SKETCHED,
    )
    stream, rare_ones, relaxed_ones = as_stream(random_state), [], []
    for _ in range(_SKETCH_FITS):
        model = _model(profiles, stream, engine="sketch", epsilon=2.0, catalogue=names, delta=_DELTA)
        scored, indices = (part[:_SKETCHED] for part in model.kneighbors())
        shown = np.zeros((_SKETCHED, profiles.n_users), dtype=np.bool_)
        np.put_along_axis(shown, indices.astype(np.int64), scored > (scored[:, :1] + scored[:, -1:]) / 2, axis=1)
        rare_ones += [shown[:, :_SKETCHED][~np.eye(_SKETCHED, dtype=np.bool_)], ~shown[:, strict].ravel()]
        relaxed_ones.append(shown[:, relaxed].ravel())
    share = 1 - (float(NAMES_SHARE) if names == "private" else 0.0)
    epsilon = model.guarantee_.amount * share  # names take their part, bits have the rest
    rare = 1 / (1 + math.exp(epsilon))
    chance = rare * math.exp(epsilon * _PART)
    return [
        Reached("bits of absent items and of weight 1", np.concatenate(rare_ones), "coins", rare),
        Reached("bits of weight 0.4", np.concatenate(relaxed_ones), "coins", chance),
    ]


def _names(random_state: RandomState) -> list[Reached]:
    """Look at which items `fit` names that three or four people have."""
    parts, n_users = [], 40
    for owners in (3, 4):
        items = np.repeat(np.arange(_NAMED), owners)
        users = (np.tile(np.arange(owners), _NAMED) + items) % n_users
        profiles = Profiles.from_pairs(users, items, np.ones(items.size), user_ids=np.arange(n_users))
        model = PrivateNeighbors(1, epsilon=10, engine="sketch", delta=_DELTA, random_state=random_state).fit(profiles)
        level = model.guarantee_.amount * float(NAMES_SHARE)
        found = np.zeros(_NAMED, dtype=np.bool_)
        found[model.item_ids_.astype(np.int64)] = True
        bound = math.log((math.expm1(level) / model.guarantee_.delta + 2) / 2)
        chance = (math.exp(owners * level - bound) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to one.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


#: Every public way to neighbours, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "PrivateNeighbors.kneighbors, exact": _lists,
    "PrivateNeighbors.kneighbors, exact, lists of one": _short_lists,
    "PrivateNeighbors.kneighbors, exact, new recipients": _new_recipients,
    "PrivateNeighbors.kneighbors, exact, cosine": _sizes,
    "PrivateNeighbors.kneighbors, exact, squared-cosine": partial(_sizes, score="squared-cosine", fits=20),
    "PrivateNeighbors.kneighbors, exact, public sizes": _public_sizes,
    "PrivateNeighbors.kneighbors, gossip": _gossip,
    "PrivateNeighbors.kneighbors, sketch": _sketch,
    "PrivateNeighbors.kneighbors, sketch, private names": partial(_sketch, names="private"),
    "PrivateNeighbors.fit, sketch, private names": _names,
}


def _seen(
    profile: Sequence[float], size: int, random_state: RandomState, *, engine: str, every_digit: bool = False
) -> Floats:
    """Return what one recipient sees of one user, who has some of six items: each of many of both is a run.

    Sketches are seen by recipients with one item each, who tell all bits of a user; scores by one who has everything.
    What a bit is worth follows from the bits of everybody, to the last digits, which all runs of a fit would share; a
    replay, which compares to the last bit, is shown `every_digit`.
    """
    stream, sketched, found = as_stream(random_state), engine == "sketch", 0
    readers = ITEMS if sketched else _WATCHING
    own = np.arange(ITEMS)[:, None] if sketched else np.tile(np.arange(ITEMS), (readers, 1))
    # Gossip counts the smaller of both weights; otherwise what recipients have is theirs alone.
    rows = [(np.repeat(np.arange(readers), own.shape[1]), own.ravel(), 1.0 if engine == "gossip" else 0.0)]
    watched = readers + np.arange(_WATCHED)
    rows += [(watched, np.full(_WATCHED, item), WEIGHTS[item]) for item in having(profile)]
    strangers = [(watched, np.full(_WATCHED, ITEMS), 0.0)]  # so that everybody is there whatever they have
    profiles, seen = _profiles([*rows, *strangers], ITEMS + 1), []
    while found < size:
        model = _model(profiles, stream, engine=engine, cycles=80)
        scored, indices = (part[:readers] for part in model.kneighbors())
        matrix = np.full((readers, profiles.n_users), _UNMET)
        np.put_along_axis(matrix, indices.astype(np.int64), scored, axis=1)
        seen.append(matrix[:, readers:].T if sketched else matrix[:, readers:].reshape(-1, 1))
        found += len(seen[-1])
    together = np.concatenate(seen)[:size]
    return together.round(6) if sketched and not every_digit else together


def _named(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return which of the six items `fit` names, for each of as many copies of them as there are runs.

    Each copy is counted by a few others besides, so that one more or less decides; noise is drawn for each by itself.
    """
    items, everything = having(profile), np.arange(ITEMS * size)
    own = (np.arange(size)[:, None] * ITEMS + items).ravel()
    profiles = Profiles.from_pairs(
        np.concatenate([np.zeros(own.size, dtype=np.int64), np.repeat([1, 2], everything.size)]),
        np.concatenate([own, np.tile(everything, 2)]),
        np.concatenate([np.tile(np.array(WEIGHTS)[items], size), np.repeat(_OTHERS, everything.size)]),
        user_ids=range(3),
    )
    model = PrivateNeighbors(
        1, epsilon=EPSILON / NAMES_SHARE, engine="sketch", delta=_NAMES_DELTA, random_state=as_stream(random_state)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HetdpWarning)  # in a small crowd, there may be no name
        model.fit(profiles)
    found = np.zeros(everything.size)
    found[model.item_ids_.astype(np.int64)] = 1.0
    return found.reshape(size, ITEMS)


def population(profile: Sequence[float], weights: Sequence[float] = WEIGHTS, copies: int = 1) -> CodedProfiles:
    """Return strangers with nothing in common with anybody, after so many users with the given profile."""
    items = having(profile)
    lonely = np.arange(copies, copies + _STRANGERS)
    pairs = Profiles.from_pairs(
        np.concatenate([np.repeat(np.arange(copies), items.size), lonely]),
        np.concatenate([np.tile(items, copies), lonely - copies + ITEMS]).astype(np.int64),
        np.concatenate([np.tile(np.array(weights)[items], copies), np.ones(_STRANGERS)]),
        user_ids=np.arange(copies + _STRANGERS),
        item_ids=np.arange(ITEMS + _STRANGERS),
    )
    return code_profiles(pairs)


def _recipients(count: int, after: Sequence[float] | None = None) -> Holdings:
    """Return so many recipients who have all six items; after one with the given profile, if there is one."""
    first = having(after) if after is not None else np.empty(0, dtype=np.int64)
    sizes = [*([] if after is None else [first.size]), *[ITEMS] * count]
    items = np.concatenate([first, np.tile(np.arange(ITEMS), count)]).astype(np.int32)
    return Holdings(np.cumsum([0, *sizes], dtype=np.int64), items)


def _exact_lists(profile: Sequence[float], size: int, random_state: RandomState, *, every_pair: bool = False) -> Floats:
    """Return three neighbours and their scores for each recipient, after the user has got a list too."""
    coded = population(profile)
    lists = exact_neighbors(
        coded,
        k=3,
        epsilon=EPSILON,
        stream=as_stream(random_state),
        factors=np.ones(coded.n_users),
        own=_recipients(size, after=profile),
        members=False,
        every_pair=every_pair,
    )
    return np.concatenate([lists.indices, lists.scores], axis=1)[1:]


def _gossip_scores(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return the noisy score of a pair."""
    first, own = population(profile, copies=size), _recipients(size)
    both = CodedProfiles(
        np.concatenate([first.indptr, first.indptr[-1] + own.indptr[1:]]),
        np.concatenate([first.items, own.items]),
        np.concatenate([first.codes, np.full(own.items.size, WEIGHT_STEPS, dtype=np.uint8)]),
        first.n_items,
    )
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
#: Of names, also the chance of a worse loss.
_DELTAS = {"sketch engine, private names": [float(_NAMES_DELTA) * weight for weight in WEIGHTS]}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateNeighbors` and its engines."""
    cases = []
    for name, subject in SUBJECTS.items():
        cases += [
            statistical_case(
                name,
                subject,
                adjacent=without((0, 1, 2, 3)),
                claimed=WEIGHTS,
                delta=_DELTAS.get(name, 0.0),
                samples=_SAMPLES[size],
            ),
            # The item of weight 0 must leave every bit as it was.
            replay_case(name, subject, adjacent=without([1]), limits={1: 0.0}),
        ]
    doors = [scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()]
    if size == "quick":
        return [*cases, doors[0]]
    cases += doors
    for engine in ENGINES:
        name, subject = f"PrivateNeighbors.kneighbors, {engine}", partial(_seen, engine=engine)
        pairs = without((0, 1, 3) if engine == "exact" else (1, 3))
        cases += [
            replay_case(name, partial(subject, every_digit=True), adjacent=without([1]), limits={1: 0.0}),
            statistical_case(name, subject, adjacent=pairs, claimed=WEIGHTS, samples=_PUBLIC_SAMPLES[engine]),
        ]
    return cases
