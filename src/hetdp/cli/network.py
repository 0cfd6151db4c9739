"""`hetdp network`: make the public file of a network, let nodes in, name peers to ask first."""

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.options import tuning_option
from hetdp.cli.output import Voice, check_writable, dry_run_option, output_options, print_facts, print_json
from hetdp.core.errors import DataError
from hetdp.core.files import write_whole
from hetdp.core.optional import require_all

if TYPE_CHECKING:
    from fractions import Fraction

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
#: A sketch needs some exchanges to go around before the next one is due.
_LEAST_PERIODS = 20
_PUBLIC = 0o644
_MOST_ITEMS_HELP = (
    "Largest profile; sketches that need a larger one are refused.  [default: a quarter of the catalogue, at least 25 "
    "and at most 1000]"
)
_HEAD_HELP = (
    "Items that nodes learn about from the crowd: the first of the catalogue, so put the best known first.  [default: "
    "2048, or all]"
)


def _seconds(_context: click.Context, _option: click.Parameter, text: str) -> int:
    """Return the seconds of a duration written as 90s, 30m, 12h or 7d."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    if found is None:
        raise click.BadParameter(f"must be a duration such as 90s, 30m, 12h or 7d. Got {text!r} instead.")
    return int(found[1]) * _UNITS[found[2]]


@click.group()
def network() -> None:
    """Make and manage the public file of a peer-to-peer network.

    Every node holds the same file: the catalogue of items, epsilon per epoch, the schedule of epochs, and peers to ask
    first. Nothing in it is secret. Needs the extra: pip install 'hetdp[node]'.
    """
    need_extra()


def need_extra() -> None:
    """Say what to install where the extra is missing."""
    require_all(("msgspec", "zmq"), extra="node", purpose="A node")


@network.command(short_help="Make a new network.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--catalogue", type=click.Path(path_type=Path), required=True, help="CSV: item, title, link, group.")
@click.option("--epsilon", required=True, help="Loss of an item of weight 1 per epoch, such as 3 or 0.5.")
@tuning_option
@click.option("--name", help="Name of the network.  [default: name of the file]")
@click.option("--epoch-length", callback=_seconds, default="7d", show_default=True, help="How long an epoch lasts.")
@click.option("--period", type=float, default=10.0, show_default=True, help="Seconds between two exchanges of a node.")
@click.option("--most-items", type=click.IntRange(min=1), help=_MOST_ITEMS_HELP)
@click.option("--head", type=click.IntRange(min=1, max=8192), help=_HEAD_HELP)
@click.option("--invite-only", is_flag=True, help="Only nodes with an invitation, signed by FILE.key, take part.")
@dry_run_option
@output_options
def create(
    file: Path,
    *,
    catalogue: Path,
    epsilon: str,
    tuned_for: "Fraction",
    name: str | None,
    epoch_length: int,
    period: float,
    most_items: int | None,
    head: int | None,
    invite_only: bool,
    voice: Voice,
) -> None:
    """Make the public FILE of a new network.

    \b
    hetdp network create mynet.toml --catalogue items.csv --epsilon 3
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.protocol.identity import Identity
    from hetdp.node.protocol.network import sketch_bytes
    from hetdp.node.storage.network_file import exact_number, key_file_of, new_network, versions_file_of
    from hetdp.node.words import network_warnings

    key = Identity.generate()
    made = new_network(
        file,
        catalogue=catalogue,
        epsilon=exact_number(epsilon),
        tuned_for=tuned_for,
        epoch_length_s=epoch_length,
        period_s=_period(period),
        name=name,
        most_items=most_items,
        n_head=head,
        network_key=key.key,
        invite_only=invite_only,
    )
    check_writable(file, keep=(catalogue,), parameter="file")
    _check_epoch(epoch_length, period)
    key_file = key_file_of(file)
    for path in (file, key_file, versions_file_of(file)):
        if path.exists():
            raise DataError(f"a new network must not replace a file (got {str(path)!r}, which exists,)")
    if not voice.dry_run:
        key.save(key_file)
        signs = "new versions of the catalogue and invitations" if invite_only else "new versions of the catalogue"
        voice.note(
            f"Wrote {key_file}: it signs {signs}. Keep it to yourself, and keep a copy: without it the catalogue"
        )
        voice.note("stays as it is.")
        write_whole(file, made.to_toml(), mode=_PUBLIC)
        voice.note(f"Wrote {file}. Next: hetdp node init --network {file} --profile me.csv")
    for hint in network_warnings(made):
        voice.note(hint)
    facts = {
        "network": made.name,
        "id": made.id.hex(),
        "items": made.items,
        "epsilon_per_epoch": float(made.epsilon),
        "tuned_for": float(made.tuned_for),
        "epoch_length_s": made.epoch_length_s,
        "sketch_bytes": sketch_bytes(made.items),
        "most_catalogue": made.most_catalogue,
        "most_items": made.most_items,
        "head": made.head_of(made.items),
        "admission": made.admission,
    }
    _show(facts, voice)


@network.command("add-peer", short_help="Name a peer to ask first.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--address", required=True, help="tcp://host:port of the peer.")
@click.option("--key", required=True, help="Its public key, as `hetdp node status` shows it.")
@click.option("--curve", required=True, help="Its public transport key.")
@output_options
def add_peer(file: Path, *, address: str, key: str, curve: str, voice: Voice) -> None:
    """Name a peer that new nodes ask first, in the network FILE. It stays the same network.

    A node that exists already has a copy of the file in its folder, network.toml: name the peer there too.
    """
    from hetdp.node.storage.network_file import read_network, with_peer

    changed = with_peer(read_network(file), address=address, key=key, curve=curve)
    write_whole(file, changed.to_toml(), mode=stat.S_IMODE(file.stat().st_mode))
    voice.note(
        f"Wrote {file}. Nodes made from it will ask this peer first. A node that exists has a copy of its own: "
        "add the peer to the network.toml in its folder, and start it again."
    )
    _show({"network": changed.name, "peers": len(changed.bootstrap)}, voice)


