"""The protocol of one node as a state machine: time and messages in, messages out. No I/O, no profile.

The only thing it is given that depends on a profile is the signed sketch of the epoch (`adopt`).
"""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hetdp.core.randomness import Stream
from hetdp.node.protocol import Refused
from hetdp.node.protocol.addresses import host_of, most_at_host
from hetdp.node.protocol.admission import Gate
from hetdp.node.protocol.catalogue_versions import CatalogueHistory, CatalogueVersion
from hetdp.node.protocol.exchange_pace import SLOWEST, Pace
from hetdp.node.protocol.exchanges import Exchanges, NameBook, OwnKeyWatch, short
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.likeness import LikeView
from hetdp.node.protocol.messages import (
    Answer,
    Delivery,
    Message,
    Opening,
    Record,
    SignedSketch,
    Slip,
    decode,
    encode,
    name_of,
)
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.peer_view import PeerView
from hetdp.node.protocol.seen_sketches import SeenSketches
from hetdp.node.protocol.sketch_shelf import Place, SketchShelf
from hetdp.node.protocol.sketches import restored, shortened
from hetdp.node.protocol.who_counts import CrowdCount
from hetdp.node.settings import NodeSettings

#: Of so many keys the newest record is remembered until it is on disk; of more, those met first are forgotten.
_MOST_MET = 2000


@dataclass(frozen=True, slots=True)
class Call:
    """Open a connection to a peer and send it a first message."""

    link: Hashable
    address: str
    curve: bytes
    raw: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Send a message over an open connection."""

    link: Hashable
    raw: bytes


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection that this node has opened."""

    link: Hashable


Action = Call | Reply | HangUp


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


