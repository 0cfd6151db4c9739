"""The running node: one loop that moves messages and time, and one worker that touches the disk.

Drawing a sketch is the same work for every profile (see `publication`). Still, the worker does it, and the loop shows
a new sketch a fixed number of periods after it was ordered, so that the time a draw takes does not show either.
Worker, loop and page share one interpreter: what the owner does on the page can delay an answer by milliseconds
(docs/guide/protocol.md).
"""

import dataclasses
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial

from hetdp.core.errors import LedgerError
from hetdp.core.randomness import secure_stream
from hetdp.node.copies import meet
from hetdp.node.handle import NodeHandle
from hetdp.node.learning import Learner
from hetdp.node.protocol import Refused
from hetdp.node.protocol.addresses import near_host
from hetdp.node.protocol.catalogue_versions import CatalogueVersion
from hetdp.node.protocol.draw_schedule import next_turn
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.node import Action, Node, Traffic
from hetdp.node.protocol.seen_sketches import Name
from hetdp.node.protocol.who_counts import CrowdNews
from hetdp.node.publication import publish
from hetdp.node.storage.folder import locked
from hetdp.node.storage.page_door import PageDoor
from hetdp.node.wire.transport import Arrived, Flooded, Lost, Transport

#: The loop looks up at least so often, to see whether it should stop.
_LONGEST_WAIT_S = 0.5
_CONTACTS = 20
#: A sketch is shown so many periods after it was ordered, though it is drawn long before.
_SHOWN_AFTER = 2
#: A connection may last two periods, and at least so long.
_LONGEST_TALK_S = 15.0
#: A peer that calls sends two messages.
_MESSAGES_PER_CALL = 2
#: A flood is told to the owner at most so often.
_FLOOD_EVERY_S = 3600.0


