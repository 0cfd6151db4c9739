"""`hetdp compare`: which mechanism is best for a question, a crowd and an epsilon."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click

from hetdp.cli.output import Voice, check_writable, output_options, print_json, print_rows, westin_option
from hetdp.core.errors import HetdpError
from hetdp.core.files import write_whole
from hetdp.mechanisms.comparison import QUERY_NAMES
from hetdp.mechanisms.comparison import compare as simulate
from hetdp.mechanisms.plan import Mechanism
from hetdp.profiles import PrivacyWeights, WeightPrior

__all__ = ["compare"]


@click.command(short_help="Say which mechanism is best for a question.")
@click.option("--query", "query_name", type=click.Choice(QUERY_NAMES), required=True, help="What will be asked.")
@click.option("--items", "-n", type=click.IntRange(min=2), default=1000, show_default=True, help="Number of items.")
@click.option("--epsilon", type=float, required=True, help="Privacy level of the release to come.")
@westin_option(default="0.34,0.43,0.23", show_default=True, help="Public prior of weights: shares of the three groups.")
@click.option("--values", help="Public sample of plausible values in [0, 1], such as 0,0,1.  [default: uniform]")
@click.option(
    "--contender",
    "contenders",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Your own mechanism: a function of weights and epsilon in a module of this folder. Repeatable.",
)
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
    contenders: tuple[str, ...],
    runs: int,
    output: Path | None,
    voice: Voice,
) -> None:
    """Simulate every mechanism that can answer a question and recommend the best.

    Values lie in [0, 1] and are independent of the weights. Nothing private goes in and nothing is spent.
    How to release with what is recommended is printed, too.
    """
    try:
        plausible = None if values is None else [float(value) for value in values.split(",")]
    except ValueError:
        raise click.UsageError(f"--values must be numbers separated by commas, not {values!r}.") from None
    if plausible is not None and not all(0 <= value <= 1 for value in plausible):
        raise click.UsageError("--values must lie in [0, 1].")
    own = dict(_contender(text) for text in contenders)
    if output is not None:
        check_writable(output)
    if voice.dry_run:
        voice.note(f"--dry-run: would simulate {runs} crowds of {items} items; a comparison never spends anything.")
        return
    voice.note(f"Simulating {runs} crowds of {items} items ...")
    result = simulate(query_name, westin, epsilon, items, values=plausible, contenders=own, runs=runs)
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
    click.echo(f"\n{result.command}")


def _contender(text: str) -> tuple[str, Callable[[PrivacyWeights, float], Mechanism]]:
    """Return a name and a function from the user's own module, which nothing but an option makes us run."""
    module, _, function = text.partition(":")
    if not (module and function):
        raise click.UsageError(f"--contender must be a module and a function, such as mine:strict, not {text!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as error:  # whatever their module does
        raise click.UsageError(f"--contender {text} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise click.UsageError(f"--contender {text} must be a function of the module {module}.")

    def made(weights: PrivacyWeights, epsilon: float) -> Mechanism:
        try:
            mechanism: Mechanism = found(weights, epsilon)
        except HetdpError:
            raise
        except Exception as error:
            raise click.UsageError(f"--contender {text} failed: {type(error).__name__}: {error}.") from error
        return mechanism

    return f"{module}.{function}", made


def _bar(share: float, width: int = 16) -> str:
    """Return a bar of up to `width` characters."""
    return "█" * max(1, round(share * width))
