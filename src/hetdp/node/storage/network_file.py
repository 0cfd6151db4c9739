"""The public file of a network: read it, make one, name a peer in it."""

import os
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.files import write_whole
from hetdp.node.catalogue_file import CatalogueItem, read_network_catalogue
from hetdp.node.lists import canonical_text
from hetdp.node.protocol import Refused
from hetdp.node.protocol.catalogue_versions import CatalogueHistory, CatalogueVersion
from hetdp.node.protocol.network import USUAL_HEAD, Bootstrap, NetworkParameters
from hetdp.sketching.bit_law import USUAL_TUNING

_USUAL_PROFILE = (25, 1000)
_MOST_CATALOGUE = 1_000_000


def read_network(path: Path) -> NetworkParameters:
    """Read a network from its TOML file."""
    try:
        parsed = tomllib.loads(path.read_bytes().decode())
        return msgspec.convert(parsed, NetworkParameters, dec_hook=_decode)
    except OSError as error:
        raise DataError(f"the network file {path.name} must be readable. Got: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"the network file {path.name} must be TOML. Got: {error}.") from None
    except (msgspec.ValidationError, InvalidInput) as error:
        raise DataError(f"the network file {path.name} must describe a network. Got: {error}") from None


def new_network(
    file: Path,
    *,
    catalogue: Path,
    epsilon: Fraction,
    epoch_length_s: int,
    period_s: float,
    name: str | None = None,
    most_items: int | None = None,
    n_head: int | None = None,
    network_key: bytes = b"",
    invite_only: bool = False,
    tuned_for: Fraction = USUAL_TUNING,
) -> NetworkParameters:
    """Return a network that begins now. Nothing is written.

    `file` is where it will be: the catalogue is named relative to it, and the network after it unless it has a `name`.
    The catalogue is a CSV with the columns `item` and, optionally, `title`, `link` and `group`; nodes learn
    about its first `n_head` items. Sketches are most accurate for the weight that they are `tuned_for`. The public
    `network_key` is the maker's: it signs later versions of the catalogue, which without it stays as it is, and
    invitations where the network is `invite_only`.
    """
    items, digest = read_network_catalogue(catalogue)
    spellings = Counter(canonical_text(item.item) for item in items)
    twice = next((item.item for item in items if spellings[canonical_text(item.item)] > 1), None)
    if twice is not None:
        raise DataError(
            f"items of {catalogue.name} must differ in more than case and blanks, or one thing would have two "
            f"ledgers (got {twice[:100]!r} in several spellings)"
        )
    return NetworkParameters(
        name=name or file.stem,
        catalogue=os.path.relpath(catalogue, file.parent),
        catalogue_sha256=digest,
        items=len(items),
        epsilon=epsilon,
        tuned_for=tuned_for,
        epoch_start_s=int(time.time()),
        epoch_length_s=epoch_length_s,
        period_s=period_s,
        most_items=min(len(items), most_items or usual_most_items(len(items))),
        n_head=n_head or USUAL_HEAD,
        admission="invite" if invite_only else "open",
        network_key=network_key.hex(),
        most_catalogue=_most_catalogue(len(items)) if network_key else 0,
    )


def with_peer(network: NetworkParameters, *, address: str, key: str, curve: str) -> NetworkParameters:
    """Return the same network with one more peer to ask first, in the place of an earlier one with its key."""
    try:
        peer = msgspec.convert({"address": address, "key": key.lower(), "curve": curve.lower()}, Bootstrap)
    except msgspec.ValidationError:
        raise InvalidInput("key and curve must be 64 hexadecimal digits each") from None
    others = tuple(other for other in network.bootstrap if other.key != peer.key)
    return msgspec.structs.replace(network, bootstrap=(*others, peer))


def key_file_of(file: Path) -> Path:
    """Return where the secret key of a network's maker lies, beside the public file of the network."""
    return file.with_name(file.name + ".key")


def versions_file_of(file: Path) -> Path:
    """Return where later versions of the catalogue lie, beside the public file of the network."""
    return file.with_name(file.name + ".versions")


def read_versions(path: Path) -> list[CatalogueVersion]:
    """Return the signed versions in a file, one per line. Who takes them over checks them."""
    try:
        lines = path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=CatalogueVersion) for line in lines if line.strip()]
    except OSError as error:
        raise DataError(f"the versions {str(path)!r} must be a readable file. Got: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DataError(f"{path.name} must hold versions of a catalogue") from None


def write_versions(path: Path, versions: Iterable[CatalogueVersion], *, mode: int) -> None:
    """Write signed versions, as a whole or not at all."""
    write_whole(path, b"".join(msgspec.json.encode(version) + b"\n" for version in versions).decode(), mode=mode)


def whole_catalogue(file: Path, network: NetworkParameters) -> tuple[list[CatalogueItem], CatalogueHistory]:
    """Return the items of version 1, and the history with all versions that lie beside the network's file."""
    items, digest = read_network_catalogue(file.parent / network.catalogue)
    if digest != network.catalogue_sha256 or len(items) != network.items:
        raise DataError(
            f"the catalogue {network.catalogue!r} must be the one the network names (got another file)",
            hint="New items are added by `hetdp network grow`, never to the file.",
        )
    path = versions_file_of(file)
    history = CatalogueHistory(network, names=(item.item for item in items))
    for version in read_versions(path) if path.exists() else ():
        try:
            history.add(version)
        except Refused as error:
            raise DataError(f"{path.name} must hold versions of this network's catalogue. {error}") from None
    return items, history


def _most_catalogue(items: int) -> int:
    """Return what a catalogue may grow to where nobody says otherwise: ten times as many items, and 10,000 more."""
    return min(_MOST_CATALOGUE, 10 * items + 10_000)


def usual_most_items(items: int) -> int:
    """Return the largest profile of a network where nobody says otherwise: a quarter of the catalogue, 25 to 1000.

    Small enough that a sketch of ones is refused by a catalogue of 50 items or more at epsilon 3.
    """
    least, most = _USUAL_PROFILE
    return min(items, max(least, min(most, items // 4)))


def exact_number(text: str, name: str = "epsilon") -> Fraction:
    """Return the number that a decimal text or a ratio such as "1/3" stands for."""
    try:
        return Fraction(text) if "/" in text else Fraction(Decimal(text))
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise InvalidInput("must be a number", parameter=name, got=text[:50]) from None


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401  (msgspec's hook)
    if kind is Fraction and isinstance(value, int | float | str) and not isinstance(value, bool):
        return exact_number(str(value), "epsilon or tuned_for")
    raise NotImplementedError
