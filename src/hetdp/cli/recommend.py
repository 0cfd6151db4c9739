"""`hetdp recommend`: items for each user, from what similar users have, privately."""

from pathlib import Path
from typing import Any

import click

from hetdp.cli.neighbors import SearchCommand, search_options
from hetdp.cli.output import Voice, output_options
from hetdp.cli.source import Source, data_options
from hetdp.neighbors.engines import ENGINES

__all__ = ["recommend"]


@click.command(short_help="Recommend items to each user, privately.")
@data_options
@click.option("--items", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="Items per user.")
@search_options
@output_options
def recommend(
    data: Path,
    *,
    items: int,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Recommend items to each user in DATA, a file of (user, item) pairs with a privacy weight each.

    \b
    hetdp recommend ratings.csv --epsilon 1 -n 10 -o recommendations.parquet
    hetdp recommend likes.parquet --epsilon 3 --engine sketch -o recommendations.csv

    DATA is CSV, TSV, parquet or plain text, compressed or not, or a file of MovieLens or HetRec 2011. The rows of a
    user (user, item, score) are for that user. --epsilon is the total: a third finds the neighbours, the rest counts
    what they have; with --engine sketch all of it goes into the sketches, and recommendations are free. It counts
    against one recipient (exact), per comparison (gossip), or against everybody together (sketch). Noise is always
    secure: running it again is another release, and losses add up.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    source = Source.take(data, options, voice)
    search = SearchCommand(source=source, recommendations=items, **options)
    what = f"{float(search.for_items):.4g} to count what they have" if search.for_items else "recommendations are free"
    scope = ENGINES[search.engine].scope
    parts = f"{float(search.for_neighbors):.4g} to find neighbours, {what}"
    voice.note(f"Epsilon {search.epsilon:g} {scope}: {parts}.")
    search.carry_out()
