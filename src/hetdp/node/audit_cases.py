"""Audit cases of a node: the sketches that it publishes, and what its ledger charges for them.

The profile says which of some catalogue items are listed, each with a dial. Bits are drawn independently, so many
copies of these items in one sketch are as many runs.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.publication import publish
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.drawing import unpack

#: From hidden to full; 29 is none of the steps of 1/255.
DIALS = (80, 0, 29, FULL_DIAL, 50, 1)
#: Ten items at full dial and one at 10, at epsilon 3: the loss of one does not depend on the others.
GROUP = (*(FULL_DIAL,) * 10, 10)
_EPSILON, _GROUP_EPSILON = Fraction(2), Fraction(3)
#: As many items as a profile may have, half of them at a dial of 40: 102 steps of 1/255, so that nothing is rounded.
_OWN, _DIAL = 20_000, 40
_EPOCH_S = 100


def _published(
    n_items: int, dials: Mapping[int, int], *, epochs: int, stream: Stream, epsilon: Fraction = _EPSILON
) -> tuple[NDArray[np.bool_], Mapping[int, float]]:
    """Return the sketches of a new node that others read, one per epoch, and what its ledger says they have spent."""
    network = NetworkParameters(
        name="audit", catalogue="items.csv", catalogue_sha256="0" * 64, items=n_items, epsilon=epsilon,
        epoch_start_s=0, epoch_length_s=_EPOCH_S,
    )  # fmt: skip
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(n_items)]
    identity, drawn = Identity.generate(stream), []
    with (
        TemporaryDirectory() as folder,
        NodeStore.make(Path(folder) / "node.db", network, items, default_limit=1e6) as store,
    ):
        store.profile.set_dials(dials)
        for epoch in range(epochs):
            now_s = epoch * _EPOCH_S + 1.0
            sketch = publish(
                store, identity=identity, network=network, now_s=now_s, uptime=Uptime("audit", now_s), stream=stream,
                simulation=True,
            )  # fmt: skip
            assert sketch is not None  # noqa: S101  (an epoch has begun)
            drawn.append(unpack(sketch.bits, n_items))
        return np.stack(drawn), store.ledger.spent()


def _sketches(random_state: RandomState, *, own: int = _OWN, epochs: int = 20) -> list[Reached]:
    """Measure the sketches of some epochs; two thirds of the catalogue are not listed."""
    dials = {place: _DIAL if place % 2 else FULL_DIAL for place in range(own)}
    bits, spent = _published(3 * own, dials, epochs=epochs, stream=as_stream(random_state))
    epsilon, part = (spent[place] / epochs for place in (0, 1))
    rare = 1 / (1 + math.exp(epsilon))
    absent_or_full = np.concatenate([bits[:, own:].ravel(), ~bits[:, :own:2].ravel()])
    return [
        Reached("bits of absent items and of dial 100", absent_or_full, "coins", rare),
        Reached(f"bits of dial {_DIAL}", bits[:, 1:own:2].ravel(), "coins", min(1.0, rare * math.exp(part))),
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
    copies = min(size, _OWN // len(dials))
    listed = np.flatnonzero(np.array(profile) >= 0.5).tolist()  # noqa: PLR2004  (an indicator)
    chosen = {place + len(dials) * copy: dials[place] for copy in range(copies) for place in listed}
    epochs, stream = -(-size // copies), as_stream(random_state)
    bits, _ = _published(len(dials) * copies, chosen, epochs=epochs, stream=stream, epsilon=epsilon)
    return bits.reshape(-1, len(dials))[:size].astype(np.float64)


seen_of_a_group = partial(seen, dials=GROUP, epsilon=_GROUP_EPSILON)

#: The only way out of a node.
PUBLIC_CALLS: dict[str, PublicCall] = {"node, publication": _sketches}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node."""
    name, n_items = "node, publication", len(DIALS)
    cases = [*(scale_case(way, call) for way, call in PUBLIC_CALLS.items()), weight_zero_case(name, seen, 1, n_items)]
    if size == "quick":
        return cases
    some, last = without([1, 3, 4], n_items), without([len(GROUP) - 1], len(GROUP))
    claims, of_group = (
        [float(epsilon) * dial / FULL_DIAL for dial in dials]
        for epsilon, dials in ((_EPSILON, DIALS), (_GROUP_EPSILON, GROUP))
    )
    return [
        *cases,
        statistical_case(name, seen, adjacent=some, claimed=claims, samples=30_000),
        statistical_case("node, one item of a group", seen_of_a_group, adjacent=last, claimed=of_group, samples=30_000),
    ]
