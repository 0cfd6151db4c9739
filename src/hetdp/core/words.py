"""Numbers in words, said the same way everywhere: counts, lists, durations, sizes."""

import math
from collections.abc import Sequence

__all__ = ["byte_size", "counted", "duration", "listed", "rough_duration", "short_number"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_BILLION = 1_000_000_000


def counted(number: int, one: str, many: str = "") -> str:
    """Return so many of something; `many` is for a plural that does not just end in s.

    Examples
    --------
    >>> counted(1, "item"), counted(12000, "item"), counted(0, "sketch", "sketches")
    ('1 item', '12,000 items', 'no sketches')
    """
    noun = one if number == 1 else many or one + "s"
    return f"{number:,} {noun}" if number else f"no {noun}"


def listed(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence.

    Examples
    --------
    >>> listed(["tea", "milk", "rum"])
    'tea, milk and rum'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def short_number(number: float) -> str:
    """Return a number with three digits, or all those before the point.

    Examples
    --------
    >>> short_number(4.5), short_number(0.1234), short_number(999.6), short_number(99999.0), short_number(1e300)
    ('4.5', '0.123', '1,000', '99,999', 'more than a billion')
    """
    if number > _BILLION:
        return "more than a billion"
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"  # noqa: PLR2004  (where three digits are too few)


def duration(seconds: float) -> str:
    """Return a known duration with its two largest units.

    Examples
    --------
    >>> duration(5), duration(250), duration(7500), duration(200000), duration(3600)
    ('5 s', '4 min 10 s', '2 h 5 min', '2 days 7 h', '1 h')
    """
    left = max(0, math.floor(seconds))
    days, hours, minutes = left // _DAY, left % _DAY // _HOUR, left % _HOUR // _MINUTE
    parts = [
        (days, counted(days, "day")),
        (hours, f"{hours} h"),
        (minutes, f"{minutes} min"),
        (left % _MINUTE, f"{left % _MINUTE} s"),
    ]
    first = next((place for place, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(text for count, text in parts[first : first + 2] if count) or "0 s"


def rough_duration(seconds: float) -> str:
    """Return an estimated duration, as precise as an estimate is.

    Examples
    --------
    >>> rough_duration(0.4), rough_duration(42), rough_duration(500), rough_duration(9000)
    ('a second', '42 s', '8 min', '2.5 h')
    """
    if seconds < _MINUTE:
        return "a second" if seconds <= 1 else f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


def byte_size(count: int) -> str:
    """Return a number of bytes with its unit.

    Examples
    --------
    >>> byte_size(900), byte_size(15300), byte_size(5 * 2**20), byte_size(3 * 2**29)
    ('900 B', '15 KiB', '5 MiB', '1.5 GiB')
    """
    if count >= 2**30:
        return f"{count / 2**30:.1f} GiB"
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.0f} {unit}"
    return f"{count} B"
