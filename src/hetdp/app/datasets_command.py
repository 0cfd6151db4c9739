"""`hetdp datasets`: what is built in, what a file holds, and where to get public data."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.app.output import check_writable, note, output_options, print_facts, print_json, print_rows, write_whole

if TYPE_CHECKING:
    from hetdp.experiments.datasets import Statistics
    from hetdp.profiles import Profiles

__all__ = ["datasets"]


@click.command(short_help="List data sets, describe or export one.")
@click.argument("name", required=False)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of a built-in set.")
@click.option("--min-rating", type=float, help="Smallest rating that counts, in a file of ratings.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write the set as user,item pairs to a CSV file.")
@output_options
def datasets(
    name: str | None,
    *,
    seed: int,
    min_rating: float | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
) -> None:
    """List the built-in data sets with their statistics, and public ones with their terms.

    With NAME, a built-in set or a file (CSV, TSV, parquet, MovieLens, HetRec 2011, plain pairs), describe that one.

    \b
    hetdp datasets
    hetdp datasets survey_like -o survey.csv
    hetdp datasets ml-1m/ratings.dat --min-rating 4

    Statistics of a file are exact: treat them like the file. Nothing is downloaded.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.experiments.datasets import BUILT_IN, describe, load

    if name is None:
        if output is not None or min_rating is not None:
            raise click.UsageError("--output and --min-rating need the NAME of a data set.")
        _list_all(seed, as_json=as_json)
        return
    if name in BUILT_IN and min_rating is not None:
        raise click.UsageError(f"--min-rating is for files of ratings; {name} is built in.")
    if output is not None:
        check_writable(output, keep=(Path(name),))
    profiles = BUILT_IN[name](seed) if name in BUILT_IN else load(_existing(name), min_rating=min_rating)
    facts = _facts(describe(profiles))
    if output is not None and not dry_run:
        write_whole(output, _as_csv(profiles))
        note(f"Wrote {output}.", quiet=quiet)
    elif output is not None:
        note(f"--dry-run: would write {profiles.n_pairs} pairs to {output}.", quiet=quiet)
    if as_json:
        print_json({"name": name, **facts})
    else:
        print_facts(name, {fact.replace("_", " "): value for fact, value in facts.items()})


def _existing(name: str) -> Path:
    """Return the path of a file or folder, or say which names there are."""
    from hetdp.errors import DataError
    from hetdp.experiments.datasets import BUILT_IN

    path = Path(name)
    if not path.exists():
        raise DataError(f"NAME must be {', '.join(BUILT_IN)}, or a file. Got {name!r}, which is neither, instead.")
    return path


def _list_all(seed: int, *, as_json: bool) -> None:
    from hetdp.experiments.datasets import BUILT_IN, PUBLIC, describe

    built_in = {name: describe(make(seed)) for name, make in BUILT_IN.items()}
    if as_json:
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
    click.echo("Public, to be downloaded by hand and given to hetdp.datasets.load(path) or to a command:")
    for one in PUBLIC:
        click.echo(f"\n  {one.name}: {one.contents}\n    {one.address} ({one.file})\n    Terms: {one.terms}.")


def _facts(statistics: "Statistics") -> dict[str, Any]:
    return dataclasses.asdict(statistics)


def _as_csv(profiles: "Profiles") -> str:
    """Return one line per pair; built-in sets and those with weights of 1 throughout need no column for them."""
    import csv
    import io

    users, items, weights = profiles.to_pairs()
    weighted = bool((weights != 1).any())
    columns = [users.tolist(), items.tolist(), *([weights.tolist()] if weighted else [])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["user", "item", "weight"][: len(columns)])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
