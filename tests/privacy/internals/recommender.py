"""Models of `PrivateRecommender`, with an epsilon of their own.

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

from hetdp.auditing.audit_all import Case, statistical_case, weight_zero_case, without
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.neighbors.audit_cases import ITEMS, having, profiles_of
from hetdp.profiles import Profiles
from hetdp.profiles.steps import code_profiles
from hetdp.recommender.audit_cases import PERSON_WEIGHTS
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import COUNTS_SHARE, ONE_PAIR, MatrixRule, MatrixSums, noisy_sums
from hetdp.recommender.model import Evidence
from hetdp.recommender.parts import Part, PersonDials
from hetdp.sketching.bit_law import chance_of_one, contrast
from tests.privacy.internals import SAMPLES

Floats = NDArray[np.float64]

EPSILON = Fraction(1)
#: A weight of 1 moves the audited number by up to one standard deviation.
_RHO, _CLIP = Fraction(1, 2), 2
#: Items that the subject has in any case, so that it is cut off by the ball; and all items.
_OTHERS, _ALL = 6, ITEMS + 6
#: What is protected, with the weights of its subjects.
UNITS = {"item": WEIGHTS, "user": PERSON_WEIGHTS}
#: Far more than a Gaussian of whole steps differs from one of real numbers.
_DISCRETE = 1e-6
#: As many entries as it takes to see that noise is 2 % too small, and items to have them.
_NOISE, _NOISE_ITEMS = 400_000, 900
#: An epsilon at which two people are enough to name an item.
_LOUD = 300


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
    public = model._public
    return public.counts, public.head, _evidence(model)


def _evidence(model: PrivateRecommender) -> Evidence:
    return model._crowd._learning.evidence()


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
        public = model._public
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
        shown = [[1.0] * ITEMS] * len(PERSON_WEIGHTS)
        own = [weight * there for weight, there in zip(PERSON_WEIGHTS, subject, strict=True)]
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


def _cases_of(unit: str, name: str) -> list[Case]:
    pairs, (epsilons, deltas) = without(range(4), len(UNITS[unit])), zip(*map(level_of, UNITS[unit]), strict=True)
    promise: dict[str, Any] = {"adjacent": pairs, "claimed": epsilons, "delta": deltas, "samples": SAMPLES}
    sampler = partial(noise_of_pairs, unit=unit)
    return [
        statistical_case(name, partial(directed_pairs, unit=unit), **promise),
        statistical_case(f"{name}, its head", partial(head_of_counts, unit=unit), **promise),
        Case(f"{name}, its noise", "sampler", partial(audit_of_noise, sampler, unit=unit)),
    ]


CASES: list[Case] = [
    statistical_case("model from sketches", dealt, adjacent=without(range(4), ITEMS), claimed=WEIGHTS, samples=SAMPLES),
    weight_zero_case("model from sketches", everything, 1, ITEMS),
    *_cases_of("item", "model from a matrix"),
    *_cases_of("user", "model of whole people"),
]
