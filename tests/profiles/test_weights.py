"""One rounding of weights: down to whole steps of 1/255, exactly."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hetdp.profiles.weights import WEIGHT_STEPS, weight_codes


@given(st.floats(0, 1), st.sampled_from([np.float64, np.float32]))
def test_codes_are_the_exact_floor(weight, dtype):
    given_weight = dtype(weight)
    assert weight_codes(np.array([given_weight]))[0] == math.floor(Fraction(float(given_weight)) * WEIGHT_STEPS)


def test_the_floats_next_to_a_step_fall_on_their_own_side():
    steps = np.arange(1, WEIGHT_STEPS + 1) / WEIGHT_STEPS
    for weights in (steps, np.nextafter(steps, 0), np.minimum(np.nextafter(steps, 1), 1)):
        expected = [math.floor(Fraction(weight) * WEIGHT_STEPS) for weight in weights.tolist()]
        assert weight_codes(weights).tolist() == expected
    assert weight_codes(np.array([5e-324, 1.0, 0.0])).tolist() == [0, 255, 0]
