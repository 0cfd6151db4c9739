"""Who may take part, and how much one peer may ask: admission, records, sketches, rates, bans. No I/O.

First comes the share of a host, because hosts are dear. Transport keys cost nothing, so what is counted per transport
key bounds an honest peer's mistakes and a lazy flood. After the signature check the same is counted for the signing
key, which a closed network gives out sparingly; and one bucket for all peers together bounds the work of a node
whatever they do.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from hetdp.core.errors import InvalidInput
from hetdp.node.protocol import Refused
from hetdp.node.protocol.addresses import address_kind, check_own_address, near_host
from hetdp.node.protocol.exchange_pace import SLOWEST
from hetdp.node.protocol.host_shares import BURST_S, Bucket, HostShares
from hetdp.node.protocol.identity import check_invitation, check_signature
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.sketches import check_sketch
from hetdp.node.settings import NodeSettings

#: Keys whose behaviour is remembered; beyond it, those not seen for longest are forgotten.
_MOST_PEERS = 4096
#: Bans in force; beyond it, those that would end first do.
MOST_BANS = 4096
#: How old the record of the sender itself may be, in periods: it signs anew every period.
_FRESH_PERIODS = 3.0


@dataclass(slots=True)
class _Conduct(Bucket):
    judged_s: float
    strikes: float = 0.0


class Gate:
    """Decides about keys, records and messages of peers. A sketch is private against those it admits too.

    Records of third parties with private, link-local or loopback addresses are believed only if `own_address`, which
    this node tells others, is of that kind.
    """

    def __init__(self, network: NetworkParameters, settings: NodeSettings, *, own_address: str) -> None:
        self._network, self._settings = network, settings
        self._network_id = network.id
        self._network_key = bytes.fromhex(network.network_key)
        self._kinds = frozenset(("public", check_own_address(own_address)))
        self._conduct: OrderedDict[bytes, _Conduct] = OrderedDict()
        self._bans: dict[bytes, float] = {}
        self._all = Bucket(BURST_S * settings.messages_per_s, 0.0)
        self.hosts = HostShares(rate=settings.messages_per_host_s, near=near_host(own_address))

    def admits(self, key: bytes, invitation: bytes) -> bool:
        """Return whether a node with this key may take part.

        Public data only. Without invitations there is nothing to put there, so nothing can be hidden there either.
        """
        if self._network.admission == "invite":
            return check_invitation(self._network_key, self._network_id, key, invitation)
        return not invitation

    def check_record(self, record: Record, *, now_s: float, sender: bool = False) -> None:
        """Refuse a record that is too old, from the future, unsigned, without a usable address or not admitted.

        One that came from its own `sender` just now must be fresh: who could show an old record of itself would be
        asked first by everybody. Its address need not be one that can be reached (`reaches`): who sits behind a router
        may ask, though not be asked.
        """
        periods = _FRESH_PERIODS if sender else self._settings.record_periods * SLOWEST
        oldest = now_s - periods * self._network.period_s - (self._settings.clock_skew_s if sender else 0.0)
        if not oldest <= record.issued_ms / 1000 <= now_s + self._settings.clock_skew_s:
            raise Refused("a record must be recent. Got an old one or one from the future instead.", blame=0)
        try:
            kind = address_kind(record.address)
        except InvalidInput:
            raise Refused("a record must hold an address. Got something else instead.") from None
        if kind == "name":
            raise Refused("a record must hold an IP address. Got a name instead.", blame=1)
        if not self.admits(record.key, record.invitation):
            raise Refused("a record must be of an admitted node. Got another instead.", blame=1)
        if not check_signature(record.key, record.text(self._network_id), record.signature):
            raise Refused("a record must be signed by its node. Got another signature instead.")
        if not sender and kind not in self._kinds:  # where it came from, it may be an address like any other
            raise Refused("a record must hold an address that can be reached from here. Got another instead.", blame=0)

    def check_sender(self, record: Record, *, curve: bytes, now_s: float) -> None:
        """Refuse a sender who is not whom the connection says, whose record will not do, or who asks too much."""
        if record.curve != curve:
            raise Refused("a sender must be who the connection says. Got another instead.")
        self.check_record(record, now_s=now_s, sender=True)
        if not self.lets_through(record.key, now_s=now_s):
            raise Refused("a sender must keep to its rate and not be banned. Got another instead.", blame=1)

    def usable(self, records: Iterable[Record], *, sender: Record, now_s: float) -> list[Record]:
        """Return the records of third parties that will do; the others are held against the sender."""
        usable = []
        for record in records:
            if record.key == sender.key:  # what it says of itself counts only over its own connection
                continue
            try:
                self.check_record(record, now_s=now_s)
            except Refused as refusal:
                for key in (sender.curve, sender.key):
                    self.strike(key, now_s=now_s, count=refusal.blame)
                continue
            if not self.banned(record.key, record.curve, now_s=now_s):
                usable.append(record)
        return usable

    def epochs(self, now_s: float) -> range:
        """Return the epochs whose sketches are taken at present; clocks of others may run ahead."""
        first = max(0, self._network.epoch_at(now_s) - self._settings.keep_epochs + 1)
        return range(first, self._network.epoch_at(now_s + self._settings.clock_skew_s) + 1)

    def check_sketch(self, sketch: SignedSketch, *, size: int | None, now_s: float) -> None:
        """Refuse a sketch of another time, of a node that is not admitted, or that is not well formed.

        `size` is that of the catalogue in the version it is for; None if this node does not know that version (yet).
        """
        if size is None:
            raise Refused("a sketch must be of a known version of the catalogue. Got another instead.", blame=0)
        if sketch.epoch not in self.epochs(now_s):
            raise Refused("a sketch must be of a recent epoch. Got another instead.", blame=0)
        if not self.admits(sketch.key, sketch.invitation):
            raise Refused("a sketch must be of an admitted node. Got another instead.", blame=1)
        check_sketch(sketch, network=self._network, network_id=self._network_id, size=size)

    def reaches(self, address: str) -> bool:
        """Return whether an address is of a kind that this node can be led to by others."""
        return address_kind(address) in self._kinds

    def has_room(self, *, now_s: float) -> bool:
        """Count a message against what all peers together may send; return whether it may be read."""
        rate = self._settings.messages_per_s
        return self._all.take(now_s, rate=rate, burst=BURST_S * rate)

    def lets_through(self, key: bytes, *, now_s: float) -> bool:
        """Count a message of a transport key or a signing key against its rate; return whether it may be read."""
        if self.banned(key, now_s=now_s):
            return False
        rate = self._settings.messages_per_period / self._network.period_s
        if self._of(key, now_s).take(now_s, rate=rate, burst=float(self._settings.message_burst)):
            return True
        self.strike(key, now_s=now_s)
        return False

    def strike(self, key: bytes, *, now_s: float, count: int = 1) -> None:
        """Hold something against a key; after enough of it, ban it for a while. One strike is forgiven per period."""
        conduct = self._of(key, now_s)
        conduct.strikes += count
        if conduct.strikes >= self._settings.strikes:
            conduct.strikes = 0.0
            self.ban(key, until_s=now_s + self._settings.ban_s)

    def banned(self, *keys: bytes, now_s: float) -> bool:
        """Return whether one of these transport and signing keys is banned at present."""
        return any(now_s < self._bans.get(key, 0.0) for key in keys)

    def bans(self, now_s: float) -> dict[bytes, float]:
        """Return the keys that are banned, and until when."""
        return {key: until_s for key, until_s in self._bans.items() if now_s < until_s}

    def ban(self, key: bytes, *, until_s: float) -> None:
        """Ban a transport key or a signing key until a moment.

        Both kinds share one list: whoever shows a key has proved to hold its secret, so nobody can get another's
        banned by choosing a key of the other kind that looks the same.
        """
        self._bans[key] = until_s
        if len(self._bans) > MOST_BANS:
            del self._bans[min(self._bans, key=self._bans.__getitem__)]

    def forget_the_future(self, now_s: float) -> None:
        """Shorten bans that a clock ahead of time has made: none lasts longer than one that begins now."""
        latest_s = now_s + self._settings.ban_s
        for key in [key for key, until_s in self._bans.items() if until_s > latest_s]:
            self._bans[key] = latest_s

    def _of(self, key: bytes, now_s: float) -> _Conduct:
        conduct = self._conduct.get(key)
        if conduct is None:
            conduct = self._conduct[key] = _Conduct(float(self._settings.message_burst), now_s, now_s)
            while len(self._conduct) > _MOST_PEERS:
                self._conduct.popitem(last=False)
        self._conduct.move_to_end(key)
        forgiven = max(0.0, now_s - conduct.judged_s) / self._network.period_s
        conduct.strikes, conduct.judged_s = max(0.0, conduct.strikes - forgiven), now_s
        return conduct
