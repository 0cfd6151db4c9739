"""The public file of a network: read it, make one, name a peer in it."""

import os
import time
import tomllib
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.protocol.network import USUAL_HEAD, Bootstrap, NetworkParameters
from hetdp.profiles.reading.catalogues import read_network_catalogue
from hetdp.sketching.tuning import Tuning, as_tuning

__all__ = [
    "exact_number",
    "key_file_of",
    "new_network",
    "read_network",
    "usual_most_items",
    "with_peer",
]

_USUAL_PROFILE = (25, 1000)


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
    tuned_for: Tuning = None,
) -> NetworkParameters:
    """Return a network that begins now. Nothing is written.

    `file` is where it will be: the catalogue is named relative to it, and the network after it unless it has a `name`.
    The catalogue is a CSV with the columns `item` and, optionally, `title`, `link` and `group`; nodes learn
    about its first `n_head` items. Sketches tell most about the weight they are `tuned_for`, or about those of a public
    prior. Without the public `network_key` that signs invitations everybody may take part.
    """
    items, digest = read_network_catalogue(catalogue)
    return NetworkParameters(
        name=name or file.stem,
        catalogue=os.path.relpath(catalogue, file.parent),
        catalogue_sha256=digest,
        items=len(items),
        epsilon=epsilon,
        tuned_for=as_tuning(tuned_for, epsilon),
        epoch_start_s=int(time.time()),
        epoch_length_s=epoch_length_s,
        period_s=period_s,
        most_items=min(len(items), most_items or usual_most_items(len(items))),
        n_head=min(len(items), n_head or USUAL_HEAD),
        admission="invite" if network_key else "open",
        network_key=network_key.hex(),
    )


def with_peer(network: NetworkParameters, *, address: str, key: str, curve: str) -> NetworkParameters:
    """Return the same network with one more peer to ask first, in the place of an earlier one with its key."""
    try:
        peer = msgspec.convert({"address": address, "key": key.lower(), "curve": curve.lower()}, Bootstrap)
    except msgspec.ValidationError:
        raise InvalidInput("key and curve must be 64 hexadecimal digits each. Got something else instead.") from None
    others = tuple(other for other in network.bootstrap if other.key != peer.key)
    return msgspec.structs.replace(network, bootstrap=(*others, peer))


def key_file_of(file: Path) -> Path:
    """Return where the secret key of an invite-only network lies, beside its public file."""
    return file.with_name(file.name + ".key")


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
        raise InvalidInput(f"{name} must be a number. Got {text[:50]!r} instead.") from None


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401  (msgspec's hook)
    if kind is Fraction and isinstance(value, int | float | str) and not isinstance(value, bool):
        return exact_number(str(value), "epsilon or tuned_for")
    raise NotImplementedError
