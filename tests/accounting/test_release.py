"""Releases of every query: replayed on neighbours, measured, and taken apart."""

import copy
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.support.catalogue import CATALOGUE, UNIT, extreme_points
from tests.support.errors import refused
from tests.support.statistics_helpers import loss_lower_bound

import hetdp
from hetdp import Box, errors, queries
from hetdp.core import vectors
from hetdp.core.randomness import seeded_stream

every_query = pytest.mark.parametrize("query", CATALOGUE.values(), ids=CATALOGUE.keys())
pytestmark = pytest.mark.filterwarnings("ignore::hetdp.core.errors.StretchingWarning")

WEIGHTS = np.array([0.0, 1.0, 0.5, 0.01, 1e-7, 0.3])


def weights_for(query, turn=0):
    return np.roll(WEIGHTS, turn)[: query.size]


def neighbours(query, rng, count):
    for point in extreme_points(query, rng, count):
        item = int(rng.integers(query.size))
        other = point.copy()
        other[item] = rng.choice([query.domain.lower[item], query.domain.upper[item], np.nan, np.inf, -1e300])
        yield item, point, other


@pytest.mark.slow
@every_query
@pytest.mark.parametrize("noise", [{"epsilon": 0.7}, {"noise": "gaussian", "rho": 0.2}], ids=["laplace", "gaussian"])
def test_replay_on_neighbours(query, noise):
    """Same stream, neighbouring profiles: the answers differ by at most v_i m S, and not at all where v_i = 0."""
    rng = np.random.default_rng(5)
    for turn, (item, one, two) in enumerate(neighbours(query, rng, 24)):
        weights = weights_for(query, turn)
        multiplier = (1.0, 2.5)[turn // WEIGHTS.size % 2]  # both, for every order of weights
        stretched = hetdp.stretch(query, weights, multiplier=multiplier)
        streams = seeded_stream(turn), seeded_stream(turn)
        answers = [
            hetdp.release(stretched, point, random_state=stream, **noise)
            for point, stream in zip((one, two), streams, strict=True)
        ]
        assert streams[0].drawn == streams[1].drawn
        if weights[item] == 0:
            for name in ("value", "estimate", "low", "high", "reason"):
                assert np.array_equal(getattr(answers[0], name), getattr(answers[1], name))
        # What noise was added to, before a variance is made of it.
        first, second = (
            hetdp.plan(stretched, **noise).answers(point, np.ones(query.size, bool), seeded_stream(turn), count=1)
            for point in (one, two)
        )
        allowed = query.steps_to_replace * weights[item] * multiplier * query.sensitivity
        apart = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(first.ravel(), second.ravel(), strict=True))
        if weights[item] == 0:
            assert first.tobytes() == second.tobytes()
        # Exact, but for the public conversion of huge step counts to floats.
        assert apart <= Fraction(allowed) * (1 + Fraction(1, 2**40)) + Fraction(1e-15) * Fraction(abs(first).max())


@every_query
def test_the_promise_is_kept_in_exact_arithmetic(query):
    """Integer steps of neighbours differ by at most the planned span, and span / spread is at most epsilon v_i."""
    rng = np.random.default_rng(6)
    for turn, (item, one, two) in enumerate(neighbours(query, rng, 24)):
        weights = weights_for(query, turn)
        stretched = hetdp.stretch(query, weights)
        epsilon = Fraction(rng.random() + 0.1)
        plan = stretched.plan(noise="laplace", amount=epsilon)
        keep = np.ones(query.size, dtype=bool)
        steps = [plan._exact_steps(point, keep) for point in (one, two)]
        apart = sum(abs(a - b) for a, b in zip(*steps, strict=True))
        span = query.cells * int(plan.spans[item])
        assert apart <= query.steps_to_replace * span
        assert Fraction(span) / plan.spread <= epsilon * Fraction(weights[item])
        paid = Fraction(float(plan.losses[item]))
        assert Fraction(span) / plan.spread <= paid  # never counted too small,
        assert plan.losses[item] <= np.nextafter(float(epsilon) * weights[item], np.inf)  # nor above the promise


