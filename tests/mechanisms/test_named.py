"""Questions by name: each gets the mechanism, the range and the centre that answer it."""

import numpy as np
import pytest

import hetdp
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.named import QUERIES, mechanism_named
from hetdp.profiles import WeightPrior

PRIOR = WeightPrior.westin(0.34, 0.43, 0.23)


@pytest.mark.parametrize("name", QUERIES)
def test_every_question_is_answered_about_the_people_there_are(name):
    asked = mechanism_named(name, [1.0, 0.5, 0.0], lower=10, upper=20)
    assert (asked.name, asked.domain.size) == (name, 3)
    assert asked.weights.values.tolist() == [1.0, 0.5, 0.0]
    values = np.array([1.0, 1.0, 0.0]) if name == "count" else np.array([12.0, 14.0, 16.0])
    assert np.all(np.isfinite(hetdp.release(asked, values, epsilon=1.0).value))


def test_a_count_needs_no_range():
    assert mechanism_named("count", [1.0, 0.5]).domain.upper.tolist() == [1.0, 1.0]


def test_a_variance_shrinks_to_the_midpoint_and_others_to_where_they_are_told():
    assert mechanism_named("variance", [1.0, 1.0], lower=0, upper=80).domain.center.tolist() == [40.0, 40.0]
    assert mechanism_named("variance", [1.0, 1.0], lower=0, upper=80, center=10).domain.center.tolist() == [10.0, 10.0]
    assert mechanism_named("mean", [1.0], lower=0, upper=80).domain.center.tolist() == [0.0]
    assert mechanism_named("mean", [1.0], lower=20, upper=80).domain.center.tolist() == [50.0]


def test_the_best_multiplier_is_that_of_the_prior():
    asked = mechanism_named("mean", np.ones(100), lower=0, upper=1, multiplier="best", prior=PRIOR, epsilon=1.0)
    assert asked.multiplier == hetdp.best_multiplier(asked.query, PRIOR, 1.0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("middle", {}, r"name must be one of 'mean'.*Got 'middle' instead"),
        ("mean", {"lower": 0}, "lower and upper must be given for a mean"),
        ("median", {"lower": 0, "upper": 1, "multiplier": 2.0}, "nothing is stretched"),
        ("median", {"lower": 0, "upper": 1, "prior": PRIOR}, "nothing is stretched"),
        ("mean", {"lower": 0, "upper": 1, "multiplier": "best"}, "prior and epsilon must be given"),
    ],
)
def test_what_does_not_go_together_is_refused(name, options, message):
    with pytest.raises(InvalidInput, match=message):
        mechanism_named(name, [1.0], **options)
