"""How much of the gap between popularity and no privacy the private model closes: the table of figures to reach.

    python benchmarks/recommender_quality.py [--seeds N] [--only WORD]

NDCG at 10; a fifth of each profile is hidden; own items excluded; the catalogue is given; dials are 1 unless said.
gap closed = (model - popularity) / (EASE without privacy - popularity), popularity by exact counts. The ridge of EASE
is chosen on one half of the users (as the constants of the model were), figures are those of the other half. Each seed
has its own split and its own noise; intervals are 95 % over seeds. A row "against private popularity" gives the
relative difference to the order of the counts of the same release. Sets with a name in brackets are made up.
"""

import argparse
import subprocess
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hetdp import PrivateRecommender, Profiles
from hetdp.evaluation.item_baselines import ScoredItems
from hetdp.evaluation.metrics import judge_per_user
from movielens import movielens_100k, resampled
from populations import community_profiles, zipf_ranks

Numbers = NDArray[np.float64]
#: Ridges tried for EASE without privacy, in mean counts.
RIDGES = (1.0, 3.0, 6.0, 10.0, 20.0)
#: At most so many users are judged.
JUDGED = 2_000
DIALS, SHARES = (0.0, 0.5, 1.0), (0.34, 0.43, 0.23)
LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0)


class Row(NamedTuple):
    """One line of the table."""

    name: str
    make: Callable[[], Profiles]
    release: str
    #: epsilon, bar, aim; None where only private popularity is the bar.
    levels: tuple[tuple[float, float | None, float | None], ...]
    dials: bool = False


class Split:
    """One split of a crowd: the model learns from everybody's training part, and half of the users are judged."""

    def __init__(self, profiles: Profiles, seed: int, *, dials: bool) -> None:
        random = np.random.default_rng(seed)
        order = np.lexsort((random.random(profiles.n_pairs), profiles.owners))
        place = np.empty(profiles.n_pairs, dtype=np.int64)
        place[order] = np.arange(profiles.n_pairs) - np.repeat(profiles.indptr[:-1], profiles.sizes)
        hidden = place < np.repeat(np.round(0.2 * profiles.sizes), profiles.sizes)
        self.train = profiles.keep(~hidden)
        weights = random.choice(DIALS, size=self.train.n_pairs, p=SHARES) if dials else np.ones(self.train.n_pairs)
        self.learned = Profiles.from_pairs(
            self.train.owners, self.train.indices, weights, item_ids=range(profiles.n_items)
        )
        users = np.sort(random.permutation(profiles.n_users)[: 2 * JUDGED])
        self.own, self.test = (_of(users, some) for some in (self.train, profiles.keep(hidden)))
        self.choosing = np.arange(users.size) % 2 == 0
        self.popularity = self.ndcg(self._scored(lambda rows: np.tile(self._counts, (rows.shape[0], 1))))
        self.best = self.ndcg(self._ease())

    @property
    def _counts(self) -> Numbers:
        return self.train.popularity.astype(np.float64)

    def ndcg(self, model: object, *, choosing: bool = False) -> float:
        """Return the NDCG of a half of the users."""
        found = judge_per_user(model, self.own, self.test)  # type: ignore[arg-type]
        return float(found.ndcg[(found.tested > 0) & (self.choosing == choosing)].mean())

    def _scored(self, score: Callable[[Numbers], Numbers]) -> ScoredItems:
        rows = self.own.to_csr()[0].astype(np.float64)
        return ScoredItems(self.own, lambda part: score(rows[part.start : part.stop].toarray()))

    def _ease(self) -> ScoredItems:
        """Return EASE without privacy, with the ridge that suits the choosing half best."""
        rows = self.train.to_csr()[0].astype(np.float64)
        gram, found = (rows.T @ rows).toarray(), []
        for ridge in RIDGES:
            inverse = np.linalg.inv(gram + ridge * self._counts.mean() * np.eye(len(gram)))
            speaks = inverse / -np.diag(inverse)
            found.append(self._scored(lambda rows, speaks=speaks: rows @ speaks))  # type: ignore[misc]
        return max(found, key=lambda model: self.ndcg(model, choosing=True))

    def private(self, epsilon: float, release: str, seed: int) -> tuple[float, float, float]:
        """Return the NDCG of the model and of private popularity, and how much of the score is taste."""
        model = PrivateRecommender(epsilon, release=release, catalogue="given", random_state=seed).fit(self.learned)
        asked = _Asked(model, self.own)
        counts = np.zeros(self.train.n_items)
        public = model._public  # noqa: SLF001  (counts of the same release)
        counts[np.asarray(public.item_ids, dtype=np.int64)] = public.counts
        popular = self._scored(lambda rows: np.tile(counts, (rows.shape[0], 1)))
        return self.ndcg(asked), self.ndcg(popular), public.model.taste


class _Asked:
    """The lists of some people from a model that was fitted on more."""

    def __init__(self, model: PrivateRecommender, own: Profiles) -> None:
        self.model, self.own = model, own

    def recommend(self, *, n: int) -> object:
        return self.model.recommend(n, profiles=self.own)


def _of(users: NDArray[np.int64], profiles: Profiles) -> Profiles:
    """Return the profiles of some users, on the same items."""
    place = np.full(profiles.n_users, -1)
    place[users] = np.arange(users.size)
    mine = place[profiles.owners] >= 0
    owners, items = place[profiles.owners[mine]], profiles.indices[mine]
    return Profiles.from_pairs(owners, items, user_ids=range(users.size), item_ids=range(profiles.n_items))


