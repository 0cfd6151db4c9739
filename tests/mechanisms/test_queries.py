"""Sensitivities, shrinkage and distortion of every query."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.support.catalogue import AGES, CATALOGUE, SIGNED, UNIT, extreme_points
from tests.support.errors import refused

import hetdp
from hetdp import Box, queries

every_query = pytest.mark.parametrize("query", CATALOGUE.values(), ids=CATALOGUE.keys())
pytestmark = pytest.mark.filterwarnings("ignore::hetdp.core.errors.StretchingWarning")


def apart(one, two):
    return float(np.abs(np.asarray(one) - np.asarray(two)).sum())


@every_query
def test_no_neighbour_moves_the_answer_further_than_declared(query):
    rng = np.random.default_rng(1)
    for point in extreme_points(query, rng, 40):
        item = rng.integers(query.size)
        shrinkage = rng.random(query.size) ** rng.integers(0, 3)
        bound = query.steps_to_replace * query.modular_sensitivities(shrinkage)[item]
        for value in (query.domain.lower[item], query.domain.upper[item], rng.uniform(20, 80)):
            other = point.copy()
            other[item] = value
            one = query.stretched(query.domain.clamp(point), shrinkage)
            two = query.stretched(query.domain.clamp(other), shrinkage)
            assert apart(one, two) <= bound + 2 * query.evaluation_error + 1e-12 * query.sensitivity


@every_query
def test_shrinkage_is_feasible_as_computed_and_nearly_the_largest(query):
    rng = np.random.default_rng(2)
    weights = rng.random(query.size)
    weights[:2] = [0.0, 1.0]
    targets = weights * query.sensitivity
    shrinkage = query.largest_shrinkage(targets)
    assert (query.modular_sensitivities(shrinkage) <= targets).all()
    if query.name != "l0":
        more = np.minimum(shrinkage * (1 + 1e-6) + 1e-12, 1.0)
        grew = more > shrinkage
        assert (query.modular_sensitivities(more)[grew] > targets[grew] * (1 - 1e-12)).all()


@every_query
def test_full_weight_means_no_shrinking(query):
    stretched = hetdp.stretch(query, np.ones(query.size))
    assert np.array_equal(stretched.shrinkage, np.ones(query.size))
    point = query.domain.lower + 0.3 * query.domain.ranges
    assert apart(stretched(point), query(point)) <= 1e-12 * (1 + np.abs(query(point)).max())


@every_query
def test_distortion_is_within_both_bounds(query):
    rng = np.random.default_rng(3)
    for point in extreme_points(query, rng, 20):
        stretched = hetdp.stretch(query, rng.random(query.size))
        distance = apart(query(point), stretched(point))
        bound = stretched.distortion_bound(point)
        rounding = 1e-9 * (1 + abs(distance))
        assert distance <= bound + rounding
        assert bound <= stretched.paper_distortion_bound(point) + rounding
        by_weights = query.item_distortions(stretched.shrinkage)
        worst = by_weights.sum() if query.distortions_add_up else by_weights.max()
        assert distance <= worst + rounding


@pytest.mark.slow
@every_query
def test_falsify_finds_nothing_against_a_built_in_query(query):
    found = hetdp.falsify(query, tries=200, random_state=1)
    assert not found.refuted
    assert "proves nothing" in found.message


CLOSED_FORMS = {
    "linear": (
        queries.linear([2, 1, 0.5], Box.uniform(0, 1, size=3)),
        lambda v: np.minimum(1, v * 2 / [2, 1, 0.5]),
    ),
    "mean of ages": (queries.mean(AGES), lambda v: v),
    "count": (queries.count(UNIT), lambda v: v),
    "histogram": (queries.histogram(AGES, [20, 50, 80]), lambda v: v),
    "variance, centre midpoint": (queries.variance(AGES), lambda v: v),
    "variance, centre lower": (queries.variance(UNIT), lambda v: v),
    "scalar product [0, 1]": (queries.scalar_product(UNIT), lambda v: v),
    "scalar product [-1, 1]": (queries.scalar_product(SIGNED), lambda v: v),
    "squared norm": (queries.squared_norm(SIGNED), np.sqrt),
    "norm 1": (queries.norm(SIGNED, 1), lambda v: v),
    "norm 2": (queries.norm(SIGNED), lambda v: v),
    "maximum": (queries.maximum(AGES), lambda v: v),
    "minimum": (queries.minimum(AGES), lambda v: v),
    "power": (queries.power(UNIT, 3), lambda v: v ** (1 / 3)),
    "logistic": (
        queries.logistic([1, 2], Box.uniform(-1, 1, size=2)),
        lambda v: np.minimum(1, 4 * np.arctanh(v * np.tanh(1)) / np.array([2, 4])),
    ),
    "l0": (queries.l0(UNIT), lambda v: (v == 1).astype(float)),
}


@pytest.mark.parametrize(("query", "expected"), CLOSED_FORMS.values(), ids=CLOSED_FORMS.keys())
def test_closed_forms_of_the_design(query, expected):
    weights = np.linspace(0, 1, query.size)
    assert np.allclose(hetdp.stretch(query, weights).shrinkage, expected(weights), atol=1e-12)


def test_sensitivities_of_the_design():
    assert queries.mean(Box.uniform(0, 80, size=10)).sensitivity == 8
    assert queries.variance(Box.uniform(0, 2, size=10, center=1)).sensitivity == pytest.approx(4 / 9 * 4 / 10)
    assert queries.scalar_product(UNIT).sensitivity == 1
    assert queries.scalar_product(SIGNED).sensitivity == 2
    assert queries.histogram(AGES, [0, 1]).sensitivity == 2
    assert queries.histogram(AGES, [0, 1], adjacency="add-remove").sensitivity == 1
    assert queries.total(AGES).sensitivity == 60  # centre 50 keeps S = 60


def test_bisection_and_closed_form_agree():
    squares = queries.squared_norm(SIGNED)
    targets = np.linspace(0, 1, 6) * squares.sensitivity
    assert np.allclose(squares._bisect(targets), squares._solve(targets), atol=1e-12)


def test_exhaustive_equals_brute_force():
    query = CATALOGUE["exhaustive, levels"]
    brute = np.zeros(3)
    levels = [[-1, 0, 2], [0, 1], [3, 4, 7]]
    for a in levels[0]:
        for b in levels[1]:
            for c in levels[2]:
                for item, values in enumerate(levels):
                    for value in values:
                        other = [a, b, c]
                        other[item] = value
                        brute[item] = max(brute[item], abs((a * b - c) - (other[0] * other[1] - other[2])))
    assert np.array_equal(query.modular_sensitivities(1.0), brute)
    assert query([1.6, 0.9, 3.4]) == 2 * 1 - 3


@pytest.mark.slow
def test_falsify_refutes_wrong_declarations():
    too_small = queries.custom(lambda x: float(3 * x.sum()), UNIT, lipschitz=1.0)
    found = hetdp.falsify(too_small, tries=200, random_state=0)
    assert found.refuted
    assert "Refuted" in found.message
    wrong_curve = queries.custom(lambda x: float((x**0.5).sum()), UNIT, modular_sensitivity=lambda w: w)
    assert hetdp.falsify(wrong_curve, tries=200, random_state=0).refuted


@pytest.mark.slow
def test_falsify_is_not_fooled_by_an_item_declared_without_influence():
    wrong = queries.custom(lambda x: float(x[0] + x[1]), Box.uniform(0, 1, size=2), lipschitz=[1.0, 0.0])
    assert hetdp.falsify(wrong, tries=200, random_state=0).refuted


def test_a_custom_function_never_shows_a_private_value():
    def fragile(x):
        if x[0] > 0.5:
            message = f"secret {x[0]}"
            raise RuntimeError(message)
        return float("nan") if x[1] > 0.5 else float(x.sum())

    query = queries.custom(fragile, Box.uniform(0, 1, size=2), lipschitz=1.0)
    assert query([0.9, 0]) == query([0, 0.9]) == query([0, 0]) == 0
    explosive = queries.custom(lambda x: float("inf") if x[0] else 0.0, Box.uniform(0, 1, size=2), lipschitz=1.0)
    assert explosive([1, 0]) == 2  # no further from the centre's answer than the declared bounds allow


@settings(max_examples=40, deadline=None)
@given(
    low=st.floats(-100, 100),
    length=st.floats(0.01, 100),
    place=st.floats(0, 1),
    weight=st.floats(0, 1),
    items=st.integers(2, 5),
)
def test_one_item_moves_both_sums_of_a_variance_by_no_more_than_declared(low, length, place, weight, items):
    """The largest of a fine grid of pairs, for any centre."""
    box = Box.uniform(low, low + length, size=items, center=low + place * (low + length - low))
    query = queries.variance(box)
    levels = np.linspace(low, low + length, 41)
    profiles = np.repeat(box.center[None, :], levels.size, axis=0)
    profiles[:, 0] = levels
    shrinkage = np.full(items, weight)
    cells = np.array([query.stretched(box.clamp(profile), shrinkage) for profile in profiles])
    largest = np.abs(cells[:, None, :] - cells[None, :, :]).sum(axis=2).max()
    declared = float(query.modular_sensitivities(shrinkage)[0])
    assert largest <= declared * (1 + 1e-9) + 1e-12
    assert largest >= 0.99 * declared - 1e-9  # and it is attained


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: queries.linear([1, 2], UNIT), ("coefficients", "as many as items")),
        (lambda: queries.linear([0] * 6, UNIT), ("coefficients", "not all be 0")),
        (lambda: queries.linear(["a"] * 6, UNIT), ("coefficients", "a vector of numbers")),
        (lambda: queries.linear([float("nan")] * 6, UNIT), ("coefficients", "finite numbers")),
        (lambda: queries.total([0, 1]), ("domain", "a hetdp.Box")),
        (lambda: queries.count(AGES), (None, "domain of a count must be")),
        (lambda: queries.histogram(AGES, [3]), ("edges", "at least two increasing")),
        (lambda: queries.histogram(AGES, [3, 3]), ("edges", "at least two increasing")),
        (lambda: queries.histogram(AGES, [3, 4], adjacency="swap"), ("adjacency", "one of")),
        (lambda: queries.variance(Box([0], [1])), (None, "at least 2 items")),
        (lambda: queries.scalar_product(Box([0], [1])), (None, "two profiles of equal length")),
        (lambda: queries.norm(UNIT, order=3), ("order", "1 or 2")),
        (lambda: queries.power(SIGNED, 2), (None, "lower >= 0")),
        (lambda: queries.power(UNIT, 0), ("exponent", "a number above 0")),
        (lambda: queries.l0(AGES), (None, "domain of l0 must contain 0")),
        (lambda: queries.logistic([0] * 6, UNIT), ("coefficients", "not all be 0")),
        (
            lambda: queries.logistic([1] * 6, UNIT, intercept=float("inf")),
            ("intercept", "a finite number"),
        ),
        (lambda: queries.custom(sum, UNIT), (None, "exactly one of lipschitz and modular_sensitivity")),
        (lambda: queries.custom(sum, UNIT, lipschitz=-1), ("lipschitz", ">= 0")),
        (lambda: queries.custom(sum, UNIT, lipschitz=0), (None, "declared bounds must be > 0")),
        (lambda: queries.custom(lambda _: float("nan"), UNIT, lipschitz=1), (None, "function at the centre")),
        (
            lambda: queries.custom(sum, UNIT, lipschitz=1, evaluation_error=-1),
            ("evaluation_error", ">= 0"),
        ),
        (
            lambda: queries.custom(sum, UNIT, modular_sensitivity=lambda _: 3.0),
            ("modular_sensitivity", "return"),
        ),
        (lambda: queries.exhaustive(sum, []), ("levels", "at least one item")),
        (lambda: queries.exhaustive(sum, [[1]]), (None, "at least two values")),
        (lambda: queries.exhaustive(sum, [[0, 1]] * 21), (None, "at most 2**20 combinations")),
        (lambda: queries.exhaustive(sum, [[0, 1]], center=[0.5]), ("center", "one of the levels")),
        (lambda: queries.exhaustive(lambda _: 1.0, [[0, 1]]), ("function", "not be constant")),
    ],
)
def test_bad_queries_are_refused_with_the_parameter_named(make, message):
    with refused(*message):
        make()


def test_extremes_shrink_toward_the_harmless_end_whatever_the_centre_was():
    box = Box.uniform(20, 80, size=2, center=50)
    weights = [1.0, 0.0]
    assert hetdp.stretch(queries.minimum(box), weights)([60, 30]) == 60
    assert hetdp.stretch(queries.maximum(box), weights)([40, 70]) == 40
