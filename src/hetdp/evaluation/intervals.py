"""How sure a measured number is: 95 % intervals over users and runs, of means and of paired differences."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABOUT_INTERVALS", "interval", "ratio_interval"]

_NORMAL_95 = 1.959964
ABOUT_INTERVALS = (
    "Intervals of 95 %: users as a sample of users, runs as a sample of splits, weights and noise. The spread of the "
    "users' means over runs (normal) and of the runs' means (Student) are added in squares. All methods meet the same "
    "splits and users, so differences are taken user by user and run by run, and their intervals say more than two "
    "that overlap."
)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of values, runs x users, and half the width of its 95 % confidence interval.

    Users and runs are both taken as samples. The spread between users (of their means over the runs) and between runs
    (of their means over the users) both contain the spread of single numbers, so adding them counts it twice: the
    interval is a little too wide rather than too narrow. Few runs are met by Student's distribution.

    Examples
    --------
    >>> mean, half = interval(np.array([[0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5]]))
    >>> round(mean, 3), round(half, 3)
    (0.5, 0.4)
    """
    from scipy.special import stdtrit

    runs, users = values.shape
    between_users = values.mean(axis=0).std(ddof=1) / math.sqrt(users)
    between_runs = values.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    student = float(stdtrit(runs - 1, 0.975))
    return float(values.mean()), float(math.hypot(_NORMAL_95 * between_users, student * between_runs))


def ratio_interval(values: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the sum of values over that of sizes, both runs x users, and half the width of its interval.

    A mean over the users who have test items is one (sizes 0 or 1), and so is the share of all test items that were
    found. The interval is that of what each user adds beyond the ratio. None if all sizes are 0.

    Examples
    --------
    >>> ratio, half = ratio_interval(np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), np.array([[1.0, 1, 0], [1, 1, 0]]))
    >>> round(ratio, 3), round(half, 2)
    (0.75, 3.2)
    """
    if not sizes.any():
        return None
    ratio = float(values.sum() / sizes.sum())
    _, half = interval((values - ratio * sizes) / sizes.mean())
    return ratio, half
