"""What releases will cost, and which level is accurate enough, from public numbers alone."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, WeightPrior, errors, queries
from hetdp.mechanisms.intervals import interval_reach

PRIOR = WeightPrior.westin(0.34, 0.43, 0.23)
AGES = Box.uniform(0, 100, size=4000)
QUERIES = {
    "mean": (queries.mean(AGES), 1.0),
    "mean around the middle": (queries.mean(Box.uniform(0, 100, size=4000, center=50)), 1.0),
    "total": (queries.total(AGES), 5000.0),
    "count": (queries.count(Box.uniform(0, 1, size=4000)), 100.0),
    "histogram": (queries.histogram(AGES, 4), 100.0),
    "variance": (queries.variance(Box.uniform(0, 100, size=4000, center=50)), 200.0),
}


def people(query):
    generator = np.random.default_rng(6)
    dials = generator.choice(PRIOR.weights, 4000, p=PRIOR.probabilities)
    values = generator.uniform(query.domain.lower, query.domain.upper)
    return dials, values.round() if query.name == "count" else values


@pytest.mark.parametrize("level", ["epsilon", "rho"])
@pytest.mark.parametrize(("query", "within"), QUERIES.values(), ids=QUERIES.keys())
def test_a_level_that_was_found_is_accurate_enough_and_not_far_too_large(query, within, level):
    dials, values = people(query)
    stretched = hetdp.stretch(query, dials, prior=PRIOR)
    noise = "laplace" if level == "epsilon" else "gaussian"
    planned = hetdp.plan(stretched, within=within, noise=noise)
    assert planned.unit == level
    assert planned.denominator is not None
    answer = hetdp.release(stretched, values, **{level: planned.amount}, random_state=2)
    reach = np.max([answer.high - answer.estimate, answer.estimate - answer.low])
    assert reach <= within * 1.05  # a plan is for the expected noise, and for dials as the prior has them
    assert interval_reach(stretched, planned.amount, noise=noise, confidence=0.95) <= within
    assert interval_reach(stretched, 0.98 * planned.amount, noise=noise, confidence=0.95) > within


def test_only_public_numbers_are_looked_at():
    query = queries.mean(AGES)
    found = {
        hetdp.plan(hetdp.stretch(query, dials), within=1.0).amount for dials in (np.ones(4000), np.full(4000, 0.01))
    }
    assert len(found) == 1


@pytest.mark.slow
def test_more_is_needed_where_less_is_known_or_more_is_wanted():
    query = queries.mean(AGES)
    dials = np.full(4000, 0.8)

    def level(stretched=None, *, within=1.0, **more):
        return hetdp.plan(stretched or hetdp.stretch(query, dials, prior=[0.8]), within=within, **more).amount

    usual = level()
    assert level(hetdp.stretch(query, 1.0)) < usual < level(hetdp.stretch(query, dials))
    assert level(within=2.0) < usual < level(confidence=0.99)
    assert level(deviation=5.0, within=0.85) < level(within=0.85) < level(deviation=50.0, within=0.85)
    assert level(denominator=100.0) < usual < level(denominator=0.12)
    public = hetdp.stretch(query, 1.0)
    assert hetdp.plan(public, within=1.0, drops=True).denominator is not None


def test_what_cannot_be_reached_is_said_with_what_can():
    stretched = hetdp.stretch(queries.mean(AGES), np.ones(4000))
    with pytest.raises(errors.InvalidInput, match="chance alone makes the interval reach that far") as refused:
        hetdp.plan(stretched, within=0.01)
    can = float(str(refused.value).split("at least ")[1].split(":")[0])
    assert hetdp.plan(stretched, within=can).amount > 0
    assert "a mean privacy weight of 0.5" in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"within": 0}, ("within", "a number above 0")),
        ({"within": 1, "epsilon": 1}, ("within", "cannot be used with epsilon or rho")),
        ({"within": 1, "denominator": 0}, ("within", "asked of a stretched mean")),
        ({"within": 1, "confidence": 2}, ("confidence", "strictly between 0 and 1")),
        ({"within": 1, "deviation": -1}, ("deviation", "a number of at least 0")),
        ({"epsilon": 1, "denominator": -1}, ("denominator", "a number of at least 0")),
        ({"epsilon": 1, "denominator": 1e-300}, ("denominator", "large enough")),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with refused(*message):
        hetdp.plan(hetdp.stretch(queries.mean(AGES), np.ones(4000)), **arguments)


def test_width_is_known_for_what_can_be_divided_out_only():
    for mechanism in (
        hetdp.stretch(queries.linear([1, 2], Box.uniform(0, 1, size=2)), [1, 1]),
        hetdp.mechanisms.median(Box.uniform(0, 1, size=2), [1, 1]),
    ):
        with refused("within", "asked of a stretched mean"):
            hetdp.plan(mechanism, within=1.0)


@pytest.mark.filterwarnings("ignore::hetdp.core.errors.StretchingWarning")  # of a maximum
def test_a_batch_is_known_before_its_first_release():
    dials = [1.0, 0.5, 0.0]
    box = Box.uniform(0, 1, size=3)
    batch = [hetdp.stretch(query, dials) for query in (queries.mean(box), queries.maximum(box))]
    batch += [hetdp.mechanisms.median(box, dials)]
    together = hetdp.plan(batch, epsilon=0.1)
    assert repr(together) == "Plans(3 releases, epsilon = 0.3)"
    assert repr(together.plans[0]) == "StretchedPlan(mean, epsilon = 0.1)"
    assert together.weights_amount == pytest.approx(0.4)  # the mean has a denominator
    ledger = hetdp.Ledger(limits=[9.0] * 3)
    for mechanism in batch:
        hetdp.release(mechanism, [0, 1, 1], epsilon=0.1, ledger=ledger)
    assert together.losses == pytest.approx(ledger.spent)
    assert together.weights_amount == pytest.approx(ledger.weights_spent)
    with refused("mechanism", "a stretched query"):
        hetdp.plan([], epsilon=1)
