"""The crowd as parts of whole people, which can be passed over more than once: profiles, or files of them."""

import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.ledger.identity import canonical_ids
from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.text import counted
from hetdp.profiles import Profiles
from hetdp.profiles.ids import Ids, positions
from hetdp.profiles.steps import CodedProfiles, weight_codes
from hetdp.recommender.model import Evidence
from hetdp.sketching.drawing import person_keys

#: Whatever can be added to its like.
Addable = TypeVar("Addable")


class Parts:
    """Parts of a crowd, one after the other.

    Parameters
    ----------
    given
        Profiles, or files that `read` takes.
    read
        How a file is read.
    """

    def __init__(
        self,
        given: Sequence[Profiles | str | os.PathLike[str]],
        read: Callable[[str | os.PathLike[str]], Profiles] = Profiles.read,
    ) -> None:
        for part in given:
            if not isinstance(part, Profiles | str | os.PathLike):
                raise InvalidInput("must be Profiles or names of files", parameter="parts", got=type(part))
            if not isinstance(part, Profiles) and not Path(part).exists():
                raise DataError(f"File not found: {os.fspath(part)}")
        if not given:
            raise InvalidInput("must be at least one", parameter="parts")
        self._given = tuple(given)
        self._read = read
        self._progress: Callable[[int, int], None] | None = None
        self._done, self._steps = 0, 0

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Profiles]:
        for part in self._given:
            yield part if isinstance(part, Profiles) else self._read(part)

    def close(self) -> None:
        """Let go of whatever else reads them."""

    def watch(self, progress: Callable[[int, int], None] | None, passes: int) -> None:
        """Tell how far the next passes have come: how many parts were passed over, of how many."""
        self._progress, self._done, self._steps = progress, 0, passes * len(self)

    def _step(self, *_: object) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._done, self._steps))

    def total(self, work: Callable[[Profiles], Addable]) -> Addable:
        """Return the sum of what some work makes of each part; it is the same in any order."""

        def worked() -> Iterator[Addable]:
            for part in self:
                yield work(part)
                self._step()

        return reduce(operator.add, worked())


class Participants:
    """Who has come so far, in all parts: whole people, each of them once.

    Someone who comes twice would publish two sketches, or count twice in a matrix, and lose twice as much.

    Parameters
    ----------
    secret
        Of a fit, 32 bytes: keys cannot be told from chance without it.

    Examples
    --------
    >>> people = Participants(bytes(32))
    >>> keys = people.add(np.array([1, 2]))
    >>> len(people)
    2
    >>> people.add(np.array([" 2"], dtype=object))
    Traceback (most recent call last):
    ...
    hetdp.core.errors.DataError: Each person must be in one part only (private: 1 person came before). ...
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._keys = _sortable(np.empty((0, 2), dtype=np.uint64))

    def __len__(self) -> int:
        return self._keys.size

    def __repr__(self) -> str:
        return f"Participants(private: {len(self)})"

    def are(self, others: "Participants") -> bool:
        """Return whether others, by the same secret, are the same people."""
        return np.array_equal(self._keys, others._keys)  # noqa: SLF001  (same class)

    def add(self, user_ids: Ids) -> NDArray[np.uint64]:
        """Add the people of a part, and return their keys, in their order."""
        keys = keys_of(user_ids, self._secret)
        self.add_keys(keys)
        return keys

    def add_keys(self, keys: NDArray[np.uint64]) -> None:
        """Add people by their keys; nobody is added if one of them came before."""
        known = np.concatenate([self._keys, _sortable(keys)])
        known.sort(kind="stable")  # a merge, as most of it is sorted
        repeated = int((known[1:] == known[:-1]).sum())
        if repeated:
            raise DataError(
                f"Each person must be in one part only (private: {counted(repeated, 'person', 'people')} came before)",
                hint="Put all items of a person into one file; 1, 1.0 and ' 1' are one person.",
            )
        self._keys = known


def keys_of(user_ids: Ids, secret: bytes) -> NDArray[np.uint64]:
    """Return the keys of people (`sketching.drawing.person_keys`) by their canonical ids: 1, 1.0 and " 1" are one."""
    return person_keys(secret, canonical_ids(user_ids, "user ids").labels())


def _sortable(keys: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Return each key as 11 bytes, which numpy can sort; a zero at the end is as good as none."""
    return np.ascontiguousarray(keys.astype("<u8").view(np.uint8)[:, :11]).view("S11").reshape(-1)


