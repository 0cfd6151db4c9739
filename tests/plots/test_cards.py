"""Cards hold what they are given, escaped, and nothing that a page would have to fetch or run."""

import re
from html.parser import HTMLParser

import pytest

from hetdp.cards import Card, CardTable, bar, interval

ELEMENTS = {
    *("div", "style", "p", "b", "span", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "rect", "line", "circle", "details", "summary"),
}
NASTY = "<script>alert(1)</script>\"'&\x00"


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and whether each is closed again."""

    def __init__(self):
        super().__init__()
        self.found, self.open, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(html):
    page = Elements()
    page.feed(html)
    page.close()
    assert not page.open
    return page


@pytest.fixture
def card():
    return Card(
        NASTY,
        about=NASTY,
        marks=[NASTY],
        lead=(NASTY, NASTY),
        facts={NASTY: NASTY, "drawn": bar(0.5, NASTY)},
        table=CardTable((NASTY, "x"), [(NASTY, interval(1.0, 2.0, 3.0, (0.0, 4.0), NASTY))], numbers=(0,), rest=NASTY),
        sentences=[NASTY],
        folded={NASTY: NASTY, "facts": {NASTY: NASTY}},
    )


def test_everything_is_escaped(card):
    html = card.html()
    page = parsed(html)
    tags = {tag for tag, _ in page.found}
    assert tags <= ELEMENTS
    assert "script" not in tags
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
    assert page.text.count("<script>alert(1)</script>") == html.count("&lt;script&gt;") - html.count(
        'aria-label="&lt;script'
    )
    assert "\x00" not in html


def test_a_card_asks_for_nothing_and_leaves_colours_to_the_page(card):
    html = card.html()
    for word in ("http", "url(", "@import", "src=", "href="):
        assert word not in html
    (style,) = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    assert re.findall(r"(?<!-)color:(\w+)", style)
    assert set(re.findall(r"(?<![-\w])color:(\w+)", style)) == {"inherit"}
    assert set(re.findall(r"background(?:-color)?:(\w+)", style)) == {"none"}


def test_rules_reach_nothing_outside_of_a_card(card):
    (style,) = re.findall(r"<style>(.*?)</style>", card.html(), flags=re.DOTALL)
    for selector in re.findall(r"([^{}]+)\{[^{}]*\}", style):
        assert selector.startswith(".hetdp-card.hetdp-card.hetdp-card")
        assert "," not in re.sub(r":is\([^)]*\)", "", selector)


def test_what_is_empty_is_left_out():
    page = parsed(Card("a thing").html())
    assert [tag for tag, _ in page.found] == ["div", "style", "p", "b"]


def test_more_rows_than_fit_are_counted():
    table = CardTable(("n",), [(str(number),) for number in range(30)], most=20, rest=" in .rows")
    html = table.html()
    assert html.count("<tr>") == 21
    assert "10 more in .rows." in html
    assert "more" not in CardTable(("n",), [("1",)], most=20).html()


def test_small_drawings_stay_in_their_frame():
    for share in (-1.0, 0.0, 0.3, 1.0, 7.0):
        (width,) = re.findall(r'width="([\d.]+)" height="6" rx="3" fill="#', bar(share, "x").inside)
        assert 0 <= float(width) <= 120
    drawn = interval(0.0, 1.0, 4.0, (0.0, 4.0), "x").inside
    places = [float(place) for place in re.findall(r'(?:x1|x2|cx)="([\d.]+)"', drawn)]
    assert places == [5.0, 115.0, 32.5]
    assert "nan" not in interval(None, 2.0, None, (2.0, 2.0), "alone").inside
    assert "<line" not in interval(None, 2.0, None, (2.0, 2.0), "alone").inside
