"""Verdicts follow from the numbers: made-up runs with known answers, wrong answers included."""

import dataclasses
import math

import numpy as np
import pytest

from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.evaluation import Outcome, Point
from hetdp.experiments.measurements import Measurements, gap_closed, mean_over_runs
from hetdp.experiments.published_figures import PUBLISHED_MIXES, PUBLISHED_SETS, published_for
from hetdp.experiments.report.contents import tally
from hetdp.experiments.sweep import SweepSettings, plan_tasks
from hetdp.experiments.verdicts import Claim, Mixes, _check, judge_claims
from hetdp.experiments.weight_rules import GROUPS, GroupRule, SameRule, SliceRule

SETTINGS = SweepSettings(data=("made",), runs=10, extras=False, per=("item",))


def made_up(recall, *, settings=SETTINGS, name="made", built_in=False, own=1e-4):
    """Return the verdicts for runs in which every configuration has the recall that a function gives it."""
    noise = np.sin(np.arange(1000.0))  # the same luck for all configurations of a run, a little more for each
    outcomes = []
    for task in plan_tasks(settings, {name: "mark"}):
        found = {
            group: value + 0.02 * noise[task.seed] + own * noise[(task.seed * 7 + place + len(outcomes)) % 1000]
            for place, (group, value) in enumerate(recall(task.configuration).items())
        }
        levels = task.configuration.epsilons or (None,)
        outcomes.append(Outcome(task, tuple(Point(level, found) for level in levels), 0.0))
    measured = Measurements(outcomes, {"mark": name})
    known = [name] if built_in else []
    return {verdict.conclusion.key: verdict for verdict in judge_claims(measured, settings, [name], built_in=known)}


def as_in_the_paper(one: Configuration):
    """Recall as the paper concludes: 0.1 random, 0.3 true."""
    rule = one.weights
    if not one.private:
        value = 0.1 if one.engine == "random" else 0.3
        return {"all": value, **dict.fromkeys(GROUPS, value)} if isinstance(rule, GroupRule) else {"all": value}
    if isinstance(rule, GroupRule):
        rest = 0.02 * rule.fundamentalists
        return {"all": 0.2, "fundamentalists": 0.15, "pragmatists": 0.2 - rest, "unconcerned": 0.25 - rest}
    lower = rule.lower if isinstance(rule, SliceRule) else 1.0
    n = rule.n if isinstance(rule, SliceRule) else 1
    return {"all": 0.15 + 0.14 * lower - (0.005 * n if lower == 0 else 0.0)}


def test_runs_as_in_the_paper_confirm_all_its_conclusions():
    assert {key: verdict.outcome for key, verdict in made_up(as_in_the_paper).items()} == dict.fromkeys(
        ("range", "close", "zero", "slices", "fall", "strict", "often", "punished"), "confirmed"
    )


def upside_down(one: Configuration):
    """Everything the other way round."""
    found = as_in_the_paper(one)
    rule = one.weights
    if not one.private:
        return found
    if isinstance(rule, GroupRule):
        rest = 0.3 * rule.fundamentalists
        return {"all": 0.2, "fundamentalists": 0.9, "pragmatists": 0.5 - rest, "unconcerned": 0.4 - rest}
    if isinstance(rule, SameRule):
        return found
    return {"all": 0.29 - 0.28 * rule.lower + 0.01 * rule.n * (1 if rule.lower == 0 else -1)}


def test_runs_upside_down_refute_all_of_them():
    outcomes = {key: verdict.outcome for key, verdict in made_up(upside_down).items()}
    assert outcomes == dict.fromkeys(outcomes, "refuted")
    assert len(outcomes) == 8


def test_runs_without_any_effect_confirm_no_difference():
    def flat(one):
        found = as_in_the_paper(one)
        return found if not one.private else dict.fromkeys(found, 0.2)

    outcomes = {key: verdict.outcome for key, verdict in made_up(flat).items()}
    assert outcomes["slices"] == outcomes["punished"] == "confirmed"
    assert "confirmed" not in {outcomes[key] for key in ("range", "fall", "strict", "often")}


def test_one_run_decides_nothing():
    settings = dataclasses.replace(SETTINGS, runs=1)
    assert {verdict.outcome for verdict in made_up(as_in_the_paper, settings=settings).values()} == {"open"}


