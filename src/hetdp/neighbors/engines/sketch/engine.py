"""The `sketch` engine: everybody publishes once, and looks for neighbours among what others have published.

Each user publishes one bit for each item of the catalogue (`hetdp.sketching`). A recipient counts the bits that another
user's sketch shows at the recipient's own items, locally and without noise, and keeps the users with the most. Among
those, the order is by what the bits are worth: a bit of an item that hardly anybody owns is mostly noise, and what
everybody owns says little (`sketching.reading.bit_values`). How many own an item, the sketches of all tell everybody.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import KeyedWords, Stream
from hetdp.neighbors.engines.base import Engine, Fitted, NeighborLists, Progress, Run, Search, Shares
from hetdp.neighbors.scores import Scoring
from hetdp.profiles.steps import CodedProfiles, Holdings
from hetdp.sketching.bit_law import GROUP_WORDS, USUAL_TUNING, chance_of_one, contrast
from hetdp.sketching.drawing import GROUP_USERS, Sketches
from hetdp.sketching.reading import binomial_tail, bit_values, item_owners, items_behind, rare_tail, significance

#: Bits held at a time, unless told otherwise.
_MEMORY_BYTES = 512 * 2**20
#: Recipients, or rows, handed to a thread at a time.
_PORTION = 1024
#: At least this number is found by the count of ones, before the best by value are taken.
_SHORTLIST = 30
#: Sizes of profiles for which it is said how many common items stand out. Public examples.
_EXAMPLE_SIZES = (50, 200)


class _SketchEngine(Engine):
    name = "sketch"
    help = "published sketches"
    scores = ("overlap",)
    limits = "Sketches know overlaps only"
    newcomers = True
    free_newcomers = True
    local = True
    needs_names = True

    def fit(
        self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, own: Holdings | None = None
    ) -> Fitted:
        own = Holdings.of_coded(coded) if own is None else own
        found = sketch_neighbors(
            coded, k=search.k, epsilon=scoring.pair_epsilon, tuned_for=search.tuned_for, stream=run.stream,
            own=own, threads=run.threads, progress=run.progress,
        )  # fmt: skip
        return _SketchFit(
            coded, own, scoring, search, found.lists, sketches=found.sketches, overlaps=found.overlaps,
            report={"tuned_for": float(search.tuned_for)},
        )  # fmt: skip

    def costs(self, shares: Shares) -> tuple[Fraction, Fraction]:
        return Fraction(0), shares.pairs + shares.names

    def items_to_stand_out(
        self, *, n_users: int, epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING
    ) -> dict[str, float]:
        how = {"n_users": n_users, "epsilon": epsilon, "tuned_for": tuned_for}
        return {str(size): sketch_items_to_stand_out(size=size, **how) for size in _EXAMPLE_SIZES}  # type: ignore[arg-type]

    def _search_bytes(self, popularity: NDArray[np.int64], n_users: int) -> int:
        return min(_MEMORY_BYTES, n_users * int((popularity > 0).sum()) // 8)


SKETCH = _SketchEngine()


@dataclass(frozen=True, repr=False, eq=False)
class _SketchFit(Fitted):
    """Lists, the sketches they were made from, and how many items each neighbour seems to have in common."""

    sketches: Sketches = field(kw_only=True)
    overlaps: NDArray[np.float64] = field(kw_only=True)

    @cached_property
    def significance(self) -> NDArray[np.float64]:
        # By the number of ones, whatever decided the order: no stranger who was chosen shows more than the best of all.
        return sketch_significance(
            self.overlaps, self.own.sizes, others=self.coded.n_users - (self.own_factors is None),
            epsilon=self.scoring.pair_epsilon, tuned_for=self.search.tuned_for,
        )  # fmt: skip

    def for_recipients(self, recipients: Holdings, run: Run) -> Fitted:
        """Return the lists of people who were not fitted: they read what was published, so it costs nothing."""
        found = read_sketches(
            self.sketches, recipients, k=self.search.k, stream=run.stream, members=False, threads=run.threads,
            progress=run.progress,
        )  # fmt: skip
        factors = np.ones(recipients.n_users)
        return replace(self, own=recipients, lists=found.lists, overlaps=found.overlaps, own_factors=factors)


def sketch_significance(
    overlaps: NDArray[np.float64],
    sizes: NDArray[np.int64],
    *,
    others: int,
    epsilon: Fraction | float,
    tuned_for: Fraction = USUAL_TUNING,
) -> NDArray[np.float64]:
    """Return how sure it is that neighbours found by their sketches are more than chance.

    A stranger's sketch shows each item with probability q, so the bits shown are binomial.

    Examples
    --------
    >>> sketch_significance(np.array([[30.0, 2.0]]), np.array([50]), others=1000, epsilon=3).round(3)
    array([[1., 0.]])
    """
    size = sizes[:, None].astype(np.float64)
    chance = chance_of_one(epsilon, tuned_for=tuned_for)
    shown = np.clip(np.rint(overlaps * contrast(epsilon, tuned_for=tuned_for) + size * chance), 0, size)
    return significance(binomial_tail(shown, size, chance), others)


def sketch_items_to_stand_out(*, n_users: int, epsilon: Real, size: int, tuned_for: Fraction = USUAL_TUNING) -> float:
    """Return how many common items stand out from strangers' sketches, for a recipient with `size` items.

    A neighbour is then significant every other time. Infinity if all items of the recipient are not enough.

    Parameters
    ----------
    n_users
        How many users there are.
    epsilon
        The level of the sketches.
    size
        How many items the recipient has.
    tuned_for
        The public weight that sketches are tuned for.

    Examples
    --------
    >>> few = sketch_items_to_stand_out(n_users=10_000, epsilon=3, size=100)
    >>> few < sketch_items_to_stand_out(n_users=10_000, epsilon=1, size=100)
    True
    """
    others = whole("n_users", n_users, minimum=2) - 1
    size = whole("size", size, minimum=1)
    level = fraction("epsilon", epsilon)
    # P[a stranger shows at least c bits], for c = 1, 2, ...; the first that is small enough stands out.
    tails = binomial_tail(np.arange(1, size + 1), size, chance_of_one(level, tuned_for=tuned_for))
    needed = 1 + int(np.count_nonzero(tails > rare_tail(others)))
    common = max(0.0, float(items_behind(needed, size, level, tuned_for=tuned_for)))
    return common if common <= size else math.inf


@dataclass(frozen=True, repr=False, eq=False)
class SketchResult:
    """What the engine found.

    Attributes
    ----------
    lists
        The neighbours and their scores: how many items each seems to have in common, where items count by what their
        bits are worth.
    overlaps
        How many items each seems to have in common where all count alike: an unbiased estimate if all weigh 1.
    sketches
        What everybody published.

    Privacy
    -------
    `lists` holds what each recipient worked out at home; row u depends on the exact profile of u, and on others only
    through their sketches.
    """

    lists: NeighborLists
    overlaps: NDArray[np.float64]
    sketches: Sketches

    def __repr__(self) -> str:
        return f"SketchResult({self.lists!r})"


def sketch_neighbors(
    coded: CodedProfiles,
    *,
    k: int,
    epsilon: Fraction,
    stream: Stream,
    tuned_for: Fraction = USUAL_TUNING,
    own: Holdings | None = None,
    threads: int | None = None,
    memory_bytes: int = _MEMORY_BYTES,
    progress: Progress | None = None,
) -> SketchResult:
    """Publish a sketch of every profile, and return the k users whose sketches show most of each user's own items.

    Of some more than k who show the most ones, those with the best scores. A score is (value of the ones shown - value
    expected by chance) / (p(1) - q), in whole items of mean value. Ties are broken at random. `own` are the
    users' exact rows, for their own lists; None for what counts of them. About
    `memory_bytes` of sketches are held at a time; results depend neither on that nor on `threads`. Progress is told in
    users times users.

    Privacy
    -------
    Item i pays epsilon * v_i in total, against everybody together, however many look and collude: only the sketch
    leaves a user (docs/proofs/sketch_engine.md). A recipient's list stays with the recipient, or it would tell about
    the recipient's profile. Time and memory depend on all profiles.

    Examples
    --------
    >>> from hetdp import Profiles
    >>> from hetdp.profiles.steps import code_profiles
    >>> from hetdp.core.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 2, 3], ["a", "b", "a", "b", "c", "c"]))
    >>> found = sketch_neighbors(coded, k=1, epsilon=Fraction(20), stream=seeded_stream(1))
    >>> found.lists.indices.ravel().tolist(), found.lists.scores.round(6).ravel().tolist()
    ([1, 0, 3, 2], [2.0, 2.0, 1.0, 1.0])
    """
    k = whole("k", k, minimum=1)
    if k >= coded.n_users:
        raise InvalidInput(f"must be below the number of users ({coded.n_users})", parameter="k", got=k)
    threads = 1 if threads is None else whole("threads", threads, minimum=1)
    memory_bytes = whole("memory_bytes", memory_bytes, minimum=1)
    sketches = Sketches(coded, epsilon=epsilon, tuned_for=tuned_for, stream=stream)
    own = Holdings.of_coded(coded) if own is None else own
    return read_sketches(
        sketches, own, k=k, stream=stream, threads=threads, memory_bytes=memory_bytes, progress=progress
    )


def read_sketches(
    sketches: Sketches,
    own: Holdings,
    *,
    k: int,
    stream: Stream,
    members: bool = True,
    threads: int = 1,
    memory_bytes: int = _MEMORY_BYTES,
    progress: Progress | None = None,
) -> SketchResult:
    """Return the k users whose sketches show most of what each recipient has; see `sketch_neighbors`.

    Recipients are the users themselves, who are not neighbours of their own, or others (`members=False`).

    Privacy
    -------
    Made at home from the exact own row and from what everybody has published: it costs nothing, and is for its owner.
    """
    n_users, n_items, epsilon, tuned_for = sketches.n_users, sketches.n_items, sketches.epsilon, sketches.tuned_for
    recipients = np.arange(own.n_users)
    seeds = KeyedWords(stream.key()).words(recipients, np.zeros_like(recipients), count=1)[:, 0].copy()
    search = _Search(own, n_items, min(max(k, _SHORTLIST), n_users - members), seeds, n_users, members=members)
    with ThreadPoolExecutor(threads) as pool:
        # Owners are counted for the whole catalogue: which items others have must not decide what bits are worth.
        ones = np.zeros(n_items, dtype=np.int64)
        rest = np.delete(np.arange(n_items), search.items)
        ones[rest] = _count_ones(sketches, rest, pool)
        blocks = _Blocks(sketches, search.items, memory_bytes, pool)

        @cache
        def values() -> NDArray[np.float64]:
            """Return what a one is worth in each row, once all are counted."""
            owners = item_owners(ones, n_users, epsilon, tuned_for=tuned_for)
            return bit_values(owners, n_users, epsilon, tuned_for=tuned_for)[search.items]

        for first_group, bits in blocks:
            ones[search.items] += search.ones(bits)
            search.look(first_group * GROUP_USERS, bits, values() if blocks.only_one else None, pool)
            if progress is not None:
                seen = min(n_users, first_group * GROUP_USERS + 64 * bits.shape[1])
                progress(own.n_users * seen, own.n_users * n_users)
        if not blocks.only_one:
            for first_group, bits in blocks:
                search.weigh(first_group * GROUP_USERS, bits, values(), pool)
    neighbors, counts, scores = search.best(k, sketches.chance_of_one, sketches.contrast)
    overlaps = items_behind(counts, own.sizes[:, None], epsilon, tuned_for=tuned_for)
    return SketchResult(NeighborLists(neighbors, scores), overlaps, sketches)


class _Search:
    """The lists so far of all recipients."""

    def __init__(
        self, own: Holdings, n_items: int, k: int, seeds: NDArray[np.uint64], n_users: int, *, members: bool
    ) -> None:
        # A recipient is never in their own list: candidates are numbered after recipients who are others.
        self._first = 0 if members else own.n_users
        self._last = self._first + n_users
        # Only items that somebody has are ever looked at; the sketches cover the others too.
        self.items = np.flatnonzero(np.bincount(own.items, minlength=n_items))
        row_of = np.zeros(n_items, dtype=np.int32)
        row_of[self.items] = np.arange(self.items.size, dtype=np.int32)
        self._indptr, self._rows = own.indptr, row_of[own.items]
        self._seeds = seeds
        shape = (own.n_users, k)
        self.counts = np.full(shape, -1, dtype=np.int32)
        self.neighbors = np.full(shape, -1, dtype=np.int32)
        self._priorities = np.zeros(shape, dtype=np.uint64)
        self._sums, self._totals = np.zeros(shape), np.zeros(own.n_users)

    def look(
        self, first_user: int, bits: NDArray[np.uint64], values: NDArray[np.float64] | None, pool: ThreadPoolExecutor
    ) -> None:
        """Improve all lists by the candidates whose bits are given; weigh their ones, if values are known already."""
        from hetdp.neighbors._kernels.sketch_search import best_candidates, search_room, weigh_room

        first = self._first + first_user
        candidates = (first, min(self._last, first + 64 * bits.shape[1]))

        def improve(portion: tuple[int, int]) -> None:
            best_candidates(
                portion,
                self._indptr,
                self._rows,
                bits,
                candidates,
                self._seeds,
                self.counts,
                self.neighbors,
                self._priorities,
                np.empty(0) if values is None else values,
                self._sums,
                self._totals,
                search_room(),
                weigh_room(self.counts.shape[1]),
            )

        list(pool.map(improve, _portions(self.counts.shape[0])))

    def ones(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many ones each row has."""
        ones: NDArray[np.int64] = np.bitwise_count(bits[: self.items.size]).sum(axis=1, dtype=np.int64)
        return ones

    def weigh(
        self, first_user: int, bits: NDArray[np.uint64], values: NDArray[np.float64], pool: ThreadPoolExecutor
    ) -> None:
        """Add up what the ones of those listed are worth whose bits are given."""
        from hetdp.neighbors._kernels.sketch_search import weigh_ones, weigh_room

        first = self._first + first_user
        candidates = (first, first + 64 * bits.shape[1])

        def add(portion: tuple[int, int]) -> None:
            weigh_ones(
                portion, self._indptr, self._rows, bits, candidates, values, self.neighbors, self._sums, self._totals,
                weigh_room(self.counts.shape[1]),
            )  # fmt: skip

        list(pool.map(add, _portions(self.counts.shape[0])))

    def best(
        self, k: int, chance: float, contrast: float
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return the k with the best sums: who they are, their numbers of ones, and their scores."""
        from hetdp.neighbors._kernels.sketch_search import sort_lists

        sort_lists(self.counts, self.neighbors, self._priorities, self._sums)
        sizes = np.diff(self._indptr)
        own = self._totals
        means = np.divide(own, sizes, out=np.ones(sizes.size), where=sizes > 0)
        scores = (self._sums[:, :k] - chance * own[:, None]) / (contrast * means[:, None])
        neighbors = self.neighbors[:, :k]
        return np.where(neighbors < 0, neighbors, neighbors - self._first), self.counts[:, :k], scores


class _Blocks:
    """Blocks of candidates: the first group of users, and their bits with one more row of zeros.

    Attributes
    ----------
    only_one
        Whether all candidates fit into one block.
    """

    def __init__(
        self, sketches: Sketches, items: NDArray[np.integer], memory_bytes: int, pool: ThreadPoolExecutor
    ) -> None:
        self._sketches, self._items, self._pool = sketches, items, pool
        group_bytes = 8 * GROUP_WORDS * (items.size + 1)
        self._groups = max(1, min(sketches.n_groups, memory_bytes // group_bytes))
        self._room = np.zeros((items.size + 1, self._groups * GROUP_WORDS), dtype=np.uint64)
        self.only_one = self._groups == sketches.n_groups

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        total = self._sketches.n_groups
        for first_group in range(0, total, self._groups):
            bits = self._room[:, : min(self._groups, total - first_group) * GROUP_WORDS]
            _fill_rows(self._sketches, self._items, bits, self._pool, first_group=first_group)
            yield first_group, bits


def _count_ones(sketches: Sketches, items: NDArray[np.integer], pool: ThreadPoolExecutor) -> NDArray[np.int64]:
    """Return how many sketches show each of some items."""
    ones = np.empty(items.size, dtype=np.int64)

    def count(portion: tuple[int, int]) -> None:
        rows = np.empty((portion[1] - portion[0], sketches.n_groups * GROUP_WORDS), dtype=np.uint64)
        sketches.rows(items[slice(*portion)], rows)
        ones[slice(*portion)] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)

    list(pool.map(count, _portions(items.size)))
    return ones


def _fill_rows(
    sketches: Sketches,
    items: NDArray[np.integer],
    out: NDArray[np.uint64],
    pool: ThreadPoolExecutor,
    *,
    first_group: int = 0,
) -> None:
    """Write the bits of some items as `Sketches.rows` does, with all threads; rows beyond the items are left alone."""

    def fill(portion: tuple[int, int]) -> None:
        sketches.rows(items[slice(*portion)], out[slice(*portion)], first_group=first_group)

    list(pool.map(fill, _portions(items.size)))


def _portions(size: int) -> list[tuple[int, int]]:
    """Return ranges of a few recipients or rows each: what a thread takes at a time."""
    return [(begin, min(begin + _PORTION, size)) for begin in range(0, size, _PORTION)]
