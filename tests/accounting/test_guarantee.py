from fractions import Fraction
from operator import ge

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp import Guarantee, PrivacyWeights, errors
from hetdp.accounting.guarantee import Recipients, in_digits

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
    with refused(problem="share unit"):
        Guarantee("epsilon", 1.0).compose(Guarantee("rho", 1.0))
    with refused(problem="same items"):
        Guarantee("epsilon", 1.0, weights=WEIGHTS).compose(Guarantee("epsilon", 1.0, weights=PrivacyWeights([1])))
    assert Guarantee("epsilon", 1.0).compose(Guarantee("epsilon", 1.0, weights=WEIGHTS)).weights is None


def test_text_names_level_unit_and_adversary():
    text = Guarantee("epsilon", 0.5, weights=WEIGHTS).text
    for part in ("epsilon = 0.5", "exp(0.5 * v_i)", "replacing one item", "anyone who sees this release"):
        assert part in text
    assert "rho_i = 0.5 * v_i**2" in Guarantee("rho", 0.5).text
    assert "the weights pay" in Guarantee("epsilon", 0.5, protects="weights").text


def test_a_promise_in_rho_says_what_it_implies_for_a_weight_of_1():
    promise = Guarantee("rho", 0.02, delta=5e-7, at_weight_one=(1.0, 1e-6), protected="person")
    assert "rho_i = 0.02 * v_i**2, except with a chance of 0.0000005 * v_i, where v_i" in promise.text
    assert "At a weight of 1 that implies ordinary differential privacy with epsilon = 1 and delta = 0.000001." in (
        promise.text
    )
    assert promise.short.startswith("rho = 0.02 (epsilon = 1 and delta = 0.000001) for a person of weight 1, ")
    assert "implies" not in Guarantee("rho", 0.02).text


def test_weights_never_show():
    promise = Guarantee("epsilon", 0.5, weights=PrivacyWeights([0.123456]))
    assert "0.123" not in repr(promise) + promise.text + repr(promise.public())
    with refused("weights", "known"):
        _ = promise.public().loss
    assert np.isclose(promise.loss[0], 0.061728)


@pytest.mark.parametrize(("unit", "amount"), [("delta", 1.0), ("epsilon", 0.0), ("epsilon", float("nan"))])
def test_bad_guarantees_are_refused(unit, amount):
    with pytest.raises(errors.InvalidInput):
        Guarantee(unit, amount)


def test_every_number_is_rounded_up():
    assert [in_digits(number) for number in (1.9, 12345678.0, Fraction(1, 3))] == ["1.9", "12345700", "0.333334"]
    assert "epsilon = 1.00001:" in Guarantee("epsilon", 1.0000004).text
    weights = np.random.default_rng(0).uniform(size=1000)
    exact = [Fraction(weight) for weight in weights]
    for unit, power in (("epsilon", 1), ("rho", 2)):
        promise = Guarantee(unit, 0.1, weights=PrivacyWeights(weights))
        owed = [Fraction(0.1) * weight**power for weight in exact]
        assert all(map(ge, map(Fraction, promise.loss), owed))
        assert promise.loss == pytest.approx([float(one) for one in owed], rel=1e-15)
        both = promise.compose(promise, promise)
        assert all(map(ge, map(Fraction, both.loss), (3 * one for one in owed)))
        assert Fraction(both.amount) >= 3 * Fraction(0.1)
    assert Fraction(Guarantee("epsilon", 0.1, weights=PrivacyWeights(weights)).group_loss(range(1000))) >= (
        Fraction(0.1) * sum(exact)
    )
    assert Guarantee("rho", 0.3, weights=PrivacyWeights([0.0, 1.0])).loss.tolist() == [0.0, 0.3]


def test_what_would_imply_a_promise_is_rounded_down():
    promise = Guarantee("epsilon", 0.1, weights=PrivacyWeights([0.7, 0.3]))
    assert Fraction(promise.implied_by_epsilon) <= Fraction(0.1) * Fraction(0.3) <= Fraction(promise.loss[1])


