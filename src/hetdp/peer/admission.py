"""Who may take part, and how much one peer may ask: admission, records, rate limits, bans. No I/O."""

from collections import OrderedDict
from dataclasses import dataclass

from hetdp.errors import InvalidInput
from hetdp.peer.identity import check_invitation, check_signature
from hetdp.peer.messages import Record, Refused
from hetdp.peer.network import Network, split_address
from hetdp.peer.settings import Settings

__all__ = ["Gate"]

#: Peers whose behaviour is remembered; beyond it, those not seen for longest are forgotten.
_MOST_PEERS = 4096
_KEY_BYTES = 32


@dataclass(slots=True)
class _Conduct:
    tokens: float
    since_s: float
    strikes: int = 0
    banned_until_s: float = 0.0


class Gate:
    """Decides about keys, records and messages of peers.

    Parameters
    ----------
    network, settings
        Public parameters; limits.

    Privacy
    -------
    Sees no profile. Privacy does not depend on it: a sketch is private against admitted peers just as well.

    Examples
    --------
    >>> from fractions import Fraction
    >>> network = Network(name="tea", catalogue="t", catalogue_sha256="0" * 64, items=8, epsilon=Fraction(1),
    ...                   epoch_start_s=0, epoch_length_s=60, admission="allow", allow=("01" * 32,))
    >>> gate = Gate(network, Settings(message_burst=2))
    >>> gate.admits(bytes([1] * 32), b""), gate.admits(bytes(32), b"")
    (True, False)
    >>> [gate.lets_through(bytes(32), now_s=0.0) for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, network: Network, settings: Settings) -> None:
        self._network, self._settings = network, settings
        self._network_id = network.id
        self._network_key = bytes.fromhex(network.network_key)
        self._allowed = frozenset(bytes.fromhex(key) for key in network.allow)
        self._conduct: OrderedDict[bytes, _Conduct] = OrderedDict()

    def admits(self, key: bytes, invitation: bytes) -> bool:
        """Return whether a node with this key may take part.

        Privacy
        -------
        Public data only.
        """
        if self._network.admission == "allow":
            return key in self._allowed
        if self._network.admission == "invite":
            return check_invitation(self._network_key, self._network_id, key, invitation)
        return True

    def check_record(self, record: Record, *, now_s: float) -> None:
        """Refuse a record that is too old, from the future, unsigned, without a usable address or not admitted.

        Privacy
        -------
        Public data only.
        """
        oldest = now_s - self._settings.record_periods * self._network.period_s
        if not oldest <= record.issued_ms / 1000 <= now_s + self._settings.clock_skew_s:
            raise Refused("a record must be recent. Got an old one or one from the future instead.", blame=0)
        try:
            split_address(record.address)
        except InvalidInput:
            raise Refused("a record must hold an address. Got something else instead.") from None
        if not self.admits(record.key, record.invitation):
            raise Refused("a record must be of an admitted node. Got another instead.", blame=1)
        if not check_signature(record.key, record.text(self._network_id), record.signature):
            raise Refused("a record must be signed by its node. Got another signature instead.")

    def lets_through(self, curve: bytes, *, now_s: float) -> bool:
        """Count a message of a peer against its rate; return whether it may be read.

        Privacy
        -------
        Depends on who sends how much, which is independent of profiles.
        """
        conduct = self._of(curve, now_s)
        if now_s < conduct.banned_until_s:
            return False
        rate = self._settings.messages_per_period / self._network.period_s
        elapsed = max(0.0, now_s - conduct.since_s)
        conduct.tokens = min(float(self._settings.message_burst), conduct.tokens + elapsed * rate)
        conduct.since_s = now_s
        if conduct.tokens < 1.0:
            self.strike(curve, now_s=now_s)
            return False
        conduct.tokens -= 1.0
        return True

    def strike(self, curve: bytes, *, now_s: float, count: int = 1) -> None:
        """Hold something against a peer; after enough of it, ban it for a while.

        Privacy
        -------
        As for `lets_through`.
        """
        conduct = self._of(curve, now_s)
        conduct.strikes += count
        if conduct.strikes >= self._settings.strikes:
            conduct.strikes = 0
            conduct.banned_until_s = now_s + self._settings.ban_s

    def banned(self, curve: bytes, *, now_s: float) -> bool:
        """Return whether a transport key is banned at present.

        Privacy
        -------
        As for `lets_through`.
        """
        conduct = self._conduct.get(curve)
        return conduct is not None and now_s < conduct.banned_until_s

    def bans(self, now_s: float) -> dict[bytes, float]:
        """Return the transport keys that are banned, and until when.

        Privacy
        -------
        As for `lets_through`.
        """
        return {key: conduct.banned_until_s for key, conduct in self._conduct.items() if now_s < conduct.banned_until_s}

    def ban(self, curve: bytes, *, until_s: float) -> None:
        """Ban a transport key until a moment: for bans that were saved.

        Privacy
        -------
        As for `lets_through`.
        """
        self._of(curve, 0.0).banned_until_s = until_s

    def _of(self, curve: bytes, now_s: float) -> _Conduct:
        conduct = self._conduct.get(curve)
        if conduct is None:
            conduct = self._conduct[curve] = _Conduct(float(self._settings.message_burst), now_s)
            while len(self._conduct) > _MOST_PEERS:
                self._conduct.popitem(last=False)
        self._conduct.move_to_end(curve)
        return conduct
