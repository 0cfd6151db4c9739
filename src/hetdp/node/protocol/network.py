"""What all nodes of a network share: catalogue, epsilon, epochs, gossip parameters, who may join, whom to ask first."""

import hashlib
import json
import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hetdp.core.errors import InvalidInput
from hetdp.node.protocol.addresses import split_address
from hetdp.sketching.bit_law import USUAL_TUNING

VERSION = 1
#: What may change without making it another network: where files lie, who is known, and what nodes learn at home.
_NOT_IN_ID = ("catalogue", "bootstrap", "n_head")
_EXACT_EPSILONS = 64
#: No network allows larger profiles: a person's list, not a database.
MOST_PROFILE = 20_000
#: Learning about more would take a home machine too long and too much memory: both grow with the square.
MOST_HEAD, USUAL_HEAD = 8192, 2048
#: Versions of the catalogue that travel in one message, in bytes.
MOST_VERSION_BYTES = 1 << 16

HexKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class Bootstrap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A peer to ask first."""

    address: Annotated[str, Meta(max_length=300)]  # "tcp://host:port"
    key: HexKey  # it signs with
    curve: HexKey  # of its transport


class NetworkParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public parameters that all nodes of a network share."""

    version: int = VERSION
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    #: A file, relative to that of the network.
    catalogue: Annotated[str, Meta(min_length=1, max_length=1000)]
    catalogue_sha256: HexKey
    items: Annotated[int, Meta(ge=1, le=1_000_000)]
    #: What the catalogue may grow to, in versions signed by `network_key`; 0: it stays as it is.
    most_catalogue: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    #: Loss of an item of weight 1 per epoch.
    epsilon: Fraction
    #: The weight that sketches are tuned for (`sketching.bit_law`).
    tuned_for: Fraction = USUAL_TUNING
    #: Epoch n begins at start + n * length, in Unix seconds.
    epoch_start_s: Annotated[int, Meta(ge=0, le=2**40)]
    epoch_length_s: Annotated[int, Meta(ge=1, le=2**32)]
    #: Largest profile; a sketch with many more ones than it allows is refused.
    most_items: int = MOST_PROFILE
    #: How many items, from the start of the catalogue, nodes learn about from the sketches of others.
    n_head: Annotated[int, Meta(ge=1, le=MOST_HEAD)] = USUAL_HEAD
    #: Between two exchanges that a node starts.
    period_s: Annotated[float, Meta(gt=0, le=86400)] = 10.0
    #: Peers known, and how many of them are exchanged at once.
    view_size: Annotated[int, Meta(ge=4, le=100)] = 20
    shuffle_size: Annotated[int, Meta(ge=2, le=50)] = 8
    #: Sketches announced per message, and sketches sent.
    inventory_size: Annotated[int, Meta(ge=1, le=500)] = 64
    sketches_per_message: Annotated[int, Meta(ge=1, le=64)] = 8
    #: "open", or "invite": holders of an invitation signed by `network_key`.
    admission: str = "open"
    #: The maker's.
    network_key: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""
    bootstrap: tuple[Bootstrap, ...] = ()

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise InvalidInput(f"Unknown network version {self.version}; this hetdp reads version {VERSION}")
        if not self.name.isprintable() or not self.catalogue.isprintable():
            raise InvalidInput("name and catalogue must be printable")
        _check_level("epsilon", self.epsilon, _EXACT_EPSILONS)
        _check_level("tuned_for", self.tuned_for, 1)
        if self.admission not in ("open", "invite"):
            raise InvalidInput("must be 'open' or 'invite'", parameter="admission", got=self.admission)
        if self.admission == "invite" and not self.network_key:
            raise InvalidInput("must be given when admission is 'invite'", parameter="network_key")
        if self.most_catalogue and (self.most_catalogue < self.items or not self.network_key):
            raise InvalidInput(
                "must be at least items, with a network_key, or 0", parameter="most_catalogue", got=self.most_catalogue
            )
        if not 1 <= self.most_items <= MOST_PROFILE:
            raise InvalidInput(f"must be from 1 to {MOST_PROFILE}", parameter="most_items", got=self.most_items)
        if self.shuffle_size > self.view_size:
            raise InvalidInput("must be at most view_size", parameter="shuffle_size", got=self.shuffle_size)
        if not math.isfinite(self.period_s):
            raise InvalidInput("must be finite", parameter="period_s", got=self.period_s)
        for peer in self.bootstrap:
            split_address(peer.address)

    @property
    def id(self) -> bytes:
        """16 bytes that stand for the parameters; every message and every signature carries them."""
        parameters = {name: value for name, value in _plain(self).items() if name not in _NOT_IN_ID}
        text = json.dumps(parameters, sort_keys=True, ensure_ascii=True)
        return hashlib.blake2b(text.encode(), digest_size=16, person=b"hetdp-network").digest()

    @property
    def grows(self) -> bool:
        """Whether there may be further versions of the catalogue."""
        return self.most_catalogue > 0

    def head_of(self, size: int) -> int:
        """Return how many items nodes learn about, the first of a catalogue of some size."""
        return min(self.n_head, size)

    @property
    def largest_message(self) -> int:
        """No valid message is longer, in bytes."""
        longest_sketch = sketch_bytes(max(self.items, self.most_catalogue))
        return (
            1024
            + MOST_VERSION_BYTES * self.grows
            + self.sketches_per_message * (longest_sketch + 280)
            + (self.inventory_size + self.sketches_per_message) * 48
            + (self.shuffle_size + 1) * 640
        )

    def epoch_at(self, now_s: float) -> int:
        """Return the number of the epoch at a moment; negative before the first."""
        return math.floor((now_s - self.epoch_start_s) / self.epoch_length_s)

    def starts(self, epoch: int) -> int:
        """Return when an epoch begins, in Unix seconds."""
        return self.epoch_start_s + epoch * self.epoch_length_s

    def to_toml(self) -> str:
        """Return the network as the text of a TOML file."""
        start = datetime.fromtimestamp(self.epoch_start_s, UTC).isoformat()
        lines = [f"# A hetdp network: public, the same file for every node. Epoch 0 starts {start}."]
        peers = []
        for name, value in _plain(self).items():
            if name == "bootstrap":
                for peer in value:
                    peers += ["", "[[bootstrap]]", *(f"{key} = {_toml(part)}" for key, part in peer.items())]
            else:
                lines.append(f"{name} = {_toml(value)}")
        return "\n".join(lines + peers) + "\n"


def sketch_bytes(size: int) -> int:
    """Return the length of a sketch of so many items: one bit each."""
    return -(-size // 8)


def _check_level(name: str, number: Fraction, most: int) -> None:
    if not 0 < number <= most:
        raise InvalidInput(f"must be above 0 and at most {most}", parameter=name, got=number)


def _plain(network: NetworkParameters) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(network, enc_hook=str)
    return plain


def _toml(value: Any) -> str:  # noqa: ANN401  (str, int, float or tuple of str)
    """Return a value as TOML; the strings of JSON are strings of TOML as long as they are printable."""
    return json.dumps(value, ensure_ascii=False)
