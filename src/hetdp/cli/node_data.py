"""`hetdp node import`, `dials`, `groups`, `neighbors`, `hide`, `unhide`: what is for the owner's eyes. Private."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.node_moving import folder_option
from hetdp.cli.output import Voice, output_options, print_json, print_private, print_rows
from hetdp.core.text import agreeing, short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hetdp.node.groups import GroupProposal, GroupTold
    from hetdp.node.handle import NodeHandle
    from hetdp.node.recommendations import Findings
    from hetdp.node.storage.importing import Imported
    from hetdp.node.storage.profile import ProfileItem

#: Why a row was left out -> what to say about its rows.
_WHY = {
    "unknown": "not in the catalogue; kept until a version of it has it",
    "retired": "the network uses it no more; left out",
    "ambiguous": "several items of the catalogue fit; left out, search for the right one on the page",
    "no room": "the list is as long as this network allows; left out",
    "weight": "the weight is no number from 0 to 1; left out",
    "unreadable": "cannot be read; left out",
}
#: So many rows are named by number.
_SHOWN_ROWS = 20


@click.command("import", short_help="Add a list that you have.")
@click.argument("file", type=click.Path(path_type=Path))
@folder_option
@click.option(
    "--kind",
    type=click.Choice(["auto", "csv", "bookmarks", "titles"]),
    help="What FILE is.  [default: by its ending, else by what is in it]",
)
@output_options
def import_(file: Path, *, folder: Path, kind: str | None, voice: Voice) -> None:
    """Add what is in FILE to your list: a CSV (item, title or link; weight), a browser's bookmarks, or titles.

    Items on your list keep their dials, others get the weight in the file, or 1. What the catalogue does not have is
    kept for later. Works while the node runs, and can be undone on the page in one step.
    """
    from hetdp.node.lists import list_file

    raw, by_ending = list_file(file)
    handle = _opened(folder)
    try:
        imported = handle.import_items(raw, kind=kind or by_ending)
    finally:
        handle.close()
    if voice.as_json:
        print_json({}, private={"imported": imported_facts(imported)})
    else:
        tell_imported(imported, voice)


def tell_imported(imported: "Imported", voice: Voice) -> None:
    """Tell the owner in words what became of the rows of a list."""
    counts = {
        "rows": imported.rows,
        "added to your list": imported.added,
        "on it already, dials kept": imported.known,
        "named again": imported.repeated,
    }
    print_private(counts)
    for line in _lines(imported):
        voice.private(line)


def imported_facts(imported: "Imported") -> dict[str, Any]:
    """Return what became of a list, for JSON: as private as the list."""
    return {
        "kind": imported.kind,
        "rows": imported.rows,
        "added": imported.added,
        "known": imported.known,
        "repeated": imported.repeated,
        "left_out": [{"row": one.row, "name": one.name, "why": one.why} for one in imported.left_out],
    }


def _lines(imported: "Imported") -> list[str]:
    """Say which rows were left out and why, by number."""
    found = []
    for why, words in _WHY.items():
        numbers = [one.row for one in imported.left_out if one.why == why]
        if numbers:
            shown = ", ".join(map(str, numbers[:_SHOWN_ROWS]))
            more = f" and {len(numbers) - _SHOWN_ROWS:,} more" if len(numbers) > _SHOWN_ROWS else ""
            found.append(f"{agreeing(len(numbers), 'Row')} {shown}{more}: {words}.")
    return found


@click.command(short_help="Do not show a neighbour.")
@click.argument("key")
@folder_option
@output_options
def hide(key: str, *, folder: Path, voice: Voice) -> None:
    """Do not show the neighbour with this KEY or name, nor let it vote. Only you can notice: it is answered as ever."""
    _hidden(folder, voice, hide=key)


@click.command(short_help="Show a neighbour again.")
@click.argument("key")
@folder_option
@output_options
def unhide(key: str, *, folder: Path, voice: Voice) -> None:
    """Show the neighbour with this KEY or name again."""
    _hidden(folder, voice, unhide=key)


def _hidden(folder: Path, voice: Voice, *, hide: str | None = None, unhide: str | None = None) -> None:
    handle = _opened(folder)
    try:
        if hide is not None:
            handle.hide(hide)
        elif unhide is not None:
            handle.unhide(unhide)
        hidden = handle.hidden()
    finally:
        handle.close()
    if voice.as_json:
        print_json({}, private={"hidden": [{"name": name, "key": key} for name, key in hidden]})
    else:
        print_private({f"hidden: {name}": key for name, key in hidden} or {"hidden": "nobody"})


def _opened(folder: Path) -> "NodeHandle":
    from hetdp.node.handle import NodeHandle

    return NodeHandle.open(folder)


def _whole_dial(_context: click.Context, _argument: click.Parameter, text: str | None) -> int | None:
    """Return a dial as a whole number; weights from 0 to 1, as files have them, are easily mistaken for it."""
    from hetdp.node.dials import FULL_DIAL

    if text is None:
        return None
    if text.isascii() and text.isdigit() and int(text) <= FULL_DIAL:
        return int(text)
    raise click.UsageError("DIAL must be a whole number from 0 (hidden) to 100 (full): half is 50.")


@click.command(short_help="Show your list with its dials, or turn one.")
@click.argument("item", required=False)
@click.argument("dial", required=False, callback=_whole_dial)
@folder_option
@output_options
def dials(item: str | None, dial: int | None, *, folder: Path, voice: Voice) -> None:
    """Show your list with its dials; with ITEM (an id, a title or a link), one of it; with DIAL, turn it.

    A dial goes from 0 (hidden) to 100 (full), and takes effect in the next sketch. An item of the catalogue that
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
        if place is not None and dial is not None:
            held_back = handle.store.profile.set_dials({place: dial})[place] < dial
        listed = [one for one in handle.store.profile.items() if place in (None, one.place)]
    finally:
        handle.close()
    if voice.as_json:
        print_json({}, private={"items": [_item_facts(one) for one in listed]})
    else:
        _tell_items(listed, voice, item)
    if dial is not None:
        held = " The limit of its group leaves no more." if held_back else ""
        voice.private(f"Done: it counts so from the next sketch on.{held}")


