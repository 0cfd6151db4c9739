"""`hetdp demo`: private neighbours and recommendations for generated people, with a report to look at."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hetdp.cli.output import Voice, check_writable, output_options, print_facts, print_json, print_private, print_rows

if TYPE_CHECKING:
    from hetdp.experiments.demo import Demonstration

__all__ = ["demo"]


@click.command()
@click.option("--mean", is_flag=True, help="Show a mean of 1,000 generated people instead.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the people of --mean to a CSV file.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("hetdp-report.html"),
    show_default=True,
    help="Where to write the report.",
)
@output_options
def demo(*, mean: bool, save: Path | None, output: Path, voice: Voice) -> None:
    """Find neighbours and recommendations for generated people who have set a dial on each of their items.

    Three engines and a model on two data sets, two tables, and a report of a small version of the paper's evaluation.
    """
    if mean or save is not None:
        _show_mean(save, voice)
        return
    from hetdp.experiments.demo import demo_report
    from hetdp.experiments.reproduction import require_packages

    require_packages()
    check_writable(output)
    voice.note("Three engines and a model on generated people (the first run compiles them, once) ...")
    with voice.progress("Demonstration") as advance:
        shown = demo_report(output, advance)
    if voice.as_json:
        print_json({"rows": [asdict(row) for row in shown.rows], "report": str(shown.report)})
        return
    _show(shown)
    voice.note(f"Wrote {shown.report}: open it in a browser. Next: hetdp recommend --help, or README.md.")


def _show(shown: "Demonstration") -> None:
    from hetdp.experiments.demo import EPSILON

    found = [
        (row.data, row.method, f"{row.recall:.3f}", _number(row.loss_one, "{:g} v"), _number(row.loss_all, "{:g} v"))
        for row in shown.rows
        if row.recall is not None
    ]
    header = ("data", "neighbours", "recall", "loss to one", "loss to all")
    print_rows(f"10 neighbours at epsilon = {EPSILON:g}; 34/43/23 % of dials", header, found)
    click.echo(
        "recall: hidden items that the neighbours have. true: no privacy; the engines rank by overlap and aim at\n"
        "that row, the paper ranks by cosine. same people: the same for everybody, chosen to have most of what\n"
        "people have; recall rewards them.\n"
    )
    listed = [
        (row.data, row.method, _number(row.precision, "{:.3f}"), f"{row.ndcg:.3f}", _number(row.loss_all, "{:g} v"))
        for row in shown.rows
        if row.ndcg is not None
    ]
    header = ("data", "recommendations", "precision", "NDCG", "loss to all")
    print_rows("10 recommendations; the same dials", header, listed)
    click.echo(
        "precision: recommended items that were hidden; NDCG: first ones count more. popularity and EASE: no privacy.\n"
        "model: learned from the sketches of all, scored at home; beside popularity it needs a crowd, or epsilon.\n"
        "loss: what an item of weight v may lose, lists and recommendations together."
    )


def _show_mean(save: Path | None, voice: Voice) -> None:
    from hetdp.experiments.mean_demo import LIMIT, PEOPLE, RUNS, demonstrate_mean

    if save is not None:
        check_writable(save)
    shown = demonstrate_mean()
    if save is not None:
        shown.save(save)
        voice.note(f"Wrote {save}.")
    facts = {
        "people": PEOPLE,
        "released mean": shown.answer.estimate,
        "95 % interval": f"{shown.answer.low:.4g} to {shown.answer.high:.4g}",
        "epsilon": shown.answer.epsilon,
        "noise scale": shown.answer.scale,
        "guarantee": shown.answer.guarantee.text,
    }
    dials = {"never counts": 0, "careful": 0.5, "relaxed": 0.75, "ordinary": 1}
    paid = {f"{name} (v = {dial:g})": shown.spent[shown.weights == dial] for name, dial in dials.items()}
    if voice.as_json:
        levels = {name: {"people": int(loss.size), "paid": float(loss.max())} for name, loss in paid.items()}
        print_json({**facts, "rmse": shown.errors}, private={"true_mean": shown.truth, "ledger": levels})
        return
    print_facts(f"Weekly hours of {PEOPLE} generated people, each with a privacy dial of their own", facts)
    rows = [(f"{row['epsilon']:g}", f"{row['paper']:.3f}", f"{row['hetdp']:.3f}") for row in shown.errors]
    header = ("epsilon", "paper's stretching", "hetdp's estimate")
    print_rows(f"How far off the mean is (root mean squared error in hours, {RUNS} simulated runs)", header, rows)
    print_private({"true mean": shown.truth})
    left = [(name, str(loss.size), f"{loss.max():.3f}", f"{LIMIT - loss.max():.3f}") for name, loss in paid.items()]
    print_rows("Ledger after one release at epsilon = 1", ("dial", "people", "paid", f"left of {LIMIT:g}"), left)
    voice.note(
        "Nobody pays more than epsilon times the dial. This release costs less than that: it lets strict people count "
        "for more, and widens the noise for it."
    )
    voice.note("Next: hetdp release --help, or the tutorials of the documentation.")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
