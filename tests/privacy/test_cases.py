"""Every honest case, once: those of `hetdp audit --all`, and those of steps beneath public calls.

Of cases that come in two sizes, the small one is run.

Fixed seeds. False-alarm rate 1e-9 per case, below 1e-6 for all of them together; replays are exact.
"""

import math
from functools import partial

import pytest

from hetdp.auditing import audit, battery
from hetdp.auditing.audit_all import without
from hetdp.auditing.report import NOTHING, VIOLATED
from hetdp.sketching.bit_law import chance_of_one
from tests.privacy.internals import recommender as models, tables
from tests.privacy.registry import ATTAINED, CASES

#: One release per run, a millisecond each: noise, weight 0 and order of the same calls are checked by other cases.
SLOW = ("hetdp.release", "hetdp.release, weights", "hetdp.release, weight classes", "hetdp.release_distortion_bound")

#: Share of the claim that a small case certifies at least: an audit that sees nothing would see no violation either.
SEEN = {
    **dict.fromkeys(("exact engine", "gossip engine", "sketch engine, one", "node, one published sketch"), 0.6),
    "model from sketches": 0.8,
}


def cases():
    small = {(case.name, case.audit): case for case in battery("quick")}
    for case in CASES:
        marks = [pytest.mark.slow] if case.audit in ("statistical", "noise scale") else []
        if case.audit == "statistical" and case.name in SLOW:
            marks.append(pytest.mark.exhaustive)
        chosen = small.get((case.name, case.audit), case)
        yield pytest.param(chosen, marks=marks, id=f"{case.name} ({case.audit})")


@pytest.mark.parametrize("case", list(cases()))
def test_no_promise_is_broken(case):
    finding = case.run(11)
    assert finding.audit == case.audit
    assert finding.verdict == NOTHING, str(finding)
    if case.audit != "statistical":
        return
    rows = {row["item"]: row for row in finding.figures["rows"]}
    if case.name in ATTAINED:
        row = rows[ATTAINED[case.name]]
        assert 0.85 * row["claimed"] <= row["lower_bound"] <= row["claimed"]
    for name, share in SEEN.items():
        if case.name.startswith(name):
            assert rows[3]["lower_bound"] > share * rows[3]["claimed"]
            assert rows[1]["lower_bound"] == 0.0  # its weight is 0


REFUTED = {"samples": 90_000, "confidence": 1 - 1e-9, "random_state": 7}


@pytest.mark.slow
@pytest.mark.parametrize("person", [0, 4])
def test_a_smaller_delta_than_promised_for_keys_is_refuted(person):
    """What is promised is almost reached, so that three quarters of it are refuted."""
    pairs = without([person], len(tables.KEY_CLAIMS))
    deltas = [0.75 * delta for delta in tables.KEY_DELTAS]
    report = audit(tables.chosen_keys, adjacent=pairs, claimed=tables.KEY_CLAIMS, delta=deltas, **REFUTED)
    assert report.verdict == VIOLATED


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "one"), [("item", 3), ("user", 0)])
def test_a_smaller_loss_than_promised_for_a_matrix_is_refuted(unit, one):
    epsilon, delta = models.level_of(0.75)
    subject, pairs = partial(models.directed_pairs, unit=unit), without([one], len(models.UNITS[unit]))
    report = audit(subject, adjacent=pairs, claimed={one: epsilon}, delta={one: delta}, **REFUTED)
    assert report.verdict == VIOLATED


def test_what_dials_computed_from_other_items_would_lose():
    """Ten items at 1 and one at 0.1, scaled to a sum of 10 at epsilon 3: the loss if the ten show 0 and the one 1."""
    share = 10 / 10.1
    ten = (1 - chance_of_one(3, share)) / (1 - chance_of_one(3, 1.0))
    one = chance_of_one(3, 0.1 * share) / chance_of_one(3, 0.0)
    assert math.log(ten**10 * one) == pytest.approx(4.92, abs=0.005)