def _item_facts(one: "ProfileItem") -> dict[str, Any]:
    return {
        "item": one.item,
        "title": one.title,
        "dial": one.dial,
        "counts_as": one.effective_dial,
        "spent": one.spent,
        "limit": one.limit,
    }


def _tell_items(listed: "Sequence[ProfileItem]", voice: Voice, asked: str | None) -> None:
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


@click.command(short_help="What a sketch tells about groups of your items.")
@folder_option
@click.option("--group", help='Group of the catalogue to limit; "" for items without one.')
@click.option("--whole-list", is_flag=True, help="Limit the whole list as one group.")
@click.option("--limit", type=float, help="Most that one sketch may tell about it, in epsilon: shows what it would do.")
@click.option("--no-limit", is_flag=True, help="Remove its limit; dials stay.")
@click.option("--set", "store_it", is_flag=True, help="Set the limit, and the dials that it lowers.")
@output_options
def groups(
    *,
    folder: Path,
    group: str | None,
    whole_list: bool,
    limit: float | None,
    no_limit: bool,
    store_it: bool,
    voice: Voice,
) -> None:
    """Show how often a curious peer would be right about each group of your items, from the next sketch and from all.

    A limit first shows which dials it would lower; with --set they are stored as if you had set them by hand.

    \b
    hetdp node groups
    hetdp node groups --group Health --limit 2
    hetdp node groups --group Health --limit 2 --set
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.handle import NodeHandle
    from hetdp.node.storage.group_limits import WHOLE_LIST

    chosen = WHOLE_LIST if whole_list else group
    if whole_list and group is not None:
        raise click.UsageError("--group cannot be used with --whole-list.")
    if store_it and limit is None:
        raise click.UsageError("--set needs --limit.")
    if (limit is not None or no_limit) != (chosen is not None) or (limit is not None and no_limit):
        raise click.UsageError("--group or --whole-list needs one of --limit and --no-limit, and the other way round.")
    handle = NodeHandle.open(folder)
    try:
        losses = handle.group_losses()
        proposal = None if chosen is None or limit is None else losses.proposal(chosen, limit)
        change = chosen is not None and (store_it or no_limit)
        if change:
            handle.store.profile.set_group_limit(str(chosen), limit)
        told = (handle.group_losses() if change else losses).all()
    finally:
        handle.close()
    _show_groups(told, proposal, voice)
    if change and no_limit:
        voice.note("Done: the limit is gone, and dials stay as they are.")
    elif change:
        voice.note("Done. It takes effect in the next sketch; the page can take it back in one step.")
    elif chosen is not None:
        voice.note("Nothing was changed. --set sets the limit and these dials.")


def group_facts(told: "Sequence[GroupTold]") -> list[dict[str, Any]]:
    """Return what sketches tell about each group, for JSON: as private as the list."""
    return [_group_facts(one) for one in told]


def tell_groups(told: "Sequence[GroupTold]", voice: Voice) -> None:
    """Show the owner what sketches tell about groups."""
    if not told:
        voice.private("Your list is empty: a sketch tells nothing.")
        return
    print_private(
        {
            "right": "how often a peer who knows your list tells it from your list without the group: from the next "
            "sketch, and from all so far with the next",
            "loss": "sum over the group, in epsilon: of the next sketch, and of those so far",
        }
    )
    header = ("group", "right: next", "right: all", "next loss", "lost", "limit")
    rows = [
        (
            one.name,
            _in_short(one.next_accuracy),
            _in_short(one.all_accuracy),
            short_number(one.next_loss),
            short_number(one.lost),
            "" if one.limit is None else short_number(one.limit),
        )
        for one in told
    ]
    print_rows("", header, rows)


def _in_short(accuracy: float) -> str:
    """Return how often a guess is right as a cell of a table, which must fit into 80 columns with the others."""
    from hetdp.node.groups import right_words

    return right_words(accuracy).replace(" times ", " ").replace(" time ", " ")


def _show_groups(told: "Sequence[GroupTold]", proposal: "GroupProposal | None", voice: Voice) -> None:
    if voice.as_json:
        private: dict[str, Any] = {"groups": group_facts(told)}
        if proposal is not None:
            changes = [(one.title, one.before, one.after) for one in proposal.changes]
            private["proposal"] = {
                "limit": proposal.limit,
                "then": _group_facts(proposal.then),
                "dials": [{"title": title, "before": before, "after": after} for title, before, after in changes],
            }
        print_json({}, private=private)
        return
    tell_groups(told, voice)
    if proposal is not None:
        _tell_proposal(proposal, voice)


def _tell_proposal(proposal: "GroupProposal", voice: Voice) -> None:
    from hetdp.node.groups import right_words

    now, then = right_words(proposal.now.next_accuracy), right_words(proposal.then.next_accuracy)
    voice.private(f"With a limit of epsilon {short_number(proposal.limit)}: right {then}, instead of {now}.")
    voice.private(proposal.promise)
    if proposal.spent:
        voice.private(proposal.spent)
    if proposal.changes:
        rows = [(one.title, str(one.before), str(one.after)) for one in proposal.changes]
        print_rows("", ("item", "dial before", "after"), rows)


def _group_facts(told: "GroupTold") -> dict[str, Any]:
    return {
        "group": told.name,
        "items": told.items,
        "items_that_count": told.counting,
        "next_sketch": {"accuracy": told.next_accuracy, "loss": told.next_loss},
        "all_sketches_and_the_next": {"accuracy": told.all_accuracy, "lost_so_far": told.lost},
        "limit": told.limit,
        "advice": told.advice,
    }


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
        print_json({"sketches": sketches}, private=_neighbor_facts(found, counting))
    else:
        _tell_neighbors(found, sketches, counting, voice)


def _neighbor_facts(found: "Findings", counting: int) -> dict[str, Any]:
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


def _tell_neighbors(found: "Findings", sketches: int, counting: int, voice: Voice) -> None:
    from hetdp.node import words
    from hetdp.sketching.reading import RARE

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
