"""One sketch of a node, read from the published bytes.

The profile says which of six catalogue items are listed, each with a dial. Bits are drawn independently, so many copies
of the six items in one sketch are as many runs.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, statistical_case, weight_zero_case, without
from hetdp.core.randomness import RandomState, as_stream
from hetdp.node.audit_cases import DIALS
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.sketching.drawing import pack, unpack
from tests.privacy.internals import SAMPLES

#: Of one sketch at epsilon 1.
CLAIMS = [dial / FULL_DIAL for dial in DIALS]


def published_bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return `size` sketches of a list of items with their dials, as others read them."""
    dials = np.where(np.array(profile) >= 0.5, DIALS, 0).astype(np.uint8)
    bits = draw_bits(np.tile(dials, size), epsilon=Fraction(1), stream=as_stream(random_state))
    return unpack(pack(bits), bits.size).reshape(size, -1).astype(np.float64)


_NAME, _N_ITEMS = "node, one published sketch", len(DIALS)

CASES: list[Case] = [
    statistical_case(
        _NAME, published_bits, adjacent=without(range(_N_ITEMS), _N_ITEMS), claimed=CLAIMS, samples=SAMPLES
    ),
    weight_zero_case(_NAME, published_bits, 1, _N_ITEMS),
]
