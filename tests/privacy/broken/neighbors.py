"""`PrivateNeighbors` and its engines broken on purpose: weights, noise and budget splits."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from hetdp.auditing.audit_all import without
from hetdp.core.randomness import as_stream
from hetdp.neighbors import releases, scores
from hetdp.neighbors.audit_cases import ITEMS, NAMES_DELTA, PUBLIC_CALLS, WEIGHTS, named
from hetdp.neighbors.engines.exact import engine as exact
from hetdp.neighbors.engines.gossip import noisy_scores as gossip
from hetdp.neighbors.engines.sketch import engine as sketch
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.sketching.bit_law import chance_of_one
from tests.privacy.broken.base import (
    Variant,
    behind,
    by_replay,
    by_statistics,
    narrower,
    patched,
    told_otherwise,
    variant,
)
from tests.privacy.internals import neighbors as internals
from tests.privacy.internals.neighbors import EPSILON, SUBJECTS, sizes

LISTS, SCORES = SUBJECTS["exact engine, one list"], SUBJECTS["gossip engine, one score"]
BITS = SUBJECTS["sketch engine, one sketch tuned for a half"]
DELTAS = [float(NAMES_DELTA) * weight for weight in WEIGHTS]

_NOTHING, _ONE_ITEM = [0.0] * ITEMS, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
_ONE_IN_TEN, _TWO_PERCENT = Fraction(1, 10), Fraction(98, 100)


def _but(item):
    return without([item], ITEMS)


def _behind(subject, **broken):
    """Return how to build a subject behind which something that the cases call is broken."""
    worse = patched(subject, internals, **broken)
    return lambda broken: worse if broken else subject


def _twice_the_level(real):
    return lambda *given, epsilon, **more: real(*given, epsilon=2 * epsilon, **more)


def _without_weights(real):
    return lambda profile: real(profile, [1.0] * ITEMS)


@variant("neighbours by raw sizes", by_replay, _but(1), {1: 0.0}, odd_values=False)
def _raw_sizes(broken):
    """Trap 3: dividing by the size of the profile, in which items of weight 0 count."""

    def lists(profile, size, random_state):
        found = LISTS(profile, size, random_state)
        found[:, 3:] /= np.sqrt(sum(profile)) if broken else 1.0
        return found

    return lists


@variant("noise that begins where another list ends", by_replay, _but(1), {1: 0.0}, odd_values=False)
def _one_stream(broken):
    """Noise in one stream: an item of weight 0 makes the user's own list longer work, and moves the noise of others."""

    def lists(profile, size, random_state):
        stream = as_stream(random_state)
        stream.words(sum(value > 0 for value in profile) if broken else 0)
        return LISTS(profile, size, stream)

    return lists


@variant("noise for common items only", by_statistics, [(_NOTHING, _ONE_ITEM)], {3: 1.0})
def _silent_strangers(broken):
    """Noise only for candidates with something in common: anyone who has nothing in common scores exactly 0."""

    def found(profile, size, random_state):
        noisy = SCORES(profile, size, random_state)
        return noisy * 0.0 if broken and not sum(profile) else noisy

    return found


@variant("sketch that takes the larger term", by_statistics, _but(0), WEIGHTS)
def _larger_term(broken):
    """Take the larger of the two terms of p(v), where the law takes the smaller one."""
    if not broken:
        return BITS
    q, level = chance_of_one(EPSILON, tuned_for=Fraction(1, 2)), float(EPSILON)
    weights = np.floor(np.array(WEIGHTS) * WEIGHT_STEPS) / WEIGHT_STEPS
    larger = np.maximum(q * np.exp(level * weights), 1.0 - (1.0 - q) * np.exp(-level * weights))

    def bits(profile, size, random_state):
        chances = np.where(np.array(profile) >= 0.5, larger, q)
        drawn = as_stream(random_state).uniforms(size * ITEMS).reshape(size, ITEMS)
        return np.asarray(drawn < chances, dtype=np.float64)

    return bits


def _full_names(broken):
    """Names take the whole epsilon of the lists, and not their share of it."""
    full = told_otherwise(epsilon=lambda level: 10 * level)
    return patched(named, releases, chosen_names=full) if broken else named


def _pairs_at(level, *, members=True):
    """Return how to make a search one in which pairs spend something else than is promised."""

    def make(real):
        def fit(coded, how, *rest, **more):
            broken = replace(how, pair_epsilon=level(how)) if more.get("members", True) == members else how
            return real(coded, broken, *rest, **more)

        return fit

    return make


def _sharper_bits(real):
    return lambda coded, *, epsilon, **rest: real(coded, epsilon=epsilon / _TWO_PERCENT, **rest)


def _public(name):
    return PUBLIC_CALLS[f"PrivateNeighbors.{name}"]


_lists, _sketches = _public("kneighbors, exact"), _public("kneighbors, sketch")
_sizes = partial(sizes, fits=6)  # smaller, for what is far off

VARIANTS = (
    Variant(
        "neighbours at twice the level",
        by_statistics(_behind(LISTS, exact_neighbors=_twice_the_level), _but(3), {3: 1.0}),
    ),
    Variant(
        "neighbours without weights",
        by_replay(_behind(LISTS, population=_without_weights), _but(1), {1: 0.0}, odd_values=False),
    ),
    _raw_sizes,
    _one_stream,
    _silent_strangers,
    _larger_term,
    Variant("names at the full level", by_statistics(_full_names, _but(3), {3: 1.0}, DELTAS)),
    behind(_sizes, "sizes at the full level", scores, laplace_integers=narrower(_ONE_IN_TEN)),
    behind(
        _sizes,
        "pairs at the full level, beside sizes",
        exact,
        _fit=_pairs_at(lambda how: how.pair_epsilon + how.size_epsilon),
    ),
    behind(_lists, "neighbours with noise 2 % too small", exact, laplace_tables=narrower(_TWO_PERCENT)),
    behind(
        _public("kneighbors, exact, lists of one"),
        "best neighbours with noise 2 % too small",
        exact,
        laplace_tables=narrower(_TWO_PERCENT),
        threshold_tables=narrower(_TWO_PERCENT),
    ),
    behind(
        _public("kneighbors, exact, new recipients"),
        "lists for newcomers 3 % too sharp",
        exact,
        _fit=_pairs_at(lambda how: how.pair_epsilon * Fraction(103, 100), members=False),
    ),
    behind(
        _public("kneighbors, gossip"),
        "gossip with noise 2 % too small",
        gossip,
        laplace_tables=narrower(_TWO_PERCENT),
    ),
    behind(
        _public("fit, sketch, private names"),
        "names of sketches at ten times delta",
        releases,
        chosen_names=told_otherwise(delta=lambda delta: 10 * delta),
    ),
    behind(
        _public("kneighbors, sketch, private names"),
        "sketches of neighbours at the full level, beside names",
        sketch,
        Sketches=told_otherwise(epsilon=lambda level: level * Fraction(10, 9)),
    ),
    behind(_sketches, "sketches 2 % too sharp", sketch, Sketches=_sharper_bits),
)
