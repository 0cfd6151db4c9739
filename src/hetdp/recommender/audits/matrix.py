"""Models from one noisy matrix: what it tells an attacker who knows all but one item, or all but one person.

What is looked at is, for each item (or person), the most telling number there is: the noisy sums along the direction
in which it moves them. Gaussian noise promises no bound on a ratio, but where that number moves by mu standard
deviations, each epsilon has one delta, and both are claimed. The noise itself is compared with its exact
distribution, and weights and dials of 0 are replayed through `PrivateRecommender`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import Attack, Build, Function, Mutant, by_replay, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.neighbors.engines.audit_crowd import ITEMS, WEIGHTS, without
from hetdp.noise.gaussian import gaussian_integers
from hetdp.profiles import Profiles
from hetdp.profiles.steps import CodedProfiles, code_profiles
from hetdp.recommender import matrix
from hetdp.recommender.dials import PersonDials
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.matrix import COUNTS_SHARE, ONE_PAIR, MatrixRule, MatrixSums, noisy_sums
from hetdp.recommender.parts import Part

__all__ = ["MUTANTS", "audit_cases"]

Telling = Callable[[Sequence[float], int, RandomState], NDArray[np.float64]]

_RHO = Fraction(1, 2)  # a weight of 1 moves the telling number by up to one standard deviation
_CLIP = 2
#: Items that the subject has in any case, so that it is cut off by the ball.
_OTHERS = 6
_ALL = ITEMS + _OTHERS
#: Dials of people, one of whom is the subject; all have everything.
_DIALS = (1.0, 0.0, 0.5, 0.25)
_SAMPLES = {"quick": 20_000, "full": 60_000}
_RUNS = 2_000
#: Far more than a Gaussian of whole steps differs from one of real numbers.
_DISCRETE = 1e-6
#: As many entries as it takes to see that noise is 2 % too small, and items to have them.
_NOISE, _NOISE_ITEMS = 400_000, 900
#: People beside the subject, and a level at which their items may be named.
_CROWD, _LOUD = 60, 300


@dataclass(frozen=True)
class _Handling:
    """How a matrix is made; the defaults keep the promise."""

    rule: type[MatrixRule] = MatrixRule
    #: Whether the diagonal, from which counts are taken, gets noise.
    noise_on_diagonal: bool = True
    #: Whether the counts that choose the head get noise.
    noise_on_counts: bool = True
    #: Whether items of weight 0 are gone before the length of a profile is taken.
    without_zeros: bool = True

    def pairs(self, unit: str, part: Part, listed: Part) -> NDArray[np.int64]:
        """Return the exact matrix of some people, who list more than counts."""
        rule, sums = self.rule(unit, _CLIP), MatrixSums.of_nobody(_ALL, _ALL)
        if not self.without_zeros:
            rule = _ByListed(unit, _CLIP, rule.pair_factors(listed.coded, listed.dials))
        sums.add_pairs(part, rule, np.arange(_ALL, dtype=np.int32))
        return sums.pairs

    def counts(self, unit: str, part: Part) -> NDArray[np.int64]:
        """Return the exact counts of some people."""
        sums = MatrixSums.of_nobody(_ALL, 0)
        sums.add_counts(part, self.rule(unit, _CLIP))
        return sums.counts


class _Unclipped(MatrixRule):
    """Products are kept within bounds one by one, as if that kept their sum within any."""

    def pair_factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:  # noqa: ARG002
        return np.full(coded.n_users, 1 << 46)


class _Coarse(MatrixRule):
    """Cut to a quarter, and nothing added to the noise for it."""

    def pair_factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
        return super().pair_factors(coded, dials) >> 44 << 44


@dataclass(frozen=True)
class _ByListed(MatrixRule):
    """How long a profile is depends on items that do not count."""

    factors: NDArray[np.int64] | None = None

    def pair_factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
        return super().pair_factors(coded, dials) if self.factors is None else self.factors


def _part(people: Sequence[Sequence[float]], dials: Sequence[float] | None = None, *, in_full: bool = False) -> Part:
    """Return people with the given indicators of items, and a few items each that are always there."""
    every_weight = [1.0] * _ALL if in_full else [*WEIGHTS, *[1.0] * _OTHERS]
    pairs = [
        (person, item, every_weight[item])
        for person, profile in enumerate(people)
        for item in range(_ALL)
        if item >= ITEMS or profile[item] >= 0.5  # noqa: PLR2004  (indicators)
    ]
    users, items, weights = zip(*pairs, strict=True)
    everybody = np.arange(len(people))
    profiles = Profiles.from_pairs(users, items, weights, user_ids=everybody, item_ids=np.arange(_ALL))
    codes = None if dials is None else PersonDials(everybody, list(dials)).codes(everybody)
    return Part(profiles.user_ids, code_profiles(profiles), codes)


def _people(unit: str, subject: Sequence[float], *, in_full: bool = False) -> Part:
    """Return the one person whose items are looked at, or the people whose presence is."""
    if unit == "item":
        return _part([subject], in_full=in_full)
    dials = [dial * there for dial, there in zip(_DIALS, subject, strict=True)]
    return _part([[1.0] * ITEMS] * len(dials), dials, in_full=in_full)


def _sides(unit: str, ones: Sequence[int]) -> list[Pair]:
    """Return everything against everything but one item, or person, for each of some."""
    size = len(WEIGHTS if unit == "item" else _DIALS)
    return [([1.0] * size, [float(place != one) for place in range(size)]) for one in ones]


def _telling(unit: str, handling: _Handling) -> Telling:
    """Return the subject: a matrix along the directions of interest, its diagonal, and the head that is chosen."""

    def exact(subject: Sequence[float]) -> NDArray[np.int64]:
        return handling.pairs(unit, _people(unit, subject), _people(unit, subject, in_full=True))

    size = len(WEIGHTS if unit == "item" else _DIALS)
    everything, *less = (exact(side) for side in ([1.0] * size, *(pair[1] for pair in _sides(unit, range(size)))))
    moved = np.array([everything - one for one in less], dtype=np.float64).T
    directions = moved / np.maximum(1.0, np.sqrt((moved**2).sum(axis=0)))
    spread = MatrixRule(unit, _CLIP).pair_spread(_ALL)
    diagonal = np.cumsum(np.arange(_ALL) + 1) - 1

    def release(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        sums, stream, seen = exact(profile), as_stream(random_state), []
        for begin in range(0, size, _RUNS):
            runs = min(_RUNS, size - begin)
            noisy = noisy_sums(np.tile(sums, runs), spread=spread, rho=_RHO, stream=stream).reshape(runs, -1)
            if not handling.noise_on_diagonal:
                noisy[:, diagonal] = sums[diagonal]
            seen.append(
                np.concatenate([noisy.astype(np.float64) @ directions, noisy[:, diagonal[:ITEMS]]], axis=1) / spread
            )
        return np.concatenate(seen)

    return release


def _head(unit: str, handling: _Handling) -> Telling:
    """Return the subject: which half of the catalogue becomes the head."""

    def release(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        counts = np.tile(handling.counts(unit, _people(unit, profile)), size)
        spread = MatrixRule(unit, _CLIP).count_spread
        noisy = noisy_sums(counts, spread=spread, rho=_RHO, stream=as_stream(random_state))
        order = np.argsort(-(noisy if handling.noise_on_counts else counts).reshape(size, -1), axis=1, kind="stable")
        found = np.zeros((size, _ALL))
        np.put_along_axis(found, order[:, : _ALL // 2], 1.0, axis=1)
        return found

    return release


def _level(weight: float) -> tuple[float, float]:
    """Return an epsilon, and the delta that goes with it where a number moves by so many standard deviations."""
    if not weight:
        return 0.0, 0.0
    epsilon, normal = weight / 2, NormalDist()
    return epsilon, normal.cdf((weight - 1) / 2) - math.exp(epsilon) * normal.cdf(-(weight + 1) / 2) + _DISCRETE


def _noise(unit: str, factor: Fraction = Fraction(1)) -> Callable[[int, RandomState], NDArray[np.int64]]:
    """Return all the noise of a matrix that nobody counts in, as `PrivateRecommender` publishes it."""

    def sampler(size: int, random_state: RandomState) -> NDArray[np.int64]:
        def drawn(variance: Fraction, count: int, stream: Stream) -> NDArray[np.int64]:
            return gaussian_integers(variance * factor**2, count, stream)

        nobody = Profiles.from_pairs([0], [0], [0.0], item_ids=np.arange(_NOISE_ITEMS))
        model = PrivateRecommender(release="matrix", unit=unit, catalogue="given", random_state=random_state)
        with patch.object(matrix, "gaussian_integers", drawn):
            model.fit(nobody)
        evidence = model._crowd._learning.evidence()  # type: ignore[union-attr]  # noqa: SLF001  (auditors see all)
        return np.rint(evidence.gram[np.tril_indices(_NOISE_ITEMS, -1)] * ONE_PAIR).astype(np.int64)[:size]

    return sampler


def _sampled(unit: str) -> Callable[[Function, Stream], Finding]:
    """Return the audit of that noise, at the scale that the promise asks for."""
    model = PrivateRecommender(release="matrix", unit=unit, catalogue="given")
    rho = model.promise().amount * (1 - float(COUNTS_SHARE[unit]))
    scale = MatrixRule(unit).pair_spread(_NOISE_ITEMS) / math.sqrt(2 * rho)

    def run(function: Function, stream: Stream) -> Finding:
        return sampler_audit(
            function, distribution="gaussian", scale=scale, samples=_NOISE, false_alarm=1e-9, random_state=stream
        )

    return run


def _published(
    profile: Sequence[float], size: int, random_state: RandomState, *, unit: str, dials_from_items: bool = False
) -> NDArray[np.float64]:
    """Return everything that `PrivateRecommender` publishes about a crowd: names, counts, head and model.

    The subject is one person with some of six items, or, where whole people are protected, whether some of four people
    have anything.
    """
    crowd = [[(item + person) % 3 != 0 for item in range(ITEMS)] for person in range(_CROWD)]
    if unit == "item" or dials_from_items:
        own, dials = [[present >= 0.5 for present in profile]], [0.5]  # noqa: PLR2004
    else:
        own, dials = [[present >= 0.5] * ITEMS for present in profile], list(_DIALS)  # noqa: PLR2004
    rows = [
        (person, item, WEIGHTS[item] if unit == "item" or dials_from_items or person < len(own) else 1.0)
        for person, having in enumerate([*own, *crowd])
        for item in range(ITEMS)
        if having[item]
    ]
    if dials_from_items:
        dials = [float(np.mean([weight for person, _, weight in rows if person == 0]))]
    users, items, weights = zip(*rows, strict=True)
    people = Profiles.from_pairs(users, items, weights, user_ids=np.arange(len(own) + _CROWD))
    user_weights = [*dials, *[1.0] * _CROWD] if unit == "user" else None
    runs = []
    for _ in range(size):
        model = PrivateRecommender(
            _LOUD, release="matrix", unit=unit, n_head=3, catalogue="private", random_state=random_state
        )
        public = model.fit(people, user_weights=user_weights)._public  # noqa: SLF001
        parts = [public.item_ids, public.head, public.counts, *public.model.arrays().values()]
        runs.append(np.concatenate([np.ravel(part).astype(np.float64) for part in parts]))
    return np.array(runs)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of models from a matrix, for the battery."""
    cases = []
    for unit, name, weights in (("item", "model from a matrix", WEIGHTS), ("user", "model of whole people", _DIALS)):
        epsilons, deltas = zip(*map(_level, weights), strict=True)
        for subject, words in ((_telling, name), (_head, f"{name}, its head")):
            cases += [
                statistical_case(
                    words,
                    subject(unit, _Handling()),
                    adjacent=_sides(unit, range(len(_DIALS))),
                    claimed=epsilons,
                    delta=deltas,
                    samples=_SAMPLES[size],
                )
            ]
        cases += [
            # What has weight 0, an item or a person, must leave every bit as it was.
            replay_case(name, partial(_published, unit=unit), adjacent=_sides(unit, [1]), limits={1: 0.0}),
            Case(f"{name}, its noise", "sampler", partial(_sample, unit)),
        ]
    return cases


