"""`hetdp compare`: which mechanism is best for a question, a crowd and an epsilon."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click

from hetdp.cli.options import plot_option
from hetdp.cli.output import Voice, check_plot, output_options, print_json, print_rows, write_plot
from hetdp.core.errors import HetdpError
from hetdp.mechanisms.comparison import EXAMPLE, QUERY_NAMES, Comparison, compare as simulate
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.profiles import PrivacyWeights
from hetdp.profiles.policies import westin

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
@click.option(
    "--weights",
    help="Privacy weights that you expect, each with its share of the items, such as 1=0.8,0.25=0.2.  [default: "
    "those of a poll: 0, 0.5, 0.75 and 1 with shares 0.11, 0.26, 0.14 and 0.49]",
)
@click.option(
    "--values",
    multiple=True,
    metavar="[WEIGHT=]V,V,...",
    help="Public sample of plausible values in [0, 1], such as 0,0,1. If values depend on weights, one sample per "
    "weight: --values 1=0,0,1 --values 0.25=0,1,1.  [default: uniform]",
)
@click.option(
    "--contender",
    "contenders",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Your own mechanism: a function in a module of this folder that makes one from weights and epsilon, as above. "
    "Repeatable.",
)
@click.option("--runs", type=click.IntRange(min=2), default=1000, show_default=True, help="Simulated data sets.")
@plot_option("the errors")
@output_options
def compare(
    *,
    query_name: str,
    quantile: float | None,
    items: int,
    epsilon: float,
    weights: str | None,
    values: tuple[str, ...],
    contenders: tuple[str, ...],
    runs: int,
    plot: Path | None,
    voice: Voice,
) -> None:
    """Simulate every mechanism that can answer a question and recommend the best.

    Values lie in [0, 1]. Nothing private is read and nothing is spent.
    A bin of a histogram is a count; a mode is best left to the exponential mechanism, as hetdp release does.

    \b
    hetdp compare --query mean --epsilon 1 --contender mine:f   # a file mine.py:
    import hetdp
    def f(weights, epsilon):
        box = hetdp.Box.uniform(0, 1, size=weights.size)
        return hetdp.stretch(hetdp.queries.mean(box), weights, multiplier=2)
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    expected = westin(0.34, 0.43, 0.23) if weights is None else _expected(weights)
    plausible = _plausible(values)
    if (quantile is None) == (query_name == "quantile"):
        raise click.UsageError("--quantile must be given for --query quantile, and for no other.")
    own = dict(_contender(text) for text in contenders)
    if plot is not None:
        check_plot(plot)
    voice.note(f"Simulating {runs} data sets of {items} items ...")
    result = simulate(
        query_name, expected, epsilon, items, quantile=quantile, values=plausible, contenders=own, runs=runs
    )
    if plot is not None:
        write_plot(plot, result.plot, voice)
    if voice.as_json:
        print_json(result.to_dict())
        return
    _show(result, runs)


def _expected(text: str) -> dict[float, float]:
    """Return the share of each weight, of "1=0.8,0.25=0.2"."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {float(weight): float(share) for weight, share in pairs}
    except ValueError:
        raise click.UsageError(
            f"--weights must be weights with shares, such as 1=0.8,0.25=0.2 (got {text!r})."
        ) from None


def _plausible(texts: tuple[str, ...]) -> list[float] | dict[float, list[float]] | None:
    """Return a sample of values, or one for each weight, of "0,0,1" or of several "1=0,0,1"."""
    try:
        split = [text.rpartition("=") for text in texts]
        samples = {weight: [float(value) for value in values.split(",")] for weight, _, values in split}
        if not all(0 <= value <= 1 for values in samples.values() for value in values):
            raise click.UsageError("--values must lie in [0, 1].")
        if len(samples) < len(texts) or (len(texts) > 1 and "" in samples):
            raise click.UsageError("--values must be one sample, or one for each of several weights (1=0,0,1).")
        return samples[""] if "" in samples else {float(weight): one for weight, one in samples.items()} or None
    except ValueError:
        raise click.UsageError("--values must be numbers separated by commas, such as 0,0,1 or 0.25=0,1,1.") from None


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
    title = f"Error of the {result.query} of {result.items} items at epsilon = {result.epsilon:g} ({runs} data sets)"
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
