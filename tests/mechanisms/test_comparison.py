"""Which mechanism is best, and whether the comparison says so."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, WeightPrior, errors, mechanisms, queries
from hetdp.core.randomness import as_stream
from hetdp.mechanisms.comparison import Comparison, Contender, _answer, compare

PRIOR = WeightPrior.westin(0.34, 0.43, 0.23)
BERNOULLI = [0] * 7 + [1] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "at_most"), [(0.1, 0.022), (1.0, 0.0072)])
def test_the_recommended_mean_is_as_good_as_designed(epsilon, at_most):
    result = compare("mean", PRIOR, epsilon, 1000, values=BERNOULLI, runs=400)
    errors_by_name = {contender.name: contender.rmse for contender in result.contenders}
    assert errors_by_name["stretching (paper)"] == pytest.approx(0.084, abs=0.003)
    assert errors_by_name["stretching, by weights"] <= at_most, "without a prior"
    assert result.recommended.rmse <= at_most


@pytest.mark.parametrize("name", ["mean", "total", "count", "variance"])
def test_what_a_release_does_by_itself_is_a_contender(name):
    (usual,) = (
        contender
        for contender in compare(name, PRIOR, 1.0, 200, runs=10).contenders
        if contender.name == "stretching, by weights"
    )
    assert usual.interval


@pytest.mark.parametrize("query", [queries.mean, queries.total, queries.count, queries.variance])
@pytest.mark.parametrize("denominator", [None, 0])
def test_what_is_judged_is_what_is_released(query, denominator):
    values, weights = np.linspace(0, 1, 300), np.tile([0.5, 0.75, 1.0], 100)
    stretched = hetdp.stretch(query(Box.uniform(0, 1, size=300)), weights)
    answer = hetdp.release(stretched, values, epsilon=1.0, denominator=denominator, random_state=5)
    plan = stretched.plan(noise="laplace", amount=1.0)
    judged = _answer(plan, values, as_stream(5), divided=denominator is None)
    assert judged == (answer.value if answer.estimate is None else answer.estimate)
    assert (answer.estimate is None) == (denominator == 0)


def test_a_denominator_in_its_noise_leaves_the_value():
    stretched = hetdp.stretch(queries.mean(Box.uniform(0, 1, size=3)), [0.5, 1.0, 1.0])
    plan = stretched.plan(noise="laplace", amount=0.1)
    value = float(plan.answer(np.ones(3), np.ones(3, dtype=bool), as_stream(1)))
    assert _answer(plan, np.ones(3), as_stream(1), divided=True) == value


def test_contenders_are_sorted_and_the_reason_names_the_best():
    result = compare("mean", PRIOR, 1.0, 200, values=BERNOULLI, runs=30)
    rmses = [contender.rmse for contender in result.contenders]
    assert rmses == sorted(rmses)
    assert result.reason.startswith(result.recommended.name)
    assert result.contenders[result.recommended is result.contenders[0]].name in result.reason


def rated(name, rmse, uncertainty, *, interval):
    return Contender(name, "is one", rmse, 0.0, uncertainty, interval)


@pytest.mark.parametrize(
    ("error", "interval", "recommended"),
    [(1.1, True, "other"), (1.1, False, "best"), (1.3, True, "best"), (1.0, True, "other")],
)
def test_of_those_as_good_as_equal_one_with_an_interval_is_recommended(error, interval, recommended):
    contenders = (rated("best", 1.0, 0.1, interval=False), rated("other", error, 0.1, interval=interval))
    result = Comparison("mean", 1.0, 10, contenders)
    assert result.recommended.name == recommended
    assert ("as good as equal" in result.reason) == (error < 1.2)
    assert "other" in result.reason


def test_what_is_divided_by_weights_has_an_interval():
    for one in compare("mean", PRIOR, 1.0, 200, runs=5).contenders:
        divided = one.name.endswith("by weights") or one.name.startswith(("uniform", "threshold"))
        assert one.interval == divided
    assert not any(one.interval for one in compare("squared_norm", PRIOR, 1.0, 200, runs=5).contenders)


def test_a_quantile_is_judged_by_its_rank():
    result = compare("quantile", PRIOR, 10.0, 500, quantile=0.9, runs=20)
    assert result.query == "quantile 0.9"
    assert result.recommended.rmse < 0.01
    assert abs(result.recommended.bias) < 0.005


@pytest.mark.parametrize("name", ["median", "maximum", "minimum"])
def test_ranks_are_left_to_the_exponential_mechanism(name):
    assert compare(name, PRIOR, 1.0, 200, runs=20).recommended.name.endswith("exponential")


@pytest.mark.parametrize("name", ["l0", "total", "count", "squared_norm", "variance"])
def test_every_name_can_be_compared(name):
    result = compare(name, PRIOR, 1.0, 50, runs=5)
    assert result.query == name
    assert result.items == 50
    assert {"sampling", "uniform"} <= {contender.name for contender in result.contenders}


def test_a_query_of_ones_own():
    query = queries.custom(lambda x: float(x.max() - x.min()), Box.uniform(0, 1, size=20), lipschitz=1.0)
    assert compare(query, PRIOR, 1.0, runs=5).items == 20


def strict(weights, epsilon):  # noqa: ARG001
    return mechanisms.threshold(queries.total(Box.uniform(0, 1, size=weights.size)), weights, level=0.75)


@pytest.mark.slow
def test_contenders_of_ones_own_are_judged_like_the_others():
    own = {"strict": strict, "my way": strict}
    result = compare("total", PRIOR, 1.0, 50, contenders=own, runs=20)
    found = {contender.name: contender for contender in result.contenders}
    assert found["strict"].rmse == found["my way"].rmse
    without = compare("total", PRIOR, 1.0, 50, runs=20)
    assert [contender for contender in result.contenders if contender.name not in own] == list(without.contenders)


def test_a_contender_of_ones_own_can_be_the_best():
    def careless(weights, epsilon):  # noqa: ARG001
        return hetdp.stretch(queries.total(Box.uniform(0, 1, size=weights.size)), np.ones(weights.size))

    assert compare("total", PRIOR, 10.0, 50, contenders={"mine": careless}, runs=20).recommended.name == "mine"


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"uniform": strict}, (None, "functions under names of their own")),
        ({"mine": 3}, (None, "functions under names of their own")),
        ({"mine": lambda weights, _: weights}, (None, "contender 'mine' must make a mechanism")),
        ({"mine": lambda _, epsilon: strict(hetdp.PrivacyWeights([1, 1, 1]), epsilon)}, (None, "")),
        (
            {"mine": lambda weights, _: hetdp.stretch(queries.histogram(Box.uniform(0, 1, size=50), 3), weights)},
            (None, "contender 'mine' must have a number as its answer"),
        ),
    ],
)
def test_contenders_that_cannot_be_judged_are_refused(own, message):
    with refused(*message):
        compare("total", PRIOR, 1.0, 50, contenders=own, runs=5)


@pytest.mark.slow
def test_the_best_threshold_is_found():
    # At 0.9 nearly everybody stays, at 1.0 almost nobody, and at 0.1 the noise is nine times as large.
    prior = WeightPrior({0.05: 0.01, 0.1: 0.01, 0.9: 0.97, 1.0: 0.01})
    names = [contender.name for contender in compare("mean", prior, 0.1, 200, runs=40).contenders]
    assert [name for name in names if name.startswith("threshold")] == ["threshold 0.9"]


def test_the_threshold_is_chosen_on_crowds_that_it_is_not_judged_on(monkeypatch):
    seen = []
    drawn = hetdp.mechanisms.comparison.seeded_stream
    monkeypatch.setattr("hetdp.mechanisms.comparison.seeded_stream", lambda *seed: seen.append(seed) or drawn(*seed))
    compare("mean", PRIOR, 1.0, 50, runs=5)
    assert {seed[2] for seed in seen} == {0, 1, 2, 3}
    changes = [place for place in range(1, len(seen)) if (seen[place][2] > 1) != (seen[place - 1][2] > 1)]
    assert len(changes) == 1, "first all crowds to choose on, then those to judge on"
    assert seen[0][2] == 2


def test_between_two_weights_a_threshold_keeps_the_same_people_with_more_noise():
    query, weights = queries.total(Box.uniform(0, 1, size=4)), [0.25, 0.5, 0.75, 1.0]
    between, at = (mechanisms.threshold(query, weights, level=level) for level in (0.6, 0.75))
    assert between.shrinkage.tolist() == at.shrinkage.tolist() == [0, 0, 1, 1]
    assert hetdp.plan(between, epsilon=1.0).scale > hetdp.plan(at, epsilon=1.0).scale


@pytest.mark.slow
def test_many_levels_are_thinned_out():
    prior = WeightPrior(np.linspace(0.01, 1, 100))
    assert compare("mean", prior, 1.0, 20, runs=2).contenders


def test_same_seed_same_comparison():
    assert compare("mean", PRIOR, 1.0, 50, runs=5) == compare("mean", PRIOR, 1.0, 50, runs=5)
    assert compare("mean", PRIOR, 1.0, 50, runs=5) != compare("mean", PRIOR, 1.0, 50, runs=5, random_state=1)


RATED = {"<b>best": 0.01, "next": 0.2, "last": 3}
FOUND = Comparison(
    "mean", 1.0, 1000, tuple(rated(name, rmse, rmse / 20, interval=False) for name, rmse in RATED.items())
)


def drawn_rows(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_a_chart_has_every_error_and_its_interval():
    rows = drawn_rows(FOUND.plot())
    assert [(row["name"], row["error"]) for row in rows[:3]] == [("<b>best", 0.01), ("next", 0.2), ("last", 3)]
    assert all(row["low"] < row["error"] < row["high"] for row in rows)
    assert [row["recommended"] for row in rows[:3]] == ["yes", "no", "no"]


def test_an_error_of_zero_does_not_break_a_logarithm():
    contenders = (rated("exact", 0.0, 0.0, interval=False), rated("noisy", 0.2, 0.01, interval=False))
    found = Comparison("mean", 1.0, 10, contenders)
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
    ("arguments", "message"),
    [
        (("mode", PRIOR, 1.0, 10), ("query", "a query or one of mean, total")),
        (("mean", PRIOR, 0.0, 10), ("epsilon", "")),
        (("quantile", PRIOR, 1.0, 10), ("quantile", "given for a quantile only")),
        (("mean", PRIOR, 1.0, 1), ("n", "a whole number of at least 2")),
        (("mean", PRIOR, 1.0), ("n", "a whole number of at least 2")),
        ((queries.total(Box.uniform(0, 1, size=3)), PRIOR, 1.0, 4), ("n", "left out")),
        (
            (queries.histogram(Box.uniform(0, 1, size=3), [0, 1]), PRIOR, 1.0),
            (None, "must have a number as its answer"),
        ),
    ],
)
def test_bad_comparisons_are_refused(arguments, message):
    with refused(*message):
        compare(*arguments)


def test_compare_is_public():
    assert hetdp.compare is compare
