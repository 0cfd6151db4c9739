"""What releases will cost together, before the first is made."""

import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, queries


@pytest.mark.filterwarnings("ignore::hetdp.core.errors.StretchingWarning")  # of a maximum
def test_a_batch_is_known_before_its_first_release():
    weights = [1.0, 0.5, 0.0]
    box = Box.uniform(0, 1, size=3)
    batch = [hetdp.weight_classes(queries.mean(box), weights), hetdp.stretch(queries.maximum(box), weights)]
    batch += [hetdp.mechanisms.median(box, weights)]
    together = hetdp.plan(batch, epsilon=0.1)
    assert repr(together) == "Plans(3 releases, epsilon = 0.3)"
    assert repr(together.plans[0]) == "WeightClassesPlan(mean, epsilon = 0.1)"
    assert together.weights_amount == pytest.approx(0.275)  # the mean costs weights three quarters
    ledger = hetdp.Ledger(limits=[9.0] * 3)
    for mechanism in batch:
        hetdp.release(mechanism, [0, 1, 1], epsilon=0.1, ledger=ledger)
    assert together.losses == pytest.approx(ledger.spent)
    assert together.weights_amount == pytest.approx(ledger.weights_spent)


@pytest.mark.parametrize("mechanism", [[], 3, queries.mean(Box.uniform(0, 1, size=3))])
def test_what_is_no_mechanism_is_refused(mechanism):
    with refused("mechanism", "hetdp.weight_classes"):
        hetdp.plan(mechanism, epsilon=1)
