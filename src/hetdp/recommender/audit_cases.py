"""Audit cases of `PrivateRecommender`: `fit` and `partial_fit`, with names, counts and evidence on pairs.

Public calls: what one part takes of the promise is not stated by the promise; but together they must take all of it,
and no more. So the share of counts is measured, that of names is what the public settings of the model say, and what
reaches the rest must be as wide as what is left of `guarantee_` implies.

Sketches: bits of different people are independent, so as many ones as a count tells are dealt out at random to a crowd
of equal people. Matrices: what is looked at is, for each item (or person), the most telling number there is, the noisy
sums along the direction in which it moves them. Gaussian noise bounds no ratio, but where that number moves by mu
standard deviations, each epsilon has one delta, and both are claimed.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, replay_case, scale_case, statistical_case
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.scales import PublicCall as FrontDoor, Reached
from hetdp.auditing.subjects import Pair
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.mechanisms.examples import WEIGHTS
from hetdp.neighbors.audit_cases import EPSILON, ITEMS, having, without
from hetdp.profiles import Profiles
from hetdp.profiles.steps import code_profiles
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import COUNTS_SHARE, ONE_ITEM, ONE_PAIR, MatrixRule, MatrixSums, noisy_sums
from hetdp.recommender.model import Evidence
from hetdp.recommender.names import MOST_NAMES
from hetdp.recommender.parts import Part, PersonDials
from hetdp.sketching.law import chance_of_one, contrast

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
_SAMPLES = {"quick": 20_000, "full": 60_000}
#: Nobody has them: with six items in the head, a first pass must choose.
_UNWANTED = 2
#: A weight of 1 moves the telling number of a matrix by up to one standard deviation.
_RHO, _CLIP = Fraction(1, 2), 2
#: Items that the subject has in any case, so that it is cut off by the ball.
_OTHERS = 6
_ALL = ITEMS + _OTHERS
#: Weights of people, one of whom is the subject; all have everything.
_PERSON_WEIGHTS = (1.0, 0.0, 0.5, 0.25)
#: What is protected, with the weights of its subjects.
UNITS = {"item": WEIGHTS, "user": _PERSON_WEIGHTS}
_RUNS = 2_000
#: Far more than a Gaussian of whole steps differs from one of real numbers.
_DISCRETE = 1e-6
#: As many entries as it takes to see that noise is 2 % too small, and items to have them.
_NOISE, _NOISE_ITEMS = 400_000, 900
#: People beside the subject, and an epsilon at which their items may be named.
_CROWD, _LOUD = 60, 300


def _owned(n_items: int, owners: int, weight: float = 1.0) -> Profiles:
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
    public = model.fit(_owned(_NAMED, _PEOPLE))._public  # noqa: SLF001
    left = model.guarantee_.amount - float(public.settings.names_epsilon)
    parts.append(Reached("counts", _in_spreads(public.counts - _PEOPLE, left), "gaussian", symmetric=False))
    for owners in _OWNERS:
        model = PrivateRecommender(10.0, delta=0.01, random_state=random_state, n_head=2)
        found = np.zeros(_RARE, dtype=np.bool_)
        found[model.fit(_owned(_RARE, owners)).item_ids_.astype(np.int64)] = True
        level = float(model._public.settings.names_epsilon)  # noqa: SLF001
        bound = math.log((math.expm1(level) / model.guarantee_.delta + 2) / 2)
        chance = (math.exp(owners * level - bound) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to one.
        parts.append(Reached(f"names that {owners} people have", found, "coins", chance, slack=0.02))
    return parts


def _matrix(random_state: RandomState, *, unit: str = "item", catalogue: str = "given") -> list[Reached]:
    """Look at the evidence on pairs; what the counts and names have not taken of rho is all theirs."""
    private = catalogue == "private"
    people = _owned(_NAMED_HEAD, _PEOPLE) if private else _nobody(_HEAD)
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


def _names_of_people(random_state: RandomState) -> list[Reached]:
    """Look at which names come out where whole people are protected, who have as many items as count in full, or twice.

    With twice as many items, each counts half; so twice as many owners are as good as the others.
    """
    parts = []
    for times in (1, 2):
        for owners in (_OWNERS[0] * times, 2 * _OWNERS[0] * times):
            items = np.tile(np.arange(_RARE), owners)
            users = np.arange(items.size) // (MOST_NAMES * times)
            model = PrivateRecommender(
                200.0, delta=_ODD_DELTA, release="matrix", unit="user", n_head=2, random_state=random_state
            ).fit(Profiles.from_pairs(users, items, np.ones(items.size)))
            found = np.zeros(_RARE, dtype=np.bool_)
            found[model.item_ids_.astype(np.int64)] = True
            settings = model._public.settings  # noqa: SLF001
            scale, delta = MOST_NAMES / float(settings.names_epsilon), float(settings.names_delta)
            bound = scale * math.log((math.expm1(1 / scale) * MOST_NAMES / delta + 2) / 2)
            beyond = bound - owners / times
            tail = (math.exp(-abs(beyond) / scale) - math.exp(-bound / scale)) / (2 * -math.expm1(-bound / scale))
            words = f"names that {owners} people with {MOST_NAMES * times} items have"
            parts.append(Reached(words, found, "coins", tail if beyond >= 0 else 1 - tail, slack=0.01))
    return parts


#: Every public way to a model, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "PrivateRecommender.fit, sketches": _sketched,
    "PrivateRecommender.partial_fit, sketches": partial(_sketched, parts=4),
    "PrivateRecommender.fit, sketches, private names": _named,
    "PrivateRecommender.fit, matrix": _matrix,
    "PrivateRecommender.fit, matrix of people": partial(_matrix, unit="user"),
    "PrivateRecommender.fit, matrix, private names": partial(_matrix, catalogue="private"),
    "PrivateRecommender.fit, matrix of people, private names": _names_of_people,
}


# Models from sketches.
def dealt(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return the bits of as many people with the same profile, by the counts of all items and by those of the head."""
    stream, items = as_stream(random_state), having(profile)
    profiles = Profiles.from_pairs(
        np.repeat(np.arange(size), items.size),
        np.tile(items, size),
        np.tile(np.array(WEIGHTS)[items], size),
        user_ids=np.arange(size),
        item_ids=np.arange(ITEMS + _UNWANTED),
    )
    counts, head, evidence = learned(profiles, stream, n_head=ITEMS)
    related = counts.copy()
    related[head] = evidence.counts
    columns = []
    for item in range(ITEMS):
        first, second = (_ones(value, size, EPSILON) for value in (counts[item], related[item]))
        columns.append(_shuffled(first, size, stream))
        # Two passes that have seen the same bits have seen the same people.
        columns.append(columns[-1] if second == first else _shuffled(second, size, stream))
    return np.stack(columns, axis=1)


