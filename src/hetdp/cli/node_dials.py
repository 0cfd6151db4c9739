"""`hetdp node dials`: the owner's list with its dials, and one of them turned, where there is no browser. Private."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.node_moving import folder_option
from hetdp.cli.output import Voice, dry_run_option, output_options, print_json, print_private, print_rows
from hetdp.core.text import short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hetdp.node.storage.profile import ProfileItem

__all__ = ["dials"]


def _whole_dial(_context: click.Context, _argument: click.Parameter, text: str | None) -> int | None:
    """Return a dial as a whole number; weights from 0 to 1, as files have them, are easily mistaken for it."""
    from hetdp.node.dials import FULL_DIAL

    if text is None:
        return None
    if text.isascii() and text.isdigit() and int(text) <= FULL_DIAL:
        return int(text)
    raise click.UsageError("DIAL must be a whole number from 0 (never counts) to 100 (normal): half is 50.")


@click.command(short_help="Show your list with its dials, or turn one.")
@click.argument("item", required=False)
@click.argument("dial", required=False, callback=_whole_dial)
@folder_option
@dry_run_option
@output_options
def dials(item: str | None, dial: int | None, *, folder: Path, voice: Voice) -> None:
    """Show your list with its dials; with ITEM (an id, a title or a link), one of it; with DIAL, turn it.

    A dial goes from 0 (never counts) to 100 (normal), and counts from the next sketch on. An item of the catalogue that
    is not on your list is put on it. Works while the node runs, and the page can take it back in one step.

    \b
    hetdp node dials
    hetdp node dials "Green tea" 50
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.handle import NodeHandle

    handle = NodeHandle.open(folder)
    try:
        place = None if item is None else handle.place_of(item)
        held_back = False
        if place is not None and dial is not None and not voice.dry_run:
            held_back = handle.store.profile.set_dials({place: dial})[place] < dial
        listed = [one for one in handle.store.profile.items() if place in (None, one.place)]
    finally:
        handle.close()
    if voice.as_json:
        print_json({}, private={"items": [_facts(one) for one in listed]})
    else:
        _tell(listed, voice, item)
    if voice.dry_run:
        voice.note("--dry-run: nothing was changed.")
    elif dial is not None:
        held = " The limit of its group leaves no more." if held_back else ""
        voice.private(f"Done: it counts so from the next sketch on.{held}")


def _facts(one: "ProfileItem") -> dict[str, Any]:
    return {
        "item": one.item,
        "title": one.title,
        "dial": one.dial,
        "counts_as": one.effective_dial,
        "spent": one.spent,
        "limit": one.limit,
    }


def _tell(listed: "Sequence[ProfileItem]", voice: Voice, asked: str | None) -> None:
    from hetdp.node import words

    if not listed:
        empty = "Your list is empty: `hetdp node import` brings one in, and with a dial this command adds an item."
        voice.private(empty if asked is None else "It is in the catalogue, and not on your list.")
        return
    print_private({"items on your list": len(listed)} if asked is None else {})
    rows = [
        (one.title, str(one.dial), state, short_number(one.spent), short_number(one.limit))
        for one in listed
        for state in ["counts no more" if one.dial > one.effective_dial else words.dial_name(one.dial).lower()]
    ]
    print_rows("", ("item", "dial", "", "spent", "limit"), rows)
