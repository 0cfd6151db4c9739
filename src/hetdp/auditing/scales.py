"""The noise scale audit: the noise that reaches an output against what the guarantee of that output implies.

Audits of a mechanism, an engine or a sampler give it the level that it should have. This one goes in by the front door:
it takes what a public call returns, for data whose exact answer is known, and reads the level off the guarantee that
came with it. Whatever splits a budget lies between the two, and is seen.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.core.randomness import RandomState, as_stream

#: What noise may be like, in units of its scale; "difference" is one Laplace draw less another.
LAWS = ("laplace", "difference", "gaussian", "exponential", "coins")
#: Mean of what is averaged, and its standard deviation, where the scale is 1.
_MOMENTS = {"laplace": (1.0, 1.0), "difference": (1.5, math.sqrt(1.75)), "gaussian": (1.0, math.sqrt(2.0))}
_MOMENTS["exponential"] = _MOMENTS["laplace"]


@dataclass(frozen=True, eq=False, repr=False)
class Reached:
    """What reached one part of an output, and what its guarantee implies.

    Attributes
    ----------
    part
        Of the output, in words.
    values
        Noise in units of the implied scale, the exact answer taken off; of coins, which came up.
    law
        One of `LAWS`.
    chance
        That a coin comes up, as implied.
    slack
        By what share something else may make it wider or narrower.
    symmetric
        Whether it lies above and below the exact answer with the same chance.
    """

    part: str
    values: NDArray[Any]
    law: str = "laplace"
    chance: float = 0.5
    slack: float = 0.0
    symmetric: bool = True

    def interval(self, false_alarm: float) -> tuple[float, float, float]:
        """Return how wide it is, 1 as implied, and the ends of where that lies but for a false alarm.

        Parameters
        ----------
        false_alarm
            The chance of one.
        """
        from scipy import stats

        size, tail = self.values.size, false_alarm / 2
        if self.law == "coins":
            law: Any = stats.binom(size, self.chance)
            found, low, high = (float(end) / (size * self.chance) for end in (self._sum, law.ppf(tail), law.isf(tail)))
        elif self.law == "gaussian":
            law = stats.chi2(size)
            found, low, high = (math.sqrt(float(end) / size) for end in (self._sum, law.ppf(tail), law.isf(tail)))
        else:
            # Of two Laplace draws, the absolute difference is a sum of one or two exponential draws, with even chances.
            least = most = size
            if self.law == "difference":
                tail /= 2
                twice = stats.binom(size, 0.5)
                least, most = size + int(twice.ppf(tail)), size + int(twice.isf(tail))
            mean = _MOMENTS[self.law][0] * size
            ends = self._sum, stats.gamma.ppf(tail, least), stats.gamma.isf(tail, most)
            found, low, high = (float(end) / mean for end in ends)
        return found, low * (1 - self.slack), high * (1 + self.slack)

    def sided(self, false_alarm: float) -> bool:
        """Return whether it lies on both sides of the exact answer as often as symmetric noise does, if it is that.

        Parameters
        ----------
        false_alarm
            The chance that it says no although the noise is symmetric.
        """
        from scipy import stats

        if not self.symmetric or self.law in ("coins", "exponential"):
            return True
        above, there = int((self.values > 0).sum()), int((self.values != 0).sum())
        fair = stats.binom(there, 0.5)
        return bool(fair.ppf(false_alarm / 2) <= above <= fair.isf(false_alarm / 2))

    @property
    def sees(self) -> float:
        """The smallest share too narrow that is found 999 times in 1000, at a false-alarm rate of 1e-9."""
        reach = (6.1 + 3.1) / math.sqrt(self.values.size)
        if self.law == "coins":
            return reach * math.sqrt((1 - self.chance) / self.chance)
        mean, deviation = _MOMENTS[self.law]
        return reach * deviation / mean / (2 if self.law == "gaussian" else 1) + self.slack

    @property
    def _sum(self) -> float:
        if self.law == "gaussian":
            return float((self.values**2).sum())
        return float(np.abs(self.values).sum())


#: Calls what users call, with a random state, and says what reached the output, part by part.
FrontDoor: TypeAlias = Callable[[RandomState], Sequence[Reached]]


def scale_audit(
    front_door: FrontDoor,
    *,
    name: str = "output",
    false_alarm: float = 1e-9,
    random_state: RandomState = None,
) -> Finding:
    """Compare the noise that reaches an output with what its guarantee implies.

    Noise that is too narrow breaks the promise; noise that is too wide, or beside the exact answer, is not what was
    promised either, and one part's loss may hide in it. The mean size of Laplace noise has a gamma distribution, the
    mean square of Gaussian noise a chi-square one, and coins are counted: all intervals are exact, up to the grid.

    Parameters
    ----------
    front_door
        Calls what users call, with a random state, and says what reached the output, part by part.
    name
        For the report.
    false_alarm
        Chance that noise as promised is rejected.
    random_state
        A seed makes the audit reproducible.

    Examples
    --------
    >>> import hetdp
    >>> query = hetdp.queries.histogram(hetdp.Box.uniform(0, 1, size=1), edges=20_000)
    >>> def histogram(random_state, epsilon=1.0):
    ...     answer = hetdp.release(hetdp.stretch(query, [1.0]), [0.0], epsilon=epsilon, random_state=random_state)
    ...     return [Reached("bins", answer.value[1:] / 2)]  # replacing a row moves two bins, and epsilon is to be 1
    >>> scale_audit(histogram, random_state=1).verdict
    'no violation found'
    >>> scale_audit(lambda random_state: histogram(random_state, epsilon=1.1), random_state=1).verdict
    'violated'
    """
    parts = front_door(as_stream(random_state))
    each = false_alarm / (2 * max(1, len(parts)))
    figures, wrong = {}, []
    for one in parts:
        found, low, high = one.interval(each)
        figures[one.part] = {"scale": found, "low": low, "high": high, "draws": int(one.values.size), "sees": one.sees}
        if not low <= found <= high:
            wrong.append(f"{one.part}: {found:.4g} of what is implied, where chance stays in {low:.4g} to {high:.4g}")
        elif not one.sided(each):
            wrong.append(f"{one.part}: not around the exact answer")
    if wrong:
        return Finding("noise scale", name, VIOLATED, "; ".join(wrong) + ".", figures)
    words = "; ".join(
        f"{part} {found['scale']:.4f} of what is implied (sees {100 * found['sees']:.2g} %)"
        for part, found in figures.items()
    )
    return Finding("noise scale", name, NOTHING, f"{words}.", figures)
