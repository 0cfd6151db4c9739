"""The signed sketch of one epoch, as it travels, and the checks of everybody else's."""

import math
from fractions import Fraction
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.node.protocol import Refused
from hetdp.node.protocol.coding import SketchCode, sketch_code
from hetdp.node.protocol.identity import Identity, check_signature
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import NetworkParameters, sketch_bytes
from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one, contrast
from hetdp.sketching.drawing import pack

#: Standard deviations of a sketch's ones beyond what any profile explains: happens once in 10**15 honest sketches.
_IMPLAUSIBLE = 8.0


def sign_sketch(
    bits: NDArray[np.bool_],
    *,
    epoch: int,
    identity: Identity,
    network: NetworkParameters,
    invitation: bytes = b"",
    catalogue: bytes = b"",
) -> SignedSketch:
    """Return the signed sketch that is published; `catalogue` is the digest of the version it is for."""
    unsigned = SignedSketch(identity.key, epoch, pack(bits), invitation, b"", catalogue)
    return msgspec.structs.replace(unsigned, signature=identity.sign(unsigned.text(network.id)))


def shortened(sketch: SignedSketch, *, network: NetworkParameters, size: int) -> SignedSketch:
    """Return a sketch as it is sent: its bits coded where that saves much and they fit. Signed are the bits."""
    return msgspec.structs.replace(sketch, bits=_code(network, size).shorten(sketch.bits))


def restored(sketch: SignedSketch, *, network: NetworkParameters, size: int) -> SignedSketch:
    """Return a sketch that was sent, its bits as they were; refuse bits that nobody sends."""
    try:
        return msgspec.structs.replace(sketch, bits=_code(network, size).restore(sketch.bits))
    except InvalidInput as error:
        raise Refused(str(error)) from None


def _code(network: NetworkParameters, size: int) -> SketchCode:
    return sketch_code(size, epsilon=network.epsilon, most_items=network.most_items, tuned_for=network.tuned_for)


def check_sketch(sketch: SignedSketch, *, network: NetworkParameters, network_id: bytes, size: int) -> None:
    """Refuse a sketch of the wrong length, one that no profile explains, and one that its node did not sign.

    `size` is how many items the catalogue has in the version that the sketch is for.

    A sketch of ones would be everybody's neighbour; so its number of ones must fit a profile of at most
    `network.most_items` items.
    """
    if len(sketch.bits) != sketch_bytes(size):
        raise Refused(f"a sketch must be {sketch_bytes(size)} bytes. Got {len(sketch.bits)} instead.")
    if sketch.bits[-1] >> ((size - 1) % 8 + 1):
        raise Refused("the spare bits of a sketch must be 0. Got others instead.")
    ones = int.from_bytes(sketch.bits, "little").bit_count()
    most = min(network.most_items, size)
    low, high = plausible_ones(network.epsilon, size, most, network.tuned_for)
    if not low <= ones <= high:
        raise Refused("a sketch must have a number of ones that a profile explains. Got another instead.")
    if not check_signature(sketch.key, sketch.text(network_id), sketch.signature):
        raise Refused("a sketch must be signed by its node. Got another signature instead.")


@lru_cache(maxsize=64)
def plausible_ones(
    epsilon: Fraction, size: int, most_items: int, tuned_for: Fraction = USUAL_TUNING
) -> tuple[float, float]:
    """Return the least and the largest number of ones that an honest sketch may have."""
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    slack = _IMPLAUSIBLE * math.sqrt(size * q * (1 - q)) + _IMPLAUSIBLE
    return size * q - slack, size * q + most_items * contrast(epsilon, tuned_for=tuned_for) + slack