class Node:
    """One node of the network.

    What lets it in, the invitation, is not shown where nobody asks for it. `contacts` are peers known from earlier,
    beside the bootstrap peers; `catalogue` is what is known of the versions of the catalogue, by default the first. The
    first exchange starts within one period of `now_s`.

    Privacy
    -------
    Knows no profile: what it keeps, asks for and sends, when and to whom depends on chance, time, what others send, and
    the sketches that it has published itself. Who is found to be a copy by the owner (`hetdp.node.copies`) has no part
    in it.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        address: str,
        network: NetworkParameters,
        settings: NodeSettings,
        stream: Stream,
        now_s: float,
        invitation: bytes = b"",
        contacts: Iterable[Bootstrap] = (),
        catalogue: CatalogueHistory | None = None,
        shelf_salt: bytes = b"",
    ) -> None:
        self.network, self.settings = network, settings
        self.catalogue = CatalogueHistory(network) if catalogue is None else catalogue
        self._counts = dict.fromkeys(Traffic.__slots__, 0)
        self.met: dict[bytes, Record] = {}  # since the disk was last written; the shelf knows which sketches are new
        self.gate = Gate(network, settings, own_address=address)
        self._identity, self._address = identity, address
        self._invitation = invitation if network.admission == "invite" else b""
        self._network_id = network.id
        self._stream = stream
        self.shelf = SketchShelf(
            identity.key,
            most=settings.most_sketches,
            stream=stream,
            salt=shelf_salt,
            place_of=self._place_of,
            seen=SeenSketches(network.epsilon, network.tuned_for),
        )
        self.own_key = OwnKeyWatch(identity.key, stream=stream)
        self.view = PeerView(
            identity.key,
            address,
            size=network.view_size,
            shuffle_size=network.shuffle_size,
            most_per_host=settings.most_per_host,
            stream=stream,
        )
        self.crowd = CrowdCount(
            identity.key,
            address,
            most=settings.most_learned,
            most_per_host=settings.most_per_host,
            reached=self.view.reached.at,
            seen=SeenSketches(network.epsilon, network.tuned_for),
            n_head=network.n_head,
            size_of=self.catalogue.size_of,
            learn_epochs=settings.learn_epochs,
        )
        self.like_view = LikeView(identity.key, address, size=network.view_size, most_per_host=settings.most_per_host)
        self._turn_of_the_like = False
        own = identity.key.hex()
        self._contacts = [peer for peer in (*network.bootstrap, *contacts) if peer.key != own]
        self._bootstraps = frozenset(peer.address for peer in network.bootstrap)
        self.exchanges = Exchanges(most=settings.most_exchanges, patience_s=settings.timeout_periods * network.period_s)
        self._names = NameBook(identity.key, held=self.shelf.key_of)
        self._record: Record | None = None
        self._news = False  # that this node brings itself: its sketch, a version of the catalogue
        self.pace = Pace(period_s=network.period_s, stream=stream, now_s=now_s)
        self._epoch = network.epoch_at(now_s)

    def adopt(self, sketch: SignedSketch) -> None:
        """Publish a sketch of this node, the one drawn last: from now on it is announced and served.

        The ledger must have been charged and the sketch be on disk (`hetdp.node.publication`).
        """
        if sketch != self.shelf.own:
            self.shelf.own = sketch
            self.crowd.remember(sketch)
            self._news = True

    def take_up(self, versions: Iterable[CatalogueVersion]) -> None:
        """Know of versions of the catalogue that are on disk, and pass them on."""
        for version in versions:
            with suppress(Refused):  # what came by gossip meanwhile was first
                self._news |= self.catalogue.add(version)

    def restore(self, sketches: Iterable[SignedSketch], *, now_s: float, liked: Collection[bytes] = ()) -> None:
        """Put sketches of peers back on the shelf, checked like new ones; those `liked` in the half for them."""
        for sketch in sketches:
            with suppress(Refused):  # it has become too old meanwhile
                self._keep(sketch, now_s, blind=sketch.key not in liked)

    @property
    def traffic(self) -> Traffic:
        """What went over the wire since the node started."""
        return Traffic(**self._counts)

    @property
    def next_wakeup_s(self) -> float:
        """When `tick` has something to do."""
        next_epoch_s = self.network.starts(self._epoch + 1)
        return min(self.pace.next_s, self.exchanges.next_deadline_s(), next_epoch_s)

    def tick(self, now_s: float) -> list[Action]:
        """Start an exchange if one is due; give up on peers that do not answer."""
        actions: list[Action] = []
        for link in self.exchanges.overdue(now_s):
            actions += self.lost(link)
        epoch = self.network.epoch_at(now_s)
        if self._news or epoch != self._epoch:
            self._news, self._epoch = False, epoch
            self.pace.hurry(now_s)
        if not self.pace.is_due(now_s):
            return actions
        self.pace.start(now_s)
        self.shelf.expire(self.gate.epochs(now_s))
        self.crowd.expire(self.gate.epochs(now_s))
        self.gate.forget_the_future(now_s)
        for view in (self.view, self.like_view):
            view.forget_outside(
                1000 * (now_s - self.settings.record_periods * SLOWEST * self.network.period_s),
                1000 * (now_s + self.settings.clock_skew_s),
                now_ms=1000 * now_s,
            )
        return actions + self._start(now_s)

    def receive(self, link: Hashable, curve: bytes, raw: bytes, *, now_s: float, host: str = "") -> list[Action]:
        """Take in one message.

        `curve` is the transport key of the peer, as the encrypted connection has proved it, and `host` where a caller's
        connection comes from. Bad messages are dropped and counted; nothing is told back.
        """
        self._count(received_messages=1, received_bytes=len(raw))
        # What was asked for is read also while strangers send more than can be read.
        asked_for = self.exchanges.started(link) is not None
        welcome = asked_for or self.gate.hosts.lets_through(host, now_s=now_s)
        if not (
            welcome and self.gate.lets_through(curve, now_s=now_s) and (asked_for or self.gate.has_room(now_s=now_s))
        ):
            self._count(refused=1)
            return []
        try:
            message = decode(self._network_id, raw, largest=self.network.largest_message)
            return self._handle(link, curve, message, now_s)
        except Refused as refusal:
            self._count(refused=1)
            self.gate.strike(curve, now_s=now_s, count=refusal.blame)
            over = isinstance(link, int) and self.exchanges.started(link) is None
            return [HangUp(link)] if over else []

    def lost(self, link: Hashable) -> list[Action]:
        """Give up an exchange whose peer is silent or gone."""
        exchange = self.exchanges.end(link)
        if exchange is None:
            return []
        self._count(failures=1)
        self.view.remove(exchange.key)
        self.like_view.remove(exchange.key)
        if exchange.wanted is None:
            self.view.reached.note(exchange.key, exchange.address, answered=False)
        return [HangUp(exchange.link)]

    def own_record(self, now_s: float) -> Record:
        """Return where this node can be reached, signed anew once per period."""
        # One from the future was signed before the clock was put right, and nobody would believe it.
        if self._record is None or not 0 <= now_s - self._record.issued_ms / 1000 < self.network.period_s:
            fields = (
                self._identity.key,
                self._identity.curve,
                self._address,
                math.floor(1000 * now_s),
                self._invitation,
            )
            unsigned = Record(*fields, b"")
            self._record = Record(*fields, self._identity.sign(unsigned.text(self._network_id)))
        return self._record

    def _start(self, now_s: float) -> list[Action]:
        self._turn_of_the_like = not self._turn_of_the_like
        liked = self.like_view.oldest(lambda *keys: self.gate.banned(*keys, now_s=now_s))
        if liked is not None and self._turn_of_the_like and self.shelf.full:  # else there is nothing to choose
            return self._ask_alike(liked, now_s)
        peer = self.view.whom_to_ask(
            self._contacts,
            banned=lambda key, curve: self.gate.banned(key, curve, now_s=now_s),
            contact_every=self.settings.contact_every,
        )
        if peer is None:
            return []
        key, curve, address = peer
        trial = self.view.claims(key)
        self.view.remove(key)
        self.view.note_asked(key, 1000 * now_s)
        own = self.own_record(now_s)
        sent = self.view.sample(self.network.shuffle_size - 1, without=key)
        sated = self.pace.slow and not self.shelf.full  # it holds all there is; whoever has more will say so
        offered = () if sated else self.shelf.announce(self.network.inventory_size)
        exchange = self.exchanges.start(key, curve, address, sent, offered, now_s=now_s, trial=trial)
        self._count(exchanges=1)
        nonce = self._stream.words(1).tobytes()
        opening = Opening(nonce, own, tuple(sent), short(offered), self.catalogue.number, shelf=self.shelf.digest())
        return [Call(exchange.link, address, curve, self._encode(opening))]

    def _ask_alike(self, peer: Record, now_s: float) -> list[Action]:
        """Ask a peer whose sketch is like the own one for what it knows of that kind."""
        for view in (self.view, self.like_view):
            view.note_asked(peer.key, 1000 * now_s)
        offered = self.shelf.announce_alike(peer.key, self.network.inventory_size)
        exchange = self.exchanges.start(peer.key, peer.curve, peer.address, [], offered, now_s=now_s, alike=True)
        self._count(exchanges=1)
        nonce, own = self._stream.words(1).tobytes(), self.own_record(now_s)
        opening = Opening(nonce, own, (), short(offered), self.catalogue.number, alike=True, shelf=self.shelf.digest())
        return [Call(exchange.link, peer.address, peer.curve, self._encode(opening))]

    def _handle(self, link: Hashable, curve: bytes, message: Message, now_s: float) -> list[Action]:
        if isinstance(message, Opening):
            return self._opening(link, curve, message, now_s)
        if isinstance(message, Answer):
            return self._answer(link, curve, message, now_s)
        return self._delivery(link, curve, message, now_s)

    def _opening(self, link: Hashable, curve: bytes, message: Opening, now_s: float) -> list[Action]:
        key = message.sender.key
        entries = self._checked(message.sender, message.entries, curve, now_s)
        wanted = self._lacking(message.have, now_s, alike=message.alike)
        count = 0 if message.shelf == self.shelf.digest() else self.network.inventory_size
        if message.alike:
            sent = self._nearest(key)
            offered = self.shelf.announce_alike(key, count) if count else ()
        else:
            sent = self.view.sample(self.network.shuffle_size, without=key)
            offered = self.shelf.announce(count) if count else ()
            themselves = [message.sender] if self.gate.reaches(message.sender.address) else []
            self.view.merge([*themselves, *entries], sent=sent, source=key, called=True)
        self.exchanges.join(
            link,
            message.nonce,
            key=key,
            curve=curve,
            offered=offered,
            wanted=wanted,
            catalogue=message.catalogue,
            now_s=now_s,
            alike=message.alike,
        )
        want = tuple(map(name_of, wanted))
        record, number = self.own_record(now_s), self.catalogue.number
        answer = Answer(message.nonce, record, tuple(sent), short(offered), want, number)
        return [Reply(link, self._encode(answer))]

    def _answer(self, link: Hashable, curve: bytes, message: Answer, now_s: float) -> list[Action]:
        exchange = self.exchanges.started(link)
        if exchange is None or exchange.wanted is not None:
            raise Refused("an answer must belong to an exchange. Got one that nobody waits for instead.", blame=0)
        if (message.sender.key, curve) != (exchange.key, exchange.curve):
            # Whoever signed the record that led here named another's transport key. Who answers is not to blame.
            self._count(refused=1)
            return self.lost(exchange.link)
        entries = self._checked(message.sender, message.entries, curve, now_s)
        themselves = [message.sender] if self.gate.reaches(message.sender.address) else []
        self.view.reached.note(exchange.key, exchange.address, answered=True)
        if exchange.address in self._bootstraps:  # known by a name, perhaps, or by the address of its router
            self.view.reached.note(exchange.key, message.sender.address, answered=True)
        self.crowd.confirm(exchange.key)
        self._learn_where(message.sender)
        self.like_view.offer(
            [*themselves, *entries], source=exchange.key, holds=self.shelf.holds, liking=self.shelf.likeness
        )
        if exchange.alike:
            entries = []
        elif exchange.trial:  # who has stood it is in
            entries = [*themselves, *entries]
        elif 2 * len(self.view) < self.network.view_size:  # else it has had its turn, or it would stay famous for ever
            entries = [*entries, *themselves]
        self.view.merge(entries, sent=exchange.sent, source=message.sender.key)
        exchange.wanted = self._lacking(message.have, now_s, alike=exchange.alike)
        sketches = self._serve(message.want, exchange.offered)
        versions = self.catalogue.after(message.catalogue)
        if not sketches and not exchange.wanted and message.catalogue == self.catalogue.number:
            self.exchanges.end(link)
            self.pace.end(news=False)
            return [HangUp(exchange.link)]
        want = tuple(map(name_of, exchange.wanted))
        return [Reply(link, self._encode(Delivery(message.nonce, sketches, want, versions)))]

    def _delivery(self, link: Hashable, curve: bytes, message: Delivery, now_s: float) -> list[Action]:
        started = self.exchanges.started(link)
        if started is not None and started.wanted is not None:
            self.exchanges.end(link)
            with self._at_the_cost_of(started.key, now_s):
                self.pace.end(news=self._take(message, started.wanted, now_s, blind=not started.alike))
            return [HangUp(link)]
        joined = self.exchanges.leave(link, message.nonce)
        if joined is None or joined.curve != curve:
            raise Refused("a delivery must belong to an exchange. Got one that nobody waits for instead.", blame=0)
        with self._at_the_cost_of(joined.key, now_s):
            if self._take(message, joined.wanted, now_s, blind=not joined.alike):
                self.pace.hear(now_s)
        sketches = self._serve(message.want, joined.offered)
        versions = self.catalogue.after(joined.catalogue)
        return [Reply(link, self._encode(Delivery(message.nonce, sketches, (), versions)))]

    def _checked(self, sender: Record, entries: tuple[Record, ...], curve: bytes, now_s: float) -> list[Record]:
        """Return the usable entries of a message whose sender is who the connection says."""
        self.gate.check_sender(sender, curve=curve, now_s=now_s)
        if self.gate.reaches(sender.address):
            self.met.pop(sender.key, None)
            self.met[sender.key] = sender
            if len(self.met) > _MOST_MET:
                del self.met[next(iter(self.met))]
        usable = self.gate.usable(entries[: self.network.shuffle_size], sender=sender, now_s=now_s)
        for record in (sender, *usable):
            self._learn_where(record)
        return usable

    def _learn_where(self, record: Record) -> None:
        """Remember where the owner of a sketch is; one that has waited for it on the shelf may count now.

        Only those that chance has chosen: the others would make the model believe that all are like this node.
        """
        self._names.add(record.key)
        self.crowd.locate(record)
        self.shelf.locate(record.key)
        sketch = self.shelf.find(record.key)
        if sketch is not None and self.shelf.holds_by_chance(record.key):
            self.crowd.count(sketch)

    @contextmanager
    def _at_the_cost_of(self, key: bytes, now_s: float) -> Iterator[None]:
        """Hold what is refused against the signing key too; `receive` holds it against the transport key."""
        try:
            yield
        except Refused as refusal:
            self.gate.strike(key, now_s=now_s, count=refusal.blame)
            raise

    def _take(self, message: Delivery, wanted: tuple[bytes, ...], now_s: float, *, blind: bool) -> bool:
        """Take over what was asked for; return whether there was any news in it."""
        news = False
        for version in message.versions:  # first, for the sketches may be for one of them
            try:
                news |= self.catalogue.add(version)
            except Refused as refusal:
                if refusal.blame:
                    raise
                break  # the maker's doing, not the sender's
        for sketch in message.sketches:
            if name_of(sketch.key) not in {name_of(key) for key in wanted}:
                raise Refused("a sketch must have been asked for. Got another instead.")
            size = self.catalogue.size_of(sketch.catalogue)
            whole = sketch if size is None else restored(sketch, network=self.network, size=size)
            news |= self._keep(whole, now_s, blind=blind)
        return news

    def _keep(self, sketch: SignedSketch, now_s: float, *, blind: bool = True) -> bool:
        self.gate.check_sketch(sketch, size=self.catalogue.size_of(sketch.catalogue), now_s=now_s)
        if sketch.key == self._identity.key:
            self.own_key.look_at(sketch, shown=self.shelf.own)
            return False
        self._names.add(sketch.key)
        kept = self.shelf.keep(sketch, blind=blind)
        counted = blind and self.crowd.count(sketch)
        return kept or counted

    def _serve(self, want: tuple[bytes, ...], offered: tuple[Slip, ...]) -> tuple[SignedSketch, ...]:
        """Return what a peer asks for of what it was told of, as it is sent."""
        keys = [slip.key for slip in offered if name_of(slip.key) in want]
        found = self.shelf.serve(keys, offered=offered, count=self.network.sketches_per_message)
        sizes = [(sketch, self.catalogue.size_of(sketch.catalogue)) for sketch in found]
        return tuple(shortened(one, network=self.network, size=size) for one, size in sizes if size is not None)

    def _lacking(self, have: tuple[Slip, ...], now_s: float, *, alike: bool) -> tuple[bytes, ...]:
        told, epochs = self._names.whole(have[: self.network.inventory_size]), self.gate.epochs(now_s)
        own = self.own_key.wants(told, epochs=epochs)
        room = self.network.sketches_per_message - len(own)
        if alike:
            return (*own, *self.shelf.lacking_alike(told, epochs=epochs, count=room))
        for slip in told:
            held = self.shelf.notice(slip)
            if held is not None:
                self.crowd.count(held)
        return (*own, *self.shelf.lacking(told, epochs=epochs, count=room, also=self.crowd.wants))

    def _nearest(self, key: bytes) -> list[Record]:
        """Return the records of the peers that are most like one who asks, as far as its sketch is known."""
        return self.like_view.nearest(
            self.network.shuffle_size,
            without=key,
            holds=self.shelf.holds,
            liking=lambda keys: self.shelf.likeness(keys, to=key),
        )

    def _place_of(self, key: bytes) -> Place:
        address = self.crowd.address_of(key)
        if not address:
            return Place()
        room = most_at_host(address, self._address, self.settings.most_per_host)
        return Place(host_of(address), room, self.view.reached.at(key, address))

    def _encode(self, message: Message) -> bytes:
        raw = encode(self._network_id, message)
        self._count(sent_messages=1, sent_bytes=len(raw))
        return raw

    def _count(self, **more: int) -> None:
        for name, add in more.items():
            self._counts[name] += add