@pytest.mark.slow
@every_query
@pytest.mark.parametrize("level", [{"epsilon": 0.7}, {"rho": 0.3}])
def test_a_query_in_parts_gives_the_same_bits(query, level, monkeypatch):
    rng = np.random.default_rng(11)
    points = list(extreme_points(query, rng, 16))

    def found():
        asked = copy.copy(query)
        for kept in ("sensitivity", "offset"):
            asked.__dict__.pop(kept, None)
        mechanism = hetdp.stretch(asked, weights_for(query), multiplier=1.5)
        plan = hetdp.plan(mechanism, **level)
        numbers = [plan.losses, plan.spans, plan.shrinkage, np.array(plan.grid)]
        for point in points:
            answer = hetdp.release(mechanism, point, random_state=5, **level)
            shown = (answer.value, answer.estimate, answer.low, answer.high, answer.losses)
            numbers += [np.array(number, dtype=np.float64) for number in shown]
        return [number.tobytes() for number in numbers]

    whole = found()
    monkeypatch.setattr(vectors, "TOGETHER", 2)
    assert found() == whole


@every_query
@pytest.mark.parametrize("multiplier", [1.0, 2.5])
def test_each_weight_is_protected_with_epsilon_in_exact_arithmetic(query, multiplier):
    """Changing one weight moves the integer answer by no more than the noise hides at epsilon."""
    rng = np.random.default_rng(7)
    for turn, point in enumerate(extreme_points(query, rng, 16)):
        weights = weights_for(query, turn)
        item = int(rng.integers(query.size))
        other = weights.copy()
        other[item] = rng.choice([0.0, 1.0, rng.random()])
        plans = [
            hetdp.stretch(query, own, multiplier=multiplier).plan(noise="laplace", amount=1.0)
            for own in (weights, other)
        ]
        assert plans[0].spread == plans[1].spread
        steps = [plan._exact_steps(point, np.ones(query.size, dtype=bool)) for plan in plans]
        apart = sum(abs(a - b) for a, b in zip(*steps, strict=True))
        assert Fraction(apart) / plans[0].spread <= 1


def test_the_measurement_would_catch_too_little_noise():
    query = queries.total(UNIT)
    plan = hetdp.stretch(query, np.full(6, 0.8)).plan(noise="laplace", amount=1.6)  # twice the claim below
    keep = np.ones(6, dtype=bool)
    one = plan.answers(np.zeros(6), keep, seeded_stream(1), count=60_000)[:, 0]
    two = plan.answers(np.eye(6)[1], keep, seeded_stream(2), count=60_000)[:, 0]
    assert loss_lower_bound(one, two) > 0.8


def test_scale_used_as_standard_deviation_would_be_caught():
    """Trap 2: noise of standard deviation S / epsilon breaks the promise by sqrt(2)."""
    query = queries.total(Box([0], [1]))
    keep = np.ones(1, dtype=bool)
    wrong = hetdp.stretch(query, [1.0]).plan(noise="laplace", amount=2**0.5)
    right = hetdp.stretch(query, [1.0]).plan(noise="laplace", amount=1.0)
    losses = [
        loss_lower_bound(
            plan.answers([0], keep, seeded_stream(3), count=100_000)[:, 0],
            plan.answers([1], keep, seeded_stream(4), count=100_000)[:, 0],
        )
        for plan in (right, wrong)
    ]
    assert losses[0] <= 1 < losses[1]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    question=st.tuples(
        st.sampled_from([queries.mean, queries.total, queries.variance]), st.sampled_from([0.0, 1e6, -3e3])
    ),
    place=st.floats(0, 1),
    weights=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    values=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    coarse=st.integers(0, 48),
)
def test_all_sums_of_an_answer_together_keep_the_promise(question, place, weights, values, coarse):
    """A variance releases two sums; in whole steps, for any centre and grid, to values and to weights."""
    kind, far = question
    box = Box.uniform(far, far + 1, size=2, center=min(far + place, far + 1))
    query, keep = kind(box), np.ones(2, dtype=bool)
    finest = hetdp.stretch(query, [1.0, 1.0]).plan(noise="laplace", amount=1.0).grid
    grid = min(finest * 2.0**coarse, 2.0 ** math.floor(math.log2(query.sensitivity)))

    def steps(weight, value):
        plan = hetdp.stretch(query, [weight, 0.5]).plan(noise="laplace", amount=1.0, grid=grid)
        return plan, plan._exact_steps([far + value, far + 0.3], keep)

    def apart(one, two):
        return sum(abs(a - b) for a, b in zip(one, two, strict=True))

    plan, one = steps(weights[0], values[0])
    _, two = steps(weights[0], values[1])
    assert apart(one, two) <= plan.spans[0]
    assert plan.spans[0] / plan.spread <= Fraction(weights[0])
    _, other = steps(weights[1], values[0])
    assert apart(one, other) / plan.spread <= 1


