"""Which items a model may name, by a pass over all parts: those chosen privately, or whatever somebody counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError
from hetdp.core.randomness import Stream
from hetdp.core.text import counted
from hetdp.profiles import Profiles
from hetdp.profiles.ids import Ids
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, code_profiles
from hetdp.recommender.parts import Parts, PersonDials
from hetdp.recommender.settings import ModelSettings
from hetdp.tables.names import as_named, chosen_names, people_needed

#: The most names that a person can count in full for, where whole people are protected (`max_groups` of tables).
MOST_NAMES = 8
#: Finer steps for people who count a little for many names.
_PERSON_BITS = 15


def choose_names(parts: Parts, settings: ModelSettings, stream: Stream, dials: PersonDials | None = None) -> Ids:
    """Return the items that may be named, sorted, by a pass over all parts.

    Privacy
    -------
    Costs as `chosen_names` says.
    """
    whole_people = settings.unit == "user"
    found = counted_names(parts, dials, whole_people=whole_people)
    steps, groups = _counting(whole_people=whole_people)
    kept = chosen_names(
        found.counts,
        epsilon=settings.names_epsilon,
        delta=settings.names_delta,
        stream=stream,
        steps=steps,
        groups=groups,
    )
    if not kept.any():
        people = counted(people_to_be_named(settings), "person", "people")
        raise DataError(
            "No item passed the privacy threshold, and the epsilon share of names is spent",
            hint=f"An item needs about {people} of weight 1. Use a larger epsilon or delta, more people, or a public "
            "catalogue.",
        )
    return as_named(found.names[kept])


def counted_names(parts: Parts, dials: PersonDials | None = None, *, whole_people: bool = False) -> "NameCounts":
    """Return the items that somebody counts, and the sum of the codes of each. Exact, so private.

    Whole people are counted in steps of their own, 255 * 2**15 of which are one item in full.
    """
    return parts.total(_Naming(dials, whole_people))


@dataclass(frozen=True, eq=False, repr=False)
class NameCounts:
    """Names as texts, sorted, and how much each counts. Exact, so private.

    Attributes
    ----------
    names, counts
        Texts, also of whole numbers: a name that is not chosen must not decide what kind the others are of.
    """

    names: NDArray[np.object_]
    counts: NDArray[np.int64]

    def __add__(self, other: "NameCounts") -> "NameCounts":
        names, places = np.unique(np.concatenate([self.names, other.names]), return_inverse=True)
        counts = np.concatenate([self.counts, other.counts])
        return NameCounts(names, np.bincount(places, weights=counts, minlength=names.size).astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class _Naming:
    """What is done with a part, on whatever machine."""

    dials: PersonDials | None
    whole_people: bool

    def __call__(self, part: Profiles) -> NameCounts:
        coded = code_profiles(part)
        if self.dials is not None:
            coded = self.dials.present(coded, part.user_ids)
        steps = coded.codes.astype(np.int64)
        if self.whole_people:
            steps = _steps_of_people(coded, None if self.dials is None else self.dials.codes(part.user_ids))
        counts = np.bincount(coded.items, weights=steps, minlength=part.n_items).astype(np.int64)
        (there,) = np.nonzero(np.bincount(coded.items, minlength=part.n_items))
        texts = np.array([str(name) for name in part.item_ids[there].tolist()], dtype=object)
        order = np.argsort(texts, kind="stable")
        return NameCounts(texts[order], counts[there][order])


def _steps_of_people(coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
    """Return how much each item of each person counts: u v min(1, m / sum of v), so that a person adds at most u m."""
    users, codes = np.repeat(np.arange(coded.n_users), coded.sizes), coded.codes.astype(np.int64)
    totals = np.bincount(users, weights=codes, minlength=coded.n_users).astype(np.int64)
    most = np.minimum(totals, MOST_NAMES * WEIGHT_STEPS) * (np.int64(WEIGHT_STEPS) if dials is None else dials)
    return np.asarray(codes * most[users] * 2**_PERSON_BITS // (WEIGHT_STEPS * totals[users]), dtype=np.int64)


def _counting(*, whole_people: bool) -> tuple[int, int]:
    """Return the steps of one item in full, and how many of them a protected unit can count in full."""
    return (WEIGHT_STEPS << _PERSON_BITS, MOST_NAMES) if whole_people else (WEIGHT_STEPS, 1)


def people_to_be_named(settings: ModelSettings) -> int:
    """Return how many people, counted in full, an item needs to be named in one of two fits; 0 if names are public."""
    if settings.catalogue != "private":
        return 0
    steps, groups = _counting(whole_people=settings.unit == "user")
    return people_needed(settings.names_epsilon, settings.names_delta, steps=steps, groups=groups)
