"""Words and pictures say what the numbers say."""

import base64
import math
import struct
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hetdp.node import words
from hetdp.node.page import pictures
from hetdp.sketching.bit_law import chance_of_one, most_odds_factor, odds_factor
from hetdp.sketching.reading import best_by_chance, binomial_tail


def test_the_name_of_a_dial_rises_with_it():
    names = [words.dial_name(dial) for dial in range(101)]
    assert names[0] == "Hidden"
    assert names[100] == "Full"
    assert names[50] == "Half"
    assert names.count("Hidden") == names.count("Full") == 1
    assert list(dict.fromkeys(names)) == list(words.DIAL_NAMES.values()), "no name comes back"


def test_what_a_dial_means():
    nothing = "No trace of it anywhere: nobody learns anything. Only what is recommended to you takes note of it."
    assert words.dial_effect(0, Fraction(3)) == nothing
    much = "A sketch changes anyone's odds that you have it at most 20-fold."
    assert words.dial_effect(100, Fraction(3)) == much


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1.0, "1-fold"),
        (2.48, "2.5-fold"),
        (20.09, "20-fold"),
        (22026.5, "22,026-fold"),
        (1e9, "more than a million-fold"),
    ],
)
def test_factors_in_words(factor, text):
    assert words.factor_words(factor) == text


@pytest.mark.parametrize(
    ("chance", "text"), [(0.5, "50 %"), (0.0312, "3.1 %"), (0.99999, "over 99.9 %"), (0.00001, "under 0.1 %")]
)
def test_percentages_in_words(chance, text):
    assert words.percent_words(chance) == text


def test_odds_of_one_to_one_times_three_are_three_to_one():
    assert words.updated_chance(0.5, 3.0) == 0.75


@pytest.mark.slow
@given(before=st.floats(0.001, 0.999), dial=st.integers(0, 100), bit=st.booleans(), level=st.floats(0.1, 8))
def test_beliefs_are_those_of_bayes(before, dial, bit, level):
    epsilon = Fraction(level)
    absent, present = chance_of_one(epsilon), chance_of_one(epsilon, dial / 100)
    likely = (present, absent) if bit else (1 - present, 1 - absent)
    expected = before * likely[0] / (before * likely[0] + (1 - before) * likely[1])
    after = words.updated_chance(before, odds_factor(epsilon, dial / 100, bit))
    assert math.isclose(after, expected, rel_tol=1e-9)
    assert after <= words.updated_chance(before, most_odds_factor(epsilon, dial / 100)) * (1 + 1e-9)


@given(st.floats(0.0, 1.0))
def test_percentages_never_claim_certainty(chance):
    text = words.percent_words(chance)
    assert text not in {"0 %", "100 %", "1e+02 %"}
    assert "e" not in text.removeprefix("under").removeprefix("over")


@given(st.floats(1.0, 1e300))
def test_factors_are_never_understated_by_more_than_their_rounding(factor):
    text = words.factor_words(factor)
    assert text.endswith("-fold")
    if factor < 1e6:
        shown = float(text.removesuffix("-fold").replace(",", ""))
        assert abs(shown - factor) <= max(0.05, 0.5) if factor > 9.9 else abs(shown - factor) <= 0.0501
    else:
        assert text == "more than a million-fold"


def test_the_best_of_many_strangers_may_be_chance():
    """3 ones of 3 at epsilon 3 among 5, 400 and 2000 strangers; the normal tail would call all of them sure."""
    by_chance = [best_by_chance(binomial_tail(3, 3, chance_of_one(3)), count) for count in (5, 400, 2000)]
    assert [words.chance_words(one) for one in by_chance] == [
        "clearly like you",
        "probably like you",
        "may be chance",
    ]


def test_chances_in_words():
    found = [words.chance_words(by_chance) for by_chance in (1e-9, 0.01, 0.2)]
    assert found == ["clearly like you", "probably like you", "may be chance"]


def test_votes_are_told_as_people_would():
    sure, likely = 1e-9, 0.01
    assert words.votes_words(2, 2, 2, sure) == "Both people like you seem to have it"
    assert words.votes_words(5, 5, 5, sure) == "All 5 people like you seem to have it"
    assert words.votes_words(1, 2, 6, likely) == "About 1 of 6 people like you seems to have it, probably not by chance"
    assert words.votes_words(4, 4, 6, sure) == "About 4 of 6 people like you seem to have it"
    assert words.votes_words(1, 1, 1, sure) == "The one person like you seems to have it"


def test_a_vote_that_may_be_chance_does_not_claim_that_anybody_has_it():
    """It said "All 3 of your neighbours seem to have it; may be chance"."""
    assert words.votes_words(3, 3, 3, 0.2) == (
        "It shows in 3 of 3 blurred sketches of people like you: too little to tell it from chance"
    )
    assert words.votes_words(1, 1, 1, 0.2) == (
        "It shows in the blurred sketch of the one person like you: too little to tell it from chance"
    )
    for asked in range(1, 12):
        for about in range(1, asked + 1):
            assert "seem" not in words.votes_words(about, about, asked, 0.2)


