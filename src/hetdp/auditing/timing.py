"""The timing audit: does drawing take longer when the noise is larger? Reported, never judged."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hetdp.auditing.report import REPORTED, Finding
from hetdp.auditing.subjects import accepts
from hetdp.core.checks import whole
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["timing_audit"]

_BATCH = 256


def timing_audit(
    sampler: Callable[..., Any],
    *,
    name: str = "sampler",
    draws: int = 2_000,
    random_state: RandomState = None,
) -> Finding:
    """Measure how the time of a draw goes with the size of the noise that comes out, for single and batched draws.

    Someone who can time a release to the microsecond learns about its noise if the correlation is not 0. The figures
    depend on the machine and on what else it does, so they are reported and not judged.

    Parameters
    ----------
    sampler
        Takes `size`, and `random_state` if it likes; returns that many numbers.
    name
        For the report.
    draws
        How many draws of each kind to time.
    random_state
        A seed, or the stream to draw from.

    Examples
    --------
    >>> from hetdp.noise import discrete_laplace
    >>> finding = timing_audit(lambda size: discrete_laplace(100, size), draws=50)
    >>> finding.verdict, sorted(finding.figures)
    ('reported', ['batched', 'draws', 'single'])
    """
    count = whole("draws", draws, minimum=50)
    keywords = {"random_state": as_stream(random_state)} if accepts(sampler, "random_state") else {}
    figures = {
        "single": _correlation(lambda: sampler(size=1, **keywords), count),
        "batched": _correlation(lambda: sampler(size=_BATCH, **keywords), count),
        "draws": count,
    }
    noise = 3 / count**0.5
    words = (
        f"Rank correlation of time with |noise|: {figures['single']:+.3f} for single draws, "
        f"{figures['batched']:+.3f} for batches of {_BATCH}; chance alone stays within {noise:.3f}."
    )
    return Finding("timing", name, REPORTED, words, figures)


def _correlation(draw: Callable[[], Any], count: int) -> float:
    """Return the rank correlation, which a few slow draws cannot dominate."""
    from scipy import stats

    draw()
    times, sizes = np.empty(count), np.empty(count)
    for turn in range(count):
        begin = time.perf_counter_ns()
        noise = draw()
        times[turn] = time.perf_counter_ns() - begin
        sizes[turn] = float(np.abs(np.asarray(noise, dtype=np.float64)).mean())
    constant = np.ptp(times) == 0 or np.ptp(sizes) == 0
    return 0.0 if constant else float(stats.spearmanr(times, sizes).statistic)
