"""Means over runs with their uncertainty, and how far private neighbours get."""

import numpy as np
import pytest

from hetdp.experiments.measurements import gap_closed, mean_over_runs


def test_a_mean_has_the_interval_of_student():
    found = mean_over_runs(np.array([1.0, 2.0, 3.0]))
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(2.484, abs=5e-4)


def test_the_way_between_random_and_true_neighbours():
    found = gap_closed(1.0, np.array([0.3, 0.5]), np.array([0.1, 0.3]), np.array([0.5, 0.7]))
    assert (found.share, found.low) == (pytest.approx(0.5), pytest.approx(0.5))
