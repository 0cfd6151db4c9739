"""`hetdp neighbors`: the most similar users of each user, privately."""

from pathlib import Path
from typing import Any

import click

from hetdp.cli.lists import Lists
from hetdp.cli.output import output_options
from hetdp.cli.search import Search
from hetdp.cli.search_options import Asked, search_options
from hetdp.cli.source import Source, data_options
from hetdp.core.checks import fraction

__all__ = ["neighbors"]


@click.command(short_help="Find each user's most similar users, privately.")
@data_options
@search_options
@output_options
def neighbors(
    data: Path,
    *,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the most similar users of each user in DATA, a file of (user, item) pairs with a privacy weight each.

    \b
    hetdp neighbors ratings.csv --epsilon 1 -k 10 -o neighbors.parquet
    hetdp neighbors likes.parquet --epsilon 3 --engine sketch --weight-column privacy -o neighbors.csv

    DATA is CSV, TSV, parquet or plain text, compressed or not, or a file of MovieLens or HetRec 2011. The rows of a
    user (user, neighbor, score, significance) are for that user. --epsilon counts against one recipient (exact), per
    comparison (gossip), or against everybody together (sketch). Noise is always secure: running it again is another
    release, and losses add up.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    source = Source.take(data, options, quiet=quiet)
    asked = Asked(**options)
    asked.check(data, source.catalogue)
    search = Search(asked, source, fraction("--epsilon", asked.epsilon), as_json=as_json, quiet=quiet)
    plan = search.plan()
    if dry_run:
        search.show_plan(plan)
        return
    model = search.fit(plan.profiles)
    search.finish(plan, model, Lists.from_frame(model.to_frame()), "neighbours")
