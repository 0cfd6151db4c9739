"""Small words of reports: lists and numbers of things."""

from collections.abc import Sequence

__all__ = ["counted", "listed"]


def listed(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence.

    Examples
    --------
    >>> listed(["tea", "milk", "rum"])
    'tea, milk and rum'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(number: int, noun: str) -> str:
    """Return so many of something.

    Examples
    --------
    >>> counted(1, "data set"), counted(1200, "run")
    ('1 data set', '1,200 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
