"""Which items have a name that may be told: a given list, names chosen privately, or whatever somebody counts."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real
from hetdp.core.errors import DataError
from hetdp.core.randomness import Stream
from hetdp.profiles.coded import WEIGHT_STEPS, code_profiles, observed_items
from hetdp.profiles.reading.identifiers import Ids
from hetdp.recommender.parts import Parts
from hetdp.recommender.published import ModelSettings
from hetdp.tables.keys import choose

__all__ = ["CATALOGUES", "choose_names", "chosen_names", "counted_names"]

CATALOGUES = ("private", "given", "observed")


def choose_names(parts: Parts, settings: ModelSettings, stream: Stream) -> Ids:
    """Return the items that may be named, sorted, by a pass over all parts.

    Privacy
    -------
    "private" costs as `chosen_names` says; "observed" gives away every item that somebody counts.
    """
    names, counts = counted_names(parts)
    if settings.catalogue == "private":
        kept = chosen_names(counts, epsilon=settings.names_epsilon, delta=settings.delta, stream=stream)
        names = names[kept]
    if not names.size:
        raise DataError(
            "there must be an item that may be named. Got none instead: too few people count any. Give a catalogue, "
            "or raise epsilon or delta."
        )
    return names


def counted_names(parts: Parts) -> tuple[Ids, NDArray[np.int64]]:
    """Return the items that somebody counts, sorted, and the sum of the codes of each. Exact, so private."""
    names, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for part in parts:
        coded, ids = observed_items(code_profiles(part), part)
        own = np.bincount(coded.items, weights=coded.codes, minlength=ids.size).astype(np.int64)
        if names.size and ids.size and names.dtype != ids.dtype:  # a number is a text where another id is one
            names, ids = (np.array([str(one) for one in side.tolist()], dtype=object) for side in (names, ids))
        joined, places = np.unique(np.concatenate([names, ids]) if names.size else ids, return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([counts, own]), minlength=joined.size).astype(np.int64)
        names = joined
    return names, counts


def chosen_names(counts: NDArray[np.int64], *, epsilon: Fraction, delta: Real, stream: Stream) -> NDArray[np.bool_]:
    """Return which items may be named: those that enough people count, whatever the noise.

    Parameters
    ----------
    counts
        The sum of the codes of each item, in steps of 1/255; exact.
    epsilon, delta
        What an item of weight 1 may lose by it.
    stream
        Where the noise comes from.

    Privacy
    -------
    Unit: one item of one person. An item of weight v loses at most (epsilon v, delta v), and one of weight 0 nothing:
    an item that nobody counts has no noise drawn for it either. Needs a holder who is trusted with exact counts.
    Theorem: docs/proofs/tables.md, "Keys chosen from the data".

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> counts = np.array([255 * 1000, 255 * 2, 0])
    >>> chosen_names(counts, epsilon=Fraction(1), delta=1e-6, stream=seeded_stream(1)).tolist()
    [True, False, False]
    """
    named = np.zeros(counts.size, dtype=np.bool_)
    (there,) = np.nonzero(counts)
    named[there] = choose(
        counts[there].tolist(), epsilon=epsilon, delta=delta, steps=WEIGHT_STEPS, groups=1, stream=stream
    )
    return named