def test_rounding_slack_cannot_break_a_small_weight():
    """Trap 8: with grid 1/16 and v = 0.01, rounding the whole answer would pay 6.25 times the promise."""
    box = Box.uniform(0, 1, size=2)
    keep = np.ones(2, dtype=bool)
    for query in (queries.total(box), queries.norm(box), queries.maximum(box), queries.squared_norm(box)):
        plan = hetdp.stretch(query, [1.0, 0.01]).plan(noise="laplace", amount=1.0, grid=1 / 16)
        for other in np.linspace(0, 1, 41):
            low, high = plan._exact_steps([other, 0], keep), plan._exact_steps([other, 1], keep)
            assert sum(abs(one - two) for one, two in zip(low, high, strict=True)) / plan.spread <= Fraction(0.01)
    # What the trap looks like: the rounded answer moves a whole step of 1/16 for an item that was promised 0.01.
    query = queries.total(box)
    shrunk = [query.stretched(np.array([0.06, value]), np.array([1.0, 0.01])) for value in (0.0, 1.0)]
    assert abs(np.floor(shrunk[0] * 16) - np.floor(shrunk[1] * 16)) / 16 == pytest.approx(6.25 * 0.01)


def test_slack_queries_lower_the_target_by_the_grid():
    query = queries.norm(Box.uniform(-1, 1, size=3))
    plan = hetdp.stretch(query, [1.0, 0.5, 0.1]).plan(noise="laplace", amount=1.0, grid=1 / 16)
    assert plan.shrinkage == pytest.approx([1 - 2 / 16, 0.5 - 2 / 16, 0.0], abs=1e-9)


@pytest.mark.parametrize("grid", [1 / 16, 1.0, 2.0**-30])
def test_every_value_lies_on_the_grid(grid):
    answer = hetdp.release(hetdp.stretch(queries.total(UNIT), WEIGHTS), np.ones(6), epsilon=0.1, grid=grid)
    assert answer.grid == grid
    assert answer.value % grid == 0


def test_nan_and_infinity_change_nothing_at_weight_zero_and_never_raise():
    """Trap 9: 0 * nan is nan; the value must be clamped first."""
    stretched = hetdp.stretch(queries.total(UNIT), [0, 1, 1, 1, 1, 1])
    values = [
        hetdp.release(stretched, [cell, 1, 1, 1, 1, 1], epsilon=1.0, random_state=9).value
        for cell in (0.3, float("nan"), float("inf"), -1e308, "text", None, object(), 1j)
    ]
    assert len(set(values)) == 1


def test_the_grid_and_the_scale_do_not_depend_on_weights_or_values():
    """Trap 11."""
    public = {
        (answer.scale, answer.grid)
        for answer in (
            hetdp.release(hetdp.stretch(queries.total(UNIT), weights), values, epsilon=0.3)
            for weights, values in (
                (np.ones(6), np.ones(6)),
                (np.zeros(6), np.zeros(6)),
                (WEIGHTS, np.full(6, 0.5)),
            )
        )
    }
    assert len(public) == 1


