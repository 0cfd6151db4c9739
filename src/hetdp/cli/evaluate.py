"""`hetdp evaluate`: how much recall privacy costs on data at hand, by the protocol of the paper. Not private."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hetdp.cli.neighbors import (
    DEFAULT_CYCLES,
    check_size,
    check_together,
    cycles_option,
)
from hetdp.cli.output import (
    Voice,
    available_processors,
    check_ending,
    check_writable,
    output_options,
    plain,
    print_json,
    print_rows,
    threads_option,
)
from hetdp.cli.source import Source, data_options
from hetdp.core.checks import fraction
from hetdp.core.files import write_whole
from hetdp.core.words import rough_duration
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import DEFAULT_SCORE, SCORES, SIZES

if TYPE_CHECKING:
    from hetdp.profiles.policies import Policy

__all__ = ["evaluate"]

_ENDINGS = (".csv", ".json")
_SCORES = tuple(name for name, score in SCORES.items() if score.warning is None)


@click.command(short_help="Measure the recall of each engine on data at hand (not private).")
@data_options
@click.option(
    "--epsilon", type=float, multiple=True, default=(1.0,), show_default=True, help="May be given repeatedly."
)
@click.option("--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True, help="Length of a list.")
@click.option("--engine", type=click.Choice(tuple(ENGINES)), multiple=True, help="[default: all that know the score]")
@click.option("--score", type=click.Choice(_SCORES), default=DEFAULT_SCORE, show_default=True, help="Likeness.")
@click.option("--sizes", type=click.Choice(SIZES), help="Sizes for a cosine.  [default: noisy]")
@cycles_option
@click.option("--runs", type=click.IntRange(min=2), default=5, show_default=True, help="Splits, each with new noise.")
@click.option("--westin", help="Draw weights: shares of the three groups, such as 0.34,0.43,0.23.")
@click.option("--slices", help="Draw weights: lowest, highest, how many, such as 0,1,3.")
@click.option("--per", type=click.Choice(["item", "user"]), help="Draw a weight per item or per user.  [default: item]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same table.")
@threads_option
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write the table to a .csv or .json file.")
@output_options
def evaluate(
    data: Path,
    *,
    epsilon: tuple[float, ...],
    engine: tuple[str, ...],
    score: str,
    sizes: str | None,
    cycles: int | None,
    threads: int | None,
    westin: str | None,
    slices: str | None,
    per: Literal["item", "user"] | None,
    output: Path | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure the recall of true neighbours, random ones, and those of each engine on DATA, a file of pairs.

    \b
    hetdp evaluate ratings.csv --epsilon 1 --epsilon 3 --westin 0.34,0.43,0.23

    The protocol of the paper: a tenth of the items that somebody else has too is hidden, and recall is the share of
    them found in the profiles of the neighbours. The table is NOT private: it is computed from the data without noise,
    for whoever may see them. Weights are those in DATA unless --westin or --slices draws others.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.evaluation.evaluating import ABOUT_INTERVALS, EvaluationPlan

    policy = _policy(westin, slices)
    source = Source.take(data, options, voice)
    if policy is not None and (source.weight_column is not None or source.default_weight is not None):
        raise click.UsageError("--westin and --slices draw weights: leave out --weight-column and --default-weight.")
    if per is not None and policy is None:
        raise click.UsageError("--per is for --westin and --slices, which draw weights.")
    for level in epsilon:
        fraction("--epsilon", level)
    plan = EvaluationPlan(
        epsilon=epsilon,
        engine=engine,
        score=score,
        sizes=sizes or SIZES[0],
        cycles=cycles or DEFAULT_CYCLES,
        policy=policy,
        per=per or "item",
        threads=threads or available_processors(),
        catalogue=source.listed,
        **options,
    )
    check_together(plan.engines, score, sizes, cycles)
    if output is not None:
        check_writable(output, keep=(data, source.catalogue))
        check_ending(output, _ENDINGS)
    drawn = None
    if policy is not None:
        drawn = f"weights drawn: {'westin' if westin else 'slices'} {westin or slices} per {plan.per}"
    read = source.read(drawn=drawn)
    profiles = read.profiles
    check_size(plan.neighbors, profiles.n_users)
    plan.check(profiles)
    unknowing = () if engine else (one for name, one in ENGINES.items() if name not in plan.engines)
    left_out = "".join(f" {one.limits}: left out." for one in unknowing)
    seconds = rough_duration(plan.seconds(profiles))
    voice.note(f"{plan.searches} searches, about {seconds} (rough).{left_out} The table is not private.")
    facts: dict[str, Any] = {
        "private": False,
        "users": profiles.n_users,
        "items": profiles.n_items,
        "pairs": profiles.n_pairs,
        "k": plan.neighbors,
        "score": score,
        **({"sizes": plan.sizes} if SCORES[score].needs_sizes else {}),
        "runs": plan.runs,
        "seed": plan.seed,
        "weights": read.weights,
        "catalogue": plan.catalogue,
    }
    if voice.dry_run:
        if voice.as_json:
            print_json({"dry_run": True, **facts})
        else:
            voice.note("--dry-run: nothing was measured.")
        return
    with voice.progress("Evaluating") as advance, voice.remarks():
        rows = [dataclasses.asdict(row) for row in plan.measure(profiles, advance).rows]
    found = plain({**facts, "interval": ABOUT_INTERVALS, "rows": rows})
    if output is not None:
        as_text = json.dumps(found, indent=2) + "\n" if output.name.lower().endswith(".json") else _as_csv(rows)
        write_whole(output, as_text)
        voice.note(f"Wrote {output}. It is as private as {data.name}.")
    if voice.as_json:
        print_json(found)
        return
    title = f"Recall at k = {plan.neighbors}, {plan.runs} runs, {profiles.n_users:,} users (not private)"
    header = ("method", "epsilon", "recall", "difference from baseline", "epsilon against all together")
    print_rows(title, header, [_shown(row) for row in rows])
    click.echo(ABOUT_INTERVALS)


def _shown(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    epsilon, difference, against_all = row["epsilon"], row["difference"], row["against_all"]
    return (
        row["method"],
        "" if epsilon is None else f"{epsilon:g}",
        f"{row['recall']:.4f} ± {row['half_width']:.4f}",
        "" if difference is None else f"{round(difference, 4) + 0.0:+.4f} ± {row['difference_half_width']:.4f}",
        "" if against_all is None else f"{against_all:g}",
    )


def _as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _policy(westin: str | None, slices: str | None) -> "Policy | None":
    """Return the policy of weights that the options stand for."""
    from hetdp.profiles import policies

    if westin is not None and slices is not None:
        raise click.UsageError("--westin and --slices exclude each other: weights are drawn by one of them.")
    if westin is not None:
        shares = _numbers(westin)
        if len(shares) != 3:  # noqa: PLR2004  (groups)
            raise click.UsageError(
                f"--westin must be three shares that sum to 1, such as 0.34,0.43,0.23, not {westin!r}."
            )
        return policies.westin(*shares)
    if slices is not None:
        ends = _numbers(slices)
        if len(ends) != 3 or ends[2] != int(ends[2]):  # noqa: PLR2004  (ends and a count)
            raise click.UsageError(f"--slices must be lowest, highest and how many, such as 0,1,3, not {slices!r}.")
        return policies.slices(ends[0], ends[1], int(ends[2]))
    return None


def _numbers(text: str) -> list[float]:
    """Return numbers between commas; none at all if one of them is no finite number."""
    try:
        numbers = [float(part) for part in text.replace("/", ",").split(",")]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