def test_what_epsilon_means_is_true():
    assert f"at most {words.factor_words(most_odds_factor(Fraction(1), 1.0))}" in words.EPSILON_WORDS
    assert f"ε 3 at most {words.factor_words(most_odds_factor(Fraction(3), 1.0))}" in words.EPSILON_WORDS


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (30.0, "By then somebody who kept all sketches could be all but sure whether you have it."),
        (
            3.0,
            "By then somebody who kept all sketches and believed 1 % before could be 17 % sure that you have it.",
        ),
        (99999.0, "That is as good as no limit."),
    ],
)
def test_limits_in_words(limit, text):
    assert words.certainty_words(limit) == text


@given(st.floats(0.0, 100.0))
def test_what_a_limit_means_is_bayes(limit):
    text = words.certainty_words(limit)
    chance = words.updated_chance(0.01, math.exp(limit))
    assert ("all but sure" in text) == (chance > 0.99)
    assert "as good as no limit" not in text
    assert "as good as no limit" in words.certainty_words(limit + 100.001)


def test_the_present_moment_is_today():
    assert words.moment_words(0.0, 0.0).startswith("today ")


def decoded(address):
    """Return the bits of a 1-bit PNG without filters, row by row."""
    raw = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    parts, place = {}, 8
    while place < len(raw):
        (length,) = struct.unpack(">I", raw[place : place + 4])
        kind, data = raw[place + 4 : place + 8], raw[place + 8 : place + 8 + length]
        assert struct.unpack(">I", raw[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + data)
        parts[kind] = data
        place += 12 + length
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return np.unpackbits(rows[:, 1:], axis=1)[:, :width].astype(bool)


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_the_picture_of_a_sketch_is_the_sketch(bits):
    address, shown = pictures.sketch_image(np.array(bits))
    pixels = decoded(address)
    assert pixels.shape[1] == shown <= 960
    dots = pixels[::8, ::8].ravel()
    assert dots[: len(bits)].tolist() == bits
    assert not dots[len(bits) :].any()
    assert not pixels[7::8].any()  # gaps between dots, or nobody could count them
    assert not pixels[:, 7::8].any()


def test_dots_of_a_small_sketch_are_large():
    assert pictures.sketch_image(np.array([True, False, True]))[1] == 24


def test_the_picture_of_a_large_sketch_is_small():
    bits = np.arange(50_000) % 21 == 0
    address, _ = pictures.sketch_image(bits)
    assert (decoded(address).ravel()[:50_000] == bits).all()
    assert len(address) < 20_000


def test_lines_of_the_chart_rise_and_stay_inside():
    charges = [(epoch, place, 0.5 * place) for epoch in (3, 4, 7) for place in (1, 2, 4)]
    chart = pictures.loss_chart(charges, [3, 4, 5, 6, 7], 5.0)
    assert [curve.spent for curve in chart.curves] == [6.0, 3.0, 1.5]
    for curve in chart.curves:
        points = [tuple(map(float, part[1:].split())) for part in curve.path.replace(" L", "|L").split("|")]
        across, down = zip(*points, strict=True)
        assert list(across) == sorted(across)
        assert list(down) == sorted(down, reverse=True)
        assert min(across) >= 34
        assert max(across) <= 628
        assert min(down) >= 12
        assert max(down) == 210
    assert [epoch for _, epoch in chart.across] == [7, 6, 5, 4, 3]


def test_items_that_have_lost_the_same_share_a_line():
    chart = pictures.loss_chart([(1, 7, 3.0), (1, 8, 3.0), (2, 7, 3.0)], [1, 2], 30.0)
    assert [(curve.places, curve.spent) for curve in chart.curves] == [((7,), 6.0), ((8,), 3.0)]


def test_a_chart_with_a_limit_of_nothing_can_be_drawn():
    assert pictures.loss_chart([], [1], 0.0).curves == ()


@pytest.mark.parametrize(("estimate", "expected"), [(-3.0, (0, 0, 0)), (0.0, (0, 0, 20)), (20.0, (100, 100, 100))])
def test_intervals_are_cut_to_what_is_possible(estimate, expected):
    bar = pictures.interval(estimate, 1.0, 10.0)
    assert (bar.low, bar.middle, bar.high) == expected
    assert pictures.interval(5.0, 1.0, 10.0) == pictures.Interval(low=30.0, middle=50.0, high=70.0)
    assert pictures.interval(0.0, 0.0, 0) == pictures.Interval(0.0, 0.0, 0.0)


def test_faces_are_symmetric_and_differ():
    faces = [pictures.face(f"{number:064x}"[::-1]) for number in range(1, 200)]
    assert all((4 - x, y) in one.cells for one in faces for x, y in one.cells)
    assert len(set(faces)) > 150
    assert pictures.face("00" * 32).cells == ()
