"""Every setting of a node, in one table: what is in `node.toml`, its default and what it does.

A test fails when a setting is missing from docs/guide/node.md.
"""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hetdp.core.errors import DataError

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one node; `SETTINGS` says what each does. None is derived from the profile."""

    listen: Annotated[str, Meta(max_length=300)] = "tcp://127.0.0.1:7470"
    advertise: Annotated[str, Meta(max_length=300)] = ""
    invitation: Annotated[str, Meta(pattern=r"^([0-9a-f]{128})?$")] = ""
    page: bool = True
    page_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    neighbors: Count = msgspec.field(default=10, name="neighbours")
    lifetime_epochs: Annotated[float, Meta(gt=0, le=1e6)] = 10.0
    most_sketches: Count = 1000
    keep_epochs: Annotated[int, Meta(ge=1, le=1000)] = 2
    timeout_periods: Annotated[float, Meta(gt=0, le=100)] = 0.8
    record_periods: Annotated[float, Meta(ge=2, le=1e6)] = 60.0
    contact_every: Count = 10
    clock_skew_s: Seconds = 60.0
    messages_per_period: Annotated[float, Meta(gt=0, le=1e6)] = 8.0
    message_burst: Count = 32
    messages_per_s: Annotated[float, Meta(gt=0, le=1e6)] = 200.0
    messages_per_host_s: Annotated[float, Meta(ge=0, le=1e6)] = 10.0
    strikes: Count = 20
    ban_s: Seconds = 3600.0
    most_exchanges: Count = 64
    most_per_host: Annotated[int, Meta(ge=0, le=1000)] = 4
    most_learned: Count = 5000
    learn_epochs: Annotated[int, Meta(ge=1, le=1000)] = 10


#: Name of each setting -> what it does.
SETTINGS: dict[str, str] = {
    "listen": "Address to listen on, tcp://host:port.",
    "advertise": "Address that others are told, if it differs from `listen` (behind a router): an IP address, no name.",
    "invitation": "Invitation signed by the network key, where the network asks for one.",
    "page": "Whether `hetdp node run` starts the page in the browser.",
    "page_port": "Port of the page on 127.0.0.1; 0 takes any free one.",
    "neighbours": "How many neighbours are chosen.",
    "lifetime_epochs": "Lifetime limit of an item where the page sets none: so many epochs at full weight, at most 30.",
    "most_sketches": "Sketches kept; beyond it, half are chosen by chance, half for being like the own published one.",
    "keep_epochs": "Age in epochs after which a sketch is forgotten.",
    "timeout_periods": "How long a peer may take to answer, in gossip periods.",
    "record_periods": (
        "Age after which a peer's address is not believed any more, in the longest time between two exchanges of a "
        "node (32 gossip periods)."
    ),
    "contact_every": "Every so many exchanges, a bootstrap peer or an old acquaintance is asked: heals partitions.",
    "clock_skew_s": "How far ahead another node's clock may be.",
    "messages_per_period": "Messages that one peer may send per gossip period, on average.",
    "message_burst": "Messages that one peer may send at once.",
    "messages_per_s": "Messages per second that all peers together may send; ten seconds' worth at once.",
    "messages_per_host_s": (
        "Of them, those of one host (in IPv6, a /64), and half as many calls; 0 for no limit, and none for the host of "
        "a node on loopback."
    ),
    "strikes": "Bad or surplus messages after which a peer is banned; one is forgiven per gossip period.",
    "ban_s": "How long a ban lasts.",
    "most_exchanges": "Exchanges that others may have open at once.",
    "most_per_host": (
        "Peers of the same host in the views, sketches of one host that are kept for their likeness, and that the "
        "model counts in an epoch; 0 for no limit, and none among nodes on loopback."
    ),
    "most_learned": "Sketches of one epoch that the model counts: those whose turn came first.",
    "learn_epochs": "Epochs whose sketches the model counts: the newest.",
}


def read_settings(path: Path) -> NodeSettings:
    """Read settings from a TOML file; what it leaves out has its default."""
    try:
        return parsed_settings(path.read_bytes(), path.name)
    except OSError as error:
        raise DataError(f"the settings file {path} must be readable. Got: {error.strerror}.") from None


def parsed_settings(raw: bytes, name: str) -> NodeSettings:
    """Return the settings in a file that is called by a name."""
    try:
        return msgspec.convert(tomllib.loads(raw.decode()), NodeSettings)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        if "$.invitation" in str(error):
            raise DataError(
                f"invitation in {name} must be 128 hexadecimal digits, as `hetdp network invite` prints them"
            ) from None
        raise DataError(f"the settings file {name} must hold known settings. Got: {error}.") from None


def settings_toml(settings: NodeSettings) -> str:
    """Return settings as the text of a TOML file, each with its explanation."""
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    lines = [f"# {SETTINGS[name]}\n{name} = {json.dumps(value)}\n" for name, value in plain.items()]
    return "\n".join(lines)
