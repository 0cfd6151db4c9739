"""When a node may draw: what whoever sets clocks and reboots at will gets out of it, and what normal life gets."""

import dataclasses

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.node_swarm import a_network

from hetdp.node.protocol.draw_schedule import REASONS, DrawRecord, LastDraw, Uptime, next_turn

LENGTH_S = 1000
NETWORK = a_network(items=8, epoch_length_s=LENGTH_S)
START = NETWORK.epoch_start_s
TEN_YEARS_S = 10 * 365 * 86400


class Machine:
    """A machine whose clock, boots and disk tests decide. Times are what has really passed while it was on."""

    def __init__(self, *, length_s=LENGTH_S, wall_s=float(START), booted_s=0.0):
        self.network = a_network(items=8, epoch_length_s=length_s)
        self.wall_s, self.up_s, self.boots = wall_s, booted_s, 1
        self.real_s = 0.0  # on the boot clock, all boots together
        self.last, self.safe = None, None  # as the disk has it: written, and certain to survive a crash
        self.draws = []  # (epoch, real time, boot, whether the clock on the wall stood in)

    @property
    def uptime(self):
        return Uptime(f"boot {self.boots}", self.up_s)

    @property
    def epochs(self):
        return [epoch for epoch, *_ in self.draws]

    def turn(self):
        record = DrawRecord(self.last, frozenset(self.epochs))
        return next_turn(record, network=self.network, now_s=self.wall_s, uptime=self.uptime)

    def work(self):
        """Do what a running node does at an exchange: draw if it may, and count the time."""
        turn = self.turn()
        if turn.draws:
            stood_in = self.uptime.boot if turn.by_wall else "" if self.last is None else self.last.stood_in
            self.last = LastDraw(turn.epoch, self.wall_s, self.uptime.boot, self.up_s, stood_in=stood_in)
            self.safe = self.last
            self.draws.append((turn.epoch, self.real_s, self.boots, turn.by_wall))
        elif self.last is not None:
            assert self.last.passed_s(self.uptime) <= self.real_s - self.draws[-1][1] + 1e-6
            self.last = self.last.seen(self.uptime)

    def run(self, seconds):
        self.wall_s, self.up_s, self.real_s = self.wall_s + seconds, self.up_s + seconds, self.real_s + seconds

    def jump(self, seconds):
        self.wall_s += seconds

    def flush(self):
        self.safe = self.last

    def reboot(self, off_s, *, crash):
        if crash:
            self.last = self.safe
        self.wall_s, self.up_s, self.boots = self.wall_s + off_s, 0.0, self.boots + 1

    def rename(self):
        """Start a container anew: another boot in name only."""
        self.boots += 1


STEPS = st.one_of(
    st.tuples(st.just("work")),
    st.tuples(st.just("run"), st.floats(0.0, 2.0 * LENGTH_S)),
    st.tuples(st.just("jump"), st.one_of(st.floats(-1e5, 1e5), st.sampled_from([LENGTH_S, -LENGTH_S, TEN_YEARS_S]))),
    st.tuples(st.just("flush")),
    st.tuples(st.just("reboot"), st.floats(0.0, 3.0 * LENGTH_S), st.booleans()),
    st.tuples(st.just("rename")),
)


def do(machine, steps):
    for name, *rest in steps:
        if name == "reboot":
            machine.reboot(rest[0], crash=rest[1])
        else:
            getattr(machine, name)(*rest)
        machine.work()


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(steps=st.lists(STEPS, max_size=60))
def test_whoever_sets_clocks_and_reboots_gets_no_more_draws_than_promised(steps):
    machine = Machine()
    do(machine, steps)
    assert len(machine.draws) <= 1 + machine.real_s / LENGTH_S + machine.boots
    assert len(set(machine.epochs)) == len(machine.epochs)
    stood_in = [boot for _, _, boot, by_wall in machine.draws if by_wall]
    assert len(set(stood_in)) == len(stood_in), "once per boot"
    for (_, before_s, _, _), (_, after_s, _, by_wall) in zip(machine.draws, machine.draws[1:], strict=False):
        assert by_wall or after_s - before_s >= LENGTH_S - 1e-6


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_a_node_draws_when_it_has_said_that_it_will(steps):
    """Whatever was before: if clocks just go on from here, it takes no longer than it says, and no shorter."""
    machine = Machine()
    do(machine, steps)
    turn = machine.turn()
    assert turn.why in REASONS
    in_a_row = 0
    while machine.network.epoch_at(machine.wall_s + LENGTH_S) + in_a_row in machine.epochs:
        in_a_row += 1
    before_s = max(0.0, START - machine.wall_s)  # until the first epoch
    assert turn.wait_s <= before_s + LENGTH_S * (2 + in_a_row)
    if turn.wait_s > 0.01:
        machine.run(turn.wait_s - 0.01)
        assert not machine.turn().draws
        machine.run(0.02)
    assert machine.turn().draws


def test_the_bound_is_reached():
    """So it is no looser than the rule: a draw per boot and per epoch length for who sets the clock at will."""
    machine = Machine()
    for _ in range(5):
        machine.work()
        machine.run(LENGTH_S)
        machine.work()
        machine.jump(LENGTH_S)
        machine.work()
        machine.reboot(0.0, crash=True)
    assert len(machine.draws) == 1 + 5 + 5
    assert machine.real_s == 5 * LENGTH_S


# --- what normal life gets -------------------------------------------------------------------------------------------

WEEK_S, DAY_S, HOUR_S = 7 * 86400, 86400, 3600


