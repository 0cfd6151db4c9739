"""What an audit refuses, and says so: once these passed, crashed or accused the innocent."""

import numpy as np
import pandas as pd
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import mechanisms
from hetdp.auditing import plan_samples, replay_audit
from hetdp.auditing.subjects import claims_for

PAIR = [([0, 0], [1, 0])]


def test_columns_are_compared_item_by_item():
    two = [(pd.Series([0, 0]), pd.Series([1, 1]))]
    with refused("adjacent", "exactly one item (got 2)"):
        hetdp.audit(lambda profile: float(profile.sum()), adjacent=two, claimed=1.0, samples=1000)
    frames = [(pd.DataFrame({"a": [0]}), pd.DataFrame({"a": [1]}))]
    with refused("adjacent", "DataFrame"):
        hetdp.audit(lambda _: 0.0, adjacent=frames, claimed=1.0, samples=1000)


def test_an_exception_of_the_function_is_named_without_its_message():
    def boom(profile):
        message = f"secret {profile}"
        raise RuntimeError(message)

    with refused("mechanism", "RuntimeError") as caught:
        hetdp.audit(boom, adjacent=PAIR, claimed=1.0, samples=1000)
    assert "secret" not in str(caught.error)


@pytest.mark.parametrize(
    "outputs",
    [("a", None), ("a", b"z"), (("x", 1), "x"), (1.0, [1.0]), (1.0, "a"), ([1.0, 2.0], [1.0])],
    ids=str,
)
def test_outputs_that_change_type_are_refused(outputs):
    turn = iter(range(10**9))
    with refused("mechanism", "same type and shape"):
        hetdp.audit(lambda _: outputs[next(turn) % 2], adjacent=PAIR, claimed=1.0, samples=1000)


@pytest.mark.parametrize("output", [float("nan"), ("a", float("nan")), complex("nan")], ids=str)
def test_nan_is_refused_even_inside_a_label(output):
    with refused("mechanism", "nan"):
        hetdp.audit(lambda _: output, adjacent=PAIR, claimed=1.0, samples=1000)


def test_a_single_output_for_many_runs_is_refused():
    with refused("mechanism", "one output for each"):
        hetdp.audit(lambda _, size: np.array(1.0), adjacent=PAIR, claimed=1.0, samples=1000)  # noqa: ARG005


@pytest.mark.parametrize("claimed", [[1, float("inf")], [1, float("nan")], {"0": 1, "1": -1}, float("inf"), -1])
def test_every_claim_must_be_finite_audited_or_not(claimed):
    with refused("claimed", "number"):
        hetdp.audit(lambda _: 0.0, adjacent=PAIR, claimed=claimed, samples=1000)


def test_claims_may_be_keyed_by_text():
    assert claims_for({"0": 0.5}, 0) == 0.5


@pytest.mark.parametrize("claim", [5e-324, 1e-300, 1e-13])
def test_tiny_claims_are_capped_not_crashed_on(claim):
    assert plan_samples(claim).capped


@pytest.mark.slow
@pytest.mark.parametrize("make", [mechanisms.sketch, lambda v: mechanisms.median(hetdp.Box.uniform(0, 1, size=2), v)])
def test_a_plan_knows_its_mechanism(make):
    plan = hetdp.plan(make([1.0, 0.0]), epsilon=1.0)
    report = hetdp.audit(plan, samples=1000, random_state=1)
    assert [row.claimed for row in report.rows] == [1.0, 0.0]
    assert replay_audit(plan, random_state=1).verdict == "no violation found"
