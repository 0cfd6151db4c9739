import numpy as np
import pytest
from hypothesis import given, strategies as st

from hetdp import Box, errors


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
        ({"lower": [0, 1], "upper": [1]}, r"upper must be as long as lower \(2\) [(]got 1[)]"),
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
    with pytest.raises(errors.InvalidInput, match=r"one number per item") as caught:
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
