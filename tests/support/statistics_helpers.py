"""Goodness-of-fit checks shared by the noise tests.

Every check is run at a false-alarm rate of FALSE_ALARM per test, with fixed seeds in CI.
"""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def laplace_log_weights(support, scale):
    return -np.abs(support) / scale


def gaussian_log_weights(support, sigma):
    return -(support.astype(float) ** 2) / (2 * sigma**2)


def fit_pvalue(samples, log_weights, spread, bins=64):
    """P-value of a chi-square test of integer samples against exact probabilities on (nearly) all of the support."""
    reach = int(30 * spread) + 20  # beyond lies less than 1e-13
    support = np.arange(-reach, reach + 1)
    weights = np.exp(log_weights(support))
    probabilities = weights / weights.sum()
    cumulative = np.cumsum(probabilities)
    # Cells of about equal probability, each at least one integer wide, and never too thin for the chi-square limit.
    edges = np.unique(np.searchsorted(cumulative, np.arange(1, bins) / bins))
    cell = np.searchsorted(edges, np.arange(support.size), side="left")
    expected = np.bincount(cell, weights=probabilities) * samples.size
    inside = np.clip(samples, -reach, reach) + reach
    observed = np.bincount(cell[inside], minlength=expected.size)
    sound = expected >= 10
    expected = np.append(expected[sound], expected[~sound].sum())
    observed = np.append(observed[sound], observed[~sound].sum())
    keep = expected > 0
    statistic = ((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    return float(stats.chi2.sf(statistic, keep.sum() - 1))


def loss_lower_bound(one, two, *, false_alarm=FALSE_ALARM, thresholds=9):
    """Largest certified log-ratio of P[X >= c] or P[X <= c] under two samples (Clopper-Pearson, Bonferroni)."""
    cuts = np.quantile(np.concatenate([one, two]), np.linspace(0.05, 0.95, thresholds))
    level = false_alarm / (8 * thresholds)
    best = 0.0
    for cut in cuts:
        for first, second in ((one, two), (two, one)):
            for event in (np.greater_equal, np.less_equal):
                hits, misses = int(event(first, cut).sum()), int(event(second, cut).sum())
                low = stats.beta.ppf(level, hits, first.size - hits + 1) if hits else 0.0
                high = stats.beta.ppf(1 - level, misses + 1, second.size - misses) if misses < second.size else 1.0
                if low > 0:
                    best = max(best, float(np.log(low / high)))
    return best
