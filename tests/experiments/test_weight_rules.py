"""How the people of an evaluation choose their weights."""

import pytest

from hetdp.datasets import survey_like
from hetdp.experiments.weight_rules import SameRule, SharedSliceRule, SliceRule


@pytest.mark.parametrize(
    ("rule", "weights"),
    [
        (SliceRule(0.5, 3), {0.5, 0.75, 1.0}),
        (SliceRule(0.5, 1), {0.5, 1.0}),
        (SharedSliceRule(0.5, 3), {0.5, 0.75, 1.0}),
        (SameRule(1), {1.0}),
    ],
)
def test_weights_are_those_of_the_rule(rule, weights):
    assert set(rule.draw(survey_like(), 0).profiles.weights.tolist()) == weights
