"""How often a guess is right: somebody looks at bits and says whether some items were there or none of them.

Each bit is a coin of one of two chances, p if its item counts and q if it does not. Bits are independent, so what they
tell is a sum: the logarithm of the likelihood ratio of all bits is that of the first plus that of the second and so
on, each with one of two values. Of two guesses that are as likely before, the best is right (1 + TV) / 2 of the time,
where TV = E[max(0, 1 - exp(-sum))] if the items are there: the total variation distance.

The distribution of the sum is computed on a grid, by a Fourier transform. A value between two points of the grid is
shared between them so that both chances, that with the items and that without, stay what they are: whoever sees the
points could make the value of them by forgetting which it was. So they tell as much or more, never less, and the
accuracy is never understated (docs/proofs/groups.md).
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

#: Points of the grid: for a few coins, and at most. Twice as many change no accuracy in the first three digits.
_FEWEST_POINTS, _MOST_POINTS = 1 << 15, 1 << 18
#: So many points per root of the number of coins keep the window wide enough (docs/proofs/groups.md).
_POINTS_PER_ROOT = 144
#: Chance that the sum is beyond the window, and what floats may get wrong; added to the distance.
_BEYOND, _ROUNDING = 1e-9, 1e-6


class CoinPair(NamedTuple):
    """So many coins that are 1 with chance `there` if their items count, and with chance `absent` if they do not."""

    number: int
    there: float
    absent: float


def guessing_accuracy(coins: Iterable[CoinPair]) -> float:
    """Return how often the best guess is right whether all of some coins have one chance, or all of them the other.

    Both are as likely before. 1/2 is what a tossed coin gets. Never too low, and hardly too high: by less than 0.001
    for some thousands of coins.

    Examples
    --------
    >>> guessing_accuracy([])
    0.5
    >>> round(guessing_accuracy([CoinPair(1, 0.75, 0.25)]), 4)
    0.75
    >>> round(guessing_accuracy([CoinPair(3, 0.75, 0.25)]), 4)  # two of three: 0.75**3 + 3 * 0.75**2 * 0.25
    0.8438
    """
    kinds = [coin for coin in coins if coin.number and coin.there != coin.absent]
    if not kinds:
        return 0.5
    needed = math.ceil(_POINTS_PER_ROOT * math.sqrt(sum(coin.number for coin in kinds)))
    points = max(_FEWEST_POINTS, 1 << (needed - 1).bit_length())
    if points > _MOST_POINTS or any(coin.absent <= 0 or coin.there >= 1 for coin in kinds):
        return 1.0  # never too low
    ones = [math.log(coin.there / coin.absent) for coin in kinds]
    zeros = [math.log1p(-coin.there) - math.log1p(-coin.absent) for coin in kinds]
    parts = list(zip(kinds, ones, zeros, strict=True))
    mean = math.fsum(coin.number * (coin.there * one + (1 - coin.there) * zero) for coin, one, zero in parts)
    # Hoeffding's bound; the tenth more is for what sharing adds to the range of each coin.
    reach = math.sqrt(math.fsum(coin.number * (one - zero) ** 2 for coin, one, zero in parts))
    half = 1.1 * reach * math.sqrt(math.log(2 / _BEYOND) / 2)
    step = 2 * half / points
    spectrum = np.ones(points // 2 + 1, dtype=np.complex128)
    for coin, one, zero in parts:
        grid = np.zeros(points)
        for value, chance in ((one, coin.there), (zero, 1 - coin.there)):
            below = math.floor(value / step)
            above = math.expm1(below * step - value) / math.expm1(-step)  # both chances stay: see the module
            grid[below % points] += chance * (1 - above)
            grid[(below + 1) % points] += chance * above
        spectrum *= np.fft.rfft(grid) ** coin.number
    masses = np.fft.irfft(spectrum, n=points)
    first = math.ceil((mean - half) / step)  # the sum is known up to a multiple of the window: this tells which
    sums = step * np.arange(first, first + points)
    tells = -np.expm1(-np.maximum(sums, 0.0))
    distance = float(np.maximum(np.roll(masses, -first % points), 0.0) @ tells) + _BEYOND + _ROUNDING
    return (1 + min(1.0, distance)) / 2


def most_accuracy(loss: float) -> float:
    """Return the most that a guess can be right where the losses of all items add up to so much.

    That is exp(loss) / (1 + exp(loss)): the best guess at one coin that loses all of it.

    Examples
    --------
    >>> round(most_accuracy(1.0), 3), most_accuracy(0.0)
    (0.731, 0.5)
    """
    return 1.0 / (1.0 + math.exp(-loss))
