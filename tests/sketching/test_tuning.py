"""The weight that sketches are tuned for: given, or chosen from what is public."""

from fractions import Fraction

import numpy as np
import pytest

from hetdp import PrivacyWeights, WeightPrior, errors
from hetdp.sketching.tuning import as_tuning, best_tuning

TEN = Fraction(10)


def test_a_weight_is_taken_as_it_is():
    assert as_tuning(None, TEN) == 1
    assert as_tuning(1, TEN) == 1
    assert as_tuning(0.25, TEN) == Fraction(1, 4)
    for wrong in (0, -0.5, 1.5, float("nan")):
        with pytest.raises(errors.InvalidInput, match="tuned_for must"):
            as_tuning(wrong, TEN)


def test_a_prior_is_public_and_says_which():
    half = [0.5, 0.75, 1.0]
    chosen = best_tuning(WeightPrior(half), TEN)
    assert (
        chosen == as_tuning(half, TEN) == as_tuning(np.array(half), TEN) == as_tuning(dict.fromkeys(half, 1 / 3), TEN)
    )
    assert Fraction(1, 2) <= chosen < 1
    with pytest.raises(errors.InvalidInput, match="public"):
        as_tuning(PrivacyWeights(half), TEN)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(20)])
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.25])
def test_where_all_weigh_alike_that_is_the_weight(epsilon, weight):
    assert best_tuning(WeightPrior([weight]), epsilon) == Fraction(weight)


def test_the_larger_epsilon_the_fewer_are_left_out():
    prior = WeightPrior(np.linspace(0.5, 1.0, 51))
    found = [best_tuning(prior, Fraction(epsilon)) for epsilon in (1, 3, 5, 10, 20)]
    assert found == sorted(found, reverse=True)
    assert found[0] > Fraction(3, 4)
    assert found[-1] == Fraction(1, 2)
