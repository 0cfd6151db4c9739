"""One node as its owner sees it: clock, neighbours, recommendations, status. All of it stays at home."""

import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.accounting.label import Label, LabelOptions, Spending, what_is_left
from hetdp.core.checks import float_up
from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.text import duration
from hetdp.node.copies import HomeTrust
from hetdp.node.dials import FULL_DIAL
from hetdp.node.groups import GroupLosses
from hetdp.node.learning import ENOUGH
from hetdp.node.lists import ListRow
from hetdp.node.neighbors import Neighbor, find_neighbors, votes
from hetdp.node.own_data import list_as_csv, own_data
from hetdp.node.protocol.catalogue_versions import CatalogueVersion
from hetdp.node.protocol.draw_schedule import REASONS, Uptime
from hetdp.node.protocol.identity import Identity, check_invitation, pseudonym
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.node import Traffic
from hetdp.node.recommendations import Findings, Recommendation, crowd_places
from hetdp.node.settings import NodeSettings, read_settings
from hetdp.node.storage.catalogue import CatalogueIndex
from hetdp.node.storage.crowd import CrowdModel, load_model
from hetdp.node.storage.database import check_sound
from hetdp.node.storage.draws import read_uptime
from hetdp.node.storage.folder import IDENTITY, MODEL, NETWORK, SETTINGS_FILE, STORE, default_limit, is_running
from hetdp.node.storage.importing import Imported, import_list
from hetdp.node.storage.network_file import read_network
from hetdp.node.storage.passage import Mode
from hetdp.node.storage.store import NodeStore

_NOT_PAUSED = "The node is already {mode}: it draws no sketch."
_NOT_RESUMED = "The node is {mode}, not paused."
_COPY_MAY_RUN = (
    "The node is {mode}: it has met its own key elsewhere, so a copy of it runs. Both spend, and neither knows of the "
    "other. Stop the copy for good, then give --copy-is-gone. If you know of no copy, somebody has your key: make a "
    "new node with `hetdp node init`, and `hetdp node move --to` it."
)
EVERYBODY = "everybody together, whatever else they know"


@dataclass(frozen=True, slots=True)
class EpochClock:
    """Where time stands in the public schedule; times are Unix seconds. `published_epoch` is that of the last draw."""

    now_s: float
    epoch: int
    starts_s: float
    ends_s: float
    published_epoch: int | None
    next_draw_s: float | None  # if clocks just go on; None while the node does not draw at all
    why: str  # it does or does not draw now: a key of `REASONS`

    @property
    def why_words(self) -> str:
        """Why it does or does not draw now, in words."""
        return REASONS[self.why]


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
    next_draw_s: float | None
    why: str
    peers: int
    sketches: int
    counted: int  # sketches of the last epochs that the model may learn from
    learned_from: int  # sketches behind recommendations; 0 where neighbours vote for them
    taste: float  # how much of what was learned is taste, and not what is popular anyway
    traffic: Traffic
    items: int
    exhausted: int
    clock_behind: bool
    catalogue_version: int
    catalogue_items: int


