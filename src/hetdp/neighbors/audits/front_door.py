"""`PrivateNeighbors` by the front door: `fit`, `kneighbors` and `recommend`, as everybody who has it calls them.

The engines are audited with a level of their own (`engines/audits.py`). Here the level is read off `guarantee_`: of
lists `per_recipient`, of sizes `shared`, of recommendations what both have grown by. Catalogues are given, so that
every level belongs to what is looked at.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.guarantee import Guarantee
from hetdp.auditing.mutants.base import Mutant, behind, narrower, told_otherwise
from hetdp.auditing.registry import Case, scale_case, statistical_case
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors import catalogue, recommending, scores
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.audit_crowd import ITEMS, WEIGHTS, without
from hetdp.neighbors.engines.base import Fitted
from hetdp.neighbors.engines.exact import engine as exact
from hetdp.neighbors.engines.gossip import noisy_scores as gossip
from hetdp.neighbors.engines.sketch import engine as sketch
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.neighbors.scores import SCORES, Scoring
from hetdp.profiles import Profiles
from hetdp.profiles.steps import CodedProfiles

__all__ = ["FRONT_DOORS", "MUTANTS", "audit_cases"]

Floats = NDArray[np.float64]

#: Users whose lists name everybody else, so that every score comes out; pairs of 450 see 2 % of too little noise.
_USERS = 450
#: Items in common that no noise hides.
_MUCH = 40
#: Lists of one: the best of so many strangers, some times over.
_CROWD, _CROWDS = 1_500, 5
#: Items that all have in common where sizes are looked at: far from where a size is taken for 1.
_COMMON, _SIZED, _SIZE_FITS, _PAIR_FITS = 200, 300, 80, 6
#: Level at which lists are beyond doubt, so that voters are known.
_LOUD = 60
#: People in each of the two communities that get recommendations, and in the one that makes items popular.
_CIRCLE, _POPULAR = 150, 220
#: How many items there are of each kind: those that a circle has in common, those that one or half of the friends in
#: the first circle have, and those that fewer and more of the people beside have.
_ITEMS = {"first": 12, "second": 12, "one": 75, "many": 20, "low": 125, "high": 125}
_OWNERS = {"low": 100, "high": 200}
_ROUNDS = 16
#: A weight in whole steps of 1/255.
_PART = 0.4
_SKETCHED, _SKETCH_FITS = 180, 20
#: Recipients, and users whom they see, of one fit that is audited by its runs; and how many runs.
_WATCHING, _WATCHED = 100, 100
#: Stands for the score of somebody whom a node has not met.
_UNMET = -99.0
#: Items that a few people have, where names are private, and a delta at which some of them are named.
_NAMED, _DELTA = 6_000, 0.01
_SAMPLES = {"exact": 60_000, "gossip": 30_000, "sketch": 20_000}


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
    settings = {"n_neighbors": profiles.n_users - 1, "n_voters": 1, "catalogue": "given", **settings}
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
    level, _ = _grown(before, model.guarantee_)
    return [Reached("scores", found * level)]


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
    epsilon = model.guarantee_.amount - float(model.levels().names)  # names take their part, bits have the rest
    rare = 1 / (1 + math.exp(epsilon))
    chance = rare * math.exp(epsilon * _PART)
    return [
        Reached("bits of absent items and of weight 1", np.concatenate(rare_ones), "coins", rare),
        Reached("bits of weight 0.4", np.concatenate(relaxed_ones), "coins", chance),
    ]


def _recommended(random_state: RandomState, *, engine: str = "exact", rounds: int = _ROUNDS) -> list[Reached]:
    """Look at items for two circles of friends, whose votes are known, and at what everybody has.

    Votes of the one circle less those of the other are noise, where one friend has an item, about its weight. What the
    two have alike is how popular an item is; how far noise moves that is compared with how far apart two kinds of items
    are that so many people more or less have.
    """
    first, second = np.arange(_CIRCLE), np.arange(_CIRCLE, 2 * _CIRCLE)
    others = 2 * _CIRCLE + np.arange(_POPULAR)
    begin, kinds = 0, {}
    for name, size in _ITEMS.items():
        kinds[name] = np.arange(begin, begin + size)
        begin += size
    friends = first[: _CIRCLE // 2]
    rows = [
        (np.repeat(circle, _ITEMS[name]), np.tile(kinds[name], _CIRCLE), 1.0)
        for circle, name in ((first, "first"), (second, "second"))
    ]
    rows += [
        (np.resize(first, _ITEMS["one"]), kinds["one"], _PART),
        (np.repeat(friends, _ITEMS["many"]), np.tile(kinds["many"], friends.size), 1.0),
    ]
    rows += [
        ((np.arange(count)[:, None] + kinds[name]).ravel() % _POPULAR + others[0], np.tile(kinds[name], count), 1.0)
        for name, count in _OWNERS.items()
    ]
    profiles, stream = _profiles(rows, begin), as_stream(random_state)
    votes, popularity = [], []
    for _ in range(rounds):
        settings = {
            "n_neighbors": _CIRCLE - 1,
            "n_voters": _CIRCLE - 1,
            "epsilon": _LOUD,
            "engine": engine,
            "cycles": 100,
        }
        model = _model(profiles, stream, **settings)
        before = model.guarantee_
        seen = _as_matrix(model.recommend(begin, epsilon=1), (profiles.n_users, begin))
        level, shared = _grown(before, model.guarantee_)
        own = np.resize(first, _ITEMS["one"])
        apart = seen[first][:, kinds["one"]] - seen[second][:, kinds["one"]]
        unit = (seen[first][:, kinds["many"]][friends.size :] - seen[second][:, kinds["many"]][friends.size :]).mean()
        unit /= friends.size  # what one vote is worth
        apart = apart.T[np.arange(_CIRCLE) != own[:, None]]
        votes.append((apart / unit - _PART) * level)
        low, high = (seen[: 2 * _CIRCLE, kinds[name]].mean(axis=0) for name in _OWNERS)
        person = (high.mean() - low.mean()) / (_OWNERS["high"] - _OWNERS["low"])
        popularity += [(kind - np.median(kind)) / person * shared for kind in (low, high)]
    return [
        Reached("votes", np.concatenate(votes), "difference"),
        Reached("popularity", np.concatenate(popularity), slack=0.05),
    ]


def _names(random_state: RandomState, *, engine: str) -> list[Reached]:
    """Look at which items are named that three or four people have: by `fit` with sketches, else by `recommend`."""
    parts, n_users = [], 40
    for owners in (3, 4):
        items = np.repeat(np.arange(_NAMED), owners)
        users = (np.tile(np.arange(owners), _NAMED) + items) % n_users
        profiles = Profiles.from_pairs(users, items, np.ones(items.size), user_ids=np.arange(n_users))
        model = PrivateNeighbors(1, n_voters=1, epsilon=10, engine=engine, delta=_DELTA, random_state=random_state)
        asked = {"epsilon": 5} if engine != "sketch" else {}
        named = np.unique(np.asarray(model.fit(profiles).recommend(_NAMED, **asked)["item"], dtype=np.int64))
        level = float(model.levels(*asked.values()).names)
        found = np.zeros(_NAMED, dtype=np.bool_)
        found[named] = True
        bound = math.log((math.expm1(level) / model.guarantee_.delta + 2) / 2)
        chance = (math.exp(owners * level - bound) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to one.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


def _grown(before: Guarantee, after: Guarantee) -> tuple[float, float]:
    """Return by how much a promise has grown: for each recipient, and once for all."""
    return after.per_recipient - before.per_recipient, after.shared - before.shared


def _as_matrix(frame: Any, shape: tuple[int, int]) -> Floats:  # noqa: ANN401  (pandas or arrow)
    found = np.full(shape, np.nan)
    found[np.asarray(frame["user"], dtype=np.int64), np.asarray(frame["item"], dtype=np.int64)] = frame["score"]
    return found


#: Every public way to neighbours and recommendations, by name.
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
    "PrivateNeighbors.recommend, sketch, private names": partial(_names, engine="sketch"),
    "PrivateNeighbors.recommend, exact, private names": partial(_names, engine="exact"),
    "PrivateNeighbors.recommend, exact": _recommended,
    "PrivateNeighbors.recommend, gossip": partial(_recommended, engine="gossip", rounds=4),
}


def _seen(profile: Sequence[float], size: int, random_state: RandomState, *, engine: str) -> Floats:
    """Return what one recipient sees of one user, who has some of six items: each of many of both is a run.

    Sketches are seen by recipients with one item each, who tell all bits of a user; scores by one who has everything.
    """
    stream, sketched, found = as_stream(random_state), engine == "sketch", 0
    readers = ITEMS if sketched else _WATCHING
    own = np.arange(ITEMS)[:, None] if sketched else np.tile(np.arange(ITEMS), (readers, 1))
    having = np.flatnonzero(np.array(profile) >= 0.5)  # noqa: PLR2004  (indicators)
    # Gossip counts the smaller of both weights; otherwise what recipients have is theirs alone.
    rows = [(np.repeat(np.arange(readers), own.shape[1]), own.ravel(), 1.0 if engine == "gossip" else 0.0)]
    watched = readers + np.arange(_WATCHED)
    rows += [(watched, np.full(_WATCHED, item), WEIGHTS[item]) for item in having]
    strangers = [(watched, np.full(_WATCHED, ITEMS), 0.0)]  # so that everybody is there whatever they have
    profiles, seen = _profiles([*rows, *strangers], ITEMS + 1), []
    while found < size:
        model = _model(profiles, stream, engine=engine, cycles=80)
        scored, indices = (part[:readers] for part in model.kneighbors())
        matrix = np.full((readers, profiles.n_users), _UNMET)
        np.put_along_axis(matrix, indices.astype(np.int64), scored, axis=1)
        seen.append(matrix[:, readers:].T if sketched else matrix[:, readers:].reshape(-1, 1))
        found += len(seen[-1])
    return np.concatenate(seen)[:size]


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateNeighbors`, for the battery."""
    if size == "quick":
        return [scale_case(name, front_door) for name, front_door in list(FRONT_DOORS.items())[:1]]
    doors = [scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()]
    return doors + [
        statistical_case(
            f"PrivateNeighbors.kneighbors, {engine}",
            partial(_seen, engine=engine),
            adjacent=without((0, 1, 3) if engine == "exact" else (1, 3)),
            claimed=WEIGHTS,
            samples=_SAMPLES[engine],
        )
        for engine in ENGINES
    ]