def communities(n_users: int, n_items: int, number: int, seed: int = 0) -> Profiles:
    """Return a crowd of so many communities: a third of a profile is popular with everybody, the rest with its own."""
    random = np.random.default_rng(seed)
    pools = random.integers(0, n_items, size=(number, 100))
    users = np.repeat(np.arange(n_users), 30)
    everybody = random.random(users.size) < 1 / 3 if number > 1 else np.ones(users.size, dtype=bool)
    own = pools[users % number, zipf_ranks(random, users.size, 100, 0.4)]
    items = np.where(everybody, zipf_ranks(random, users.size, n_items, 0.8), own)
    pairs = np.unique(users * n_items + items)
    return Profiles.from_pairs(pairs // n_items, pairs % n_items, item_ids=range(n_items))


def wide(n_users: int, n_items: int) -> Profiles:
    """Return a crowd with the taste of MovieLens on more items: the added ones lie between two films each."""
    random = np.random.default_rng(3)
    rows = movielens_100k().to_csr()[0].toarray().astype(np.float64)
    one, other = random.integers(0, rows.shape[1], (2, n_items - rows.shape[1]))
    users, films = np.nonzero(
        np.hstack([rows, random.random((len(rows), one.size)) < 0.5 * (rows[:, one] + rows[:, other]) * 0.7])
    )
    return resampled(Profiles.from_pairs(users, films, item_ids=range(n_items)), n_users)


def below(only: Iterable[float] = LEVELS) -> tuple[tuple[float, None, None], ...]:
    return tuple((level, None, None) for level in only)


def liked() -> Profiles:
    return movielens_100k(4)


def crowd() -> Profiles:
    return resampled(movielens_100k(), 100_000)


ALL = ((1, 0.40, 0.55), (2, 0.70, 0.80), (5, 0.90, 0.97))
LIKED = ((1, 0.10, 0.30), (2, 0.60, 0.75), (5, 0.90, 0.97))
ROWS = (
    Row("MovieLens-100k, all ratings", movielens_100k, "sketch", ALL),
    Row("MovieLens-100k, ratings >= 4", liked, "sketch", LIKED),
    Row("[100,000 people, taste of MovieLens]", crowd, "sketch", ((1, 0.60, 0.75),)),
    Row("[100,000 people, taste of MovieLens]", crowd, "matrix", ((1, 0.85, 0.95),)),
    Row("[6,000 people, 3,600 items, dials]", lambda: wide(6_000, 3_600), "sketch", ((3, 0.40, 0.60),), dials=True),
    Row("MovieLens-100k, every level", movielens_100k, "sketch", below((0.1, 0.3, 0.5, 10))),
    Row("MovieLens-100k >= 4, every level", liked, "sketch", below((0.1, 0.3, 0.5, 10))),
    Row("MovieLens-100k, every level", movielens_100k, "matrix", below()),
    Row("[8 communities, 2,000 people]", lambda: communities(2_000, 600, 8), "sketch", below()),
    Row("[500 communities, 6,000 people]", lambda: communities(6_000, 1_000, 500), "sketch", below()),
    Row("[communities of 200, 5,000 people]", lambda: community_profiles(5_000, 1_000, 25), "sketch", below()),
    Row("[60 people]", lambda: communities(60, 300, 4), "sketch", below()),
    Row("[popularity alone, 4,000 people]", lambda: communities(4_000, 400, 1), "sketch", below()),
)


def interval(values: Numbers) -> tuple[float, float]:
    """Return the mean over seeds and the half width of its 95 % interval."""
    spread = float(stats.sem(values)) if values.size > 1 else np.inf
    return float(values.mean()), float(stats.t.ppf(0.975, max(1, values.size - 1))) * spread


def show(row: Row, seeds: int) -> None:
    profiles = row.make()
    splits = [Split(profiles, seed, dials=row.dials) for seed in range(seeds)]
    popular, best = (np.mean([getattr(split, name) for split in splits]) for name in ("popularity", "best"))
    print(f"\n{row.name}, release={row.release!r}: popularity {popular:.4f}, EASE without privacy {best:.4f}")
    for epsilon, bar, aim in row.levels:
        found = np.array([split.private(epsilon, row.release, seed) for seed, split in enumerate(splits)])
        gaps = [(own - s.popularity) / (s.best - s.popularity) for (own, _, _), s in zip(found, splits, strict=True)]
        line = f"  epsilon {epsilon:<4g} NDCG {found[:, 0].mean():.4f}  "
        if bar is not None:
            mean, half = interval(np.array(gaps))
            line += f"gap closed {mean:.3f} ± {half:.3f} (bar {bar:.2f}, aim {aim:.2f})  "
        mean, half = interval((found[:, 0] - found[:, 1]) / found[:, 1].mean())
        verdict = "" if mean + half >= -0.02 else "  BELOW"
        print(f"{line}against private popularity {mean:+.1%} ± {half:.1%}{verdict}  taste {found[:, 2].mean():.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of the gap a private model closes.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    asked = parser.parse_args()
    for row in ROWS:
        if asked.only in f"{row.name} {row.release}":
            try:
                show(row, asked.seeds)
            except subprocess.CalledProcessError:
                print(f"\n{row.name}: skipped, recbole 1.2.1 (which holds MovieLens-100k) cannot be downloaded.")


if __name__ == "__main__":
    main()
