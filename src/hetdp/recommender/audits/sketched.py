"""Models from sketches, as everybody who has one meets them: through `PrivateRecommender`.

What is looked at is what the model is made of: how much each item counts, and the evidence about pairs, of which
everything that is published is a function. One fit is many runs in one of two ways. In a crowd of equal people, bits of
different people are independent: as many ones as the sum tells are dealt out to them at random, item by item. In a
crowd of one, bits of different items are: the catalogue holds many copies of the six items of the subject.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import CONFIDENCE, Attack, Build, Function, Mutant, by_replay, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.auditing.report import Finding
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.neighbors.engines.audit_crowd import EPSILON, ITEMS, WEIGHTS, Subject, without
from hetdp.profiles import Profiles
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.recommender import crowd
from hetdp.recommender.estimator import PrivateRecommender
from hetdp.recommender.evidence import Evidence
from hetdp.recommender.parts import Part, Parts
from hetdp.recommender.sketched import PartSums, SketchLearning
from hetdp.sketching.law import chance_of_one, contrast

__all__ = ["MUTANTS", "audit_cases"]

_SAMPLES = {"quick": 20_000, "full": 60_000}
#: Copies of the six items in the catalogue of a crowd of one.
_COPIES = 30
#: Nobody has them: with six items in the head, a first pass must choose.
_UNWANTED = 2
#: Two in a hundred more than promised is found at this level, with so many runs.
_STRONG, _MANY = Fraction(2), 800_000


def audit_cases(size: str) -> list[Case]:
    """Return the cases of models from sketches, for the battery."""
    name = "model from sketches"
    return [
        statistical_case(name, _dealt, adjacent=without((0, 1, 2, 3)), claimed=WEIGHTS, samples=_SAMPLES[size]),
        # The item of weight 0 must leave every bit as it was, in the catalogue and in lists for others too.
        replay_case(name, _everything, adjacent=without([1]), limits={1: 0.0}),
    ]


def _having(profile: Sequence[float]) -> list[int]:
    return [place for place, present in enumerate(profile) if present >= 0.5]  # noqa: PLR2004  (indicators)


def _dealt(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    epsilon: Fraction = EPSILON,
    learning: type[SketchLearning] = SketchLearning,
    only: int | None = None,
) -> NDArray[np.float64]:
    """Return the bits of as many people with the same profile, by the counts of all items and by those of the head."""
    stream, items = as_stream(random_state), _having(profile)
    profiles = Profiles.from_pairs(
        np.repeat(np.arange(size), len(items)),
        np.tile(items, size).astype(np.int64),
        np.tile([WEIGHTS[item] for item in items], size),
        user_ids=np.arange(size),
        item_ids=np.arange(ITEMS + _UNWANTED),
    )
    counts, head, evidence = _learned(profiles, stream, epsilon=epsilon, n_head=ITEMS, learning=learning)
    related = counts.copy()
    related[head] = evidence.counts
    columns = []
    for item in range(ITEMS) if only is None else [only]:
        first, second = (_ones(value, size, epsilon) for value in (counts[item], related[item]))
        columns.append(_shuffled(first, size, stream))
        if only is None:  # two passes that have seen the same bits have seen the same people
            columns.append(columns[-1] if second == first else _shuffled(second, size, stream))
    return np.stack(columns, axis=1)


def _ones(count: float, n_people: int, epsilon: Fraction) -> int:
    """Return how many bits were 1, from what they were taken to mean."""
    return min(n_people, max(0, round(count * contrast(epsilon) + n_people * chance_of_one(epsilon))))


def _shuffled(ones: int, size: int, stream: Stream) -> NDArray[np.float64]:
    column = np.zeros(size)
    column[np.argsort(stream.uniforms(size))[:ones]] = 1.0
    return column


def _learned(
    profiles: Profiles,
    stream: Stream,
    *,
    n_head: int,
    epsilon: Fraction = EPSILON,
    catalogue: str = "given",
    learning: type[SketchLearning] = SketchLearning,
) -> tuple[NDArray[np.float64], NDArray[np.int32], Evidence]:
    """Return the counts, the head and the evidence that a model was made of."""
    with patch.object(crowd, "SketchLearning", learning):
        model = PrivateRecommender(epsilon, n_head=n_head, catalogue=catalogue, random_state=stream).fit(profiles)
    public, learned = model._public, model._crowd._learning  # type: ignore[union-attr]  # noqa: SLF001  (auditors see all)
    return public.counts, public.head, learned.evidence()


def _alone(
    profile: Sequence[float], size: int, random_state: RandomState, *, learning: type[SketchLearning] = SketchLearning
) -> NDArray[np.float64]:
    """Return the evidence about each item in crowds of one, whose profile holds many copies of it."""
    stream, items = as_stream(random_state), np.array(_having(profile), dtype=np.int64)
    rows = []
    for _ in range(-(-size // _COPIES)):
        owned = (items + ITEMS * np.arange(_COPIES)[:, None]).ravel()
        weights = np.tile([WEIGHTS[item] for item in items], _COPIES)
        catalogue = np.arange(ITEMS * _COPIES)
        profiles = Profiles.from_pairs(np.zeros_like(owned), owned, weights, user_ids=[0], item_ids=catalogue)
        _, _, evidence = _learned(profiles, stream, n_head=catalogue.size, learning=learning)
        rows.append(evidence.counts.reshape(_COPIES, ITEMS))
    return np.concatenate(rows)[:size]


def _everything(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    listed_are_given: bool = False,
    head: Callable[..., NDArray[np.int32]] | None = None,
) -> NDArray[np.float64]:
    """Return all that comes of a small crowd: counts, head and evidence, and what is recommended to others."""
    own = [(0, item, WEIGHTS[item]) for item in _having(profile)]
    others = [(1, 0, 1.0), (1, 1, 0.0), (1, 2, 1.0), (2, 3, 0.5), (2, 4, 1.0), (3, 5, 1.0), (3, 0, 1.0)]
    listed = _profiles([*own, *(pair for pair in others if pair[1] != 1 or head)])
    catalogue = "given" if listed_are_given or head else "observed"
    runs = []
    for _ in range(size):
        with patch.object(crowd.Crowd, "_most_popular", head) if head else nullcontext():
            model = PrivateRecommender(EPSILON, n_head=4, catalogue=catalogue, random_state=random_state).fit(listed)
        public, learned = model._public, model._crowd._learning  # type: ignore[union-attr]  # noqa: SLF001
        lists = model.recommend(2, profiles=_profiles(others))
        runs.append(
            [
                *public.counts[public.item_ids != 1],  # what is said about other items
                *public.item_ids[public.head],
                *learned.evidence().gram.ravel(),
                *lists["item"],
                *np.nan_to_num(lists["score"]),
            ]
        )
    return np.array(runs, dtype=np.float64)


def _profiles(pairs: Sequence[tuple[int, int, float]]) -> Profiles:
    users, items, weights = zip(*pairs, strict=True)
    return Profiles.from_pairs(users, items, weights, user_ids=sorted({0, *users}))


class _DrawnTwice(SketchLearning):
    """The second pass draws its own bits, and what the first has seen is published too."""

    _first: NDArray[np.float64] | None = None

    def work(self, head: NDArray[np.int32] | None) -> Callable[[Part], PartSums]:
        if head is not None:
            self._first = super().counts
            self._counted = None  # what would notice
            self._secret = self._secret[::-1]
        return super().work(head)

    @property
    def counts(self) -> NDArray[np.float64]:
        return super().counts if self._first is None else self._first


class _ExactDiagonal(SketchLearning):
    """The diagonal is what people have, because sketches say so little about it."""

    _exact: NDArray[np.float64] | None = None

    def work(self, head: NDArray[np.int32] | None) -> Callable[[Part], PartSums]:
        sketch = super().work(head)

        def look(part: Part) -> PartSums:
            self._exact = np.zeros(part.coded.n_items)
            np.add.at(self._exact, part.coded.items, part.coded.codes / WEIGHT_STEPS)
            return sketch(part)

        return look

    def evidence(self) -> Evidence:
        found = super().evidence()
        np.fill_diagonal(found.gram, self._exact)
        return replace(found, counts=found.gram.diagonal().copy())


def _listed_most(self: crowd.Crowd, parts: Parts, *_: object) -> NDArray[np.int32]:
    """Return the items that most people list, at whatever weight."""
    listed = sum(np.bincount(part.indices, minlength=self.item_ids.size) for part in parts)
    return np.sort(np.argsort(-listed, kind="stable")[: self.settings.n_head]).astype(np.int32)


def _broken_by(subject: Subject, **rules: object) -> Build:
    def build(broken: bool) -> Function:  # noqa: FBT001  (every build has this shape)
        return partial(subject, **rules) if broken else subject

    return build


def _with_head(broken: bool) -> Function:  # noqa: FBT001
    return partial(_everything, head=_listed_most if broken else crowd.Crowd._most_popular)  # noqa: SLF001


def _by_many(build: Build, adjacent: Sequence[Pair], claimed: Claims, samples: int) -> Attack:
    """Return the attack by the statistical audit with as many runs as a small excess needs."""

    def run(function: Function, stream: Stream) -> Finding:
        return audit(
            function,
            adjacent=adjacent,
            claimed=claimed,
            samples=samples,
            confidence=CONFIDENCE,
            random_state=stream,
        ).finding

    return Attack("statistical", build, run)


def _strength(broken: bool) -> Function:  # noqa: FBT001
    level = _STRONG * Fraction(102, 100) if broken else _STRONG
    return partial(_dealt, epsilon=level, only=3)


#: Models from sketches, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant("a model from bits 2 % too sharp", _by_many(_strength, without([3]), {3: float(_STRONG)}, _MANY)),
    Mutant(
        "a model from bits drawn twice",
        by_statistics(_broken_by(_dealt, learning=_DrawnTwice), without([3]), {3: 1.0}),
    ),
    Mutant(
        "a model with the exact diagonal",
        _by_many(_broken_by(_alone, learning=_ExactDiagonal), without([2]), {2: WEIGHTS[2]}, 1_000),
    ),
    Mutant(
        "a model of the items that are listed most",
        by_replay(_with_head, without([1]), {1: 0.0}, odd_values=False),
    ),
    Mutant(
        "a catalogue of whatever is listed",
        by_replay(_broken_by(_everything, listed_are_given=True), without([1]), {1: 0.0}, odd_values=False),
    ),
)
