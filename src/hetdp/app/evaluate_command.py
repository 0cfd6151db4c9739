"""`hetdp evaluate`: how much recall privacy costs on data at hand, by the protocol of the paper. Not private."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from hetdp.app.neighbors_inputs import (
    DEFAULT_CYCLES,
    ENGINES,
    SCORES,
    Source,
    as_remarks,
    available_processors,
    data_options,
    progress_bar,
)
from hetdp.app.neighbors_output import in_words, plain
from hetdp.app.output import note, output_options, print_json, print_rows
from hetdp.checks import fraction
from hetdp.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.profiles.policies import Policy

__all__ = ["evaluate", "interval"]

_NORMAL_95 = 1.959964
_ABOUT = (
    "Intervals of 95 %: users as a sample of users, runs as a sample of splits, weights and noise. The spread of the "
    "users' means over runs (normal) and of the runs' means (Student) are added in squares."
)


@click.command(short_help="Measure the recall of each engine on data at hand (not private).")
@data_options
@click.option(
    "--epsilon", type=float, multiple=True, default=(1.0,), show_default=True, help="May be given repeatedly."
)
@click.option("--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True, help="Length of a list.")
@click.option("--engine", type=click.Choice(ENGINES), multiple=True, default=ENGINES, help="[default: all three]")
@click.option("--score", type=click.Choice(SCORES[:2]), default="overlap", show_default=True, help="Likeness.")
@click.option("--cycles", type=click.IntRange(min=1), default=DEFAULT_CYCLES, show_default=True, help="Of gossip.")
@click.option("--runs", type=click.IntRange(min=2), default=5, show_default=True, help="Splits, each with new noise.")
@click.option("--westin", help="Draw weights: shares of the three groups, such as 0.34,0.43,0.23.")
@click.option("--slices", help="Draw weights: lowest, highest, how many, such as 0,1,3.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same table.")
@click.option("--threads", type=click.IntRange(min=1), help="Result is the same.  [default: all processors]")
@output_options
def evaluate(
    data: Path,
    *,
    user_column: str,
    item_column: str,
    weight_column: str | None,
    no_memory_check: bool,
    westin: str | None,
    slices: str | None,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure the recall of true neighbours, random ones, and those of each engine on DATA, a file of pairs.

    \b
    hetdp evaluate ratings.csv --epsilon 1 --epsilon 3 --westin 0.34,0.43,0.23

    The protocol of the paper: a tenth of the items that somebody else has too is hidden, and recall is the share of
    them found in the profiles of the neighbours. The table is NOT private: it is computed from the data without noise,
    for whoever may see them. Weights are those in DATA unless --westin or --slices draws others.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    policy = _policy(westin, slices)
    wanted = _Wanted(policy=policy, **options)
    wanted.check()
    source = Source(
        path=data,
        user_column=user_column,
        item_column=item_column,
        weight_column=weight_column,
        no_memory_check=no_memory_check,
        quiet=quiet,
    )
    profiles = source.read()
    wanted.check_data(profiles)
    note(f"{wanted.describe(profiles)} The table is not private.", quiet=quiet)
    facts = {
        "private": False,
        "users": profiles.n_users,
        "items": profiles.n_items,
        "pairs": profiles.n_pairs,
        "k": wanted.neighbors,
        "score": wanted.score,
        "runs": wanted.runs,
        "seed": wanted.seed,
        "weights": f"westin {westin}" if westin else f"slices {slices}" if slices else "as in the data",
    }
    if dry_run:
        if as_json:
            print_json({"dry_run": True, **facts})
        else:
            note("--dry-run: nothing was measured.", quiet=quiet)
        return
    rows = wanted.measure(profiles, quiet=quiet)
    if as_json:
        print_json(plain({**facts, "interval": _ABOUT, "rows": rows}))
        return
    shown = [
        (
            row["method"],
            "" if row["epsilon"] is None else f"{row['epsilon']:g}",
            f"{row['recall']:.4f} ± {row['half_width']:.4f}",
            "" if row["against_all"] is None else f"{row['against_all']:g}",
        )
        for row in rows
    ]
    title = f"Recall at k = {wanted.neighbors}, {wanted.runs} runs, {profiles.n_users:,} users (not private)"
    print_rows(title, ("method", "epsilon", "recall", "epsilon against all together"), shown)
    click.echo(_ABOUT)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What to measure."""

    policy: "Policy | None"
    epsilon: tuple[float, ...]
    neighbors: int
    engine: tuple[str, ...]
    score: str
    cycles: int
    runs: int
    seed: int
    threads: int | None

    def check(self) -> None:
        for level in self.epsilon:
            fraction("--epsilon", level)

    def check_data(self, profiles: "Profiles") -> None:
        if self.neighbors >= profiles.n_users:
            raise InvalidInput(
                f"--neighbors must be below the number of users ({profiles.n_users}). Got {self.neighbors} instead."
            )
        if not (profiles.popularity > 1).any():
            raise DataError("an item must be shared by two users to be tested. Got no such item instead.")

    @property
    def levels(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.epsilon))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that know the score, in the usual order."""
        return tuple(one for one in ENGINES if one in self.engine and (one != "sketch" or self.score == "overlap"))

    def describe(self, profiles: "Profiles") -> str:
        from hetdp.neighbors.estimate import estimate

        threads = self.threads or available_processors()
        each = [
            estimate(profiles, engine=engine, k=self.neighbors, cycles=self.cycles, threads=threads).seconds
            for engine in self.engines
        ]
        seconds = self.runs * (len(self.levels) * sum(each) + (each[0] if each else 0.0))
        fits = self.runs * (2 + len(self.engines) * len(self.levels))
        left_out = "" if len(self.engines) == len(set(self.engine)) else " Sketches know overlaps only: left out."
        return f"{fits} searches, about {in_words(seconds)} (rough).{left_out}"

    def measure(self, profiles: "Profiles", *, quiet: bool) -> list[dict[str, Any]]:
        """Return one row per method and epsilon."""
        found: dict[tuple[str, float | None], list[NDArray[np.float64]]] = {}
        losses: dict[tuple[str, float | None], float] = {}
        total = self.runs * (2 + len(self.engines) * len(self.levels))
        done = 0
        with progress_bar("Evaluating", quiet=quiet) as advance, as_remarks(quiet=quiet):
            for run in range(self.runs):
                for key, recalls, loss in self._run(profiles, self.seed + run):
                    found.setdefault(key, []).append(recalls)
                    if loss is not None:
                        losses[key] = max(loss, losses.get(key, 0.0))
                    done += 1
                    advance(done, total)
        rows = []
        for (method, level), per_run in found.items():
            mean, half = interval(np.array(per_run))
            rows.append(
                {
                    "method": method,
                    "epsilon": level,
                    "recall": mean,
                    "low": max(0.0, mean - half),
                    "high": min(1.0, mean + half),
                    "half_width": half,
                    "against_all": losses.get((method, level)),
                }
            )
        return rows

    def _run(
        self, profiles: "Profiles", seed: int
    ) -> Iterator[tuple[tuple[str, float | None], NDArray[np.float64], float | None]]:
        """Yield the method and epsilon, the recall of each user, and what it costs against all together."""
        from hetdp.neighbors.baselines import random_neighbors, true_neighbors
        from hetdp.neighbors.estimator import PrivateNeighbors
        from hetdp.neighbors.metrics import recall_of
        from hetdp.profiles import split

        drawn = profiles if self.policy is None else self.policy.draw(profiles, seed)
        train, test = split(drawn, random_state=seed)
        _, indices = true_neighbors(train, self.neighbors, score=self.score)
        yield ("baseline", None), recall_of(indices, drawn, test), None
        for engine in self.engines:
            for level in self.levels:
                model = PrivateNeighbors(
                    self.neighbors,
                    epsilon=level,
                    engine=engine,
                    score=self.score,
                    cycles=self.cycles,
                    n_jobs=self.threads or available_processors(),
                    random_state=seed,
                ).fit(train)
                yield (engine, level), recall_of(model.kneighbors()[1], drawn, test), model.guarantee_.total
        _, indices = random_neighbors(train.n_users, self.neighbors, random_state=seed)
        yield ("random", None), recall_of(indices, drawn, test), None


def interval(recalls: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of recalls, runs x users, and half the width of its 95 % confidence interval.

    Users and runs are both taken as samples. The spread between users (of their means over the runs) and between runs
    (of their means over the users) both contain the spread of single numbers, so adding them counts it twice: the
    interval is a little too wide rather than too narrow. Few runs are met by Student's distribution.

    Privacy
    -------
    As private as the recalls.

    Examples
    --------
    >>> mean, half = interval(np.array([[0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5]]))
    >>> round(mean, 3), round(half, 3)
    (0.5, 0.4)
    """
    from scipy.special import stdtrit

    runs, users = recalls.shape
    between_users = recalls.mean(axis=0).std(ddof=1) / math.sqrt(users)
    between_runs = recalls.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    student = float(stdtrit(runs - 1, 0.975))
    return float(recalls.mean()), float(math.hypot(_NORMAL_95 * between_users, student * between_runs))


def _policy(westin: str | None, slices: str | None) -> "Policy | None":
    """Return the policy of weights that the options stand for."""
    from hetdp.profiles import policies

    if westin is not None and slices is not None:
        raise click.UsageError("--westin and --slices exclude each other: weights are drawn by one of them.")
    if westin is not None:
        shares = _numbers(westin)
        if len(shares) != 3:  # noqa: PLR2004  (groups)
            raise click.UsageError(
                f"--westin must be three shares that sum to 1, such as 0.34,0.43,0.23, not {westin!r}."
            )
        return policies.westin(*shares)
    if slices is not None:
        ends = _numbers(slices)
        if len(ends) != 3 or ends[2] != int(ends[2]):  # noqa: PLR2004  (ends and a count)
            raise click.UsageError(f"--slices must be lowest, highest and how many, such as 0,1,3, not {slices!r}.")
        return policies.slices(ends[0], ends[1], int(ends[2]))
    return None


def _numbers(text: str) -> list[float]:
    """Return numbers between commas; none at all if one of them is no finite number."""
    try:
        numbers = [float(part) for part in text.replace("/", ",").split(",")]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