class Daemon:
    """Runs a node until its handle says stop; `ready` is called once, with the address that it listens on.

    Privacy
    -------
    Sends the published sketch and public data; when, how much and to whom is independent of the profile.
    """

    def __init__(self, handle: NodeHandle, *, ready: Callable[[str], None] = lambda _address: None) -> None:
        self._handle, self._ready = handle, ready
        self._before = handle.store.peers.traffic()
        self._pending: Future[SignedSketch | None] | None = None
        self._periods_left = 0
        self._learner = Learner(handle.folder, now=handle.now, left_out=self._left_out)
        self._draws = handle.store.draws.record()  # the loop looks at it, not at the disk
        self._first_counted: int | None = None
        self._flooding: str | None = None
        self._counted = 0

    def run(self) -> None:
        """Take part in the network until `handle.stopping` is set.

        A failure of the disk stops the node; it never publishes what it could not record.
        """
        handle = self._handle
        with (
            locked(handle.folder),
            closing(self._learner),
            ThreadPoolExecutor(1, thread_name_prefix="store") as worker,
        ):
            try:
                handle.check_open()
                handle.store.other_charges.repair(handle.store.events, now_s=handle.now())
                PageDoor(handle.folder).close()  # of a node that was killed
                node = self._node()
                with closing(self._transport(node)) as transport:
                    sketch = self._publish()  # not before: an epoch that nobody can be shown is not paid for
                    if sketch is not None:
                        node.adopt(sketch)
                    self._ready(transport.address)
                    self._loop(node, transport, worker)
                    self._save(node, worker, handle.now()).result()
            except sqlite3.Error as error:
                raise LedgerError(f"the store {handle.store.path} cannot be written: {error}.") from None

    def _node(self) -> Node:
        handle, now_s = self._handle, self._handle.now()
        node = Node(
            handle.identity,
            address=handle.address,
            network=handle.network,
            settings=handle.settings,
            stream=secure_stream(),
            now_s=now_s,
            invitation=bytes.fromhex(handle.settings.invitation),
            contacts=handle.store.peers.contacts(
                _CONTACTS, own_address=handle.address, most_per_host=handle.settings.most_per_host
            ),
            catalogue=handle.store.catalogue.history(handle.network),
            shelf_salt=handle.store.peers.shelf_salt(),
        )
        crowd, own = handle.store.crowd, handle.store.publications.last(handle.settings.learn_epochs)
        for draw in own:
            node.crowd.restore([], {draw.dials.size: {(handle.identity.key, draw.epoch): draw.bits}})
        node.crowd.restore(crowd.counted(node.gate.epochs(now_s).start), crowd.heads())
        node.restore(handle.store.peers.sketches(), now_s=now_s, liked=handle.store.peers.liked())
        for key, until_s in handle.store.peers.bans().items():
            node.gate.ban(key, until_s=until_s)
        node.gate.forget_the_future(now_s)
        return node

    def _transport(self, node: Node) -> Transport:
        handle = self._handle
        return Transport(
            handle.identity,
            listen=handle.settings.listen,
            largest_message=handle.network.largest_message,
            banned=lambda key: node.gate.banned(key, now_s=handle.now()),
            lifetime_s=max(_LONGEST_TALK_S, 2 * handle.network.period_s),
            calls_per_s=handle.settings.messages_per_host_s / _MESSAGES_PER_CALL,
            near=near_host(handle.address),
        )

    def _loop(self, node: Node, transport: Transport, worker: ThreadPoolExecutor) -> None:
        handle = self._handle
        saving: Future[list[CatalogueVersion]] | None = None
        due_s = node.pace.next_s
        while not handle.stopping.is_set():
            now_s = handle.now()
            if handle.mode() == "closed":  # by another process
                handle.stopping.set()
            due_s = min(due_s, now_s + handle.network.period_s)  # a clock that was set back
            due = now_s >= due_s
            if due:
                due_s = now_s + handle.network.period_s
                self._take_over(node, worker, now_s)
            for action in node.tick(now_s):
                transport.perform(action)
            if due and (saving is None or saving.done()):  # how long the disk takes must not show
                if saving is not None:
                    node.take_up(saving.result())
                saving = self._save(node, worker, now_s)
            timeout_s = min(_LONGEST_WAIT_S, max(0.0, node.next_wakeup_s - handle.now()))
            for event in transport.wait(timeout_s):
                for action in self._answers(node, event):
                    transport.perform(action)

    def _answers(self, node: Node, event: Arrived | Flooded | Lost) -> list[Action]:
        """Give the node a message, or the news that an exchange is lost; ban who seems to have ended the transport."""
        now_s = self._handle.now()
        if isinstance(event, Arrived):
            return node.receive(event.link, event.curve, event.raw, now_s=now_s, host=event.host)
        if isinstance(event, Flooded):
            self._flooding = event.host
            return []
        if event.suspect:
            node.gate.ban(event.curve, until_s=now_s + self._handle.settings.ban_s)
        return node.lost(event.link)

    def _take_over(self, node: Node, worker: ThreadPoolExecutor, now_s: float) -> None:
        """Adopt the sketch that was ordered a fixed number of periods ago; order one when one is due."""
        self._periods_left -= 1
        if self._pending is not None and self._periods_left <= 0 and self._pending.done():
            sketch, self._pending = self._pending.result(), None
            if sketch is not None:
                node.adopt(sketch)
        handle = self._handle
        turn = next_turn(self._draws, network=handle.network, now_s=now_s, uptime=handle.uptime())
        if self._pending is None and turn.draws:
            draw = partial(self._publish, node.own_key.take_found())
            self._pending, self._periods_left = worker.submit(draw), _SHOWN_AFTER

    def _left_out(self) -> list[Name]:
        return self._handle.trust.left_out_of_learning()

    def _publish(self, met: Sequence[SignedSketch] = ()) -> SignedSketch | None:
        """Draw if it is time to, unless what was met under the own key says that a copy of this node runs elsewhere."""
        handle = self._handle
        meet(handle.store, met, now_s=handle.now())
        sketch = publish(
            handle.store,
            identity=handle.identity,
            network=handle.network,
            now_s=handle.now(),
            uptime=handle.uptime(),
            invitation=bytes.fromhex(handle.settings.invitation),
        )
        self._draws = handle.store.draws.record()
        return sketch

    def _save(self, node: Node, worker: ThreadPoolExecutor, now_s: float) -> "Future[list[CatalogueVersion]]":
        """Hand what was learned to the worker; the lists are copies, so the loop can go on.

        What comes back are versions of the catalogue that the owner has put into the store by hand.
        """
        peers = [(record, now_s) for record in node.met.values()]
        reached = {record.key for record, _ in peers if node.view.reached.at(record.key, record.address)}
        node.met.clear()
        keep_peers = partial(
            self._handle.store.peers.keep,
            sketches=node.shelf.take_news(),
            peers=peers,
            reached=reached,
            bans=node.gate.bans(now_s),
            traffic=_sum(self._before, node.traffic),
            now_s=now_s,
            first_epoch=node.gate.epochs(now_s).start,
            last_epoch=node.gate.epochs(now_s).stop - 1,
            held={sketch.key for sketch in node.shelf},
            liked=node.shelf.liked,
            population=node.shelf.population(),
        )
        counted, number = node.crowd.take_news(), node.catalogue.number
        versions, forked_at = node.catalogue.take_news(), node.catalogue.forked_at
        met = node.own_key.take_found()
        flooding, self._flooding = node.gate.hosts.take_flood() or self._flooding, None
        look = partial(self._handle.store.draws.look, self._handle.network, now_s=now_s, uptime=self._handle.uptime())

        def save() -> list[CatalogueVersion]:
            store = self._handle.store
            with suppress(Refused):  # the owner has put another version there by hand
                self._handle.take_up(versions)
            if forked_at is not None:
                store.note_fork(forked_at, now_s=now_s)
            meet(store, met, now_s=now_s)
            keep_peers()
            self._note_flood(flooding, now_s)
            look()
            self._keep_crowd(*counted, now_s=now_s)
            return store.catalogue.versions(after=number)

        return worker.submit(save)

    def _note_flood(self, host: str | None, now_s: float) -> None:
        """Tell the owner that a host sends far too much, if that was not told within the hour."""
        store = self._handle.store
        last = None if host is None else store.events.newest("flood")
        if host is not None and (last is None or not 0 <= now_s - last.time_s < _FLOOD_EVERY_S):
            with store.database.transaction(durable=False):
                store.events.note("flood", now_s=now_s, host=host)

    def _keep_crowd(self, news: list[CrowdNews], gone: list[tuple[bytes, int]], *, now_s: float) -> None:
        """Write which sketches count; have the model learned from them if it is time to."""
        handle = self._handle
        first_epoch, changes = handle.network.epoch_at(now_s) - handle.settings.learn_epochs + 1, 0
        last_epoch = handle.network.epoch_at(now_s + handle.settings.clock_skew_s)
        if news or gone or first_epoch != self._first_counted:  # else it need not be looked at
            crowd, self._first_counted = handle.store.crowd, first_epoch
            catalogue = handle.store.catalogue
            head, sizes = handle.network.head_of(catalogue.size()), catalogue.sizes()
            changes = crowd.keep(news, gone, n_head=head, sizes=sizes, first_epoch=first_epoch, last_epoch=last_epoch)
            self._counted = crowd.size()
        self._learner.consider(self._counted, changes)


def _sum(before: Traffic, now: Traffic) -> Traffic:
    """Return the traffic of earlier runs and of this one together."""
    total = {name: value + getattr(now, name) for name, value in dataclasses.asdict(before).items()}
    return Traffic(**total)
