"""`hetdp evaluate`: what privacy costs on data at hand, and whether popularity would do as well. Not private."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hetdp.cli.interrupts import ending_on_signals
from hetdp.cli.neighbors import (
    DEFAULT_CYCLES,
    check_size,
    cycles_option,
    engine_problems,
)
from hetdp.cli.options import Sectioned, available_processors, cannot_be_used, plot_option, refuse, threads_option
from hetdp.cli.output import (
    Voice,
    check_ending,
    check_plot,
    check_writable,
    output_options,
    print_json,
    print_private,
    print_rows,
    with_private,
    write_plot,
)
from hetdp.cli.source import COLUMN_OPTIONS, Source, data_options, source_problems
from hetdp.core.checks import fraction
from hetdp.core.errors import Problem
from hetdp.core.files import write_whole
from hetdp.evaluation.results import (
    ABOUT_INTERVALS,
    MODEL,
    PRIVATE_POPULARITY,
    SAME,
    THIRDS,
    TRUE,
    WAYS_TO_COMBINE,
    WHAT,
)
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import DEFAULT_SCORE, SCORES, SIZES

if TYPE_CHECKING:
    from hetdp.evaluation.evaluating import EvaluationPlan
    from hetdp.profiles.policies import Policy

_ENDINGS = (".csv", ".json")
_Row = Mapping[str, Any]
_SECTIONS = {
    "What is compared": ("epsilon", "what", "items", "engine", "runs", "share", "seed"),
    "Neighbours": ("neighbors", "score", "sizes", "cycles", "combine"),
    "Weights": ("westin", "slices", "per"),
    "Data": (*COLUMN_OPTIONS, "catalogue"),
}


@click.command(cls=Sectioned, sections=_SECTIONS)
@data_options
@click.option(
    "--epsilon", type=float, multiple=True, default=(1.0,), show_default=True, help="May be given repeatedly."
)
@click.option("--what", type=click.Choice(WHAT), multiple=True, help="Judge neighbours or items.  [default: both]")
@click.option("--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True, help="Length of a list.")
@click.option("--items", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="Items per user.")
@click.option(
    "--engine",
    type=click.Choice((MODEL, *ENGINES)),
    multiple=True,
    help="May be given repeatedly.  [default: the model, and all that know the score]",
)
@click.option("--score", type=click.Choice(tuple(SCORES)), default=DEFAULT_SCORE, show_default=True, help="Likeness.")
@click.option("--sizes", type=click.Choice(SIZES), help="Sizes for a cosine.  [default: noisy]")
@cycles_option
@click.option(
    "--combine",
    type=click.Choice(WAYS_TO_COMBINE),
    help="Weight of a common item in gossip (the paper's is the product).  [default: smaller]",
)
@click.option("--runs", type=click.IntRange(min=2), default=5, show_default=True, help="Splits, each with new noise.")
@click.option("--share", type=float, default=0.1, show_default=True, help="How much is hidden.")
@click.option(
    "--westin",
    multiple=True,
    help="Draw weights: shares of the three groups, such as 0.34,0.43,0.23. May be given repeatedly.",
)
@click.option(
    "--slices", multiple=True, help="Draw weights: lowest, highest, how many, such as 0,1,3. May be given repeatedly."
)
@click.option("--per", type=click.Choice(["item", "user"]), help="Draw a weight per item or per user.  [default: item]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same table.")
@threads_option
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write the tables to a .csv or .json file.")
@plot_option("quality against total loss")
@output_options
@ending_on_signals()
def evaluate(
    data: Path,
    *,
    epsilon: tuple[float, ...],
    what: tuple[str, ...],
    engine: tuple[str, ...],
    score: str,
    sizes: str | None,
    cycles: int | None,
    combine: str | None,
    threads: int | None,
    westin: tuple[str, ...],
    slices: tuple[str, ...],
    per: Literal["item", "user"] | None,
    output: Path | None,
    plot: Path | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure private neighbours and recommendations on DATA, a file of pairs, beside popularity and no privacy.

    \b
    hetdp evaluate ratings.csv --epsilon 1 --epsilon 3 --westin 0.34,0.43,0.23
    hetdp evaluate likes.csv --what items --engine model --slices 0,1,2 --slices 0.5,1,2

    The protocol of the paper: a tenth of the items that somebody else has too is hidden. Recall of neighbours is the
    share of them found in their profiles; recommendations are judged by precision, recall and NDCG. The tables are NOT
    private: they are computed from the data without noise, for their owner. Weights are those in DATA unless
    --westin or --slices draws others.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.evaluation.evaluating import EvaluationPlan

    policies = _policies(westin, slices)
    problems = [*source_problems()]
    if policies:
        problems += cannot_be_used(["weight", "default_weight"], "with --westin or --slices, which draw weights")
    else:
        problems += cannot_be_used(["per"], "without --westin or --slices")
    source = Source.take(data, options, voice)
    for level in epsilon:
        fraction("epsilon", level)
    plan = EvaluationPlan(
        epsilon=epsilon,
        what=what or WHAT,
        engine=engine,
        score=score,
        sizes=sizes or SIZES[0],
        cycles=cycles or DEFAULT_CYCLES,
        combine=combine or WAYS_TO_COMBINE[0],
        policy=policies,
        per=per or "item",
        threads=threads or available_processors(),
        **options,
    )
    refuse([*problems, *_problems(plan)])
    if output is not None:
        check_writable(output, keep=(data, source.catalogue))
        check_ending(output, _ENDINGS)
    if plot is not None:
        check_plot(plot, keep=(data, source.catalogue), output=output)
    drawn = ", ".join(map(str, policies))
    read = source.read(drawn=f"weights drawn: {drawn} per {plan.per}" if policies else None)
    profiles = read.profiles
    check_size(plan.neighbors, profiles.n_users)
    plan.check(profiles)
    if source.catalogue is None and plan.finds_items:
        voice.note(
            "Items in DATA are taken as a public catalogue. Without --catalogue, hetdp learn chooses names privately, "
            "with a share of epsilon: expect lower quality, in a small crowd much lower (hetdp learn --dry-run)."
        )
    unknowing = () if engine else (one for name, one in ENGINES.items() if name not in plan.engines)
    left_out = "".join(f" {one.limits}: left out." for one in unknowing)
    voice.note(f"{plan.searches} searches.{left_out} The tables are exact, and as private as {data.name}.")
    voice.compiling(*plan.engines, *(["model"] if plan.finds_items else []))
    facts: dict[str, Any] = {
        "k": plan.neighbors,
        "n": plan.items,
        "score": score,
        **({"sizes": plan.sizes} if SCORES[score].needs_sizes else {}),
        **({} if combine is None else {"combine": combine}),
        "runs": plan.runs,
        "share": plan.share,
        "seed": plan.seed,
    }
    with voice.progress("Evaluating") as advance, voice.remarks():
        found = plan.measure(profiles, advance)
    tables = {
        table: [dataclasses.asdict(row) for row in rows]
        for table, rows in (("neighbors", found.neighbors), ("recommendations", found.items))
        if rows
    }
    shown = with_private({**facts, "interval": ABOUT_INTERVALS}, {**read.counts, **tables})
    if output is not None:
        as_text = json.dumps(shown, indent=2) + "\n" if output.name.lower().endswith(".json") else _as_csv(tables)
        write_whole(output, as_text)
        voice.note(f"Wrote {output}. It is as private as {data.name}.")
    if plot is not None:
        write_plot(plot, found.plot, voice)
        voice.note(f"It is as private as {data.name}.")
    if voice.as_json:
        print_json(shown)
        return
    where = f"{plan.runs} runs"
    print_private({"users": f"{profiles.n_users:,}", "measured": "without noise"})
    _show_neighbors(tables.get("neighbors", ()), f"Neighbours: recall at k = {plan.neighbors}, {where}")
    _show_items(tables.get("recommendations", ()), f"Recommendations at n = {plan.items}, {where}")
    click.echo("loss: what an item of weight 1 may lose against everybody together.")
    click.echo(ABOUT_INTERVALS)


def _problems(plan: "EvaluationPlan") -> Iterator[Problem]:
    """Yield what contradicts itself in what is to be compared."""
    yield from engine_problems(plan.engines, plan.score)
    if not any(ENGINES[name].has_cycles for name in plan.engines):
        yield from cannot_be_used(["combine"], "without --engine gossip")
    elif not plan.finds_neighbors:
        yield from cannot_be_used(["combine"], "with --what items")
    if not plan.finds_neighbors and not plan.finds_items:
        yield Problem(f"{MODEL} finds no neighbours", "engine", hint="Leave out --what neighbors, or add an engine.")


def _show_neighbors(rows: Sequence[_Row], title: str) -> None:
    if not rows:
        return
    header = ("method", "ε", "recall", "beyond true ones", "loss")
    cells = [(_measured(row, "recall", half="half_width"), _signed(row, "difference")) for row in rows]
    _print(title, header, rows, cells, loss=True)
    click.echo(
        f"{TRUE}: no privacy. {SAME}: the same for everybody, chosen to have most of\n"
        "what people have; recall rewards them, so only what is found beyond that is likeness.\n\n",
        nl=False,
    )


def _show_items(rows: Sequence[_Row], title: str) -> None:
    if not rows:
        return
    found = [(_plain(row, "precision"), _plain(row, "recall"), _measured(row, "ndcg")) for row in rows]
    _print(title, ("method", "ε", "precision", "recall", "NDCG", "loss"), rows, found, loss=True)
    private = [row for row in rows if row["beats_popularity"] is not None]
    beyond = [(_signed(row, "beyond_popularity"), str(row["beats_popularity"])) for row in private]
    _print(f"Better than {PRIVATE_POPULARITY}?", ("method", "ε", "NDCG beyond it", "better?"), private, beyond)
    thirds = [tuple(_plain(row, name) for name in THIRDS) for row in rows]
    title = "Hidden items that were recommended, by popularity: each third of all pairs"
    _print(title, ("method", "ε", *THIRDS), rows, thirds)


def _print(
    title: str,
    header: tuple[str, ...],
    rows: Sequence[_Row],
    cells: Sequence[tuple[str, ...]],
    *,
    loss: bool = False,
) -> None:
    """Print a table; ways to choose weights have a column if there are several."""
    several = len({row["weights"] for row in rows if row["weights"] is not None}) > 1
    lines = []
    for row, middle in zip(rows, cells, strict=True):
        epsilon, lost = ("" if row[name] is None else f"{row[name]:g}" for name in ("epsilon", "against_all"))
        weights = (row["weights"] or "",) if several else ()
        lines.append((row["method"], *weights, epsilon, *middle, *((lost,) if loss else ())))
    print_rows(title, (header[0], *(("weights",) if several else ()), *header[1:]), lines)


def _plain(row: _Row, name: str) -> str:
    return "" if row[name] is None else f"{row[name]:.4f}"


def _measured(row: _Row, name: str, *, half: str = "") -> str:
    return "" if row[name] is None else f"{row[name]:.4f} ± {row[half or f'{name}_half_width']:.4f}"


def _signed(row: _Row, name: str) -> str:
    return "" if row[name] is None else f"{round(row[name], 4) + 0.0:+.4f} ± {row[f'{name}_half_width']:.4f}"


def _as_csv(tables: Mapping[str, Sequence[_Row]]) -> str:
    """Return all tables as one, with a column that tells which; what a table does not have is empty."""
    names = dict.fromkeys(["table", *(name for rows in tables.values() for row in rows for name in row)])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n", restval="")
    writer.writeheader()
    for table, rows in tables.items():
        writer.writerows({"table": table, **row} for row in rows)
    return text.getvalue()


def _policies(westin: Sequence[str], slices: Sequence[str]) -> "tuple[Policy, ...]":
    """Return the policies of weights that the options stand for."""
    from hetdp.profiles import policies

    found: list[Policy] = []
    for text in westin:
        shares = _numbers(text)
        if len(shares) != 3:  # noqa: PLR2004  (groups)
            raise click.UsageError(
                f"--westin must be three shares that sum to 1, such as 0.34,0.43,0.23, not {text!r}."
            )
        found.append(policies.westin(*shares))
    for text in slices:
        ends = _numbers(text)
        if len(ends) != 3 or ends[2] != int(ends[2]):  # noqa: PLR2004  (ends and a count)
            raise click.UsageError(f"--slices must be lowest, highest and how many, such as 0,1,3, not {text!r}.")
        found.append(policies.slices(ends[0], ends[1], int(ends[2])))
    return tuple(found)


def _numbers(text: str) -> list[float]:
    """Return numbers between commas; none at all if one of them is no finite number."""
    try:
        numbers = [float(part) for part in text.replace("/", ",").split(",")]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
