"""The dial of an item: its weight in whole percent, as the owner sets it and the ledger charges it.

Bits are drawn for the weight rounded down to steps of 1/255, as everywhere (`profiles.steps`); a charge of dial/100
is therefore never below the real loss.
"""

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.sketching.bit_law import USUAL_TUNING
from hetdp.sketching.drawing import toss_bits

#: The dial of an item that is protected like any other.
FULL_DIAL = 100
#: A weight below this power of ten is below every dial but 0.
_LEAST_POWER = -2
#: The weight of each dial in steps of 1/255: the exact floor of dial * 255 / 100.
_CODES = (np.arange(FULL_DIAL + 1) * WEIGHT_STEPS // FULL_DIAL).astype(np.uint8)


def as_dial(weight: str | float) -> int:
    """Return a weight in [0, 1] as a dial, rounded down: an item never counts for more than its owner said."""
    text = str(weight).strip() or "1"
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not 0 <= number <= 1:
        raise InvalidInput("must be a number from 0 to 1", parameter="weight")
    if not number or number.adjusted() < _LEAST_POWER:  # as a fraction, 1e-999999999 would fill the memory
        return 0
    return math.floor(Fraction(number) * FULL_DIAL)


def weight_of(dial: int) -> float:
    """Return the weight that bits are drawn for: the dial, rounded down to steps of 1/255.

    Examples
    --------
    >>> weight_of(100), weight_of(20), weight_of(50) < 0.5
    (1.0, 0.2, True)
    """
    return int(_CODES[dial]) / WEIGHT_STEPS


def draw_bits(
    dials: NDArray[np.uint8], *, epsilon: Fraction, stream: Stream, tuned_for: Fraction = USUAL_TUNING
) -> NDArray[np.bool_]:
    """Draw the bits that a node publishes: one per catalogue item, from its dial; 0 for items that do not count.

    Privacy
    -------
    Item i loses at most epsilon * dial_i / 100, once, against everybody together. An item of dial 0 leaves every bit
    the same for the same stream. One random word per catalogue item, and the same work, whatever the profile.
    """
    return toss_bits(_CODES[dials], epsilon=epsilon, tuned_for=tuned_for, stream=stream)
