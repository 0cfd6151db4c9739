"""What an engine is: its name, the scores it knows, its search, its promise, what it takes, how it is audited."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import ADDED
from hetdp.accounting.guarantee import Guarantee, Recipients
from hetdp.core.checks import whole
from hetdp.core.randomness import Stream
from hetdp.mechanisms.plan import float_up
from hetdp.neighbors.scores import SCORES, Scoring, items_to_stand_out
from hetdp.profiles import Profiles
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.holdings import Holdings
from hetdp.sketching.law import USUAL_TUNING
from hetdp.sketching.significance import SIGNIFICANT

__all__ = [
    "POPULARITY_SHARE",
    "VOTES_NAMES_SHARE",
    "Effort",
    "Engine",
    "Fitted",
    "Levels",
    "NeighborLists",
    "Progress",
    "Run",
    "Search",
    "in_batches",
    "over_batches",
]

#: Called with how much is done and how much there is.
Progress: TypeAlias = Callable[[int, int], None]

#: Recipients handled together, with a random stream of their own: the same for any number of threads.
_BATCH = 512
#: Part of the level of recommendations that the popularity of items takes: it counts everybody, so it needs little.
POPULARITY_SHARE = Fraction(1, 10)
#: Part of it that names of items take where they are chosen; measured, docs/guide/neighbors.md.
VOTES_NAMES_SHARE = Fraction(1, 5)

_SWAPPED = "swapping an item of a user for another one (sizes of profiles are declared public)"
_OWN = "A list is made from the own profile of its recipient, and says so much about it: it is for them only."
_USERS = "Names of users are taken as public."

# Seconds on one thread and bytes, measured on one machine with benchmarks/populations.py; right within a factor of
# three or so on another.
_SECONDS_PER_PAIR = 3e-7  # coding, inverting
_SECONDS_PER_ENTRY = 1e-6  # finding one neighbour of one user
_SECONDS_PER_VOTE_ITEM = 1.2e-9  # looking at one item for one user
_SECONDS_PER_VOTE = 2e-8  # one item of one neighbour of one user
_FIXED_BYTES = 250 * 2**20
_CODED_PAIR_BYTES = 24
_LIST_ENTRY_BYTES = 48
_ID_BYTES = 100


@dataclass(frozen=True)
class Search:
    """What an engine is asked for.

    Attributes
    ----------
    k
        Neighbours of each user.
    voters
        Neighbours who vote on recommendations, where there will be any: lists are as long as the larger of both.
    cycles
        Of a protocol that has some.
    combine
        How much a common item counts in gossip: the "smaller" of both weights, or their "product" (the paper).
    watched
        For how many users gossip tells how far it got; None lets it decide.
    tuned_for
        The public weight that sketches are tuned for (`sketching.law`).
    """

    k: int
    cycles: int = 20
    combine: str = "smaller"
    watched: int | None = None
    voters: int = 0
    tuned_for: Fraction = USUAL_TUNING

    @property
    def length(self) -> int:
        """How long lists are to be."""
        return max(self.k, self.voters)


@dataclass(frozen=True, eq=False)
class Run:
    """Where noise comes from, how many threads there are, and who wants to know how far it is."""

    stream: Stream
    threads: int = 1
    progress: Progress | None = None


@dataclass(frozen=True)
class Levels:
    """What each part of a release may cost an item of weight 1: pairs, sizes of profiles, recommendations, names.

    Attributes
    ----------
    pairs
        Comparing people, or publishing sketches.
    sizes
        Noisy sizes of profiles.
    recommendations
        Votes, and the popularity of items.
    names, names_delta
        Choosing names of items, and the chance of a worse loss by that.
    """

    pairs: Fraction
    sizes: Fraction = Fraction(0)
    recommendations: Fraction = Fraction(0)
    names: Fraction = Fraction(0)
    names_delta: Fraction = Fraction(0)

    def __add__(self, other: "Levels") -> "Levels":
        return Levels(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Levels)))


@dataclass(frozen=True)
class Effort:
    """Roughly how long something takes by the clock, and how much memory; it depends on exact profiles, so keep it.

    Attributes
    ----------
    seconds
        By the clock.
    memory_bytes
        At its largest.
    """

    seconds: float
    memory_bytes: int


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
        The neighbours, and those who vote besides.
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

    def on_items(self, places: NDArray[np.int32], n_items: int) -> "Fitted":
        """Return what was found, with profiles on other items, where item i is at `places[i]`; below 0, it is gone."""
        return replace(self, coded=self.coded.renamed(places, n_items), own=self.own.renamed(places))

    def recommend(
        self, n: int, *, epsilon: Fraction, significant_only: bool, run: Run
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return items for every user and their scores: a release of noisy votes, at a level of its own."""
        from hetdp.neighbors.recommending import Votes, recommend_items

        votes = Votes(*self.votes(significant_only=significant_only))
        return recommend_items(
            self.coded, self.own, votes, n=n, epsilon=epsilon, stream=run.stream, threads=run.threads,
            progress=run.progress,
        )  # fmt: skip

    def votes(self, *, significant_only: bool) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return who votes for each user, and how much each counts; significant neighbours only, if so wished."""
        from hetdp.neighbors.recommending import vote_weights

        voters = slice(max(1, self.search.voters))
        weights = vote_weights(self.lists.scores[:, voters], self.search.k)
        if significant_only:
            weights = np.where(self.significance[:, voters] >= SIGNIFICANT, weights, 0.0)
        return self.lists.indices[:, voters], weights


class Engine(ABC):
    """One way to find neighbours, and everything that is to be known about it.

    To add one, write a folder with an object of a class like this in `engine.py` and its subjects and mutants in
    `audits.py`, and name it in `hetdp.neighbors.engines`. Modules of engines import their kernels when they run: names
    and help texts must not wait for a compiler.

    Attributes
    ----------
    name, help
        What users call it, and what it does in a few words.
    scores, limits
        Names of the scores it knows; in words, that it does not know the others.
    has_cycles
        Whether `Search.cycles` means something.
    free_recommendations
        Whether recommendations cost nothing beyond the neighbours.
    needs_names
        Whether lists of people need names of items: sketches have a bit for each.
    scope
        What epsilon is counted over.
    adversary
        Against whom its promise holds.
    together
        Whether it makes no difference how many recipients collude.
    newcomers, free_newcomers
        Whether lists can be made for people who were not fitted, and whether they cost nothing.
    local
        Whether noise is added before anything leaves its owner, if names of items are given.
    kernel
        A compiled function, by module and name, that is on disk if the engine has ever run here.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    scores: ClassVar[Sequence[str]] = tuple(SCORES)
    limits: ClassVar[str] = ""
    has_cycles: ClassVar[bool] = False
    free_recommendations: ClassVar[bool] = False
    needs_names: ClassVar[bool] = False
    scope: ClassVar[str] = "in all"
    adversary: ClassVar[str] = "everybody together, whatever else they know"
    together: ClassVar[bool] = True
    newcomers: ClassVar[bool] = False
    free_newcomers: ClassVar[bool] = False
    local: ClassVar[bool] = False
    kernel: ClassVar[tuple[str, str]]

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
    def _search_effort(self, popularity: NDArray[np.float64], n_users: int, cycles: int) -> tuple[float, float]:
        """Return seconds of one thread and bytes of a search where so many users count each item."""

    def caveat(self, n_users: int, cycles: int) -> str | None:  # noqa: ARG002  (for those that have one)
        """Return what should be known before so many users are searched, for the command line."""
        return None

    def levels(
        self,
        pairs: Fraction,
        sizes: Fraction = Fraction(0),
        recommendations: Fraction = Fraction(0),
        *,
        names_delta: Fraction = Fraction(0),
    ) -> Levels:
        """Return what each part of a release may cost where items are named with `names_delta`; 0 if names are public.

        Whatever needs names pays for them with a share of its level: lists of people (`needs_names`), or
        recommendations.
        """
        from hetdp.tables.names import NAMES_SHARE, check_names  # with tables, which need not load for a help text

        names = NAMES_SHARE * pairs if self.needs_names else VOTES_NAMES_SHARE * recommendations
        if not names_delta or not names:
            return Levels(pairs, sizes, recommendations)
        check_names(names, names_delta)
        if self.needs_names:
            return Levels(pairs - names, sizes, recommendations, names, names_delta)
        return Levels(pairs, sizes, recommendations - names, names, names_delta)

    def costs(self, levels: Levels) -> tuple[Fraction, Fraction]:
        """Return what a release costs per recipient, and once for all who look."""
        popular = POPULARITY_SHARE * levels.recommendations
        return levels.pairs + levels.recommendations - popular, levels.sizes + popular + levels.names

    def remark(self, per_recipient: Fraction, most_recipients: int, factor: str) -> str | None:  # noqa: ARG002
        """Return what else its promise should say."""
        return None

    def promise(
        self,
        levels: Levels,
        *,
        most_recipients: int,
        public_sizes: bool = False,
        names_given_away: bool = False,
        simulated: bool = False,
    ) -> Guarantee:
        """Return the promise of neighbour lists and recommendations, before or after the fact.

        Parameters
        ----------
        levels
            What is or would be released.
        most_recipients
            How many lists there are that an item has a part in (for gossip: peers that a user may be compared with).
        public_sizes
            Whether sizes of profiles are declared public.
        names_given_away
            Whether every item that somebody counts is named (`catalogue="observed"`).
        simulated
            Whether any noise came from a seed, in which case nothing is promised.
        """
        from hetdp.tables.names import CHOSEN, HOLDER, OTHERS

        factor = "(v_i + v_j)" if public_sizes else "v_i"
        per_recipient, shared = self.costs(levels)
        named = (HOLDER if self.needs_names else CHOSEN) if levels.names else None
        remarks = (self.remark(per_recipient, most_recipients, factor), named, _OWN, _USERS)
        lists = Guarantee.of_lists(
            Recipients(per_recipient, shared, most_recipients, together=self.together),
            adjacent=_SWAPPED if public_sizes else ADDED["item"],
            adversary=OTHERS if self.needs_names and levels.names else self.adversary,
            factor=factor,
            remarks=tuple(remark for remark in remarks if remark is not None),
        )
        delta = 1.0 if names_given_away else float_up(levels.names_delta)
        alone = self.local and not levels.names and not names_given_away
        trust = "local" if alone else "holder"
        return replace(lists, delta=delta, names_given_away=names_given_away, trust=trust, simulated=simulated)

    def items_to_stand_out(
        self,
        *,
        n_users: int,
        epsilon: Fraction,
        tuned_for: Fraction = USUAL_TUNING,  # noqa: ARG002  (of sketches)
    ) -> float | dict[str, float]:
        """Return how many common items a neighbour needs to stand out, or that for some sizes of the own profile."""
        return items_to_stand_out(n_users=n_users, epsilon=epsilon)

    def estimate(
        self,
        profiles: Profiles,
        *,
        k: int = 10,
        voters: int = 0,
        cycles: int = 20,
        threads: int = 1,
        recommendations: int = 0,
    ) -> Effort:
        """Return roughly what a fit takes, with so many recommendations per user if any are wanted."""
        n_users = profiles.n_users
        popularity = np.bincount(profiles.indices[profiles.weights > 0], minlength=profiles.n_items).astype(np.float64)
        length = min(max(whole("k", k, minimum=1), whole("voters", voters, minimum=0)), max(1, n_users - 1))
        seconds, memory = self._search_effort(popularity, n_users, cycles)
        seconds += _SECONDS_PER_ENTRY * n_users * length
        if recommendations:
            more_seconds, more_memory = self._recommending_effort(popularity, n_users, min(length, voters or k))
            seconds, memory = seconds + more_seconds, memory + more_memory
        memory += (
            _FIXED_BYTES
            + _CODED_PAIR_BYTES * profiles.n_pairs
            + _LIST_ENTRY_BYTES * n_users * (length + recommendations)
            + _ID_BYTES * (n_users + profiles.n_items)
        )
        alone = _SECONDS_PER_PAIR * profiles.n_pairs
        return Effort(alone + seconds / whole("threads", threads, minimum=1), int(memory))

    def _recommending_effort(self, popularity: NDArray[np.float64], n_users: int, k: int) -> tuple[float, float]:
        votes = _SECONDS_PER_VOTE * k * float(popularity.sum())
        return _SECONDS_PER_VOTE_ITEM * n_users * popularity.size + votes, 0.0

    def compiles(self) -> bool:
        """Return whether its kernels have yet to be compiled, which happens once and is kept on disk."""
        module_name, name = self.kernel
        kernel = getattr(import_module(module_name), name)
        if not hasattr(kernel, "stats"):  # compilation is switched off
            return False
        line = kernel.py_func.__code__.co_firstlineno
        file = module_name.rpartition(".")[2]
        return not any(Path(kernel.stats.cache_path).glob(f"{file}.{name}-{line}.*.nbi"))


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
