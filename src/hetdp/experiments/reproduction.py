"""The whole evaluation, from data sets to files: what `hetdp reproduce` does."""

import csv
import io
import itertools
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.files import write_whole
from hetdp.core.optional import require_all
from hetdp.datasets import describe
from hetdp.evaluation.results import Evaluation
from hetdp.experiments.configurations import Task
from hetdp.experiments.evaluation import Outcome
from hetdp.experiments.figure_points import figure_points
from hetdp.experiments.measurements import Measurements, sketch_gaps_closed
from hetdp.experiments.prepared import DataSet, prepare_data
from hetdp.experiments.report.contents import SweepEvaluation, numbers_csv
from hetdp.experiments.report.verdict_table import verdicts_markdown
from hetdp.experiments.results import ResultsStore
from hetdp.experiments.rivals import beside_rivals
from hetdp.experiments.running import LocalRunner, Progress, Runner, run_sweep
from hetdp.experiments.sweep import SweepSettings, plan_tasks, tasks_of
from hetdp.experiments.verdicts import judge_claims, unsettled

__all__ = ["Reproduction", "check_folder", "evaluate", "reproduce", "require_packages", "write_files"]

RESULTS, REPORT, NUMBERS, RUNS = "results.sqlite", "report.html", "numbers.csv", "runs.csv"
VERDICTS, FIGURES = "verdicts.md", "figures"


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` did.

    Attributes
    ----------
    evaluation
        Everything that was measured.
    computed, reused
        Tasks run now, and found in the results.
    files
        What was written.
    """

    evaluation: SweepEvaluation
    computed: int
    reused: int
    files: tuple[Path, ...]


def reproduce(
    settings: SweepSettings,
    folder: Path,
    *,
    data: list[DataSet] | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run a sweep, or what is missing of it, and write report, figures and numbers into a folder.

    Parameters
    ----------
    settings
        The sweep.
    folder
        Where files go; made if missing. Results of earlier calls in it are reused.
    data
        The data sets of the settings, if they are ready already.
    runner
        Where tasks are run; default: in this process.
    progress
        Called with tasks done and in all.

    Privacy
    -------
    A simulation with seeded noise for those who may see the data. The files are as private as the data: recall is
    measured without noise.
    """
    require_packages()
    if data is None:
        data = prepare_data(settings.data, k=settings.k)
    check_folder(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ResultsStore(folder / RESULTS) as store:
        computed, tasks = _run_until_decided(settings, data, store, runner or LocalRunner(), progress)
        outcomes = list(store.outcomes(tasks))
    evaluation = evaluate(settings, data, outcomes, beside_rivals(settings, data))
    files = write_files(evaluation, outcomes, {one.fingerprint: one.name for one in data}, folder)
    return Reproduction(evaluation, computed, len(tasks) - computed, (*files, folder / RESULTS))


def _run_until_decided(
    settings: SweepSettings, data: list[DataSet], store: ResultsStore, runner: Runner, progress: Progress | None
) -> tuple[int, list[Task]]:
    """Run everything as often as asked for, then what open verdicts need, look by look; return what was run, and all.

    Looks are those of the settings, whatever results there are already: nothing is decided by what happens to be kept.
    """
    fingerprints = {one.name: one.fingerprint for one in data}
    profiles = {one.fingerprint: one.profiles for one in data}
    tasks = plan_tasks(settings, fingerprints)
    computed = run_sweep(profiles, tasks, store, runner, progress)
    for done, look in itertools.pairwise(settings.looks):
        measured = Measurements(store.outcomes(tasks), {one.fingerprint: one.name for one in data})
        needed = unsettled(judge_claims(measured, settings, data))
        if not needed:
            break
        in_order = {name: sorted(some, key=lambda one: one.text) for name, some in needed.items()}
        tasks += tasks_of(in_order, fingerprints, range(settings.seed + done, settings.seed + look))
        computed += run_sweep(profiles, tasks, store, runner, progress)
    return computed, tasks


def check_folder(folder: Path) -> None:
    """Say so if the output folder cannot be made or written, and leave nothing behind."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".hetdp-"):
                pass
        finally:
            for one in made:
                if one.is_dir():
                    one.rmdir()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "cannot be written"
        raise DataError(
            f"--output must be a folder that can be written. Got {str(folder)!r} instead ({reason})."
        ) from error


def require_packages() -> None:
    """Refuse to start without the packages that the report will need at the end."""
    require_all(("jinja2", "joblib", "vl_convert"), extra="report", purpose="A report")


def evaluate(
    settings: SweepSettings,
    data: list[DataSet],
    outcomes: Iterable[Outcome],
    rivals: Mapping[str, Evaluation] | None = None,
) -> SweepEvaluation:
    """Return what outcomes say, and what was found beside rivals."""
    known = list(outcomes)
    measured = Measurements(known, {one.fingerprint: one.name for one in data})
    shown = measured.first(settings.runs)  # the same for all points, whatever verdicts took beyond
    return SweepEvaluation(
        settings=settings,
        statistics={one.name: describe(one.profiles) for one in data},
        points=tuple(figure_points(shown, settings, data)),
        verdicts=tuple(judge_claims(measured, settings, data)),
        gaps_closed={one.name: sketch_gaps_closed(shown, settings, one.name) for one in data},
        tasks=len(known),
        seconds=sum(outcome.seconds for outcome in known),
        rivals=dict(rivals or {}),
    )


def write_files(
    evaluation: SweepEvaluation, outcomes: Iterable[Outcome], names: dict[str, str], folder: Path
) -> list[Path]:
    """Write the report, the figures, the verdicts, and every number as CSV; return the files."""
    from hetdp.experiments.report.rendering import render_html, write_figures

    texts = {
        REPORT: render_html(evaluation),
        NUMBERS: numbers_csv(evaluation.points),
        RUNS: runs_csv(outcomes, names),
        VERDICTS: verdicts_markdown(evaluation.verdicts, evaluation.settings.looks),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [*(folder / name for name in texts), *write_figures(evaluation, folder / FIGURES)]


def runs_csv(outcomes: Iterable[Outcome], names: dict[str, str]) -> str:
    """Return every number that any run measured as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "data",
            "engine",
            "score",
            "combine",
            "weights",
            "k",
            "seed",
            "epsilon",
            "group",
            "recall",
            "met_mean",
            "met_max",
        ]
    )
    for outcome in outcomes:
        task, used = outcome.task, outcome.task.configuration
        combine = used.combine if used.engine == "gossip" else ""
        rule, score = used.weights.text, used.score if used.engine != "random" else ""
        for point in outcome.points:
            level = "" if point.epsilon is None else f"{point.epsilon:g}"
            met = ("", "") if point.met_mean is None else (f"{point.met_mean:.6g}", point.met_max)
            for group, recall in point.recall.items():
                where = [names[task.data], used.engine, score, combine, rule, used.k, task.seed, level, group]
                writer.writerow([*where, f"{recall:.8g}", *met])
    return text.getvalue()
