"""The exact engine: every pair is compared, every pair has noise of its own, and the cost follows the common items."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import KeyedWords, Stream
from hetdp.neighbors.engines.base import Engine, Fitted, NeighborLists, Progress, Run, Search, in_batches
from hetdp.neighbors.scores import Scoring
from hetdp.noise.lookup_tables import laplace_tables, threshold_tables
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, Holdings, read_only

if TYPE_CHECKING:
    from hetdp.neighbors._kernels.accumulating import InvertedIndex
    from hetdp.neighbors._kernels.selecting import Rows, Workspace

#: An item that more than one in this number of users have becomes a dense row ...
_DENSE_SHARE = 30
#: ... as long as all dense rows together stay below this number of bytes.
_DENSE_BYTES = 1 << 28
#: Random words made at a time: the first of many recipients, or more for one who has run out.
_WORDS = 1 << 16
_MORE_WORDS = 1 << 13
#: What a kernel keeps in reserve, what it takes for each candidate that enters a list for a while, and what is little.
_RESERVE = 1024
_WORDS_PER_ENTRY = 24
_FEWEST_WORDS = 4096
#: The largest sum that 16 bits hold, and the candidates from which on it pays to use so few.
_LARGEST_SMALL = 65_535
_MANY = 4_096
#: Room beyond the last candidate, so that scans can go in whole runs.
_PADDING = 64
_STATE = 16


class _ExactEngine(Engine):
    name = "exact"
    help = "all pairs"
    adversary = "one recipient who sees only their own list, whatever else they know"
    together = False
    newcomers = True

    def fit(
        self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, own: Holdings | None = None
    ) -> Fitted:
        return _fit(coded, scoring, search, run, own=Holdings.of_coded(coded) if own is None else own)

    def remark(self, per_recipient: Fraction, most_recipients: int, factor: str) -> str:  # noqa: ARG002
        return "A trusted curator holds the profiles."

    def _search_bytes(self, popularity: NDArray[np.int64], n_users: int) -> int:
        return min(_DENSE_BYTES, n_users * int((popularity * _DENSE_SHARE > n_users).sum()))


EXACT = _ExactEngine()


class _ExactFit(Fitted):
    """Lists that can also be made for people who were not fitted."""

    def for_recipients(self, recipients: Holdings, run: Run) -> Fitted:
        return _fit(self.coded, self.scoring, self.search, run, own=recipients, members=False)


def _fit(
    coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, *, own: Holdings, members: bool = True
) -> _ExactFit:
    lists = exact_neighbors(
        coded, k=search.k, epsilon=scoring.pair_epsilon, stream=run.stream, factors=scoring.factors, own=own,
        members=members, squared=scoring.score.squared, threads=run.threads, progress=run.progress,
    )  # fmt: skip
    # A recipient's own factor changes no order, so the search leaves it out.
    factors = scoring.factors if members else np.ones(own.n_users)
    lists = NeighborLists(lists.indices, lists.scores * scoring.score.at_the_end(factors)[:, None])
    own_factors = None if members else factors
    return _ExactFit(coded, own, scoring, search, lists, own_factors=own_factors)


def exact_neighbors(
    coded: CodedProfiles,
    *,
    k: int,
    epsilon: Fraction,
    stream: Stream,
    factors: NDArray[np.float64],
    own: Holdings | None = None,
    members: bool = True,
    squared: bool = False,
    every_pair: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> NeighborLists:
    """Return the k candidates with the best noisy scores for every recipient.

    `factors` are the public factors of the candidates' scores: ones for the overlap. `own` are the recipients' exact
    rows, None for what counts of the candidates. Recipients are the candidates themselves, nobody being in their own
    list, unless they are no `members`. `every_pair` draws the noise of every pair: the same distribution, many times
    slower. The result does not depend on `threads`.

    Privacy
    -------
    The score of (recipient u, candidate o) is the sum of o's codes over the items both have, plus discrete Laplace
    noise of scale 255 / epsilon, fresh for each directed pair: an item of o moves it by at most 255 v_i, so u's list
    costs the item epsilon v_i, whatever the length of the list. Which noise is drawn explicitly changes nothing
    (docs/proofs/exact_engine.md). What u has decides about u's list only, and not about the noise of others.

    Examples
    --------
    >>> from hetdp import Profiles
    >>> from hetdp.core.randomness import seeded_stream
    >>> from hetdp.profiles.steps import code_profiles
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 2], ["a", "b", "a", "b", "c"]))
    >>> found = exact_neighbors(coded, k=1, epsilon=Fraction(50), stream=seeded_stream(1), factors=np.ones(3))
    >>> found.indices[:2, 0].tolist(), found.scores[:2, 0].round().tolist()
    ([1, 0], [2.0, 2.0])
    """
    from hetdp.neighbors._kernels.selecting import Rows

    own = Holdings.of_coded(coded) if own is None else own
    everyone = np.arange(own.n_users + 1, dtype=np.int64)
    bars = Rows(everyone if members else np.zeros_like(everyone), everyone[:-1].astype(np.int32))
    selection = NoisyTopK(
        rows=Rows(own.indptr, own.items),
        bars=bars,
        index=_inverted(coded),
        factors=factors,
        k=k,
        scale=Fraction(WEIGHT_STEPS) / epsilon,
        squared=squared,
        every_pair=every_pair,
    )
    indices = np.empty((own.n_users, k), dtype=np.int32)
    scores = np.empty((own.n_users, k), dtype=np.float64)

    def run(begin: int, end: int, batch_stream: Stream) -> None:
        who = np.arange(begin, end, dtype=np.int32)
        scores[begin:end], indices[begin:end] = selection.lists(who, batch_stream)

    in_batches(own.n_users, run, stream=stream, threads=threads, progress=progress)
    return NeighborLists(indices, scores / (WEIGHT_STEPS**2 if squared else WEIGHT_STEPS))


def _inverted(coded: CodedProfiles) -> "InvertedIndex":
    """Return who has each item, the most popular ones as dense rows too."""
    from hetdp.neighbors._kernels.accumulating import InvertedIndex, invert

    counts = np.bincount(coded.items, minlength=coded.n_items)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
    users, codes = np.empty(coded.items.size, dtype=np.int32), np.empty(coded.items.size, dtype=np.uint8)
    given = (read_only(coded.indptr), read_only(coded.items), read_only(coded.codes))
    invert(*given, starts[:-1].copy(), users, codes)
    popular = np.argsort(-counts, kind="stable")[: _DENSE_BYTES // max(1, coded.n_users)]
    popular = popular[counts[popular] * _DENSE_SHARE > coded.n_users]
    dense_row = np.full(coded.n_items, -1, dtype=np.int32)
    dense_row[popular] = np.arange(popular.size)
    dense = np.zeros((popular.size, coded.n_users), dtype=np.uint8)
    for row, item in enumerate(popular):
        part = slice(starts[item], starts[item + 1])
        dense[row, users[part]] = codes[part]
    return InvertedIndex(starts, users, codes, dense_row, dense)


@dataclass(frozen=True, repr=False, eq=False)
class NoisyTopK:
    """How to choose the k best candidates for each recipient.

    Attributes
    ----------
    rows
        What each recipient has.
    bars
        Candidates that may not be in a recipient's list.
    index
        Which candidates share it, and how much that counts, 255 at most.
    factors
        Public factor of each candidate's score.
    k
        Length of a list.
    scale
        Of the discrete Laplace noise, in steps of 1/255.
    squared, every_pair
        Whether to rank by the square, and whether to draw the noise of every candidate without shortcuts.
    """

    rows: "Rows"
    bars: "Rows"
    index: "InvertedIndex"
    factors: NDArray[np.float64]
    k: int
    scale: Fraction
    squared: bool = False
    every_pair: bool = False

    def lists(self, who: NDArray[np.int32], stream: Stream) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the scores, in steps, and the candidates of the recipients `who`.

        Random words are a function of the recipient, under a key from the stream: a list that takes more of them than
        it used to takes none from others.
        """
        source = KeyedWords(stream.key())
        scores, indices = np.empty((who.size, self.k)), np.empty((who.size, self.k), dtype=np.int32)
        sizes = self.rows.starts[who + 1] - self.rows.starts[who]
        # Few candidates fit into the cache either way, and one kind of sums is one kernel less to compile.
        small = (sizes * WEIGHT_STEPS <= _LARGEST_SMALL) & (self.factors.size >= _MANY)
        for kind, dtype in ((small, np.uint16), (~small, np.int32)):
            places = np.flatnonzero(kind)
            if places.size:
                scores[places], indices[places] = self._select(who[places], dtype, source)
        return scores, indices

    def _select(
        self, who: NDArray[np.int32], dtype: type[np.generic], source: KeyedWords
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        from hetdp.neighbors._kernels.selecting import FIRST, REFILLS, TURN, draw_all, select

        work = _workspace(self.factors.size, dtype)
        inverse = 1.0 / self.factors
        inverse = np.append(inverse, inverse.min(initial=np.inf))
        scores, indices = np.full((who.size, self.k), np.nan), np.full((who.size, self.k), -1, dtype=np.int32)
        tables = laplace_tables(self.scale)
        common = (who, _frozen(self.rows), _frozen(self.bars), _frozen(self.index), inverse, tables)
        kernel: Any = select
        middle: Any = threshold_tables(self.scale)
        if self.every_pair or self.squared:
            kernel, middle = draw_all, self.squared
        first, more = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)
        each = _first_words(self.k, self.factors.size)
        while not kernel(*common, middle, first, each, more, work, scores, indices):
            turn, refills = int(work.state[TURN]), int(work.state[REFILLS])
            if refills:
                more = source.words(who[turn : turn + 1], [refills], count=_MORE_WORDS).reshape(-1)
                continue
            work.state[FIRST] = turn
            following = who[turn : turn + max(1, _WORDS // each)]
            first = source.words(following, np.zeros(following.size), count=each).reshape(-1)
        return scores, indices


def _first_words(k: int, candidates: int) -> int:
    """Return how many words most recipients need: k (1 + ln(candidates / k)) candidates enter a list for a while."""
    entries = k * (1.0 + math.log(max(1.0, candidates / k)))
    return max(_FEWEST_WORDS, 2 * ((_RESERVE + int(_WORDS_PER_ENTRY * entries)) // 2))


def _workspace(candidates: int, dtype: type[np.generic]) -> "Workspace":
    """Return fresh scratch space for `candidates`."""
    from hetdp.neighbors._kernels.selecting import FEW, Workspace

    room = candidates + _PADDING
    room += -room % 8  # whole words of 64 bits
    sums = np.zeros(room, dtype=dtype)
    return Workspace(
        np.zeros(_STATE, dtype=np.int64),
        sums,
        sums.view(np.uint64),
        np.empty(room, dtype=np.int32),
        np.zeros(candidates, dtype=np.bool_),
        np.empty(FEW, dtype=np.int64),
    )


def _frozen(arrays: Any) -> Any:  # noqa: ANN401  (any named tuple of arrays)
    """Return read-only views: a kernel is compiled anew for arrays that may be written to, so all come in one kind."""
    return type(arrays)(*(read_only(array) for array in arrays))
