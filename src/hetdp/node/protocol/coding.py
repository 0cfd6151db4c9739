"""Sketches on their way: coded into one fixed public size where that saves much, and raw where it does not.

A sketch has few ones where epsilon is large, so the gaps between them take fewer bits than the bits themselves. A gap g
is written in two parts (Golomb and Rice): its lowest m digits as they are, and the rest as a number of zeros and a one.
First the number of ones, then the low digits of all gaps, then the rest of all gaps, then zeros up to the fixed size.

Size and m are functions of public numbers: length of the catalogue, epsilon, what sketches are tuned for, the largest
profile. There is room for the sketch of a profile a quarter as large as that; what does not fit is sent raw, the one
other size. No sketch is drawn again to make it fit. Each sketch has one form: whatever else would mean the same is
refused.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one, contrast

#: Coded sketches are sent where they take at most this share of the raw bytes.
_WORTH_IT = 0.75
#: There is room for profiles of the largest size divided by this.
_USUAL_SHARE = 4
#: Standard deviations of ones, and of the bits that their gaps take, that there is room for.
_SPREAD = 4.0
#: Bytes that say how many ones there are; a catalogue has at most a million items.
_COUNT_BYTES = 3
_MOST_LOW_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SketchCode:
    """How sketches of one length are sent.

    Attributes
    ----------
    size
        Items of the catalogue, bits of the sketch.
    low_digits
        So many digits of a gap are written as they are.
    coded_bytes
        Length of every coded sketch; None where all are sent raw.

    Examples
    --------
    >>> code = sketch_code(50_000, epsilon=Fraction(3), most_items=1000)
    >>> sketch = np.packbits(np.arange(50_000) % 20 == 0, bitorder="little").tobytes()
    >>> sent = code.shorten(sketch)
    >>> len(sketch), len(sent), code.restore(sent) == sketch
    (6250, 2006, True)
    """

    size: int
    low_digits: int
    coded_bytes: int | None

    @property
    def raw_bytes(self) -> int:
        """Length of every sketch that is sent as it is."""
        return -(-self.size // 8)

    def shorten(self, raw: bytes) -> bytes:
        """Return what is sent for a sketch: its coded form if that fits, else the sketch itself."""
        coded = self._coded(raw)
        return raw if coded is None else coded

    def restore(self, sent: bytes) -> bytes:
        """Return the sketch that was sent, or refuse what no sender makes of one. Bounded work, whatever it is."""
        if self.coded_bytes is not None and len(sent) == self.coded_bytes:
            return self._decoded(sent)
        if len(sent) != self.raw_bytes:
            raise InvalidInput(f"a sketch must be {self._sizes()} bytes", got=len(sent))
        if sent[-1] >> ((self.size - 1) % 8 + 1):
            raise InvalidInput("the spare bits of a sketch must be 0")
        if self._coded(sent) is not None:
            raise InvalidInput("a sketch that fits must be sent coded (got a raw one)")
        return sent

    def _coded(self, raw: bytes) -> bytes | None:
        if self.coded_bytes is None:
            return None
        bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=self.size, bitorder="little")
        places = np.flatnonzero(bits)
        gaps = np.diff(places, prepend=-1) - 1
        ends = np.cumsum((gaps >> self.low_digits) + 1) - 1
        low = places.size * self.low_digits
        out = np.zeros(8 * (self.coded_bytes - _COUNT_BYTES), dtype=np.uint8)
        if places.size and low + ends[-1] >= out.size:
            return None
        out[:low] = ((gaps[:, None] >> np.arange(self.low_digits)) & 1).reshape(-1)
        out[low + ends] = 1
        return places.size.to_bytes(_COUNT_BYTES, "little") + np.packbits(out, bitorder="little").tobytes()

    def _decoded(self, sent: bytes) -> bytes:
        count = int.from_bytes(sent[:_COUNT_BYTES], "little")
        bits = np.unpackbits(np.frombuffer(sent, dtype=np.uint8, offset=_COUNT_BYTES), bitorder="little")
        low = count * self.low_digits
        ends = np.flatnonzero(bits[low:])
        if ends.size != count:
            raise InvalidInput("a coded sketch must say how many ones it has (got another number)")
        digits = bits[:low].reshape(count, self.low_digits).astype(np.int64)
        gaps = ((np.diff(ends, prepend=-1) - 1) << self.low_digits) + digits @ (1 << np.arange(self.low_digits))
        places = np.cumsum(gaps + 1) - 1
        if count and places[-1] >= self.size:
            raise InvalidInput(f"a coded sketch must have {self.size} bits")
        sketch: NDArray[np.uint8] = np.zeros(self.size, dtype=np.uint8)
        sketch[places] = 1
        return np.packbits(sketch, bitorder="little").tobytes()

    def _sizes(self) -> str:
        return str(self.raw_bytes) if self.coded_bytes is None else f"{self.coded_bytes} or {self.raw_bytes}"


@lru_cache(maxsize=256)
def sketch_code(size: int, *, epsilon: Fraction, most_items: int, tuned_for: Fraction = USUAL_TUNING) -> SketchCode:
    """Return how sketches of `size` bits are sent in a network whose profiles have at most `most_items`.

    A function of public numbers, the same for every node.

    Examples
    --------
    >>> [sketch_code(10_000, epsilon=Fraction(level), most_items=1000).coded_bytes for level in (1, 2, 3, 5)]
    [None, 804, 524, 292]
    """
    usual = max(1, min(most_items, size) // _USUAL_SHARE)
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    ones = size * q + usual * contrast(epsilon, tuned_for=tuned_for)
    ones = min(size - 0.5, ones + _SPREAD * math.sqrt(size * q * (1 - q)) + 1)
    bits, digits = min((_bits(size, ones, digits), digits) for digits in range(_MOST_LOW_DIGITS + 1))
    coded = _COUNT_BYTES + math.ceil(bits / 8)
    return SketchCode(size, digits, coded if coded <= _WORTH_IT * -(-size // 8) else None)


def _bits(size: int, ones: float, digits: int) -> float:
    """Return how many bits the gaps between ones take at most, or nearly: they are geometric."""
    longer = (1 - ones / size) ** (1 << digits)  # the chance that a gap goes on for another 2**digits
    rest = longer / (1 - longer)
    return ones * (digits + 1 + rest) + _SPREAD * math.sqrt(ones * longer) / (1 - longer)
