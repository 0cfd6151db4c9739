"""`hetdp node import`, `pause`, `resume`, `leave`, `hide`, `unhide`, `page`: what the owner of a node does with it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.node_moving import folder_option
from hetdp.cli.output import Voice, dry_run_option, output_options, print_facts, print_json, print_private
from hetdp.core.errors import DataError
from hetdp.core.text import agreeing, counted

if TYPE_CHECKING:
    from hetdp.node.handle import NodeHandle
    from hetdp.node.storage.importing import Imported

__all__ = ["OWNER_COMMANDS", "imported_facts", "tell_imported"]

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
@dry_run_option
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
        imported = handle.import_items(raw, kind=kind or by_ending, dry_run=voice.dry_run)
    finally:
        handle.close()
    if voice.as_json:
        print_json({}, private={"imported": imported_facts(imported)})
    else:
        tell_imported(imported, voice)
    if voice.dry_run:
        voice.note("--dry-run: nothing was added.")


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


@click.command(short_help="Draw no sketch for now.")
@folder_option
@dry_run_option
@output_options
def pause(*, folder: Path, voice: Voice) -> None:
    """Draw no sketch until `hetdp node resume`, also if the node runs. Nothing is spent meanwhile.

    Others can see that no new sketch comes. The last one stays with them until it is too old; the node answers as ever.
    """
    _switched(folder, voice, to="paused", already="The node is paused already.")


@click.command(short_help="Draw sketches again.")
@folder_option
@click.option("--copy-is-gone", is_flag=True, help="The copy that this node has met is stopped for good.")
@dry_run_option
@output_options
def resume(*, folder: Path, copy_is_gone: bool, voice: Voice) -> None:
    """Draw a sketch in every epoch again, after `hetdp node pause`. Others can see that a new one comes.

    A node that has met a sketch under its own key stops by itself, and goes on only with --copy-is-gone: while a copy
    runs, both spend, and neither knows of the other. Should it still run, the node stops again.
    """
    _switched(folder, voice, to="open", already="The node was not paused.", copy_is_gone=copy_is_gone)


def _switched(folder: Path, voice: Voice, *, to: str, already: str, copy_is_gone: bool = False) -> None:
    handle = _opened(folder)
    try:
        if voice.dry_run:
            voice.note("--dry-run: nothing was changed.")
            changed = False
        else:
            changed = handle.pause() if to == "paused" else handle.resume(copy_is_gone=copy_is_gone)
            if not changed:
                voice.note(already)
        mode, epochs = handle.mode(), handle.settings.keep_epochs
    finally:
        handle.close()
    facts = {"mode": mode, "changed": changed}
    if voice.as_json:
        print_json(facts)
    else:
        print_facts("", facts)
    if mode == "paused":
        voice.note(
            f"Others keep the last sketch for {counted(epochs, 'epoch')}, and see that no new one comes. "
            "`hetdp node resume` lets it go on."
        )


@click.command(short_help="Leave the network for good.")
@folder_option
@click.option("--erase", is_flag=True, help="Erase the node's folder as well.")
@click.option("--keep", type=click.Path(path_type=Path), help="New file for list and losses, for another network.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@output_options
def leave(*, folder: Path, erase: bool, keep: Path | None, yes: bool, voice: Voice) -> None:
    """Leave the network for good: the node draws nothing any more, stops if it runs, and does not start again.

    Says first what can be taken back and what cannot. With --erase, the folder goes as well: list, ledger, keys. With
    --keep, they go into a file, which `hetdp node receive` opens in another network, so that losses count there.
    Interrupted, give the same command again.
    """
    from hetdp.node.leaving import finish_leaving, leave_into_file, what_leaving_means
    from hetdp.node.storage.folder import IDENTITY, STORE

    halves = [(folder / name).exists() for name in (IDENTITY, STORE, "lock")]
    if erase and any(halves) and not all(halves[:2]):
        _told(folder, finish_leaving(folder), voice)  # an earlier attempt was broken off
        return
    handle = _opened(folder)
    try:
        can, cannot = what_leaving_means(handle)
        for heading, lines in (("What leaving takes back", can), ("What it cannot take back", cannot)):
            voice.note("\n".join([f"{heading}:", *(f"- {line}" for line in lines)]))
        if voice.dry_run:
            voice.note("--dry-run: nothing was changed.")
            return
        question = f"Leave {handle.network.name} for good{', and erase the folder' * erase}?"
        if not yes and not click.confirm(question, err=True):
            voice.note("You stay. Nothing was changed.")
            click.get_current_context().exit(1)  # what was asked for was not done
        if keep is None:
            handle.leave(erase=erase)
    finally:
        handle.close()
    if keep is not None:
        leave_into_file(folder, keep, now_s=time.time())
        voice.note(f"{keep} holds your list, losses and keys. `hetdp node receive` opens it, once.")
    if erase:
        _told(folder, finish_leaving(folder), voice)
        return
    if voice.as_json:
        print_json({"mode": "closed", "erased": False})
    else:
        print_facts("", {"mode": "closed"})
    voice.note(f"Your list and losses are still in {folder}. `hetdp node leave --erase --folder {folder}` erases them.")


def _told(folder: Path, left: list[str], voice: Voice) -> None:
    if voice.as_json:
        print_json({"mode": "closed", "erased": True, "left": left})
    else:
        print_facts("", {"mode": "closed", "erased": str(folder)})
    if left:
        voice.note(f"Files that are not the node's were left in {folder}: {', '.join(left)}.")


@click.command(short_help="Do not show a neighbour.")
@click.argument("key")
@folder_option
@dry_run_option
@output_options
def hide(key: str, *, folder: Path, voice: Voice) -> None:
    """Do not show the neighbour with this KEY or name, nor let it vote. Only you can notice: it is answered as ever."""
    _hidden(folder, voice, hide=key)


@click.command(short_help="Show a neighbour again.")
@click.argument("key")
@folder_option
@dry_run_option
@output_options
def unhide(key: str, *, folder: Path, voice: Voice) -> None:
    """Show the neighbour with this KEY or name again."""
    _hidden(folder, voice, unhide=key)


def _hidden(folder: Path, voice: Voice, *, hide: str | None = None, unhide: str | None = None) -> None:
    handle = _opened(folder)
    try:
        if voice.dry_run:
            voice.note("--dry-run: nothing was changed.")
        elif hide is not None:
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


@click.command(short_help="Print a fresh address of the page.")
@folder_option
@dry_run_option
@output_options
def page(*, folder: Path, voice: Voice) -> None:
    """Print an address of the page of a running node. It works once, in one browser, within ten minutes."""
    from hetdp.node.storage.page_door import PageDoor

    if not folder.is_dir():
        raise DataError(f"there must be a node in {str(folder)!r}. Got none; `hetdp node init` makes one.")
    if voice.dry_run:
        voice.note("--dry-run: no address was made.")
        return
    address = PageDoor(folder).fresh_address()
    if voice.as_json:
        print_json({"page": address})
    else:
        click.echo(f"Your page: {address}")


def _opened(folder: Path) -> "NodeHandle":
    from hetdp.node.handle import NodeHandle

    return NodeHandle.open(folder)


OWNER_COMMANDS = (import_, pause, resume, leave, hide, unhide, page)
