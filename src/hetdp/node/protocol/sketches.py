"""The sketch of one epoch: exact coins, packed, signed; and the checks of everybody else's.

The dial of an item is a whole number of hundredths of its weight, so there are 101 kinds of coins, all made for every
sketch: neither the random words nor the work depend on which items a profile holds or how their dials stand.
"""

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.sketching import one_with
from hetdp.node.protocol.identity import Identity, check_signature
from hetdp.node.protocol.messages import Refused, SignedSketch
from hetdp.node.protocol.network import Network
from hetdp.noise.coins import Probability, toss_kinds

__all__ = ["FULL_DIAL", "as_dial", "chance_of_one", "check_sketch", "draw_bits", "pack", "sign_sketch", "unpack"]

#: The dial of an item that is protected like any other.
FULL_DIAL = 100
#: Standard deviations of a sketch's ones beyond what any profile explains: happens once in 10**15 honest sketches.
_IMPLAUSIBLE = 8.0


def as_dial(weight: str | float) -> int:
    """Return a weight in [0, 1] as a dial, rounded down: an item never counts for more than its owner said.

    Examples
    --------
    >>> as_dial(1.0), as_dial("0.29"), as_dial(0.999), as_dial("")
    (100, 29, 99, 100)
    """
    text = str(weight).strip() or "1"
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not 0 <= number <= 1:
        raise InvalidInput("weight must be a number from 0 to 1. Got another instead.")
    return math.floor(number * FULL_DIAL)


@lru_cache(maxsize=8)
def _coins(epsilon: Fraction) -> list[Probability]:
    # The first digits are asked for with every sketch, those behind them almost never.
    return [lru_cache(maxsize=4)(one_with(epsilon, Fraction(dial, FULL_DIAL))) for dial in range(FULL_DIAL + 1)]


def chance_of_one(epsilon: Fraction, dial: int = 0) -> float:
    """Return the probability that the bit of a present item is 1, as a float; dial 0 is also that of an absent item.

    Privacy
    -------
    For estimates only; bits are drawn with the exact probability.

    Examples
    --------
    >>> round(chance_of_one(Fraction(3)), 4), round(chance_of_one(Fraction(3), 100), 4)
    (0.0474, 0.9526)
    """
    level = float(epsilon)
    return math.exp(-level * (1 - dial / FULL_DIAL)) / (1.0 + math.exp(-level))


def draw_bits(
    dials: Mapping[int, int] | NDArray[np.uint8], *, epsilon: Fraction, size: int, stream: Stream
) -> NDArray[np.bool_]:
    """Draw the bits of a sketch: one per catalogue item.

    Parameters
    ----------
    dials
        One per catalogue item, 0 for absent ones: then the work is the same for every profile. Or, for simulations,
        place in the catalogue -> dial, for the items of the profile.
    epsilon, size
        Public: level of the network and number of catalogue items.
    stream
        The secure stream, except in simulations.

    Privacy
    -------
    Bit i is 1 with probability q exp(epsilon v_i), q = 1/(1+exp(epsilon)), where v_i is dial/100 and 0 for absent
    items: both likelihood ratios are at most exp(epsilon v_i) (docs/proofs/mechanisms.md). An item of dial 0 leaves
    every bit the same for the same stream. One random word per catalogue item, whatever the profile.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> draw_bits({0: 100, 2: 0}, epsilon=Fraction(9), size=4, stream=seeded_stream(1))
    array([ True, False, False, False])
    """
    if isinstance(dials, Mapping):
        which = np.zeros(size, dtype=np.intp)
        for place, dial in dials.items():
            which[place] = dial
    else:
        which = dials.astype(np.intp)
    return toss_kinds(_coins(epsilon), which, stream)


def pack(bits: NDArray[np.bool_]) -> bytes:
    r"""Return bits as bytes, first item in the lowest bit; what is left of the last byte is 0.

    Examples
    --------
    >>> pack(np.array([True, False, True]))
    b'\x05'
    """
    return np.packbits(bits, bitorder="little").tobytes()


def unpack(packed: bytes, size: int) -> NDArray[np.bool_]:
    r"""Return the bits of a packed sketch.

    Examples
    --------
    >>> unpack(b"\x05", 3)
    array([ True, False,  True])
    """
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=size, bitorder="little").view(np.bool_)


def sign_sketch(
    bits: NDArray[np.bool_], *, epoch: int, identity: Identity, network: Network, invitation: bytes = b""
) -> SignedSketch:
    """Return the signed sketch that is published."""
    unsigned = SignedSketch(identity.key, epoch, pack(bits), invitation, b"")
    return SignedSketch(identity.key, epoch, unsigned.bits, invitation, identity.sign(unsigned.text(network.id)))


def check_sketch(sketch: SignedSketch, *, network: Network, network_id: bytes) -> None:
    """Refuse a sketch of the wrong length, one that no profile explains, and one that its node did not sign.

    A sketch of ones would be everybody's neighbour; so its number of ones must fit a profile of at most
    `network.most_items` items.
    """
    if len(sketch.bits) != network.sketch_bytes:
        raise Refused(f"a sketch must be {network.sketch_bytes} bytes. Got {len(sketch.bits)} instead.")
    if sketch.bits[-1] >> ((network.items - 1) % 8 + 1):
        raise Refused("the spare bits of a sketch must be 0. Got others instead.")
    ones = int.from_bytes(sketch.bits, "little").bit_count()
    low, high = plausible_ones(network.epsilon, network.items, min(network.most_items, network.items))
    if not low <= ones <= high:
        raise Refused("a sketch must have a number of ones that a profile explains. Got another instead.")
    if not check_signature(sketch.key, sketch.text(network_id), sketch.signature):
        raise Refused("a sketch must be signed by its node. Got another signature instead.")


@lru_cache(maxsize=64)
def plausible_ones(epsilon: Fraction, size: int, most_items: int) -> tuple[float, float]:
    """Return the least and the largest number of ones that an honest sketch may have.

    Examples
    --------
    >>> low, high = plausible_ones(Fraction(3), 50_000, 1000)
    >>> round(low), round(high)
    (1983, 3665)
    """
    q = chance_of_one(epsilon)
    slack = _IMPLAUSIBLE * math.sqrt(size * q * (1 - q)) + _IMPLAUSIBLE
    return size * q - slack, size * q + most_items * (1 - 2 * q) + slack
