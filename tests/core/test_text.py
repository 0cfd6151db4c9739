"""Numbers in words can be read back, and are never rounded into something else."""

import pytest
from hypothesis import given, strategies as st

from hetdp.core.text import byte_size, counted, duration, listed, rough_duration, short_number


@given(st.integers(0, 10**7))
def test_durations_are_read_back(seconds):
    sizes = {"day": 86400, "days": 86400, "h": 3600, "min": 60, "s": 1}
    parts = duration(seconds).split()
    total = sum(int(count) * sizes[unit] for count, unit in zip(parts[::2], parts[1::2], strict=True))
    assert 0 <= seconds - total < (3600 if seconds >= 86400 else 60 if seconds >= 3600 else 1)


@given(st.floats(0.0, 1e12))
def test_numbers_are_never_in_powers_of_ten_and_large_ones_have_commas(number):
    text = short_number(number)
    if number >= 999.5:
        assert "e+" not in text
    if 1000 <= number <= 1e9:
        assert text == f"{number:,.0f}"
    assert short_number(99_999.0) == "99,999"


@given(st.integers(0, 2**50))
def test_sizes_are_read_back(count):
    number, unit = byte_size(count).split()
    size = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]
    assert abs(float(number) * size - count) <= (0.051 if unit == "GiB" else 0.5) * size
    assert count < 1024 * size or unit == "GiB"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "a second"), (59.4, "59 s"), (60, "1 min"), (3599, "60 min"), (3600, "1.0 h"), (1e6, "277.8 h")],
)
def test_estimates_have_one_unit(seconds, words):
    assert rough_duration(seconds) == words


def test_nouns_agree_with_their_numbers():
    assert [counted(number, "item") for number in (0, 1, 2, 1234)] == ["no items", "1 item", "2 items", "1,234 items"]
    assert [listed(["tea", "milk", "rum"][:size]) for size in (1, 2, 3)] == ["tea", "tea and milk", "tea, milk and rum"]


def test_each_number_has_its_words():
    assert counted(0, "sketch", "sketches") == "no sketches"
    assert [short_number(number) for number in (4.5, 0.1234, 999.6, 1e300)] == [
        "4.5",
        "0.123",
        "1,000",
        "more than a billion",
    ]
    assert [duration(seconds) for seconds in (5, 250, 7500, 200_000, 3600)] == [
        "5 s",
        "4 min 10 s",
        "2 h 5 min",
        "2 days 7 h",
        "1 h",
    ]
    assert [rough_duration(seconds) for seconds in (0.4, 42, 500, 9000)] == ["a second", "42 s", "8 min", "2.5 h"]
    assert [byte_size(count) for count in (900, 15_300, 5 * 2**20, 3 * 2**29)] == [
        "900 B",
        "15 KiB",
        "5 MiB",
        "1.5 GiB",
    ]