def test_lists_and_what_all_see_compose():
    lists = Guarantee.of_lists(
        Recipients(Fraction(1, 2), Fraction(1, 10), 9), adjacent="adding an item", adversary="one recipient"
    )
    both = lists.compose(Guarantee("epsilon", 0.25, adjacent="adding an item"), lists)
    assert (both.per_recipient, both.against(1), both.against(2), both.total) == (1.0, 1.45, 2.45, 9.45)
    assert both.amount == pytest.approx(1.45)
    assert "Against c who collude: (0.45 + 1 c) * v_i; all 9 lists together: 9.45 * v_i." in both.text
    swapped = Guarantee.of_lists(
        Recipients(Fraction(1), Fraction(0), 9), adjacent="swapping", adversary="one", factor="(v_i + v_j)"
    )
    with refused(problem="share unit"):
        lists.compose(swapped)


def test_losses_add_up_only_for_one_and_the_same_difference():
    replaced, added = Guarantee("epsilon", 1.0), Guarantee("epsilon", 1.0, adjacent="adding or removing an item")
    with refused(problem="share unit, protects, protected, adjacent and factor"):
        replaced.compose(added)


def test_lists_composed_with_a_release_hold_against_one_recipient_of_each():
    lists = Guarantee.of_lists(
        Recipients(each=Fraction(1), shared=Fraction(0), most=119), adjacent="adding an item", adversary="one recipient"
    )
    both = Guarantee("epsilon", 0.5, adjacent="adding an item").compose(lists)
    assert both.against(1) == 1.5
    assert both.total == 119.5
    assert "Holds against one recipient of each of these lists" in both.text
    assert "anyone who sees all" not in both.text


def test_sums_of_decimals_are_never_shown_below_themselves():
    part = Guarantee("epsilon", 5.1)
    assert Fraction(repr(part.compose(part, part).amount)) >= Fraction("15.3")


def test_delta_is_said_and_adds_up():
    promise = Guarantee("epsilon", 0.5, adjacent="adding a person", delta=1e-9, protected="person")
    assert "exp(0.5 * v_i), and by 0.000000001 * v_i at most on top" in promise.text
    assert "the person's own weight" in promise.text
    together = promise.compose(promise)
    assert together.delta >= 2e-9
    assert together.protected == "person"
    assert "on top" not in Guarantee("epsilon", 0.5).text


@pytest.mark.parametrize(
    ("promise", "short"),
    [
        (Guarantee("epsilon", 1 / 3), "epsilon = 0.333334 for weight 1, in proportion for others, against anyone"),
        (Guarantee("epsilon", 1.0), "; weights lose 1"),
        (Guarantee("epsilon", 1.0, weights_amount=2.0), "; weights lose 2"),
        (Guarantee("rho", 0.5), "rho = 0.5 for weight 1, times the square of the weight for others, against anyone"),
        (
            Guarantee("epsilon", 1.0, protected="person", delta=1e-9),
            "1 and delta = 0.000000001 for a person of weight 1",
        ),
        (
            Guarantee("epsilon", 1.0, protects="weights"),
            "for each weight, against anyone who sees this release; values lose",
        ),
        (Guarantee("epsilon", 1.0, factor="(v_i + v_j)"), "epsilon = 1 times the sum of the weights of two items"),
        (Guarantee("epsilon", 1.0, simulated=True), "simulated: nothing is promised"),
        (
            Guarantee.of_lists(
                Recipients(Fraction(1), Fraction(0), 119), adjacent="an item", adversary="one recipient"
            ),
            "in proportion for others, against one recipient; all 119 lists together: 119",
        ),
        (
            Guarantee.of_lists(
                Recipients(Fraction(1), Fraction(0), 3, together=True), adjacent="an item", adversary="all"
            ),
            "epsilon = 3 for weight 1, in proportion for others, against all",
        ),
    ],
)
def test_the_short_form_has_level_adversary_and_what_weights_loss(promise, short):
    assert short in promise.short
    assert len(promise.short) < 160
