"""Drawings as plain numbers for the templates: curves of losses, traffic, intervals, a sketch, faces for keys."""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WIDTH = 640.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 628.0, 12.0, 210.0
_MOST_TICKS = 6
_LARGEST_DOT, _WIDEST_SKETCH = 8, 960
#: Dots of at least so many pixels have a gap between them, so that they can be counted.
_SEPARATE = 3


@dataclass(frozen=True, slots=True, repr=False)
class LossCurve:
    """Items that have lost the same over time: one line of the chart."""

    path: str
    places: tuple[int, ...]
    spent: float


@dataclass(frozen=True, slots=True, repr=False)
class LossChart:
    """Losses over epochs: lines, ticks, and the height of the limit."""

    curves: tuple[LossCurve, ...]
    across: tuple[tuple[float, int], ...]
    upward: tuple[tuple[float, str], ...]
    limit_y: float
    limit: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A bar with an uncertainty, in percent of its width."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Face:
    """A small symmetric picture that stands for a key: a hue and the filled cells of a 5 x 5 grid."""

    hue: int
    cells: tuple[tuple[int, int], ...]


def loss_chart(charges: Iterable[tuple[int, int, float]], epochs: Sequence[int], limit: float) -> LossChart:
    """Draw the lifetime loss of each item over the epochs; items with the same history share a line.

    Charges are (epoch, place, loss), oldest first; epochs, of which there must be one, those of published sketches.
    """
    history: dict[int, list[tuple[int, float]]] = {}
    for epoch, place, loss in charges:
        history.setdefault(place, []).append((epoch, loss))
    together: dict[tuple[tuple[int, float], ...], list[int]] = {}
    for place, losses in history.items():
        together.setdefault(tuple(losses), []).append(place)
    most = max([limit, *(math.fsum(loss for _, loss in shared) for shared in together)]) or 1.0
    first, last = epochs[0] - 1, epochs[-1]
    step = (_RIGHT - _LEFT) / (last - first)

    def x(epoch: float) -> float:
        return round(_LEFT + (epoch - first) * step, 1)

    def y(loss: float) -> float:
        return round(_BOTTOM - loss / (1.08 * most) * (_BOTTOM - _TOP), 1)

    curves = []
    for shared, places in together.items():
        total, parts = 0.0, [f"M{x(shared[0][0] - 1)} {y(0.0)}"]
        for epoch, loss in shared:
            # A slope within the epoch rather than a step: it reads as time going on, and lines stay apart.
            parts += [f"L{x(epoch - 1)} {y(total)}", f"L{x(epoch)} {y(total + loss)}"]
            total += loss
        parts.append(f"L{x(last)} {y(total)}")
        curves.append(LossCurve(" ".join(parts), tuple(places), total))
    curves.sort(key=lambda curve: (-curve.spent, curve.places))
    every = -(-(last - first) // _MOST_TICKS)
    across = tuple((x(epoch), epoch) for epoch in range(last, first, -every))
    height = _nice(most / 4)
    upward = tuple((y(level * height), f"{level * height:g}") for level in range(int(1.08 * most / height) + 1))
    return LossChart(tuple(curves), across, upward, y(limit), limit)


def interval(estimate: float, error: float, whole: float) -> Interval:
    """Return the bar of an estimate and about 95 % of its uncertainty, cut to what is possible."""
    low, middle, high = (
        round(100.0 * min(1.0, max(0.0, value / whole if whole else 0.0)), 2)
        for value in (estimate - 2 * error, estimate, estimate + 2 * error)
    )
    return Interval(low, middle, high)


def face(key_hex: str) -> Face:
    """Return the picture of a key."""
    key = bytes.fromhex(key_hex)
    bits = int.from_bytes(key[1:3])
    cells = [
        (column, row)
        for row in range(5)
        for column in range(5)
        if bits >> (row * 3 + min(column, 4 - column)) & 1  # mirrored: faces are easier to tell apart than noise
    ]
    return Face(key[0] * 360 // 256, tuple(cells))


def sketch_image(bits: NDArray[np.bool_], *, colour: tuple[int, int, int] = (63, 138, 118)) -> tuple[str, int]:
    """Return a sketch as a PNG in a data address, one dot per catalogue item, and how wide to show it, in pixels."""
    width = min(bits.size, math.ceil(math.sqrt(8.0 * bits.size)))  # eight times as wide as high
    height = -(-bits.size // width)
    padded = np.zeros(width * height, dtype=np.bool_)
    padded[: bits.size] = bits
    dot = max(1, min(_LARGEST_DOT, _WIDEST_SKETCH // width))  # whole pixels: dots of one size
    ink = np.ones((dot, dot), dtype=np.bool_)
    if dot >= _SEPARATE:
        ink[-1 - dot // 8 :] = ink[:, -1 - dot // 8 :] = False
    rows = np.packbits(np.kron(padded.reshape(height, width), ink), axis=1)
    lines = np.concatenate([np.zeros((len(rows), 1), dtype=np.uint8), rows], axis=1)  # filter 0 before each line
    parts: Mapping[bytes, bytes] = {
        b"IHDR": struct.pack(">IIBBBBB", width * dot, height * dot, 1, 3, 0, 0, 0),
        b"PLTE": bytes((*colour, *colour)),
        b"tRNS": b"\x00\xff",
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    return "data:image/png;base64," + base64.b64encode(png).decode(), width * dot


def _nice(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least the step."""
    scale = 10.0 ** math.floor(math.log10(step))
    return next(scale * part for part in (1, 2, 5, 10) if scale * part >= step * (1 - 1e-9))
