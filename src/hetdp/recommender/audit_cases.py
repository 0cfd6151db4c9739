"""Audit cases of `PrivateRecommender`: `fit` and `partial_fit`, with names, counts and evidence on pairs.

Public calls: the promise states one epsilon for all parts. The share of counts is measured, that of names is read from
the public settings, and the noise of the rest must be as wide as what is left of `guarantee_` implies.

Sketches: bits of different people are independent, so as many ones as a count implies are dealt out at random to equal
people. Matrices: the output is, for each item or person, the noisy sums along the direction in which it moves them.
Gaussian noise bounds no ratio; but a move by mu standard deviations has one delta for each epsilon: both are claimed.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import SAMPLES, Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.neighbors.audit_cases import EPSILON, ITEMS, having, profiles_of
from hetdp.profiles import Profiles
from hetdp.profiles.steps import code_profiles
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import COUNTS_SHARE, ONE_ITEM, ONE_PAIR, MatrixRule, MatrixSums, noisy_sums
from hetdp.recommender.model import Evidence
from hetdp.recommender.names import MOST_NAMES
from hetdp.recommender.parts import Part, PersonDials
from hetdp.sketching.bit_law import chance_of_one, contrast
from hetdp.tables.audit_cases import chance_of_key

Floats = NDArray[np.float64]

#: People, and items that nobody counts: enough to see that bits are 2 % too sharp.
_PEOPLE, _ITEMS = 16, 120_000
#: Items that everybody has, where names are private; and items that few people have, of which some are named.
_NAMED, _RARE, _OWNERS = 15_000, 6_000, (3, 4)
#: A delta at which a few people are enough for a name.
_ODD_DELTA = 0.08
_HEAD, _NAMED_HEAD = 600, 250
#: A weight of 1 moves the audited number by up to one standard deviation.
_RHO, _CLIP = Fraction(1, 2), 2
#: Items that the subject has in any case, so that it is cut off by the ball; and all items.
_OTHERS, _ALL = 6, ITEMS + 6
#: Weights of people, one of whom is the subject; all have everything.
_PERSON_WEIGHTS = (1.0, 0.0, 0.5, 0.25)
#: What is protected, with the weights of its subjects.
UNITS = {"item": WEIGHTS, "user": _PERSON_WEIGHTS}
#: Far more than a Gaussian of whole steps differs from one of real numbers.
_DISCRETE = 1e-6
#: As many entries as it takes to see that noise is 2 % too small, and items to have them.
_NOISE, _NOISE_ITEMS = 400_000, 900
#: People beside the subject, and an epsilon at which their items may be named.
_CROWD, _LOUD = 60, 300


def _owned(n_items: int, owners: int) -> Profiles:
    """Return people; each item has some owners among them, in turns."""
    items = np.arange(n_items)
    return profiles_of([((np.arange(owners)[:, None] + items) % _PEOPLE, items, 1.0)], n_users=_PEOPLE)


def _nobody(n_items: int, first: int = 0, step: int = 1) -> Profiles:
    """Return people with one item of weight 0; with a step of 4, a quarter of them."""
    return profiles_of([(np.arange(first, _PEOPLE, step), np.array(0), 0.0)], n_items)


def _in_deviations(counts: Floats, epsilon: float) -> Floats:
    """Return counts of sketches in standard deviations."""
    return counts * 2 * math.sinh(epsilon / 2) / math.sqrt(_PEOPLE)


def _names_found(model: PrivateRecommender) -> NDArray[np.bool_]:
    """Return which of the rare items a fitted model names."""
    found = np.zeros(_RARE, dtype=np.bool_)
    found[model.item_ids_.astype(np.int64)] = True
    return found


def _sketched(random_state: RandomState, *, parts: int = 1) -> list[Reached]:
    """Measure the counts of items that nobody has, from the sketches of everybody; people may come in parts."""
    model = PrivateRecommender(1.0, catalogue=np.arange(_ITEMS), head=[0, 1], random_state=random_state)
    for place in range(parts):
        (model.partial_fit if parts > 1 else model.fit)(_nobody(_ITEMS, place, parts))
    counts = model._public.counts[1:]  # noqa: SLF001  (audits may see all)
    return [Reached("counts", _in_deviations(counts, model.guarantee_.amount), "gaussian", symmetric=False)]


def _named(random_state: RandomState) -> list[Reached]:
    """Measure which items are named that few people have; nearly all items that everybody has are named."""
    model = PrivateRecommender(1.0, delta=_ODD_DELTA, head=[0, 1], random_state=random_state)
    public = model.fit(_owned(_NAMED, _PEOPLE))._public  # noqa: SLF001
    left = model.guarantee_.amount - float(public.settings.names_epsilon)
    parts = [Reached("counts", _in_deviations(public.counts - _PEOPLE, left), "gaussian", symmetric=False)]
    for owners in _OWNERS:
        model = PrivateRecommender(10.0, delta=0.01, random_state=random_state, n_head=2).fit(_owned(_RARE, owners))
        level = float(model._public.settings.names_epsilon)  # noqa: SLF001
        chance = chance_of_key(owners, level=level, delta=model.guarantee_.delta)
        # Noise is drawn in steps of 1/255 of a person, and the bound is rounded up to a step.
        parts.append(Reached(f"names that {owners} people have", _names_found(model), "coins", chance, slack=0.02))
    return parts


def _matrix(random_state: RandomState, *, unit: str = "item", catalogue: str = "given") -> list[Reached]:
    """Measure the evidence on pairs, which has what counts and names leave of rho."""
    model = PrivateRecommender(
        1.0, delta=_ODD_DELTA, release="matrix", unit=unit, catalogue=catalogue, random_state=random_state
    ).fit(_owned(_NAMED_HEAD, _PEOPLE) if catalogue == "private" else _nobody(_HEAD))
    public = model._public  # noqa: SLF001
    rule, size = MatrixRule(unit), public.head.size
    counts = public.counts - np.median(public.counts)
    taken = (rule.count_spread / ONE_ITEM) ** 2 / (2 * float((counts**2).mean()))
    taken += float(public.settings.names_epsilon) ** 2 / 2
    left = max(model.guarantee_.amount - taken, 1e-9)
    pairs = _evidence(model).gram[np.tril_indices(size, -1)]
    sigma = rule.pair_spread(size) / ONE_PAIR / math.sqrt(2 * left)
    # The variance of counts is known to a few per cent, and counts have a twentieth or a tenth of rho.
    return [Reached("pairs", (pairs - pairs.mean()) / sigma, "gaussian", slack=0.004)]


def _names_of_people(random_state: RandomState) -> list[Reached]:
    """Measure which items are named where whole people are protected.

    People have as many items as count in full, or twice as many, which count half: then a name needs twice the owners.
    """
    parts, items = [], np.arange(_RARE)
    for times in (1, 2):
        for owners in (_OWNERS[0] * times, 2 * _OWNERS[0] * times):
            users = np.arange(_RARE * owners).reshape(owners, _RARE) // (MOST_NAMES * times)
            model = PrivateRecommender(
                200.0, delta=_ODD_DELTA, release="matrix", unit="user", n_head=2, random_state=random_state
            ).fit(profiles_of([(users, items, 1.0)]))
            settings = model._public.settings  # noqa: SLF001
            level, delta = float(settings.names_epsilon), float(settings.names_delta)
            chance = chance_of_key(owners / times, level=level, delta=delta, groups=MOST_NAMES)
            words = f"names that {owners} people with {MOST_NAMES * times} items have"
            parts.append(Reached(words, _names_found(model), "coins", chance, slack=0.01))
    return parts


#: Every public way to a model, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
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
    rows = [(np.arange(size)[:, None], items, np.array(WEIGHTS)[items])]
    # Nobody has the last two items: with six items in the head, a first pass must choose.
    counts, head, evidence = learned(profiles_of(rows, ITEMS + 2, size), stream, n_head=ITEMS)
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
    """Return how many bits were 1, from the estimate of a count."""
    return min(n_people, max(0, round(count * contrast(epsilon) + n_people * chance_of_one(epsilon))))


def _shuffled(ones: int, size: int, stream: Stream) -> Floats:
    column = np.zeros(size)
    column[np.argpartition(stream.uniforms(size), min(ones, size - 1))[:ones]] = 1.0
    return column


def learned(
    profiles: Profiles, stream: Stream, *, n_head: int, epsilon: Fraction = EPSILON
) -> tuple[Floats, NDArray[np.int32], Evidence]:
    """Return the counts, the head and the evidence from which a model was made."""
    model = PrivateRecommender(epsilon, n_head=n_head, catalogue="given", random_state=stream).fit(profiles)
    public = model._public  # noqa: SLF001
    return public.counts, public.head, _evidence(model)


def _evidence(model: PrivateRecommender) -> Evidence:
    return model._crowd._learning.evidence()  # type: ignore[union-attr]  # noqa: SLF001  (audits may see all)


def everything(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    catalogue: Sequence[int] | str = range(ITEMS),
    listed_by_others: bool = False,
) -> Floats:
    """Return all results from a small crowd: counts, head and evidence, and what is recommended to others."""
    own = [(0, item, WEIGHTS[item]) for item in having(profile).tolist()]
    others = [(1, 0, 1.0), (1, 1, 0.0), (1, 2, 1.0), (2, 3, 0.5), (2, 4, 1.0), (3, 5, 1.0), (3, 0, 1.0)]
    others += [(3 + person, item, weight) for person, item, weight in others]
    listed = profiles_of([*own, *(row for row in others if row[1] != 1 or listed_by_others)], n_users=7)
    runs = []
    for _ in range(size):
        level = EPSILON if catalogue == "given" else _LOUD  # two people are then enough to name an item
        model = PrivateRecommender(level, n_head=4, catalogue=catalogue, random_state=random_state).fit(listed)
        public = model._public  # noqa: SLF001
        lists = model.recommend(2, profiles=profiles_of(others, n_users=7))
        parts = [public.counts[public.item_ids != 1], public.item_ids[public.head]]  # results about other items
        parts += [_evidence(model).gram, lists["item"], np.nan_to_num(lists["score"])]
        runs.append(np.concatenate([np.ravel(part).astype(np.float64) for part in parts]))
    return np.array(runs)


# Models from one noisy matrix.
def people(unit: str, subject: Sequence[float], weights: Sequence[float] = WEIGHTS) -> Part:
    """Return the person whose items are audited, or the people whose presence is; some items are always there."""
    shown, codes = [subject], None
    if unit == "user":
        shown = [[1.0] * ITEMS] * len(_PERSON_WEIGHTS)
        own = [weight * there for weight, there in zip(_PERSON_WEIGHTS, subject, strict=True)]
        everybody = np.arange(len(shown))
        codes = PersonDials(everybody, own).codes(everybody)
    every_weight = np.array([*weights, *[1.0] * _OTHERS])
    lists = [np.concatenate([having(profile), np.arange(ITEMS, _ALL)]) for profile in shown]
    rows = [(np.array(person), items, every_weight[items]) for person, items in enumerate(lists)]
    profiles = profiles_of(rows, _ALL, len(shown))
    return Part(profiles.user_ids, code_profiles(profiles), codes)


def exact_pairs(unit: str, subject: Sequence[float]) -> NDArray[np.int64]:
    """Return the exact matrix of some people."""
    sums = MatrixSums.of_nobody(_ALL, _ALL)
    sums.add_pairs(people(unit, subject), MatrixRule(unit, _CLIP), np.arange(_ALL, dtype=np.int32))
    return sums.pairs


def directed_pairs(profile: Sequence[float], size: int, random_state: RandomState, *, unit: str) -> Floats:
    """Return a noisy matrix along the directions in which items (or people) move it, and its diagonal."""
    n_subjects = len(UNITS[unit])
    sides = without(range(n_subjects), n_subjects)
    moved = np.array([exact_pairs(unit, one) - exact_pairs(unit, two) for one, two in sides], float).T
    directions = moved / np.maximum(1.0, np.sqrt((moved**2).sum(axis=0)))
    spread = MatrixRule(unit, _CLIP).pair_spread(_ALL)
    diagonal = np.cumsum(np.arange(_ALL) + 1)[:ITEMS] - 1
    sums, stream, seen = exact_pairs(unit, profile), as_stream(random_state), []
    for begin in range(0, size, 2_000):  # memory is limited
        runs = min(2_000, size - begin)
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
    """Return an epsilon and its delta, for a number that moves by up to `weight` standard deviations."""
    if not weight:
        return 0.0, 0.0
    epsilon, normal = weight / 2, NormalDist()
    return epsilon, normal.cdf((weight - 1) / 2) - math.exp(epsilon) * normal.cdf(-(weight + 1) / 2) + _DISCRETE


def noise_of_pairs(size: int, random_state: RandomState, *, unit: str) -> NDArray[np.int64]:
    """Return the noise of a matrix to which nobody contributes, as `PrivateRecommender` publishes it."""
    model = PrivateRecommender(release="matrix", unit=unit, catalogue="given", random_state=random_state)
    gram = _evidence(model.fit(profiles_of([(0, 0, 0.0)], _NOISE_ITEMS))).gram[np.tril_indices(_NOISE_ITEMS, -1)]
    return np.rint(gram * ONE_PAIR).astype(np.int64)[:size]


def audit_of_noise(sampler: Callable[..., NDArray[np.int64]], stream: RandomState, *, unit: str) -> Finding:
    """Audit that noise at the scale that the promise implies."""
    promise = PrivateRecommender(release="matrix", unit=unit, catalogue="given").promise()
    rho = promise.amount * (1 - float(COUNTS_SHARE[unit]))
    scale = MatrixRule(unit).pair_spread(_NOISE_ITEMS) / math.sqrt(2 * rho)
    return sampler_audit(
        sampler, distribution="gaussian", scale=scale, samples=_NOISE, false_alarm=1e-9, random_state=stream
    )


def published(profile: Sequence[float], size: int, random_state: RandomState, *, unit: str) -> Floats:
    """Return all that is published about a crowd and one person's items, or about a crowd and some of four people."""
    own, user_weights, weights = [having(profile)], None, np.array(WEIGHTS)
    if unit == "user":
        own = [having([present] * ITEMS) for present in profile]
        user_weights = [*_PERSON_WEIGHTS, *[1.0] * _CROWD]
    crowd = [np.array([item for item in range(ITEMS) if (item + person) % 3]) for person in range(_CROWD)]
    rows = [
        (np.array(person), items, weights[items] if unit == "item" or person < len(own) else np.array(1.0))
        for person, items in enumerate([*own, *crowd])
    ]
    return fits(profiles_of(rows, n_users=len(rows)), user_weights, size, random_state)


