"""`hetdp recommend`: items for the people of a list, from a model, at home."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from hetdp.cli.learn import personalisation_words
from hetdp.cli.options import Sectioned, refuse
from hetdp.cli.output import (
    ENDINGS,
    SHOWN,
    Lists,
    Voice,
    check_ending,
    check_writable,
    guarantee_facts,
    output_options,
    plain,
    print_facts,
    print_json,
    print_private,
    print_promise,
)
from hetdp.cli.source import COLUMN_OPTIONS, Source, column_options, source_problems

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.recommender.estimator import PrivateRecommender

#: Own items named for each recommendation.
_REASONS = 3


@click.command(cls=Sectioned, sections={"Data": COLUMN_OPTIONS})
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("list_", metavar="LIST", type=click.Path(path_type=Path))
@click.option("--items", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="Items per user.")
@click.option("--why", is_flag=True, help="Name the items in LIST that contribute most to each recommendation.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(ENDINGS)}.")
@column_options
@output_options
def recommend(
    model: Path,
    list_: Path,
    *,
    voice: Voice,
    items: int,
    why: bool,
    output: Path | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Recommend items to the people in LIST, with a model that hetdp learn has written.

    \b
    hetdp learn likes.csv --epsilon 1 -o model.hetdp
    hetdp recommend model.hetdp me.csv -n 10 --why

    LIST is a file with a column of items, which are those of one person, or with columns of users and items. Nothing is
    spent and nothing leaves this machine. The rows of a user (user, item, score) come from their exact profile and are
    for that user.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.recommender.estimator import PrivateRecommender

    refuse(source_problems())
    source = Source.take(list_, options, voice)
    if output is not None:
        check_writable(output, keep=(model, list_))
        check_ending(output)
    loaded = PrivateRecommender.load(model)
    asking = source.read_own()
    with voice.progress("Recommending") as loaded.progress, voice.remarks():
        rows = Lists.from_frame(loaded.recommend(items, profiles=asking))
    if why:
        rows = Lists({**rows.columns, "because": _reasons(loaded, asking, rows)})
    about = plain(
        {"model": str(model), "n": items, "taste": loaded.taste_, "guarantee": guarantee_facts(loaded.guarantee_)}
    )
    if output is not None:
        rows.write(output, about)
        voice.note(f"Wrote recommendations to {output}.")
    shown = items if asking.n_users == 1 else SHOWN  # all of a list that one person asked for
    if voice.as_json:
        first = [dict(zip(rows.names, row, strict=True)) for row in rows.first(shown)]
        where = {"first_rows": first} if output is None else {"output": str(output)}
        print_json({**about, **where}, private={"rows": rows.n_rows})
        return
    if output is None:
        rows.show(f"The first {shown:,} recommendations", shown)
    print_facts("", {"personalisation": personalisation_words(loaded)})
    voice.note("Nothing was spent. The list comes from exact own items, and is for their owner only.")
    print_promise(loaded.guarantee_, of="the model's guarantee to the people it was learned from")
    print_private({"recommendations": f"{rows.n_rows:,}"})


def _reasons(model: "PrivateRecommender", asking: "Profiles", rows: Lists) -> NDArray[np.object_]:
    """Return the items of a person that contribute most to each recommendation, in words."""
    own = {user: list(asking.profile(user)) for user in asking.user_ids.tolist()}
    reasons = []
    for user, item in zip(rows.columns["user"].tolist(), rows.columns["item"].tolist(), strict=True):
        parts = model.explain(own[user], item)
        named = zip(_values(parts["item"]), _values(parts["contribution"]), strict=True)
        speaking = [str(one) for one, amount in named if isinstance(one, str | int) and amount > 0]
        reasons.append(", ".join(speaking[:_REASONS]) or "popular")
    return np.array(reasons, dtype=object)


def _values(column: Any) -> list[Any]:  # noqa: ANN401  (of pandas, or of arrow where that is not installed)
    """Return a column as plain values, whole numbers beside a missing one included."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.tolist())