def test_a_cross_check_is_shown_but_does_not_decide():
    def biased(one):
        """True neighbours favour the liberal groups by more than their lead."""
        found = as_in_the_paper(one)
        if one.engine == "baseline" and isinstance(one.weights, GroupRule):
            found |= {"fundamentalists": 0.1, "pragmatists": 0.4, "unconcerned": 0.7}
        return found

    verdict = made_up(biased)["strict"]
    assert verdict.outcome == "confirmed"
    assert {check.outcome for check in verdict.checks if check.claim.counts} == {"holds"}
    assert {check.outcome for check in verdict.checks if not check.claim.counts} == {"fails"}


def test_the_table_as_a_whole_is_wrong_in_one_of_twenty_at_most():
    verdicts = made_up(as_in_the_paper)
    claims = [check.claim for verdict in verdicts.values() for check in verdict.checks]
    two_sided = sum(claim.low is not None and claim.high is not None for claim in claims)
    assert two_sided == 2
    assert {verdict.confidence for verdict in verdicts.values()} == {1 - 0.05 / (len(claims) + two_sided)}


def test_what_was_not_measured_has_no_verdict():
    settings = dataclasses.replace(SETTINGS, lower=(0.3,), slices=(2,), pragmatists=(), unconcerned=())
    assert set(made_up(as_in_the_paper, settings=settings)) == {"strict", "often"}


def test_one_slice_and_two_are_the_same_rule_and_confirm_nothing():
    settings = dataclasses.replace(SETTINGS, slices=(1, 2))
    found = made_up(as_in_the_paper, settings=settings)
    assert not {"slices", "fall"} & set(found)
    assert {"range", "close"} <= set(found)


def test_runs_without_spread_test_nothing():
    """All configurations share their luck exactly: differences have no spread, and say nothing about chance."""
    outcomes = {key: verdict.outcome for key, verdict in made_up(as_in_the_paper, own=0.0).items()}
    assert outcomes == dict.fromkeys(outcomes, "not tested")
    assert len(outcomes) == 8


def test_the_difference_between_half_and_nine_tenths_is_shown_and_asks_for_nothing():
    def backwards(one):
        found = as_in_the_paper(one)
        rule = one.weights
        return {"all": 0.2} if isinstance(rule, SliceRule) and rule.lower == 0.9 else found

    verdict = made_up(backwards)["range"]
    assert verdict.outcome == "confirmed"
    assert [check.outcome for check in verdict.checks] == ["holds", "shown"]
    assert verdict.checks[1].found.mean < 0


def test_always_means_every_mix_and_often_more_than_half():
    def sometimes(one):
        found = as_in_the_paper(one)
        rule = one.weights
        if one.private and isinstance(rule, GroupRule):
            if (rule.pragmatists, rule.fundamentalists) == (0.1, 0.8):
                found["pragmatists"] = 0.1  # below fundamentalists in one mix of ten
            found["unconcerned"] = 0.9 if rule.pragmatists == 0.1 else 0.17  # above pragmatists in four mixes of ten
        return found

    found = made_up(sometimes)
    strict, often = found["strict"], found["often"]
    assert strict.outcome == "in part"
    assert [check.claim.mixes.ours for check in strict.checks if check.claim.mixes] == [9, 10]
    assert often.outcome == "in part"
    assert often.checks[0].claim.mixes == Mixes(4, None, of=10, needed=6)
    assert made_up(as_in_the_paper)["strict"].checks[0].claim.mixes.text == "ours in 10 of 10 mixes"


def test_ours_are_compared_in_the_published_mixes_only():
    def poll_upside_down(one):
        """Mixes without published points say the opposite, and loudly."""
        found = as_in_the_paper(one)
        rule = one.weights
        if isinstance(rule, GroupRule) and (rule.fundamentalists, rule.pragmatists) not in PUBLISHED_MIXES:
            found |= {"fundamentalists": 9.0}
        return found

    assert made_up(poll_upside_down)["strict"].outcome == "confirmed"


