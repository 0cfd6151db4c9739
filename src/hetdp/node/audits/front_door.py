"""What a node publishes, by the front door: a store with a profile, epochs that pass, and what its ledger then says."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, behind, told_otherwise
from hetdp.auditing.registry import Case, scale_case, statistical_case
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.node import publication
from hetdp.node.audits.bits import DIALS, pairs
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.publication import publish
from hetdp.node.storage.ledger import LossLedger
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bits import unpack

__all__ = ["FRONT_DOORS", "MUTANTS", "audit_cases", "seen"]

#: Items of the catalogue, of which a profile has as many as it may, half of them at a dial of 40.
_ITEMS, _OWN, _DIAL = 60_000, 20_000, 40
_EPOCHS, _EPOCH_S = 20, 100
_EPSILON = Fraction(2)


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
    listed = [place for place, there in enumerate(profile) if there >= 0.5]  # noqa: PLR2004  (indicators)
    chosen = {place + len(dials) * copy: dials[place] for copy in range(copies) for place in listed}
    with _node(len(dials) * copies, chosen, stream, epsilon) as (_, sketches):
        drawn = [next(sketches).reshape(copies, -1) for _ in range(-(-size // copies))]
    return np.concatenate(drawn)[:size].astype(np.float64)


def _seen(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the sketches of items of all kinds of dials."""
    return seen(profile, size, random_state)


#: The only way out of a node.
FRONT_DOORS: dict[str, FrontDoor] = {"node, publication": _published}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node's publication, for the battery."""
    if size == "quick":
        return []
    claims = [float(_EPSILON) * dial / FULL_DIAL for dial in DIALS]
    told = statistical_case("node, publication", _seen, adjacent=pairs([1, 3, 4]), claimed=claims, samples=30_000)
    return [*(scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()), told]


def _sharper(epsilon: Fraction) -> Fraction:
    return epsilon * Fraction(102, 100)


#: A node's publication, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    behind(_published, "epochs 2 % too sharp", publication, draw_bits=told_otherwise(epsilon=_sharper)),
    behind(
        _published,
        "epochs at half price",
        LossLedger,
        charge=lambda real: lambda ledger, dials: real(ledger, dials // 2),
    ),
)
