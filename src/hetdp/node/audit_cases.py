"""Audit cases of a node: its sketches, drawn alone and published through its store, and what its ledger charges.

The profile says which of six catalogue items are listed, each with a dial. The output is their bits, read from the
published bytes. Bits are drawn independently, so many copies of the six items in one sketch are as many runs.
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

from hetdp.auditing.audit_all import SAMPLES, Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.publication import publish
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.drawing import pack, unpack

#: From hidden to full; 29 is none of the steps of 1/255.
DIALS = (80, 0, 29, FULL_DIAL, 50, 1)
#: Of one sketch at epsilon 1.
CLAIMS = [dial / FULL_DIAL for dial in DIALS]
#: Ten items at full dial and one at 10, at epsilon 3: the loss of one does not depend on the others.
GROUP = (*(FULL_DIAL,) * 10, 10)
_EPSILON, _GROUP_EPSILON = Fraction(2), Fraction(3)
#: Items of the catalogue, of which a profile has as many as it may, half of them at a dial of 40.
_ITEMS, _OWN, _DIAL = 60_000, 20_000, 40
_EPOCHS, _EPOCH_S = 20, 100
#: An indicator from here on says that an item is listed.
_PRESENT = 0.5


def published_bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return `size` sketches of a list of items with their dials, as others read them."""
    dials = np.where(np.array(profile) >= _PRESENT, DIALS, 0).astype(np.uint8)
    bits = draw_bits(np.tile(dials, size), epsilon=Fraction(1), stream=as_stream(random_state))
    return unpack(pack(bits), bits.size).reshape(size, -1).astype(np.float64)


@contextmanager
def _node(
    n_items: int, dials: Mapping[int, int], stream: Stream, epsilon: Fraction = _EPSILON
) -> Iterator[tuple[NodeStore, Iterator[NDArray[np.bool_]]]]:
    """Make a node with a profile; return its store, and the sketches that others read, one per epoch."""
    network = NetworkParameters(
        name="audit", catalogue="items.csv", catalogue_sha256="0" * 64, items=n_items, epsilon=epsilon,
        epoch_start_s=0, epoch_length_s=_EPOCH_S,
    )  # fmt: skip
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(n_items)]
    identity = Identity.generate(stream)

    def sketches(store: NodeStore) -> Iterator[NDArray[np.bool_]]:
        for epoch in itertools.count():
            now_s = epoch * _EPOCH_S + 1.0
            sketch = publish(
                store, identity=identity, network=network, now_s=now_s, uptime=Uptime("audit", now_s), stream=stream,
                simulation=True,
            )  # fmt: skip
            assert sketch is not None  # noqa: S101  (an epoch has begun)
            yield unpack(sketch.bits, n_items)

    with (
        TemporaryDirectory() as folder,
        NodeStore.make(Path(folder) / "node.db", network, items, default_limit=1e6) as store,
    ):
        store.profile.set_dials(dials)
        yield store, sketches(store)


def _published(random_state: RandomState) -> list[Reached]:
    """Measure the sketches of some epochs; the ledger says what all of them together have spent."""
    dials = {place: _DIAL if place % 2 else FULL_DIAL for place in range(_OWN)}
    with _node(_ITEMS, dials, as_stream(random_state)) as (store, sketches):
        bits = np.stack(list(itertools.islice(sketches, _EPOCHS)))
        spent = store.ledger.spent()
    epsilon, part = (spent[place] / _EPOCHS for place in (0, 1))
    rare = 1 / (1 + math.exp(epsilon))
    absent_or_full = np.concatenate([bits[:, _OWN:].ravel(), ~bits[:, :_OWN:2].ravel()])
    # A dial of 40 is 102 steps of 1/255, so that nothing is rounded.
    chance = min(1.0, rare * math.exp(part))
    return [
        Reached("bits of absent items and of dial 100", absent_or_full, "coins", rare),
        Reached(f"bits of dial {_DIAL}", bits[:, 1:_OWN:2].ravel(), "coins", chance),
    ]


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
PUBLIC_CALLS: dict[str, PublicCall] = {"node, publication": _published}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node."""
    name, n_items = "node, one published sketch", len(DIALS)
    everyone, last = without(range(n_items), n_items), without([len(GROUP) - 1], len(GROUP))
    cases = [
        statistical_case(name, published_bits, adjacent=everyone, claimed=CLAIMS, samples=SAMPLES[size]),
        weight_zero_case(name, published_bits, 1, n_items),
    ]
    if size == "quick":
        return cases
    some, claims = without([1, 3, 4], n_items), [float(_EPSILON) * claim for claim in CLAIMS]
    of_group = [float(_GROUP_EPSILON) * dial / FULL_DIAL for dial in GROUP]
    return [
        *cases,
        *(scale_case(way, call) for way, call in PUBLIC_CALLS.items()),
        weight_zero_case("node, publication", seen, 1, n_items),
        statistical_case("node, publication", seen, adjacent=some, claimed=claims, samples=30_000),
        statistical_case("node, one item of a group", seen_of_a_group, adjacent=last, claimed=of_group, samples=30_000),
    ]
