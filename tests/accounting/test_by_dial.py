"""Answers by level of dials: one level per value, and what the weights pay."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, errors, queries
from hetdp.core.randomness import seeded_stream

DIALS = np.repeat([0.0, 0.3, 0.5, 0.75, 1.0], 400)
AGES = Box.uniform(0, 100, size=DIALS.size)


def released(query, values, dials=DIALS, **more):
    return hetdp.release_by_dial(hetdp.stretch(query, dials), values, **{"epsilon": 2.0, "random_state": 4, **more})


@pytest.mark.parametrize(
    ("query", "truths"),
    [
        (queries.mean(AGES), (20.0, 60.0, 80.0)),
        (queries.total(AGES), (20.0, 60.0, 80.0)),
        (queries.variance(AGES), (0.0, 0.0, 0.0)),
        (queries.histogram(AGES, [0, 50, 100]), ([1, 0], [0, 1], [0, 1])),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_each_level_has_its_own_answer(query, truths):
    """Intervals at 1 - 1e-6; the seed is fixed."""
    values = np.repeat([99.0, 20.0, 20.0, 60.0, 80.0], 400)
    found = released(query, values, confidence=1 - 1e-6)
    assert len(found.answers) == 3
    for answer, truth in zip(found.answers, truths, strict=True):
        assert (answer.low <= np.array(truth) + 1e-6).all()
        assert (answer.high >= np.array(truth) - 1e-6).all()
        assert np.all(answer.high - answer.low < (3000 if query.name == "variance" else 25))


def test_a_value_pays_once_and_a_weight_for_two_levels():
    ledger = hetdp.Ledger(limits=[9.0] * DIALS.size)
    found = released(queries.mean(AGES), np.full(DIALS.size, 50.0), epsilon=0.5, ledger=ledger, levels=[0, 0.4, 0.6, 1])
    assert ledger.spent == pytest.approx(0.5 * DIALS)
    assert ledger.weights_spent == 2 * (0.5 + 0.5)
    assert len(ledger.history) == 1
    assert (found.guarantee.amount, found.guarantee.weights_amount) == (0.5, 2.0)
    whole = released(queries.mean(AGES), np.full(DIALS.size, 50.0), levels=[0, 1], denominator=1.0)
    assert whole.guarantee.weights_amount == 3.0  # nobody can go to another level


def test_a_value_touches_no_level_but_its_own():
    values = np.full(DIALS.size, 50.0)
    one = released(queries.mean(AGES), values, random_state=seeded_stream(1))
    for place, level in ((0, None), (400, 0), (1200, 1), (1600, 2)):
        other = values.copy()
        other[place] = 100.0
        two = released(queries.mean(AGES), other, random_state=seeded_stream(1))
        same = [a.value == b.value and a.estimate == b.estimate for a, b in zip(one.answers, two.answers, strict=True)]
        assert same == [number != level for number in range(3)]
        assert [a.denominator for a in one.answers] == [b.denominator for b in two.answers]


def test_rows_that_cannot_pay_weigh_nothing_in_their_level():
    limits = np.where(DIALS == 1.0, 0.5, 9.0)
    ledger = hetdp.Ledger(limits=limits, on_exhausted="drop")
    found = released(queries.mean(AGES), np.full(DIALS.size, 50.0), ledger=ledger)
    assert found.answers[1].estimate == pytest.approx(50, abs=5)
    assert found.answers[2].estimate is None
    assert "not well above its noise" in found.answers[2].reason
    assert (ledger.spent[DIALS == 1.0] == 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"levels": [0.5]}, ("levels", "at least two increasing numbers")),
        ({"levels": [0.5, 0.2]}, ("levels", "at least two increasing numbers")),
        ({"levels": [-1, 1]}, ("levels", "at least two increasing numbers")),
        ({"denominator": 0}, (None, "with a denominator")),
        ({"confidence": 0}, ("confidence", "strictly")),
        ({"query": queries.linear(np.ones(DIALS.size), AGES)}, ("mechanism", "a stretched mean")),
    ],
)
def test_bad_input_spends_nothing(arguments, message):
    ledger = hetdp.Ledger(limits=[9.0] * DIALS.size)
    query = arguments.pop("query", queries.mean(AGES))
    with refused(*message):
        released(query, np.zeros(DIALS.size), ledger=ledger, **arguments)
    assert ledger.weights_spent == 0


def test_what_is_public_is_ready_for_json():
    public = hetdp.release_by_dial(hetdp.stretch(queries.mean(AGES), DIALS), np.zeros(DIALS.size), epsilon=1.0).public()
    assert [level["above"] for level in public["levels"]] == [0.0, 0.5, 0.75]
    assert set(public["levels"][0]) == {"above", "up_to", "estimate", "low", "high", "reason", "denominator"}
    assert public["epsilon"] == 1.0
    with pytest.raises(errors.SimulatedResult):
        released(queries.mean(AGES), np.zeros(DIALS.size)).public()