def live(machine, seconds, *, period_s=600.0):
    for _ in range(round(seconds / period_s)):
        machine.work()
        machine.run(period_s)


@pytest.mark.parametrize("begins_s", [0.0, 0.4 * WEEK_S, 0.999 * WEEK_S])
def test_a_node_that_always_runs_draws_once_per_epoch(begins_s):
    """Where in the first epoch it began is where it draws in the others, some seconds later each time."""
    machine = Machine(length_s=WEEK_S, wall_s=START + begins_s)
    live(machine, 20 * WEEK_S)
    assert machine.epochs == list(range(20))


def test_a_machine_that_is_on_for_two_hours_a_day_draws_once_per_epoch():
    machine = Machine(length_s=WEEK_S)
    for _ in range(10 * 7):
        live(machine, 2 * HOUR_S)
        machine.reboot(22 * HOUR_S, crash=False)
    assert machine.epochs == list(range(10))
    assert [by_wall for *_, by_wall in machine.draws] == [False] + 9 * [True]


def test_a_node_that_is_restarted_often_draws_once_per_epoch():
    """A crash each time, and nothing counted is certain to be on disk; the boot clock goes on meanwhile."""
    machine = Machine(length_s=WEEK_S)
    for _ in range(10 * 7 * 24):
        live(machine, 0.5 * HOUR_S)
        machine.last = machine.safe
        machine.run(0.5 * HOUR_S)
    assert machine.epochs == list(range(10))


@pytest.mark.parametrize(("late_s", "lost"), [(HOUR_S, set()), (3 * HOUR_S, {7, 14, 21})])
def test_with_epochs_of_a_day_a_late_evening_may_cost_the_next_one(late_s, lost):
    """On from eight to ten, and on Sundays later: on Monday a day has passed in time, or only after ten."""
    machine = Machine(length_s=DAY_S, wall_s=START + 8.0 * HOUR_S)
    for day in range(28):
        shift_s = late_s if day % 7 == 6 else 0
        machine.jump(shift_s)  # off
        live(machine, 2 * HOUR_S)
        machine.reboot(22 * HOUR_S - shift_s, crash=False)
    assert machine.epochs == [day for day in range(28) if day not in lost]


def test_ten_years_ahead_for_nine_seconds():
    machine = Machine(length_s=WEEK_S)
    machine.work()
    machine.run(5 * DAY_S)
    machine.jump(TEN_YEARS_S)
    machine.work()
    machine.run(9.0)
    machine.jump(-TEN_YEARS_S)
    turn = machine.turn()
    assert (turn.why, turn.epoch, turn.wait_s) == ("behind", 0, WEEK_S - 9.0)
    live(machine, 5.1 * WEEK_S)  # a tenth more, as each draw is some minutes late
    assert machine.epochs == [0, (TEN_YEARS_S + 5 * DAY_S) // WEEK_S, 1, 2, 3, 4, 5]
    far = machine.epochs[1]
    machine.jump(TEN_YEARS_S - 5 * WEEK_S)
    live(machine, 4 * WEEK_S)
    assert machine.epochs[-1] > far
    assert machine.epochs.count(far) == 1


def test_an_epoch_drawn_ahead_of_its_time_is_skipped_when_it_comes():
    machine = Machine()
    machine.jump(2 * LENGTH_S)
    machine.work()
    machine.jump(-2 * LENGTH_S)
    whys = []
    for _ in range(40):
        machine.work()
        whys.append((machine.turn().epoch, machine.turn().why))
        machine.run(LENGTH_S / 10)
    assert machine.epochs == [2, 1, 3]
    assert dict.fromkeys(whys) == dict.fromkeys([(0, "behind"), (1, "out"), (2, "skipped"), (3, "out")])


def test_before_the_first_epoch_nothing_is_drawn():
    machine = Machine(wall_s=START - 2.5 * LENGTH_S)
    assert (machine.turn().why, machine.turn().wait_s) == ("early", 2.5 * LENGTH_S)


# --- the clock that nobody sets --------------------------------------------------------------------------------------

DRAWN = LastDraw(0, float(START), "a", 100.0)


@pytest.mark.parametrize(
    ("uptime", "passed_s"),
    [
        (Uptime("a", 130.0), 30.0),
        (Uptime("a", 90.0), 0.0),  # a frozen machine was thawed: its clock went back
        (Uptime("b", 40.0), 40.0),  # rebooted
        (Uptime("b", 140.0), 40.0),  # rebooted, or a container was started anew: less is certain than it may be
    ],
)
def test_what_is_certain_to_have_passed(uptime, passed_s):
    assert DRAWN.passed_s(uptime) == passed_s
    seen = DRAWN.seen(uptime)
    assert seen.passed_s(uptime) == passed_s
    later = dataclasses.replace(uptime, seconds=uptime.seconds + 60.0)
    assert seen.passed_s(later) <= passed_s + 60.0
    assert dataclasses.replace(DRAWN, boot="").passed_s(uptime) == 0.0


def test_without_a_boot_clock_the_clock_on_the_wall_never_stands_in():
    later = START + 1.5 * LENGTH_S
    record = DrawRecord(DRAWN, {0})
    assert next_turn(record, network=NETWORK, now_s=later, uptime=Uptime("b", 1.0)).by_wall
    process = Uptime("process", 1.0, machine=False)
    turn = next_turn(record, network=NETWORK, now_s=later, uptime=process)
    assert (turn.why, turn.wait_s) == ("soon", LENGTH_S - 1.0)
