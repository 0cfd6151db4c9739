"""Audits of noise itself: integers against their exact probabilities, and answers against their public grid."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.events import Floats, precision_feature
from hetdp.auditing.report import NOTHING, VIOLATED, Finding, rounded_up
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims, Pair, accepts, subject_of
from hetdp.core.checks import Real, one_of, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream

_CELLS = 64
_LOW_BITS = 256
#: From this scale on, the last eight bits are uniform to far below what any sample can see.
_UNIFORM_LOW_BITS = 2**13
_TAILS = (1e-1, 1e-2, 1e-3, 1e-4)
_FEWEST = 10_000
#: Up to here the discrete Gaussian is summed up; beyond, its distance from the rounded normal is below 1e-300.
_SUMMED_SIGMA = 64.0
#: Probability with which a scale that is wrong by the stated share is rejected.
_POWER = 0.999
_BITS_SAMPLES = 100_000

#: Cumulative probabilities P[X <= k] at some integers k.
Law: TypeAlias = Callable[[Floats], Floats]


def sampler_audit(
    sampler: Callable[..., Any],
    *,
    distribution: str = "laplace",
    scale: Real,
    samples: int = 400_000,
    false_alarm: float = 1e-6,
    random_state: RandomState = None,
) -> Finding:
    """Compare integer noise with the exact discrete Laplace or Gaussian distribution.

    A chi-square test over cells of about equal probability, binomial tests of both tails, and for large scales a
    chi-square test of the last eight bits; the smallest p-value, times the number of tests, decides. A sampler that
    passes may still be wrong where no sample looks: in the far tails.

    Parameters
    ----------
    sampler
        Takes `size`, and optionally `random_state`; returns that many integers.
    distribution
        "laplace" or "gaussian".
    scale
        The scale (Laplace) or standard deviation (Gaussian) that it should have.
    samples
        At the default, a scale that is wrong by 3 % in either direction is rejected.
    false_alarm
        The p-value below which the sampler is rejected.
    random_state
        A seed makes the audit reproducible.

    Examples
    --------
    >>> from hetdp.noise import discrete_laplace
    >>> def sampler(size, random_state):
    ...     return discrete_laplace(10.3, size, random_state=random_state)
    >>> finding = sampler_audit(sampler, scale=10.3, random_state=1)
    >>> finding.verdict, finding.smallest
    ('no violation found', 'a scale wrong by 1.9 %')
    >>> sampler_audit(sampler, scale=10, random_state=1).verdict
    'violated'
    """
    one_of("distribution", distribution, ("laplace", "gaussian"))
    spread = positive("scale", scale)
    count = whole("samples", samples, minimum=_FEWEST)
    keywords = {"random_state": as_stream(random_state)} if accepts(sampler, "random_state") else {}
    drawn = np.asarray(sampler(size=count, **keywords))
    if drawn.shape != (count,) or drawn.dtype.kind not in "iu":
        raise InvalidInput(
            f"must return {count} integers (got shape {drawn.shape} of {drawn.dtype})", parameter="sampler"
        )
    law = _law(distribution, spread)
    edges = _edges(spread)
    observed = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=edges.size + 1)
    tests = {"cells": _chi_square(observed, _chances(law, edges) * count), **_tails(drawn, spread, law)}
    if spread >= _UNIFORM_LOW_BITS:
        even = np.full(_LOW_BITS, count / _LOW_BITS)
        tests["low bits"] = _chi_square(np.bincount(drawn & (_LOW_BITS - 1), minlength=_LOW_BITS), even)
    test = min(tests, key=lambda name: tests[name])
    pvalue = min(1.0, tests[test] * len(tests))
    error = _smallest_error(distribution, spread, count, false_alarm / len(tests))
    words = f"Smallest p-value {pvalue:.3g} ({test}, corrected for {len(tests)} tests), {count:,} samples."
    return Finding(
        "sampler",
        f"{distribution} sampler, scale {float(scale):.6g}",
        VIOLATED if pvalue < false_alarm else NOTHING,
        words,
        {"p_value": pvalue, "test": test, "samples": count, "scale_error": error},
        f"a scale wrong by {rounded_up(100 * error, 2)} %" if math.isfinite(error) else "no error: too few samples",
    )


def _law(distribution: str, scale: float) -> Law:
    from scipy import stats

    if distribution == "laplace":
        return lambda edges: np.asarray(stats.dlaplace.cdf(edges, 1 / scale))
    if scale > _SUMMED_SIGMA:
        return lambda edges: np.asarray(stats.norm.cdf((edges + 0.5) / scale))
    reach = math.ceil(40 * scale) + 2
    weights = np.exp(-(np.arange(-reach, reach + 1).astype(np.float64) ** 2) / (2 * scale**2))
    cumulative = np.cumsum(weights) / weights.sum()
    return lambda edges: cumulative[np.clip(edges.astype(np.int64) + reach, 0, 2 * reach)]


def _edges(scale: float) -> Floats:
    """Return integers between cells that are about equally likely."""
    levels = np.arange(1, _CELLS) / _CELLS
    guess = scale * np.sign(levels - 0.5) * -np.log(1 - np.abs(2 * levels - 1))
    return np.unique(np.floor(guess))


def _chances(law: Law, edges: Floats) -> Floats:
    return np.diff(np.concatenate([[0.0], law(edges), [1.0]]))


def _tails(drawn: NDArray[Any], scale: float, law: Law) -> dict[str, float]:
    """Return the p-values of both tails."""
    from scipy import stats

    found = {}
    for level in _TAILS:
        edge = np.array([math.floor(scale * math.log(2 * level))], dtype=np.float64)
        chance = float(law(edge)[0])
        for name, hits in (("lower", drawn <= edge[0]), ("upper", drawn >= -edge[0])):
            if chance * drawn.size >= 1:
                found[f"{name} tail {level:g}"] = float(stats.binomtest(int(hits.sum()), drawn.size, chance).pvalue)
    return found


def _joined(values: Floats, expected: Floats) -> Floats:
    """Return values per cell, with cells joined where less than 10 are expected: the limit of the approximation."""
    sound = expected >= 10  # noqa: PLR2004
    return np.append(values[sound], values[~sound].sum())


def _chi_square(observed: NDArray[Any], expected: Floats) -> float:
    """Return the p-value; without enough cells nothing is tested."""
    from scipy import stats

    counts, cells = _joined(observed, expected), _joined(expected, expected)
    if counts[cells == 0].any():  # impossible
        return 0.0
    counts, cells = counts[cells > 0], cells[cells > 0]
    return float(stats.chi2.sf(((counts - cells) ** 2 / cells).sum(), max(cells.size - 1, 1)))


def _smallest_error(distribution: str, scale: float, samples: int, false_alarm: float) -> float:
    """Return the smallest relative error of the scale that the cells show; infinity if it is above 1.

    The statistic then has a noncentral chi-square distribution, up to the normal approximation.
    """
    from scipy import optimize, stats

    edges = _edges(scale)
    expected = _chances(_law(distribution, scale), edges) * samples
    cells = _joined(expected, expected)
    freedom = max(int((cells > 0).sum()) - 1, 1)
    limit = stats.chi2.isf(false_alarm, freedom)
    needed = optimize.brentq(lambda shift: stats.ncx2.sf(limit, freedom, shift) - _POWER, 1e-9, 100 * limit)

    def lacking(error: float) -> float:
        """Return how much of the shift is lacking, in the direction that is harder to see."""
        shifts = []
        for factor in (1 + error, 1 / (1 + error)):
            other = _joined(_chances(_law(distribution, scale * factor), edges) * samples, expected)
            shifts.append(float(((other - cells)[cells > 0] ** 2 / cells[cells > 0]).sum()))
        return float(needed) - min(shifts)

    return float(optimize.brentq(lacking, 0.0, 1.0, xtol=1e-6)) if lacking(1.0) < 0 else math.inf


def floating_point_audit(
    mechanism: object,
    *,
    adjacent: Sequence[Pair] | None = None,
    claimed: Claims | None = None,
    epsilon: Real | None = None,
    grid: float | None = None,
    items: Sequence[int] | None = None,
    samples: int = _BITS_SAMPLES,
    confidence: float = 1 - 1e-9,
    random_state: RandomState = None,
) -> Finding:
    """Look for answers that lie off the public grid, and for adjacent profiles that have different last bits.

    Noise that is not on a public grid shows the answer in its last bits (Mironov 2012): 0 plus floating-point noise has
    binary digits that 1 plus floating-point noise cannot have. Outputs off a coarse lattice are counted and give a
    certified lower bound on the loss. A mechanism whose outputs all lie on a public grid, by exact arithmetic, has no
    such digits.

    Parameters
    ----------
    mechanism
        As for `audit`; its outputs must be numbers. Only the first cell of a vector is examined.
    adjacent, claimed, epsilon, items
        As for `audit`. Profiles with the exact answers 0 and 1 show most.
    grid
        The public step; known for plans. Not checked if there is none.
    samples, confidence
        Runs per side, and the probability that the bounds hold.
    random_state
        A seed makes the audit reproducible.

    Examples
    --------
    >>> def textbook(profile, size, random_state):
    ...     return sum(profile) + np.random.default_rng(random_state).laplace(0, 1, size)
    >>> floating_point_audit(textbook, adjacent=[([0], [1])], claimed=1.0, random_state=1).verdict
    'violated'
    """
    subject = subject_of(mechanism, epsilon=epsilon)
    step = subject.plan.grid if grid is None and subject.plan is not None else grid
    real_run, outside = subject.run, 0

    def on_grid(profile: object, count: int, stream: Stream) -> object:
        """Run the mechanism, and count its outputs off the grid."""
        nonlocal outside
        raw = real_run(profile, count, stream)
        if step is not None:
            numbers = np.asarray(raw, dtype=np.float64)
            outside += int((np.remainder(numbers, positive("grid", step)) != 0).sum())
        return raw

    report = audit(
        replace(subject, run=on_grid, features=[precision_feature()]), adjacent=adjacent, claimed=claimed,
        samples=samples, confidence=confidence, items=items, random_state=random_state,
    )  # fmt: skip
    worst = max(report.rows, key=lambda row: row.lower_bound - row.claimed)
    words = f"Loss shown by the last bits: at least {worst.lower_bound:.4g}, claimed {worst.claimed:.4g}"
    words += f" ({worst.event})." if worst.lower_bound else "."
    smallest = f"{report.smallest}, shown by the last bits"
    if step is not None:
        words, smallest = f"{outside} outputs off the grid. {words}", f"one output off the grid of {step:g}"
    verdict = VIOLATED if outside or report.verdict == VIOLATED else NOTHING
    figures = {"lower_bound": worst.lower_bound, "claimed": worst.claimed, "off_grid": outside, "grid": step}
    return Finding("floating point", report.subject, verdict, words, figures, smallest)