_ONE_IN_TEN, _TWO_PERCENT = Fraction(1, 10), Fraction(98, 100)
#: Smaller, for what is far off.
_few_sizes, _few_votes = partial(_sizes, fits=_PAIR_FITS), partial(_recommended, rounds=4)


def _full_level(real: Callable[..., Any]) -> Callable[..., Any]:
    """Give votes all of the level, and popularity its tenth besides."""
    return lambda *given, epsilon, **rest: real(*given, epsilon=epsilon / (1 - recommending.POPULARITY_SHARE), **rest)


def _twice_the_strength(real: Callable[..., Any]) -> Callable[..., Any]:
    """Count a vote twice; at a weight of 1 that wraps in 8 bits, and hides."""
    return lambda coded, own, votes, *rest, **more: real(
        coded, own, replace(votes, weights=2 * votes.weights), *rest, **more
    )


def _pairs_at(level: Callable[[Scoring], Fraction], *, members: bool = True) -> Callable[..., Any]:
    """Return how to make a search of one in which pairs cost something else than is promised."""

    def make(real: Callable[..., Any]) -> Callable[..., Any]:
        def fit(coded: CodedProfiles, how: Scoring, *rest: object, **more: object) -> object:
            broken = replace(how, pair_epsilon=level(how)) if more.get("members", True) == members else how
            return real(coded, broken, *rest, **more)

        return fit

    return make


