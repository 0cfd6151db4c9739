"""What a node tells its owner: frozen values for the page, the command line and the tests."""

from dataclasses import dataclass

__all__ = ["EpochClock", "Neighbour", "PeerInfo", "Recommendation", "Status", "Traffic"]


@dataclass(frozen=True, slots=True)
class EpochClock:
    """Where time stands in the public schedule; times are Unix seconds.

    Privacy
    -------
    Public, except that `published_epoch` tells whether this node was running.
    """

    now_s: float
    epoch: int
    starts_s: float
    ends_s: float
    published_epoch: int | None


@dataclass(frozen=True, slots=True)
class Traffic:
    """What went over the wire so far."""

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_messages: int = 0
    received_messages: int = 0
    exchanges: int = 0
    failures: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """A peer that has been talked to."""

    key_hex: str
    name: str
    address: str
    seen_s: float
    epoch: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Neighbour:
    """Someone whose sketch fits the owner's profile.

    Attributes
    ----------
    score
        Sum over the owner's items of (bit - q).
    shared, shared_error
        Estimated number of the owner's items that they have too, and one standard deviation of it.
    share
        `shared` over the number of the owner's items, within [0, 1].
    deviations
        Standard deviations above what chance gives.
    by_chance
        How likely the best of all sketches held looks as much alike by chance alone; exact.

    Privacy
    -------
    Computed from the exact profile: for the owner's eyes, and `repr` shows nothing.
    """

    name: str
    key_hex: str
    score: float
    shared: float
    shared_error: float
    share: float
    deviations: float
    by_chance: float
    epoch: int


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """An item that neighbours seem to have.

    Attributes
    ----------
    votes
        Estimated number of neighbours who have it.
    voters, asked
        Neighbours whose bit is set, and how many were asked: those who stand out from chance.
    deviations
        Standard deviations above what chance gives.
    by_chance
        How likely the best of all items of the catalogue gets so many voters by chance alone; exact.
    in_profile
        True only for an item of dial 0 or one at its limit: it has no influence, so it may turn up.

    Privacy
    -------
    Computed from the exact profile: for the owner's eyes, and `repr` shows nothing.
    """

    place: int
    item: str
    title: str
    link: str
    group: str
    votes: float
    voters: int
    asked: int
    deviations: float
    by_chance: float
    in_profile: bool


@dataclass(frozen=True, slots=True)
class Status:
    """A node at a glance; `items` and `exhausted` are for the owner's eyes."""

    name: str
    key_hex: str
    network: str
    address: str
    running: bool
    epoch: int
    published_epoch: int | None
    next_epoch_s: float
    peers: int
    sketches: int
    traffic: Traffic
    items: int
    exhausted: int
    clock_behind: bool
