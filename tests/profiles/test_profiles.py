import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetdp import Box, PrivacyWeights, WeightPrior, errors


def test_semi_balanced_sets_contain_zero():
    """Trap 1."""
    assert Box([0, 0], [1, 1]).is_semi_balanced
    assert Box([-1], [1]).is_semi_balanced
    assert not Box([20], [80]).is_semi_balanced


def test_default_centre_is_zero_if_inside_else_the_midpoint():
    box = Box(lower=[0, -3, 20, -8], upper=[1, 5, 80, -2])
    assert box.center.tolist() == [0, 0, 50, -5]
    assert Box([20], [80], center=[30]).center.tolist() == [30]


@given(
    value=st.floats(allow_nan=True, allow_infinity=True),
    lower=st.floats(-1e6, 1e6),
    length=st.floats(1e-3, 1e6),
    shrinkage=st.floats(0, 1),
)
def test_clamped_and_shrunk_values_stay_inside(value, lower, length, shrinkage):
    box = Box([lower], [lower + length])
    shrunk = box.shrink(box.clamp([value]), np.array([shrinkage]))
    assert box.lower[0] <= shrunk[0] <= box.upper[0]


def test_clamping_is_silent_about_everything():
    box = Box.uniform(0, 1, size=7, center=0.25)
    values = [2, -1, float("nan"), None, "private", object(), 10**400]
    assert box.clamp(values).tolist() == [1, 0, 0.25, 0.25, 0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": [0, 1], "upper": [1]}, r"upper must be as long as lower \(2\). Got 1 instead"),
        ({"lower": [1], "upper": [1]}, "lower must be below upper"),
        ({"lower": [2], "upper": [1]}, "lower must be below upper"),
        ({"lower": [float("nan")], "upper": [1]}, "lower must hold finite numbers"),
        ({"lower": [0], "upper": [float("inf")]}, "upper must hold finite numbers"),
        ({"lower": [-1e308], "upper": [1e308]}, "upper - lower must be finite"),
        ({"lower": [], "upper": []}, "lower must be a non-empty vector"),
        ({"lower": ["x"], "upper": [1]}, "lower must be a vector of numbers"),
        ({"lower": [0], "upper": [1], "center": [2]}, "center must lie inside the box"),
        ({"lower": [0], "upper": [1], "center": [0, 0]}, "center must be as long as lower"),
    ],
)
def test_bad_boxes_are_refused(arguments, message):
    with pytest.raises(errors.InvalidInput, match=message):
        Box(**arguments)


def test_values_of_the_wrong_number_are_refused_without_showing_them():
    with pytest.raises(errors.InvalidInput, match=r"one number per item \(2\). Got shape \(3,\)") as caught:
        Box.uniform(0, 1, size=2).clamp([123.456, 0, 0])
    assert "123" not in str(caught.value)


def test_boxes_compare_by_value_and_cannot_be_changed():
    one, two = Box([0], [1]), Box([0], [1])
    assert one == two
    assert hash(one) == hash(two)
    assert one != Box([0], [1], center=[0.5])
    assert one != "box"
    with pytest.raises(ValueError, match="read-only"):
        one.lower[0] = 5


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
    with pytest.raises(errors.InvalidInput, match=r"known items only\. Got 1"):
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


def test_westin_prior_of_the_paper():
    prior = WeightPrior.westin(0.34, 0.43, 0.23)
    assert prior.mean() == pytest.approx(0.7225)
    assert prior.probabilities.sum() == pytest.approx(1)
    assert "mean 0.7225" in repr(prior)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0.9]), "sum to 1"),
        (([2.0],), "weights of a prior must lie"),
        (([0.5, 1], [1.0]), "as many as weights"),
        (({0.5: 1.0}, [1.0]), "probabilities must be omitted"),
        (([0, 1], [-0.5, 1.5]), "probabilities must be >= 0"),
    ],
)
def test_bad_priors_are_refused(arguments, message):
    with pytest.raises(errors.InvalidInput, match=message):
        WeightPrior(*arguments)


def test_priors_from_what_makes_one():
    assert WeightPrior.of([0.5, 1.0]).mean() == 0.75
    assert WeightPrior.of({0.0: 0.5, 1.0: 0.5}).mean() == 0.5
    prior = WeightPrior([1.0])
    assert WeightPrior.of(prior) is prior
    with pytest.raises(errors.InvalidInput, match="a prior must be public"):
        WeightPrior.of(PrivacyWeights([0.5]))
