"""How many runs an audit needs, and what they certify: Clopper-Pearson on both sides, never a point estimate."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, not_negative, whole
from hetdp.core.errors import InvalidInput

__all__ = [
    "MINIMUM_SAMPLES",
    "SampleSize",
    "certified_log_ratio",
    "check_confidence",
    "detectable_loss",
    "plan_samples",
]

#: Below this many runs per side, no event can be told from chance.
MINIMUM_SAMPLES = 1_000
#: Beyond this many, a larger factor is looked for instead.
LARGEST_SAMPLE = 4_000_000
#: At a claim of 0 there is no factor to detect; this many runs find a loss of about 0.04.
SAMPLES_AT_ZERO = 100_000


@dataclass(frozen=True)
class SampleSize:
    """How many runs per side, and the smallest true loss that they find with the power asked for.

    Attributes
    ----------
    samples, detectable
        The runs, and that loss.
    capped
        Whether fewer runs were planned than the factor asked for takes.
    """

    samples: int
    detectable: float
    capped: bool


_SMALLEST_EXCESS = 1e-12


def plan_samples(
    claim: float,
    *,
    factor: float = 1.1,
    confidence: float = 0.999,
    power: float = 0.999,
    comparisons: int = 1,
    largest: int = LARGEST_SAMPLE,
) -> SampleSize:
    """Return the number of runs per side that detect a loss of `factor` times the claim.

    By the normal approximation at the event that Laplace noise is worst at: p1 = 1/2 against p0 = exp(-loss)/2. The
    estimate of log(p/n) has standard deviation sd = sqrt((1 - p) / (p n)), and the bound clears the claim when
    (factor - 1) claim >= z_confidence (sd1 + sd0) + z_power sqrt(sd1**2 + sd0**2).

    Parameters
    ----------
    claim
        The promised loss. At 0 the size is fixed.
    factor
        By how much the promise must be broken to be noticed.
    confidence, power
        Chance that a kept promise is not accused, and that one broken by the factor is.
    comparisons
        How many bounds share the confidence (Bonferroni).
    largest
        Where to stop; then `detectable` tells what is still found.

    Examples
    --------
    >>> plan_samples(1.0).samples, plan_samples(0.25).samples
    (33240, 250400)
    >>> plan_samples(0.01)
    SampleSize(samples=4000000, detectable=0.0155..., capped=True)
    """
    promised = not_negative("claim", claim)
    if finite("factor", factor) <= 1:
        raise InvalidInput("must be > 1", parameter="factor", got=factor)
    check_confidence("power", power)
    quantiles = _quantiles(check_confidence("confidence", confidence) / comparisons, 1 - power)
    if promised == 0:
        return SampleSize(SAMPLES_AT_ZERO, _detectable(0.0, SAMPLES_AT_ZERO, quantiles), capped=False)
    wanted = 10 * math.ceil(min(_needed(promised, factor * promised, quantiles), 1e12) / 10)
    if wanted <= largest:
        return SampleSize(max(wanted, MINIMUM_SAMPLES), factor * promised, capped=False)
    return SampleSize(largest, _detectable(promised, largest, quantiles), capped=True)


def detectable_loss(claim: float, samples: int, *, confidence: float, comparisons: int, power: float = 0.999) -> float:
    """Return the smallest loss above the claim that a given number of runs finds; infinity if there is none."""
    quantiles = _quantiles(check_confidence("confidence", confidence) / comparisons, 1 - power)
    return _detectable(claim, whole("samples", samples, minimum=MINIMUM_SAMPLES), quantiles)


def certified_log_ratio(
    hits: ArrayLike, runs: int, other_hits: ArrayLike, other_runs: int, *, false_alarm: float, delta: float = 0.0
) -> NDArray[np.float64]:
    """Return lower bounds on log((p - delta) / p'), each wrong with probability at most `false_alarm`; never below 0.

    p is the chance of an event under one profile and p' under the adjacent one. Half of the false alarms goes to the
    lower Clopper-Pearson bound of p, half to the upper bound of p'. The true loss may well be larger.
    """
    from scipy import stats

    first, second = np.asarray(hits, dtype=np.float64), np.asarray(other_hits, dtype=np.float64)
    low = np.zeros(np.broadcast(first, second).shape)
    high = np.ones_like(low)
    some, open_end = first > 0, second < other_runs
    low[some] = stats.beta.ppf(false_alarm / 2, first[some], runs - first[some] + 1)
    high[open_end] = stats.beta.isf(false_alarm / 2, second[open_end] + 1, other_runs - second[open_end])
    return np.log(np.maximum((low - delta) / high, 1.0))


def check_confidence(name: str, value: float) -> float:
    """Return the false-alarm rate 1 - value of a confidence strictly between 1/2 and 1."""
    number = finite(name, value)
    if not 0.5 < number < 1:  # noqa: PLR2004  (less than even odds is no confidence)
        raise InvalidInput("must lie between 0.5 and 1", parameter=name, got=value)
    return 1 - number


def _quantiles(false_alarm: float, miss: float) -> tuple[float, float]:
    from scipy import stats

    return float(stats.norm.isf(false_alarm / 2)), float(stats.norm.isf(miss))


def _needed(claim: float, loss: float, quantiles: tuple[float, float]) -> float:
    """Return how many runs per side tell a loss from the claim (the formula of `plan_samples`)."""
    z_confidence, z_power = quantiles
    if loss - claim < _SMALLEST_EXCESS:  # too small for any number of runs, and for the square below
        return math.inf
    other = math.sqrt(2 * math.exp(min(loss, 600.0)) - 1)
    return ((z_confidence * (1 + other) + z_power * math.hypot(1, other)) / (loss - claim)) ** 2


def _detectable(claim: float, samples: int, quantiles: tuple[float, float]) -> float:
    """Return the smallest loss for which `samples` runs suffice, or infinity."""
    losses = claim + np.geomspace(1e-6, 50.0, 2000)
    found = (float(loss) for loss in losses if _needed(claim, float(loss), quantiles) <= samples)
    return next(found, math.inf)
