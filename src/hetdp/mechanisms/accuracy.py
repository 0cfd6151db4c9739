"""Which level makes an interval narrow enough: from public numbers alone, before anything is looked at."""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal

from hetdp.core.checks import not_negative, positive
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.plan import Mechanism
from hetdp.mechanisms.ratios import NoisySum, check_confidence
from hetdp.mechanisms.stretching import Stretched

#: Levels that are tried; noise beyond the last is nothing compared with what chance does.
_LEAST, MOST_LEVEL = 1e-6, 1e6
_STEPS = 60
#: Relative to the largest, the standard deviation of values that are spread evenly over their range.
_EVEN = 1 / math.sqrt(3)
_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)


def expected_weight(stretched: Stretched) -> tuple[float, str]:
    """Return the mean effective weight that the public expects, and where that comes from, in words.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.mechanisms.stretching import stretch
    >>> from hetdp.profiles import Box
    >>> expected_weight(stretch(queries.mean(Box.uniform(0, 1, size=2)), [0.2, 0.9]))
    (0.5, 'a mean privacy weight of 0.5, because there is no prior')
    """
    if stretched.public_weight is not None:
        return min(1.0, stretched.multiplier * stretched.public_weight), "the public weight of everybody"
    if stretched.prior is not None:
        return stretched.effective_weight(stretched.prior), "privacy weights as in the prior"
    return 0.5, "a mean privacy weight of 0.5, because there is no prior"


def interval_reach(
    stretched: Stretched,
    level: float,
    *,
    noise: str,
    confidence: float,
    denominator: float | None = None,
    drops: bool = False,
    deviation: float | None = None,
) -> float:
    """Return how far the end of an interval is expected to be from the estimate, at a level; inf without an estimate.

    The farthest over answers all over their range, from public numbers alone.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.mechanisms.stretching import stretch
    >>> from hetdp.profiles import Box
    >>> ages = stretch(queries.mean(Box.uniform(0, 100, size=1000)), 1.0)
    >>> round(interval_reach(ages, 1.0, noise="laplace", confidence=0.95), 2)
    0.3
    """
    query, distorted = stretched.query, stretched.public_weight is None or drops
    total = query.size * expected_weight(stretched)[0]
    scale = _scale(stretched.multiplier * query.sensitivity, level, noise, query.cells)
    own = _scale(1.0, level if denominator is None else denominator, noise) if distorted else 0.0
    weight = NoisySum(total, own, noise)
    reach = 0.0
    for cells in query.plausible_cells(total, _relative(deviation, stretched)):
        noisy = [NoisySum(cell, scale, noise) for cell in cells]
        for found in query.estimates(noisy, weight, confidence=confidence, distorted=distorted, population=query.size):
            if found.value is None or found.low is None or found.high is None:
                return math.inf
            reach = max(reach, found.high - found.value, found.value - found.low)
    return reach


def level_within(
    mechanism: Mechanism,
    within: float,
    *,
    noise: str,
    confidence: float,
    denominator: float | None = None,
    drops: bool = False,
    deviation: float | None = None,
) -> float:
    """Return the smallest level, in three digits, whose interval is expected to reach no farther; see `hetdp.plan`."""
    goal, _ = positive("within", within), check_confidence(confidence)
    if not isinstance(mechanism, Stretched) or mechanism.query.why_no_estimate is not None or denominator == 0:
        reason = "What is divided out, and so how wide an interval is, is known for them only."
        raise InvalidInput(
            "must be asked of a stretched mean, total, count, variance or histogram, with a denominator",
            parameter="within",
            got=mechanism.name,
            hint=reason,
        )

    def reach(level: float) -> float:
        return interval_reach(
            mechanism, level, noise=noise, confidence=confidence, denominator=denominator, drops=drops,
            deviation=deviation,
        )  # fmt: skip

    best = reach(MOST_LEVEL)
    if best > goal:
        raise InvalidInput(
            f"must be at least {up(best):f}: with {expected_weight(mechanism)[1]}, "
            f"{'chance alone makes' if denominator is None else 'chance and the denominator make'} the "
            "interval reach that far, whatever the level",
            parameter="within",
            got=within,
        )
    return smallest_level(reach, goal)


def smallest_level(reach: Callable[[float], float], goal: float, *, least: float = _LEAST) -> float:
    """Return the smallest level from `least` on, in three digits, at which something reaches no farther than a goal.

    Examples
    --------
    >>> smallest_level(lambda level: 1 / level, goal=0.3)
    3.34
    """
    low, high = math.log(least), math.log(MOST_LEVEL)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reach(math.exp(middle)) <= goal else (middle, high)
    return float(up(math.exp(high)))


def up(value: float) -> Decimal:
    """Return a number in three digits, rounded up."""
    return _THREE_DIGITS.create_decimal(repr(value)).normalize()


def _scale(sensitivity: float, level: float, noise: str, cells: int = 1) -> float:
    if noise == "laplace":
        return sensitivity / level
    return sensitivity / math.sqrt(2 * cells * level)


def _relative(deviation: float | None, stretched: Stretched) -> float:
    """Return a standard deviation relative to half of the range, the largest there is."""
    if deviation is None:
        return _EVEN
    half = float(stretched.domain.ranges[0]) / 2
    return min(1.0, not_negative("deviation", deviation) / half)