def _ones(count: float, n_people: int, epsilon: Fraction) -> int:
    """Return how many bits were 1, from what they were taken to mean."""
    return min(n_people, max(0, round(count * contrast(epsilon) + n_people * chance_of_one(epsilon))))


def _shuffled(ones: int, size: int, stream: Stream) -> Floats:
    column = np.zeros(size)
    column[np.argpartition(stream.uniforms(size), min(ones, size - 1))[:ones]] = 1.0
    return column


def learned(
    profiles: Profiles, stream: Stream, *, n_head: int, epsilon: Fraction = EPSILON
) -> tuple[Floats, NDArray[np.int32], Evidence]:
    """Return the counts, the head and the evidence that a model was made of."""
    model = PrivateRecommender(epsilon, n_head=n_head, catalogue="given", random_state=stream).fit(profiles)
    public = model._public  # noqa: SLF001
    return public.counts, public.head, _evidence(model)


def _evidence(model: PrivateRecommender) -> Evidence:
    return model._crowd._learning.evidence()  # type: ignore[union-attr]  # noqa: SLF001  (auditors see all)


def everything(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    catalogue: Sequence[int] | str = range(ITEMS),
    listed_by_others: bool = False,
) -> Floats:
    """Return all that comes of a small crowd: counts, head and evidence, and what is recommended to others."""
    own = [(0, item, WEIGHTS[item]) for item in having(profile).tolist()]
    others = [(1, 0, 1.0), (1, 1, 0.0), (1, 2, 1.0), (2, 3, 0.5), (2, 4, 1.0), (3, 5, 1.0), (3, 0, 1.0)]
    others += [(3 + person, item, weight) for person, item, weight in others]
    listed = _profiles([*own, *(pair for pair in others if pair[1] != 1 or listed_by_others)])
    runs = []
    for _ in range(size):
        level = EPSILON if catalogue == "given" else _LOUD  # two people are then enough to name an item
        model = PrivateRecommender(level, n_head=4, catalogue=catalogue, random_state=random_state).fit(listed)
        public = model._public  # noqa: SLF001
        lists = model.recommend(2, profiles=_profiles(others))
        runs.append(
            [
                *public.counts[public.item_ids != 1],  # what is said about other items
                *public.item_ids[public.head],
                *_evidence(model).gram.ravel(),
                *lists["item"],
                *np.nan_to_num(lists["score"]),
            ]
        )
    return np.array(runs, dtype=np.float64)


