"""What one fit has released so far, and what it has promised: nothing is drawn twice, everything is counted."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee, Ledger
from hetdp.accounting.tally import charge
from hetdp.core.errors import InvalidInput
from hetdp.core.home import Home
from hetdp.core.randomness import Stream
from hetdp.neighbors.catalogue import Items
from hetdp.neighbors.engines.base import Engine, Fitted, Levels, Run
from hetdp.neighbors.recall import count_among_neighbors
from hetdp.profiles import Profiles
from hetdp.profiles.holdings import Holdings, holdings
from hetdp.profiles.reading.given import on_fitted_items
from hetdp.profiles.reading.identifiers import Ids

__all__ = ["Account", "Releases", "Split"]

#: Lists of recipients: scores, indices, significance.
Lists: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]
#: What each part may cost, with recommendations at some level (none if it is not given).
Split: TypeAlias = Callable[..., Levels]


@dataclass(frozen=True, repr=False, eq=False)
class Recommended:
    """Items for every user and their scores, and how they were asked for."""

    items: NDArray[np.int32]
    scores: NDArray[np.float64]
    epsilon: Fraction
    significant_only: bool


@dataclass(repr=False, eq=False)
class Account:
    """What one fit has promised so far; kept as long as the model and its copies.

    Attributes
    ----------
    levels
        Of all that was released.
    promised
        What is promised at given levels, by `Engine.promise`.
    names_given_away
        Whether the fit has named whatever somebody counts.
    calls
        How often lists were drawn for so many new recipients.
    """

    levels: Levels
    promised: Callable[..., Guarantee]
    names_given_away: bool
    calls: Counter[int] = field(default_factory=Counter)

    @property
    def guarantee(self) -> Guarantee:
        """The promise of everything released so far."""
        promise = self.promised(self.levels, names_given_away=self.names_given_away)
        for recipients, calls in self.calls.items():
            promise = promise.with_lists(calls * self.levels.pairs, recipients)
        return promise


class Releases:
    """The releases of one fit, shared by all copies of the model.

    Parameters
    ----------
    engine, account
        Who found the lists, and what is promised about them.
    fitted, stream
        What was found, and where the noise comes from.
    split
        What each part costs, with recommendations at some level.
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
        split: Split,
        items: Items,
        ledger: Ledger | None,
        public_sizes: bool,
    ) -> None:
        self.fitted = fitted
        self.recommended: Recommended | None = None
        self.engine = engine
        self._account = account
        self._split = split
        self.stream = stream
        self._ledger = ledger
        self.public_sizes = public_sizes
        self._items = items
        self._named = items if items.public else None
        self._served: dict[bytes, Lists] = {}
        self._home = Home(simulated=stream.simulated)

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
        """The items that may be named so far."""
        return np.empty(0, dtype=object) if self._named is None else self._named.ids

    @property
    def nothing_named(self) -> bool:
        """Whether names were chosen, and none was."""
        return self._items.catalogue == "private" and self._named is not None and not self._named.ids.size

    def lists_for(self, asking: Profiles, threads: int, ledger: Ledger | None) -> Lists:
        """Return the lists of new recipients; those who were served before get the same list again."""
        if not self.engine.newcomers:
            raise InvalidInput(
                "X must be None with engine='gossip', where only members take part (got recipients)",
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
        with self._home.alone():
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
        """Charge lists of so many new recipients, unless they are made of what was published."""
        if self.engine.free_newcomers:
            return
        self._home.require()
        lists = self._account.promised(Levels(self._account.levels.pairs), most_recipients=recipients)
        charge([self._ledger, ledger], lists, "lists of new recipients")
        self._account.calls[recipients] += 1

    def recall(self, neighbors: NDArray[np.int32], hidden: Profiles) -> float:
        """Return which share of what new recipients hide their neighbours have, on average over those who hide any.

        Privacy
        -------
        From exact profiles, without noise: nothing is promised about it.
        """
        found = count_among_neighbors(neighbors, self.fitted.own, holdings(hidden, self._items.ids))
        hiding = hidden.sizes > 0
        return float((found[hiding] / hidden.sizes[hiding]).mean())

    def recommend(
        self, n: int, epsilon: Fraction | None, *, significant_only: bool, run: Run, ledger: Ledger | None
    ) -> Recommended:
        """Return the recommendations, made when first asked for.

        Privacy
        -------
        One release, whoever asks and however often.
        """
        with self._home.alone():
            if self.recommended is None:
                self._home.require()
                before = self._split()
                level = before.pairs + before.sizes + before.names if epsilon is None else epsilon
                levels = self._split(level)
                if not self.engine.free_recommendations:
                    votes = replace(levels, pairs=Fraction(0), sizes=Fraction(0))
                    charge([self._ledger, ledger], self._account.promised(votes), "recommendations")
                    self._account.levels += votes
                named, fitted = self._named, self.fitted
                if named is None:
                    named = self._items.named(levels, self.stream)
                    fitted = fitted.on_items(self._items.places_in(named), named.ids.size)
                items, scores = fitted.recommend(
                    n, epsilon=levels.recommendations, significant_only=significant_only, run=run
                )
                self._named, self.recommended = named, Recommended(items, scores, level, significant_only)
            made = self.recommended
        most, level, only = made.items.shape[1], made.epsilon, made.significant_only
        if n > most or (epsilon is not None and epsilon != level) or only != significant_only:
            raise InvalidInput(
                f"must be at most {most}, epsilon {float(level):g} and significant_only {only}, as when items "
                f"were first recommended: anything else would be another release (got {n}, "
                f"{float(level if epsilon is None else epsilon):g} and {significant_only})",
                parameter="n",
                hint="Fit again to begin anew.",
            )
        return made


def _texts(asking: Profiles) -> list[list[str]]:
    """Return the items that each recipient asks with, in a fixed order."""
    texts = np.array([str(item) for item in asking.item_ids.tolist()], dtype=object)
    return [sorted(texts[row].tolist()) for row in np.split(asking.indices, asking.indptr[1:-1])]
