"""Attacks that once worked, each kept from working again."""

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import hetdp
from hetdp import Box, mechanisms, queries
from hetdp.core.randomness import seeded_stream
from hetdp.noise.samplers import gaussian_integers, laplace_integers
from tests.support.errors import refused

ONE = queries.total(Box([0], [1]))


def exact_loss(plan, one, two, size):
    keep = np.ones(size, dtype=bool)
    first, second = plan._exact_steps(one, keep), plan._exact_steps(two, keep)
    return Fraction(sum(abs(a - b) for a, b in zip(first, second, strict=True))) / plan.spread


@pytest.mark.parametrize(("multiplier", "epsilon"), [(1e6, 1e-12), (1e10, 1e-8), (1.0, 1e-18)])
def test_noise_too_wide_for_64_bits_is_refused_instead_of_left_out(multiplier, epsilon):
    with refused("epsilon"):
        hetdp.release(hetdp.stretch(ONE, [1.0], multiplier=multiplier), [1], epsilon=epsilon)
    with refused("rho"):
        hetdp.release(hetdp.stretch(ONE, [1.0], multiplier=multiplier), [1], noise="gaussian", rho=epsilon**2 * 1e-12)


def test_the_samplers_themselves_refuse_what_they_cannot_draw():
    for draw, spread in ((laplace_integers, 2**53), (gaussian_integers, 2**106), (laplace_integers, 0)):
        with refused(None, "2**52"):
            draw(Fraction(spread), 1, seeded_stream(0))
    with refused("epsilon"):
        hetdp.release_distortion_bound(hetdp.stretch(ONE, [0.5]), epsilon=1e-20)


@pytest.mark.parametrize(
    ("box", "weight"),
    [(Box([1e15], [1e15 + 1]), 0.13), (Box([1e6], [1e6 + 1e-6]), 1.199e-4), (Box([0.1], [0.3]), 1 / 3)],
)
def test_rounding_of_the_shrunk_point_cannot_break_declared_bounds(box, weight):
    query = queries.custom(lambda x: float(x[0] - box.center[0]), box, lipschitz=[1.0], evaluation_error=0.0)
    plan = hetdp.plan(hetdp.stretch(query, [weight]), epsilon=1.0)
    assert exact_loss(plan, box.lower, box.upper, 1) <= Fraction(weight)


