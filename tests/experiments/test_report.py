"""The report is whole, needs nothing from anywhere, shows every number, and draws its charts in a real browser."""

import base64
import csv
import dataclasses
import io
import json
import math
import re
from html import unescape

import pytest
from tests.support.page_browser import browser, needs_chromium

from hetdp.experiments.evaluation import Outcome, Point
from hetdp.experiments.figure_points import BY_OVERLAP, SAME, TAKING_PART, FigurePoint, figure_points
from hetdp.experiments.measurements import GapClosed, Measurements
from hetdp.experiments.report.contents import answer, lead, numbers_csv, summary
from hetdp.experiments.report.figures import FIGURES, Series, present_series
from hetdp.experiments.report.rendering import _panel_chart
from hetdp.experiments.reproduction import _beside_rivals, reproduce
from hetdp.experiments.sweep import SweepSettings, plan_tasks
from hetdp.experiments.weight_rules import GROUPS
from hetdp.plots import styled
from hetdp.profiles import Profiles

WIDTHS = {"desktop": 1280, "phone": 390}
#: Pixels between the margins.
A4_LANDSCAPE = 1032


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report on generated people, so that published points are in it, and on people with a nasty name."""
    folder = tmp_path_factory.mktemp("report")
    nasty = folder / "<b>&'x.csv"
    nasty.write_text(
        "user,item\n" + "".join(f"{user},{user * item % 23}\n" for user in range(1, 23) for item in range(1, 8))
    )
    settings = SweepSettings(
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
def chromium():
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def html(made):
    return made.files[0].read_text(encoding="utf-8")


def charts_in(html):
    return json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.slow
def test_the_page_refers_to_nothing_outside(html):
    page = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["'](?!#|data:)""", page)
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert html.count("<script") == html.count("</script>") == 3


def test_recommendations_stand_beside_their_rivals(made, html):
    found = made.evaluation.rivals["survey_like"]
    page = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    section = unescape(page.split('id="rivals"')[1].split("</section>")[0])
    for row in found.items:
        assert f"<td>{row.method}</td>" in section
        assert f"{row.ndcg:.3f} ± {row.ndcg_half_width:.3f}" in section
    recalls = {row.method: row.recall for row in found.neighbors}
    assert (
        f"{recalls['same people']:.3f} on survey_like, where true ones reach {recalls['true neighbours']:.3f}"
        in section
    )
    assert {row.epsilon for row in found.items if row.method == "model"} == {1.0, 3.0}
    assert {row.weights for row in found.items if row.epsilon} == {"westin 0.34,0.43,0.23 per item"}


def test_rivals_are_an_extra_and_no_reason_to_fail(crowd, small_settings):
    small = Profiles.from_pairs([1, 2, 3, 4, 5, 6], ["a", "a", "b", "c", "d", "e"])
    tiny = dataclasses.replace(crowd, name="tiny", profiles=small)
    wide = dataclasses.replace(crowd, name="wide", profiles=Profiles.from_pairs(range(5000), range(5000)))
    assert set(_beside_rivals(small_settings, [tiny, crowd, wide])) == {"crowd"}
    assert _beside_rivals(dataclasses.replace(small_settings, extras=False), [crowd]) == {}


def test_names_of_data_sets_are_only_text(html):
    assert "<b>&'x" not in html
    assert "&lt;b&gt;&amp;&#39;x" in html
    assert any("<b>&'x" in json.dumps(chart) for chart in charts_in(html).values()) is False


