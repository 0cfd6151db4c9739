"""Which items have a name that may be told: a given list, names chosen privately, or whatever somebody counts."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real
from hetdp.core.errors import DataError
from hetdp.core.randomness import Stream
from hetdp.profiles import Profiles
from hetdp.profiles.coded import WEIGHT_STEPS, CodedProfiles, code_profiles, observed_items
from hetdp.profiles.reading.identifiers import Ids
from hetdp.recommender.dials import PersonDials
from hetdp.recommender.parts import Parts
from hetdp.recommender.published import ModelSettings
from hetdp.tables.keys import choose

__all__ = ["CATALOGUES", "MOST_NAMES", "choose_names", "chosen_names", "counted_names"]

CATALOGUES = ("private", "given", "observed")
#: The most names that a person can count in full for, where whole people are protected (`max_groups` of tables).
MOST_NAMES = 8
#: Finer steps for people who count a little for many names.
_PERSON_BITS = 15


def choose_names(parts: Parts, settings: ModelSettings, stream: Stream, dials: PersonDials | None = None) -> Ids:
    """Return the items that may be named, sorted, by a pass over all parts.

    Privacy
    -------
    "private" costs as `chosen_names` says; "observed" gives away every item that somebody counts.
    """
    whole_people = settings.unit == "user"
    names, counts = counted_names(parts, dials, whole_people=whole_people)
    if settings.catalogue == "private":
        kept = chosen_names(
            counts,
            epsilon=settings.names_epsilon,
            delta=settings.names_delta,
            stream=stream,
            whole_people=whole_people,
        )
        names = names[kept]
    if not names.size:
        raise DataError(
            "there must be an item that may be named. Got none instead: too few people count any. Give a catalogue, "
            "or raise epsilon or delta."
        )
    return names


def counted_names(
    parts: Parts, dials: PersonDials | None = None, *, whole_people: bool = False
) -> tuple[Ids, NDArray[np.int64]]:
    """Return the items that somebody counts, sorted, and the sum of the codes of each. Exact, so private.

    Whole people are counted in steps of their own, 255 * 2**15 of which are one item in full.
    """
    found = parts.total(_Naming(dials, whole_people))
    return found.names, found.counts


@dataclass(frozen=True, eq=False, repr=False)
class _NameCounts:
    """Names, sorted, and how much each counts. Exact, so private."""

    names: Ids
    counts: NDArray[np.int64]

    def __add__(self, other: "_NameCounts") -> "_NameCounts":
        mine, theirs = self.names, other.names
        if mine.size and theirs.size and mine.dtype != theirs.dtype:  # a number is a text where another id is one
            mine, theirs = (np.array([str(one) for one in side.tolist()], dtype=object) for side in (mine, theirs))
        if not mine.size or not theirs.size:
            return self if mine.size else other
        names, places = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
        counts = np.concatenate([self.counts, other.counts])
        return _NameCounts(names, np.bincount(places, weights=counts, minlength=names.size).astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class _Naming:
    """What is done with a part, on whatever machine."""

    dials: PersonDials | None
    whole_people: bool

    def __call__(self, part: Profiles) -> _NameCounts:
        coded = code_profiles(part)
        if self.dials is not None:
            coded = self.dials.present(coded, part.user_ids)
        coded, ids = observed_items(coded, part)
        steps = coded.codes.astype(np.int64)
        if self.whole_people:
            steps = _steps_of_people(coded, None if self.dials is None else self.dials.codes(part.user_ids))
        return _NameCounts(ids, np.bincount(coded.items, weights=steps, minlength=ids.size).astype(np.int64))


def _steps_of_people(coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
    """Return how much each item of each person counts: u v min(1, m / sum of v), so that a person adds at most u m."""
    users, codes = np.repeat(np.arange(coded.n_users), coded.sizes), coded.codes.astype(np.int64)
    totals = np.bincount(users, weights=codes, minlength=coded.n_users).astype(np.int64)
    most = np.minimum(totals, MOST_NAMES * WEIGHT_STEPS) * (np.int64(WEIGHT_STEPS) if dials is None else dials)
    return np.asarray(codes * most[users] * 2**_PERSON_BITS // (WEIGHT_STEPS * totals[users]), dtype=np.int64)


def chosen_names(
    counts: NDArray[np.int64], *, epsilon: Fraction, delta: Real, stream: Stream, whole_people: bool = False
) -> NDArray[np.bool_]:
    """Return which items may be named: those that enough people count, whatever the noise.

    Parameters
    ----------
    counts
        Of each item, as `counted_names` returns them; exact.
    epsilon, delta
        What an item of weight 1 (or a person of dial 1) may lose by it.
    stream
        Where the noise comes from.
    whole_people
        Whether a person is protected with all items: up to `MOST_NAMES` of them count in full.

    Privacy
    -------
    Unit: one item of one person, or one person with all items. A weight of v loses at most (epsilon v, delta v), and a
    weight of 0 nothing: an item that nobody counts has no noise drawn for it either. Needs a holder who is trusted with
    exact counts. Theorem: docs/proofs/tables.md, "Keys chosen from the data".

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> counts = np.array([255 * 1000, 255 * 2, 0])
    >>> chosen_names(counts, epsilon=Fraction(1), delta=1e-6, stream=seeded_stream(1)).tolist()
    [True, False, False]
    """
    named = np.zeros(counts.size, dtype=np.bool_)
    (there,) = np.nonzero(counts)
    steps, groups = (WEIGHT_STEPS << _PERSON_BITS, MOST_NAMES) if whole_people else (WEIGHT_STEPS, 1)
    named[there] = choose(
        counts[there].tolist(), epsilon=epsilon, delta=delta, steps=steps, groups=groups, stream=stream
    )
    return named
