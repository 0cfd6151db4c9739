"""Sums and conversions of losses: exact where a float can hold the result, else rounded up."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.support.errors import refused

from hetdp.accounting.composition import (
    BOUNDLESS,
    MOST_STEPS,
    STEPS,
    add_up,
    epsilon_delta_of_rho,
    group_loss,
    loss_of,
    losses_of,
    rho_of_epsilon,
    rho_of_epsilon_delta,
    rho_steps_up,
    steps_down,
    steps_of,
    steps_up,
)
from hetdp.accounting.ledger.accounts import Accounts, Totals, ends_of
from hetdp.accounting.ledger.identity import canonical_ids
from hetdp.accounting.ledger.state import Charge, State
from hetdp.core.checks import not_negative

losses = st.floats(min_value=0.0, max_value=1e300)
#: By how much a float may be counted as less than it is.
LENIENT = 1 - Fraction(1, 2**51)


def exact(number):
    return Fraction(float(number))


@pytest.mark.slow
@given(losses, losses)
def test_sum_is_rounded_up_by_less_than_one_step(left, right):
    total = float(add_up(left, right))
    true = exact(left) + exact(right)
    assert exact(total) >= true
    assert total == 0.0 or exact(math.nextafter(total, 0.0)) < true


def test_exact_sums_stay_exact():
    assert add_up([0.0, 0.25, 1.0], [0.25, 0.5, 0.0]).tolist() == [0.25, 0.75, 1.0]


def test_plain_addition_would_count_too_little():
    plain = careful = 0.0
    for _ in range(10):
        plain, careful = plain + 0.1, float(add_up(careful, 0.1))
    true = 10 * exact(0.1)
    assert exact(plain) < true <= exact(careful)


def test_infinite_and_overflowing_sums_are_infinite():
    assert add_up([math.inf, 1.5e308, math.inf], [1.0, 1.5e308, math.inf]).tolist() == [math.inf] * 3


@given(losses)
def test_rho_is_rounded_up_by_at_most_two_steps(epsilon):
    rho = float(rho_of_epsilon(epsilon))
    true = exact(epsilon) ** 2 / 2
    assert rho == math.inf or exact(rho) >= true
    two_below = math.nextafter(math.nextafter(rho, 0.0), 0.0)
    assert two_below == 0.0 or rho == math.inf or exact(two_below) <= true


def test_rho_of_short_fractions_is_exact():
    assert rho_of_epsilon([0.0, 0.5, 1.0, 3.0, 2.0**-10]).tolist() == [0.0, 0.125, 0.5, 4.5, 2.0**-21]


def brute_force_epsilon(rho, delta):
    alpha = 1.0 + np.geomspace(1e-4, 1e8, 400_001)
    bound = alpha * rho - (math.log(delta) + np.log(alpha)) / (alpha - 1.0) + np.log1p(-1.0 / alpha)
    return max(0.0, float(bound.min()))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.01, 0.1, 1.0, 10.0, 200.0])
def test_conversion_is_sound_and_close_to_the_optimum(rho, delta):
    epsilon = float(epsilon_delta_of_rho(rho, delta))
    best = brute_force_epsilon(rho, delta)
    assert best * (1 - 1e-6) <= epsilon <= best * 1.002 + 1e-12
    assert epsilon <= rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


def gaussian_delta(epsilon, mu):
    """Exact delta of a Gaussian release with shift / sigma = mu (Balle and Wang 2018, Theorem 8)."""

    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("rho", [1e-6, 0.001, 0.1, 1.0, 5.0])
def test_conversion_holds_for_the_gaussian_mechanism(rho):
    delta = 1e-6
    epsilon = float(epsilon_delta_of_rho(rho, delta))
    assert gaussian_delta(epsilon, math.sqrt(2.0 * rho)) <= delta


def test_conversion_of_extremes_and_shapes():
    converted = epsilon_delta_of_rho([0.0, 5e-324, 0.1, math.inf, 0.1], 1e-6)
    assert converted[0] == 0.0
    assert converted[1] == 0.0
    assert converted[3] == math.inf
    assert converted[2] == converted[4]
    assert np.isfinite(epsilon_delta_of_rho(1e300, 1e-6))
    assert epsilon_delta_of_rho(np.full((2, 3), 0.1), 1e-6).shape == (2, 3)


def test_conversion_grows_with_rho_and_falls_with_delta():
    grid = epsilon_delta_of_rho(np.geomspace(1e-6, 100, 50), 1e-6)
    assert (np.diff(grid) > 0).all()
    assert epsilon_delta_of_rho(0.1, 1e-9) > epsilon_delta_of_rho(0.1, 1e-3)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan, "small"])
def test_delta_is_checked(delta):
    with refused("delta", ""):
        epsilon_delta_of_rho(0.1, delta)


@given(st.lists(st.floats(min_value=0.0, max_value=1e100), max_size=20))
def test_group_of_pure_losses_is_the_sum_rounded_up(members):
    total, true = group_loss(members, "epsilon"), sum(map(exact, members))
    assert exact(total) >= true
    assert total == 0.0 or exact(math.nextafter(total, 0.0)) < true


def test_group_of_gaussian_losses_grows_with_the_square():
    """Two items that shift the answer by one sigma each shift it by two sigmas together."""
    one_sigma = 0.5
    assert group_loss([one_sigma, one_sigma], "rho") == pytest.approx(2.0, rel=1e-12)
    assert group_loss([one_sigma, one_sigma], "rho") >= 2.0
    assert group_loss([0.1], "rho") == 0.1
    assert group_loss([], "rho") == 0.0
    assert group_loss([1e308, 1e308], "epsilon") == math.inf
    assert group_loss([math.inf, 1.0], "epsilon") == math.inf


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, "x", True])
def test_not_negative_refuses(value):
    with refused("amount", "a "):
        not_negative("amount", value)


@given(st.floats(0.0, 9e6))
def test_steps_of_losses_are_not_below_and_those_of_limits_not_above_but_for_the_last_bits(number):
    exact = Fraction(number) * STEPS
    assert exact * LENIENT <= int(steps_up(number)) <= math.ceil(exact / LENIENT)
    assert math.floor(exact * LENIENT) <= int(steps_down(number)) <= exact / LENIENT
    assert steps_of(number) == int(steps_up(number))
    assert min(exact * Fraction(number) / 2 * LENIENT**2, MOST_STEPS) <= int(rho_steps_up(number))
    assert steps_of(Fraction(number)) == math.ceil(exact)


@given(st.integers(0, 10**12), st.sampled_from([10**9, 252, 2**11, 3, 7, 9, 12, 63 * 10**6]))
def test_decimals_and_thirds_are_whole_steps(numerator, denominator):
    """Such as 0.1, which no float is."""
    number, exact = numerator / denominator, Fraction(numerator, denominator) * STEPS
    assert exact.denominator == 1
    if exact < 2**52:
        assert (int(steps_up(number)), int(steps_down(number)), steps_of(number)) == (exact, exact, exact)
        assert loss_of(int(exact)) == number


@given(st.floats(2**51 / STEPS, 9e6))
def test_a_large_loss_fits_into_a_limit_of_the_same_size_and_is_shown_as_no_less(number):
    assert steps_up(number) == steps_down(number)
    assert number <= loss_of(int(steps_up(number))) <= number * (1 + 2**-51)


@pytest.mark.parametrize("number", [1e6, 123456.75, 9e6, 35742.1, 8936.3])
def test_large_decimals_are_shown_as_they_were_typed(number):
    assert loss_of(int(steps_up(number))) == loss_of(int(steps_down(number))) == number


@pytest.mark.parametrize("number", [9.2e6, 1e30, 1e308, Fraction(10**400)])
def test_what_is_too_much_to_be_counted_is_an_infinite_loss_and_no_limit(number):
    assert loss_of(steps_of(number)) == loss_of(steps_of(number) + steps_of(number)) == math.inf
    if isinstance(number, float):
        assert losses_of(steps_up(number)) == losses_of(rho_steps_up(number)) == math.inf
        assert int(steps_down(number)) == BOUNDLESS


@given(st.integers(0, 2**53), st.floats(0.0, 1.0, exclude_min=True), st.integers(0, 2**50), st.sampled_from([1, 2]))
def test_an_account_never_ends_later_than_what_remains_lasts(remaining, dial, then, power):
    (end,) = ends_of(np.array([remaining]), np.array([dial]), np.array([then]), power=power).tolist()
    lasts = Fraction(remaining) / (Fraction(dial) * LENIENT) ** power
    assert end - then <= lasts
    if lasts < 2**52:
        assert end - then >= math.floor(lasts * LENIENT ** (2 * power)) or dial**power < 1e-300


@given(st.integers(1, 10**6), st.integers(1, 1000), st.sampled_from([1000, 3, 7, 12]))
def test_an_account_of_a_decimal_dial_ends_when_it_should(thousandths, numerator, denominator):
    exact = Fraction(min(numerator, denominator), denominator)
    remaining = Fraction(thousandths, 1000) * STEPS
    (end,) = ends_of(np.array([int(remaining)]), np.array([float(exact)]), np.array([0]), power=1).tolist()
    if remaining / exact < 2**50:
        assert end == math.floor(remaining / exact)


def test_state_shows_nothing_and_cannot_be_written_to():
    state = State(Totals("epsilon"), Accounts.fresh(canonical_ids(["secret label"]), np.array([123])))
    assert "0.123" not in repr(state)
    assert "secret" not in repr(state)
    with pytest.raises(ValueError, match="read-only"):
        state.pay(Charge([1e-12]), drop=False).accounts.epsilon[0] = 0


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_the_way_back_from_epsilon_and_delta_ends_on_the_safe_side(epsilon, delta):
    rho = rho_of_epsilon_delta(epsilon, delta)
    assert epsilon_delta_of_rho(rho, delta) <= epsilon
    assert epsilon_delta_of_rho(rho * 1.0001, delta) > epsilon or rho >= epsilon * (1 - 1e-9)
    # Better than the closed form (Bun and Steinke 2016).
    assert rho >= (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2 * 0.999


def test_the_way_back_refuses_what_is_no_level():
    with refused(problem="epsilon"):
        rho_of_epsilon_delta(0.0, 1e-6)
    with refused(problem="delta"):
        rho_of_epsilon_delta(1.0, 1.0)
