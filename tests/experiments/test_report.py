"""The report is whole, needs nothing from anywhere, shows every number, and draws its charts in a real browser."""

import base64
import csv
import io
import json
import re
import shutil

import pytest

from hetdp.experiments.marks import Mark
from hetdp.experiments.report.charts import panel_chart, styled
from hetdp.experiments.report.contents import numbers_csv
from hetdp.experiments.report.figures import FIGURES, Series, present_series
from hetdp.experiments.reproduction import reproduce
from hetdp.experiments.settings import Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = {"desktop": 1280, "phone": 390}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report on generated people, so that published points are in it, and on people with a nasty name."""
    folder = tmp_path_factory.mktemp("report")
    nasty = folder / "<b>&'x.csv"
    nasty.write_text(
        "user,item\n" + "".join(f"{user},{user * item % 23}\n" for user in range(1, 23) for item in range(1, 8))
    )
    settings = Settings(
        data=("survey_like", str(nasty)),
        runs=2,
        epsilons=(1.0, 3.0),
        engine_epsilons=(1.0, 3.0, 10.0),
        lower=(0.0, 0.5, 0.9),
        slices=(1, 10),
        pragmatists=(0.1,),
        unconcerned=(0.1, 0.7),
        per=("item", "user"),
        cycles=5,
    )
    return reproduce(settings, folder / "out")


@pytest.fixture(scope="module")
def html(made):
    return made.files[0].read_text(encoding="utf-8")


def charts_in(html):
    return json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', html, re.DOTALL)[1])


def test_every_figure_is_there_as_svg_and_png(made):
    names = {path.name for path in made.files}
    assert {f"{figure.key}.{ending}" for figure in FIGURES for ending in ("svg", "png")} <= names
    for path in made.files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        if path.suffix == ".svg":
            assert path.read_text(encoding="utf-8").startswith("<svg")


def test_the_page_refers_to_nothing_outside(html):
    page = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["'](?!#|data:)""", page)
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert html.count("<script") == html.count("</script>") == 3


def test_names_of_data_sets_are_only_text(html):
    assert "<b>&'x" not in html
    assert "&lt;b&gt;&amp;&#39;x" in html
    assert any("<b>&'x" in json.dumps(chart) for chart in charts_in(html).values()) is False


def test_published_points_stand_beside_ours(html, made):
    marks = [mark for mark in made.evaluation.marks if mark.figure == "figure1" and mark.data == "survey_like"]
    assert {mark.x: mark.published for mark in marks if mark.published is not None} == {
        0.0: 0.962105,
        0.5: 0.957416,
        0.9: 0.968561,
    }
    drawn = json.dumps(charts_in(html)["chart-figure1-0"])
    assert "0.957416" in drawn
    assert "diamond" in drawn
    assert "diamond" not in json.dumps(charts_in(html)["chart-figure1-1"])


def test_every_number_of_the_figures_is_in_the_csv(made, html):
    (numbers,) = [path for path in made.files if path.name == "numbers.csv"]
    rows = list(csv.DictReader(io.StringIO(numbers.read_text(encoding="utf-8"))))
    assert len(rows) == len(made.evaluation.marks)
    assert {row["figure"] for row in rows} == {figure.key for figure in FIGURES} | {"ends"}
    inside = base64.b64decode(re.search(r"data:text/csv;base64,([^\"]+)", html)[1]).decode()
    assert inside == numbers.read_text(encoding="utf-8")


def test_every_run_is_in_a_csv(made):
    (runs,) = [path for path in made.files if path.name == "runs.csv"]
    rows = list(csv.DictReader(io.StringIO(runs.read_text(encoding="utf-8"))))
    gossip = [row for row in rows if row["engine"] == "gossip" and row["group"] == "all"]
    assert {row["seed"] for row in gossip} == {"0", "1"}
    assert all(float(row["met_max"]) > 0 and 0 <= float(row["recall"]) <= 1 for row in gossip)


def test_total_loss_is_counted_for_each_engine(made):
    def losses(engine):
        marks = [mark for mark in made.evaluation.marks if mark.data == "survey_like" and mark.series == engine]
        one, together = ([mark.x for mark in marks if mark.figure == f"engines_{kind}"] for kind in ("one", "all"))
        return [total / single for single, total in zip(one, together, strict=True)]

    assert losses("sketch") == [1, 1, 1]
    assert losses("exact") == pytest.approx([119, 119, 119])
    assert all(10 < times <= 119 for times in losses("gossip"))


def test_the_first_screen_answers(html):
    body = html.split("<nav", 1)[0]
    for words in ("Does it work, at what privacy, on what data?", "survey_like", "120 people, 200 items", "total loss"):
        assert words in body


def test_the_page_says_that_it_is_a_simulation_and_where_points_come_from(html):
    assert "a simulation and protects nobody" in html
    assert "Alaggan" in html


def test_one_run_has_no_interval_and_does_not_break_a_chart():
    mark = Mark("figure1", "mine", "", "gossip", 0.5, 0.25, float("-inf"), float("inf"), 1)
    chart = styled(panel_chart(FIGURES[0], [mark], [], [Series("gossip", "red")]))
    assert "one run only" in json.dumps(chart, allow_nan=False)
    assert "-inf" in numbers_csv([mark])


def test_series_unknown_to_a_figure_get_a_colour_of_their_own():
    mark = Mark("figure2", "mine", "", "from 0.3", 2, 0.25, 0.2, 0.3, 5)
    known = Mark("figure2", "mine", "", "from 0", 2, 0.25, 0.2, 0.3, 5)
    found = present_series(FIGURES[1], [known, mark])
    assert [one.name for one in found] == ["from 0", "from 0.3"]
    assert len({one.color for one in found}) == 2


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_draws_all_charts_without_errors_or_requests(made, html, width, scheme):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    problems, requests = [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(made.files[0].as_uri())
        page.wait_for_selector("html[data-drawn]", timeout=60_000)
        charts = page.locator(".chart svg")
        assert charts.count() == len(charts_in(html)) > 20
        drawn = page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(svg => svg.querySelectorAll('.mark-symbol path').length)"
        )
        assert min(drawn) > 0
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0
        label = page.locator(".chart svg .role-axis-label text").first
        ink = page.evaluate("getComputedStyle(document.body).getPropertyValue('--muted')").strip()
        assert _hex(label.evaluate("text => getComputedStyle(text).fill")) == ink
        page.locator("#chart-figure1-0 svg").scroll_into_view_if_needed()
        points = page.locator("#chart-figure1-0 svg .mark-symbol path[opacity='0'], #chart-figure1-0 .mark-symbol path")
        points.last.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible", timeout=5_000)
        assert "95 % interval" in page.locator("#vg-tooltip-element").inner_text()
        browser.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(("file://", "data:"))] == []
    assert len([url for url in requests if url.startswith("file://")]) == 1


def _hex(color):
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", color)[:3])
