"""The noise scale audit: the noise in the result of a public call, compared with the guarantee of that result.

Audits of a mechanism, an engine or a sampler set its epsilon themselves. This one calls what users call, on data whose
exact answer is known, and reads epsilon from the guarantee that comes with the result. So it sees a budget that is
split wrongly between the call and the noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.report import NOTHING, VIOLATED, Finding, rounded_up
from hetdp.core.randomness import RandomState, as_stream

#: Probability that noise which is too narrow by the stated share is missed.
_MISS = 0.001


@dataclass(frozen=True, eq=False, repr=False)
class Reached:
    """The noise in one part of an output, in units of what the guarantee implies.

    Attributes
    ----------
    part
        The name of the part.
    values
        Noise (output minus exact answer) divided by the implied scale. For "coins": which of them came up.
    law
        "laplace", "gaussian", "difference" (of two Laplace draws), "exponential" or "coins".
    chance
        Probability that a coin comes up, as implied.
    slack
        The share by which something else may make the noise wider or narrower.
    symmetric
        Whether noise lies above and below the exact answer with equal probability.
    """

    part: str
    values: NDArray[Any]
    law: str = "laplace"
    chance: float = 0.5
    slack: float = 0.0
    symmetric: bool = True


#: Calls what users call, with a random state, and returns the noise in each part of the output.
PublicCall: TypeAlias = Callable[[RandomState], Sequence[Reached]]


def scale_audit(
    call: PublicCall,
    *,
    name: str = "output",
    false_alarm: float = 1e-9,
    random_state: RandomState = None,
) -> Finding:
    """Compare the noise in an output with what the guarantee of that output implies.

    Noise that is too narrow breaks the promise. Noise that is too wide, or not centred at the exact answer, is reported
    too: it is not what was promised. The mean size of Laplace noise has a gamma distribution, the mean square of
    Gaussian noise a chi-square distribution, and coins are counted. All intervals are exact, up to the grid.

    Parameters
    ----------
    call
        Calls what users call, with a random state, and returns the noise in each part of the output.
    name
        For the report.
    false_alarm
        Probability that noise as promised is rejected.
    random_state
        A seed makes the audit reproducible.

    Examples
    --------
    >>> import hetdp
    >>> query = hetdp.queries.histogram(hetdp.Box.uniform(0, 1, size=1), edges=20_000)
    >>> def histogram(random_state, epsilon=1.0):
    ...     answer = hetdp.release(hetdp.stretch(query, [1.0]), [0.0], epsilon=epsilon, random_state=random_state)
    ...     return [Reached("bins", answer.value[1:] / 2)]  # replacing a row moves two bins, and epsilon is to be 1
    >>> finding = scale_audit(histogram, random_state=1)
    >>> finding.verdict, finding.smallest
    ('no violation found', 'noise 6.4 % too narrow (bins)')
    >>> scale_audit(lambda random_state: histogram(random_state, epsilon=1.1), random_state=1).verdict
    'violated'
    """
    parts = call(as_stream(random_state))
    each = false_alarm / (2 * max(1, len(parts)))
    figures = {one.part: _measured(one, each) for one in parts}
    wrong = []
    for one in parts:
        scale, low, high = (figures[one.part][name] for name in ("scale", "low", "high"))
        if not low <= scale <= high:
            wrong.append(f"{one.part}: {scale:.4g} of what is implied, where chance stays in {low:.4g} to {high:.4g}")
        elif not _is_centred(one, each):
            wrong.append(f"{one.part}: not centred at the exact answer")
    verdict, words = VIOLATED, "; ".join(wrong)
    if not wrong:
        verdict = NOTHING
        words = "; ".join(
            f"{part} {found['scale']:.4f} of what is implied (sees {rounded_up(100 * found['sees'], 2)} %)"
            for part, found in figures.items()
        )
    finest = min(parts, key=lambda one: figures[one.part]["sees"])
    share = f"{rounded_up(100 * figures[finest.part]['sees'], 2)} %"
    error = f"a probability wrong by {share}" if finest.law == "coins" else f"noise {share} too narrow"
    return Finding("noise scale", name, verdict, f"{words}.", figures, f"{error} ({finest.part})")


def _measured(one: Reached, false_alarm: float) -> dict[str, float]:
    """Return the width of the noise, where 1 is as implied, between which ends chance keeps it, and what that sees.

    "sees" is the smallest share too narrow (of coins: relative error of their probability) found with 99.9 %.
    """
    size, tail = one.values.size, false_alarm / 2
    if one.law == "coins":
        found, low, high, sees = _coins(one, tail)
    else:
        total = float((one.values**2 if one.law == "gaussian" else np.abs(one.values)).sum())
        mean = 1.5 if one.law == "difference" else 1.0
        root = math.sqrt if one.law == "gaussian" else float
        ends = total, *_ends(one.law, size, tail), _ends(one.law, size, _MISS)[1]
        found, low, high, usual = (root(end / (mean * size)) for end in ends)
        sees = 1 - low * (1 - one.slack) / usual
    low, high = low * (1 - one.slack), high * (1 + one.slack)
    return {"scale": found, "low": low, "high": high, "draws": size, "sees": sees}


def _ends(law: str, size: int, tail: float) -> tuple[float, float]:
    """Return ends that the sum of so many draws is below, or above, with at most some probability each."""
    from scipy import stats

    if law == "gaussian":
        return float(stats.chi2.ppf(tail, size)), float(stats.chi2.isf(tail, size))
    least = most = size
    if law == "difference":
        # The absolute difference of two Laplace draws is a sum of one or two exponential draws, each with
        # probability 1/2.
        tail /= 2
        twice = stats.binom(size, 0.5)
        least, most = size + int(twice.ppf(tail)), size + int(twice.isf(tail))
    return float(stats.gamma.ppf(tail, least)), float(stats.gamma.isf(tail, most))


def _coins(one: Reached, tail: float) -> tuple[float, float, float, float]:
    from scipy import stats

    size, implied = one.values.size, one.values.size * one.chance
    law = stats.binom(size, one.chance)
    low, high = float(law.ppf(tail)), float(law.isf(tail))
    fewest, most = math.ceil(low * (1 - one.slack)), math.floor(high * (1 + one.slack))
    sees = [1 - stats.beta.ppf(_MISS, fewest, size - fewest + 1) / one.chance if fewest else 1.0]
    if most < size:
        sees.append(stats.beta.isf(_MISS, most + 1, size - most) / one.chance - 1)
    return float(one.values.sum()) / implied, low / implied, high / implied, float(max(sees))


def _is_centred(one: Reached, false_alarm: float) -> bool:
    """Return whether symmetric noise lies on both sides of the exact answer about equally often."""
    from scipy import stats

    if not one.symmetric or one.law in ("coins", "exponential"):
        return True
    fair = stats.binom(int((one.values != 0).sum()), 0.5)
    return bool(fair.ppf(false_alarm / 2) <= int((one.values > 0).sum()) <= fair.isf(false_alarm / 2))
