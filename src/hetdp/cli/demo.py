"""`hetdp demo`: private recommendations and neighbours for generated people, on one screen."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hetdp.cli.output import Voice, check_writable, output_options, print_json, print_rows

if TYPE_CHECKING:
    from hetdp.demo import Demonstration

_RECOMMENDERS = {
    "popularity": "popularity, no privacy",
    "sketch": "hetdp, sketches: nobody is trusted",
    "matrix": "hetdp, noisy matrix: trusted curator",
    "ease": "EASE, no privacy",
}
_NEIGHBORS = {
    "random": "random people",
    "same": "same ten for all, no privacy",
    "sketch": "hetdp, published sketches",
    "gossip": "the paper's gossip",
    "true": "true neighbours, no privacy",
}


@click.command()
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    help="Write 1,000 generated people (id, hours, weight) to a CSV file instead, to try `hetdp release` on.",
)
@output_options
def demo(*, save: Path | None, voice: Voice) -> None:
    """Measure recommendations and neighbours for generated people, with privacy and without.

    hetdp demo reads no file. With --save, it writes a file of other generated people and measures nothing.
    """
    from hetdp.demo import run_demo, save_people

    if save is not None:
        check_writable(save, parameter="save")
        save_people(save)
        voice.note(f"Wrote {save}: 1,000 generated people with weekly hours and a privacy weight each. Try:")
        voice.note(
            f"hetdp release {save} --query mean --column hours --lower 0 --upper 80 --weight-column weight --epsilon 1"
        )
        return
    with voice.progress("Demonstration") as advance:
        found = run_demo(advance)
    if voice.as_json:
        print_json({name: [asdict(row) for row in rows] for name, rows in vars(found).items()})
        return
    _show(found)


def _show(found: "Demonstration") -> None:
    from hetdp.demo import EPSILONS, N_ITEMS, N_PEOPLE, SMALL

    click.echo(
        "These people are generated. Each has set a privacy weight v for each item.\n"
        "An item loses at most epsilon * v. An item of weight 0 has no influence."
    )
    rows = []
    for method, text in _RECOMMENDERS.items():
        quality = [row.quality for row in found.recommendations if row.method == method]
        rows.append((text, *(f"{one:.3f}" for one in (quality if len(quality) > 1 else quality * len(EPSILONS)))))
    print_rows(
        f"1. Ten recommendations for {N_PEOPLE:,} people, {N_ITEMS:,} items: NDCG@10",
        ("total epsilon", *(f"{epsilon:g}" for epsilon in EPSILONS)),
        rows,
    )
    print_rows(
        "2. Ten neighbours of 500 people, 51,466 items (delicious_like): recall",
        ("neighbours", "recall", "epsilon", "loss against everybody"),
        [
            (
                _NEIGHBORS[row.method],
                f"{row.quality:.3f}",
                "" if row.epsilon is None else f"{row.epsilon:g}",
                "none" if row.method == "random" else "unlimited" if row.total is None else f"{row.total:g} v",
            )
            for row in found.neighbors
        ],
    )
    popular, private = found.small
    click.echo(
        "Gossip spends epsilon for each of the 499 other people; sketches spend it once.\n"
        f"Too few people: with {SMALL} people and epsilon 1, NDCG@10 is {private.quality:.3f} for hetdp\n"
        f"(sketches) and {popular.quality:.3f} for popularity. A person with 30 items of weight 1 can\n"
        "lose 30 epsilon in all.\n"
        "\n"
        "Next, on your own file with columns user, item and optionally weight:\n"
        "  hetdp evaluate likes.csv --epsilon 2              is it worth it on your data?\n"
        "  hetdp learn likes.csv --epsilon 2 -o model.hetdp  one model for everybody\n"
        "  hetdp demo --save people.csv                      a table for `hetdp release`"
    )
