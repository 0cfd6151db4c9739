"""The first run: private recommendations and neighbours for generated people, each beside its rivals."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hetdp.core.files import write_whole
from hetdp.datasets import delicious_like
from hetdp.evaluation.item_baselines import ease, popularity
from hetdp.evaluation.metrics import HasNeighbors, Recommends, judge, recall
from hetdp.evaluation.neighbor_baselines import Neighbors, random_neighbors, same_neighbors, true_neighbors
from hetdp.neighbors import PrivateNeighbors
from hetdp.neighbors.engines.base import Progress
from hetdp.profiles import Profiles, policies, split
from hetdp.recommender import PrivateRecommender

#: Total epsilons of the recommendations.
EPSILONS = (1.0, 2.0, 5.0)
#: The generated crowd, and a part of it that is too small for epsilon 1.
N_PEOPLE, N_ITEMS, SMALL = 20_000, 1_000, 500
#: Recommendations and neighbours per person; splits of the small data set of neighbours.
K, RUNS = 10, 5
#: Engines of the neighbours, with the epsilon that each is given: sketches at the levels of the recommendations.
_ENGINES = (*(("sketch", epsilon) for epsilon in EPSILONS), ("gossip", 1.0))
#: Shares of the three groups of a poll: fundamentalists, pragmatists, unconcerned.
_POLL = policies.westin(0.34, 0.43, 0.23)


@dataclass(frozen=True)
class DemoRow:
    """One method and how good it is.

    Attributes
    ----------
    method, epsilon
        What was measured; epsilon is None without privacy.
    quality
        NDCG at 10 of recommendations, or recall of 10 neighbours.
    total
        The privacy loss of an item of weight 1 against everybody together; None without privacy.
    """

    method: str
    epsilon: float | None
    quality: float
    total: float | None = None


@dataclass(frozen=True)
class Demonstration:
    """What the first run found.

    Attributes
    ----------
    recommendations
        For the whole crowd: "popularity", "sketch" and "matrix" at each epsilon, "ease".
    small
        For the first 500 people of the crowd: "popularity" and "sketch" at epsilon 1.
    neighbors
        For `delicious_like`: "random", "same", the engines, "true".
    """

    recommendations: tuple[DemoRow, ...]
    small: tuple[DemoRow, ...]
    neighbors: tuple[DemoRow, ...]


def run_demo(progress: Progress | None = None) -> Demonstration:
    """Measure private recommendations and neighbours on generated people, with fixed seeds.

    Privacy
    -------
    A simulation: the people are generated and the noise is seeded.
    """
    total, done = 2 * len(EPSILONS) + 2 + RUNS, 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    people = _POLL.draw(generated_crowd(), random_state=0)
    train, test = split(people, random_state=0)

    def judged(method: str, model: Recommends, epsilon: float | None = None) -> DemoRow:
        row = DemoRow(method, epsilon, judge(model, people, test, K).ndcg, epsilon)
        step()
        return row

    recommendations = [judged("popularity", popularity(train))]
    for release in ("sketch", "matrix"):
        for epsilon in EPSILONS:
            model = PrivateRecommender(epsilon, release=release, catalogue=people.item_ids, random_state=0).fit(train)
            recommendations.append(judged(release, model, epsilon))
    recommendations.append(judged("ease", ease(train)))
    return Demonstration(tuple(recommendations), _small_crowd(people), _neighbors(step))


def _small_crowd(people: Profiles) -> tuple[DemoRow, ...]:
    few = people[:SMALL]
    train, test = split(few, random_state=0)
    model = PrivateRecommender(EPSILONS[0], catalogue=people.item_ids, random_state=0).fit(train)
    return (
        DemoRow("popularity", None, judge(popularity(train), few, test, K).ndcg),
        DemoRow("sketch", EPSILONS[0], judge(model, few, test, K).ndcg, EPSILONS[0]),
    )


def _neighbors(step: Callable[[], None]) -> tuple[DemoRow, ...]:
    bookmarks = delicious_like()
    found: dict[tuple[str, float | None], list[float]] = {}
    totals: dict[tuple[str, float | None], float] = {}
    for run in range(RUNS):
        people = _POLL.draw(bookmarks, random_state=run)
        train, test = split(people, random_state=run)
        models: dict[tuple[str, float | None], HasNeighbors | Neighbors] = {
            ("random", None): random_neighbors(people.n_users, K, random_state=run),
            ("same", None): same_neighbors(train, K),
        }
        for engine, epsilon in _ENGINES:
            fitted = PrivateNeighbors(
                K, epsilon=epsilon, engine=engine, catalogue=people.item_ids, random_state=run
            ).fit(train)
            models[engine, epsilon], totals[engine, epsilon] = fitted, fitted.guarantee_.total
        models["true", None] = true_neighbors(train, K, score="overlap")
        for key, model in models.items():
            found.setdefault(key, []).append(recall(model, people, test))
        step()
    return tuple(DemoRow(*key, float(np.mean(values)), totals.get(key)) for key, values in found.items())


def generated_crowd(n_people: int = N_PEOPLE, n_items: int = N_ITEMS, *, seed: int = 2026) -> Profiles:
    """Return people with latent tastes, all weights 1.

    People and items are points in eight dimensions. A person's items are drawn without replacement with probabilities
    proportional to popularity (Zipf's law) times e^(1.25 times the match of person and item, which has variance 1). At
    this strength EASE reaches about twice the NDCG of popularity, as on MovieLens. Sizes are lognormal, about 30 items.
    """
    generator = np.random.default_rng(seed)
    sizes = np.clip(30 * np.exp(0.6 * generator.standard_normal(n_people) - 0.18), 5, n_items // 4).astype(np.int64)
    people, items = generator.standard_normal((n_people, 8)), generator.standard_normal((n_items, 8))
    attraction = 1.25 / np.sqrt(8) * (people @ items.T) - 0.8 * np.log(np.arange(n_items) + 10)
    # Adding Gumbel noise and taking the largest is drawing without replacement.
    ranked = np.argsort(-(attraction + generator.gumbel(size=attraction.shape)), axis=1)[:, : sizes.max()]
    owned = ranked[np.arange(sizes.max()) < sizes[:, None]]
    return Profiles.from_pairs(np.repeat(np.arange(n_people), sizes), owned, item_ids=np.arange(n_items))


def save_people(path: Path) -> None:
    """Write 1,000 generated people, with weekly hours and a privacy weight each, to a CSV file."""
    generator = np.random.default_rng(2012)
    hours = generator.gamma(9.0, 3.8, 1000).clip(0, 80)
    # Three groups of a poll, each with weights of its own.
    weights = generator.choice(
        [0.0, 0.5, 1.0, 0.5, 0.75, 1.0, 1.0], size=1000, p=[0.34 / 3] * 3 + [0.43 / 3] * 3 + [0.23]
    )
    rows = (
        f"person{place},{hour:.1f},{weight:g}" for place, (hour, weight) in enumerate(zip(hours, weights, strict=True))
    )
    write_whole(path, "\n".join(["id,hours,weight", *rows, ""]))
