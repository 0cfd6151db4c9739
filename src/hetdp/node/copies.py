"""Whose sketches are believed at home: no copies of the own ones, one of each that are nearly the same, few of a host.

Keys cost nothing, and a sketch is public. Whoever shows a person's sketch under other keys, with a bit more, looks like
the closest of friends. `node/protocol/seen_sketches.py` has the two tests. The first is public, and the crowd is
counted by it, too. The second needs the noise that only its owner knows. So what it says must never be seen by others:
it decides about lists and models at home, and about nothing that is asked for, kept, announced, sent or refused, nor
when. The protocol (`node/protocol/`) never sees that noise.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress, groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.addresses import address_kind
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.seen_sketches import Name, SeenSketches, least_shared, ones_of_rows, packed_rows
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.publications import OwnDraw
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one
from hetdp.sketching.drawing import pack

#: Of the chosen, those of one host are at most one in so many; those reached nowhere, all together, one in two.
_OF_A_HOST, _REACHED_NOWHERE = 5, 2


def copies_of_own(
    sketches: Sequence[bytes], own: Sequence[OwnDraw], *, epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING
) -> NDArray[np.bool_]:
    """Return which packed sketches share the noise of own sketches as only copies do. As private as the profile.

    The test statistic is how many ones a sketch has in common with an own one, among the items that did not count in
    that. Given the m ones that it has there, an honest sketch has Binomial(m, q) in common, so it is taken for a copy
    of one of k own sketches with probability at most k * `SELDOM`.

    Privacy
    -------
    What it returns tells noise from items, so it must not leave the node, nor change anything that others see. The work
    depends on the number of sketches and their lengths only.

    Examples
    --------
    >>> mine = np.array([True] * 12 + [False] * 52)
    >>> own = OwnDraw(0, pack(mine), np.zeros(64, dtype=np.uint8))
    >>> copies_of_own([own.bits, pack(~mine)], [own], epsilon=Fraction(3)).tolist()
    [True, False]
    """
    copied = np.zeros(len(sketches), dtype=np.bool_)
    most = max((int.from_bytes(bits, "little").bit_count() for bits in sketches), default=0)
    least = least_shared(1 << most.bit_length(), chance_of_one(epsilon, tuned_for=tuned_for))
    for draw in own:
        size = draw.dials.size
        rows = packed_rows(sketches, size)
        rows &= packed_rows([pack(draw.dials == 0)], size)
        ones = ones_of_rows(rows)
        rows &= packed_rows([draw.bits], size)
        copied |= ones_of_rows(rows) >= least[ones]
    return copied


def one_vote_each(
    ranked: Iterable[SignedSketch],
    count: int,
    *,
    seen: SeenSketches,
    sizes: Mapping[bytes, int],
    own_key: bytes,
    hosts: Mapping[bytes, str] | None,
) -> Iterator[SignedSketch]:
    """Choose sketches, best first: of those that are nearly the same one, the first seen, and few of a host.

    Parameters
    ----------
    ranked, count
        What to choose from, best first, and how many.
    seen
        The same sketches, those seen first first, and what came before them: own ones and of earlier epochs.
    sizes
        How many bits a sketch has, by the version of the catalogue that it is for.
    own_key
        Whose copies are nobody's neighbours.
    hosts
        The host at which the owner of each key was reached, where one was: an address that nobody has answered at is a
        mere claim. None for no limits.
    """
    candidates = {(sketch.key, sketch.epoch): sketch for sketch in ranked}
    done, taken = set[Name](), Counter[str]()
    for name, sketch in candidates.items():
        if taken.total() >= count:
            return
        if name in done:
            continue
        alike = seen.alike(sketch.bits, sizes[sketch.catalogue]) or [name]  # where nothing tells, everybody is alone
        done.update(alike)
        if any(key == own_key or (epoch < name[1] and (key, epoch) not in candidates) for key, epoch in alike):
            continue
        for first in (one for one in alike if one in candidates):
            host = "" if hosts is None else hosts.get(first[0], "")
            if hosts is None or taken[host] < max(1, count // (_OF_A_HOST if host else _REACHED_NOWHERE)):
                taken[host] += 1
                yield candidates[first]
                break


@dataclass(frozen=True, repr=False)
class HomeTrust:
    """Whom one node trusts at home.

    Privacy
    -------
    For the owner's eyes, all of it; see `copies_of_own`.
    """

    store: NodeStore
    network: NetworkParameters
    settings: NodeSettings
    own_key: bytes
    own_address: str

    def usable(self) -> list[SignedSketch]:
        """Return the sketches on the shelf but for copies of own ones."""
        sketches = self.store.peers.sketches()
        copied = self._copied([sketch.bits for sketch in sketches], self._own())
        return list(compress(sketches, ~copied))

    def neighbors(self, ranked: Iterable[SignedSketch], count: int) -> Iterator[SignedSketch]:
        """Choose neighbours among usable sketches, best first; see `one_vote_each`."""
        network = self.network
        seen = SeenSketches(network.epsilon, network.tuned_for)
        for draw in self._own():
            seen.add({(self.own_key, draw.epoch): draw.bits}, draw.dials.size)
        shelf, sizes = self.store.peers.sketches(), self.store.catalogue.sizes()
        for digest, some in groupby(shelf, key=attrgetter("catalogue")):  # in the order in which they came
            seen.add({(sketch.key, sketch.epoch): sketch.bits for sketch in some}, sizes[digest])
        for size, heads in self.store.crowd.heads().items():
            seen.add(heads, size)
        # Where keys are given out sparingly, or all are on one machine, hosts say nothing.
        free = network.admission != "open" or address_kind(self.own_address) == "loopback"
        hosts = None if free or not self.settings.most_per_host else self.store.crowd.hosts()
        return one_vote_each(ranked, count, seen=seen, sizes=sizes, own_key=self.own_key, hosts=hosts)

    def left_out_of_learning(self) -> list[Name]:
        """Return which of the sketches that count are copies of own ones: the local model does without."""
        own = [OwnDraw(draw.epoch, draw.bits, draw.dials[: self.network.n_head]) for draw in self._own()]
        heads = {name: bits for alike in self.store.crowd.heads().values() for name, bits in alike.items()}
        return list(compress(heads, self._copied(list(heads.values()), own)))

    def _own(self) -> list[OwnDraw]:
        return self.store.publications.last(self.settings.learn_epochs)

    def _copied(self, sketches: Sequence[bytes], own: Sequence[OwnDraw]) -> NDArray[np.bool_]:
        return copies_of_own(sketches, own, epsilon=self.network.epsilon, tuned_for=self.network.tuned_for)


# What a node does about sketches under its own key that it has not drawn: pay for them, and publish no more.
# A copy of a node draws from the same profile and has a ledger of its own, so neither knows what the other spends.


#: The last draw of this store that a copy was paid for as well.
_PAID = "copy_paid"


def meet(store: NodeStore, sketches: Iterable[SignedSketch], *, now_s: float) -> bool:
    """Take in checked sketches under the own key; return whether one of them was drawn elsewhere.

    Privacy
    -------
    A sketch that this store has not drawn, nor paid for, shows that there is a copy, and not since when: it may have
    published in every epoch since this store's first, also in those that this store drew itself. So each of them up to
    the newest is charged at full weight to every item, once: an upper bound. What was paid for by a restore, or when a
    copy was met before, is not charged again. Then the node stops, on disk before it draws again. What happens depends
    on published sketches alone.
    """
    stopped = False
    for sketch in sketches:
        with store.database.transaction(durable=True):
            charged = _charge(store, sketch)
            if charged:
                if store.mode.get() != "closed":  # who has left or moved stays so
                    store.mode.set("stopped")
                store.events.note("twin", now_s=now_s, epoch=sketch.epoch, charged=charged)
                stopped = True
    return stopped


def _charge(store: NodeStore, sketch: SignedSketch) -> int:
    """Charge for a copy that drew a sketch, and return for how many epochs: none if it is the own one, or paid for."""
    database, epoch = store.database, sketch.epoch
    why = database.one("SELECT why FROM drawn WHERE epoch = ?", epoch)
    if why not in {None, "published"}:
        return 0
    own = store.publications.of_epoch(epoch)
    if own is not None and (own.bits, own.catalogue) == (sketch.bits, sketch.catalogue):
        return 0
    met = f"met-{epoch}-"
    mark = met + hashlib.blake2b(sketch.signature, digest_size=16).hexdigest()
    if store.other_charges.has(mark):
        return 0
    draw = database.one("SELECT draw FROM publications WHERE epoch = ?", epoch)
    if draw is not None and draw <= _paid(store):  # by a copy; if another was met in this epoch, there are two
        epochs = int(database.one("SELECT 1 FROM other_charges WHERE mark GLOB ?", f"{met}*") is not None)
    else:
        epochs = _since_the_first(store, epoch)
    store.other_charges.add(mark, "met", every=FULL_DIAL * epochs)
    return epochs


def _paid(store: NodeStore) -> int:
    return int(store.database.fact(_PAID) or 0)


def _since_the_first(store: NodeStore, epoch: int) -> int:
    """Mark all epochs up to one as met, and return how many a copy may have drawn that were not paid for."""
    database = store.database
    first = database.one("SELECT min(epoch) FROM drawn")
    missed = store.draws.forbid_undrawn(epoch if first is None else min(first, epoch), epoch, "met")
    both = int(database.one("SELECT count(*) FROM publications WHERE draw > ?", _paid(store)))
    database.set_fact(_PAID, int(database.one("SELECT coalesce(max(draw), 0) FROM publications")))
    return missed + both
