"""Weight classes: the promise in exact arithmetic, estimates without distortion, and intervals that hold."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.support.catalogue import AGES, CATALOGUE, UNIT, extreme_points
from tests.support.errors import refused

import hetdp
from hetdp import Box, mechanisms, queries
from hetdp.core import vectors
from hetdp.core.randomness import seeded_stream
from hetdp.mechanisms.weight_class import class_of, weight_classes

ADDITIVE = {name: query for name, query in CATALOGUE.items() if query.additive}
every_sum = pytest.mark.parametrize("query", ADDITIVE.values(), ids=ADDITIVE.keys())
WEIGHTS = np.array([0.0, 1.0, 0.6, 0.24, 0.25, 0.9])
BOUNDARIES = (1, 0.5, 0.25)


def steps(query, weights, point, **level):
    """Return the plan of a release and the exact sums of its classes, in whole steps."""
    noise, amount = ("laplace", level["epsilon"]) if "epsilon" in level else ("gaussian", level["rho"])
    plan = weight_classes(query, weights, BOUNDARIES).plan(noise=noise, amount=amount)
    return plan, plan._exact_steps(point, np.ones(query.size, dtype=bool))


def loss(plan, one, two):
    """Return the exact loss between two answers: distances over the scale of each class, or half their squares."""
    apart = [np.abs(first - second) for first, second in zip(one, two, strict=True)]
    if plan.noise == "laplace":
        return sum(Fraction(int(cells.sum())) / spread for cells, spread in zip(apart, plan.spreads, strict=True))
    return sum(Fraction(int((cells**2).sum())) / (2 * wide) for cells, wide in zip(apart, plan.spreads, strict=True))


@every_sum
@pytest.mark.parametrize("level", [{"epsilon": Fraction(7, 10)}, {"rho": Fraction(1, 5)}], ids=["epsilon", "rho"])
def test_a_replaced_value_loses_its_class_in_exact_arithmetic(query, level):
    rng, (amount,) = np.random.default_rng(1), level.values()
    power = 1 if "epsilon" in level else 2
    for turn, point in enumerate(extreme_points(query, rng, 24)):
        weights = np.roll(WEIGHTS, turn)
        item = int(rng.integers(query.size))
        other = point.copy()
        other[item] = rng.choice([query.domain.lower[item], query.domain.upper[item], np.nan, np.inf])
        plan, one = steps(query, weights, point, **level)
        _, two = steps(query, weights, other, **level)
        place = int(class_of(weights[item : item + 1], BOUNDARIES)[0])
        share = Fraction(BOUNDARIES[place]) if place >= 0 else Fraction(0)
        assert share <= Fraction(weights[item])
        found = loss(plan, one, two)
        assert found <= query.steps_to_replace**power * amount * share**power
        assert found <= query.steps_to_replace**power * Fraction(float(plan.losses[item]))
        assert plan.losses[item] <= np.nextafter(float(amount) * float(share) ** power, np.inf)


@every_sum
@pytest.mark.parametrize("level", [{"epsilon": Fraction(7, 10)}, {"rho": Fraction(1, 5)}], ids=["epsilon", "rho"])
def test_a_changed_weight_loses_half_of_both_classes_in_exact_arithmetic(query, level):
    """Also if the value changes with it: the item leaves one sum and enters the other."""
    rng, (amount,) = np.random.default_rng(2), level.values()
    power = 1 if "epsilon" in level else 2
    worst = Fraction(0)
    for turn, point in enumerate(extreme_points(query, rng, 60)):
        weights = np.roll(WEIGHTS, turn)
        item = int(rng.integers(query.size))
        changed, other = weights.copy(), point.copy()
        changed[item] = rng.choice(WEIGHTS)
        classes = class_of(np.array([weights[item], changed[item]]), BOUNDARIES)
        if classes[0] == classes[1]:
            continue
        other[item] = rng.choice([point[item], query.domain.lower[item], query.domain.upper[item]])
        plan, one = steps(query, weights, point, **level)
        _, two = steps(query, changed, other, **level)
        both = sum((Fraction(BOUNDARIES[place]) if place >= 0 else Fraction(0)) ** power for place in classes)
        allowed = query.steps_to_replace * both * amount / 2
        if power == 2:
            allowed = query.steps_to_replace**2 * query.cells * both * amount / 4
        assert loss(plan, one, two) <= allowed
        assert loss(plan, one, two) <= Fraction(plan.weights_amount)
        worst = max(worst, loss(plan, one, two) / Fraction(plan.weights_amount))
    assert worst > 0.3  # the test saw moves that matter


@every_sum
def test_the_estimate_is_the_query_if_everybody_is_in_a_class(query):
    """Noise of 1e-9 of the sensitivity."""
    rng = np.random.default_rng(3)
    weights = rng.choice([1.0, 0.7, 0.3], query.size)
    point = next(extreme_points(query, rng, 1))
    answer = hetdp.release(weight_classes(query, weights, BOUNDARIES), point, epsilon=1e9)
    assert np.asarray(answer.estimate) == pytest.approx(np.asarray(query(point)), abs=1e-6 * query.sensitivity)


@pytest.mark.parametrize("level", [{"epsilon": 1.0}, {"rho": 0.1}])
@pytest.mark.parametrize("query", [queries.mean(AGES), queries.histogram(AGES, 3)], ids=["mean", "histogram"])
def test_intervals_hold_as_often_as_they_say(query, level):
    """A binomial test of 4,000 releases; false-alarm rate 1e-6."""
    values, truth = np.array([20.0, 30, 40, 50, 60, 80]), []
    mechanism = weight_classes(query, [1.0, 1.0, 0.5, 0.5, 0.25, 0.3], BOUNDARIES)
    noise, amount = ("laplace", 1.0) if "epsilon" in level else ("gaussian", 0.1)
    plan = mechanism.plan(noise=noise, amount=amount)
    right = query(values)
    for cells in plan.answers(values, np.ones(6, dtype=bool), seeded_stream(4), count=4000):
        low, high = plan.interval(cells, 0.9)
        truth.append(np.atleast_1d((low <= right) & (right <= high))[0])
    assert stats.binomtest(int(sum(truth)), 4000, 0.9).pvalue > 1e-6


def test_weights_that_depend_on_values_do_not_bias_the_mean():
    """20 % of 10,000 have weight 0.25 and mean 0.7, the others mean 0.3. Dividing by weights is off by 0.056."""
    values = np.concatenate([np.resize([1] * 7 + [0] * 3, 2000), np.resize([1] * 3 + [0] * 7, 8000)])
    weights = np.repeat([0.25, 1.0], [2000, 8000])
    mechanism = weight_classes(queries.mean(Box.uniform(0, 1, size=10_000)), weights)
    errors = [hetdp.release(mechanism, values, epsilon=1.0, random_state=seed).estimate - 0.38 for seed in range(200)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.0010
    assert abs(np.mean(errors)) < 5 * 0.00065 / np.sqrt(200)  # false-alarm rate below 1e-6


def test_who_is_below_all_classes_counts_as_the_middle_of_the_range():
    box = Box.uniform(20, 80, size=4, center=20)
    mechanism = weight_classes(queries.mean(box), [1.0, 0.2, 0.2, 0.0], BOUNDARIES)
    assert hetdp.release(mechanism, [80, 20, 20, 20], epsilon=1e9).value == pytest.approx((80 + 50 + 50 + 50) / 4)
    counted = weight_classes(queries.histogram(box, [20, 50, 80]), [1.0, 0.2, 0.2, 0.0], BOUNDARIES)
    assert hetdp.release(counted, [80, 20, 20, 20], epsilon=1e9).value == pytest.approx([0, 1], abs=1e-6)


def test_classes_add_up_to_the_raw_value():
    mechanism = weight_classes(queries.total(Box.uniform(0, 10, size=3)), [1, 0.5, 0.3])
    answer = hetdp.release(mechanism, [10, 0, 5], epsilon=1e9)
    assert [one.value for one in answer.classes] == pytest.approx([5, -5, 0], abs=1e-6)  # about the middle, 5
    assert sum(one.value for one in answer.classes) + 15 == pytest.approx(answer.value)
    shown = hetdp.release(mechanism, [10, 0, 5], epsilon=1.0).public()
    assert [one["boundary"] for one in shown["classes"]] == [1, 0.5, 0.25]
    assert [one["scale"] for one in shown["classes"]] == pytest.approx([10, 20, 40])


def test_noise_as_wide_as_the_range_leaves_no_estimate():
    mechanism = weight_classes(queries.mean(Box.uniform(0, 1, size=3)), [1, 1, 1])
    few = hetdp.release(mechanism, [1, 1, 1], epsilon=1.0)
    assert few.estimate is None
    assert "wide" in few.reason
    assert few.low < few.value < few.high
    many = hetdp.release(mechanism, [1, 1, 1], epsilon=100.0)
    assert 0 <= many.low <= many.estimate <= many.high <= 1


def test_an_estimate_stays_in_the_range_of_answers():
    mechanism = weight_classes(queries.count(Box.uniform(0, 1, size=100)), np.ones(100))
    for seed in range(20):
        answer = hetdp.release(mechanism, np.zeros(100), epsilon=0.5, random_state=seed)
        assert 0 <= answer.low <= answer.estimate <= answer.high <= 100


def test_one_class_is_what_everybody_does_with_one_epsilon():
    query = queries.total(UNIT)
    for own in (1.0, np.ones(6)):
        classes, stretched = weight_classes(query, own, [1]), mechanisms.stretch(query, own)
        assert hetdp.plan(classes, epsilon=0.3).scale == pytest.approx(hetdp.plan(stretched, epsilon=0.3).scale)
    strict = hetdp.plan(weight_classes(query, WEIGHTS, [0.25]), epsilon=1.0)
    assert strict.scale == pytest.approx(4)
    assert strict.losses.tolist() == [0, 0.25, 0.25, 0, 0.25, 0.25]
    assert strict.weights_amount == 0.125


@every_sum
def test_a_query_in_parts_gives_the_same_bits(query, monkeypatch):
    def found():
        mechanism = weight_classes(query, WEIGHTS[: query.size], BOUNDARIES)
        answer = hetdp.release(mechanism, np.linspace(0, 1, query.size), epsilon=1.0, random_state=5)
        return np.array(answer.value).tobytes() + answer.losses.tobytes()

    whole = found()
    monkeypatch.setattr(vectors, "TOGETHER", 2)
    assert found() == whole


@settings(max_examples=200, deadline=None)
@given(
    boundaries=st.lists(st.floats(1e-6, 1), min_size=1, max_size=32, unique=True),
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_a_class_is_the_highest_boundary_that_a_weight_reaches(boundaries, weights):
    ordered = sorted(boundaries, reverse=True)
    for weight, place in zip(weights, class_of(np.array(weights), ordered), strict=True):
        reached = [boundary for boundary in ordered if boundary <= weight]
        assert (ordered[place] == max(reached)) if reached else place == -1


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e9])
def test_classes_far_apart_can_be_planned(epsilon):
    mechanism = weight_classes(queries.mean(Box.uniform(-1e6, 1e6, size=10)), np.ones(10), [1, 1e-6])
    plan = mechanism.plan(noise="laplace", amount=epsilon)
    # Steps are coarse beside the range if the noise dwarfs it; then scales are rounded up.
    assert plan.scales == pytest.approx([2e5 / epsilon, 2e11 / epsilon], rel=0.01)


@pytest.mark.parametrize(
    "boundaries",
    [(0.5, 1), (1, 1), (1, 0), (2, 1), (1, -0.5), (), np.linspace(1, 0.1, 33), "1", 1.0, (1, float("nan")), ("a",)],
    ids=str,
)
def test_bad_boundaries_are_refused(boundaries):
    with refused("boundaries"):
        weight_classes(queries.total(UNIT), WEIGHTS, boundaries)


@pytest.mark.parametrize("name", [name for name, query in CATALOGUE.items() if not query.additive])
def test_what_is_not_a_sum_is_refused_and_what_works_is_named(name):
    query = CATALOGUE[name]
    with refused("query", "hetdp.stretch") as found:
        weight_classes(query, WEIGHTS[: query.size])
    assert "mean" in str(found.error)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"query": 3}, "query"),
        ({"weights": [1.0]}, "weights"),
    ],
)
def test_bad_parameters_are_named(arguments, parameter):
    with refused(parameter):
        weight_classes(**{"query": queries.total(UNIT), "weights": WEIGHTS, **arguments})


@pytest.mark.parametrize(("level", "parameter"), [({"epsilon": 1e-320}, "epsilon"), ({"rho": 0}, "rho")])
def test_levels_without_finite_noise_are_refused_before_anything_is_spent(level, parameter):
    ledger = hetdp.Ledger(limits=np.ones(6), unit=parameter)
    with refused(parameter):
        hetdp.release(weight_classes(queries.total(UNIT), WEIGHTS), np.ones(6), ledger=ledger, **level)
    assert not ledger.spent.any()


def test_weights_and_sizes_of_classes_are_not_shown():
    mechanism = weight_classes(queries.total(UNIT), [0.61] * 6)
    answer = hetdp.release(mechanism, np.ones(6), epsilon=1.0)
    for text in (repr(mechanism), repr(answer.guarantee), str(answer.public()["promise"]), answer._repr_html_()):
        assert "0.61" not in text


@pytest.mark.parametrize(("noise", "spread"), [("laplace", 0.67), ("laplace", 2.0), ("gaussian", 1.4)])
def test_intervals_of_noise_that_is_a_few_steps_wide_hold(noise, spread):
    """Whole counts of a histogram: a binomial test of 20,000 bins; false-alarm rate 1e-6."""
    query = queries.histogram(Box.uniform(0, 1, size=1), edges=20_001)
    level = {"epsilon": 2 / spread} if noise == "laplace" else {"rho": 1 / spread**2}
    answer = hetdp.release(weight_classes(query, 1.0, [1]), [0.0], grid=1.0, random_state=6, **level)
    inside = int(((np.asarray(answer.low) <= 0) & (np.asarray(answer.high) >= 0))[1:].sum())
    assert stats.binomtest(inside, 20_000, 0.95, alternative="less").pvalue > 1e-6


@pytest.mark.parametrize("grid", [8.0, 1.0])
def test_a_grid_on_which_items_vanish_leaves_no_estimate(grid):
    """Half a count is less than a step: all values give the same answer, and the interval says so."""
    mechanism = weight_classes(queries.count(Box.uniform(0, 1, size=1000)), 1.0, [1])
    for value in (0, 1):
        answer = hetdp.release(mechanism, np.full(1000, value), epsilon=1, grid=grid, random_state=1)
        assert answer.estimate is None
        assert answer.low <= 1000 * value <= answer.high


def test_a_width_is_kept_on_every_grid():
    count = weight_classes(queries.count(Box.uniform(0, 1, size=1000)), 1.0, (1, 2.0**-30))
    assert hetdp.plan(count, within=1e12).reach(0.95) <= 1e12
    few = weight_classes(queries.count(Box.uniform(0, 1, size=1000)), 1.0, (1,))
    assert hetdp.plan(few, within=10, grid=2.0**-10).reach(0.95) <= 10
    with refused("within", "at least"):
        hetdp.plan(few, within=10, grid=8.0)


@pytest.mark.parametrize(
    ("query", "level"),
    [
        (queries.total(Box.uniform(-2e303, 2e303, size=65_536)), 10),
        (queries.total(Box.uniform(-8e307, 8e307, size=2)), 10),
        (queries.total(Box.uniform(0, 1.7e308, size=1)), 0.95),
        (queries.linear([5e-324], Box([0], [1])), 1),
        (queries.squared_norm(Box.uniform(-1e-200, 1e-200, size=2)), 1),
    ],
)
@pytest.mark.parametrize("make", [weight_classes, mechanisms.stretch])
def test_numbers_that_no_float_holds_are_refused_before_anything_is_spent(make, query, level):
    ledger = hetdp.Ledger(limits=np.full(query.size, 100.0))
    with refused():
        hetdp.release(make(query, 1.0), np.ones(query.size), epsilon=level, ledger=ledger)
    assert not ledger.spent.any()


@pytest.mark.parametrize("grid", ["1", 2**2000, True, 0.3, -1.0, float("nan")])
def test_bad_grids_are_refused_before_anything_is_spent(grid):
    ledger = hetdp.Ledger(limits=np.ones(6))
    with refused("grid"):
        hetdp.release(weight_classes(queries.total(UNIT), 1.0), np.ones(6), epsilon=1, grid=grid, ledger=ledger)
    assert not ledger.spent.any()


def test_public_numbers_of_any_kind_become_plain_ones():
    mechanism = weight_classes(queries.total(UNIT), np.float32(1.0))
    answer = hetdp.release(mechanism, np.ones(6), epsilon=9, grid=Fraction(1, 1024), confidence=Fraction(9, 10))
    assert (type(answer.grid), type(answer.confidence)) == (float, float)
    json.dumps(answer.public())


def test_offsets_beyond_the_digits_of_a_float_widen_the_interval():
    mechanism = weight_classes(queries.total(Box.uniform(1e15, 1e15 + 1, size=1000)), 1.0)
    answer = hetdp.release(mechanism, np.full(1000, 1e15), epsilon=1.0)
    assert answer.low < 1e18 < answer.high
