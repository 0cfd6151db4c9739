"""Charts are altair's, look like the house, show themselves without a network, and are written whole or not at all."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import altair as alt
import pytest
from tests.support.errors import refused
from tests.support.page_browser import browser, needs_chromium

from hetdp.cards import BLUE, DARK, GREEN, INK, LINE, MUTED, OCHRE, ORANGE, PAPER, PINK, PURPLE, RED
from hetdp.core.errors import MissingExtra
from hetdp.plots import (
    amount,
    check_rows,
    decades,
    drawn,
    follow_dark,
    interval_layers,
    layer,
    name_axis,
    save,
    stacked,
    titled,
)

ROWS = [{"name": "<b>&", "estimate": 2.0, "low": 1.0, "high": 3.0, "value": 1.5}]


@pytest.fixture(scope="module")
def chromium():
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with browser() as started:
        yield started


@pytest.fixture
def chart():
    return drawn({"title": titled("A <title> & more", "said"), "layer": interval_layers(ROWS, shown={"name": "group"})})


def luminance(color):
    red, green, blue = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", [BLUE, ORANGE, GREEN, PURPLE, PINK, OCHRE, RED])
def test_marks_stand_out_from_light_and_dark_paper(color):
    assert contrast(color, "#ffffff") >= 3
    assert contrast(color, DARK[PAPER]) >= 3


@pytest.mark.parametrize("ink", [INK, MUTED])
def test_text_is_readable_on_light_and_dark_paper(ink):
    assert contrast(ink, "#ffffff") >= 4.5
    assert contrast(DARK[ink], DARK[PAPER]) >= 4.5


def test_a_picture_is_a_chart_that_people_can_change_and_compose(chart):
    assert isinstance(chart, alt.LayerChart)
    own = type(chart)
    assert isinstance(chart.properties(width=300), own)
    assert isinstance(chart.interactive(), own)
    assert isinstance(chart + alt.Chart(alt.Data(values=[{"x": 1}])).mark_rule().encode(x="x:Q"), own)
    beside = (chart | chart).to_dict()  # what is only allowed at the top is added there
    assert "config" not in beside["hconcat"][0]
    panels = drawn(stacked(titled("two"), [{"layer": interval_layers(ROWS, shown={})} for _ in range(2)]))
    assert isinstance(panels, alt.VConcatChart)
    assert panels.to_dict()["config"]["title"]["color"] == INK
    assert isinstance(panels.vconcat[0].layer[0], alt.Chart)


def test_a_picture_has_the_style_of_the_house_unless_another_is_chosen(chart):
    assert chart.to_dict()["config"]["title"]["color"] == INK
    assert chart.configure_title(color="red").to_dict()["config"]["title"]["color"] == "red"
    with alt.theme.enable("dark"):
        assert "title" not in chart.to_dict()["config"]
    assert alt.theme.active == "default"


@pytest.mark.slow
def test_notebooks_show_an_image_unless_another_renderer_is_chosen(chart):
    shown = chart._repr_mimebundle_()
    assert set(shown) == {"image/svg+xml", "text/plain"}
    assert shown["text/plain"] == "<chart: A <title> & more>"
    with alt.renderers.enable("json"):
        assert "application/json" in chart._repr_mimebundle_()[0]


def test_an_image_is_sound_says_what_it_is_and_follows_dark_pages(chart):
    drawing = chart._repr_mimebundle_()["image/svg+xml"]
    root = ET.fromstring(drawing)  # noqa: S314  (of our own making)
    assert root.attrib["role"] == "img"
    assert root.find("{http://www.w3.org/2000/svg}title").text == "A <title> & more"
    assert "prefers-color-scheme: dark" in drawing
    assert "<script" not in drawing
    assert "<b>" not in drawing
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing)) - {"none", "transparent", "inherit"}
    assert used <= {*DARK, BLUE}, "a colour that does not follow"


def test_rules_for_dark_pages_reach_nothing_else():
    drawing = follow_dark('<svg width="1"><rect fill="white"/></svg>')
    (rules,) = re.findall(r"dark\)\{(.*)\}</style>", drawing)
    selectors = re.findall(r"([^{}]+)\{", rules)
    assert selectors
    assert all(selector.startswith("[data-by=hetdp] [") for selector in selectors)


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ending", [".svg", ".html"])
def test_a_browser_shows_it_in_the_colours_of_the_page(chromium, chart, tmp_path, scheme, ending):
    save(chart, tmp_path / f"chart{ending}")
    page = chromium.new_page(color_scheme=scheme)
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / f"chart{ending}").as_uri())
    title = page.locator("svg text", has_text="A <title> & more")
    title.wait_for(state="attached")
    color = title.evaluate("node => getComputedStyle(node).fill")
    page.close()
    wanted = INK if scheme == "light" else DARK[INK]
    assert color == "rgb({}, {}, {})".format(*(int(wanted[place : place + 2], 16) for place in (1, 3, 5)))
    assert not errors
    assert len(requests) == 1


@pytest.mark.browser
@needs_chromium
def test_an_image_in_a_page_follows_the_scheme_of_that_page(chromium, chart, tmp_path):
    save(chart, tmp_path / "chart.svg")
    for scheme in ("light", "dark"):
        (tmp_path / f"{scheme}.html").write_text(
            f'<html style="color-scheme:{scheme}"><body style="margin:0"><img src="chart.svg"></body></html>'
        )
    page = chromium.new_page(color_scheme="light")
    shown = {}
    for scheme in ("light", "dark"):
        page.goto((tmp_path / f"{scheme}.html").as_uri())
        width = page.evaluate(
            """async () => {
              const image = document.querySelector("img"); await image.decode();
              return image.naturalWidth;
            }"""
        )
        shown[scheme] = width, page.screenshot(clip={"x": 2, "y": 2, "width": 4, "height": 4})
    page.close()
    assert shown["light"][0] > 0
    assert shown["light"][1] != shown["dark"][1]


def test_files_are_written_in_three_formats(chart, tmp_path):
    for ending, begin in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")):
        path = tmp_path / f"chart{ending.upper()}"
        save(chart, str(path))
        assert path.read_bytes().lstrip().startswith(begin)
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    page = (tmp_path / "chart.HTML").read_text()
    assert "<script src" not in page
    assert "prefers-color-scheme: dark" in page


def test_any_chart_of_altair_can_be_saved(tmp_path):
    save(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"), tmp_path / "x.svg")
    assert "<title>A chart</title>" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("name", ["chart.pdf", "chart", "chart.svg.gz"])
def test_other_endings_are_refused(chart, tmp_path, name):
    with refused("path", "must end in .svg, .png or .html"):
        save(chart, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_package_is_named_with_what_brings_it(hide, missing):
    hide(missing)
    with pytest.raises(MissingExtra, match=rf"A picture needs {missing}, which .* pip install 'hetdp\[plot\]'"):
        drawn({"layer": []})


@pytest.mark.slow
def test_nothing_imports_altair_before_something_is_drawn():
    script = (
        "import sys, hetdp\n"
        "from hetdp import plots\n"
        "import hetdp.cli.main\n"
        "a = hetdp.release(hetdp.stretch(hetdp.queries.total(hetdp.Box([0], [1])), [1.0]), [1], epsilon=1.0)\n"
        "a._repr_html_()\n"
        "print(sorted({'altair', 'vl_convert'} & set(sys.modules)))\n"
        "a.plot()\n"
        "print('altair' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True"]


def test_too_many_rows_are_refused():
    check_rows(1_000)
    with refused(problem="at most 1,000 rows"):
        check_rows(1_001)


def test_what_has_no_estimate_is_said_and_keeps_its_place():
    rows = [{"name": "icu", "estimate": None, "low": None, "high": None, "value": -900.0}, *ROWS]
    layers = interval_layers(rows, shown={})
    marks = [one["mark"]["type"] for one in layers]
    assert marks == ["rule", "point", "text"]
    assert layers[0]["encoding"]["y"]["sort"] == ["icu", "<b>&"]
    assert "-900" not in json.dumps([one["encoding"].get("x") for one in layers])
    alone = interval_layers(rows[:1], shown={})
    assert [one["mark"]["type"] for one in alone] == ["tick"]


@pytest.mark.parametrize("places", [[0.5, 3.0], [1.0, 1.0], [0.001, 5000.0], [3.0, 20.0]])
def test_ticks_of_a_logarithmic_axis_cover_it_and_are_not_many(places):
    ticks = decades(places)
    assert ticks == sorted(set(ticks))
    assert min(ticks) <= min(places)
    assert max(ticks) >= max(places)
    assert len(ticks) <= 13


def test_parts_are_plain_data():
    made = layer(ROWS, {"type": "point"}, x=amount("low", "hours"), y=name_axis(ROWS))
    assert json.loads(json.dumps(made)) == made


def test_lines_of_a_subtitle_fit():
    lines = titled("x", "word " * 60)["subtitle"]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 84
    assert "subtitle" not in titled("x", "")


@pytest.mark.slow
def test_the_look_is_named_in_one_place_only():
    source = Path(__file__).parents[2] / "src" / "hetdp"
    for color in (INK, BLUE, GREEN, MUTED, LINE):
        places = [path.name for path in source.rglob("*.py") if color in path.read_text()]
        assert places == ["cards.py"], color