def _sample(unit: str, seed: int) -> Finding:
    return _sampled(unit)(_noise(unit), as_stream(seed))


def _broken_by(subject: Callable[[str, _Handling], Telling], handling: _Handling) -> Build:
    def build(broken: bool) -> Function:  # noqa: FBT001  (every build has this shape)
        return subject("item", handling if broken else _Handling())

    return build


def _caught_by_chance(subject: Callable[[str, _Handling], Telling], handling: _Handling, item: int) -> Attack:
    epsilon, delta = _level(WEIGHTS[item])
    return by_statistics(_broken_by(subject, handling), without([item]), {item: epsilon}, {item: delta})


def _thin_noise(unit: str) -> Attack:
    def build(broken: bool) -> Function:  # noqa: FBT001
        return _noise(unit, Fraction(98, 100) if broken else Fraction(1))

    return Attack("sampler", build, _sampled(unit))


def _own_dials(broken: bool) -> Function:  # noqa: FBT001
    return partial(_published, unit="user", dials_from_items=True) if broken else partial(_published, unit="item")


#: Models from a matrix, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant("a matrix with noise 2 % too small", _thin_noise("item")),
    Mutant("a matrix of people with noise 2 % too small", _thin_noise("user")),
    Mutant("a matrix clipped entry by entry", _caught_by_chance(_telling, _Handling(rule=_Unclipped), 3)),
    Mutant("a matrix cut without slack", _caught_by_chance(_telling, _Handling(rule=_Coarse), 2)),
    Mutant("a matrix with the exact diagonal", _caught_by_chance(_telling, _Handling(noise_on_diagonal=False), 3)),
    Mutant("a head by exact counts", _caught_by_chance(_head, _Handling(noise_on_counts=False), 3)),
    Mutant(
        "a matrix clipped by what is listed",
        by_replay(_broken_by(_telling, _Handling(without_zeros=False)), without([1]), {1: 0.0}, odd_values=False),
    ),
    Mutant("a person's dial from the items", by_replay(_own_dials, without([1]), {1: 0.0}, odd_values=False)),
)
