"""What an audit refuses: outputs that cannot be compared, claims that are no numbers, pairs that are not adjacent."""

import numpy as np
import pandas as pd
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, mechanisms, queries
from hetdp.auditing import audit, plan_samples, replay_audit
from hetdp.auditing.subjects import claims_for

PAIR = [([0.0, 1.0], [1.0, 1.0])]
NAN = float("nan")


def returns(*outputs):
    turns = iter(range(10**9))
    return lambda _: outputs[next(turns) % len(outputs)]


CHANGING = [("a", None), ("a", b"z"), (("x", 1), "x"), (1.0, [1.0]), (1.0, "a"), ([1.0, 2.0], [1.0])]


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        *((returns(*outputs), "same type and shape") for outputs in CHANGING),
        *((returns(output), "nan") for output in (NAN, ("a", NAN), complex("nan"))),
        (returns({1: 2}), "hashable labels"),
        (returns([]), "hashable labels"),
        (lambda _, size: [0.0] * (size - 1), "one output for each"),
        (lambda _, size: 1.0, "one output for each"),  # noqa: ARG005
        (lambda _, size: np.array(1.0), "one output for each"),  # noqa: ARG005
        (3, "must be a plan, a mechanism or a function"),
    ],
)
def test_bad_mechanisms(mechanism, problem):
    with refused("mechanism", problem):
        audit(mechanism, adjacent=PAIR, claimed=1.0, samples=1_000)


def test_an_exception_of_the_function_is_named_without_its_message():
    def boom(profile):
        message = f"secret {profile}"
        raise RuntimeError(message)

    with refused("mechanism", "RuntimeError") as caught:
        audit(boom, adjacent=PAIR, claimed=1.0, samples=1_000)
    assert "secret" not in str(caught.error)


@pytest.mark.parametrize(
    ("arguments", "parameter", "problem"),
    [
        *(
            ({"claimed": value}, "claimed", "number")
            for value in (float("inf"), NAN, -1.0, [1, NAN], {"0": 1, "1": -1})
        ),
        ({"claimed": {"other": 1.0}}, "claimed", "every audited item"),
        ({"claimed": []}, "claimed", "every audited item"),
        ({"claimed": None}, "claimed", "given"),
        ({"adjacent": None}, "adjacent", "given"),
        ({"adjacent": []}, "adjacent", "pairs"),
        ({"adjacent": [([0, 1],)]}, "adjacent", "pairs"),
        ({"adjacent": [([0, 1], [0, 1])]}, "adjacent", "exactly one item (got 0)"),
        ({"adjacent": [([0, 1], [1, 0])]}, "adjacent", "exactly one item (got 2)"),
        ({"adjacent": [([0, NAN], [0, NAN])]}, "adjacent", "exactly one item (got 0)"),
        ({"adjacent": [([0, 1], [0])]}, "adjacent", "length"),
        ({"adjacent": [(pd.Series([0, 0]), pd.Series([1, 1]))]}, "adjacent", "exactly one item (got 2)"),
        ({"adjacent": [(pd.DataFrame({"a": [0]}), pd.DataFrame({"a": [1]}))]}, "adjacent", "DataFrame"),
        ({"samples": 10}, "samples", "1000"),
        ({"confidence": 1.0}, "confidence", "between"),
        ({"epsilon": 1.0}, "epsilon", "mechanism"),
        ({"items": [5]}, "items", "at least one"),
    ],
)
def test_bad_arguments(arguments, parameter, problem):
    with refused(parameter, problem):
        audit(lambda _: 0.0, **{"adjacent": PAIR, "claimed": 1.0, **arguments})


def test_a_plan_needs_epsilon():
    stretched = hetdp.stretch(queries.total(Box([0], [1])), [1.0])
    with refused("mechanism", "epsilon"):
        audit(hetdp.plan(stretched, noise="gaussian", rho=1.0))
    with refused("epsilon", "mechanism"):
        audit(stretched)
    with refused("items", "below 1"):
        audit(stretched, epsilon=1.0, items=[3])


def test_claims_may_be_keyed_by_text():
    assert claims_for({"0": 0.5}, 0) == 0.5


@pytest.mark.parametrize("claim", [5e-324, 1e-300, 1e-13])
def test_tiny_claims_are_capped(claim):
    assert plan_samples(claim).capped


@pytest.mark.slow
@pytest.mark.parametrize("make", [mechanisms.sketch, lambda v: mechanisms.median(Box.uniform(0, 1, size=2), v)])
def test_a_plan_knows_its_mechanism(make):
    plan = hetdp.plan(make([1.0, 0.0]), epsilon=1.0)
    report = audit(plan, samples=1000, random_state=1)
    assert [row.claimed for row in report.rows] == [1.0, 0.0]
    assert replay_audit(plan, random_state=1).verdict == "no violation found"
