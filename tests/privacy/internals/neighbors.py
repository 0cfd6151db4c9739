"""Engines of `PrivateNeighbors`, each with an epsilon of its own, and the sizes of profiles behind cosines.

The profile says which of six items one user has. The output is all that one recipient gets from the engine. Engines
serve many recipients at once, so many equal recipients are as many runs.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.examples import WEIGHTS
from hetdp.auditing.scales import Reached
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.audit_cases import ITEMS, fitted, having, profiles_of
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.neighbors.scores import SCORES
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, Holdings, code_profiles
from hetdp.sketching.bit_law import USUAL_TUNING
from hetdp.sketching.drawing import GROUP_USERS, Sketches
from tests.privacy.internals import SAMPLES

Floats = NDArray[np.float64]
#: What is audited: from a profile, a number of runs and a random state to outputs, one row per run.
Subject: TypeAlias = Callable[..., Floats]

EPSILON = Fraction(1)
#: People who share no item with anybody, among whom engines are audited.
_STRANGERS = 40


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


def sizes(random_state: RandomState, *, score: str = "cosine", fits: int = 80) -> list[Reached]:
    """Measure cosines of 300 people who share 200 items: the sizes in the denominator are known to a thousandth."""
    common, n_users, pair_fits = 200, 300, 6
    profiles = profiles_of([(np.arange(n_users)[:, None], np.arange(common), 1.0)], common)
    found, rest = list[Floats](), list[Floats]()
    for _ in range(fits):
        model = fitted(profiles, random_state, score=score)
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


#: What one recipient, or everybody, gets to see of a user.
SUBJECTS: dict[str, Subject] = {
    "exact engine, one list": _exact_lists,
    "exact engine, noise for every pair": partial(_exact_lists, every_pair=True),
    "gossip engine, one score": _gossip_scores,
    "sketch engine, one sketch": _sketch_bits,
    "sketch engine, one sketch tuned for a half": partial(_sketch_bits, tuned_for=Fraction(1, 2)),
}

CASES: list[Case] = [
    scale_case("PrivateNeighbors.kneighbors, exact, cosine", sizes),
    scale_case("PrivateNeighbors.kneighbors, exact, squared-cosine", partial(sizes, score="squared-cosine", fits=20)),
    *(
        case
        for name, subject in SUBJECTS.items()
        for case in (
            statistical_case(name, subject, adjacent=without(range(4), ITEMS), claimed=WEIGHTS, samples=SAMPLES),
            weight_zero_case(name, subject, 1, ITEMS),
        )
    ),
]
