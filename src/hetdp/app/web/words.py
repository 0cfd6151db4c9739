"""Numbers in plain words: what a dial means, how odds change, how sure a likeness is, how long until when."""

import math
from datetime import datetime
from fractions import Fraction

from hetdp.peer.disclosure import most_odds_factor

__all__ = [
    "DIAL_NAMES",
    "PRESETS",
    "bytes_words",
    "chance_words",
    "count_words",
    "dial_effect",
    "dial_name",
    "duration_words",
    "factor_words",
    "moment_words",
    "neighbours_words",
    "percent_words",
    "updated_chance",
]

#: Lowest dial of each kind -> its name.
DIAL_NAMES: dict[int, str] = {
    0: "Never counts",
    1: "Barely counts",
    20: "Counts a little",
    45: "Counts half",
    65: "Counts for much",
    100: "Normal",
}
#: Dials that can be set for a whole group at once.
PRESETS = ((0, "Never"), (25, "A little"), (50, "Half"), (100, "Normal"))

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MILLION = 1_000_000


def dial_name(dial: int) -> str:
    """Return the name of a dial's place.

    Privacy
    -------
    For the owner's eyes.

    Examples
    --------
    >>> dial_name(0), dial_name(50), dial_name(100)
    ('Never counts', 'Counts half', 'Normal')
    """
    return DIAL_NAMES[max(lowest for lowest in DIAL_NAMES if dial >= lowest)]


def dial_effect(dial: int, epsilon: Fraction) -> str:
    """Say what a dial means for somebody who is curious about the item.

    Privacy
    -------
    The promise itself: the odds change by at most exp(epsilon dial/100) per epoch.

    Examples
    --------
    >>> dial_effect(0, Fraction(3))
    'No trace of it anywhere: nobody learns anything, and it is not used for you either.'
    >>> dial_effect(100, Fraction(3))
    "A sketch changes anyone's odds that you have it at most 20-fold."
    """
    if dial == 0:
        return "No trace of it anywhere: nobody learns anything, and it is not used for you either."
    return f"A sketch changes anyone's odds that you have it at most {factor_words(most_odds_factor(epsilon, dial))}."


def factor_words(factor: float) -> str:
    """Return a factor of at least 1 as "2.5-fold".

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> factor_words(1.0), factor_words(2.48), factor_words(20.09), factor_words(22026.5), factor_words(1e9)
    ('1-fold', '2.5-fold', '20-fold', '22,026-fold', 'more than a million-fold')
    """
    if factor >= _MILLION:
        return "more than a million-fold"
    if factor >= 9.95:  # noqa: PLR2004  (where one decimal would round to two digits)
        return f"{factor:,.0f}-fold"
    return f"{factor:.2g}-fold"


def updated_chance(before: float, factor: float) -> float:
    """Return the chance after odds were multiplied by a factor.

    Privacy
    -------
    What a curious peer would believe; it needs nothing that is not public except the dial.

    Examples
    --------
    >>> updated_chance(0.5, 3.0)
    0.75
    """
    return before * factor / (1.0 - before + before * factor)


def percent_words(chance: float) -> str:
    """Return a chance in percent, never rounded to certainty.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> percent_words(0.5), percent_words(0.0312), percent_words(0.99999), percent_words(0.00001)
    ('50 %', '3.1 %', 'over 99.9 %', 'under 0.1 %')
    """
    percent = 100.0 * chance
    if percent < 0.1:  # noqa: PLR2004  (percent)
        return "under 0.1 %"
    if percent > 99.9:  # noqa: PLR2004  (percent)
        return "over 99.9 %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.3g} %"  # noqa: PLR2004  (percent)


def chance_words(significance: float, candidates: int) -> str:
    """Say whether a likeness may be chance, given that it is the best of so many candidates.

    Privacy
    -------
    For the owner's eyes.

    Examples
    --------
    >>> chance_words(9.0, 50), chance_words(3.5, 50), chance_words(2.0, 50)
    ('hardly by chance', 'probably not by chance', 'may be chance')
    """
    # The best of many strangers looks good: multiply by how many were tried.
    by_chance = candidates * 0.5 * math.erfc(significance / math.sqrt(2.0))
    if by_chance < 0.001:  # noqa: PLR2004  (one in a thousand)
        return "hardly by chance"
    return "probably not by chance" if by_chance < 0.05 else "may be chance"  # noqa: PLR2004  (one in twenty)


def neighbours_words(votes: float) -> str:
    """Say how many neighbours seem to have an item.

    Privacy
    -------
    For the owner's eyes.

    Examples
    --------
    >>> neighbours_words(0.7), neighbours_words(2.2), neighbours_words(6.0)
    ('One of your neighbours', 'A few of your neighbours', 'Several of your neighbours')
    """
    if votes < 1.5:  # noqa: PLR2004  (rounds to one)
        return "One of your neighbours"
    return "A few of your neighbours" if votes < 2.5 else "Several of your neighbours"  # noqa: PLR2004  (rounds to two)


def count_words(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> count_words(1, "item"), count_words(12000, "item"), count_words(0, "sketch", "sketches")
    ('1 item', '12,000 items', 'no sketches')
    """
    noun = one if count == 1 else many or one + "s"
    return f"{count:,} {noun}" if count else f"no {noun}"


def duration_words(seconds: float) -> str:
    """Return a duration with its two largest units.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> duration_words(5), duration_words(250), duration_words(7500), duration_words(200000)
    ('5 s', '4 min 10 s', '2 h 5 min', '2 days 7 h')
    >>> duration_words(3600)
    '1 h'
    """
    left = max(0, math.floor(seconds))
    days, hours, minutes = left // _DAY, left % _DAY // _HOUR, left % _HOUR // _MINUTE
    parts = [
        (days, count_words(days, "day")),
        (hours, f"{hours} h"),
        (minutes, f"{minutes} min"),
        (left % _MINUTE, f"{left % _MINUTE} s"),
    ]
    first = next((place for place, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(text for count, text in parts[first : first + 2] if count) or "0 s"


def moment_words(moment_s: float, now_s: float) -> str:
    """Return a moment as the clock on the wall shows it.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> moment_words(0.0, 0.0).startswith("today ")
    True
    """
    moment, now = (datetime.fromtimestamp(seconds).astimezone() for seconds in (moment_s, now_s))
    days = (moment.date() - now.date()).days
    day = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(days) or f"{moment.day} {moment:%b}"
    precise = abs(moment_s - now_s) < _HOUR
    return f"{day} {moment:%H:%M:%S}" if precise else f"{day} {moment:%H:%M}"


def bytes_words(count: int) -> str:
    """Return a number of bytes with its unit.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> bytes_words(900), bytes_words(15300), bytes_words(7_000_000)
    ('900 B', '15 kB', '7.0 MB')
    """
    if count < 1000:  # noqa: PLR2004  (a kilobyte)
        return f"{count} B"
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1000:.0f} kB"
