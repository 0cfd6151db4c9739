"""The crowd as parts of whole people, which can be passed over more than once: profiles, or files of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hetdp.core.errors import DataError, InvalidInput
from hetdp.profiles import Profiles
from hetdp.profiles.coded import CodedProfiles, code_profiles
from hetdp.profiles.reading.identifiers import Ids, positions

__all__ = ["Part", "Parts", "on_items"]


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
                raise InvalidInput(f"parts must be Profiles or names of files. Got {type(part).__name__} instead.")
            if not isinstance(part, Profiles) and not Path(part).exists():
                raise DataError(f"parts must be files that exist. Got {os.fspath(part)!r} instead.")
        self._given = tuple(given)
        self._read = read

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Profiles]:
        for part in self._given:
            yield part if isinstance(part, Profiles) else self._read(part)


@dataclass(frozen=True, repr=False, eq=False)
class Part:
    """People and what counts of their profiles, on a public catalogue."""

    user_ids: Ids
    coded: CodedProfiles

    def __repr__(self) -> str:
        return f"Part({self.coded.n_users} users)"


def on_items(profiles: Profiles, item_ids: Ids, *, complete: bool) -> Part:
    """Return a part on the items of a catalogue.

    Parameters
    ----------
    profiles
        Its people.
    item_ids
        The catalogue.
    complete
        Whether it must list every item that somebody counts; else others are left out.

    Examples
    --------
    >>> part = on_items(Profiles.from_pairs([1, 1], ["b", "c"]), np.array(["a", "b"], dtype=object), complete=False)
    >>> part.coded.items.tolist(), part.coded.n_items
    ([1], 2)
    """
    places = positions(item_ids, profiles.item_ids)
    coded = code_profiles(profiles)
    if complete:
        unknown = np.unique(coded.items[places[coded.items] < 0]).size
        if unknown:
            raise DataError(
                f"the catalogue must list every item in the data. Got {unknown:,} of {profiles.n_items:,} items that "
                "are not in it instead. Add them, or leave them out of the data."
            )
    return Part(profiles.user_ids, coded.renamed(places, item_ids.size))
