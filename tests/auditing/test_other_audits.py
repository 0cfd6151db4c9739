"""Replay, sampler and floating-point audits. Fixed seeds; false-alarm rate at most 1e-6 per test."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, queries
from hetdp.auditing import floating_point_audit, replay_audit, sampler_audit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [5, 1000, 2**20])
def test_a_scale_wrong_by_three_percent_is_rejected_at_the_default_size(distribution, scale):
    draw = {"laplace": hetdp.discrete_laplace, "gaussian": hetdp.discrete_gaussian}[distribution]

    def sampler(size, random_state):
        return draw(scale, size, random_state=random_state)

    for wrong, verdict in ((1.0, "no violation found"), (1.03, "violated"), (1 / 1.03, "violated")):
        finding = sampler_audit(sampler, distribution=distribution, scale=scale * wrong, random_state=3)
        assert finding.verdict == verdict, str(finding)


def test_sampler_audit_sees_low_bits_and_short_tails():
    def even(size, random_state):
        return hetdp.discrete_laplace(2**20, size, random_state=random_state) & ~1

    def short(size, random_state):
        return np.clip(hetdp.discrete_laplace(100, size, random_state=random_state), -600, 600)

    assert sampler_audit(even, scale=2**20, random_state=1).figures["test"] == "low bits"
    assert sampler_audit(even, scale=2**20, random_state=1).verdict == "violated"
    assert "tail" in sampler_audit(short, scale=100, random_state=1).figures["test"]
    assert sampler_audit(short, scale=100, random_state=1).verdict == "violated"


@pytest.mark.parametrize(
    "sampler", [lambda size: np.full(size, 0.5), lambda size: np.zeros(size - 1, dtype=int)], ids=["halves", "too few"]
)
def test_sampler_audit_refuses_other_things(sampler):
    with refused("sampler", "400000"):
        sampler_audit(sampler, scale=1.0)


def test_floating_point_audit_breaks_numpy_and_not_us():
    def textbook(profile, size, random_state):
        return profile[0] + np.random.default_rng(random_state).laplace(0, 1, size)

    broken = floating_point_audit(textbook, adjacent=[([0.0], [1.0])], claimed=1.0, random_state=1)
    assert broken.verdict == "violated"
    assert broken.figures["lower_bound"] > 5
    plan = hetdp.plan(hetdp.stretch(queries.total(Box([0], [1])), [1.0]), epsilon=1.0)
    sound = floating_point_audit(plan, random_state=1)
    assert (sound.verdict, sound.figures["off_grid"]) == ("no violation found", 0)
    off = floating_point_audit(plan, grid=2 * plan.grid, random_state=1)
    assert off.verdict == "violated"
    assert off.figures["off_grid"] > 0


def test_floating_point_audit_refuses_labels():
    with refused("mechanism", "numbers"):
        floating_point_audit(lambda profile: "yes", adjacent=[([0], [1])], claimed=1.0)  # noqa: ARG005


def test_replay_sees_warnings_shapes_and_infinity():
    def warns(profile, random_state):  # noqa: ARG001
        if profile[0]:
            warnings.warn("large", UserWarning, stacklevel=1)
        return 0.0

    def grows(profile, random_state):  # noqa: ARG001
        return [0.0] * (1 + int(profile[0] == 1))

    def explodes(profile, random_state):  # noqa: ARG001
        return np.inf if profile[0] == 1 else 0.0

    for mechanism, words in ((warns, "warns"), (grows, "type or shape"), (explodes, "infinity")):
        finding = replay_audit(mechanism, adjacent=[([0], [1])], limits=1.0, odd_values=False)
        assert finding.verdict == "violated"
        assert words in finding.words


def test_replay_tells_no_value():
    def leaks(profile, random_state):  # noqa: ARG001
        message = f"bad value {profile[0]}"
        raise ValueError(message)

    def sometimes(profile, random_state):
        return leaks(profile, random_state) if profile[0] == 0.123 else 0.0

    finding = replay_audit(sometimes, adjacent=[([0], [0.123])], limits=1.0)
    assert finding.verdict == "violated"
    assert "0.123" not in str(finding)
    with refused("mechanism", "adjacent profiles"):
        replay_audit(leaks, adjacent=[([0], [1])])


def test_replay_needs_a_stream():
    with refused("mechanism", "random_state"):
        replay_audit(sum, adjacent=[([0], [1])])
    stretched = hetdp.stretch(queries.total(Box([0], [1])), [1.0])
    with refused("epsilon"):
        replay_audit(stretched, epsilon=1.0, rho=1.0)
    with refused("epsilon", "plan"):
        replay_audit(hetdp.plan(stretched, epsilon=1.0), epsilon=1.0)


def test_replay_catches_a_plan_with_too_wide_a_span():
    plan = hetdp.plan(hetdp.stretch(queries.total(Box.uniform(0, 1, size=2)), [0.5, 0.0]), epsilon=1.0)
    assert replay_audit(plan).verdict == "no violation found"
    assert replay_audit(replace(plan, spans=plan.spans * 2)).verdict == "violated"
    assert replay_audit(replace(plan, spread=plan.spread / 2)).verdict == "violated"


def test_the_battery_is_complete_in_a_new_process():
    script = "from hetdp.auditing import battery; print(*sorted({case.name for case in battery('quick')}), sep=';')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"exponential median", "sampled total", "weight classes, total", "hetdp.release_table, counts"} <= set(
        done.stdout.strip().split(";")
    )
