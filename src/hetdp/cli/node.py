"""`hetdp node`: hold one person's profile, take part in a network, find neighbours, show a page."""

import dataclasses
import json
import signal
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.network import need_extra
from hetdp.cli.node_data import (
    dials,
    group_facts,
    groups,
    hide,
    import_,
    imported_facts,
    neighbors,
    tell_groups,
    tell_imported,
    unhide,
)
from hetdp.cli.node_demo import demo
from hetdp.cli.node_moving import backup, folder_option, move, receive, restore
from hetdp.cli.output import (
    Voice,
    check_writable,
    dry_run_option,
    output_options,
    print_facts,
    print_json,
    print_private,
    with_private,
)
from hetdp.core.errors import DataError, HetdpError, MissingExtra
from hetdp.core.files import write_whole
from hetdp.core.text import counted, duration

if TYPE_CHECKING:
    from hetdp.node.handle import NodeHandle


@click.group()
def node() -> None:
    """Run a node that publishes one noisy sketch of your profile per epoch and chooses neighbours at home.

    Needs the extra: pip install 'hetdp[node]'.
    """
    need_extra()


for other in (demo, import_, dials, groups, neighbors, hide, unhide, move, receive, backup, restore):
    node.add_command(other)


@node.command(short_help="Make a new node.")
@click.option("--network", "network_path", type=click.Path(path_type=Path), required=True, help="The network's file.")
@click.option("--profile", type=click.Path(path_type=Path), help="Your list: CSV, bookmarks or titles.")
@folder_option
@click.option("--listen", default="tcp://127.0.0.1:0", show_default=True, help="Address; port 0 takes a free one.")
@click.option("--advertise", default="", help="Address that others are told, if another.")
@output_options
def init(
    *,
    network_path: Path,
    profile: Path | None,
    folder: Path,
    listen: str,
    advertise: str,
    voice: Voice,
) -> None:
    """Make the folder of a new node: keys, settings, profile. Nothing is sent.

    The profile is a list as `hetdp node import` takes it. Rows that cannot be used are told, and the others are taken.

    \b
    hetdp node init --network mynet.toml --profile me.csv
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.handle import NodeHandle, how_to_be_invited
    from hetdp.node.settings import NodeSettings
    from hetdp.node.storage.folder import default_limit, init_node
    from hetdp.node.storage.network_file import read_network
    from hetdp.node.words import cost_facts

    settings = NodeSettings(listen=listen, advertise=advertise)
    made = init_node(folder, network_path=network_path, profile_path=profile, settings=settings)
    with closing(NodeHandle.open(folder)) as handle:
        told = handle.group_losses().all()
    contact = made.contact
    network = read_network(network_path)
    costs = cost_facts(network, default_limit(network.epsilon, settings))
    facts = {
        "folder": str(folder),
        "address": contact.address,
        "key": contact.key,
        "curve": contact.curve,
    }
    if voice.as_json:
        own = {"imported": imported_facts(made.imported), "groups": group_facts(told)}
        print_json(facts | costs, private={} if profile is None else own)
    else:
        shown = {name.replace("_", " "): fact for name, fact in facts.items()}
        print_facts("", shown | _cost_words(costs))
        if profile is not None:
            tell_imported(made.imported, voice)
            tell_groups(told, voice)
    _warn_of(costs, voice)
    if network.admission == "invite":
        voice.note(f"This network is by invitation. {how_to_be_invited(contact.key, folder)}")
    voice.note(f"What your first sketch would tell about groups of your items: hetdp node groups --folder {folder}")
    voice.note(f"Next: hetdp node run --folder {folder}")
    if listen.startswith("tcp://127."):
        where = "--listen tcp://0.0.0.0:7470 --advertise tcp://YOUR-IP:7470"
        voice.note(f"It listens on this machine only. For others: {where}")


@node.command(short_help="Take part in the network.")
@folder_option
@click.option("--page/--no-page", default=None, help="Whether to start the page in the browser.")
@dry_run_option
@output_options
def run(*, folder: Path, page: bool | None, voice: Voice) -> None:
    """Take part in the network until interrupted, with a page on this machine to turn the dials.

    Once per epoch a sketch is drawn, paid for in the node's ledger, and published.
    """
    from hetdp.node.daemon import Daemon
    from hetdp.node.handle import NodeHandle
    from hetdp.node.leaving import erase_if_wanted

    handle = NodeHandle.open(folder)
    try:
        if voice.dry_run:
            _show_next(handle, voice)
            return
        handle.check_open()
        handle.check_invited()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: handle.stopping.set())
        wanted = handle.settings.page if page is None else page
        threads: list[threading.Thread | None] = []

        def ready(address: str) -> None:
            """Start the page: only now is it certain that this node has the folder and its address to itself."""
            voice.note(f"{handle.name} listens on {address}. Ctrl-C stops it.")
            _say_if_alone(handle, voice)
            if handle.store.publications.newest_epoch() is None:
                voice.note(
                    "The first sketch is drawn now. What sketches tell about groups of your items: on the page, under "
                    "My privacy, and `hetdp node groups`."
                )
            if handle.mode() == "paused":
                voice.note("It is paused and draws no sketch. `hetdp node resume` lets it go on.")
            threads.append(_start_page(handle, voice) if wanted else None)

        try:
            Daemon(handle, ready=ready).run()
        finally:
            handle.stopping.set()
            for thread in threads:
                if thread is not None:
                    thread.join(timeout=10)
    finally:
        handle.close()
    voice.note("Stopped.")
    if erase_if_wanted(folder):
        voice.note(f"You have left the network: {folder} was erased.")


@node.command(short_help="Show a node at a glance.")
@folder_option
@output_options
def status(*, folder: Path, voice: Voice) -> None:
    """Show a node at a glance, running or not. Names no item."""
    from hetdp.node.handle import NodeHandle

    handle = NodeHandle.open(folder)
    try:
        found, contact = handle.status(), handle.contact
        _say_if_alone(handle, voice)
    finally:
        handle.close()
    facts: dict[str, Any] = {**dataclasses.asdict(found), "curve_hex": contact.curve}
    private = {name: facts.pop(name) for name in ("items", "exhausted")}
    if voice.as_json:
        print_json(facts, private=private)
        return
    facts["running"] = "yes" if found.running else "no"
    if found.why in ("paused", "stopped", "closed"):
        facts["running"] += f", but {found.why}"
    facts["recommendations"] = _source_words(facts.pop("counted"), facts.pop("learned_from"), facts.pop("taste"))
    traffic = facts.pop("traffic")
    del facts["key_hex"], facts["curve_hex"]
    facts["next_epoch"], facts["next_sketch"] = _moment(facts.pop("next_epoch_s")), _moment(facts.pop("next_draw_s"))
    why = facts.pop("why")
    facts |= {name: traffic[name] for name in ("sent_bytes", "received_bytes", "exchanges", "failures", "refused")}
    print_facts("", {name.replace("_", " "): fact for name, fact in facts.items()})
    click.echo(f'\n[[bootstrap]]\naddress = "{contact.address}"\nkey = "{contact.key}"\ncurve = "{contact.curve}"')
    print_private(private)
    voice.note(_why_words(why, facts["next_sketch"]))


@node.command(short_help="Draw no sketch for now.")
@folder_option
@output_options
def pause(*, folder: Path, voice: Voice) -> None:
    """Draw no sketch until `hetdp node resume`, also if the node runs. Nothing is spent meanwhile.

    Others can see that no new sketch comes. The last one stays with them until it is too old; the node answers as ever.
    """
    _switched(folder, voice, to="paused", already="The node is paused already.")


@node.command(short_help="Draw sketches again.")
@folder_option
@click.option("--copy-is-gone", is_flag=True, help="The copy that this node has met is stopped for good.")
@output_options
def resume(*, folder: Path, copy_is_gone: bool, voice: Voice) -> None:
    """Draw a sketch in every epoch again, after `hetdp node pause`. Others can see that a new one comes.

    A node that has met a sketch under its own key stops by itself, and goes on only with --copy-is-gone: while a copy
    runs, both spend, and neither knows of the other. Should it still run, the node stops again.
    """
    _switched(folder, voice, to="open", already="The node was not paused.", copy_is_gone=copy_is_gone)


def _switched(folder: Path, voice: Voice, *, to: str, already: str, copy_is_gone: bool = False) -> None:
    from hetdp.node.handle import NodeHandle

    handle = NodeHandle.open(folder)
    try:
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


@node.command(short_help="Leave the network for good.")
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
    from hetdp.node.handle import NodeHandle
    from hetdp.node.leaving import finish_leaving, leave_into_file, what_leaving_means
    from hetdp.node.storage.folder import IDENTITY, STORE

    halves = [(folder / name).exists() for name in (IDENTITY, STORE, "lock")]
    if erase and any(halves) and not all(halves[:2]):
        _tell_erased(folder, finish_leaving(folder), voice)  # an earlier attempt was broken off
        return
    handle = NodeHandle.open(folder)
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
        _tell_erased(folder, finish_leaving(folder), voice)
        return
    if voice.as_json:
        print_json({"mode": "closed", "erased": False})
    else:
        print_facts("", {"mode": "closed"})
    voice.note(f"Your list and losses are still in {folder}. `hetdp node leave --erase --folder {folder}` erases them.")


def _tell_erased(folder: Path, left: list[str], voice: Voice) -> None:
    if voice.as_json:
        print_json({"mode": "closed", "erased": True, "left": left})
    else:
        print_facts("", {"mode": "closed", "erased": str(folder)})
    if left:
        voice.note(f"Files that are not the node's were left in {folder}: {', '.join(left)}.")


@node.command("page", short_help="Print a fresh address of the page.")
@folder_option
@output_options
def page_(*, folder: Path, voice: Voice) -> None:
    """Print an address of the page of a running node. It works once, in one browser, within ten minutes."""
    from hetdp.node.storage.page_door import PageDoor

    if not folder.is_dir():
        raise DataError(f"there must be a node in {str(folder)!r}. Got none; `hetdp node init` makes one.")
    address = PageDoor(folder).fresh_address()
    if voice.as_json:
        print_json({"page": address})
    else:
        click.echo(f"Your page: {address}")


@node.command(short_help="Take over a new version of the catalogue.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@folder_option
@output_options
def catalogue(file: Path | None, *, folder: Path, voice: Voice) -> None:
    """Take over the versions of the catalogue in FILE, as `hetdp network grow` writes them.

    Nodes hand new versions on, so one node of a network is enough. It may be running: it sees them within
    two periods. Without FILE, shows the version that the node has.
    """
    from hetdp.node.handle import NodeHandle
    from hetdp.node.protocol import Refused
    from hetdp.node.storage.network_file import read_versions

    handle = NodeHandle.open(folder)
    try:
        before = handle.store.catalogue.number()
        if file is not None:
            handle.take_up(read_versions(file))
        number, size = handle.store.catalogue.number(), handle.store.catalogue.size()
        facts = {
            "version": number,
            "new_versions": number - before,
            "items": size,
            "retired": int(handle.store.catalogue.retired().sum()),
        }
    except Refused as error:
        raise DataError(f"FILE must hold versions of this network's catalogue. {error}") from None
    finally:
        handle.close()
    if voice.as_json:
        print_json(facts)
    else:
        print_facts("", {name.replace("_", " "): fact for name, fact in facts.items()})


@node.command(short_help="Write everything the node knows about you.")
@folder_option
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File, for its owner only.  [default: print]")
@click.option("--csv", "as_csv", is_flag=True, help="The list alone, as a CSV.")
@output_options
def export(*, folder: Path, output: Path | None, as_csv: bool, voice: Voice) -> None:
    """Write profile, dials, limits, losses and neighbours as JSON, all of it under "private"; keys are left out.

    With --csv, your list alone, as `hetdp node import` takes it.
    """
    from hetdp.node.handle import NodeHandle

    if output is not None:
        if output.resolve().is_relative_to(folder.resolve()):
            raise DataError("--output must be outside the node's folder (got a file inside it)")
        check_writable(output)
    handle = NodeHandle.open(folder)
    try:
        data = {"list": handle.list_as_csv()} if as_csv else handle.export()
    finally:
        handle.close()
    if output is not None:
        write_whole(output, data["list"] if as_csv else json.dumps(with_private({}, data), indent=2) + "\n")
        voice.note(f"Wrote {output}.")
    if voice.as_json or (output is None and not as_csv):
        print_json({}, private=data)
    elif output is None:
        click.echo(data["list"], nl=False)


def _moment(moment_s: float | None) -> str:
    return "none" if moment_s is None else datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="seconds")


def _why_words(why: str, when: str) -> str:
    """Say why the node does or does not draw a sketch now, and when it will."""
    from hetdp.node.protocol.draw_schedule import REASONS

    return REASONS[why] + (
        "" if why == "due" or when == "none" else f" The next sketch: {when}, if the node runs then."
    )


def _source_words(held: int, learned_from: int, taste: float) -> str:
    """Say where recommendations come from; the same words whatever the profile."""
    from hetdp.node.learning import ENOUGH

    if learned_from:
        what = "" if taste else ", in which no taste rises above the noise yet: what most people have"
        return f"learned from a crowd of {counted(learned_from, 'sketch', 'sketches')}{what}"
    return f"votes of neighbours ({held:,} of {ENOUGH} sketches to learn from a crowd)"


def _say_if_alone(handle: "NodeHandle", voice: Voice) -> None:
    """Say what to do where there is nobody to ask."""
    from hetdp.node.storage.folder import NETWORK

    if handle.alone():
        voice.note(
            "Nobody to ask yet: the network file names no other peer, and none has come. Others can name this node, as "
            "`hetdp node status` shows it, or name one of them here and start again:\n"
            f"  hetdp network add-peer {handle.folder / NETWORK} --address tcp://... --key ... --curve ..."
        )


def _start_page(handle: "NodeHandle", voice: Voice) -> threading.Thread | None:
    from hetdp.core.optional import require

    try:
        serve = require("hetdp.node.page", extra="node", purpose="The page").serve
    except MissingExtra as error:
        voice.note(f"{error} The node goes on without.")
        return None

    def announce(address: str) -> None:
        if voice.as_json:
            click.echo(json.dumps({"page": address}))
        else:
            click.echo(f"Your page: {address}")

    def page() -> None:
        try:
            serve(handle, host="127.0.0.1", port=handle.settings.page_port, announce=announce)
        except (OSError, HetdpError) as error:
            voice.note(f"The page stopped: {str(error).rstrip('.')}. The node goes on.")

    thread = threading.Thread(target=page, name="page", daemon=True)
    thread.start()
    return thread


def _show_next(handle: "NodeHandle", voice: Voice) -> None:
    """Say what the next sketch would cost. Nothing is drawn."""
    from hetdp.node.words import cost_facts

    facts, costs = handle.next_sketch(), cost_facts(handle.network, handle.store.ledger.default_limit())
    private, told = (
        {name: facts.pop(name) for name in ("items_that_count", "largest_loss")},
        handle.group_losses().all(),
    )
    if voice.as_json:
        print_json({"dry_run": True} | facts | costs, private=private | {"groups": group_facts(told)})
    else:
        why, when = facts.pop("why"), _moment(facts.pop("next_draw_s"))
        shown = {name.replace("_", " "): fact for name, fact in facts.items()}
        print_facts("Dry run: nothing was spent", shown | {"next sketch": when} | _cost_words(costs))
        voice.note(_why_words(why, when))
        print_private({name.replace("_", " "): fact for name, fact in private.items()})
        tell_groups(told, voice)
    _warn_of(costs, voice)


def _warn_of(costs: dict[str, Any], voice: Voice) -> None:
    from hetdp.node.words import cost_warnings

    for line in cost_warnings(costs):
        voice.note(f"Warning: {line}")


def _cost_words(costs: dict[str, Any]) -> dict[str, Any]:
    epochs = costs["epochs_at_full_weight"]
    after = (
        f"{duration(costs['limit_spent_after_s'])} ({counted(epochs, 'epoch')})" if epochs else "less than one epoch"
    )
    return {
        "epsilon per epoch": costs["epsilon_per_epoch"],
        "epoch length": duration(costs["epoch_length_s"]),
        "lifetime limit of an item": costs["lifetime_limit"],
        "spent at full weight after": after,
    }
