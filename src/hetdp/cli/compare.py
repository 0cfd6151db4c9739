"""`hetdp compare`: which mechanism is best for a question, a crowd and an epsilon."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click

from hetdp.cli.options import plot_option, westin_option
from hetdp.cli.output import Voice, check_plot, output_options, print_json, print_rows, write_plot
from hetdp.core.errors import HetdpError
from hetdp.mechanisms.comparison import EXAMPLE, QUERY_NAMES, Comparison, compare as simulate
from hetdp.mechanisms.plan import Mechanism
from hetdp.profiles import PrivacyWeights, WeightPrior

#: Bars end at so many times the smallest error, and in a mark: the good ones are what is to be compared.
_LONGEST = 4
#: Columns that are left for a name and a bar in a table of 80.
_ROOM = 41
_IN_WORDS = f"A contender is a function in a file such as mine.py that makes a mechanism: {EXAMPLE}"


@click.command()
@click.option("--query", "query_name", type=click.Choice(QUERY_NAMES), required=True, help="What will be asked.")
@click.option("--quantile", type=click.FloatRange(0, 1), help="Share of the items below a quantile.")
@click.option("--items", "-n", type=click.IntRange(min=2), default=1000, show_default=True, help="Number of items.")
@click.option("--epsilon", type=float, required=True, help="Privacy level of the release to come.")
@westin_option(default="0.34,0.43,0.23", show_default=True, help="Public prior of weights: shares of the three groups.")
@click.option("--values", help="Public sample of plausible values in [0, 1], such as 0,0,1.  [default: uniform]")
@click.option(
    "--contender",
    "contenders",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Your own mechanism: a function in a module of this folder that makes one from weights and epsilon, as above. "
    "Repeatable.",
)
@click.option("--runs", type=click.IntRange(min=2), default=1000, show_default=True, help="Simulated crowds.")
@plot_option("the errors")
@output_options
def compare(
    *,
    query_name: str,
    quantile: float | None,
    items: int,
    epsilon: float,
    westin: WeightPrior,
    values: str | None,
    contenders: tuple[str, ...],
    runs: int,
    plot: Path | None,
    voice: Voice,
) -> None:
    """Simulate every mechanism that can answer a question and recommend the best.

    Values lie in [0, 1] and are independent of the weights. Nothing private goes in and nothing is spent.
    A bin of a histogram is a count; a mode is best left to the exponential mechanism, as hetdp release does.

    \b
    hetdp compare --query mean --epsilon 1 --contender mine:f   # a file mine.py:
    import hetdp
    def f(weights, epsilon):
        box = hetdp.Box.uniform(0, 1, size=weights.size)
        return hetdp.stretch(hetdp.queries.mean(box), weights, multiplier=2)
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    try:
        plausible = None if values is None else [float(value) for value in values.split(",")]
    except ValueError:
        raise click.UsageError(f"--values must be numbers separated by commas, not {values!r}.") from None
    if plausible is not None and not all(0 <= value <= 1 for value in plausible):
        raise click.UsageError("--values must lie in [0, 1].")
    if (quantile is None) == (query_name == "quantile"):
        raise click.UsageError("--quantile must be given for --query quantile, and for no other.")
    own = dict(_contender(text) for text in contenders)
    if plot is not None:
        check_plot(plot)
    voice.note(f"Simulating {runs} crowds of {items} items ...")
    result = simulate(
        query_name, westin, epsilon, items, quantile=quantile, values=plausible, contenders=own, runs=runs
    )
    if plot is not None:
        write_plot(plot, result.plot, voice)
    if voice.as_json:
        print_json(result.to_dict())
        return
    _show(result, runs)


def _show(result: Comparison, runs: int) -> None:
    """Print errors and bars, and what is recommended."""
    limit = _LONGEST * result.contenders[0].rmse
    end = min(limit, result.contenders[-1].rmse) or 1.0
    width = max(4, min(16, _ROOM - max(len(found.name) for found in result.contenders)))
    rows = [
        (
            found.name,
            f"{found.rmse:.3g} ± {found.uncertainty:.1g}",
            f"{found.bias:+.2g}",
            _bar(found.rmse / end, width),
        )
        for found in result.contenders
    ]
    title = f"Error of the {result.query} of {result.items} items at epsilon = {result.epsilon:g} ({runs} crowds)"
    print_rows(title, ("mechanism", "error", "bias", ""), rows)
    if result.contenders[-1].rmse > limit:
        click.echo(f"Bars with an arrow are cut at {_LONGEST} times the smallest error.\n")
    click.echo(f"Recommended: {result.reason}")


def _contender(text: str) -> tuple[str, Callable[[PrivacyWeights, float], Mechanism]]:
    """Return a name and a function from the user's own module, which nothing but an option makes us run."""
    module, _, function = text.partition(":")
    if not (module and function):
        raise click.UsageError(
            f"--contender must be a module and a function, such as mine:f, not {text!r}. {_IN_WORDS}"
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as error:  # whatever their module does
        raise click.UsageError(
            f"--contender {text} cannot be imported: {type(error).__name__}: {error}. {_IN_WORDS}"
        ) from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise click.UsageError(f"--contender {text} must be a function of the module {module}. {_IN_WORDS}")

    def made(weights: PrivacyWeights, epsilon: float) -> Mechanism:
        try:
            mechanism: Mechanism = found(weights, epsilon)
        except HetdpError:
            raise
        except Exception as error:
            raise click.UsageError(f"--contender {text} failed: {type(error).__name__}: {error}.") from error
        return mechanism

    return f"{module}.{function}", made


def _bar(share: float, width: int) -> str:
    """Return a bar of up to `width` characters, and an arrow where there should be more."""
    return "█" * max(1, round(min(share, 1) * width)) + ("▶" if share > 1 else "")
