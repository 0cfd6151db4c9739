"""A comparison is drawn the same in three ways: as a chart, as an image that needs nothing, and in a card."""

import re
from xml.etree import ElementTree as ET

import pytest

from hetdp.core.errors import MissingExtra
from hetdp.mechanisms.comparison import Comparison, Contender
from hetdp.pictures.style import DARK, GREEN, MUTED


def contender(name, rmse, *, interval=False):
    return Contender(name, "is one", rmse, -0.01, rmse / 20, f"hetdp release FILE --mechanism {name}", interval)


FOUND = Comparison("mean", 1.0, 1000, (contender("<b>best", 0.01), contender("next", 0.2), contender("last", 3.0)))


def values(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_a_chart_has_every_error_and_how_sure_it_is():
    chart = FOUND.plot()
    rows = values(chart)
    assert [(row["name"], row["error"]) for row in rows[:3]] == [("<b>best", 0.01), ("next", 0.2), ("last", 3.0)]
    assert all(row["low"] < row["error"] < row["high"] for row in rows)
    assert [row["recommended"] for row in rows[:3]] == ["yes", "no", "no"]
    assert "Simulated" in " ".join(chart.title["subtitle"])


def test_an_error_of_zero_does_not_break_a_logarithm():
    found = Comparison("mean", 1.0, 10, (contender("exact", 0.0), contender("noisy", 0.2)))
    assert all(row["low"] > 0 for row in values(found.plot()))
    assert "nan" not in found.svg()
    assert "exact" in found._repr_html_()


def test_an_image_needs_nothing_installed_and_follows_dark_pages(hide):
    hide("altair", "vl_convert")
    with pytest.raises(MissingExtra):
        FOUND.plot()
    drawing = FOUND.svg()
    root = ET.fromstring(drawing)  # noqa: S314  (of our own making)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"<b>best", "next", "last", "0.01", "0.2", "3"} <= set(texts)
    assert "prefers-color-scheme: dark" in drawing
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing)) <= {*DARK, GREEN}
    circles = [circle.attrib["fill"] for circle in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert circles == [GREEN, MUTED, MUTED]


def test_a_card_has_every_error_the_reason_and_the_command():
    html = FOUND._repr_html_()
    assert "<b>best" not in html
    assert html.count("<tr>") == 4
    assert "Recommended: " in html
    assert "hetdp release FILE --mechanism &lt;b&gt;best" in html
