"""`hetdp compare`: which mechanism is best for a question, a crowd and an epsilon."""

from pathlib import Path

import click

from hetdp.cli.output import Voice, check_writable, output_options, print_json, print_rows, westin_option
from hetdp.core.files import write_whole
from hetdp.mechanisms.comparison import QUERY_NAMES
from hetdp.mechanisms.comparison import compare as simulate
from hetdp.profiles import WeightPrior

__all__ = ["compare"]


@click.command(short_help="Say which mechanism is best for a question.")
@click.option("--query", "query_name", type=click.Choice(QUERY_NAMES), required=True, help="What will be asked.")
@click.option("--items", "-n", type=click.IntRange(min=2), default=1000, show_default=True, help="Number of items.")
@click.option("--epsilon", type=float, required=True, help="Privacy level of the release to come.")
@westin_option(default="0.34,0.43,0.23", show_default=True, help="Public prior of weights: shares of the three groups.")
@click.option("--values", help="Public sample of plausible values in [0, 1], such as 0,0,1.  [default: uniform]")
@click.option("--runs", type=click.IntRange(min=2), default=1000, show_default=True, help="Simulated crowds.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Also write the chart to an SVG file.")
@output_options
def compare(
    *,
    query_name: str,
    items: int,
    epsilon: float,
    westin: WeightPrior,
    values: str | None,
    runs: int,
    output: Path | None,
    voice: Voice,
) -> None:
    """Simulate every mechanism that can answer a question and recommend the best.

    Values lie in [0, 1] and are independent of the weights. Nothing private goes in and nothing is spent.
    """
    try:
        plausible = None if values is None else [float(value) for value in values.split(",")]
    except ValueError:
        raise click.UsageError(f"--values must be numbers separated by commas, not {values!r}.") from None
    if plausible is not None and not all(0 <= value <= 1 for value in plausible):
        raise click.UsageError("--values must lie in [0, 1].")
    if output is not None:
        check_writable(output)
    if voice.dry_run:
        voice.note(f"--dry-run: would simulate {runs} crowds of {items} items; a comparison never spends anything.")
        return
    voice.note(f"Simulating {runs} crowds of {items} items ...")
    result = simulate(query_name, westin, epsilon, items, values=plausible, runs=runs)
    if output is not None:
        write_whole(output, result.svg())
        voice.note(f"Wrote {output}.")
    if voice.as_json:
        print_json(result.to_dict())
        return
    largest = max(found.rmse for found in result.contenders)
    rows = [
        (found.name, f"{found.rmse:.3g} ± {found.uncertainty:.1g}", f"{found.bias:+.4g}", _bar(found.rmse / largest))
        for found in result.contenders
    ]
    title = f"Error of the {result.query} of {result.items} items at epsilon = {result.epsilon:g} ({runs} crowds)"
    print_rows(title, ("mechanism", "error", "bias", ""), rows)
    click.echo(f"Recommended: {result.reason}")


def _bar(share: float, width: int = 16) -> str:
    """Return a bar of up to `width` characters."""
    return "█" * max(1, round(share * width))