def test_scale_follows_multiplier_and_epsilon():
    query = queries.total(UNIT)
    assert hetdp.plan(hetdp.stretch(query, WEIGHTS), epsilon=0.25).scale == 4
    assert hetdp.plan(hetdp.stretch(query, WEIGHTS, multiplier=3), epsilon=0.25).scale == 12
    assert hetdp.plan(hetdp.stretch(query, WEIGHTS), noise="gaussian", rho=0.5).scale == 1


def test_gaussian_items_pay_rho_times_weight_squared():
    plan = hetdp.plan(hetdp.stretch(queries.total(UNIT), WEIGHTS), noise="gaussian", rho=0.5)
    assert plan.losses == pytest.approx(0.5 * WEIGHTS**2, rel=1e-4, abs=1e-18)
    assert (plan.losses <= np.nextafter(0.5 * WEIGHTS**2, np.inf)).all()
    box = Box.uniform(0, 1, size=6)
    histogram = hetdp.plan(hetdp.stretch(queries.histogram(box, [0, 0.5, 1]), WEIGHTS), noise="gaussian", rho=0.5)
    assert histogram.scale == pytest.approx(2**0.5)  # replacing a row moves two cells by 1 each


def test_realised_losses_are_charged_not_promised_ones():
    """An item that cannot use its full weight pays for what it can do only."""
    query = queries.linear([1, 0.1], Box.uniform(0, 1, size=2))
    ledger = hetdp.Ledger(limits=[1, 1])
    hetdp.release(hetdp.stretch(query, [1, 1]), [1, 1], epsilon=1.0, ledger=ledger)
    assert ledger.spent == pytest.approx([1, 0.1])


def test_a_refused_release_spends_nothing_and_returns_nothing():
    stretched = hetdp.stretch(queries.total(UNIT), np.ones(6))
    ledger = hetdp.Ledger(limits=np.full(6, 1.5))
    hetdp.release(stretched, np.ones(6), epsilon=1.0, ledger=ledger)
    with pytest.raises(hetdp.BudgetExhausted, match=r"Requested: 1\. Remaining: 0\.5\. Short by: 0\.5\."):
        hetdp.release(stretched, np.ones(6), epsilon=1.0, ledger=ledger)
    assert ledger.spent == pytest.approx(np.ones(6))


def test_wrong_number_of_values_spends_nothing():
    stretched = hetdp.stretch(queries.total(UNIT), np.ones(6))
    ledger = hetdp.Ledger(limits=np.ones(6))
    with refused("values", "one number per item"):
        hetdp.release(stretched, np.ones(5), epsilon=1.0, ledger=ledger)
    with refused("epsilon", "a number above 0"):
        hetdp.release(stretched, np.ones(6), epsilon=0, ledger=ledger)
    assert not ledger.spent.any()


