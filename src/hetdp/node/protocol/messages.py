"""What travels on the wire: bounded, versioned msgspec types, and nothing that could be executed.

An exchange is four messages over one encrypted connection: `Opening` (whom I know, what I hold), `Answer` (the same,
and which of yours I lack), `Delivery` (those, and which of yours I lack), `Delivery` (those). Deliveries also bring the
versions of the catalogue that the other does not have yet; where nobody lacks anything, there are none. None of them
depends on a profile except through the sketches, which are public.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hetdp.node.protocol import Refused
from hetdp.node.protocol.catalogue_versions import CatalogueVersion, Digest

VERSION = 1
_NAME_BYTES = 8

Key = Annotated[bytes, Meta(min_length=32, max_length=32)]
Nonce = Annotated[bytes, Meta(min_length=8, max_length=8)]
Invitation = Annotated[bytes, Meta(max_length=64)]
Time = Annotated[int, Meta(ge=0, le=2**50)]
Epoch = Annotated[int, Meta(ge=0, le=2**40)]
#: To make a key that ends like another takes 2**64 trials, and would hide a sketch from whoever holds its double.
Name = Annotated[bytes, Meta(min_length=8, max_length=8)]
#: Of the sketches that a node holds by chance, and its own.
ShelfDigest = Annotated[bytes, Meta(max_length=16)]
VersionNumber = Annotated[int, Meta(ge=1, le=2**31)]

_OPTIONS: dict[str, Any] = {"frozen": True, "array_like": True, "forbid_unknown_fields": True}
#: They hold bytes, texts and numbers only, so the garbage collector need not look at them; there are many.
_LEAF: dict[str, Any] = {**_OPTIONS, "gc": False}


class Record(msgspec.Struct, **_LEAF):
    """Where a node can be reached, signed by itself; `issued_ms` (Unix time) is how its age is told."""

    key: Key
    curve: Key
    address: Annotated[str, Meta(max_length=300)]
    issued_ms: Time
    invitation: Invitation
    signature: Annotated[bytes, Meta(max_length=64)]

    def text(self, network_id: bytes) -> bytes:
        """Return what the signature covers."""
        unsigned = (self.key, self.curve, self.address, self.issued_ms, self.invitation)
        return b"hetdp-record-1" + network_id + msgspec.msgpack.encode(unsigned)


class SignedSketch(msgspec.Struct, **_LEAF):
    """One epoch's sketch of one node: the only thing on the wire that depends on a profile.

    `catalogue` is the digest of the version that it was drawn for, so its length is known; it is empty for version 1.

    Privacy
    -------
    (epsilon, v)-private against everybody together; see `hetdp.node.dials`.
    """

    key: Key
    epoch: Epoch
    bits: Annotated[bytes, Meta(max_length=125_000)]
    invitation: Invitation
    signature: Annotated[bytes, Meta(max_length=64)]
    catalogue: Digest = b""

    def text(self, network_id: bytes) -> bytes:
        """Return what the signature covers."""
        parts = (len(part).to_bytes(1, "big") + part for part in (self.catalogue, self.invitation))
        return b"hetdp-sketch-1" + network_id + self.key + self.epoch.to_bytes(8, "big") + b"".join(parts) + self.bits


class Slip(msgspec.Struct, **_LEAF):
    """Says that the sender holds a sketch. On the wire, the last bytes of a key stand for it (`name_of`)."""

    key: Name
    epoch: Epoch


class Opening(msgspec.Struct, tag=1, **_OPTIONS):
    """First message: from the node that starts the exchange.

    An exchange is blind, or about what is `alike`: records and slips are chosen by the sketches that both published.
    """

    nonce: Nonce
    sender: Record
    entries: Annotated[tuple[Record, ...], Meta(max_length=50)]
    have: Annotated[tuple[Slip, ...], Meta(max_length=500)]
    catalogue: VersionNumber = 1  # the newest that the sender has
    alike: bool = False
    shelf: ShelfDigest = b""


class Answer(msgspec.Struct, tag=2, **_OPTIONS):
    """Second message. Where both shelves are the same, there is nothing to announce."""

    nonce: Nonce
    sender: Record
    entries: Annotated[tuple[Record, ...], Meta(max_length=50)]
    have: Annotated[tuple[Slip, ...], Meta(max_length=500)]
    want: Annotated[tuple[Name, ...], Meta(max_length=64)]
    catalogue: VersionNumber = 1


class Delivery(msgspec.Struct, tag=3, **_OPTIONS):
    """Third and fourth message: what the other lacked."""

    nonce: Nonce
    sketches: Annotated[tuple[SignedSketch, ...], Meta(max_length=64)]
    want: Annotated[tuple[Name, ...], Meta(max_length=64)]
    versions: Annotated[tuple[CatalogueVersion, ...], Meta(max_length=1000)] = ()


Message = Opening | Answer | Delivery


def name_of(key: bytes) -> bytes:
    """Return what stands for a key in slips: its last eight bytes."""
    return key[-_NAME_BYTES:]


class _Envelope(msgspec.Struct, **_OPTIONS):
    version: int
    network: Annotated[bytes, Meta(min_length=16, max_length=16)]
    message: Message


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Envelope)


def encode(network_id: bytes, message: Message) -> bytes:
    """Return a message as bytes. No compression; a sketch takes one of two public lengths (`node.protocol.coding`)."""
    return _encoder.encode(_Envelope(VERSION, network_id, message))


def decode(network_id: bytes, raw: bytes, *, largest: int) -> Message:
    """Return the message that bytes stand for, or raise `Refused`, whatever the bytes are."""
    if len(raw) > largest:
        raise Refused(f"a message must be at most {largest} bytes. Got {len(raw)} instead.")
    try:
        envelope = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise Refused(f"a message must be one of this protocol. Got {type(error).__name__} instead.") from None
    if envelope.version != VERSION:
        raise Refused(f"a message must have version {VERSION}. Got another instead.")
    if envelope.network != network_id:
        raise Refused("a message must be for this network. Got one for another instead.")
    return envelope.message
