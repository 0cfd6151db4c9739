"""A short demonstration: neighbours and recommendations on two generated data sets, and a small evaluation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hetdp.core.files import write_whole
from hetdp.evaluation.item_baselines import ease, popularity
from hetdp.evaluation.metrics import Recommends, judge, recall
from hetdp.evaluation.neighbor_baselines import Neighbors, random_neighbors, same_neighbors, true_neighbors
from hetdp.evaluation.results import EASE, MODEL, POPULARITY, RANDOM, SAME
from hetdp.experiments.evaluation import run_task
from hetdp.experiments.prepared import DataSet, prepare_data
from hetdp.experiments.reproduction import evaluate, require_packages
from hetdp.experiments.sweep import SweepSettings, plan_tasks
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Progress
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.profiles import policies, split
from hetdp.recommender import PrivateRecommender

__all__ = ["EPSILON", "MODEL_EPSILONS", "DemoRow", "Demonstration", "demo_report"]


EPSILON = 1.0
#: Levels of the model, which promises them against everybody together.
MODEL_EPSILONS = (1.0, 3.0)
_POLL = (0.34, 0.43, 0.23)
_SETTINGS = SweepSettings(
    data=("survey_like", "digg_like"),
    runs=3,
    epsilons=(0.1, 1.0, 3.0),
    engine_epsilons=(0.01, 0.1, 1.0, 3.0),
    lower=(0.0, 0.5, 0.9),
    slices=(2, 10),
    pragmatists=(0.1,),
    unconcerned=(0.1, 0.7),
    per=("item",),
)


@dataclass(frozen=True)
class DemoRow:
    """One line of the tables in the terminal.

    Attributes
    ----------
    data, method
        What was used. "random", "same people" and "true" neighbours have no privacy, and neither have "popularity" and
        EASE; the true ones by overlap, as the engines rank, and by cosine, as the paper does.
    recall
        Share of hidden items that the 10 neighbours have; None for what finds none.
    precision, ndcg
        Of 10 recommendations; None for what makes none.
    loss_one, loss_all
        What an item of weight 1 loses to one observer and to all together, lists and recommendations included; None
        where nothing is promised.
    """

    data: str
    method: str
    recall: float | None = None
    precision: float | None = None
    ndcg: float | None = None
    loss_one: float | None = None
    loss_all: float | None = None


@dataclass(frozen=True)
class Demonstration:
    """The rows, and where the report is."""

    rows: tuple[DemoRow, ...]
    report: Path


def demo_report(path: Path, progress: Progress | None = None) -> Demonstration:
    """Find private neighbours and recommendations for generated people, beside their rivals, and write a report."""
    require_packages()
    data = prepare_data(_SETTINGS.data, k=_SETTINGS.k)
    tasks = plan_tasks(_SETTINGS, {one.name: one.fingerprint for one in data})
    contents = {one.fingerprint: one.profiles for one in data}
    total = len(tasks) + (len(ENGINES) + 1) * len(data)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    rows = [row for one in data for row in _rows(one, step)]
    outcomes = []
    for task in tasks:
        outcomes.append(run_task(contents[task.data], task))
        step()
    from hetdp.experiments.report.rendering import render_html

    write_whole(
        path, render_html(evaluate(_SETTINGS, data, outcomes), title="A privacy dial for every item: a short look")
    )
    return Demonstration(tuple(rows), path)


def _rows(one: DataSet, step: Callable[[], None]) -> list[DemoRow]:
    people = policies.westin(*_POLL).draw(one.profiles, random_state=0)
    train, test = split(people, random_state=0)
    k = _SETTINGS.k

    def neighbors(method: str, found: Neighbors | PrivateNeighbors) -> DemoRow:
        return DemoRow(one.name, method, recall(found, people, test))

    def items(method: str, model: Recommends, loss: float | None = None) -> DemoRow:
        found = judge(model, people, test, 10)
        return DemoRow(one.name, method, None, found.precision, found.ndcg, loss, loss)

    rows = [
        neighbors(RANDOM, random_neighbors(people.n_users, k)),
        neighbors(SAME, same_neighbors(train, k)),
        items(POPULARITY, popularity(train)),
    ]
    for engine in ENGINES:
        fitted = PrivateNeighbors(k, epsilon=EPSILON, engine=engine, catalogue="given", random_state=0).fit(train)
        promise = fitted.guarantee_
        found = neighbors(engine, fitted)
        rows.append(replace(found, loss_one=promise.against(1), loss_all=promise.total))
        step()
    for level in MODEL_EPSILONS:
        model = PrivateRecommender(level, catalogue="given", random_state=0).fit(train)
        rows.append(items(f"{MODEL}, epsilon {level:g}", model, model.guarantee_.total))
    step()
    return [
        *rows,
        # The engines rank by overlap, so this is what they aim at; the paper ranks by cosine.
        neighbors("true, overlap", true_neighbors(train, k, score="overlap")),
        neighbors("true, cosine", true_neighbors(train, k)),
        items(EASE, ease(train)),
    ]
