"""`hetdp reproduce`: the evaluation of the paper, figure by figure, beside its published points."""

import dataclasses
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.interrupts import ending_on_signals
from hetdp.cli.output import Voice, output_options, print_json, print_private, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hetdp.experiments.reproduction import Reproduction
    from hetdp.experiments.running import Runner
    from hetdp.experiments.sweep import SweepSettings

_FOLDER = "hetdp-reproduction"


@click.command()
@click.option(
    "--data", multiple=True, help="A file, or a built-in set; repeatable.  [default: the three built-in sets]"
)
@click.option(
    "--as",
    "papers",
    multiple=True,
    type=click.Choice(("survey", "digg", "delicious")),
    help="Which of the paper's data sets it is; once for each --data, in order.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A small sweep with few runs: less than a minute of a processor; two the first time, which compiles.",
)
@click.option("--per", type=click.Choice(["item", "user"]), help="Groups draw weights per item, or once per user.")
@click.option("--runs", type=click.IntRange(min=1), help="Runs of every configuration.  [default: 40, quick 3]")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes.  [default: one per core]")
@click.option("--dask", "address", help="Run on a Dask cluster instead, such as tcp://10.0.0.1:8786.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path(_FOLDER),
    show_default=True,
    help="Folder for the report; results in it are reused.",
)
@output_options
@ending_on_signals()
def reproduce(
    *,
    data: tuple[str, ...],
    papers: tuple[str, ...],
    quick: bool,
    per: str | None,
    runs: int | None,
    jobs: int | None,
    address: str | None,
    output: Path,
    voice: Voice,
) -> None:
    """Run the evaluation of the paper again: its three figures, its conclusions, and what it does not show.

    Writes report.html (one file, no network; each chart can be saved as SVG or PNG), verdicts.md and numbers.csv.
    Finished runs are kept in results.sqlite in the same folder: call again to go on after an interruption. What is
    written is NOT private: recall is measured without noise, for people who may see the data.

    Weights in a file of yours are not used: the evaluation draws its own. `hetdp evaluate` uses yours.
    """
    from hetdp.datasets import BUILT_IN
    from hetdp.experiments.prepared import prepare_data
    from hetdp.experiments.reproduction import check_folder, reproduce as run, require_packages

    settings = _settings(data, quick=quick, per=per, runs=runs)
    if jobs is not None and address is not None:
        raise click.UsageError("--jobs and --dask exclude each other: a cluster has workers of its own.")
    require_packages()
    sets = prepare_data(settings.data, k=settings.k, papers=papers)
    check_folder(output)
    for one in sets:
        if one.weights is not None:
            voice.note(
                f"Weights of {one.name} ({one.weights}) are not used: the evaluation draws its own, as the paper did. "
                "`hetdp evaluate` uses yours."
            )
    with _runner(address, jobs) as runner, voice.progress("Runs") as progress:
        try:
            found = run(settings, output, data=sets, runner=runner, progress=progress)
        except KeyboardInterrupt:
            click.echo("Interrupted. Finished runs are kept; the same command goes on from here.", err=True)
            raise
    _show(found, output, voice, exact=any(one.name not in BUILT_IN for one in sets))


def _settings(
    data: tuple[str, ...],
    *,
    quick: bool,
    per: str | None,
    runs: int | None,
) -> "SweepSettings":
    from hetdp.experiments.sweep import SweepSettings

    settings = SweepSettings.quick() if quick else SweepSettings()
    changes: dict[str, Any] = {}
    if data:
        changes["data"] = data
    if per is not None:
        changes["per"] = (per,)
    if runs is not None:
        changes["runs"] = runs
    return dataclasses.replace(settings, **changes)


@contextmanager
def _runner(address: str | None, jobs: int | None) -> "Iterator[Runner]":
    from hetdp.cli.options import available_processors
    from hetdp.experiments.running import DaskRunner, LocalRunner

    if address is None:
        yield LocalRunner(available_processors() if jobs is None else jobs)
        return
    runner = DaskRunner(address)
    try:
        yield runner
    finally:
        runner.close()


def _show(found: "Reproduction", output: Path, voice: Voice, *, exact: bool) -> None:
    """Show what was found; `exact` if people are behind it who were not invented."""
    from hetdp.core.text import counted
    from hetdp.experiments.report.contents import answer, lead, summary
    from hetdp.experiments.report.verdict_table import verdict_rows

    evaluation = found.evaluation
    if voice.as_json:
        measured = {
            "tasks_computed": found.computed,
            "tasks_reused": found.reused,
            "seconds_of_computing": evaluation.seconds,
            "summary": f"{summary(evaluation)} {lead(evaluation)}",
            "verdicts": [
                {
                    "conclusion": row["title"],
                    **{cell["data"]: cell["direction"] for cell in row["cells"]},
                    "size": {cell["data"]: cell["size"] or None for cell in row["cells"]},
                    "runs": {cell["data"]: cell["runs"] for cell in row["cells"]},
                    "numbers": [number for cell in row["cells"] for number in cell["numbers"]],
                    "extended": [cell["data"] for cell in row["cells"] if cell["extended"]],
                }
                for row in verdict_rows(evaluation.verdicts)
            ],
        }
        report = {"report": str(output / "report.html")}
        print_json(report if exact else report | measured, private=measured if exact else None)
        return
    if exact:
        print_private({"measured": "without noise, on people who are real"})
    table = answer(evaluation)
    rows = [
        (name, *("-" if row["cells"][place] is None else row["cells"][place]["recall"] for row in table["rows"]))
        for place, name in enumerate(table["short"])
    ]
    print_rows("Recall", ("neighbours", *(row["name"] for row in table["rows"])), rows)
    verdicts, extended = [], False
    for row in verdict_rows(evaluation.verdicts):
        words = {}
        for cell in row["cells"]:
            text = ", ".join(filter(None, (cell["direction"], cell["size"], str(cell["runs"]))))
            words[cell["data"]] = f"({text})" if cell["extended"] else text
            extended |= cell["extended"]
        verdicts.append((row["title"], *(words.get(data, "-") for data in evaluation.data)))
    if verdicts:
        print_rows("The paper's conclusions, tested: direction, size, runs", ("conclusion", *evaluation.data), verdicts)
        if extended:
            click.echo("In brackets: the paper does not say this about such data; extended by us.")
    voice.note(f"{counted(found.computed, 'run')} computed, {found.reused:,} found in {output / 'results.sqlite'}.")
    voice.note(f"Wrote {output / 'report.html'}, verdicts.md and numbers.csv. They are as private as the data.")
