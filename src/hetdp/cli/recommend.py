"""`hetdp recommend`: items for each user, from what similar users have, privately."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from hetdp.cli.output import note, output_options
from hetdp.cli.search import Search
from hetdp.cli.search_options import Asked, search_options
from hetdp.cli.source import Source, data_options
from hetdp.core.checks import fraction

__all__ = ["recommend", "shares"]

#: Part of epsilon that finds neighbours: votes need more. Measured on the built-in sets; see docs/neighbors.md.
NEIGHBORS_SHARE = Fraction(1, 3)


@click.command(short_help="Recommend items to each user, privately.")
@data_options
@click.option("--items", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="Items per user.")
@search_options
@output_options
def recommend(
    data: Path,
    *,
    items: int,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
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
    source = Source.take(data, options, quiet=quiet)
    asked = Asked(**options)
    asked.check(data, source.catalogue)
    for_neighbors, for_items = shares(asked.epsilon, asked.engine)
    search = Search(asked, source, for_neighbors, for_items, recommendations=items, as_json=as_json, quiet=quiet)
    what = "recommendations are free" if not for_items else f"{float(for_items):.4g} to count what they have"
    scope = "per comparison" if asked.engine == "gossip" else "in all"
    parts = f"{float(for_neighbors):.4g} to find neighbours, {what}"
    note(f"Epsilon {asked.epsilon:g} {scope}: {parts}.", quiet=quiet)
    plan = search.plan()
    if dry_run:
        search.show_plan(plan)
        return
    model = search.fit(plan.profiles)
    search.finish(plan, model, search.recommend(model), "recommendations")


def shares(epsilon: float, engine: str) -> tuple[Fraction, Fraction]:
    """Return what of epsilon goes to the neighbours and what to the recommendations, which sketches give for nothing.

    Privacy
    -------
    They add up to epsilon, exactly.

    Examples
    --------
    >>> shares(1, "exact")
    (Fraction(1, 3), Fraction(2, 3))
    """
    level = fraction("--epsilon", epsilon)
    share = Fraction(1) if engine == "sketch" else NEIGHBORS_SHARE
    return share * level, (1 - share) * level