@dataclass(frozen=True, repr=False, eq=False)
class Part:
    """People, what counts of their profiles on a public catalogue, their own dials in steps of 1/255, their keys."""

    user_ids: Ids
    coded: CodedProfiles
    dials: NDArray[np.uint8] | None = None
    keys: NDArray[np.uint64] | None = None

    def __repr__(self) -> str:
        return f"Part(private: {self.coded.n_users} users)"


def on_items(coded: CodedProfiles, own_ids: Ids, item_ids: Ids, *, complete: bool) -> CodedProfiles:
    """Return what counts of some profiles on the items of a catalogue.

    Parameters
    ----------
    coded, own_ids
        What counts, and the items it is about.
    item_ids
        The catalogue.
    complete
        Whether it must list every item that somebody counts; else others are left out.

    Examples
    --------
    >>> from hetdp.profiles.steps import code_profiles
    >>> profiles = Profiles.from_pairs([1, 1], ["b", "c"])
    >>> catalogue = np.array(["a", "b"], dtype=object)
    >>> placed = on_items(code_profiles(profiles), profiles.item_ids, catalogue, complete=False)
    >>> placed.items.tolist(), placed.n_items
    ([1], 2)
    """
    places = positions(item_ids, own_ids)
    if complete:
        unknown = np.unique(coded.items[places[coded.items] < 0]).size
        if unknown:
            raise DataError(
                f"The catalogue must list every item in the data (private: {unknown:,} are not in it)",
                hint="Add them, or leave them out of the data.",
            )
    return coded.renamed(places, item_ids.size)


class PersonDials:
    """How much each person counts, in steps of 1/255, rounded down.

    Parameters
    ----------
    user_ids
        The people.
    weights
        A number in [0, 1] for each of them.

    Privacy
    -------
    A dial is the person's own, given from outside. It is never computed from what the person has: else one item of
    weight 0 would move all the others.

    Examples
    --------
    >>> dials = PersonDials(np.array(["ann", "bob"], dtype=object), [0.5, 1])
    >>> dials.codes(np.array(["bob", "ann"], dtype=object)).tolist()
    [255, 127]
    """

    def __init__(self, user_ids: Ids, weights: Sequence[float] | NDArray[np.floating]) -> None:
        try:
            values = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput("must be numbers in [0, 1]", parameter="user_weights") from None
        if values.shape != (user_ids.size,):
            raise InvalidInput(
                f"must be one number per person ({user_ids.size:,})", parameter="user_weights", got=values.shape
            )
        if not ((values >= 0) & (values <= 1)).all():
            raise InvalidInput("must be numbers in [0, 1]", parameter="user_weights")
        self._ids, self._codes = user_ids, weight_codes(values)

    def __repr__(self) -> str:
        return "PersonDials()"

    def codes(self, user_ids: Ids) -> NDArray[np.uint8]:
        """Return the dial of each of some people."""
        places = positions(self._ids, user_ids)
        if (places < 0).any():
            raise InvalidInput(
                f"must hold a weight for every person (private: {int((places < 0).sum()):,} have none)",
                parameter="user_weights",
            )
        return np.asarray(self._codes[places])

    def present(self, coded: CodedProfiles, user_ids: Ids) -> CodedProfiles:
        """Return profiles in which people of dial 0 have nothing, so that they leave no trace."""
        keep = np.repeat(self.codes(user_ids) > 0, coded.sizes)
        if keep.all():
            return coded
        indptr = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[coded.indptr]
        return CodedProfiles(indptr, coded.items[keep], coded.codes[keep], coded.n_items)


class Learning(ABC):
    """How a release gets its evidence from a crowd that comes part by part, in one or several passes."""

    @abstractmethod
    def work(self, head: NDArray[np.int32] | None) -> Callable[[Part], Any]:
        """Return what is to be done with each part, here or elsewhere: its results add up to what `take` takes.

        Without a head, items are counted, for the choice of one; a pass with it follows, over the same people.
        """

    @abstractmethod
    def take(self, sums: Any) -> None:  # noqa: ANN401  (each release has sums of its own)
        """Take what `work` has made of some people: all of it or nothing."""

    @property
    @abstractmethod
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, noise included: public."""

    @abstractmethod
    def evidence(self) -> Evidence:
        """Return what is published about the head. Noise that is drawn here is drawn once."""

    def count(self, part: Part) -> None:
        """Count the items of a part."""
        self.take(self.work(None)(part))

    def add(self, part: Part, head: NDArray[np.int32]) -> None:
        """Add a part."""
        self.take(self.work(head)(part))
