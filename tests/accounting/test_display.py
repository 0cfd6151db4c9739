"""Cards and charts of answers, promises and ledgers show what is public, and what is private only where they say so."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import queries
from hetdp.accounting.guarantee import Recipients
from hetdp.core.errors import MissingExtra

SIZE = 400
#: Numbers that no picture of a release may hold: the weights, and the true answer.
WEIGHTS = np.where(np.arange(SIZE) % 2, 0.7310585, 0.2689414)
VALUES = np.full(SIZE, 31.4159265)
HOURS = hetdp.Box.uniform(0, 80, size=SIZE)
MEAN = hetdp.weight_classes(queries.mean(HOURS), WEIGHTS)
SECRETS = ("0.731058", "0.268941", "31.41592")


def spoken(chart):
    """Return every text of a chart: all that it says, in one string."""
    return json.dumps(chart.to_dict())


def values(chart):
    """Return all rows of data in a chart."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


@pytest.fixture(scope="module")
def answer():
    return hetdp.release(MEAN, VALUES, epsilon=1.0)


def test_an_answer_is_drawn_with_its_interval_and_its_promise(answer):
    chart = answer.plot()
    (row, *same) = values(chart)
    assert all(one == row for one in same)
    assert [row[name] for name in ("estimate", "low", "high", "value")] == [
        *(answer.estimate, answer.low, answer.high, answer.value)
    ]
    said = " ".join(chart.title["subtitle"])
    assert "95 % interval" in said
    assert "against anyone who sees this release" in said
    assert "weights lose 0.75" in said


def test_a_picture_of_an_answer_holds_nothing_that_is_not_public(answer):
    public = json.dumps(answer.public())
    numbers = {float(number) for number in re.findall(r"-?\d+\.\d{5,}", spoken(answer.plot()).split('"datasets"')[1])}
    assert numbers
    assert all(repr(number) in public for number in numbers)
    for text in (spoken(answer.plot()), answer._repr_html_(), answer.guarantee._repr_html_()):
        assert not any(secret in text for secret in SECRETS)
        assert "losses" not in text


def test_what_is_simulated_says_so_and_promises_nothing():
    seeded = hetdp.release(MEAN, VALUES, epsilon=1.0, random_state=1)
    assert "Simulated: nothing is promised." in seeded.plot().title["subtitle"]
    for html in (seeded._repr_html_(), seeded.guarantee._repr_html_()):
        assert "simulated: do not publish" in html
        assert "curious reader" not in html


def test_a_card_of_an_answer_says_what_it_is_how_sure_and_what_it_means(answer):
    html = answer._repr_html_()
    assert "95 % interval" in html
    assert "raw value" in html
    assert "Of 100 people like you, a curious reader would be right about 74 instead of 50." in html
    assert f"{answer.guarantee.text}" in html.replace("&#x27;", "'")


def test_an_answer_without_an_estimate_is_drawn_as_it_is():
    median = hetdp.release(hetdp.mechanisms.median(MEAN.query.domain, WEIGHTS), VALUES, epsilon=50.0)
    chart = median.plot()
    assert {row["value"] for row in values(chart)} == {median.value}
    assert "No estimate:" in " ".join(chart.title["subtitle"])
    assert {mark["mark"]["type"] for mark in chart.to_dict()["layer"]} == {"point", "text"}
    assert "no estimate" in median._repr_html_()


@pytest.mark.parametrize("edges", [[0, 10, 40, 80], 4])
def test_a_histogram_of_numbers_is_drawn_over_its_bins(edges):
    query = queries.histogram(hetdp.Box.uniform(0, 80, size=SIZE), edges)
    answer = hetdp.release(hetdp.weight_classes(query, WEIGHTS), VALUES, epsilon=1.0)
    chart = answer.plot(column="hours")
    assert chart.title["text"] == "A released histogram of hours"
    for drawing in chart.to_dict()["layer"]:
        assert drawing["encoding"]["x"]["title"] == "hours"
        assert drawing["encoding"]["y"]["scale"]["nice"], "the longest interval does not end at the edge"
    rows = values(chart)
    bins = query.edges.size - 1
    assert [(row["begin"], row["end"]) for row in rows[:bins]] == list(
        zip(query.edges[:-1], query.edges[1:], strict=True)
    )
    assert [row["estimate"] for row in rows[:bins]] == answer.estimate.tolist()
    assert [row["low"] for row in rows[:bins]] == answer.low.tolist()
    assert "of each bar by itself" in " ".join(chart.title["subtitle"])
    assert "0 to 10" in answer._repr_html_() or bins == 4


def test_a_histogram_of_categories_is_drawn_by_name():
    wards = hetdp.Categories(["er", "<b>icu", "lab"])
    query = queries.histogram(wards.domain(size=SIZE), wards)
    answer = hetdp.release(hetdp.weight_classes(query, WEIGHTS), wards.codes(["er"] * SIZE), epsilon=1.0)
    assert [row["name"] for row in values(answer.plot())[:3]] == ["er", "<b>icu", "lab"]
    assert "<b>icu" not in answer._repr_html_()
    assert "&lt;b&gt;icu" in answer._repr_html_()


