"""`hetdp node neighbors`: people like the owner and what they recommend, where there is no browser. Private."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.node_moving import folder_option
from hetdp.cli.output import Voice, output_options, print_json, print_private, print_rows

if TYPE_CHECKING:
    from hetdp.node.recommendations import Findings

__all__ = ["neighbors"]


@click.command(short_help="Show people like you, and what they recommend.")
@click.option("-n", "--items", type=click.IntRange(min=1), default=10, show_default=True, help="Most to recommend.")
@folder_option
@output_options
def neighbors(*, items: int, folder: Path, voice: Voice) -> None:
    """Show people like you and what is recommended to you, as the page does. Worked out here, and told to nobody.

    Who and what may be there by chance alone is left out; --json has it.
    """
    from hetdp.node.handle import NodeHandle

    handle = NodeHandle.open(folder)
    try:
        found, sketches = handle.findings(items), handle.store.peers.sketch_count()
        counting = handle.store.profile.counts().counting
    finally:
        handle.close()
    if voice.as_json:
        print_json({"sketches": sketches}, private=_facts(found, counting))
    else:
        _tell(found, sketches, counting, voice)


def _facts(found: "Findings", counting: int) -> dict[str, Any]:
    from hetdp.node import words

    people = [(one, *one.likely(counting)) for one in found.neighbors]
    return {
        "items_that_count": counting,
        "learned_from": found.crowd,
        "neighbours": [
            {
                "name": one.name,
                "key": one.key_hex,
                "seems_to_have": middle,
                "likely_from": low,
                "likely_to": high,
                "by_chance": one.by_chance,
            }
            for one, low, middle, high in people
        ],
        "recommendations": [
            {
                "item": one.item.item,
                "title": one.item.title,
                "why": words.reason_words(one),
                "by_chance": None if one.vote is None else one.vote.by_chance,
            }
            for one in found.recommendations
        ],
    }


def _tell(found: "Findings", sketches: int, counting: int, voice: Voice) -> None:
    from hetdp.node import words
    from hetdp.sketching.significance import RARE

    people = [one for one in found.neighbors if one.by_chance < RARE]
    advice = [one for one in found.recommendations if one.vote is None or one.vote.by_chance < RARE]
    print_private({"sketches compared": sketches, "items of yours that count": counting})
    if people:
        rows = [
            (one.name, f"about {middle} (likely {low} to {high})", words.chance_words(one.by_chance))
            for one in people
            for low, middle, high in [one.likely(counting)]
        ]
        print_rows("", ("people like you", "seem to have of your items", ""), rows)
    if advice:
        print_rows("", ("recommended", ""), [(one.item.title, words.reason_words(one)) for one in advice])
    if not people:
        voice.private("Nobody yet who can be told from chance. It gets better as sketches come and as your list grows.")
    if not advice:
        voice.private("Nothing to recommend yet that can be told from chance.")
