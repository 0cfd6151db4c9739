"""Which mechanism is best, and whether the comparison says so."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, errors, mechanisms, policies, queries
from hetdp.mechanisms.comparison import QUERY_NAMES, Comparison, Contender, compare

POLL = policies.westin(0.34, 0.43, 0.23)
BERNOULLI = [0] * 7 + [1] * 3


def rmses(result):
    return {contender.name: contender.rmse for contender in result.contenders}


@pytest.mark.slow
def test_weight_classes_are_right_where_weights_depend_on_values():
    """10,000 items, 20 % with weight 0.25 and mean 0.7, the others with mean 0.3, epsilon 1."""
    values = {1: BERNOULLI, 0.25: [0] * 3 + [1] * 7}
    result = compare("mean", {1: 0.8, 0.25: 0.2}, 1.0, 10_000, values=values, runs=200)
    found = rmses(result)
    assert found["weight classes 1, 0.25"] < 0.0010
    assert found["weight classes 1, 0.5, 0.25"] < 0.0010
    assert found["stretching (paper)"] > 0.05
    assert found["one class from 1"] > 0.03  # leaves out 20 %, who count as the middle
    assert result.recommended.name in ("weight classes 1, 0.25", "weight classes 1, 0.5, 0.25", "one class from 0.25")
    assert abs(result.recommended.bias) < 5 * result.recommended.rmse / np.sqrt(200)


@pytest.mark.parametrize("query", [queries.mean, queries.count, queries.variance])
@pytest.mark.parametrize("make", [mechanisms.weight_classes, mechanisms.stretch, mechanisms.sample])
def test_what_is_judged_is_what_is_released(query, make):
    if (query, make) == (queries.variance, mechanisms.weight_classes):
        return
    size, seen = 30, []

    def spy(weights, epsilon):  # noqa: ARG001
        mechanism = make(query(Box.uniform(0, 1, size=size)), weights)
        seen.append(mechanism)
        return mechanism

    asked = query(Box.uniform(0, 1, size=size))
    result = compare(asked, [0.5, 1], 1.0, contenders={"mine": spy}, runs=2, random_state=3)
    errors_by_hand = []
    for run, mechanism in enumerate(seen):
        stream = hetdp.mechanisms.comparison.seeded_stream(3, run, 0)
        values = stream.uniforms(size)
        noise = hetdp.mechanisms.comparison.seeded_stream(3, run, 1)
        answer = hetdp.release(mechanism, values, epsilon=1.0, random_state=noise)
        errors_by_hand.append((answer.value if answer.estimate is None else answer.estimate) - asked(values))
    mine = next(contender for contender in result.contenders if contender.name == "mine")
    assert mine.rmse == pytest.approx(np.sqrt(np.mean(np.square(errors_by_hand))))


def test_contenders_are_sorted_and_the_reason_names_the_best():
    result = compare("mean", POLL, 1.0, 200, values=BERNOULLI, runs=30)
    found = [contender.rmse for contender in result.contenders]
    assert found == sorted(found)
    assert result.recommended is result.contenders[0]
    assert result.reason.startswith(result.recommended.name)


def test_expected_weights_can_be_given_in_three_ways():
    policy = policies.slices(0.5, 1, 3)
    first, *others = (
        compare("mean", weights, 1.0, 50, runs=5)
        for weights in (policy, [0.5, 0.75, 1], {0.5: 1 / 3, 0.75: 1 / 3, 1: 1 / 3})
    )
    assert others == [first, first]


def test_a_quantile_is_judged_by_its_rank():
    result = compare("quantile", POLL, 10.0, 500, quantile=0.9, runs=20)
    assert result.query == "quantile 0.9"
    assert result.recommended.rmse < 0.01
    assert abs(result.recommended.bias) < 0.005


@pytest.mark.parametrize("name", ["median", "maximum", "minimum"])
def test_ranks_are_left_to_the_exponential_mechanism(name):
    assert compare(name, POLL, 1.0, 200, runs=20).recommended.name.endswith("exponential")


@pytest.mark.parametrize("name", [name for name in QUERY_NAMES if name != "quantile"])
def test_every_name_can_be_compared(name):
    result = compare(name, POLL, 1.0, 50, runs=5)
    assert (result.query, result.items) == (name, 50)
    found = set(rmses(result))
    assert ("weight classes 1, 0.5, 0.25" in found) == (name in ("mean", "total", "count", "l0", "squared_norm"))
    assert ("stretching (paper)" in found) == (name != "median")


def test_a_query_of_ones_own():
    query = queries.custom(lambda x: float(x.max() - x.min()), Box.uniform(0, 1, size=20), lipschitz=1.0)
    assert compare(query, POLL, 1.0, runs=5).items == 20


def strict(weights, epsilon):  # noqa: ARG001
    return mechanisms.weight_classes(queries.total(Box.uniform(0, 1, size=weights.size)), weights, [0.75])


def test_contenders_of_ones_own_are_judged_like_the_others():
    own = {"strict": strict, "my way": strict}
    result = compare("total", POLL, 1.0, 50, contenders=own, runs=20)
    found = rmses(result)
    assert found["strict"] == found["my way"]
    without = compare("total", POLL, 1.0, 50, runs=20)
    assert [contender for contender in result.contenders if contender.name not in own] == list(without.contenders)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"sampling": strict}, ("contenders", "functions under names of their own")),
        ({"mine": 3}, ("contenders", "functions under names of their own")),
        ({"mine": lambda weights, _: weights}, (None, "contender 'mine' must make a mechanism")),
        ({"mine": lambda _, epsilon: strict(hetdp.PrivacyWeights([1, 1, 1]), epsilon)}, (None, "one item per weight")),
        (
            {"mine": lambda weights, _: hetdp.stretch(queries.histogram(Box.uniform(0, 1, size=50), 3), weights)},
            (None, "contender 'mine' must have a number as its answer"),
        ),
    ],
)
def test_contenders_that_cannot_be_judged_are_refused(own, message):
    with refused(*message):
        compare("total", POLL, 1.0, 50, contenders=own, runs=5)


def test_many_different_weights_get_no_classes_of_their_own():
    found = rmses(compare("mean", np.linspace(0.01, 1, 100), 1.0, 20, runs=2))
    assert sum(name.startswith("weight classes") for name in found) == 1


def test_same_seed_same_comparison():
    assert compare("mean", POLL, 1.0, 50, runs=5) == compare("mean", POLL, 1.0, 50, runs=5)
    assert compare("mean", POLL, 1.0, 50, runs=5) != compare("mean", POLL, 1.0, 50, runs=5, random_state=1)


def rated(name, rmse, uncertainty):
    return Contender(name, "is one", rmse, 0.0, uncertainty)


RATED = {"<b>best": 0.01, "next": 0.2, "last": 3}
FOUND = Comparison("mean", 1.0, 1000, tuple(rated(name, rmse, rmse / 20) for name, rmse in RATED.items()))


@pytest.mark.parametrize(("error", "equal"), [(1.1, True), (1.3, False)])
def test_errors_that_the_simulation_cannot_tell_apart_are_said_to_be_equal(error, equal):
    result = Comparison("mean", 1.0, 10, (rated("best", 1.0, 0.1), rated("other", error, 0.1)))
    assert ("as good as equal" in result.reason) == equal


def drawn_rows(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_a_chart_has_every_error_and_its_interval():
    rows = drawn_rows(FOUND.plot())
    assert [(row["name"], row["estimate"]) for row in rows[:3]] == [("<b>best", 0.01), ("next", 0.2), ("last", 3)]
    assert all(row["low"] < row["estimate"] < row["high"] for row in rows)


def test_an_error_of_zero_does_not_break_a_logarithm():
    found = Comparison("mean", 1.0, 10, (rated("exact", 0.0, 0.0), rated("noisy", 0.2, 0.01)))
    assert all(row["low"] > 0 for row in drawn_rows(found.plot()))
    assert "exact" in found._repr_html_()


def test_a_card_needs_no_extra_is_escaped_and_a_chart_names_its_extra(hide):
    hide("altair", "vl_convert")
    with pytest.raises(errors.MissingExtra):
        FOUND.plot()
    html = FOUND._repr_html_()
    assert "<b>best" not in html
    assert html.count("<tr>") == 4
    assert "Recommended: " in html


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (("mode", POLL, 1.0, 10), {}, ("query", "a query or one of mean, total")),
        (("mean", POLL, 0.0, 10), {}, ("epsilon", "")),
        (("quantile", POLL, 1.0, 10), {}, ("quantile", "given for a quantile only")),
        (("mean", POLL, 1.0, 1), {}, ("n", "a whole number of at least 2")),
        (("mean", POLL, 1.0), {}, ("n", "a whole number of at least 2")),
        ((queries.total(Box.uniform(0, 1, size=3)), POLL, 1.0, 4), {}, ("n", "left out")),
        ((queries.histogram(Box.uniform(0, 1, size=3), [0, 1]), POLL, 1.0), {}, ("query", "a number as its answer")),
        (("mean", hetdp.PrivacyWeights([1, 0.5]), 1.0, 10), {}, ("weights", "public")),
        (("mean", [0.0], 1.0, 10), {}, ("weights", "above 0")),
        (("mean", [1.5], 1.0, 10), {}, ("weights", "in [0, 1]")),
        (("mean", {1: 0.5}, 1.0, 10), {}, ("weights", "sum to 1")),
        (("mean", policies.from_labels({1: "R"}, {"R": 0.5}), 1.0, 10), {}, ("weights", "items")),
        (("mean", [0.5, 1], 1.0, 10), {"values": {1: [0]}}, ("values", "every weight")),
    ],
)
def test_bad_comparisons_are_refused(arguments, more, message):
    with refused(*message):
        compare(*arguments, **more)
