"""How the people of an evaluation choose their weights, in words."""

import pytest

from hetdp.experiments.weight_rules import GroupRule, PracticeRule, SameRule, SharedSliceRule, SliceRule


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (SliceRule(0.5, 3), "weights from {0.5, 0.75, 1}"),
        (SliceRule(0.5, 1), "weights from {0.5, 1}"),
        (SharedSliceRule(0.5, 3), "weights from {0.5, 0.75, 1}, the same for all owners of an item"),
        (GroupRule(0.34, 0.43, 0.23), "34 % fundamentalists, 43 % pragmatists, 23 % unconcerned; weights per item"),
        (SameRule(1), "weight 1 everywhere"),
        (PracticeRule(0.34, 0.43, 0.23), "homogeneous practice: 34 % left out, everybody else at 0.5 epsilon"),
    ],
)
def test_rules_in_words(rule, text):
    assert rule.text == text
