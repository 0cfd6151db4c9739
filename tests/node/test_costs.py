"""What somebody is told before taking part."""

from hetdp.node.words import cost_warnings


def test_little_is_not_worth_a_word_and_much_is():
    little = {"epsilon_per_epoch": 3.0, "epochs_at_full_weight": 10, "limit_spent_after_s": 6048000}
    assert cost_warnings(little) == []
    much = {"epsilon_per_epoch": 8.0, "epochs_at_full_weight": 3, "limit_spent_after_s": 180}
    assert cost_warnings(much) == [
        "Epsilon 8 per epoch is a lot: one sketch can change anyone's odds that you have an item 2,981-fold.",
        "At full weight the lifetime limit is spent after 3 min, within a day; then an item no longer counts.",
    ]