def _profiles(pairs: Sequence[tuple[int, int, float]]) -> Profiles:
    users, items, weights = zip(*pairs, strict=True)
    return Profiles.from_pairs(users, items, weights, user_ids=sorted({0, *users}))


# Models from one noisy matrix.
def people(unit: str, subject: Sequence[float], weights: Sequence[float] = WEIGHTS) -> Part:
    """Return the one person whose items are looked at, or the people whose presence is; some items are always there."""
    shown, dials = [subject], None
    if unit == "user":
        dials = [dial * there for dial, there in zip(_PERSON_WEIGHTS, subject, strict=True)]
        shown = [[1.0] * ITEMS] * len(dials)
    every_weight = [*weights, *[1.0] * _OTHERS]
    pairs = [
        (person, item, every_weight[item])
        for person, profile in enumerate(shown)
        for item in [*having(profile).tolist(), *range(ITEMS, _ALL)]
    ]
    users, items, own = zip(*pairs, strict=True)
    everybody = np.arange(len(shown))
    profiles = Profiles.from_pairs(users, items, own, user_ids=everybody, item_ids=np.arange(_ALL))
    codes = None if dials is None else PersonDials(everybody, dials).codes(everybody)
    return Part(profiles.user_ids, code_profiles(profiles), codes)


def sides(unit: str, ones: Sequence[int]) -> list[Pair]:
    """Return everything against everything but one item, or person, for each of some."""
    size = len(UNITS[unit])
    return [([1.0] * size, [float(place != one) for place in range(size)]) for one in ones]


def exact_pairs(unit: str, subject: Sequence[float]) -> NDArray[np.int64]:
    """Return the exact matrix of some people."""
    sums = MatrixSums.of_nobody(_ALL, _ALL)
    sums.add_pairs(people(unit, subject), MatrixRule(unit, _CLIP), np.arange(_ALL, dtype=np.int32))
    return sums.pairs


def telling_pairs(profile: Sequence[float], size: int, random_state: RandomState, *, unit: str) -> Floats:
    """Return a noisy matrix along the directions in which items (or people) move it, and its diagonal."""
    subjects = range(len(UNITS[unit]))
    moved = np.array([exact_pairs(unit, one) - exact_pairs(unit, two) for one, two in sides(unit, subjects)], float).T
    directions = moved / np.maximum(1.0, np.sqrt((moved**2).sum(axis=0)))
    spread = MatrixRule(unit, _CLIP).pair_spread(_ALL)
    diagonal = np.cumsum(np.arange(_ALL) + 1)[:ITEMS] - 1
    sums, stream, seen = exact_pairs(unit, profile), as_stream(random_state), []
    for begin in range(0, size, _RUNS):
        runs = min(_RUNS, size - begin)
        noisy = noisy_sums(np.tile(sums, runs), spread=spread, rho=_RHO, stream=stream).reshape(runs, -1)
        seen.append(np.concatenate([noisy.astype(np.float64) @ directions, noisy[:, diagonal]], axis=1) / spread)
    return np.concatenate(seen)


