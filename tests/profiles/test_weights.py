"""Privacy weights: what makes them, what they show, and one rounding, down to whole steps of 1/255, exactly."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from hetdp import PrivacyWeights, errors
from hetdp.profiles.steps import WEIGHT_STEPS, weight_codes


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


def test_weights_from_everything():
    assert PrivacyWeights([0.5, 0.25]).values.tolist() == [0.5, 0.25]
    assert PrivacyWeights((1,)).values.tolist() == [1]
    assert PrivacyWeights({"a": 0.5, "b": 0.0}).values.tolist() == [0.5, 0]
    assert PrivacyWeights({"b": 0.5}, items=["a", "b", "c"]).values.tolist() == [1, 0.5, 1]
    assert PrivacyWeights({"b": 0.5}, items=["a", "b"], default=0.2).values.tolist() == [0.2, 0.5]
    series = pd.Series([0.1, 0.2], index=["x", "y"])
    assert PrivacyWeights(series).values.tolist() == [0.1, 0.2]
    assert PrivacyWeights(series, items=["y", "x", "z"]).values.tolist() == [0.2, 0.1, 1]
    assert PrivacyWeights(PrivacyWeights([0.3])).values.tolist() == [0.3]
    assert np.signbit(PrivacyWeights([-0.0]).values[0]) == np.False_


@pytest.mark.parametrize("bad", [[1.5], [-0.1], [float("nan")], [0.5, float("inf")], ["secret"], [], [[0.5]], {"a": 2}])
def test_bad_weights_are_refused_without_showing_them(bad):
    with pytest.raises(errors.InvalidInput, match="weights must") as caught:
        PrivacyWeights(bad)
    for secret in ("1.5", "-0.1", "secret", "inf"):
        assert secret not in str(caught.value)


def test_weights_for_unknown_items_are_refused():
    with pytest.raises(errors.InvalidInput, match=r"known items only"):
        PrivacyWeights({"typo": 0.5}, items=["a"])
    with pytest.raises(errors.InvalidInput, match="items must come with a dict"):
        PrivacyWeights([0.5], items=["a"])


def test_weights_are_secret_and_fixed():
    weights = PrivacyWeights([0.123, 0.456])
    assert repr(weights) == str(weights) == "PrivacyWeights(2 items)"
    assert repr(PrivacyWeights([0.5])) == "PrivacyWeights(1 item)"
    assert len(weights) == 2
    with pytest.raises(ValueError, match="read-only"):
        weights.values[0] = 1
    source = np.array([0.5])
    kept = PrivacyWeights(source)
    source[0] = 1
    assert kept.values[0] == 0.5