def test_dropped_items_no_longer_count():
    query = queries.total(Box.uniform(0, 1, size=2))
    ledger = hetdp.Ledger(limits=[1.0, 100.0], on_exhausted="drop")
    stretched = hetdp.stretch(query, [1.0, 1.0])
    hetdp.release(stretched, [1, 1], epsilon=1.0, ledger=ledger)
    answers = [hetdp.release(stretched, [value, 1], epsilon=1.0, ledger=ledger, random_state=4) for value in (0.0, 1.0)]
    assert answers[0].value == answers[1].value
    assert answers[0].losses[0] == 0
    assert ledger.spent == pytest.approx([1, 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, ("epsilon", "required")),
        ({"epsilon": 1, "rho": 1}, ("rho", "cannot be used")),
        ({"noise": "gaussian", "epsilon": 1}, ("epsilon", "cannot be used")),
        ({"noise": "uniform", "epsilon": 1}, ("noise", "one of 'laplace', 'gaussian'")),
        ({"epsilon": -1}, ("epsilon", "a number above 0")),
        ({"epsilon": float("nan")}, ("epsilon", "a number above 0")),
        ({"epsilon": "1"}, ("epsilon", "a number above 0")),
        ({"noise": "gaussian", "rho": float("inf")}, ("rho", "a number above 0")),
        ({"epsilon": 1, "grid": 0.3}, ("grid", "a power of two")),
        ({"epsilon": 1, "grid": -1.0}, ("grid", "a power of two")),
        ({"epsilon": 1, "grid": 2.0**-300}, ("grid", "at least")),
        ({"epsilon": 1e-320}, (None, "large enough for finite noise")),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with refused(*message):
        hetdp.release(hetdp.stretch(queries.total(UNIT), WEIGHTS), np.ones(6), **arguments)


def test_public_holds_no_secret_and_is_json():
    answer = hetdp.release(hetdp.stretch(queries.total(UNIT), WEIGHTS), np.ones(6), epsilon=1.0)
    shown = json.loads(json.dumps(answer.public()))
    assert shown["value"] == answer.value
    assert "exp(1 * v_i)" in shown["guarantee"]
    for text in (repr(answer), answer._repr_html_(), json.dumps(shown), repr(answer.guarantee)):
        assert "losses" not in text
        assert "0.3" not in text.replace(str(answer.value), "").replace(f"{answer.value:,.6g}", "")


def test_a_seeded_release_is_stamped_and_not_published():
    answer = hetdp.release(hetdp.stretch(queries.total(UNIT), WEIGHTS), np.ones(6), epsilon=1.0, random_state=1)
    assert answer.simulated
    assert "simulated=True" in repr(answer)
    assert "do not publish" in answer._repr_html_()
    with pytest.raises(errors.SimulatedResult, match="random_state"):
        answer.public()


def test_html_is_escaped():
    query = queries.custom(lambda x: float(x[0]), Box([0], [1]), lipschitz=1.0, name="<script>")
    assert "<script>" not in hetdp.release(hetdp.stretch(query, [1.0]), [1], epsilon=1.0)._repr_html_()


def test_sums_of_many_large_steps_do_not_overflow():
    size = 20_000
    query = queries.mean(Box.uniform(0, 1, size=size))
    answer = hetdp.release(hetdp.stretch(query, np.ones(size)), np.ones(size), epsilon=1e9)
    assert answer.value == pytest.approx(1.0, abs=1e-6)


def test_far_away_boxes_keep_their_resolution():
    query = queries.total(Box.uniform(1e12, 1e12 + 1, size=3))
    answer = hetdp.release(hetdp.stretch(query, np.ones(3)), np.full(3, 1e12 + 0.25), epsilon=1e6)
    assert answer.value == pytest.approx(3e12 + 0.75, abs=1e-3)
    extreme = queries.maximum(Box([0, 1e12], [1, 1e12 + 1]))
    answer = hetdp.release(hetdp.stretch(extreme, [1, 1]), [1, 1e12 + 0.5], epsilon=1e6)
    assert answer.value == pytest.approx(1e12 + 0.5, abs=1e-2)


@pytest.mark.parametrize(
    ("mechanism", "estimated"),
    [
        (hetdp.stretch(queries.total(UNIT), 1.0), True),
        (hetdp.stretch(queries.total(UNIT), 0.5, multiplier=2), True),
        (hetdp.stretch(queries.total(UNIT), np.ones(6)), False),  # weights are secret even if all are 1
        (hetdp.stretch(queries.total(UNIT), 0.5), False),
        (hetdp.stretch(queries.variance(UNIT), 1.0), True),
        (hetdp.weight_classes(queries.total(UNIT), WEIGHTS), True),
        (hetdp.mechanisms.median(UNIT, np.ones(6)), False),
        (hetdp.mechanisms.sample(queries.total(UNIT), np.ones(6)), False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_there_is_an_estimate_where_nothing_distorts_and_else_a_reason(mechanism, estimated):
    answer = hetdp.release(mechanism, np.ones(6), epsilon=100.0)
    assert (answer.estimate is not None) == (answer.reason is None) == estimated
    assert (
        (answer.low is None)
        == (answer.confidence is None)
        == (mechanism.name == "median" or (answer.classes is None and "sampling" in answer.noise))
    )


def test_a_stretched_answer_has_the_interval_of_its_noise():
    """The stretched answer lies inside as often as stated: a binomial test with false-alarm rate 1e-6."""
    mechanism = hetdp.stretch(queries.variance(Box.uniform(0, 10, size=6)), WEIGHTS)
    plan, keep, values = hetdp.plan(mechanism, epsilon=1.0), np.ones(6, dtype=bool), [0, 9, 3, 10, 5, 1]
    right, inside = mechanism(values), []
    for cells in plan.answers(values, keep, seeded_stream(1), count=3000):
        low, high = plan.interval(cells, 0.9)
        inside.append(low <= right <= high)
    assert stats.binomtest(sum(inside), 3000, 0.9, alternative="less").pvalue > 1e-6
    answer = hetdp.release(hetdp.stretch(queries.mean(UNIT), WEIGHTS), np.ones(6), epsilon=1.0, confidence=0.9)
    assert answer.high - answer.value == pytest.approx(-np.log(0.1) / 6)


def test_items_that_a_ledger_drops_leave_no_estimate_of_what_counts_them_as_the_centre():
    dropping = hetdp.Ledger(limits=[9.0] * 6, on_exhausted="drop")
    stretched = hetdp.release(hetdp.stretch(queries.total(UNIT), 1.0), np.ones(6), epsilon=5.0, ledger=dropping)
    assert stretched.estimate is None
    classes = hetdp.weight_classes(queries.total(UNIT), np.ones(6))  # they count as those below all classes
    assert hetdp.release(classes, np.ones(6), epsilon=100.0, ledger=hetdp.Ledger(limits=[1e9] * 6)).estimate is not None


def test_shares_of_a_histogram_add_up_where_the_number_of_items_is_public():
    for adjacency in ("replace", "add-remove"):
        query = queries.histogram(UNIT, [0, 0.5, 1], adjacency=adjacency)
        answer = hetdp.release(hetdp.weight_classes(query, np.ones(6)), [0, 0, 0, 0, 1, 1], epsilon=1e9)
        if adjacency == "replace":
            assert answer.shares == pytest.approx([4 / 6, 2 / 6], abs=1e-6)
        else:
            assert answer.shares is None


def test_a_release_about_some_rows_of_a_ledger_adds_those_that_are_new():
    ledger = hetdp.Ledger(limits=[1.0, 1.0], items=["ann", "bob"])
    stretched = hetdp.stretch(queries.mean(Box.uniform(0, 1, size=2)), [1.0, 0.5])
    hetdp.release(stretched, [1, 0], epsilon=0.5, ledger=ledger.view(["eve", "bob"], limit=3.0))
    assert (ledger.items, ledger.spent.tolist()) == (("ann", "bob", "eve"), [0.0, 0.25, 0.5])
    with pytest.raises(errors.BudgetExhausted):
        hetdp.release(stretched, [1, 0], epsilon=2.0, ledger=ledger.view(["ann", "gus"], limit=3.0))
    assert (ledger.size, len(ledger.history)) == (3, 1)


def test_a_seeded_release_promises_nothing():
    stretched = hetdp.stretch(queries.total(Box.uniform(0, 1, size=1)), [1.0])
    seeded = hetdp.release(stretched, [1], epsilon=1.0, random_state=3).guarantee
    bound = hetdp.release_distortion_bound(stretched, epsilon=1.0, random_state=3).guarantee
    secure = hetdp.release(stretched, [1], epsilon=1.0).guarantee
    assert seeded.simulated
    assert bound.simulated
    assert seeded.compose(secure).text.startswith("Simulated: ")
    assert not secure.simulated
