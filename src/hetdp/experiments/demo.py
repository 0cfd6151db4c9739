"""A short demonstration: three engines on two generated data sets, and a small evaluation as a report."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.files import write_whole
from hetdp.evaluation.metrics import judge, recall
from hetdp.evaluation.neighbor_baselines import random_neighbors, true_neighbors
from hetdp.experiments.datasets.prepared import DataSet, prepare_data
from hetdp.experiments.evaluation import run_task
from hetdp.experiments.reproduction import evaluate, require_packages
from hetdp.experiments.sweep import SweepSettings, plan_tasks
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Progress
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.profiles import policies, split

__all__ = ["EPSILON", "DemoRow", "Demonstration", "demo_report"]


EPSILON = 1.0
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
    """One line of the table in the terminal.

    Attributes
    ----------
    data, engine
        What was used. "random" and "true" neighbours are the ends of the scale; the latter by overlap, as the engines
        rank, and by cosine, as the paper does.
    recall
        Share of hidden items that the 10 neighbours have.
    precision
        Share of 10 recommendations that are hidden items; None for the ends of the scale.
    loss_one, loss_all
        What an item of weight 1 loses to one observer and to all together, lists and recommendations included; None
        where nothing is promised.
    """

    data: str
    engine: str
    recall: float
    precision: float | None = None
    loss_one: float | None = None
    loss_all: float | None = None


@dataclass(frozen=True)
class Demonstration:
    """The table, and where the report is."""

    rows: tuple[DemoRow, ...]
    report: Path


def demo_report(path: Path, progress: Progress | None = None) -> Demonstration:
    """Find private neighbours and recommendations for generated people with three engines, and write a report."""
    require_packages()
    data = prepare_data(_SETTINGS.data, k=_SETTINGS.k)
    tasks = plan_tasks(_SETTINGS, {one.name: one.fingerprint for one in data})
    contents = {one.fingerprint: one.profiles for one in data}
    total = len(tasks) + 3 * len(data)
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
    rows = [DemoRow(one.name, "random", recall(random_neighbors(people.n_users, k), people, test))]
    for engine in ENGINES:
        model = PrivateNeighbors(k, epsilon=EPSILON, engine=engine, random_state=0).fit(train)
        precision = judge(model, people, test, 10).precision
        promise = model.guarantee_
        found = recall(model, people, test)
        rows.append(DemoRow(one.name, engine, found, precision, promise.against(1), promise.total))
        step()
    # The engines rank by overlap, so this is what they aim at; the paper ranks by cosine.
    rows.append(DemoRow(one.name, "true, overlap", recall(true_neighbors(train, k, score="overlap"), people, test)))
    rows.append(DemoRow(one.name, "true, cosine", recall(true_neighbors(train, k), people, test)))
    return rows
