"""`hetdp node move`, `receive`, `backup` and `restore`: a node in another place, with everything it has spent."""

import time
from pathlib import Path
from typing import Any

import click

from hetdp.cli.output import Voice, dry_run_option, output_options, print_facts, print_json, print_private
from hetdp.core.text import counted

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default="hetdp-node",
    show_default=True,
    help="Folder of the node.",
)
_network = click.option(
    "--network", "network_path", type=click.Path(path_type=Path), help="File of the network.  [default: the same]"
)
_listen = click.option("--listen", help="Address to listen on.  [default: the same; in another network, a free port]")
_advertise = click.option("--advertise", help="Address that others are told, if another.")


@click.command(short_help="Move a node to another folder, network or machine.")
@folder_option
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="New folder, or the folder of a node that exists."
)
@_network
@_listen
@_advertise
@click.option("--to-file", "file", type=click.Path(path_type=Path), help="New file, for `receive` on another machine.")
@click.option("--cancel", "cancelling", is_flag=True, help="Stay: take back a move that has not ended.")
@dry_run_option
@output_options
def move(
    *,
    folder: Path,
    target: Path | None,
    network_path: Path | None,
    listen: str | None,
    advertise: str | None,
    file: Path | None,
    cancelling: bool,
    voice: Voice,
) -> None:
    """Move a node with profile, dials, limits and losses: a ledger belongs to a person, not to a network.

    \b
    hetdp node move --folder hetdp-node --to other-folder
    hetdp node move --folder hetdp-node --to other-folder --network other.toml
    hetdp node move --folder hetdp-node --to-file me.parcel

    Within its network a node keeps its key and what it has published. In another it gets a new key; items are known by
    their names, and those that the other catalogue lacks are kept with their losses. Into a node that exists, losses
    of both add up. The old folder is closed for good, and kept. Interrupted, give the same command again.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.moving import NewNode, ParcelFile, cancel, move as move_node, target_of
    from hetdp.node.storage.parcels import open_origin

    if [target is not None, file is not None, cancelling].count(True) != 1:
        raise click.UsageError("give one of --to, --to-file and --cancel.")
    settings = _settings(listen, advertise)
    if target is None and (network_path is not None or settings):
        raise click.UsageError("--network, --listen and --advertise are for --to; `receive` has its own.")
    with open_origin(folder) as origin:
        if cancelling:
            if not voice.dry_run:
                cancel(origin)
            _show(voice, {"folder": str(folder), "moved": False})
            return
        end: Any = (
            ParcelFile(file)
            if file
            else target_of(origin, target or folder, network_path=network_path, settings=settings)
        )
        if voice.dry_run:
            end.check(origin)
        else:
            move_node(origin, end, now_s=time.time())
    kept = _only_kept(target, voice)
    _show(voice, {"from": str(folder), "to": str(file or target), "moved": not voice.dry_run}, kept)
    if voice.dry_run:
        voice.note(f"--dry-run: would close {folder} and move it to {file or target}.")
        return
    voice.note(f"Moved. {folder} is closed, and can be deleted when you have seen that all is well.")
    if file is not None:
        voice.note(
            "The file holds your profile and keys: carry it yourself, and only to the machine that will run the node, "
            f"where `hetdp node receive {file.name}` opens it once. Of copies of it, received on two machines, each "
            "would be a node under your key: neither can know of the other, until it meets a sketch that it did not "
            "draw, and stops."
        )
    elif isinstance(end, NewNode):
        voice.note(f"Next: hetdp node run --folder {target}")


@click.command(short_help="Open a node that was moved into a file.")
@click.argument("file", type=click.Path(path_type=Path))
@folder_option
@_network
@_listen
@_advertise
@dry_run_option
@output_options
def receive(
    *,
    file: Path,
    folder: Path,
    network_path: Path | None,
    listen: str | None,
    advertise: str | None,
    voice: Voice,
) -> None:
    """Make a node of a file that `hetdp node move --to-file` has written, or add it to a node that exists.

    The file is marked as used, so that it opens once. Interrupted, give the same command again.
    """
    from hetdp.node.moving import NewNode, move as move_node, target_of
    from hetdp.node.storage.parcels import open_origin

    with open_origin(file) as origin:
        end = target_of(origin, folder, network_path=network_path, settings=_settings(listen, advertise))
        if voice.dry_run:
            end.check(origin)
        else:
            move_node(origin, end, now_s=time.time())
    _show(voice, {"from": str(file), "to": str(folder), "moved": not voice.dry_run}, _only_kept(folder, voice))
    if voice.dry_run:
        voice.note(f"--dry-run: would open {file} in {folder}.")
        return
    voice.note(f"Received. Delete {file}, and every copy of it: it holds your profile and keys.")
    if isinstance(end, NewNode):
        voice.note(f"Next: hetdp node run --folder {folder}")


@click.command(short_help="Copy a node, running or not, into one file.")
@click.argument("file", type=click.Path(path_type=Path))
@folder_option
@output_options
def backup(*, file: Path, folder: Path, voice: Voice) -> None:
    """Write profile, ledger, settings and keys of a node into one new file that only its owner can read.

    The node may run meanwhile. Make backups often: a restored node pays for every epoch since.
    """
    from hetdp.node.restoring import back_up

    back_up(folder, file, now_s=time.time())
    _show(voice, {"folder": str(folder), "file": str(file)})
    voice.note("The file holds your profile and keys. Keep it where only you can read it.")


@click.command(short_help="Make a node of a backup.")
@click.argument("source", type=click.Path(path_type=Path))
@folder_option
@_listen
@_advertise
@dry_run_option
@output_options
def restore(*, source: Path, folder: Path, listen: str | None, advertise: str | None, voice: Voice) -> None:
    """Make a node of a backup: a file of `hetdp node backup`, or the folder of a node that is no longer in use.

    Nobody knows what the lost node has published since. So every item of the catalogue, on your list or not, pays for
    every epoch after the last sketch in the backup at full weight, and the new node draws none of them; --dry-run says
    how many. A node that was paused or off before the backup pays too much: only a clock said so. The lost node must
    never run again.
    """
    from hetdp.node.restoring import restore as restore_node

    found = restore_node(
        source, folder, settings=_settings(listen, advertise), now_s=time.time(), dry_run=voice.dry_run
    )
    facts = {
        "from": str(source),
        "folder": str(folder),
        "first_epoch": found.first,
        "last_epoch": found.last,
        "epochs_charged": found.charged,
        "restored": not voice.dry_run,
    }
    _show(voice, facts)
    pays = "would pay" if voice.dry_run else "has paid"
    voice.note(
        f"Every item {pays} for {counted(found.charged, 'epoch')} at full weight, since the lost node may have "
        "published in each. The node draws its next sketch in the epoch after this one."
        if found.charged
        else "The backup is from this epoch: there is nothing to pay for. The next sketch is for the epoch after it."
    )
    if not voice.dry_run:
        voice.note(f"The old one must never run again. Next: hetdp node run --folder {folder}")


def _settings(listen: str | None, advertise: str | None) -> dict[str, str]:
    given = {"listen": listen, "advertise": advertise}
    return {name: text for name, text in given.items() if text is not None}


def _only_kept(folder: Path | None, voice: Voice) -> dict[str, Any]:
    """Return how much the catalogue at the other end does not have: for the owner's eyes."""
    from hetdp.node.storage.folder import STORE
    from hetdp.node.storage.store import NodeStore

    if folder is None or voice.dry_run:
        return {}
    with NodeStore(folder / STORE) as store:
        return {"kept_for_later": store.unknown.count()}


def _show(voice: Voice, facts: dict[str, Any], private: dict[str, Any] | None = None) -> None:
    if voice.as_json:
        print_json(facts, private=private or {})
    else:
        print_facts("", {name.replace("_", " "): fact for name, fact in facts.items()})
        if private:
            print_private({name.replace("_", " "): fact for name, fact in private.items()})