def _at_level_of_lists(real: Callable[..., Any]) -> Callable[..., Any]:
    """Draw recommendations at the level of the lists, whatever level was asked for."""
    return lambda fitted, n, *, epsilon, **rest: real(fitted, n, epsilon=fitted.scoring.pair_epsilon or epsilon, **rest)


def _sharper_bits(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda coded, *, epsilon, **rest: real(coded, epsilon=epsilon / _TWO_PERCENT, **rest)


#: What splits a budget, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    behind(_few_votes, "votes at the full level", recommending, vote_selection=_full_level),
    behind(_few_votes, "votes of twice the strength", recommending, vote_selection=_twice_the_strength),
    behind(_few_votes, "popularity at ten times its level", recommending, laplace_integers=narrower(_ONE_IN_TEN)),
    behind(_few_votes, "recommendations at the level of lists", Fitted, recommend=_at_level_of_lists),
    behind(_few_sizes, "sizes at the full level", scores, laplace_integers=narrower(_ONE_IN_TEN)),
    behind(
        _few_sizes,
        "pairs at the full level, beside sizes",
        exact,
        _fit=_pairs_at(lambda how: how.pair_epsilon + how.size_epsilon),
    ),
    behind(_lists, "neighbours with noise 2 % too small", exact, laplace_tables=narrower(_TWO_PERCENT)),
    behind(
        _short_lists,
        "best neighbours with noise 2 % too small",
        exact,
        laplace_tables=narrower(_TWO_PERCENT),
        threshold_tables=narrower(_TWO_PERCENT),
    ),
    behind(
        _new_recipients,
        "lists for newcomers 3 % too sharp",
        exact,
        _fit=_pairs_at(lambda how: how.pair_epsilon * Fraction(103, 100), members=False),
    ),
    behind(
        _gossip,
        "gossip with noise 2 % too small",
        gossip,
        laplace_tables=narrower(_TWO_PERCENT),
    ),
    behind(
        FRONT_DOORS["PrivateNeighbors.recommend, exact, private names"],
        "names at the full level of recommendations",
        catalogue,
        chosen_names=told_otherwise(epsilon=lambda level: 5 * level),
    ),
    behind(
        FRONT_DOORS["PrivateNeighbors.recommend, sketch, private names"],
        "names of sketches at ten times delta",
        catalogue,
        chosen_names=told_otherwise(delta=lambda delta: 10 * delta),
    ),
    behind(
        FRONT_DOORS["PrivateNeighbors.kneighbors, sketch, private names"],
        "sketches of neighbours at the full level, beside names",
        sketch,
        Sketches=told_otherwise(epsilon=lambda level: level * Fraction(10, 9)),
    ),
    behind(_sketch, "sketches 2 % too sharp", sketch, Sketches=_sharper_bits),
)