@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-6])
def test_huge_multipliers_and_epsilons_do_not_overflow(weight):
    query = queries.total(Box([-1], [1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = hetdp.plan(hetdp.stretch(query, [weight], multiplier=1e5), epsilon=1e12)
        loss = exact_loss(plan, [-1], [1], 1)
    assert (plan.spans >= 0).all()
    assert 0 < loss <= min(Fraction(float(plan.losses[0])), 10**12 * Fraction(weight))


def test_a_grid_finer_than_floats_can_count_is_refused():
    for query in (queries.total(Box([-1], [1])), queries.norm(Box([-1], [1]))):
        with refused("grid"):
            hetdp.plan(hetdp.stretch(query, [0.5]), epsilon=16384.0, grid=2.0**-59)


class Treacherous:
    """A cell that raises whatever it is asked for."""

    def __float__(self):
        message = "SECRET 42"
        raise ZeroDivisionError(message)

    def __array__(self, *_, **__):
        message = "SECRET 43"
        raise KeyError(message)


@pytest.mark.parametrize(
    "cell",
    [Treacherous(), np.complex128(1 + 1j), np.longdouble("1e400"), np.ma.masked, [1, 2], np.array([1.0, 2.0]), b"x"],
)
def test_no_cell_raises_warns_or_changes_how_another_is_read(cell):
    stretched = hetdp.stretch(queries.total(Box.uniform(0, 10, size=2)), [0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = {
            hetdp.release(stretched, [first, np.timedelta64(5, "s")], epsilon=1e6, random_state=1).value
            for first in (1.0, "x", cell)
        }
    assert len(values) == 1


def test_a_column_that_cannot_be_read_is_refused_without_its_message():
    with refused("values") as caught:
        hetdp.release(hetdp.stretch(ONE, [1.0]), Treacherous(), epsilon=1.0)
    assert "SECRET" not in str(caught.error)
    assert caught.error.__cause__ is None


def test_arithmetic_that_could_overflow_is_refused_before_any_value_is_seen():
    for make in (
        lambda: queries.variance(Box.uniform(-6e153, 6e153, size=10)),
        lambda: queries.squared_norm(Box.uniform(-1e160, 1e160, size=2)),
        lambda: queries.norm(Box.uniform(-1e160, 1e160, size=2)),
        lambda: queries.scalar_product(Box.uniform(-1e160, 1e160, size=2)),
        lambda: queries.total(Box.uniform(0, 1.7e308, size=3)),
        lambda: queries.logistic([1e200, 1], Box.uniform(0, 1e200, size=2)),
    ):
        with refused(None, "finite arithmetic"):
            make()
    with refused(None, "sensitivity of the query"):
        hetdp.plan(hetdp.stretch(queries.total(Box([0], [1e-300])), [1.0]), epsilon=1.0)


def test_strict_floating_point_settings_of_the_caller_do_not_matter():
    with np.errstate(all="raise"):
        stretched = hetdp.stretch(queries.total(Box.uniform(0, 1, size=1)), [0.3])
        hetdp.release(stretched, [3e-308], epsilon=1.0)


def test_a_negative_zero_centre_tells_nothing():
    box = Box([-1, -1], [1, 1], center=[-0.0, -0.0])
    query = queries.custom(
        lambda x: float(np.copysign(1, x[0]) + x[1]), box, modular_sensitivity=lambda w: np.where(w > 0, 2.0, 0.0)
    )
    plan = hetdp.plan(hetdp.stretch(query, [0.0, 1.0]), epsilon=1.0)
    assert exact_loss(plan, [-1, 0], [1, 0], 2) == 0


def test_warnings_of_a_users_function_do_not_show():
    query = queries.custom(lambda x: float(np.log(x[0]) * 0 + x[0]), Box([0.0], [1.0], center=[0.5]), lipschitz=[1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hetdp.release(hetdp.stretch(query, [1.0]), [0.0], epsilon=1.0)


def test_losses_are_never_counted_too_small():
    rng = np.random.default_rng(0)
    for _ in range(300):
        weight, epsilon = rng.integers(1, 17) / 16, Fraction(rng.random() + 0.1)
        plan = hetdp.plan(hetdp.stretch(ONE, [weight]), epsilon=epsilon)
        assert exact_loss(plan, [0], [1], 1) <= Fraction(float(plan.losses[0]))
    assert Fraction(hetdp.plan(hetdp.stretch(ONE, [1.0]), epsilon=Fraction(2, 3)).amount) >= Fraction(2, 3)


def test_a_view_with_a_repeated_item_is_refused():
    ledger = hetdp.Ledger(limits=[1.0], items=["ann"])
    with refused("items"):
        ledger.view(["ann", "ann"])


def test_absurd_weights_are_refused_like_others():
    with refused("weights"):
        hetdp.PrivacyWeights([10**400])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sketch", "sample"])
def test_one_secret_weight_cannot_change_the_coins_of_others(kind):
    """Rounding that set in with the 4097th different weight let one dial move everybody's coins."""
    size = 5000
    weights = (np.arange(size) % 4095 + 0.999) / 4096
    other = weights.copy()
    weights[0], other[0] = 0.0, 0.123456
    box = Box.uniform(0, 1, size=size)
    make = {
        "sketch": mechanisms.sketch,
        "sample": lambda dials: mechanisms.sample(queries.histogram(box, size), dials),
    }[kind]
    plans = [make(dials).plan(noise="laplace", amount=1.0) for dials in (weights, other)]
    answers = [plan.answers(box.upper, np.ones(size, dtype=bool), seeded_stream(3), count=1) for plan in plans]
    assert np.count_nonzero(answers[0] != answers[1]) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-310, 1e-300, 1e-9, 700.0, 1e6, 1e18])
@pytest.mark.parametrize("kind", ["median", "maximum", "mode", "sketch", "sample"])
def test_absurd_epsilons_neither_crash_nor_hang(kind, epsilon):
    box = Box.uniform(0, 1, size=3)
    mechanism = {
        "median": lambda: mechanisms.median(box, [1, 0.5, 0], candidates=5),
        "maximum": lambda: mechanisms.maximum(box, [1, 0.5, 0], candidates=5),
        "mode": lambda: mechanisms.mode(box, [1, 0.5, 0], categories=[0, 1]),
        "sketch": lambda: mechanisms.sketch([1, 0.5, 0]),
        "sample": lambda: mechanisms.sample(partial(mechanisms.median, box, candidates=5), [1, 0.5, 0]),
    }[kind]()
    ledger = hetdp.Ledger(limits=np.full(3, 1e30))
    hetdp.release(mechanism, [0.1, 0.9, 0.4], epsilon=epsilon, ledger=ledger)
    assert ledger.spent[0] >= epsilon
    assert ledger.spent[1] > 0
