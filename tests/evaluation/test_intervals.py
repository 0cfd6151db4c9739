"""Intervals cover what they say they do: of means over users and runs, and of ratios."""

import numpy as np
import pytest

from hetdp.evaluation.results import interval, ratio_interval


class TestInterval:
    def test_covers_the_truth_at_least_as_often_as_it_says(self):
        # Crossed effects of users and runs; 400 intervals, nominal 95 %. With a true coverage of 95 %, fewer than 90 %
        # covering has a probability of 2e-5 per attempt; the intervals are wider than nominal, and the seed is fixed.
        rng = np.random.default_rng(11)
        covered = 0
        for _ in range(400):
            users, runs = rng.normal(0, 0.2, 60), rng.normal(0, 0.02, 5)
            mean, half = interval(0.5 + users + runs[:, None] + rng.normal(0, 0.1, (5, 60)))
            covered += abs(mean - 0.5) <= half
        assert covered >= 360

    def test_shrinks_with_users_and_runs(self):
        rng = np.random.default_rng(12)
        recalls = 0.5 + rng.normal(0, 0.1, (20, 400))
        assert interval(recalls)[1] < interval(recalls[:5, :100])[1] < interval(recalls[:2, :10])[1]


class TestRatio:
    def test_of_sizes_one_it_is_the_mean(self):
        values = np.random.default_rng(1).random((4, 30))
        assert ratio_interval(values, np.ones((4, 30))) == pytest.approx(interval(values))

    def test_users_without_a_size_do_not_count(self):
        rng = np.random.default_rng(2)
        values, sizes = rng.random((3, 40)), np.zeros((3, 40))
        sizes[:, :25] = 1.0
        ratio, _ = ratio_interval(values * sizes, sizes)
        assert ratio == pytest.approx(values[:, :25].mean())

    def test_there_is_no_ratio_of_nothing(self):
        assert ratio_interval(np.zeros((2, 5)), np.zeros((2, 5))) is None

    def test_covers_the_truth_at_least_as_often_as_it_says(self):
        # Shares of test items found, of users with 0 to 5 of them: 400 intervals, nominal 95 %; seed fixed. With a true
        # coverage of 95 %, fewer than 90 % covering has a probability of 2e-5.
        rng = np.random.default_rng(13)
        covered = 0
        for _ in range(400):
            chance = rng.beta(2, 2, 200)
            sizes = rng.integers(0, 6, (5, 200))
            ratio, half = ratio_interval(rng.binomial(sizes, chance), sizes)
            covered += abs(ratio - 0.5) <= half
        assert covered >= 360