def test_published_points_count_in_mixes_too():
    points = published_for("survey_like").by_groups
    above = sum(points[p, "pragmatists", f] > points[p, "fundamentalists", f] for f, p in PUBLISHED_MIXES)
    found = made_up(as_in_the_paper, name="survey_like", built_in=True)["strict"].checks[0].claim.mixes
    assert found.published == above < 10


def test_what_the_paper_says_about_delicious_is_extended_by_us_elsewhere():
    found = made_up(as_in_the_paper, name="delicious_like", built_in=True)
    assert {key for key, verdict in found.items() if verdict.extended} == set()
    found = made_up(as_in_the_paper, name="digg_like", built_in=True)
    assert {key for key, verdict in found.items() if not verdict.extended} == {"strict", "often", "punished"}
    assert tally(list(found.values())) == {"outcomes": [("confirmed", 3)], "extended": 5}


def test_a_file_with_the_name_of_a_built_in_set_has_no_published_points():
    found = made_up(as_in_the_paper, name="delicious_like", built_in=False)
    assert all(verdict.extended for verdict in found.values())
    assert {check.claim.published for verdict in found.values() for check in verdict.checks} == {None}


def test_a_share_of_the_distance_is_compared_within_each_run():
    """The change is 9 % of a distance that differs from run to run: within each run below 10 %, on its own not so."""
    distance = np.linspace(0.1, 0.3, 10)
    claim = Claim("slices", "made", "x", 0.09 * distance, low=-0.1 * distance, high=0.1 * distance)
    assert _check(claim, 0.999).outcome == "holds"
    fixed = dataclasses.replace(claim, low=-0.1 * distance.mean(), high=0.1 * distance.mean())
    assert _check(fixed, 0.999).outcome == "open"


def test_the_reach_is_compared_within_each_run():
    random, true = np.array([0.1, 0.3, 0.2]), np.array([0.5, 0.7, 0.8])
    found = gap_closed(1.0, random + 0.9 * (true - random), random, true)
    assert (found.share, found.low) == pytest.approx((0.9, 0.9))
    noisy = gap_closed(1.0, random + 0.9 * (true - random) + [0.1, -0.1, 0.0], random, true)
    assert noisy.share == pytest.approx(0.9)
    assert noisy.low < 0.5
    assert gap_closed(1.0, random[:1], random[:1], true[:1]).low == -math.inf
    assert gap_closed(1.0, random, true, random) is None


def test_intervals_are_students():
    """By hand: mean 2, standard deviation 1, 3 runs, quantile 4.302653 at 2 degrees of freedom."""
    found = mean_over_runs(np.array([1.0, 2.0, 3.0]))
    assert found.high - 2 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert mean_over_runs(np.array([1.0])).high == math.inf


@pytest.mark.parametrize("data", PUBLISHED_SETS)
def test_published_points_are_complete(data):
    found = published_for(data)
    assert set(found.by_lower) == {0.0, 0.5, 0.9}
    assert set(found.by_slices) == {(lower, n) for lower in (0.0, 0.5, 0.9) for n in range(1, 11)}
    assert len(found.by_groups) == 3 * 10
    assert {(share, pragmatists) for pragmatists, _, share in found.by_groups} == PUBLISHED_MIXES
    assert 0 < found.random < found.baseline < 1


def test_averages_are_over_epsilons_and_configurations():
    one, two = (Configuration(engine="gossip", weights=SliceRule(0.0, n), epsilons=(1.0, 2.0)) for n in (2, 3))
    values = {one: (0.1, 0.3), two: (0.5, 0.7)}
    outcomes = [
        Outcome(
            Task("m", key, seed),
            tuple(Point(level, {"all": v + seed}) for level, v in zip(key.epsilons, pair, strict=True)),
            0,
        )
        for key, pair in values.items()
        for seed in (1, 0)
    ]
    measured = Measurements(outcomes, {"m": "made"})
    assert measured.runs("made", one).tolist() == pytest.approx([0.2, 1.2])
    assert measured.runs("made", one, epsilon=2.0).tolist() == pytest.approx([0.3, 1.3])
    assert measured.average("made", [one, two]).tolist() == pytest.approx([0.4, 1.4])
    assert measured.average("made", [one, Configuration(engine="random")]) is None


def test_mixes_in_words():
    assert Mixes(9, 7, of=10, needed=10).text == "ours in 9 of 10 mixes, the published points in 7"
