"""`PrivateRecommender` broken on purpose: sketches, matrices, names and budget splits."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from unittest.mock import patch

import numpy as np

from hetdp.auditing.audit_all import without
from hetdp.auditing.statistical import audit
from hetdp.core.randomness import as_stream
from hetdp.neighbors.audit_cases import ITEMS, WEIGHTS, having
from hetdp.profiles import Profiles
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.recommender import crowd, matrix, names
from hetdp.recommender.audit_cases import PUBLIC_CALLS, fits, published
from hetdp.recommender.matrix import MatrixRule
from hetdp.recommender.settings import ModelSettings
from hetdp.recommender.sketched import SketchLearning
from tests.privacy.broken.base import (
    CONFIDENCE,
    Attack,
    Variant,
    behind,
    by_replay,
    by_statistics,
    patched,
    told_otherwise,
)
from tests.privacy.internals import recommender as internals
from tests.privacy.internals.recommender import (
    dealt,
    directed_pairs,
    everything,
    head_of_counts,
    learned,
    level_of,
    noise_of_pairs,
)

#: Copies of one or six items in a catalogue.
_COPIES = 30
#: Two in a hundred more than promised is found at this epsilon, with so many runs.
_STRONG, _MANY = Fraction(2), 800_000
#: Items whose counts a matrix of the public calls has.
_HEAD = 600


def _but(item):
    return without([item], ITEMS)


def _instead(subject, worse):
    return lambda broken: worse if broken else subject


# Models from sketches.
class _DrawnTwice(SketchLearning):
    """The second pass draws its own bits, and what the first has seen is published too."""

    _first = None

    def work(self, head):
        if head is not None:
            self._first = super().counts
            self._counted = None  # what would notice
            self._secret = self._secret[::-1]
        return super().work(head)

    @property
    def counts(self):
        return super().counts if self._first is None else self._first


class _ExactDiagonal(SketchLearning):
    """The diagonal is what people have, because sketches say so little about it."""

    _exact = None

    def work(self, head):
        sketch = super().work(head)

        def look(part):
            self._exact = np.zeros(part.coded.n_items)
            np.add.at(self._exact, part.coded.items, part.coded.codes / WEIGHT_STEPS)
            return sketch(part)

        return look

    def evidence(self):
        found = super().evidence()
        np.fill_diagonal(found.gram, self._exact)
        return replace(found, counts=found.gram.diagonal().copy())


def _alone(profile, size, random_state):
    """Return the evidence about each item in crowds of one, whose profile holds many copies of it."""
    stream, items, rows = as_stream(random_state), having(profile), []
    for _ in range(-(-size // _COPIES)):
        owned = (items + ITEMS * np.arange(_COPIES)[:, None]).ravel()
        weights = np.tile(np.array(WEIGHTS)[items], _COPIES)
        catalogue = np.arange(ITEMS * _COPIES)
        profiles = Profiles.from_pairs(np.zeros_like(owned), owned, weights, user_ids=[0], item_ids=catalogue)
        _, _, evidence = learned(profiles, stream, n_head=catalogue.size)
        rows.append(evidence.counts.reshape(_COPIES, ITEMS))
    return np.concatenate(rows)[:size]


def _learning(subject, kind):
    return _instead(subject, patched(subject, crowd, SketchLearning=lambda _: kind))


def _most_listed(_real):
    """Choose the items that most people list, at whatever weight."""

    def head(self, parts, *_):
        listed = sum(np.bincount(part.indices, minlength=self.item_ids.size) for part in parts)
        return np.sort(np.argsort(-listed, kind="stable")[: self.settings.n_head]).astype(np.int32)

    return head


_given = partial(everything, catalogue="given")
_listed = partial(_given, listed_by_others=True)


def _by_many(build, adjacent, claimed, samples):
    """Return the attack by the statistical audit with as many runs as a small excess needs."""

    def run(function, stream):
        told = {"samples": samples, "confidence": CONFIDENCE, "random_state": stream}
        return audit(function, adjacent=adjacent, claimed=claimed, **told).finding

    return Attack("statistical", build, run)


def _one_item(profile, size, random_state, *, epsilon):
    """Return the bits of an item of weight 1, of which each person has many copies: each copy is a run."""
    stream, n_people = as_stream(random_state), -(-size // _COPIES)
    people, copies = np.repeat(np.arange(n_people), _COPIES), np.tile(np.arange(_COPIES), n_people)
    weights = np.full(people.size, float(profile[0]))
    profiles = Profiles.from_pairs(people, copies, weights, item_ids=np.arange(_COPIES))
    counts, _, _ = learned(profiles, stream, epsilon=epsilon, n_head=2)
    ones = [internals._ones(count, n_people, epsilon) for count in counts]
    return np.concatenate([internals._shuffled(one, n_people, stream) for one in ones])[:size]


def _strength(broken):
    return partial(_one_item, epsilon=_STRONG * Fraction(102, 100) if broken else _STRONG)


# Models from a matrix.
def _unclipped(_real):
    """Products are kept within bounds one by one, as if that kept their sum within any."""
    return lambda _rule, coded, _dials: np.full(coded.n_users, 1 << 46)


def _coarse(real):
    """Cut to a quarter, and nothing added to the noise for it."""
    return lambda *given: real(*given) >> 44 << 44


def _by_listed(real):
    """How long a profile is depends on items of weight 0."""

    def pairs(unit, subject):
        listed = internals.people(unit, subject, [1.0] * ITEMS)
        factors = MatrixRule(unit, internals._CLIP).pair_factors(listed.coded, listed.dials)
        with patch.object(MatrixRule, "pair_factors", lambda *_: factors):
            return real(unit, subject)

    return pairs


def _exact_diagonal(real):
    n_pairs = internals._ALL * (internals._ALL + 1) // 2
    diagonal = np.cumsum(np.arange(internals._ALL) + 1) - 1

    def noisy(exact, **told):
        found = real(exact, **told).reshape(-1, n_pairs)
        found[:, diagonal] = exact.reshape(-1, n_pairs)[:, diagonal]
        return found.ravel()

    return noisy


def _without_noise(_real):
    return lambda exact, **_: exact


_pairs_of_items, _head_of_items = partial(directed_pairs, unit="item"), partial(head_of_counts, unit="item")


def _matrix(name, subject, item, where=internals, **broken):
    epsilon, delta = level_of(WEIGHTS[item])
    build = _instead(subject, patched(subject, where, **broken))
    return Variant(name, by_statistics(build, _but(item), {item: epsilon}, {item: delta}))


def _thin_noise(name, unit):
    sampler = partial(noise_of_pairs, unit=unit)
    thin = lambda real: lambda variance, *rest: real(variance * Fraction(98, 100) ** 2, *rest)  # noqa: E731
    build = _instead(sampler, patched(sampler, matrix, gaussian_integers=thin))
    return Variant(name, Attack("sampler", build, partial(internals.audit_of_noise, unit=unit)))


def _own_weights(profile, size, random_state):
    """A person's weight is the mean weight of the items that they list."""
    own = having(profile).tolist()
    lists = [own, *([item for item in range(ITEMS) if (item + person) % 3] for person in range(60))]
    rows = [(person, item, WEIGHTS[item]) for person, items in enumerate(lists) for item in items]
    users, items, weights = zip(*rows, strict=True)
    profiles = Profiles.from_pairs(users, items, weights, user_ids=np.arange(len(lists)))
    return fits(profiles, [float(np.mean([WEIGHTS[item] for item in own])), *[1.0] * 60], size, random_state)