def test_published_points_stand_beside_ours(html, made):
    points = [point for point in made.evaluation.points if point.figure == "figure1" and point.data == "survey_like"]
    assert {point.x: point.published for point in points if point.published is not None} == {
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
    assert len(rows) == len(made.evaluation.points)
    assert {row["figure"] for row in rows} == {figure.key for figure in FIGURES} | {"ends"}
    inside = base64.b64decode(re.search(r"data:text/csv;base64,([^\"]+)", html)[1]).decode()
    assert inside == numbers.read_text(encoding="utf-8")


def test_total_loss_is_counted_for_each_engine(made):
    def losses(engine):
        points = [point for point in made.evaluation.points if point.data == "survey_like" and point.series == engine]
        one, together = ([point.x for point in points if point.figure == f"engines_{kind}"] for kind in ("one", "all"))
        return [total / single for single, total in zip(one, together, strict=True)]

    assert losses("sketch") == [1, 1, 1]
    assert losses("exact") == pytest.approx([119, 119, 119])
    assert losses("gossip") == pytest.approx([119, 119, 119])


def test_the_first_screen_answers(html):
    body = html.split("<nav", 1)[0]
    for words in ("Does it work, at what privacy, on what data?", "survey_like", "120 people, 200 items", "total loss"):
        assert words in body


def test_the_page_says_that_it_is_a_simulation_and_where_points_come_from(html):
    assert "a simulation and protects nobody" in html
    assert "Alaggan" in html


def test_one_run_has_no_interval_and_does_not_break_a_chart():
    point = FigurePoint("figure1", "mine", "", "gossip", 0.5, 0.25, math.nan, math.nan, 1)
    chart = styled(_panel_chart(FIGURES[0], [point], [], [Series("gossip", "red")]))
    assert "one run only" in json.dumps(chart, allow_nan=False)
    assert numbers_csv([point]).splitlines()[1] == "figure1,mine,,gossip,0.5,0.25,,,1,"


def test_intervals_of_recall_end_at_one_and_one_run_has_none(crowd, small_settings):
    def points(recalls):
        settings = dataclasses.replace(small_settings, runs=len(recalls))
        tasks = plan_tasks(settings, {"crowd": crowd.fingerprint})
        outcomes = [
            Outcome(
                task, tuple(Point(e, _everybody(recalls[task.seed])) for e in task.configuration.epsilons or (None,)), 0
            )
            for task in tasks
        ]
        return figure_points(Measurements(outcomes, {crowd.fingerprint: "crowd"}), settings, [crowd])

    assert {(point.low > 0.5, point.high) for point in points((0.9, 1.0))} == {(False, 1.0)}
    assert all(math.isnan(point.low) and math.isnan(point.high) for point in points((0.9,)))


def _everybody(recall):
    return dict.fromkeys(("all", *GROUPS), recall)


def test_those_taking_part_are_everybody_but_the_fundamentalists(made):
    by_group = {
        point.x: point.recall
        for point in made.evaluation.points
        if (point.figure, point.data, point.series) == ("practice", "survey_like", "homogeneous practice")
    }
    sizes = {"pragmatists": 52, "unconcerned": 27, "fundamentalists": 41}
    assert sum(by_group[group] * size for group, size in sizes.items()) / 120 == pytest.approx(by_group["all"])
    taking_part = (52 * by_group["pragmatists"] + 27 * by_group["unconcerned"]) / 79
    assert by_group[TAKING_PART] == pytest.approx(taking_part)


def evaluation_with(made, gaps_closed):
    return dataclasses.replace(made.evaluation, gaps_closed=gaps_closed)


def test_the_first_sentence_speaks_of_lower_ends_and_says_plainly_where_it_does_not_work(made):
    name = "survey_like"
    text = lead(evaluation_with(made, {name: (GapClosed(0.3, 0.9, 0.79), GapClosed(1.0, 0.95, 0.81))}))
    assert "at least 80% of the way" in text
    assert "survey_like from a total loss of 1," in text
    text = lead(
        evaluation_with(
            made, {name: (GapClosed(1.0, 0.05, 0.04), GapClosed(3.0, 0.24, 0.22), GapClosed(10.0, 0.9, 0.82))}
        )
    )
    assert "where a profile holds 68 of 200 items, published sketches do not work at a total loss of 3 or less" in text
    assert "(24% of the way at 3): it takes 10." in text
    text = lead(evaluation_with(made, {name: (GapClosed(3.0, 0.87, 0.799),)}))
    assert "not certain on survey_like (at 3: 87%; lower end 79%)" in text
    text = lead(evaluation_with(made, {name: (GapClosed(3.0, 0.5, 0.4),)}))
    assert "do not get 80% of the way on survey_like (at best 50% of the way, at 3)" in text


def test_comparisons_are_counted_and_not_a_fixed_text(made):
    most = max(made.evaluation.comparisons(data) for data in made.evaluation.data)
    assert 10 < most <= 119
    assert f"compares a person with up to {most} others" in lead(made.evaluation)


def test_data_on_which_true_neighbours_are_no_better_are_named(made):
    name = made.evaluation.data[0]
    assert f"On {name} even true" not in lead(made.evaluation)
    points = tuple(
        dataclasses.replace(point, recall=0.1, published=None)
        if (point.figure, point.data, point.series) == ("ends", name, "true neighbours")
        else dataclasses.replace(point, published=None)
        for point in made.evaluation.points
    )
    text = lead(dataclasses.replace(made.evaluation, points=points, gaps_closed={}))
    assert f"On {name} even true neighbours are no better than random ones" in text
    assert "published" not in text
    assert "with the published points" in lead(dataclasses.replace(made.evaluation, gaps_closed={}))


def test_sketches_are_measured_against_true_neighbours_by_overlap(made):
    ends = {
        point.series: point.recall
        for point in made.evaluation.points
        if point.figure == "ends" and point.data == "survey_like"
    }
    sketch = {reach.loss: reach.share for reach in made.evaluation.gaps_closed["survey_like"]}
    recall = made.evaluation.published_once("survey_like")
    random = ends["random neighbours"]
    assert sketch[10.0] == pytest.approx((recall[10.0] - random) / (ends[BY_OVERLAP] - random))
    table = answer(made.evaluation)
    assert table["columns"][-2:] == ["true by overlap, not private", "true by cosine, not private"]


def test_the_page_quotes_the_paper_and_marks_what_we_extended(html):
    assert "always have better recall than" in html
    assert "the paper says this on Figures 1 and 2, about Delicious" in html
    assert "extended by us" in html.split("<nav", 1)[0]
    assert re.search(r"ours in \d of 2 mixes, the published points in \d", html)


def test_series_unknown_to_a_figure_get_a_colour_of_their_own():
    point = FigurePoint("figure2", "mine", "", "from 0.3", 2, 0.25, 0.2, 0.3, 5)
    known = FigurePoint("figure2", "mine", "", "from 0", 2, 0.25, 0.2, 0.3, 5)
    found = present_series(FIGURES[1], [known, point])
    assert [one.name for one in found] == ["from 0", "from 0.3"]
    assert len({one.color for one in found}) == 2


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize(("width", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_a_browser_draws_all_charts_without_errors_or_requests(chromium, made, html, width, scheme):
    problems, requests = [], []
    page = chromium.new_page(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(made.files[0].as_uri())
    page.wait_for_selector("html[data-drawn]", timeout=60_000)
    charts = page.locator(".chart svg.marks")
    assert charts.count() == len(charts_in(html)) > 20
    drawn = page.evaluate(
        "[...document.querySelectorAll('.chart svg.marks')]"
        ".map(svg => svg.querySelectorAll('.mark-symbol path').length)"
    )
    assert min(drawn) > 0
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    label = page.locator(".chart svg .role-axis-label text").first
    ink = page.evaluate("getComputedStyle(document.body).getPropertyValue('--muted')").strip()
    assert _hex(label.evaluate("text => getComputedStyle(text).fill")) == ink
    page.locator("#chart-figure1-0 svg.marks").scroll_into_view_if_needed()
    points = page.locator("#chart-figure1-0 svg .mark-symbol path[opacity='0'], #chart-figure1-0 .mark-symbol path")
    points.last.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible", timeout=5_000)
    assert "95 % interval" in page.locator("#vg-tooltip-element").inner_text()
    page.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(("file://", "data:"))] == []
    assert len([url for url in requests if url.startswith("file://")]) == 1


def _hex(color):
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", color)[:3])


@pytest.mark.browser
@needs_chromium
def test_on_paper_nothing_is_cut_off_and_two_figures_fit_on_a_page(chromium, made):
    page = chromium.new_page(viewport={"width": WIDTHS["desktop"], "height": 900})
    page.goto(made.files[0].as_uri())
    page.wait_for_selector("html[data-drawn]", timeout=60_000)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4_LANDSCAPE, "height": 700})
    boxes = "[...document.querySelectorAll(%r)].map(thing => thing.getBoundingClientRect().%s)"
    assert max(page.evaluate(boxes % ("table, .legend, .chart svg.marks", "right"))) <= A4_LANDSCAPE
    assert 100 < max(page.evaluate(boxes % (".chart svg.marks", "height"))) < 210
    page.close()


def test_every_number_as_csv():
    text = numbers_csv([FigurePoint("figure1", "mine", "", "gossip", 0.5, 0.25, 0.2, 0.3, 10, 0.22)])
    assert text.splitlines() == [
        "figure,data,panel,series,x,recall,low,high,runs,published",
        "figure1,mine,,gossip,0.5,0.25,0.2,0.3,10,0.22",
    ]


def test_the_report_begins_with_two_sentences_for_everybody(made, html):
    first = unescape(re.search(r'<p class="lead">(.*?)</p>', html, re.DOTALL)[1])
    assert first == summary(made.evaluation)
    assert len(re.findall(r"[.?!](?: |$)", first)) == 2
    assert not {"epsilon", "loss", "recall", "sketch", "%"} & set(re.findall(r"\w+|%", first))
    assert "{" not in re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)


@pytest.mark.slow
def test_the_same_people_for_everybody_are_in_every_figure(made, html):
    (same,) = [point.recall for point in made.evaluation.points if point.data == "survey_like" and point.series == SAME]
    for figure in FIGURES:
        assert f'"recall": {round(same, 5)}' in json.dumps(charts_in(html)[f"chart-{figure.key}-0"])
    assert answer(made.evaluation)["rows"][0]["cells"][1]["recall"] == f"{same:.3f}"
