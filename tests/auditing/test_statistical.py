"""The statistical audit: it finds broken promises and accuses no kept ones.

All seeds are fixed; where a bound could err by chance, confidence is 1 - 1e-7 or more.
"""

import numpy as np
import pytest

import hetdp
from hetdp import Box, queries
from hetdp.auditing import AuditInterrupted, audit, plan_samples, worst_pair
from hetdp.auditing.events import certified_log_ratio
from hetdp.auditing.examples import example_queries
from hetdp.auditing.subjects import differing_item

pytestmark = pytest.mark.slow

CONFIDENT = 1 - 1e-7
PAIR = [([0.0, 1.0], [1.0, 1.0])]


def noisy(scale):
    def mechanism(profile, size, random_state):
        return sum(profile) + np.random.default_rng(random_state).laplace(0, scale, size)

    return mechanism


@pytest.mark.parametrize(("claim", "expected"), [(1.0, 32_000), (0.25, 250_000)])
def test_sample_sizes_follow_the_claim(claim, expected):
    assert plan_samples(claim).samples == pytest.approx(expected, rel=0.05)


def test_sample_sizes_at_the_ends():
    assert plan_samples(0).samples == 100_000
    capped = plan_samples(0.001)
    assert capped.capped
    assert capped.detectable > 0.0011
    assert not plan_samples(3.0).capped
    assert plan_samples(1.0, comparisons=60).samples > plan_samples(1.0).samples


def test_the_planned_size_finds_a_factor_of_1_1():
    """Scale 1/1.1 against a claim of 1: found at the planned size, for ten seeds out of ten (power 99.9 %)."""
    for seed in range(10):
        report = audit(noisy(1 / 1.1), adjacent=PAIR, claimed=1.0, random_state=seed)
        assert report.verdict == "violated"


def test_a_kept_promise_is_not_accused():
    for seed in range(10):
        report = audit(noisy(1.0), adjacent=PAIR, claimed=1.0, confidence=CONFIDENT, random_state=seed)
        assert report.verdict == "no violation found"
        assert 0.85 < report.rows[0].lower_bound <= 1


def test_bounds_hold_as_often_as_they_say():
    """Coverage of the Clopper-Pearson ratio, by exact simulation: never above the truth more often than allowed."""
    rng = np.random.default_rng(1)
    truth = np.log(0.5 / 0.2)
    hits, other = rng.binomial(1000, 0.5, 20_000), rng.binomial(1000, 0.2, 20_000)
    wrong = (certified_log_ratio(hits, 1000, other, 1000, false_alarm=0.05) > truth).mean()
    assert wrong < 0.05


@pytest.mark.parametrize("name", ["total", "norm of order 2", "scalar product", "squared norm", "maximum", "power 3"])
def test_the_worst_pair_attains_the_sensitivity(name):
    query = example_queries()[name]
    whole = np.ones(query.size)
    for item in range(query.size):
        one, two = worst_pair(query, item, whole)
        apart = abs(query.stretched(one, whole) - query.stretched(two, whole))
        assert apart == pytest.approx(query.modular_sensitivities(1.0)[item])
        assert differing_item(one, two) == item


def test_plans_and_mechanisms_are_audited_without_help():
    stretched = hetdp.stretch(queries.total(Box.uniform(0, 1, size=3)), [1.0, 0.5, 0.0])
    for subject, level in ((stretched, {"epsilon": 1.0}), (hetdp.plan(stretched, epsilon=1.0), {})):
        report = audit(subject, samples=20_000, confidence=CONFIDENT, random_state=2, **level)
        assert report.verdict == "no violation found"
        assert [row.claimed for row in report.rows] == [1.0, 0.5, 0.0]
        assert report.rows[0].lower_bound > 0.75
    report = audit(hetdp.plan(stretched, epsilon=2.0), claimed=[1.0, 1.0, 0.0], items=[0], random_state=2)
    assert report.verdict == "violated"


def test_replacing_a_row_of_an_add_remove_histogram_may_cost_twice():
    query = queries.histogram(Box.uniform(0, 4, size=2), [0, 1, 2, 3, 4], adjacency="add-remove")
    report = audit(hetdp.stretch(query, [1.0, 0.5]), epsilon=0.5, samples=50_000, confidence=CONFIDENT, random_state=1)
    assert [row.claimed for row in report.rows] == [1.0, 0.5]
    assert report.verdict == "no violation found"
    assert report.rows[0].lower_bound > 0.8


def test_labels_sets_and_dicts():
    """Randomised response with 3:1 odds loses log 3; profiles may be sets and dicts, outputs strings."""

    def respond(profile, size, random_state):
        honest = np.random.default_rng(random_state).random(size) < 0.75
        present = bool(profile)
        return ["yes" if truth == present else "no" for truth in honest]

    for pair, item in ((({"diary"}, set()), "diary"), (({"diary": 1}, {}), "diary")):
        report = audit(respond, adjacent=[pair], claimed={item: 1.0}, confidence=CONFIDENT, random_state=3)
        assert report.verdict == "violated"
        assert report.rows[0].item == item
        assert report.rows[0].lower_bound <= np.log(3)
        spared = audit(respond, adjacent=[pair], claimed=np.log(3), confidence=CONFIDENT, random_state=3)
        assert spared.verdict == "no violation found"


def test_releases_are_audited_one_by_one():
    stretched = hetdp.stretch(queries.total(Box([0], [1])), [1.0])

    def released(profile, random_state):
        return hetdp.release(stretched, profile, epsilon=3.0, random_state=random_state)

    report = audit(released, adjacent=[([0], [1])], claimed=1.0, samples=1_000, random_state=1)
    assert report.verdict == "violated"


def test_an_audit_is_reproducible_and_events_are_not_tested_where_they_were_learned():
    reports = [audit(noisy(1.0), adjacent=PAIR, claimed=1.0, samples=5_000, random_state=9) for _ in range(2)]
    assert reports[0].to_dict()["rows"] == reports[1].to_dict()["rows"]
    seen = []

    def counting(profile, size, random_state):
        seen.append(random_state)
        return noisy(1.0)(profile, size, random_state)

    audit(counting, adjacent=PAIR, claimed=1.0, samples=5_000, random_state=9)
    assert len(set(seen)) == len(seen)


def test_an_interrupted_audit_keeps_what_it_knows():
    def interrupt(share):
        if share > 0.6:
            raise KeyboardInterrupt

    pairs = [([0.0, 1.0], [1.0, 1.0]), ([1.0, 0.0], [1.0, 1.0])]
    with pytest.raises(AuditInterrupted) as caught:
        audit(noisy(0.5), adjacent=pairs, claimed=1.0, samples=5_000, random_state=1, progress=interrupt)
    report = caught.value.report
    assert (len(report.rows), report.verdict) == (1, "violated")
    assert (report.planned_rows, report.to_dict()["complete"]) == (2, False)
