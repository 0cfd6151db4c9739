"""Numbers in words, said the same way everywhere: counts, lists, durations, sizes, estimates; and texts fit to show."""

import math
from collections.abc import Sequence

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_BILLION = 1_000_000_000


def agreeing(number: int, one: str, many: str = "") -> str:
    """Return a word in the singular or plural that fits a number; `many` is for a plural that does not just end in s.

    Examples
    --------
    >>> agreeing(1, "seems", "seem"), agreeing(2, "row"), agreeing(0, "row")
    ('seems', 'rows', 'rows')
    """
    return one if number == 1 else many or one + "s"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and its noun; `many` is for a plural that does not just end in s."""
    noun = agreeing(number, one, many)
    return f"{number:,} {noun}" if number else f"no {noun}"


def listed(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence: tea, milk and rum."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def several(protected: str) -> str:
    """Return the plural of what is protected.

    Examples
    --------
    >>> several("person"), several("row")
    ('people', 'rows')
    """
    return {"person": "people"}.get(protected, f"{protected}s")


def printable(text: str) -> str:
    """Return a text without what moves the cursor of a terminal, or has no place in a document.

    Examples
    --------
    >>> printable(f"tea{chr(27)}[2J").isprintable()
    True
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def as_precise(*numbers: float | None) -> list[str]:
    """Return an estimate and its interval, as precise as the interval is narrow; a number alone in six digits.

    Examples
    --------
    >>> as_precise(34.23456, 31.9, 36.5), as_precise(1234.5678), as_precise(None, None)
    (['34.2', '31.9', '36.5'], ['1,234.57'], ['', ''])
    """
    known = [number for number in numbers if number is not None]
    reach = max(known) - min(known) if len(known) > 1 else 0.0
    places = max(0, 1 - math.floor(math.log10(reach))) if reach else None
    return [
        "" if number is None else f"{number:,.6g}" if places is None else f"{number:,.{places}f}" for number in numbers
    ]


def short_number(number: float) -> str:
    """Return a number with three digits, or all those before the point."""
    if number > _BILLION:
        return "more than a billion"
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"  # noqa: PLR2004  (where three digits are too few)


def duration(seconds: float) -> str:
    """Return a known duration with its two largest units: 4 min 10 s."""
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
    """Return an estimated duration, as precise as an estimate is: 42 s, 8 min, 2.5 h."""
    if seconds < _MINUTE:
        return "a second" if seconds <= 1 else f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


def byte_size(count: int) -> str:
    """Return a number of bytes with its unit."""
    if count >= 2**30:
        return f"{count / 2**30:.1f} GiB"
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.0f} {unit}"
    return f"{count} B"
