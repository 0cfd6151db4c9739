"""What one fit has released so far, on which items, and what it has promised: nothing is drawn twice."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee, Ledger
from hetdp.accounting.tally import charge
from hetdp.core.errors import InvalidInput
from hetdp.core.fork_guard import ForkGuard
from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.base import Engine, Fitted, Run, Shares
from hetdp.profiles import Profiles
from hetdp.profiles.ids import Ids, positions
from hetdp.profiles.steps import CodedProfiles, Holdings, code_profiles, holdings, observed_items, on_fitted_items
from hetdp.tables.names import as_named, chosen_names

#: Lists of recipients: scores, indices, significance.
Lists: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]


NOTHING_NAMED = (
    "No item passed the privacy threshold, so the sketches are empty. Use a larger epsilon or delta, more people, or a "
    "public catalogue."
)


@dataclass(frozen=True, eq=False, repr=False)
class Items:
    """Items, and the profiles on them. As private as the profiles, unless names are public.

    Attributes
    ----------
    ids, coded
        The items, and who counts which of them.
    catalogue
        Where names come from: one of `CATALOGUES`.
    public
        Whether all of `ids` may be named.
    guessed
        Whether the kind of the ids was guessed, from a text file.
    """

    ids: Ids
    coded: CodedProfiles
    catalogue: str
    public: bool
    guessed: bool

    @classmethod
    def of(cls, profiles: Profiles, catalogue: str) -> Self:
        """Return the items of a given catalogue, or, privately, those that somebody counts."""
        coded, ids = code_profiles(profiles), profiles.item_ids
        if catalogue == "private":
            coded, ids = observed_items(coded, profiles)
        return cls(ids, coded, catalogue, catalogue == "given", profiles.guessed)

    def named(self, shares: Shares, stream: Stream) -> Self:
        """Return those that may be named: all if names are public, else those that enough people count.

        Privacy
        -------
        An item of weight v loses at most (shares.names v, shares.names_delta v) by it (`hetdp.tables.names`).
        """
        if self.public:
            return self
        counts = np.bincount(self.coded.items, weights=self.coded.codes, minlength=self.ids.size).astype(np.int64)
        kept = chosen_names(counts, epsilon=shares.names, delta=shares.names_delta, stream=stream)
        ids = self.ids[kept]
        # In a text file, an item that is not named must not decide whether the others are numbers.
        named = as_named(ids) if self.guessed else ids
        return replace(self, ids=named, coded=self.coded.renamed(positions(named, self.ids), named.size), public=True)


@dataclass(repr=False, eq=False)
class Account:
    """What one fit has promised so far; kept as long as the model and its copies.

    Attributes
    ----------
    shares
        The epsilon shares of the fit.
    promised
        What is promised for given shares, by `Engine.promise`.
    calls
        Calls that drew lists for new recipients, by the number of recipients.
    """

    shares: Shares
    promised: Callable[..., Guarantee]
    calls: Counter[int] = field(default_factory=Counter)

    @property
    def guarantee(self) -> Guarantee:
        """The promise of everything released so far."""
        promise = self.promised(self.shares)
        for recipients, calls in self.calls.items():
            promise = promise.with_lists(calls * self.shares.pairs, recipients)
        return promise


class Releases:
    """The releases of one fit, shared by all copies of the model.

    Parameters
    ----------
    engine, account
        Who found the lists, and what is promised about them.
    fitted, stream
        What was found, and where the noise comes from.
    items
        The items fitted; private where names are.
    ledger
        What the fit was charged to: whatever comes after is, too, and to the one that the model has by then.
    public_sizes
        Whether sizes of profiles are taken as public.

    Privacy
    -------
    A new recipient who asks with the same items gets the same list again: fresh noise could be averaged away. Copies of
    the process (`fork`) show what was released before, and release nothing new: the others could not know.
    """

    def __init__(
        self,
        engine: Engine,
        account: Account,
        fitted: Fitted,
        stream: Stream,
        *,
        items: Items,
        ledger: Ledger | None,
        public_sizes: bool,
    ) -> None:
        self.fitted = fitted
        self.engine = engine
        self._account = account
        self.stream = stream
        self._ledger = ledger
        self.public_sizes = public_sizes
        self._items = items
        self._served: dict[bytes, Lists] = {}
        self._fork_guard = ForkGuard(simulated=stream.simulated)

    def __repr__(self) -> str:
        return f"Releases({self.engine.name})"

    def __deepcopy__(self, _: object) -> Self:
        """Return these releases themselves: copies of a model show, count and continue the same ones."""
        return self

    @property
    def simulated(self) -> bool:
        """Whether the noise comes from a seed."""
        return self.stream.simulated

    @property
    def names(self) -> Ids:
        """The items that may be named."""
        return self._items.ids if self._items.public else np.empty(0, dtype=object)

    @property
    def nothing_named(self) -> bool:
        """Whether names were chosen, and none was."""
        return self._items.catalogue == "private" and self._items.public and not self._items.ids.size

    def lists_for(self, asking: Profiles, threads: int, ledger: Ledger | None) -> Lists:
        """Return the lists of new recipients; those who were served before get the same list again."""
        if not self.engine.newcomers:
            raise InvalidInput(
                "must be None with engine='gossip', where only members take part",
                parameter="X",
                hint="Use engine='exact' or 'sketch'.",
            )
        if not asking.n_users:
            k = self.fitted.search.k
            return np.empty((0, k)), np.empty((0, k), dtype=np.int32), np.empty((0, k))
        recipients, sizes = on_fitted_items(
            asking, self._items.ids, public_sizes=self.public_sizes, private=not self._items.public
        )
        rows = np.split(recipients.items, recipients.indptr[1:-1])
        # With private names even whether two questions are one must not depend on which of their items were fitted.
        asked = [row.tolist() for row in rows] if self._items.public else _texts(asking)
        keys = [hashlib.blake2b(repr(row).encode(), digest_size=16).digest() for row in asked]
        with self._fork_guard.alone():
            fresh = {key: place for place, key in enumerate(keys) if key not in self._served}
            if fresh:
                self._charge_lists(len(fresh), ledger)
                places = np.array(list(fresh.values()), dtype=np.int64)
                starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(recipients.sizes[places])])
                new = Holdings(starts, np.concatenate([rows[place] for place in places]))
                found = self.fitted.for_recipients(new, Run(self.stream, threads))
                rows_found = zip(found.lists.scores, found.lists.indices, found.significance, strict=True)
                self._served.update(zip(fresh, rows_found, strict=True))
            served = [self._served[key] for key in keys]
        scores = np.stack([one[0] for one in served]) * self.fitted.own_scale(sizes)[:, None]
        return scores, np.stack([one[1] for one in served]), np.stack([one[2] for one in served])

    def _charge_lists(self, recipients: int, ledger: Ledger | None) -> None:
        """Charge the lists of new recipients, unless they are made of what was published."""
        if self.engine.free_newcomers:
            return
        self._fork_guard.require()
        lists = self._account.promised(Shares(self._account.shares.pairs), most_recipients=recipients)
        charge([self._ledger, ledger], lists, "lists of new recipients")
        self._account.calls[recipients] += 1

    def recall(self, neighbors: NDArray[np.int32], hidden: Profiles) -> float:
        """Return which share of what new recipients hide their neighbours have, on average over those who hide any.

        Privacy
        -------
        From exact profiles, without noise: nothing is promised about it.
        """
        found = _count_among_neighbors(neighbors, self.fitted.own, holdings(hidden, self._items.ids))
        hiding = hidden.sizes > 0
        return float((found[hiding] / hidden.sizes[hiding]).mean())


def _texts(asking: Profiles) -> list[list[str]]:
    """Return the items that each recipient asks with, in a fixed order."""
    texts = np.array([str(item) for item in asking.item_ids.tolist()], dtype=object)
    return [sorted(texts[row].tolist()) for row in np.split(asking.indices, asking.indptr[1:-1])]


def _count_among_neighbors(neighbors: NDArray[np.integer], own: Holdings, hidden: Holdings) -> NDArray[np.int64]:
    """Return how many hidden items of each recipient at least one neighbour has.

    Parameters
    ----------
    neighbors
        Positions of the neighbours, a row for each recipient; -1 where there is none.
    own
        What those who may be neighbours have.
    hidden
        What each recipient hides, on the same catalogue.

    Privacy
    -------
    Read from exact rows: as private as the profiles.

    Examples
    --------
    >>> own = Holdings(np.array([0, 2, 3]), np.array([0, 1, 2], dtype=np.int32))
    >>> hidden = Holdings(np.array([0, 2, 3]), np.array([1, 2, 0], dtype=np.int32))
    >>> _count_among_neighbors(np.array([[0, 1], [1, -1]]), own, hidden)
    array([2, 0])
    """
    found = np.zeros(hidden.n_users, dtype=np.int64)
    for recipient, row in enumerate(neighbors):
        wanted = hidden.items[hidden.indptr[recipient] : hidden.indptr[recipient + 1]]
        theirs = [own.items[own.indptr[one] : own.indptr[one + 1]] for one in row[row >= 0]]
        found[recipient] = np.isin(wanted, np.concatenate(theirs)).sum() if theirs else 0
    return found