@network.command(short_help="Let a node in.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", required=True, help="Public key of the node to invite, as `hetdp node status` shows it.")
@click.option("--secret", type=click.Path(path_type=Path), help="The network's key.  [default: FILE.key]")
@output_options
def invite(file: Path, *, key: str, secret: Path | None, voice: Voice) -> None:
    """Print an invitation to the network FILE for one node: it goes into `invitation` of its node.toml."""
    from hetdp.node.protocol.identity import Identity, sign_invitation
    from hetdp.node.storage.network_file import key_file_of, read_network

    known = read_network(file)
    if known.admission == "open":
        raise DataError(
            f"an invitation must be for an invite-only network. Got {file.name!r}, which is open: none is needed."
        )
    holder = Identity.load(secret or key_file_of(file))
    if known.admission != "invite" or holder.key.hex() != known.network_key:
        raise DataError(f"--secret must be the key of an invite-only network (got another for {file.name!r})")
    if re.fullmatch(r"[0-9a-fA-F]{64}", key) is None:
        raise click.UsageError(f"--key must be 64 hexadecimal digits. Got {key[:100]!r} instead.")
    invitation = sign_invitation(holder.signing_secret, known.id, bytes.fromhex(key)).hex()
    print_json({"invitation": invitation}) if voice.as_json else click.echo(invitation)


@network.command(short_help="Add items to the catalogue, or retire some.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--add", type=click.Path(path_type=Path), help="CSV of new items: item, title, link, group.")
@click.option("--retire", multiple=True, help="Item that is used no more; can be given several times.")
@click.option("--secret", type=click.Path(path_type=Path), help="The network's key.  [default: FILE.key]")
@dry_run_option
@output_options
def grow(file: Path, *, add: Path | None, retire: tuple[str, ...], secret: Path | None, voice: Voice) -> None:
    """Make the next version of the catalogue of the network FILE, signed, in FILE.versions.

    Items are only ever added at the end. A retired item keeps its place, and what it has lost stays in every ledger,
    but no sketch says anything about it any more. Give FILE.versions to one node; all others get it from there.

    \b
    hetdp network grow mynet.toml --add more.csv
    hetdp node catalogue mynet.toml.versions
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.node.catalogue_file import read_network_catalogue
    from hetdp.node.protocol import Refused
    from hetdp.node.protocol.catalogue_versions import NewItem, sign_versions
    from hetdp.node.protocol.identity import Identity
    from hetdp.node.storage.network_file import (
        key_file_of,
        read_network,
        versions_file_of,
        whole_catalogue,
        write_versions,
    )

    if add is None and not retire:
        raise click.UsageError("a new version needs --add or --retire. Got neither.")
    known = read_network(file)
    if not known.grows:
        raise DataError(f"{file.name} must be of a network whose catalogue can grow (got an older one)")
    maker = Identity.load(secret or key_file_of(file))
    if maker.key.hex() != known.network_key:
        raise DataError(f"--secret must be the key of the network's maker (got another for {file.name!r})")
    items, history = whole_catalogue(file, known)
    names = [item.item for item in items] + [row.item for version in history.versions for row in version.items]
    places = {name: place for place, name in enumerate(names)}
    unknown = [name for name in retire if name not in places]
    if unknown:
        raise DataError("--retire must name items by their id, not by title", got=unknown[0][:100])
    gone = {place for version in history.versions for place in version.retired}
    again = next((name for name in retire if places[name] in gone), None)
    if again is not None:
        raise DataError(f"--retire must name items in use (got {again[:100]!r}, which is retired already,)")
    added = [] if add is None else read_network_catalogue(add)[0]
    repeated = next((item.item for item in added if item.item in places), None)
    if repeated is not None:
        raise DataError(f"must hold new items only ({repeated[:100]!r} is in the catalogue)", parameter="add")
    rows = [NewItem(item.item, item.title, item.link, item.group) for item in added]
    before = history.number
    try:
        sign_versions(history, known, maker, rows, sorted({places[name] for name in retire}))
    except Refused as error:
        raise DataError(str(error)) from None
    versions = versions_file_of(file)
    if not voice.dry_run:
        write_versions(versions, history.versions, mode=_PUBLIC)
        voice.note(f"Wrote {versions}. Next, for one node of the network: hetdp node catalogue {versions}")
    facts = {
        "network": known.name,
        "version": history.number,
        "new_versions": history.number - before,
        "items": history.size,
        "added": len(rows),
        "retired": len(set(retire)),
    }
    _show(facts, voice)


def _show(facts: Mapping[str, Any], voice: Voice) -> None:
    if voice.as_json:
        print_json({**facts, "dry_run": voice.dry_run})
    else:
        print_facts(
            "Dry run: nothing was written" if voice.dry_run else "",
            {name.replace("_", " "): fact for name, fact in facts.items()},
        )


def _check_epoch(epoch_length: int, period: float) -> None:
    if epoch_length < _LEAST_PERIODS * period:
        raise click.UsageError(
            f"--epoch-length must be at least {_LEAST_PERIODS} times --period, or sketches cannot get around. "
            f"Got {epoch_length:g} s for a period of {period:g} s instead."
        )


def _period(seconds: float) -> float:
    if not 0 < seconds <= _UNITS["d"]:
        raise click.UsageError(f"--period must be above 0 and at most 86400 seconds. Got {seconds:g} instead.")
    return seconds