# Budget splits, seen through `fit`.
def _all_of(whole):
    """Return how to make a share of the settings the whole."""
    return lambda _: property(lambda settings: getattr(settings, whole))


def _sharper(real):
    return lambda level, *rest, **more: real(level * Fraction(103, 100), *rest, **more)


def _sums_at(*, counts=Fraction(1), pairs=Fraction(1)):
    """Return how to draw noise of counts and of pairs for other shares of rho."""

    def make(real):
        def noisy(exact, *, spread, rho, stream):
            factor = counts if exact.size == _HEAD else pairs
            return real(exact, spread=spread, rho=rho * factor, stream=stream)

        return noisy

    return make


def _noise_for_one_name(real):
    return lambda *, whole_people: (real(whole_people=whole_people)[0], 1)


def _nine_names(real):
    """Count a person in full for nine names, where noise is that of eight."""

    def steps(*given):
        with patch.object(names, "MOST_NAMES", 9):
            return real(*given)

    return steps


def _public(name):
    return PUBLIC_CALLS[f"PrivateRecommender.fit, {name}"]


_named, _whole_matrix = _public("sketches, private names"), _public("matrix")
_people_named = _public("matrix of people, private names")

VARIANTS = (
    Variant("a model from bits 2 % too sharp", _by_many(_strength, [([1.0], [0.0])], float(_STRONG), _MANY)),
    Variant("a model from bits drawn twice", by_statistics(_learning(dealt, _DrawnTwice), _but(3), {3: 1.0})),
    Variant(
        "a model with the exact diagonal",
        _by_many(_learning(_alone, _ExactDiagonal), _but(2), {2: WEIGHTS[2]}, 1_000),
    ),
    Variant(
        "a model of the items that are listed most",
        by_replay(
            _instead(_listed, patched(_listed, crowd.Crowd, _most_popular=_most_listed)),
            _but(1),
            {1: 0.0},
            odd_values=False,
        ),
    ),
    Variant(
        "a catalogue of whatever is listed",
        by_replay(_instead(everything, _given), _but(1), {1: 0.0}, odd_values=False),
    ),
    _thin_noise("a matrix with noise 2 % too small", "item"),
    _thin_noise("a matrix of people with noise 2 % too small", "user"),
    _matrix("a matrix clipped entry by entry", _pairs_of_items, 3, MatrixRule, pair_factors=_unclipped),
    _matrix("a matrix cut without slack", _pairs_of_items, 2, MatrixRule, pair_factors=_coarse),
    _matrix("a matrix with the exact diagonal", _pairs_of_items, 3, noisy_sums=_exact_diagonal),
    _matrix("a head by exact counts", _head_of_items, 3, noisy_sums=_without_noise),
    Variant(
        "a matrix clipped by what is listed",
        by_replay(
            _instead(_pairs_of_items, patched(_pairs_of_items, internals, exact_pairs=_by_listed)),
            _but(1),
            {1: 0.0},
            odd_values=False,
        ),
    ),
    Variant(
        "a person's weight from the items",
        by_replay(_instead(published, _own_weights), _but(1), {1: 0.0}, odd_values=False),
    ),
    behind(_public("sketches"), "sketches of the crowd 3 % too sharp", crowd, SketchLearning=_sharper),
    behind(_named, "sketches at the full level, beside names", ModelSettings, model_epsilon=_all_of("epsilon")),
    behind(_named, "names at twice their level", names, chosen_names=told_otherwise(epsilon=lambda level: 2 * level)),
    behind(_named, "names at ten times delta", names, chosen_names=told_otherwise(delta=lambda delta: 10 * delta)),
    behind(_people_named, "names of people with noise for one name", names, _counting=_noise_for_one_name),
    behind(_people_named, "nine names per person with noise for eight", names, _steps_of_people=_nine_names),
    behind(
        _public("matrix, private names"),
        "a matrix at the full level, beside names",
        ModelSettings,
        model_rho=_all_of("rho"),
    ),
    behind(
        _whole_matrix,
        "pairs at the full level, beside counts",
        matrix,
        noisy_sums=_sums_at(pairs=Fraction(20, 19)),
    ),
    behind(_whole_matrix, "counts at twice their level", matrix, noisy_sums=_sums_at(counts=Fraction(2))),
)
