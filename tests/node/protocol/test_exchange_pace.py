"""The schedule of a node: slower while there is no news, back at once when there is."""

from itertools import pairwise

import pytest

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol.exchange_pace import SLOWEST, Pace

PERIOD_S = 10.0


def a_pace(now_s=0.0):
    return Pace(period_s=PERIOD_S, stream=seeded_stream(3), now_s=now_s)


def exchanges(pace, count, *, news=False):
    """Let so many exchanges be answered, each when it is due; return the times between them, in periods."""
    times = []
    for _ in range(count):
        times.append(pace.next_s)
        assert pace.is_due(pace.next_s)
        pace.start(pace.next_s)
        pace.end(news=news)
    return [(later - earlier) / PERIOD_S for earlier, later in pairwise(times)]


def test_a_new_node_asks_once_per_period_for_a_while_and_then_more_and_more_seldom():
    pace = a_pace()
    assert 0 <= pace.next_s <= PERIOD_S
    waits = exchanges(pace, 60)
    assert waits[:34] == pytest.approx([1.0] * 34)
    for step, wait in enumerate(waits[34:]):
        usual = min(SLOWEST, 2 ** (step + 1))
        assert 0.75 * usual <= wait <= 1.25 * usual
    assert len(set(waits[34:])) == len(waits[34:])  # by chance, so that nodes do not go in step


def test_news_brings_it_back_at_once_and_keeps_it_there():
    pace = a_pace()
    exchanges(pace, 50)
    assert pace.slow
    now_s = pace.next_s - 20 * PERIOD_S
    pace.hurry(now_s)
    assert now_s <= pace.next_s <= now_s + PERIOD_S
    assert not pace.slow
    assert max(exchanges(pace, 30, news=True)) <= 1.001
    assert max(exchanges(pace, 5)) <= 1.001  # a few without news may be chance


def test_who_does_not_answer_makes_nobody_slow():
    pace = a_pace()
    exchanges(pace, 50)
    for _ in range(5):
        now_s = pace.next_s
        pace.start(now_s)
        assert pace.next_s - now_s == pytest.approx(PERIOD_S)


def test_hurry_never_puts_off():
    pace = a_pace()
    due_s = pace.next_s
    for _ in range(100):
        pace.hurry(due_s - 0.001)
        assert pace.next_s <= due_s


def test_a_clock_that_is_set_back_does_not_silence_a_node():
    pace = a_pace(now_s=10.0**6)
    assert not pace.is_due(0.0)
    assert pace.next_s <= 1.25 * SLOWEST * PERIOD_S


def test_a_trickle_of_news_costs_a_few_times_the_quiet_rate_and_not_one_exchange_per_period():
    """News in every exchange and from callers in every period, for ever: quick while the budget lasts, then not."""
    pace = a_pace()
    exchanges(pace, 50)
    begin_s = pace.next_s
    started = []
    for period in range(6000):
        now_s = begin_s + period * PERIOD_S
        pace.hear(now_s)
        if pace.is_due(now_s):
            pace.start(now_s)
            pace.end(news=True)
            started.append(period)
    assert started[100] <= 110, "a burst of news is quick"
    late = sum(period >= 3000 for period in started)
    assert 3000 / SLOWEST < late <= 3 * 3000 / SLOWEST
    pace.hurry(begin_s + 6000 * PERIOD_S)  # a new epoch
    assert max(exchanges(pace, 100, news=True)) <= 1.001


def test_the_budget_comes_back_with_time_and_not_with_a_clock_that_is_set_back():
    pace = a_pace()
    exchanges(pace, 2000, news=True)
    assert pace.slow
    pace.hear(0.0)
    assert pace.slow
    pace.is_due(1.0)
    pace.hear(10.0**6)
    assert not pace.slow
