"""A report is drawn with every claim beside what is certified, and broken promises stand out."""

import json
import re

import pytest

from hetdp.auditing.report import AuditReport, AuditRow
from hetdp.cards import BLUE, RED


def report(*pairs, planned=0):
    rows = [AuditRow(item, claimed, bound, "output <= 3.5", 1000, 0.1) for item, (claimed, bound) in enumerate(pairs)]
    return AuditReport("<b>noisy sum", rows, 0.999, planned_rows=planned)


def values(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_claims_stand_beside_what_is_certified():
    made = report((1.0, 0.93), (0.5, 0.61), (0.0, 0.0))
    chart = made.plot()
    assert [(row["claimed"], row["bound"]) for row in values(chart)[:3]] == [(1.0, 0.93), (0.5, 0.61), (0.0, 0.0)]
    scale = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {"violated": RED, "no violation found": BLUE}
    assert [row["verdict"] for row in values(chart)[:3]] == ["no violation found", "violated", "no violation found"]
    said = " ".join(chart.title["subtitle"])
    assert chart.title["text"] == "<b>noisy sum: violated"
    assert "confidence 0.999" in said
    assert "not a proof" in said
    assert "Private, for the owner: claims and bounds tell weights." in said


def test_of_many_items_those_nearest_to_their_claim_are_drawn_in_their_order():
    made = report(*((1.0, number / 100) for number in range(100)))
    names = list(dict.fromkeys(row["name"] for row in values(made.plot())))
    assert names == [str(item) for item in range(40, 100)]
    assert "The 60 of 100 rows that come closest." in " ".join(made.plot().title["subtitle"])


@pytest.mark.parametrize(("bound", "verdict"), [(0.4, "no violation found"), (0.61, "violated")])
def test_a_card_shows_rows_and_verdict_escaped(bound, verdict):
    html = report((0.5, bound), planned=3)._repr_html_()
    assert "<b>noisy" not in html
    assert "&lt;b&gt;noisy sum" in html
    assert f"{bound}" in html
    assert f"<td>{verdict}</td>" in html
    assert ("violated</span>" in html) == (verdict == "violated")
    assert "Interrupted: 2 pairs left." in html


def test_a_report_without_rows_has_a_card():
    assert "not a proof" in report()._repr_html_()
    assert json.dumps(report().plot().to_dict())


def test_whatever_shows_a_report_says_that_it_is_private():
    found = report((1.0, 0.9), (0.37, 0.1))
    for text in (repr(found), repr(found.rows), str(found), found._repr_html_(), json.dumps(found.plot().to_dict())):
        assert "private" in text.lower()
    for text in (repr(found), repr(found.rows)):
        assert not re.search(r"\d\.\d", text), "no claim and no bound"
    assert "Private" in found.to_dict()["private"]