@dataclass(repr=False)
class NodeHandle:
    """A node's folder, opened. Safe to use from any thread.

    Neighbours and recommendations come from the exact profile, so they are for the owner's eyes.
    """

    folder: Path
    network: NetworkParameters
    settings: NodeSettings
    identity: Identity
    store: NodeStore
    now: Callable[[], float] = time.time
    uptime: Callable[[], Uptime] = read_uptime
    stopping: threading.Event = field(default_factory=threading.Event)
    _model: tuple[int, CrowdModel | None] = field(default=(0, None), init=False)

    def __repr__(self) -> str:
        return f"NodeHandle({self.name})"

    @classmethod
    def open(cls, folder: Path) -> "NodeHandle":
        """Open the folder of a node; refuse a store that belongs to another network than the network file."""
        if not (folder / STORE).is_file():
            raise DataError(f"there must be a node in {str(folder)!r}. Got none; `hetdp node init` makes one.")
        network = read_network(folder / NETWORK)
        settings = read_settings(folder / SETTINGS_FILE)
        identity = Identity.load(folder / IDENTITY)
        store = NodeStore(folder / STORE)
        try:
            store.check_network(network)
            check_sound(store.database, network)
        except BaseException:
            store.close()
            raise
        store.ledger.settings_limit = default_limit(network.epsilon, settings)
        return cls(folder, network, settings, identity, store)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    @property
    def name(self) -> str:
        """The node's own pseudonym."""
        return pseudonym(self.identity.key)

    @property
    def address(self) -> str:
        """Where others are told to reach the node."""
        return self.settings.advertise or self.settings.listen

    @property
    def trust(self) -> HomeTrust:
        """Which sketches are believed at home."""
        return HomeTrust(self.store, self.network, self.settings, self.identity.key, self.address)

    @property
    def contact(self) -> Bootstrap:
        """What others put under [[bootstrap]] to reach this node."""
        return Bootstrap(self.address, self.identity.key.hex(), self.identity.curve.hex())

    def alone(self) -> bool:
        """Return whether there is nobody to ask: no other peer is named in the network file, and none was ever met."""
        own = self.identity.key.hex()
        return all(peer.key == own for peer in self.network.bootstrap) and not self.store.peers.met_any()

    def check_open(self) -> None:
        """Refuse to go on where the node was closed, and say where it has gone."""
        if self.store.mode.get() == "closed":
            passage = self.store.passage.get()
            why = "it has left its network" if passage is None else passage.words()
            if passage is not None and self.store.events.newest("left") is not None:
                why = f"it has left its network; list and losses are in {passage.where} (`hetdp node receive`)"
            raise DataError(f"a node must be open to take part. The one in {str(self.folder)!r} is closed: {why}.")

    def check_invited(self) -> None:
        """Refuse to go on without a valid invitation where the network asks for one.

        Nobody would take this node's sketches, and they would be paid for all the same.
        """
        if self.network.admission != "invite":
            return
        given, key = bytes.fromhex(self.settings.invitation), self.identity.key
        if not check_invitation(bytes.fromhex(self.network.network_key), self.network.id, key, given):
            what = "one for another key or network" if given else "none"
            raise DataError(
                f"this network is by invitation, so {SETTINGS_FILE} must hold one. Got {what} instead. "
                + how_to_be_invited(key.hex(), self.folder)
            )

    def clock(self) -> EpochClock:
        """Return where time stands in the public schedule."""
        now_s = self.now()
        epoch = self.network.epoch_at(now_s)
        starts_s, ends_s = float(self.network.starts(epoch)), float(self.network.starts(epoch + 1))
        turn, mode = self.store.draws.turn(self.network, now_s=now_s, uptime=self.uptime()), self.store.mode.get()
        draws = mode == "open"
        return EpochClock(
            now_s,
            epoch,
            starts_s,
            ends_s,
            published_epoch=self.store.publications.newest_epoch(),
            next_draw_s=now_s + turn.wait_s if draws else None,
            why=turn.why if draws else mode,
        )

    def mode(self) -> Mode:
        """Return whether the node draws sketches ("open"), or why not."""
        return self.store.mode.get()

    def pause(self) -> bool:
        """Draw no sketch until `resume`; False if it is so already. Once this returns, none will be drawn.

        Others see that no new sketch comes; the last one stays with them until it is too old.
        """
        with self.store.database.transaction(durable=True):
            changed = self.store.mode.change("paused", of=("open",), otherwise=_NOT_PAUSED)
            if changed:
                self.store.events.note("paused", now_s=self.now())
        return changed

    def resume(self, *, copy_is_gone: bool = False) -> bool:
        """Draw sketches again after `pause`; False if it does so already.

        A node that has met its own key elsewhere goes on only if its owner says that the copy is gone.
        """
        with self.store.database.transaction(durable=True):
            stopped = self.store.mode.get() == "stopped"
            modes: tuple[Mode, ...] = ("paused", "stopped") if copy_is_gone else ("paused",)
            words = _COPY_MAY_RUN if stopped else _NOT_RESUMED
            changed = self.store.mode.change("open", of=modes, otherwise=words)
            if changed:
                self.store.events.note("resumed", now_s=self.now())
        return changed

    def leave(self, *, erase: bool = False) -> None:
        """Leave the network for good: no sketch is drawn from now on, and the node stops and does not start again.

        With `erase`, its folder goes as soon as the node has stopped (`node.leaving`).
        """
        with self.store.database.transaction(durable=True):
            passage = self.store.passage.get()
            if passage is not None and not passage.done:
                raise DataError(f"a node that leaves must not be on its way. Got one that is: {passage.words()}.")
            if self.store.mode.change("closed", of=("open", "paused", "stopped")):
                self.store.events.note("left", now_s=self.now())
            if erase:
                self.store.database.set_fact("erase", 1)
        self.stopping.set()

    def import_items(self, raw: bytes, *, kind: str = "auto") -> Imported:
        """Add the items of a list that the owner has: a CSV, a browser's bookmarks, titles. One step to undo.

        See `storage.importing.import_list`.
        """
        return import_list(self.store, raw, kind=kind)

    def place_of(self, name: str) -> int:
        """Return the place in the catalogue of the one item that an id, a title or a link names, however written."""
        catalogue = self.store.catalogue.current(also=set(self.store.profile.places()))
        places = CatalogueIndex(catalogue).places_of(ListRow(1, item=name))
        if len(places) != 1:
            raise InvalidInput(
                f"must be the id, the title or a link of one item of the catalogue (it fits {len(places) or 'none'})",
                parameter="item",
                hint="Use the id." if places else "",
            )
        return places.pop()

    def list_as_csv(self) -> str:
        """Return the own list as a CSV that `import_items` takes, what the catalogue does not have at its end."""
        return list_as_csv(self.store)

    def hide(self, who: str) -> None:
        """Do not show somebody among neighbours, nor let them vote, at home. Nobody else can notice.

        By key, or by a name that one alone has among those whose sketches are held.
        """
        self.store.hidden.hide(self._key_of(who, {sketch.key for sketch in self.store.peers.sketches()}))

    def unhide(self, who: str) -> None:
        """Show somebody again, by key or by name."""
        self.store.hidden.unhide(self._key_of(who, self.store.hidden.all()))

    def _key_of(self, who: str, keys: Iterable[bytes]) -> str:
        """Return the only key with a name; what is no such name is left as it is."""
        named = [key.hex() for key in keys if pseudonym(key) == who]
        return named[0] if len(named) == 1 else who

    def hidden(self) -> tuple[tuple[str, str], ...]:
        """Return (name, key) of everybody who is hidden, by name."""
        return tuple(sorted((pseudonym(key), key.hex()) for key in self.store.hidden.all()))

    def neighbors(self) -> tuple[Neighbor, ...]:
        """Return the best neighbours among the sketches held, best first. Items that weigh 0 play no part."""
        return self._alike(self._shown(self.trust.usable()), self.store.ledger.effective_dials())

    def recommendations(self, limit: int = 20) -> tuple[Recommendation, ...]:
        """Return what the crowd, or neighbours, have to recommend, best first; never what is on the own list."""
        return self.findings(limit).recommendations

    def findings(self, limit: int = 20) -> Findings:
        """Return neighbours and recommendations together: neighbours are looked for once."""
        usable, counting = self.trust.usable(), self.store.ledger.effective_dials()
        sketches, copies = self._shown(usable), self.store.peers.sketch_count() - len(usable)
        chosen, learned = self._alike(sketches, counting), self.crowd_model()
        if learned is None:
            return Findings(chosen, self.by_votes(sketches, chosen, limit), 0, 0.0, copies)
        return Findings(chosen, self.by_crowd(learned, limit), learned.sketches, learned.model.taste, copies)

    def crowd_model(self) -> CrowdModel | None:
        """Return the model that was learned from the crowd; None before enough sketches have come. Public."""
        path = self.folder / MODEL
        try:
            written = path.stat().st_mtime_ns
        except OSError:
            return None
        if written != self._model[0]:
            learned = load_model(path, n_head=self.network.head_of(self.store.catalogue.size()))
            enough = learned is not None and learned.sketches >= ENOUGH
            self._model = written, learned if enough else None
        return self._model[1]

    def by_crowd(self, learned: CrowdModel, limit: int) -> tuple[Recommendation, ...]:
        """Return what a model of the crowd recommends for the whole own list, best first."""
        own, unwanted = set(self.store.profile.places()), self._unwanted()
        found = crowd_places(learned, own, without=unwanted, count=limit)
        wanted = {place for best, reasons in found for place in (best, *reasons)}
        items = {item.place: item for item in self.store.catalogue.items_at(sorted(wanted))}
        return tuple(
            Recommendation(items[best], None, tuple(items[place] for place in reasons)) for best, reasons in found
        )

    def by_votes(
        self, sketches: Sequence[SignedSketch], chosen: Sequence[Neighbor], limit: int
    ) -> tuple[Recommendation, ...]:
        """Return what chosen neighbours vote for, best first."""
        published = self.store.publications.newest()
        best = votes(
            sketches,
            chosen,
            without=set(self.store.profile.places()) | self._unwanted(),
            epsilon=self.network.epsilon,
            tuned_for=self.network.tuned_for,
            sizes=self.store.catalogue.sizes(),
            count=limit,
            shown=None if published is None else published.bits,
        )
        items = self.store.catalogue.items_at([vote.place for vote in best])
        return tuple(Recommendation(item, vote) for item, vote in zip(items, best, strict=True))

    def _shown(self, sketches: Sequence[SignedSketch]) -> list[SignedSketch]:
        """Return the sketches of everybody who is not hidden: for what is shown at home, and nothing else."""
        hidden = self.store.hidden.all()
        return [sketch for sketch in sketches if sketch.key not in hidden]

    def _alike(self, sketches: Sequence[SignedSketch], counting: Collection[int]) -> tuple[Neighbor, ...]:
        return tuple(
            find_neighbors(
                sketches,
                counting,
                epsilon=self.network.epsilon,
                tuned_for=self.network.tuned_for,
                sizes=self.store.catalogue.sizes(),
                count=self.settings.neighbors,
                choose=self.trust.neighbors,
                chosen_from=self.store.peers.population(),
            )
        )

    def _unwanted(self) -> set[int]:
        """Return places that are never recommended: dismissed, or not used by the network any more."""
        return self.store.profile.dismissed() | set(np.flatnonzero(self.store.catalogue.retired()).tolist())

    def status(self) -> Status:
        """Return the node at a glance."""
        clock, counts, learned = self.clock(), self.store.profile.counts(), self.crowd_model()
        return Status(
            name=self.name,
            key_hex=self.identity.key.hex(),
            network=self.network.name,
            address=self.address,
            running=is_running(self.folder),
            epoch=clock.epoch,
            published_epoch=clock.published_epoch,
            next_epoch_s=clock.ends_s,
            next_draw_s=clock.next_draw_s,
            why=clock.why,
            peers=len(self.store.peers.known()),
            sketches=self.store.peers.sketch_count(),
            counted=self.store.crowd.size(),
            learned_from=0 if learned is None else learned.sketches,
            taste=0.0 if learned is None else learned.model.taste,
            traffic=self.store.peers.traffic(),
            items=counts.size,
            exhausted=counts.exhausted,
            clock_behind=clock.published_epoch is not None and clock.published_epoch > clock.epoch,
            catalogue_version=self.store.catalogue.number(),
            catalogue_items=self.store.catalogue.size(),
        )

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what taking part means: public parameters, and how many sketches there were.

        Sketches of a network that the node has come from count, and epochs that it has paid for otherwise.

        Nothing in it depends on items or dials.
        """
        network, limit = self.network, self.store.ledger.default_limit()
        steps = self.store.ledger.published_steps() + self.store.other_charges.of_any_item()
        spent = float(in_digits(network.epsilon * steps / FULL_DIAL))
        again = (
            f"This is about one sketch. There is one every {duration(network.epoch_length_s)}, and each costs as much "
            "again, until an item has reached its limit; then it no longer counts."
        )
        added = "adding or removing an item of the own list"
        promise = Guarantee(
            "epsilon", float_up(network.epsilon), "values", added, EVERYBODY, trust="local", remarks=(again,)
        )
        titled: LabelOptions = {"title": f"A node of the network {network.name}", **options}
        spending = Spending(
            "epsilon", spent, 0.0, what_is_left(limit, spent), EVERYBODY, then="the item no longer counts"
        )
        how = "one noisy sketch of the own list per epoch"
        return Label.of(promise, mechanism=how, spending=spending, **titled)

    def take_up(self, versions: Iterable[CatalogueVersion]) -> int:
        """Take over versions of the catalogue, by hand or from others, and return how many were new.

        Each must be signed by the maker of the network and follow on what is there; a running node sees what came by
        hand within two periods and passes it on.
        """
        new, count = list(versions), 0
        if not new:
            return 0
        history = self.store.catalogue.history(self.network)
        for version in new:
            try:
                if history.add(version):
                    count += self.store.grow(version, now_s=self.now())
            finally:
                if history.forked_at is not None:
                    self.store.note_fork(history.forked_at, now_s=self.now())
        return count

    def group_losses(self) -> GroupLosses:
        """Return what sketches tell about groups of the owner's items, as things stand. For the owner's eyes."""
        return GroupLosses(self.store, self.network)

    def next_sketch(self) -> dict[str, Any]:
        """Return whether a sketch is due, when if not, and what it would cost. Nothing is drawn."""
        clock, counting = self.clock(), self.store.ledger.effective_dials()
        due = clock.why == "due"
        loss = float(self.network.epsilon) * max(counting.values(), default=0) / FULL_DIAL
        return {
            "epoch": clock.epoch,
            "would_draw_a_sketch": due,
            "why": clock.why,
            "next_draw_s": clock.next_draw_s,
            "items_that_count": len(counting),
            "largest_loss": loss if due else 0.0,
        }

    def export(self) -> dict[str, Any]:
        """Return everything the node knows about its owner, for the owner, ready for JSON; keys are left out."""
        return {
            "network": self.network.name,
            "epsilon_per_epoch": float(self.network.epsilon),
            "name": self.name,
            "key": self.identity.key.hex(),
            "mode": self.mode(),
            **own_data(self.store),
            "neighbours": [dataclasses.asdict(neighbor) for neighbor in self.neighbors()],
        }


def how_to_be_invited(key_hex: str, folder: Path) -> str:
    """Say how the owner of a key gets into a network by invitation."""
    return (
        f"Send your key, {key_hex}, to whoever made the network; they run `hetdp network invite FILE --key KEY`, and "
        f"what it prints goes into `invitation` in {folder / SETTINGS_FILE}."
    )
