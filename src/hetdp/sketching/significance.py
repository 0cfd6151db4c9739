"""Does it stand out from noise? The one meaning of significance, for neighbours, sketches and votes alike.

The best of many strangers looks good by luck. So something stands out only if hardly ever *the best of all candidates
compared* gets as far by noise alone. If one candidate does with probability t, the best of n does with probability
1 - (1 - t)**n. The significance is 1 minus that.
"""

import math
import sys

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: What noise alone gives less often than this, to the best of all candidates, counts as standing out.
RARE = 0.05
#: The same, said of the significance: from here on it is more than chance.
SIGNIFICANT = 1.0 - RARE


def binomial_tail(counts: ArrayLike, trials: ArrayLike, chance: float) -> NDArray[np.float64]:
    """Return the probability of at least `counts` successes in `trials` independent trials; nan stays nan.

    The law itself, not a normal approximation, which is far too small for rare successes.
    """
    wanted, size = np.asarray(counts, dtype=np.float64), np.asarray(trials, dtype=np.int64)
    sizes, kind = np.unique(size, return_inverse=True)
    laws = [_tails(int(one), chance) for one in sizes]
    starts = np.cumsum([0, *(law.size for law in laws[:-1])])[kind].reshape(size.shape)
    places = np.clip(np.nan_to_num(wanted), 0, size + 1).astype(np.int64)
    return np.where(np.isnan(wanted), np.nan, np.concatenate(laws)[starts + places])


def _tails(trials: int, chance: float) -> NDArray[np.float64]:
    """Return P[at least c] for c = 0, ..., trials + 1. Without scipy, which would take a node 25 MB and a moment."""
    done = np.arange(trials)
    # As good as the 0 that a huge epsilon leaves of it, or as the 1 of what everybody shows.
    chance = min(max(chance, sys.float_info.min), 1.0 - sys.float_info.epsilon)
    # Each probability from the one before it, in logarithms, which do not underflow.
    steps = np.log((trials - done) / (done + 1)) + (math.log(chance) - math.log1p(-chance))
    law = np.exp(trials * math.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)]))
    tails = np.minimum(np.cumsum(law[::-1])[::-1], 1.0)
    tails[0] = 1.0
    return np.append(tails, 0.0)


def best_by_chance(tails: ArrayLike, candidates: int) -> NDArray[np.float64]:
    """Return how likely the best of `candidates`, each with probability `tails`, gets there by noise alone."""
    return -np.expm1(_log_of_nobody(tails, candidates))


def significance(tails: ArrayLike, candidates: int) -> NDArray[np.float64]:
    """Return how likely none of `candidates` gets there by noise alone: 1 - `best_by_chance`, as exactly."""
    return np.exp(_log_of_nobody(tails, candidates))


def rare_tail(candidates: int) -> float:
    """Return the probability of one candidate at which the best of `candidates` just stands out."""
    return -math.expm1(math.log1p(-RARE) / candidates)


def _log_of_nobody(tails: ArrayLike, candidates: int) -> NDArray[np.float64]:
    """Return the logarithm of (1 - tails)**candidates."""
    with np.errstate(divide="ignore"):  # a tail of 1 gives minus infinity, and that is right
        return candidates * np.log1p(-np.asarray(tails, dtype=np.float64))
