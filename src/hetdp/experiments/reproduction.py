"""The whole evaluation, from data sets to files: what `hetdp reproduce` does."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.files import write_whole
from hetdp.core.optional import require_all
from hetdp.datasets import describe
from hetdp.evaluation.evaluating import EvaluationPlan
from hetdp.evaluation.results import MODEL, Evaluation
from hetdp.experiments.evaluation import Outcome
from hetdp.experiments.figure_points import figure_points
from hetdp.experiments.measurements import Measurements, sketch_gaps_closed
from hetdp.experiments.prepared import DataSet, prepare_data
from hetdp.experiments.report.contents import SweepEvaluation, numbers_csv
from hetdp.experiments.report.verdict_table import verdicts_markdown
from hetdp.experiments.running import LocalRunner, ResultsStore, Runner, run_sweep
from hetdp.experiments.sweep import SweepSettings, plan_tasks
from hetdp.experiments.verdicts import judge_claims
from hetdp.neighbors.engines.base import Progress
from hetdp.profiles import policies

RESULTS, REPORT, NUMBERS, VERDICTS = "results.sqlite", "report.html", "numbers.csv", "verdicts.md"
#: Total epsilons of the recommendations.
_LEVELS = (1.0, 3.0)
#: Catalogues up to this size are related as a whole; of longer ones, the closed form takes minutes.
_MOST_ITEMS = 4096
_FEWEST_RUNS, _MOST_RUNS = 2, 5


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
    """Run a sweep, or what is missing of it, and write report, verdicts and numbers into a folder.

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
        tasks = plan_tasks(settings, {one.name: one.fingerprint for one in data})
        profiles = {one.fingerprint: one.profiles for one in data}
        computed = run_sweep(profiles, tasks, store, runner or LocalRunner(), progress)
        outcomes = list(store.outcomes(tasks))
    evaluation = evaluate(settings, data, outcomes, _beside_rivals(settings, data))
    files = write_files(evaluation, folder)
    return Reproduction(evaluation, computed, len(tasks) - computed, (*files, folder / RESULTS))


def _beside_rivals(settings: SweepSettings, data: Sequence[DataSet]) -> dict[str, Evaluation]:
    """Return what the model and published sketches find beside their rivals, for each data set that is not too wide.

    People choose weights as the first mix of the settings says.
    """
    plan = EvaluationPlan(
        epsilon=_LEVELS,
        neighbors=settings.k,
        engine=(MODEL, "sketch"),
        runs=min(max(settings.runs, _FEWEST_RUNS), _MOST_RUNS),
        policy=(policies.westin(*settings.mixes[0]),),
        seed=settings.seed,
    )
    found = {}
    for one in data:
        if settings.extras and one.profiles.n_items <= _MOST_ITEMS:
            with contextlib.suppress(DataError):  # too small to hide anything: the figures are still worth having
                found[one.name] = plan.measure(one.profiles)
    return found


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
            f"must be a folder that can be written ({reason})", parameter="output", got=str(folder)
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
    return SweepEvaluation(
        settings=settings,
        statistics={one.name: describe(one.profiles) for one in data},
        points=tuple(figure_points(measured, settings, data)),
        verdicts=tuple(judge_claims(measured, settings, data)),
        gaps_closed={one.name: sketch_gaps_closed(measured, settings, one.name) for one in data},
        tasks=len(known),
        seconds=sum(outcome.seconds for outcome in known),
        rivals=dict(rivals or {}),
    )


def write_files(evaluation: SweepEvaluation, folder: Path) -> list[Path]:
    """Write the report, the verdicts, and every number of the figures as CSV; return the files."""
    from hetdp.experiments.report.rendering import render_html

    texts = {
        REPORT: render_html(evaluation),
        NUMBERS: numbers_csv(evaluation.points),
        VERDICTS: verdicts_markdown(evaluation.verdicts),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]