def test_a_vector_that_is_no_histogram_is_numbered_and_cut():
    bits = hetdp.release(hetdp.mechanisms.sketch(np.ones(40)), np.ones(40), epsilon=1.0)
    assert len(values(bits.plot())) == 40
    assert "28 more in .value." in bits._repr_html_()


def test_a_stretched_answer_is_a_raw_value_in_the_interval_of_its_noise():
    raw = hetdp.release(hetdp.stretch(queries.mean(HOURS), WEIGHTS), VALUES, epsilon=1.0)
    (row, *_) = values(raw.plot())
    assert (row["estimate"], row["low"], row["high"]) == (raw.value, raw.low, raw.high)
    assert "No estimate:" in " ".join(raw.plot().title["subtitle"])
    assert "raw value, " in raw._repr_html_()
    assert "no estimate" in raw._repr_html_()


def test_a_promise_of_lists_shows_what_all_of_them_tell():
    lists = Recipients(each=hetdp.Guarantee("epsilon", 1.0).level(), shared=0, most=119)
    promise = hetdp.Guarantee.of_lists(lists, adjacent="adding an item", adversary="one <recipient>")
    html = promise._repr_html_()
    assert "all 119 lists together: 119" in html
    assert "&lt;recipient&gt;" in html


# -- ledgers ----------------------------------------------------------------------------------------------------------


def charged(**options):
    ledger = hetdp.Ledger(limits=np.where(np.arange(SIZE) < 100, 1.0, 2.0), **options)
    for _ in range(2):
        hetdp.release(MEAN, VALUES, epsilon=0.5, ledger=ledger)
    return ledger


def test_a_card_of_a_ledger_shows_what_is_public_and_how_many_there_are():
    html = charged()._repr_html_()
    assert "Ledger of items" in html
    assert "epsilon = 1" in html
    assert "one who sees every release charged here" in html
    assert '<th scope="row">private</th><td>400 items</td>' in html
    assert not any(secret in html for secret in SECRETS)
    for number in ("0.36552", "0.13447", "0.6344"):  # what single items have lost, or have left
        assert number not in html


def test_cards_of_ledgers_depend_on_no_account():
    """Two ledgers that differ in weights and values alone have the same card."""

    def html(dials):
        ledger = hetdp.Ledger(limits=np.full(SIZE, 3.0))
        mean = hetdp.stretch(MEAN.query, dials)
        hetdp.release(mean, VALUES, epsilon=0.5, ledger=ledger)
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", ledger._repr_html_())

    assert html(WEIGHTS) == html(WEIGHTS[::-1] / 2)


def test_every_kind_of_ledger_has_a_card(tmp_path):
    people = hetdp.Ledger.of_people(tmp_path / "<people>.db", limit=3)
    people.charge_people([(["ann", "bob"], [0.7310585, 1.0])], amount=1.5, description="<hours>", delta=1e-9)
    html = people._repr_html_()
    assert "Ledger of people" in html
    assert "epsilon = 1.5 of 3" in html
    assert "&lt;hours&gt;" in html
    assert "&lt;people&gt;.db" in html
    assert "2 people" in html
    assert "0.7310" not in html
    assert "ann" not in re.sub(r"<style>.*?</style>", "", html)
    people.close()
    assert "closed or unreadable" in people._repr_html_()
    profiles = hetdp.Ledger.of_profiles(limit=3, delta_limit=1e-6)
    assert "private" not in profiles._repr_html_()
    assert "no charges" in profiles._repr_html_()
    profiles.charge_profiles(hetdp.Guarantee("epsilon", 1.0, adjacent="adding or removing an item of a user"))
    assert "epsilon = 1 of 3" in profiles._repr_html_()
    unsaid = hetdp.Ledger(limits=[1.0])
    unsaid.charge([0.1])
    assert "not known: a charge did not say its level" in unsaid._repr_html_()


def test_the_newest_charges_come_first_and_others_are_counted():
    ledger = hetdp.Ledger(limits=[9.0])
    for number in range(8):
        ledger.charge([0.1], amount=0.1, description=f"charge {number}")
    html = ledger._repr_html_()
    assert "charge 7" in html
    assert "charge 2" not in html
    assert html.index("charge 7") < html.index("charge 3")
    assert "3 more in .history." in html


def test_what_is_left_is_drawn_as_a_histogram_that_says_it_is_private():
    ledger = charged(on_exhausted="drop")
    chart = ledger.plot_private()
    assert chart.title["text"] == "Private: what items of a ledger have left"
    assert "for the owner of the data alone" in " ".join(chart.title["subtitle"])
    rows = values(chart)
    assert sum(row["top"] - row["bottom"] for row in rows) == SIZE
    for row in rows:
        inside = (ledger.remaining >= row["begin"]) & (ledger.remaining < row["end"])
        assert row["top"] - row["bottom"] == inside.sum() or row["end"] == 2.0