def head_of_counts(profile: Sequence[float], size: int, random_state: RandomState, *, unit: str) -> Floats:
    """Return which half of the catalogue becomes the head."""
    rule, sums = MatrixRule(unit, _CLIP), MatrixSums.of_nobody(_ALL, 0)
    sums.add_counts(people(unit, profile), rule)
    counts = np.tile(sums.counts, size)
    noisy = noisy_sums(counts, spread=rule.count_spread, rho=_RHO, stream=as_stream(random_state))
    order = np.argsort(-noisy.reshape(size, -1), axis=1, kind="stable")
    found = np.zeros((size, _ALL))
    np.put_along_axis(found, order[:, : _ALL // 2], 1.0, axis=1)
    return found


def level_of(weight: float) -> tuple[float, float]:
    """Return an epsilon, and the delta that goes with it where a number moves by so many standard deviations."""
    if not weight:
        return 0.0, 0.0
    epsilon, normal = weight / 2, NormalDist()
    return epsilon, normal.cdf((weight - 1) / 2) - math.exp(epsilon) * normal.cdf(-(weight + 1) / 2) + _DISCRETE


def noise_of_pairs(size: int, random_state: RandomState, *, unit: str) -> NDArray[np.int64]:
    """Return the noise of a matrix that nobody counts in, as `PrivateRecommender` publishes it."""
    nobody = Profiles.from_pairs([0], [0], [0.0], item_ids=np.arange(_NOISE_ITEMS))
    model = PrivateRecommender(release="matrix", unit=unit, catalogue="given", random_state=random_state).fit(nobody)
    gram = _evidence(model).gram[np.tril_indices(_NOISE_ITEMS, -1)]
    return np.rint(gram * ONE_PAIR).astype(np.int64)[:size]


def audit_of_noise(sampler: Callable[..., NDArray[np.int64]], stream: RandomState, *, unit: str) -> Finding:
    """Audit that noise at the scale that the promise asks for."""
    promise = PrivateRecommender(release="matrix", unit=unit, catalogue="given").promise()
    rho = promise.amount * (1 - float(COUNTS_SHARE[unit]))
    scale = MatrixRule(unit).pair_spread(_NOISE_ITEMS) / math.sqrt(2 * rho)
    return sampler_audit(
        sampler, distribution="gaussian", scale=scale, samples=_NOISE, false_alarm=1e-9, random_state=stream
    )


def published(profile: Sequence[float], size: int, random_state: RandomState, *, unit: str) -> Floats:
    """Return everything that `PrivateRecommender` publishes about a crowd: names, counts, head and model.

    The subject is one person with some of six items, or, where whole people are protected, whether some of four people
    have anything.
    """
    crowd = [[item for item in range(ITEMS) if (item + person) % 3] for person in range(_CROWD)]
    own, dials = [having(profile).tolist()], None
    if unit == "user":
        own = [list(range(ITEMS)) if present else [] for present in profile]
        dials = [*_PERSON_WEIGHTS, *[1.0] * _CROWD]
    rows = [
        (person, item, WEIGHTS[item] if unit == "item" or person < len(own) else 1.0)
        for person, items in enumerate([*own, *crowd])
        for item in items
    ]
    users, items, weights = zip(*rows, strict=True)
    return fits(
        Profiles.from_pairs(users, items, weights, user_ids=np.arange(len(own) + _CROWD)), dials, size, random_state
    )


def fits(profiles: Profiles, user_weights: Sequence[float] | None, size: int, random_state: RandomState) -> Floats:
    """Return everything that is published of some fits of a matrix, with private names."""
    runs, unit = [], "item" if user_weights is None else "user"
    for _ in range(size):
        model = PrivateRecommender(
            _LOUD, release="matrix", unit=unit, n_head=3, catalogue="private", random_state=random_state
        )
        public = model.fit(profiles, user_weights=user_weights)._public  # noqa: SLF001
        parts = [public.item_ids, public.head, public.counts, *public.model.arrays().values()]
        runs.append(np.concatenate([np.ravel(part).astype(np.float64) for part in parts]))
    return np.array(runs)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of models."""
    samples = _SAMPLES[size]
    cases = [
        statistical_case(
            "model from sketches", dealt, adjacent=without((0, 1, 2, 3)), claimed=WEIGHTS, samples=samples
        ),
        # The item of weight 0 must leave every bit as it was, in the catalogue and in lists for others too.
        replay_case("model from sketches", everything, adjacent=without([1]), limits={1: 0.0}),
    ]
    for unit, name in (("item", "model from a matrix"), ("user", "model of whole people")):
        epsilons, deltas = zip(*map(level_of, UNITS[unit]), strict=True)
        for subject, words in ((telling_pairs, name), (head_of_counts, f"{name}, its head")):
            cases.append(
                statistical_case(
                    words,
                    partial(subject, unit=unit),
                    adjacent=sides(unit, range(len(_PERSON_WEIGHTS))),
                    claimed=epsilons,
                    delta=deltas,
                    samples=samples,
                )
            )
        cases += [
            # What has weight 0, an item or a person, must leave every bit as it was.
            replay_case(name, partial(published, unit=unit), adjacent=sides(unit, [1]), limits={1: 0.0}),
            Case(f"{name}, its noise", "sampler", partial(_noise_case, unit)),
        ]
    if size == "quick":
        return cases
    return [*cases, *(scale_case(name, front_door) for name, front_door in FRONT_DOORS.items())]


def _noise_case(unit: str, seed: int) -> Finding:
    return audit_of_noise(partial(noise_of_pairs, unit=unit), seed, unit=unit)
