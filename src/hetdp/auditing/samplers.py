"""Audits of noise itself: integers against their exact probabilities, and answers against their public grid.

The floating-point audit looks at the last bits: noise that is not on a public grid tells the answer by them (Mironov
2012).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.events import precision_feature
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.statistical import planned_audit
from hetdp.auditing.subjects import Claims, Pair, Subject, accepts
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
        Takes `size`, and `random_state` if it likes; returns that many integers.
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
    >>> sampler_audit(sampler, scale=10.3, random_state=1).verdict
    'no violation found'
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
    below = _laplace_below if distribution == "laplace" else _gaussian_below(spread)
    tests = {"cells": _cells_pvalue(drawn, spread, below)}
    tests |= _tail_pvalues(drawn, spread, below)
    if spread >= _UNIFORM_LOW_BITS:
        tests["low bits"] = _chi_square(np.bincount(drawn & (_LOW_BITS - 1), minlength=_LOW_BITS), count / _LOW_BITS)
    test = min(tests, key=lambda name: tests[name])
    pvalue = min(1.0, tests[test] * len(tests))
    verdict = VIOLATED if pvalue < false_alarm else NOTHING
    name = f"{distribution} sampler, scale {float(scale):.6g}"
    words = f"Smallest p-value {pvalue:.3g} ({test}, corrected for {len(tests)} tests), {count:,} samples."
    return Finding("sampler", name, verdict, words, {"p_value": pvalue, "test": test, "samples": count})


def _laplace_below(edges: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P[X <= k] exactly: exp(-1/scale)**(-k) / (1 + exp(-1/scale)) below 0, and by symmetry above."""
    ratio = math.exp(-1 / scale)
    lower = np.exp(np.minimum(edges, -1) / scale) / (1 + ratio)
    upper = 1 - np.exp(-(np.maximum(edges, 0) + 1) / scale) / (1 + ratio)
    return np.where(edges < 0, lower, upper)


def _gaussian_below(sigma: float) -> Callable[[NDArray[np.float64], float], NDArray[np.float64]]:
    from scipy import stats

    if sigma > _SUMMED_SIGMA:
        return lambda edges, scale: stats.norm.cdf((edges + 0.5) / scale)
    reach = math.ceil(40 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support.astype(np.float64) ** 2) / (2 * sigma**2))
    cumulative = np.cumsum(weights) / weights.sum()
    return lambda edges, _: cumulative[np.clip(edges.astype(np.int64) + reach, 0, 2 * reach)]


def _cells_pvalue(
    drawn: NDArray[Any], scale: float, below: Callable[[NDArray[np.float64], float], NDArray[np.float64]]
) -> float:
    """Chi-square over cells between about equally likely integers, from the exact distribution."""
    levels = np.arange(1, _CELLS) / _CELLS
    guess = scale * np.sign(levels - 0.5) * -np.log(1 - np.abs(2 * levels - 1))
    edges = np.unique(np.floor(guess))
    probabilities = np.diff(np.concatenate([[0.0], below(edges, scale), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=edges.size + 1)
    return _chi_square(observed, probabilities * drawn.size)


def _tail_pvalues(
    drawn: NDArray[Any], scale: float, below: Callable[[NDArray[np.float64], float], NDArray[np.float64]]
) -> dict[str, float]:
    from scipy import stats

    found = {}
    for level in _TAILS:
        edge = np.array([math.floor(scale * math.log(2 * level))], dtype=np.float64)
        chance = float(below(edge, scale)[0])
        for name, hits in (("lower", drawn <= edge[0]), ("upper", drawn >= -edge[0])):
            if chance * drawn.size >= 1:
                test = stats.binomtest(int(hits.sum()), drawn.size, chance)
                found[f"{name} tail {level:g}"] = float(test.pvalue)
    return found


def _chi_square(observed: NDArray[Any], expected: NDArray[np.float64] | float) -> float:
    """Return the p-value, with thin cells joined; without enough cells nothing is tested."""
    from scipy import stats

    wanted = np.broadcast_to(np.asarray(expected, dtype=np.float64), observed.shape)
    sound = wanted >= 10  # noqa: PLR2004  (the usual limit of the chi-square approximation)
    cells = np.append(wanted[sound], wanted[~sound].sum())
    counts = np.append(observed[sound], observed[~sound].sum())
    impossible = counts[cells == 0].sum()
    cells, counts = cells[cells > 0], counts[cells > 0]
    if impossible:
        return 0.0
    return float(stats.chi2.sf(((counts - cells) ** 2 / cells).sum(), max(cells.size - 1, 1)))


_BITS_SAMPLES = 100_000


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
    progress: Callable[[float], None] | None = None,
) -> Finding:
    """Look for answers that lie off the public grid, and for adjacent profiles that have different last bits.

    The precision distinguisher counts outputs off a coarse lattice: 0 plus floating-point noise has binary digits that
    1 plus floating-point noise cannot have. What it sees is turned into a certified lower bound on the loss. A
    mechanism whose outputs all lie on a public grid, by exact arithmetic, has no last bits to tell anything by.

    Parameters
    ----------
    mechanism
        As for `audit`; its outputs must be numbers. Only the first cell of a vector is looked at.
    adjacent, claimed, epsilon, items
        As for `audit`. Profiles with the exact answers 0 and 1 show most.
    grid
        The public step; known for plans. Not checked if there is none.
    samples, confidence
        Runs per side, and the chance that the bounds hold.
    random_state, progress
        As for `audit`.

    Examples
    --------
    >>> def textbook(profile, size, random_state):
    ...     return sum(profile) + np.random.default_rng(random_state).laplace(0, 1, size)
    >>> floating_point_audit(textbook, adjacent=[([0], [1])], claimed=1.0, random_state=1).verdict
    'violated'
    """
    plan = planned_audit(
        mechanism,
        adjacent=adjacent,
        claimed=claimed,
        samples=samples,
        confidence=confidence,
        epsilon=epsilon,
        items=items,
        features=[precision_feature()],
    )
    if plan.subject.reader.kind != "numbers":
        raise InvalidInput("must return numbers for a floating-point audit (got labels)", parameter="mechanism")
    known = plan.subject.plan
    step = known.grid if grid is None and known is not None else grid
    off_grid: list[int] = [0]
    if step is not None:
        plan = replace(plan, subject=_watched(plan.subject, positive("grid", step), off_grid))
    report = plan.run(random_state, progress)
    outside = sum(off_grid)
    worst = max(report.rows, key=lambda row: row.lower_bound - row.claimed)
    violated = outside > 0 or report.verdict == VIOLATED
    words = f"Loss shown by the last bits: at least {worst.lower_bound:.4g}, claimed {worst.claimed:.4g}"
    words += f" ({worst.event})." if worst.lower_bound else "."
    if step is not None:
        words = f"{outside} outputs off the grid. {words}"
    figures = {"lower_bound": worst.lower_bound, "claimed": worst.claimed, "off_grid": outside, "grid": step}
    return Finding("floating point", report.subject, VIOLATED if violated else NOTHING, words, figures)


def _watched(subject: Subject, grid: float, off_grid: list[int]) -> Subject:
    """Return the subject with every output checked against the grid on its way out."""

    def run(profile: object, count: int, stream: Stream) -> object:
        raw = subject.run(profile, count, stream)
        off_grid.append(int((np.remainder(np.asarray(raw, dtype=np.float64), grid) != 0).sum()))
        return raw

    return replace(subject, run=run)
