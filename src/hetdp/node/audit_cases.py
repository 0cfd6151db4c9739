"""Audit cases of a node: what it publishes, drawn alone and through its store, epochs that pass and its ledger.

The subject is a profile of six catalogue items, each with a dial; what is looked at are the bits, as they are read from
the bytes that travel. Bits are drawn independently, so many copies of the six items in one sketch are as many runs.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, replay_case, scale_case, statistical_case
from hetdp.auditing.scales import PublicCall as FrontDoor, Reached
from hetdp.auditing.subjects import Pair
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.publication import publish
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bits import pack, unpack

#: From hidden to full; 29 is none of the steps of 1/255.
DIALS = (80, 0, 29, FULL_DIAL, 50, 1)
_EPSILON = Fraction(2)
#: Of one sketch at epsilon 1.
CLAIMS = [dial / FULL_DIAL for dial in DIALS]
#: Items of the catalogue, of which a profile has as many as it may, half of them at a dial of 40.
_ITEMS, _OWN, _DIAL = 60_000, 20_000, 40
_EPOCHS, _EPOCH_S = 20, 100
_SAMPLES = {"quick": 20_000, "full": 60_000}
#: Where an indicator says that an item is there.
_PRESENT = 0.5
#: Ten items at full dial and one at 10, at epsilon 3: what one of them loses does not depend on the others.
GROUP = (*(FULL_DIAL,) * 10, 10)
_GROUP_EPSILON = Fraction(3)


def pairs(items: Sequence[int], n_items: int = len(DIALS)) -> list[Pair]:
    """Return the full list against the one without an item, for each of some items."""
    return [([1.0] * n_items, [float(place != item) for place in range(n_items)]) for item in items]


def published_bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return `size` sketches of a list of items with their dials, as others read them."""
    dials = np.where(np.array(profile) >= _PRESENT, DIALS, 0).astype(np.uint8)
    bits = draw_bits(np.tile(dials, size), epsilon=Fraction(1), stream=as_stream(random_state))
    return unpack(pack(bits), bits.size).reshape(size, -1).astype(np.float64)


@contextmanager
def _node(
    n_items: int, dials: Mapping[int, int], stream: Stream, epsilon: Fraction = _EPSILON
) -> Iterator[tuple[NodeStore, Iterator[NDArray[np.bool_]]]]:
    """Make a node with a profile; with it come the sketches that others read, one per epoch."""
    network = NetworkParameters(
        name="audit", catalogue="items.csv", catalogue_sha256="0" * 64, items=n_items, epsilon=epsilon,
        epoch_start_s=0, epoch_length_s=_EPOCH_S,
    )  # fmt: skip
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(n_items)]
    who = Identity.generate(stream)

    def sketches(store: NodeStore) -> Iterator[NDArray[np.bool_]]:
        for epoch in itertools.count():
            now_s = epoch * _EPOCH_S + 1.0
            up = Uptime("audit", now_s)
            sketch = publish(
                store, identity=who, network=network, now_s=now_s, uptime=up, stream=stream, simulation=True
            )
            assert sketch is not None  # noqa: S101  (an epoch has begun)
            yield unpack(sketch.bits, n_items)

    with (
        TemporaryDirectory() as folder,
        NodeStore.make(Path(folder) / "node.db", network, items, default_limit=1e6) as store,
    ):
        store.profile.set_dials(dials)
        yield store, sketches(store)


def _published(random_state: RandomState) -> list[Reached]:
    """Look at the sketches of some epochs; what each costs is what the ledger says was lost by all of them."""
    dials = {place: _DIAL if place % 2 else FULL_DIAL for place in range(_OWN)}
    with _node(_ITEMS, dials, as_stream(random_state)) as (store, sketches):
        drawn = list(itertools.islice(sketches, _EPOCHS))
        spent = store.ledger.spent()
    bits = np.stack(drawn)
    epsilon, part = (spent[place] / _EPOCHS for place in (0, 1))
    rare = 1 / (1 + math.exp(epsilon))
    full, relaxed = bits[:, :_OWN:2], bits[:, 1:_OWN:2]
    # A dial of 40 is 102 steps of 1/255, so that nothing is rounded.
    chance = min(1.0, rare * math.exp(part))
    return [
        Reached("bits of absent items and of dial 100", _flat(bits[:, _OWN:], ~full), "coins", rare),
        Reached(f"bits of dial {_DIAL}", relaxed.ravel(), "coins", chance),
    ]


def _flat(*parts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.concatenate([part.ravel() for part in parts])


def seen(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    dials: Sequence[int] = DIALS,
    epsilon: Fraction = _EPSILON,
) -> NDArray[np.float64]:
    """Return the bits of as many copies of some items as a profile may have, epoch after epoch."""
    stream, copies = as_stream(random_state), min(size, _OWN // len(dials))
    listed = np.flatnonzero(np.array(profile) >= _PRESENT).tolist()
    chosen = {place + len(dials) * copy: dials[place] for copy in range(copies) for place in listed}
    with _node(len(dials) * copies, chosen, stream, epsilon) as (_, sketches):
        drawn = [next(sketches).reshape(copies, -1) for _ in range(-(-size // copies))]
    return np.concatenate(drawn)[:size].astype(np.float64)


seen_of_a_group = partial(seen, dials=GROUP, epsilon=_GROUP_EPSILON)

#: The only way out of a node.
FRONT_DOORS: dict[str, FrontDoor] = {"node, publication": _published}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node."""
    name, everyone = "node, one published sketch", pairs(range(len(DIALS)))
    cases = [
        statistical_case(name, published_bits, adjacent=everyone, claimed=CLAIMS, samples=_SAMPLES[size]),
        # The item of dial 0 must leave every bit as it was.
        replay_case(name, published_bits, adjacent=pairs([1]), limits={1: 0.0}),
    ]
    if size == "quick":
        return cases
    claims = [float(_EPSILON) * dial / FULL_DIAL for dial in DIALS]
    of_group = [float(_GROUP_EPSILON) * dial / FULL_DIAL for dial in GROUP]
    last = pairs([len(GROUP) - 1], len(GROUP))
    return [
        *cases,
        *(scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()),
        replay_case("node, publication", seen, adjacent=pairs([1]), limits={1: 0.0}),
        statistical_case("node, publication", seen, adjacent=pairs([1, 3, 4]), claimed=claims, samples=30_000),
        statistical_case("node, one item of a group", seen_of_a_group, adjacent=last, claimed=of_group, samples=30_000),
    ]