def fits(profiles: Profiles, user_weights: Sequence[float] | None, size: int, random_state: RandomState) -> Floats:
    """Return everything that some fits of a matrix publish, with private names."""
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
    name, four, samples = "model from sketches", range(4), SAMPLES[size]
    cases = [
        statistical_case(name, dealt, adjacent=without(four, ITEMS), claimed=WEIGHTS, samples=samples),
        weight_zero_case(name, everything, 1, ITEMS),
    ]
    for unit, name in (("item", "model from a matrix"), ("user", "model of whole people")):
        pairs, (epsilons, deltas) = without(four, len(UNITS[unit])), zip(*map(level_of, UNITS[unit]), strict=True)
        promise: dict[str, Any] = {"adjacent": pairs, "claimed": epsilons, "delta": deltas, "samples": samples}
        sampler = partial(noise_of_pairs, unit=unit)
        cases += [
            statistical_case(name, partial(directed_pairs, unit=unit), **promise),
            statistical_case(f"{name}, its head", partial(head_of_counts, unit=unit), **promise),
            weight_zero_case(name, partial(published, unit=unit), 1, len(UNITS[unit])),
            Case(f"{name}, its noise", "sampler", partial(audit_of_noise, sampler, unit=unit)),
        ]
    if size == "quick":
        return cases
    return [*cases, *(scale_case(name, call) for name, call in PUBLIC_CALLS.items())]
