"""Configurations, tasks and settings: plain data, refused when impossible."""

import dataclasses
import subprocess
import sys

import pytest
from tests.support.errors import refused

from hetdp.experiments import configurations
from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.sweep import (
    SweepSettings,
    paper_configurations,
    plan_tasks,
    sweep_configurations,
)
from hetdp.experiments.weight_rules import GroupRule, PracticeRule, SameRule, SharedSliceRule, SliceRule
from hetdp.profiles import Profiles


def test_the_full_sweep_covers_the_figures_of_the_paper():
    found = paper_configurations(SweepSettings())
    rules = {one.weights for one in found if one.private}
    assert {SliceRule(lower, n) for lower in (0.0, 0.5, 0.9) for n in range(1, 11)} <= rules
    published = {(0.1, f) for f in (0.8, 0.7, 0.3, 0.2)} | {(0.2, f) for f in (0.7, 0.6, 0.2)}
    published |= {(0.6, f) for f in (0.3, 0.2)} | {(0.7, 0.2)}
    mixes = {(rule.pragmatists, rule.fundamentalists) for rule in rules if isinstance(rule, GroupRule)}
    assert published | {(0.43, 0.34)} <= mixes
    assert {one.engine for one in found} == {"baseline", "random", "same", "gossip"}
    assert {(one.score, one.combine) for one in found if one.private} == {("cosine", "product")}


def test_at_least_133_configurations_are_measured_and_none_twice():
    found = sweep_configurations(SweepSettings())
    assert len(found) >= 133
    assert len({Task("", one, 0).name for one in found}) == len(found)


def test_the_additions_are_all_there():
    extra = set(sweep_configurations(SweepSettings())) - set(paper_configurations(SweepSettings()))
    assert {"baseline", "exact", "gossip", "sketch"} == {one.engine for one in extra}
    assert {one.score for one in extra if one.engine == "baseline"} == {"overlap"}
    assert {"overlap", "squared-cosine"} <= {one.score for one in extra}
    assert any(isinstance(one.weights, PracticeRule) for one in extra)
    assert any(isinstance(one.weights, SharedSliceRule) for one in extra)


def test_impossible_mixes_are_left_out():
    for mix in SweepSettings().group_mixes:
        assert min(mix) >= 0
        assert sum(mix) == pytest.approx(1)
    assert (0.0, 0.7, 0.7) not in SweepSettings().group_mixes


def test_impossible_mixes_are_named_and_refused_where_nothing_else_is_left():
    assert SweepSettings(pragmatists=(0.6, 0.1), unconcerned=(0.7,)).dropped_mixes == ((0.6, 0.7),)
    with refused(problem="1 at most"):
        SweepSettings(pragmatists=(0.6,), unconcerned=(0.7, 0.5))
    assert SweepSettings(pragmatists=(), unconcerned=()).group_mixes == SweepSettings().mixes


def test_tasks_come_run_by_run(small_settings):
    seeds = [task.seed for task in plan_tasks(small_settings, {"a": "x", "b": "y"})]
    assert seeds == sorted(seeds)
    assert len(seeds) == 2 * 2 * len(sweep_configurations(small_settings))


@pytest.mark.slow
def test_the_name_of_a_task_is_the_same_in_another_process():
    code = (
        "from hetdp.experiments.configurations import *; from hetdp.experiments.weight_rules import *;"
        "print(Task('d', Configuration(engine='gossip', weights=SliceRule(0.5, 3), epsilons=(0.1, 1)), 7).name)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == Task("d", Configuration(engine="gossip", weights=SliceRule(0.5, 3), epsilons=(0.1, 1.0)), 7).name


@pytest.mark.parametrize(
    "change",
    [
        {"k": 9},
        {"cycles": 9},
        {"score": "overlap"},
        {"combine": "smaller"},
        {"epsilons": (1.0,)},
        {"weights": SameRule(0.5)},
    ],
)
def test_another_configuration_has_another_name(change):
    one = Configuration(engine="gossip", epsilons=(1.0, 2.0))
    assert Task("d", one, 0).name != Task("d", dataclasses.replace(one, **change), 0).name
    assert Task("d", one, 0).name != Task("d", one, 1).name
    assert Task("d", one, 0).name != Task("e", one, 0).name


def test_what_does_not_matter_to_an_engine_does_not_change_the_name():
    one = Configuration(engine="sketch", epsilons=(1.0,), score="overlap")
    assert Task("d", one, 0).name == Task("d", dataclasses.replace(one, cycles=3, combine="smaller"), 0).name


def test_a_configuration_without_noise_levels_is_refused():
    with refused("epsilons"):
        Configuration(engine="gossip")


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"mixes": ((0.5, 0.5, 0.5),)}, None),
        ({"mixes": ((1.2, -0.2, 0.0),)}, None),
        ({"mixes": (0.5,)}, "mixes"),
        ({"pragmatists": (1.5,)}, None),
        ({"pragmatists": (0.9,), "unconcerned": (0.9,)}, None),
        ({"lower": (2.0,)}, None),
        ({"lower": ()}, "lower"),
        ({"epsilons": (0.0,)}, "epsilons"),
        ({"engine_epsilons": (-1.0,)}, "engine_epsilons"),
        ({"runs": 0}, "runs"),
        ({"runs": True}, "runs"),
        ({"per": ("house",)}, "per"),
    ],
)
def test_impossible_settings_are_refused(change, parameter):
    with refused(parameter):
        SweepSettings(**change)


def test_the_sweep_of_the_paper():
    assert (len(SweepSettings().lower), SweepSettings.quick().runs) == (10, 3)
    paper, everything = paper_configurations(SweepSettings()), sweep_configurations(SweepSettings())
    assert (len(paper), len(everything)) == (130, 148)


def test_a_fingerprint_is_by_position():
    one, other = Profiles.from_pairs([1], ["a"]), Profiles.from_pairs([2], ["b"])
    assert configurations.fingerprint(one) == configurations.fingerprint(other)
