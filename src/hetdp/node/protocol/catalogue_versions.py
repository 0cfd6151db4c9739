"""The catalogue of a network over the years: a sequence of versions, each signed by the maker and each only adding.

Version 1 is the file that the network names. Every later one names the digest of the one before it, adds items at the
end and may retire some, so places never change their meaning. Nodes pass versions on; nobody but the holder of the
network's key can make one. Public from beginning to end. No I/O.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hetdp.node.lists import canonical_text, cleaned
from hetdp.node.protocol import Refused
from hetdp.node.protocol.identity import Identity, check_signature
from hetdp.node.protocol.network import MOST_VERSION_BYTES, NetworkParameters

Text = Annotated[str, Meta(max_length=500)]
Digest = Annotated[bytes, Meta(max_length=16)]  # empty for version 1

_OPTIONS: dict[str, Any] = {"frozen": True, "array_like": True, "forbid_unknown_fields": True}
#: What a version takes beside its items and the places it retires.
_FRAME_BYTES = 256
_encoder = msgspec.msgpack.Encoder()


class NewItem(msgspec.Struct, gc=False, **_OPTIONS):
    """One item that a version adds."""

    item: Annotated[str, Meta(min_length=1, max_length=500)]
    title: Text
    link: Text
    group: Text


class CatalogueVersion(msgspec.Struct, **_OPTIONS):
    """What one version adds to the catalogue and retires from it."""

    number: Annotated[int, Meta(ge=2, le=2**31)]
    previous: Digest
    items: Annotated[tuple[NewItem, ...], Meta(max_length=1_000_000)]
    retired: Annotated[tuple[int, ...], Meta(max_length=1_000_000)]
    signature: Annotated[bytes, Meta(max_length=64)]

    def text(self, network_id: bytes) -> bytes:
        """Return what the signature covers."""
        unsigned = (self.number, self.previous, self.items, self.retired)
        return b"hetdp-catalogue-1" + network_id + _encoder.encode(unsigned)

    def digest(self, network_id: bytes) -> bytes:
        """Return 16 bytes that stand for this version and, through `previous`, for all before it."""
        return hashlib.blake2b(self.text(network_id), digest_size=16).digest()


class _Known(NamedTuple):
    digest: bytes
    size: int


class CatalogueHistory:
    """The versions that a node knows, in order.

    Parameters
    ----------
    network
        Whose catalogue it is; version 1 has `network.items` items.
    versions
        Those after it, checked like new ones.
    names
        Of the items of version 1, so that none comes twice.
    """

    def __init__(
        self, network: NetworkParameters, versions: Iterable[CatalogueVersion] = (), *, names: Iterable[str] = ()
    ) -> None:
        self._network, self._network_id = network, network.id
        self._key = bytes.fromhex(network.network_key)
        self._known = [_Known(b"", network.items)]
        self._versions: list[CatalogueVersion] = []
        self._sizes = {b"": network.items}
        self._retired: set[int] = set()
        self._names = np.sort(_fingerprints(names))
        self._news: list[CatalogueVersion] = []
        self.forked_at: int | None = None  # the number of a second genuine version, once one was met
        for version in versions:
            self.add(version)
        self._news.clear()

    @property
    def number(self) -> int:
        """The newest version."""
        return len(self._known)

    @property
    def digest(self) -> bytes:
        """What stands for the newest version; empty for version 1."""
        return self._known[-1].digest

    @property
    def size(self) -> int:
        """How many items the newest version has, retired ones included."""
        return self._known[-1].size

    @property
    def retired(self) -> frozenset[int]:
        """Places of items that are not used any more."""
        return frozenset(self._retired)

    def size_of(self, digest: bytes) -> int | None:
        """Return how many items a version has; None for one that is not known here."""
        return self._sizes.get(digest)

    def add(self, version: CatalogueVersion) -> bool:
        """Take over the next version; False if it is known already.

        Refused: what the maker has not signed, what leaves a gap, repeats an item, retires what is not there, or makes
        the catalogue larger than the network allows. Of two genuine versions with one number the first stays, and
        `forked_at` tells.
        """
        if not self._network.grows:
            raise Refused("the catalogue of this network must stay as it is. Got a new version instead.")
        if not check_signature(self._key, version.text(self._network_id), version.signature):
            raise Refused("a version of the catalogue must be signed by its maker. Got another signature instead.")
        digest = version.digest(self._network_id)
        if version.number <= self.number and self._known[version.number - 1].digest == digest:
            return False
        if version.number > self.number + 1:
            raise Refused("a version of the catalogue must follow on the one before. Got a later one.", blame=0)
        if version.number <= self.number or version.previous != self.digest:
            self.forked_at = version.number if self.forked_at is None else min(self.forked_at, version.number)
            raise Refused("a version of the catalogue must be the only one of its number. Got another.", blame=0)
        names = self._checked(version)
        self._names = np.sort(np.concatenate([self._names, names]))
        self._known.append(_Known(digest, self.size + len(version.items)))
        self._sizes[digest] = self.size
        self._versions.append(version)
        self._retired.update(version.retired)
        self._news.append(version)
        return True

    @property
    def versions(self) -> tuple[CatalogueVersion, ...]:
        """All versions after the first."""
        return tuple(self._versions)

    def after(self, number: int) -> tuple[CatalogueVersion, ...]:
        """Return versions after one, for whoever has none of them: as many as one message holds."""
        chosen, room = [], MOST_VERSION_BYTES
        for version in self._versions[max(0, number - 1) :]:
            room -= len(_encoder.encode(version))
            if room < 0:
                break
            chosen.append(version)
        return tuple(chosen)

    def take_news(self) -> list[CatalogueVersion]:
        """Return the versions that came since the last call, to be written to disk."""
        news, self._news = self._news, []
        return news

    def _checked(self, version: CatalogueVersion) -> NDArray[np.uint64]:
        """Refuse a version that no honest maker signs; return the fingerprints of its items."""
        if not version.items and not version.retired:
            raise Refused("a version of the catalogue must change something. Got an empty one instead.", blame=0)
        if self.size + len(version.items) > self._network.most_catalogue:
            raise Refused("the catalogue must stay within what the network allows. Got a larger one.", blame=0)
        if len(_encoder.encode(version)) > MOST_VERSION_BYTES:
            raise Refused("a version of the catalogue must fit into a message. Got a larger one instead.", blame=0)
        if any(not 0 <= place < self.size or place in self._retired for place in version.retired):
            raise Refused(
                "a version must retire items that are in use. Got one that is retired already, or none.",
                blame=0,
            )
        for row in version.items:
            if any(text != cleaned(text) for text in (row.item, row.title, row.link, row.group)):
                raise Refused("items of the catalogue must be printable and single-spaced. Got another.", blame=0)
            if row.link and not row.link.startswith(("https://", "http://")):
                raise Refused("links must start with https:// or http://. Got another instead.", blame=0)
        names = _fingerprints(row.item for row in version.items)
        if np.unique(names).size != names.size or np.isin(names, self._names).any():
            raise Refused("items of the catalogue must be all different. Got one again instead.", blame=0)
        return names


def sign_versions(
    history: CatalogueHistory,
    network: NetworkParameters,
    maker: Identity,
    items: Sequence[NewItem] = (),
    retired: Sequence[int] = (),
) -> list[CatalogueVersion]:
    """Add items to a history and retire some: as one signed version, or several where one would be too large.

    Examples
    --------
    >>> from fractions import Fraction
    >>> maker = Identity.generate()
    >>> network = NetworkParameters(
    ...     name="films", catalogue="films.csv", catalogue_sha256="0" * 64, items=3, epsilon=Fraction(3),
    ...     epoch_start_s=0, epoch_length_s=60, network_key=maker.key.hex(), most_catalogue=10,
    ... )
    >>> history = CatalogueHistory(network, names=["Alien", "Brazil", "Casablanca"])
    >>> [version.number for version in sign_versions(history, network, maker, [NewItem("Dune", "Dune", "", "")], [1])]
    [2]
    >>> history.size, sorted(history.retired)
    (4, [1])
    """
    made = []
    for rows, places in _parts(items, retired):
        unsigned = CatalogueVersion(history.number + 1, history.digest, rows, places, b"")
        signature = maker.sign(unsigned.text(network.id))
        version = msgspec.structs.replace(unsigned, signature=signature)
        history.add(version)
        made.append(version)
    return made


def _parts(items: Sequence[NewItem], retired: Sequence[int]) -> Iterator[tuple[tuple[NewItem, ...], tuple[int, ...]]]:
    """Cut what is to be added and retired into pieces that fit into a message; what is retired comes first."""
    room = MOST_VERSION_BYTES - _FRAME_BYTES
    rows: list[NewItem] = []
    places: list[int] = []
    used = 0
    both: Iterable[int | NewItem] = (*retired, *items)
    for one in both:
        size = len(_encoder.encode(one))
        if used + size > room:
            yield tuple(rows), tuple(places)
            rows, places, used = [], [], 0
        if isinstance(one, int):
            places.append(one)
        else:
            rows.append(one)
        used += size
    if rows or places:
        yield tuple(rows), tuple(places)


def _fingerprints(names: Iterable[str]) -> NDArray[np.uint64]:
    """Return 8 bytes for each name, one number for all ways of writing it.

    A large catalogue fits into little memory, and names that differ hardly meet. A second spelling would be a second
    ledger for one item.
    """
    raw = b"".join(hashlib.blake2b(canonical_text(name).encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)
