import numpy as np
import pytest

from hetdp import Guarantee, PrivacyWeights, errors

WEIGHTS = PrivacyWeights([0.2, 1.0, 0.5])


def test_the_two_implications_of_the_papers_remark():
    promise = Guarantee("epsilon", 2.0, weights=WEIGHTS)
    assert promise.implies_epsilon == 2.0
    assert promise.implied_by_epsilon == pytest.approx(0.4)


def test_losses_by_unit():
    assert Guarantee("epsilon", 2.0, weights=WEIGHTS).loss == pytest.approx([0.4, 2, 1])
    assert Guarantee("rho", 2.0, weights=WEIGHTS).loss == pytest.approx([0.08, 2, 0.5])


def test_groups():
    assert Guarantee("epsilon", 1.0, weights=WEIGHTS).group_loss([0, 2]) == pytest.approx(0.7)
    # Two items of rho 1/2 at distance 1 each: together distance 2, rho 2.
    assert Guarantee("rho", 0.5, weights=PrivacyWeights([1, 1])).group_loss([0, 1]) == pytest.approx(2.0)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_composition_adds_losses_item_by_item(unit):
    one = Guarantee(unit, 1.0, weights=WEIGHTS)
    two = Guarantee(unit, 0.5, weights=PrivacyWeights([1, 0, 1]))
    both = one.compose(two, two)
    assert both.amount == pytest.approx(2.0)
    assert both.loss == pytest.approx(one.loss + 2 * two.loss)
    assert "all of these releases" in both.text


def test_composition_refuses_what_does_not_add_up():
    with pytest.raises(errors.InvalidInput, match="share unit"):
        Guarantee("epsilon", 1.0).compose(Guarantee("rho", 1.0))
    with pytest.raises(errors.InvalidInput, match="same items"):
        Guarantee("epsilon", 1.0, weights=WEIGHTS).compose(Guarantee("epsilon", 1.0, weights=PrivacyWeights([1])))
    assert Guarantee("epsilon", 1.0).compose(Guarantee("epsilon", 1.0, weights=WEIGHTS)).weights is None


def test_text_names_level_unit_and_adversary():
    text = Guarantee("epsilon", 0.5, weights=WEIGHTS).text
    for part in ("epsilon = 0.5", "exp(0.5 * v_i)", "replacing one item", "anyone who sees this release"):
        assert part in text
    assert "rho_i = 0.5 * v_i**2" in Guarantee("rho", 0.5).text
    assert "the weights pay" in Guarantee("epsilon", 0.5, protects="weights").text


def test_weights_never_show():
    promise = Guarantee("epsilon", 0.5, weights=PrivacyWeights([0.123456]))
    assert "0.123" not in repr(promise) + promise.text + repr(promise.public())
    with pytest.raises(errors.InvalidInput, match="weights must be known"):
        _ = promise.public().loss
    assert np.isclose(promise.loss[0], 0.061728)


@pytest.mark.parametrize(("unit", "amount"), [("delta", 1.0), ("epsilon", 0.0), ("epsilon", float("nan"))])
def test_bad_guarantees_are_refused(unit, amount):
    with pytest.raises(errors.InvalidInput):
        Guarantee(unit, amount)
