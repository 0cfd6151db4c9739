"""`hetdp node groups`: what a sketch tells about whole groups of items, and limits for them. For the owner's eyes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.node_moving import folder_option
from hetdp.cli.output import Voice, dry_run_option, output_options, print_json, print_private, print_rows
from hetdp.core.errors import InvalidInput
from hetdp.core.text import short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hetdp.node.groups import GroupProposal, GroupTold

__all__ = ["group_facts", "groups", "tell_groups"]


@click.command(short_help="What a sketch tells about groups of your items.")
@folder_option
@click.option("--group", help='Group of the catalogue to limit; "" for items without one.')
@click.option("--whole-list", is_flag=True, help="Limit the whole list as one group.")
@click.option("--limit", type=float, help="Most that one sketch may tell about it, in epsilon: shows what it would do.")
@click.option("--no-limit", is_flag=True, help="Remove its limit; dials stay.")
@click.option("--set", "store_it", is_flag=True, help="Set the limit, and the dials that it lowers.")
@dry_run_option
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
        raise InvalidInput("one of --group and --whole-list must be given (got both)")
    if store_it and limit is None:
        raise InvalidInput("--set must come with --limit. Got none instead; --no-limit needs no --set.")
    if (limit is not None or no_limit) != (chosen is not None) or (limit is not None and no_limit):
        raise InvalidInput("--group or --whole-list must be given with one of --limit and --no-limit")
    handle = NodeHandle.open(folder)
    try:
        losses = handle.group_losses()
        proposal = None if chosen is None or limit is None else losses.proposal(chosen, limit)
        change = chosen is not None and (store_it or no_limit) and not voice.dry_run
        if change:
            handle.store.profile.set_group_limit(str(chosen), limit)
        told = (handle.group_losses() if change else losses).all()
    finally:
        handle.close()
    _show(told, proposal, voice)
    if change and no_limit:
        voice.note("Done: the limit is gone, and dials stay as they are.")
    elif change:
        voice.note("Done. It takes effect in the next sketch; the page can take it back in one step.")
    elif chosen is not None:
        how = "Without --dry-run, the limit goes." if no_limit else "--set sets the limit and these dials."
        voice.note(f"Nothing was changed. {how}")


def group_facts(told: "Sequence[GroupTold]") -> list[dict[str, Any]]:
    """Return what sketches tell about each group, for JSON: as private as the list."""
    return [_facts(one) for one in told]


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


def _show(told: "Sequence[GroupTold]", proposal: "GroupProposal | None", voice: Voice) -> None:
    if voice.as_json:
        private: dict[str, Any] = {"groups": group_facts(told)}
        if proposal is not None:
            changes = [(one.title, one.before, one.after) for one in proposal.changes]
            private["proposal"] = {
                "limit": proposal.limit,
                "then": _facts(proposal.then),
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


def _facts(told: "GroupTold") -> dict[str, Any]:
    return {
        "group": told.name,
        "items": told.items,
        "items_that_count": told.counting,
        "next_sketch": {"accuracy": told.next_accuracy, "loss": told.next_loss},
        "all_sketches_and_the_next": {"accuracy": told.all_accuracy, "lost_so_far": told.lost},
        "limit": told.limit,
        "advice": told.advice,
    }
