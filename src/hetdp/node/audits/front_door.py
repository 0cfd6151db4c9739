"""What a node publishes, by the front door: a store with a profile, epochs that pass, and what its ledger then says."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, behind
from hetdp.auditing.registry import Case, scale_case
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.randomness import RandomState, as_stream
from hetdp.node import publication
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.publication import publish
from hetdp.node.storage.ledger import LossLedger
from hetdp.node.storage.store import NodeStore
from hetdp.profiles.reading.catalogues import CatalogueItem
from hetdp.sketching.bits import unpack

__all__ = ["FRONT_DOORS", "MUTANTS", "audit_cases"]

#: Items of the catalogue, of which a profile has as many as it may, half of them at a dial of 40.
_ITEMS, _OWN, _DIAL = 60_000, 20_000, 40
_EPOCHS, _EPOCH_S = 20, 100


def _network() -> NetworkParameters:
    return NetworkParameters(
        name="audit", catalogue="items.csv", catalogue_sha256="0" * 64, items=_ITEMS, epsilon=Fraction(2),
        epoch_start_s=0, epoch_length_s=_EPOCH_S,
    )  # fmt: skip


def _published(random_state: RandomState) -> list[Reached]:
    """Look at the sketches of some epochs; what each costs is what the ledger says was lost by all of them."""
    network, stream, drawn = _network(), as_stream(random_state), []
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(_ITEMS)]
    who = Identity.generate(stream)
    with (
        TemporaryDirectory() as folder,
        NodeStore.make(Path(folder) / "node.db", network, items, default_limit=1e6) as store,
    ):
        own = np.arange(_OWN)
        store.profile.set_dials({int(place): _DIAL if place % 2 else FULL_DIAL for place in own})
        for epoch in range(_EPOCHS):
            now_s = epoch * _EPOCH_S + 1.0
            sketch = publish(store, identity=who, network=network, now_s=now_s, stream=stream, simulation=True)
            assert sketch is not None  # noqa: S101  (an epoch has begun)
            drawn.append(unpack(sketch.bits, _ITEMS))
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


#: The only way out of a node.
FRONT_DOORS: dict[str, FrontDoor] = {"node, publication": _published}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node's publication, for the battery."""
    return [] if size == "quick" else [scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()]


#: A node's publication, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    behind(
        _published,
        "epochs 2 % too sharp",
        publication,
        draw_bits=lambda real: (
            lambda dials, *, epsilon, stream: real(dials, epsilon=epsilon * Fraction(102, 100), stream=stream)
        ),
    ),
    behind(
        _published,
        "epochs at half price",
        LossLedger,
        charge=lambda real: lambda ledger, dials: real(ledger, dials // 2),
    ),
)
