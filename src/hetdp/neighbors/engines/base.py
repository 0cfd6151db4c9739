"""What an engine is: its name, the scores it knows, its search and its promise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import ADDED
from hetdp.accounting.guarantee import Guarantee, Recipients
from hetdp.core.checks import float_up
from hetdp.core.randomness import Stream
from hetdp.neighbors.scores import SCORES, Scoring, items_to_stand_out
from hetdp.profiles import Profiles
from hetdp.profiles.steps import CodedProfiles, Holdings
from hetdp.sketching.bit_law import USUAL_TUNING

#: Called with how much is done and how much there is.
Progress: TypeAlias = Callable[[int, int], None]

#: Recipients handled together, with a random stream of their own: the same for any number of threads.
_BATCH = 512

_SWAPPED = "swapping an item of a user for another one (sizes of profiles are declared public)"
_OWN = "A list reveals much about the profile of its recipient: it is for them only."
_USERS = "Names of users are taken as public."

# Bytes of a fit, measured with benchmarks/populations.py.
_FIXED_BYTES = 250 * 2**20
_PAIR_BYTES = 24
_LIST_ENTRY_BYTES = 48
_ID_BYTES = 100


@dataclass(frozen=True)
class Search:
    """What an engine is asked for.

    Attributes
    ----------
    k
        Neighbours of each user.
    cycles
        Of a protocol that has some.
    combine
        How much a common item counts in gossip: the "smaller" of both weights, or their "product" (the paper).
    watched
        For how many users gossip tells how far it got; None lets it decide.
    tuned_for
        The public weight that sketches are tuned for (`sketching.bit_law`).
    """

    k: int
    cycles: int = 20
    combine: str = "smaller"
    watched: int | None = None
    tuned_for: Fraction = USUAL_TUNING


@dataclass(frozen=True, eq=False)
class Run:
    """Where noise comes from, how many threads there are, and who wants to know how far it is."""

    stream: Stream
    threads: int = 1
    progress: Progress | None = None


@dataclass(frozen=True)
class Shares:
    """The epsilon shares of a fit: what each step may cost an item of weight 1.

    Attributes
    ----------
    pairs
        Comparing people, or publishing sketches.
    sizes
        Noisy sizes of profiles.
    names, names_delta
        Choosing names of items, and the delta of that.
    """

    pairs: Fraction
    sizes: Fraction = Fraction(0)
    names: Fraction = Fraction(0)
    names_delta: Fraction = Fraction(0)


@dataclass(frozen=True, repr=False, eq=False)
class NeighborLists:
    """One list per recipient, best first.

    Attributes
    ----------
    indices
        Positions of the neighbours, (n_users, k); -1 where there is none.
    scores
        Their noisy scores, in whole items for an overlap; nan where there is none.
    """

    indices: NDArray[np.int32]
    scores: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"NeighborLists({self.indices.shape[0]} users, k={self.indices.shape[1]})"


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """What an engine has found.

    Attributes
    ----------
    coded, own
        The profiles as everybody may learn from them, and the exact rows of the recipients, for their own lists only.
    scoring, search
        How pairs were scored, and what was asked for.
    lists
        The neighbours.
    own_factors
        Of the recipients; None where they are the users themselves.
    report
        What the engine says about itself, as plain values.
    """

    coded: CodedProfiles
    own: Holdings
    scoring: Scoring
    search: Search
    lists: NeighborLists
    own_factors: NDArray[np.float64] | None = field(default=None, kw_only=True)
    report: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    @cached_property
    def significance(self) -> NDArray[np.float64]:
        """How sure it is that each neighbour is more than chance, from its score without the recipient's own factor."""
        members = self.own_factors is None
        own = self.scoring.factors if self.own_factors is None else self.own_factors
        return self.scoring.significance(self.lists.scores, own, self.coded.n_users - members)

    def for_recipients(self, recipients: Holdings, run: Run) -> "Fitted":
        """Return the lists of new recipients, before their own sizes are taken into account (`own_scale`).

        Only where the engine serves `newcomers`.
        """
        raise NotImplementedError

    def own_scale(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the scores of recipients of such sizes are multiplied by; it changes no order."""
        score = self.scoring.score
        return score.at_the_end(score.factors(sizes))


class Engine(ABC):
    """One way to find neighbours, and everything that is to be known about it.

    To add one, write a folder with an object of a class like this in `engine.py`, add its cases to
    `neighbors/audit_cases.py` and `tests/privacy/internals`, and name it in `hetdp.neighbors.engines`. Modules of
    engines import their kernels when they run: names and help texts must not wait for a compiler.

    Attributes
    ----------
    name, help
        What users call it, and what it does in a few words.
    scores, limits
        Names of the scores it knows; in words, that it does not know the others.
    has_cycles
        Whether `Search.cycles` means something.
    needs_names
        Whether lists of people need names of items: sketches have a bit for each.
    adversary
        Against whom its promise holds.
    together
        Whether it makes no difference how many recipients collude.
    newcomers, free_newcomers
        Whether lists can be made for people who were not fitted, and whether they cost nothing.
    local
        Whether noise is added before anything leaves its owner, if names of items are given.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    scores: ClassVar[Sequence[str]] = tuple(SCORES)
    limits: ClassVar[str] = ""
    has_cycles: ClassVar[bool] = False
    needs_names: ClassVar[bool] = False
    adversary: ClassVar[str] = "everybody together, whatever else they know"
    together: ClassVar[bool] = True
    newcomers: ClassVar[bool] = False
    free_newcomers: ClassVar[bool] = False
    local: ClassVar[bool] = False

    @abstractmethod
    def fit(
        self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, own: Holdings | None = None
    ) -> Fitted:
        """Find the neighbours of every user, whose exact rows are `own`; None for what counts of them.

        Privacy
        -------
        At most `pair_epsilon` v_i against one recipient, one peer, or everybody, as the engine promises.
        """

    @abstractmethod
    def _search_bytes(self, popularity: NDArray[np.int64], n_users: int) -> int:
        """Return the bytes of a search where `popularity` users count each item."""

    def memory_bytes(self, profiles: Profiles, k: int) -> int:
        """Return about how many bytes a fit of profiles takes at its peak. Exact, so private."""
        popularity = np.bincount(profiles.indices[profiles.weights > 0], minlength=profiles.n_items)
        return (
            _FIXED_BYTES
            + self._search_bytes(popularity, profiles.n_users)
            + _PAIR_BYTES * profiles.n_pairs
            + _LIST_ENTRY_BYTES * profiles.n_users * k
            + _ID_BYTES * (profiles.n_users + profiles.n_items)
        )

    def caveat(self, n_users: int, cycles: int) -> str | None:  # noqa: ARG002  (for those that have one)
        """Return what should be known before `n_users` are searched, for the command line."""
        return None

    def shares(self, pairs: Fraction, sizes: Fraction = Fraction(0), *, names_delta: Fraction = Fraction(0)) -> Shares:
        """Return the epsilon shares of a fit where items are named with `names_delta`; 0 if names are public.

        Sketches need names (`needs_names`) and spend a share of `pairs` on them.
        """
        from hetdp.tables.names import NAMES_SHARE, check_names  # with tables, which need not load for a help text

        if not names_delta or not self.needs_names:
            return Shares(pairs, sizes)
        names = NAMES_SHARE * pairs
        check_names(names, names_delta)
        return Shares(pairs - names, sizes, names, names_delta)

    def costs(self, shares: Shares) -> tuple[Fraction, Fraction]:
        """Return the loss per recipient, and the loss against all recipients together."""
        return shares.pairs, shares.sizes

    def remark(self, per_recipient: Fraction, most_recipients: int, factor: str) -> str | None:  # noqa: ARG002
        """Return what else its promise should say."""
        return None

    def promise(
        self,
        shares: Shares,
        *,
        most_recipients: int,
        public_sizes: bool = False,
        simulated: bool = False,
    ) -> Guarantee:
        """Return the promise of neighbour lists, before or after the fact.

        Parameters
        ----------
        shares
            What is or would be released.
        most_recipients
            How many lists there are that an item has a part in (for gossip: peers that a user may be compared with).
        public_sizes
            Whether sizes of profiles are declared public.
        simulated
            Whether any noise came from a seed, in which case nothing is promised.
        """
        from hetdp.tables.names import HOLDER, OTHERS

        factor = "(v_i + v_j)" if public_sizes else "v_i"
        per_recipient, shared = self.costs(shares)
        named = HOLDER if shares.names else None
        remarks = (self.remark(per_recipient, most_recipients, factor), named, _OWN, _USERS)
        lists = Guarantee.of_lists(
            Recipients(per_recipient, shared, most_recipients, together=self.together),
            adjacent=_SWAPPED if public_sizes else ADDED["item"],
            adversary=OTHERS if shares.names else self.adversary,
            factor=factor,
            remarks=tuple(remark for remark in remarks if remark is not None),
        )
        trust = "local" if self.local and not shares.names else "holder"
        return replace(lists, delta=float_up(shares.names_delta), trust=trust, simulated=simulated)

    def items_to_stand_out(
        self,
        *,
        n_users: int,
        epsilon: Fraction,
        tuned_for: Fraction = USUAL_TUNING,  # noqa: ARG002  (of sketches)
    ) -> float | dict[str, float]:
        """Return how many common items a neighbour needs to stand out, or that for some sizes of a profile."""
        return items_to_stand_out(n_users=n_users, epsilon=epsilon)


def in_batches(
    total: int,
    run: Callable[[int, int, Stream], None],
    *,
    stream: Stream,
    threads: int,
    progress: Progress | None,
) -> None:
    """Call `run(begin, end, stream of its own)` for batches of recipients, on several threads, in any order."""
    children = {begin: stream.child() for begin in range(0, total, _BATCH)}

    def one(begin: int, end: int) -> None:
        run(begin, end, children[begin])

    over_batches(total, one, threads=threads, progress=progress)


def over_batches(total: int, run: Callable[[int, int], None], *, threads: int, progress: Progress | None) -> None:
    """Call `run(begin, end)` for batches of recipients, on threads beside this one, so that Ctrl-C is heard.

    Examples
    --------
    >>> done = []
    >>> over_batches(5, lambda begin, end: done.append(end - begin), threads=1, progress=None)
    >>> done
    [5]
    """
    done = 0

    def one(begin: int) -> int:
        end = min(begin + _BATCH, total)
        run(begin, end)
        return end - begin

    pool = ThreadPoolExecutor(threads)
    try:
        for finished in pool.map(one, range(0, total, _BATCH)):
            done += finished
            if progress is not None:
                progress(done, total)
    finally:
        # After Ctrl-C, batches that have not begun are not worth waiting for.
        pool.shutdown(cancel_futures=True)
