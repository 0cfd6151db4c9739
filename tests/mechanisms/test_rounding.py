import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from hetdp.core.checks import float_up
from hetdp.mechanisms.queries.query import exact_sum, exact_sums
from hetdp.mechanisms.rounding import choose_grid, floor_product, product_up


@pytest.mark.slow
@settings(max_examples=500)
@given(weight=st.floats(0, 1), cap=st.fractions(0, 2**70))
@example(weight=0.1, cap=Fraction(10))
@example(weight=0.1, cap=Fraction(2**52))
@example(weight=math.nextafter(1, 0), cap=Fraction(2**53 - 1))
@example(weight=5e-324, cap=Fraction(2**52))
@example(weight=0.6766122572028866, cap=Fraction(1.3456977585392984) * 2**60)
def test_floor_product_is_the_floor(weight, cap):
    expected = min(2**52, math.floor(Fraction(weight) * math.floor(cap)))
    assert int(floor_product(np.array([weight]), cap, limit=2**52)[0]) == expected


def test_rounding_to_nearest_would_overpay():
    """The float product of 0.1 and 10 is 1, the exact one is above 1; of 0.3 and 10 the exact one is below 3."""
    assert int(floor_product(np.array([0.3]), Fraction(10), limit=10)[0]) == 2
    assert 0.3 * 10 == 3.0


@pytest.mark.slow
@given(steps=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_exact_sum_never_overflows(steps):
    whole = np.array(steps, dtype=np.int64)
    assert exact_sum(whole) == sum(steps)
    cells = np.arange(whole.size) % 3
    assert exact_sums(whole, cells, 3).tolist() == [sum(steps[place::3]) for place in range(3)]


@given(
    scale=st.floats(1e-200, 1e200),
    reach=st.floats(1e-200, 1e200),
    error=st.one_of(st.just(0.0), st.floats(1e-200, 1e200)),
)
def test_the_grid_is_a_power_of_two_that_fits(scale, reach, error):
    grid = choose_grid(scale=scale, reach=reach, error=error, requested=None)
    assert math.frexp(grid)[0] == 0.5
    assert scale / grid < 2**51
    if scale / 2**20 < reach:  # unless the noise dwarfs the answer
        assert scale / grid < 2**41
    assert reach / grid < 2**51
    assert grid >= error


def test_a_coarse_grid_is_the_users_choice():
    assert choose_grid(scale=1.0, reach=1.0, error=0.0, requested=4.0) == 4.0
    with pytest.raises(ValueError, match="grid must be a power of two"):
        choose_grid(scale=1.0, reach=1.0, error=0.0, requested=3.0)


@pytest.mark.slow
@settings(max_examples=300)
@given(left=st.floats(1e-100, 1e100), right=st.fractions(Fraction(1, 10**9), 10**9))
def test_products_are_rounded_up_but_not_further_than_needed(left, right):
    product = Fraction(float(product_up(np.array([left]), right)[0]))
    exact = Fraction(left) * right
    assert exact <= product <= exact * (1 + Fraction(1, 2**51))
    assert Fraction(float_up(right)) >= right


def test_small_cases_by_hand():
    assert choose_grid(scale=1.0, reach=1.0, error=0.0, requested=None) == 2.0**-40
    floors = floor_product(np.array([1.0, 0.1, 1 / 3]), Fraction(2**40), limit=2**40)
    assert floors.tolist() == [2**40, 109951162777, 366503875925]
    assert product_up(np.array([0.5, 0.1]), Fraction(1, 2)).tolist() == [0.25, 0.05]
    assert Fraction(float_up(Fraction(2, 3))) >= Fraction(2, 3)