def test_charges_are_drawn_one_after_the_other_up_to_the_limit_and_no_account_is():
    ledger = hetdp.Ledger.of_people(limit=3.0)
    for amount, what in ((0.5, "hours"), (1.0, "<b>people")):
        ledger.charge_people([(["ann", "bo"], [0.7310585, 1.0])], amount=amount, description=what, new_people=True)
    chart = ledger.plot()
    assert chart.title["text"] == "What weight 1 has lost: epsilon = 1.5 of 3"
    drawn = [(row["name"], row["begin"], row["end"]) for row in values(chart) if "name" in row]
    assert drawn == [("1. hours", 0.0, 0.5), ("2. <b>people", 0.5, 1.5)]
    assert [row["limit"] for row in values(chart) if "limit" in row] == [3.0]
    assert not re.search(r"ann|0\.73|\bbo\b", spoken(chart)), "who was charged, and their dials, are private"


def test_of_many_charges_the_last_are_drawn():
    ledger = hetdp.Ledger.of_profiles(limit=100.0)
    mean = hetdp.Ledger.of_people(limit=100.0)
    for number in range(50):
        mean.charge_people([(["ann"], [1.0])], amount=0.5, description=f"charge {number}")
    rows = [row for row in values(mean.plot()) if "name" in row]
    assert (len(rows), rows[0]["name"], rows[-1]["end"]) == (30, "21. charge 20", 25.0)
    assert "The last 30 of 50 charges" in " ".join(mean.plot().title["subtitle"])
    with refused(problem="charges that say their level to be drawn"):
        ledger.plot()


def test_who_has_nothing_left_or_no_limit_is_said():
    ledger = hetdp.Ledger(limits=[1.0, 1.0, 0.2, 1e7], on_exhausted="drop", protects="person")
    ledger.charge([1.0, 0.5, 0.5, 0.5])
    chart = ledger.plot_private()
    said = " ".join(chart.title["subtitle"])
    assert "4 people" in said
    assert "1 with nothing left (orange)" in said
    assert "1 dropped for good" in said
    assert "1 without a limit, not shown" in said
    assert [row["state"] for row in values(chart)].count("nothing") == 1
    assert sum(row["top"] - row["bottom"] for row in values(chart)) == 3


@pytest.mark.parametrize(
    ("ledger", "message"),
    [
        (hetdp.Ledger.of_profiles(limit=3), (None, "")),
        (hetdp.Ledger.of_people(limit=3), (None, "")),
        (hetdp.Ledger(limits=[1e7]), (None, "")),
    ],
    ids=["profiles", "nobody", "boundless"],
)
def test_a_ledger_without_accounts_is_not_drawn(ledger, message):
    with refused(*message):
        ledger.plot_private()


def test_cards_need_no_extra_and_charts_name_it(hide, answer):
    hide("altair")
    assert answer._repr_html_()
    for draw in (answer.plot, charged().plot, charged().plot_private):
        with pytest.raises(MissingExtra, match=r"pip install 'hetdp\[plot\]'"):
            draw()


def test_charges_of_another_unit_are_drawn_as_what_they_cost_and_delta_is_said():
    ledger = hetdp.Ledger.of_people(unit="rho", limit=20.0)
    ledger.charge_people([(["ann"], [1.0])], amount=4.0, description="pure")  # 4 ** 2 / 2
    ledger.charge_people([(["ann"], [1.0])], amount=0.5, unit="rho", delta=1e-6, description="gauss")
    rows = [row for row in values(ledger.plot()) if "name" in row]
    assert [(row["begin"], row["end"], row["level"]) for row in rows] == [
        *((0.0, 8.0, "epsilon = 4"), (8.0, 8.5, "rho = 0.5"))
    ]
    assert ledger.plot().title["text"] == f"What weight 1 has lost: rho = {ledger.spent_by_weight_1:g} of 20"
    assert "delta = 0.000001" in " ".join(ledger.plot().title["subtitle"])


EVIL = "</script><script>alert(1)</script><!--"


def test_no_text_of_a_chart_is_a_script_wherever_it_is_put():
    alt = pytest.importorskip("altair")
    ledger = hetdp.Ledger.of_people(limit=3.0)
    ledger.charge_people([(["ann"], [1.0])], amount=1.0, description=EVIL)
    chart = ledger.plot()
    table = hetdp.release_table(
        pa.table({"ward": [EVIL] * 50}), {"people": hetdp.tables.count()}, by={"ward": [EVIL]}, epsilon=1.0
    ).plot()
    with alt.renderers.enable("html"):
        bundle = chart._repr_mimebundle_()
    pages = [chart.to_html(), (chart & chart).to_html(), table.vconcat[0].to_html(), str(bundle)]
    for page in pages:
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "alert(1)</script" not in page
