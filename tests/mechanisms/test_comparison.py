"""Which mechanism is best, and whether the comparison says so."""

import pytest

import hetdp
from hetdp import Box, WeightPrior, errors, queries
from hetdp.mechanisms.comparison import compare

PRIOR = WeightPrior.westin(0.34, 0.43, 0.23)
BERNOULLI = [0] * 7 + [1] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "at_most"), [(0.1, 0.022), (1.0, 0.0072)])
def test_the_recommended_mean_is_as_good_as_designed(epsilon, at_most):
    result = compare("mean", PRIOR, epsilon, 1000, values=BERNOULLI, runs=400)
    errors_by_name = {contender.name: contender.rmse for contender in result.contenders}
    assert errors_by_name["stretching (paper)"] == pytest.approx(0.084, abs=0.003)
    assert result.recommended.rmse <= at_most


def test_contenders_are_sorted_and_the_reason_names_the_best():
    result = compare("mean", PRIOR, 1.0, 200, values=BERNOULLI, runs=30)
    rmses = [contender.rmse for contender in result.contenders]
    assert rmses == sorted(rmses)
    assert result.reason.startswith(result.recommended.name)
    assert result.contenders[1].name in result.reason


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


def test_same_seed_same_comparison():
    assert compare("mean", PRIOR, 1.0, 50, runs=5) == compare("mean", PRIOR, 1.0, 50, runs=5)
    assert compare("mean", PRIOR, 1.0, 50, runs=5) != compare("mean", PRIOR, 1.0, 50, runs=5, random_state=1)


def test_the_chart_is_self_contained_and_escaped():
    query = queries.custom(lambda x: float(x[0]), Box([0], [1]), lipschitz=1.0, name="<script>")
    result = compare(query, PRIOR, 1.0, runs=3)
    assert result.svg().startswith("<svg")
    assert "<script>" not in result.svg() + result._repr_html_()
    assert all(contender.name.split(" (")[0] in result.svg() for contender in result.contenders)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mode", PRIOR, 1.0, 10), "query must be a query or one of mean, total"),
        (("mean", PRIOR, 0.0, 10), "epsilon must be"),
        (("mean", PRIOR, 1.0, 1), "n must be a whole number >= 2"),
        (("mean", PRIOR, 1.0), "n must be a whole number >= 2"),
        ((queries.total(Box.uniform(0, 1, size=3)), PRIOR, 1.0, 4), "n must be left out"),
        ((queries.histogram(Box.uniform(0, 1, size=3), [0, 1]), PRIOR, 1.0), "must have a number as its answer"),
    ],
)
def test_bad_comparisons_are_refused(arguments, message):
    with pytest.raises(errors.InvalidInput, match=message):
        compare(*arguments)


def test_compare_is_public():
    assert hetdp.compare is compare
