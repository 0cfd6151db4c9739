"""`hetdp datasets`: what is built in, what a file holds, and where to get public data."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.options import cannot_be_used, refuse
from hetdp.cli.output import (
    ENDINGS,
    Lists,
    Voice,
    check_ending,
    check_writable,
    output_options,
    print_facts,
    print_json,
    print_private,
    print_rows,
)
from hetdp.cli.source import COLUMN_OPTIONS, Data, Source, column_options, source_problems

if TYPE_CHECKING:
    from hetdp.datasets import Statistics
    from hetdp.profiles import Profiles


@click.command()
@click.argument("name", required=False)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of a built-in set.  [default: 0]")
@column_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help=f"Write the pairs, and their weights unless all are 1, to a file: {', '.join(ENDINGS)}.",
)
@output_options
def datasets(
    name: str | None,
    *,
    seed: int | None,
    output: Path | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """List the built-in data sets with their statistics, and public ones with their terms.

    With NAME, a built-in set or a file (CSV, TSV, parquet, MovieLens, HetRec 2011, plain pairs), describe that one.

    \b
    hetdp datasets
    hetdp datasets survey_like -o survey.csv
    hetdp datasets ml-1m/ratings.dat --min-rating 4 -o liked.parquet

    Weights are those of a column 'weight', else 1; a built-in set has weights of 1 (`hetdp evaluate` can draw others).
    Statistics of a file are exact: treat them like the file. Nothing is downloaded.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.datasets import BUILT_IN, describe

    if name is None:
        refuse(cannot_be_used([*COLUMN_OPTIONS, "output"], "without the NAME of a data set"))
        _list_all(seed or 0, voice)
        return
    if name in BUILT_IN:
        refuse(cannot_be_used(COLUMN_OPTIONS, f"with {name}, which is built in"))
    else:
        refuse([*source_problems(), *cannot_be_used(["seed"], "with a file")])
    if output is not None:
        check_writable(output, keep=(Path(name),))
        check_ending(output)
    if name in BUILT_IN:
        data = Data(BUILT_IN[name](seed or 0), "every weight is 1")
    else:
        data = Source.take(_existing(name), options, voice).read()
    facts = {**_facts(describe(data.profiles)), "weights": data.weights}
    if output is not None:
        _pairs(data.profiles).write(
            output, {"name": Path(name).name} | ({"seed": seed or 0} if name in BUILT_IN else {})
        )
        voice.note(f"Wrote {output}.")
    _show(name, facts, voice, invented=name in BUILT_IN)


def _show(name: str, facts: dict[str, Any], voice: Voice, *, invented: bool) -> None:
    """Show what is in a data set; invented people have nothing to hide."""
    if voice.as_json:
        print_json({"name": name, **(facts if invented else {})}, private=None if invented else facts)
        return
    words = {fact.replace("_", " "): value for fact, value in facts.items()}
    print_facts(name, words if invented else {})
    if not invented:
        print_private(words)


def _existing(name: str) -> Path:
    """Return the path of a file or folder, or say which names there are."""
    from hetdp.core.errors import DataError
    from hetdp.datasets import BUILT_IN

    path = Path(name)
    if not path.exists():
        raise DataError(f"NAME must be {', '.join(BUILT_IN)}, or a file (got {name!r}, which is neither,)")
    return path


def _list_all(seed: int, voice: Voice) -> None:
    from hetdp.datasets import BUILT_IN, PUBLIC, describe

    built_in = {name: describe(make(seed)) for name, make in BUILT_IN.items()}
    if voice.as_json:
        print_json(
            {
                "built_in": [{"name": name, **_facts(found)} for name, found in built_in.items()],
                "public": [dataclasses.asdict(one) for one in PUBLIC],
            }
        )
        return
    rows = [
        (
            name,
            f"{found.users:,}",
            f"{found.items:,}",
            f"{found.mean_size:.0f}",
            f"{found.smallest_size} to {found.largest_size}",
            f"{found.mean_overlap:.3g}",
            f"{found.single_user_share:.0%}",
        )
        for name, found in built_in.items()
    ]
    header = ("built in", "users", "items", "each has", "range", "in common", "alone")
    print_rows("Generated, no download: hetdp.datasets.NAME(random_state=0)", header, rows)
    click.echo("In common: items that two users share on average. Alone: share of pairs on items of a single user.\n")
    curves = [
        (
            name,
            f"{found.items_of_1_user:,}",
            f"{found.items_of_2_users:,}",
            f"{found.items_of_3_to_5_users:,}",
            f"{found.items_of_6_users_or_more:,}",
            f"{found.fewest_users}",
            f"{found.most_users}",
        )
        for name, found in built_in.items()
    ]
    header = ("items of", "1 user", "2 users", "3 to 5", "6 or more", "rarest", "top")
    print_rows("Item popularity", header, curves)
    click.echo()
    click.echo("Public, to be downloaded by hand and given to hetdp.datasets.load(path) or to a command:")
    for one in PUBLIC:
        click.echo(f"\n  {one.name}: {one.contents}\n    {one.address} ({one.file})\n    Terms: {one.terms}.")


def _facts(statistics: "Statistics") -> dict[str, Any]:
    return dataclasses.asdict(statistics)


def _pairs(profiles: "Profiles") -> Lists:
    """Return one row per pair; sets with weights of 1 throughout need no column for them."""
    users, items, weights = profiles.to_pairs()
    columns = {"user": users, "item": items} | ({"weight": weights} if (weights != 1).any() else {})
    return Lists(columns, exact=True)
