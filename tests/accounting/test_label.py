"""Labels: odds that are never too small, words without private numbers, forms that stand alone."""

import json
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Box, Guarantee, errors, queries
from hetdp.accounting.guarantee import Recipients
from hetdp.accounting.label import Label, Spending, posterior

LISTS = Guarantee.of_lists(
    Recipients(Fraction(1), Fraction(1, 10), 119),
    adjacent="adding or removing an item of a user",
    adversary="one recipient who sees one list, whatever else they know",
    remarks=("A list is for its recipient only.",),
)
PROMISES = {
    "epsilon": Guarantee("epsilon", 1.0),
    "delta": Guarantee("epsilon", 1.0, delta=1e-6, protected="person", adjacent="one row being present or absent"),
    "rho": Guarantee("rho", 0.02),
    "matrix": Guarantee("rho", 0.02, at_weight_one=(1.0, 1e-6), delta=5e-7, protected="person"),
    "weights": Guarantee("epsilon", 0.5, protects="weights"),
    "swapped": Guarantee("epsilon", 0.5, factor="(v_i + v_j)"),
    "lists": LISTS,
    "simulated": Guarantee("epsilon", 1.0, simulated=True),
}
KEYS = [
    "schema",
    "schema_version",
    "title",
    "software",
    "simulated",
    "headline",
    "protects",
    "trust",
    "adversary",
    "at_weight_1",
    "at_other_weights",
    "weights_loss",
    "colluders",
    "composition",
    "mechanism",
    "odds",
    "remarks",
]


def exact_posterior(before, epsilon):
    with localcontext() as context:
        context.prec = 120
        odds, p = Decimal(epsilon).exp(), Decimal(before) / 100
        return 100 * p * odds / (1 + p * (odds - 1))


@pytest.mark.parametrize("before", [1, 10, 50, 99])
def test_odds_are_those_of_bayes_rounded_up_by_less_than_a_hundredth(before):
    rng = np.random.default_rng(3)
    for epsilon in [1e-12, 0.1, 1.0, math.log(3), 20.0, 700.0, *rng.uniform(0, 12, 200).tolist()]:
        exact, shown = exact_posterior(before, epsilon), posterior(before, epsilon)
        assert exact <= shown < exact + Decimal("0.0100001")
    assert posterior(before, 0.0) == before
    assert posterior(before, 1e6) == posterior(before, math.inf) == 100


def test_delta_comes_on_top_and_odds_stop_at_certainty():
    with_delta = posterior(50, 1.0, 0.125)
    assert 0 <= with_delta - (exact_posterior(50, 1.0) + Decimal("12.5")) < Decimal("0.0100001")
    assert posterior(50, 1.0, 1.0) == 100


def test_people_are_whole_from_ten_on_and_tenths_below_rounded_up():
    label = PROMISES["epsilon"].label(weights=[1])
    assert [(odds.before, odds.items, odds.people) for odds in label.odds] == [
        (1, 1, "2.7"),
        (10, 1, "24"),
        (50, 1, "74"),
        (50, 10, "100"),
    ]


def test_levels_follow_dials_groups_and_units():
    assert PROMISES["epsilon"].label().level(0.5, 10) == (5.0, 0.0)
    assert PROMISES["swapped"].label().level(0.5) == (0.75, 0.0)  # the other item may have weight 1
    assert PROMISES["weights"].label().level(0.1) == (0.5, 0.0)
    assert PROMISES["matrix"].label().level() == (1.0, 1e-6)
    epsilon, delta = PROMISES["rho"].label().level(0.5, 2)  # two items at half a dial: the distance of one at 1
    assert (epsilon, delta) == PROMISES["rho"].label().level()
    epsilon, delta = PROMISES["delta"].label().level(1.0, 3)
    assert epsilon == 3.0
    exact = 1e-6 * (1 + math.e + math.e**2)
    assert exact <= delta < exact * (1 + 1e-12)


@pytest.mark.parametrize("name", PROMISES)
def test_every_form_can_be_made_and_stands_alone(name):
    label = PROMISES[name].label(title="<Mean> & co\x1b[2J", date="2026-11-16")
    assert max(map(len, label.text.splitlines())) <= 80
    html = label.to_html()
    assert "\x1b" not in label.text + html
    assert not re.search(r"src=|href=|url\(|@import|<script|<link|https?:", html)
    assert "prefers-color-scheme:dark" in html
    assert json.loads(label.to_json()) == label.to_dict()


class Tags(HTMLParser):
    """Checks that what is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("page", [True, False])
def test_html_is_well_formed_and_can_be_read_aloud(page):
    tags = Tags()
    tags.feed(LISTS.label().to_html(page=page))
    assert not tags.open
    names = [tag for tag, _ in tags.seen]
    assert names.count("h1") == names.count("caption") == 1
    assert all("scope" in given for tag, given in tags.seen if tag == "th")
    assert all(given.get("aria-label") for tag, given in tags.seen if tag == "svg")
    assert ("html" in names) == page


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_can_be_told_apart():
    css = PROMISES["epsilon"].label().to_html()
    found = re.findall(r"--(\w+): (#[0-9a-f]{6})", css)
    assert len(found) == 12
    for colours in (dict(found[:6]), dict(found[6:])):
        assert min(contrast(colours[name], colours["paper"]) for name in ("ink", "quiet")) >= 4.5
        assert min(contrast(colours[name], colours["paper"]) for name in ("before", "more")) >= 3


def test_the_keys_of_the_registry_form_are_pinned():
    record = PROMISES["epsilon"].label(title="Mean age").to_dict()
    assert list(record) == KEYS
    assert (record["schema"], record["schema_version"]) == ("hetdp privacy label", 1)
    assert set(record["protects"]) == {"unit", "what", "question", "adjacency"}
    assert set(record["at_weight_1"]) == {"epsilon", "delta", "rho"}
    assert set(record["odds"][0]) == {"weight", "items", "before", "after"}
    assert "date" in PROMISES["epsilon"].label(date="2026").to_dict()
    ledger = hetdp.Ledger.of_people(limit=1)
    assert set(PROMISES["epsilon"].label(ledger=ledger).to_dict()["composition"]) == {
        *("rule", "unit", "spent_at_weight_1", "delta_spent_at_weight_1", "left_at_weight_1", "adversary")
    }


def test_a_simulation_promises_nothing():
    label = PROMISES["simulated"].label()
    assert "Nothing is promised" in label.text
    assert label.odds == ()
    assert label.to_dict()["at_weight_1"] == {"epsilon": None, "delta": None, "rho": None}
    for form in (label.text, label.to_html()):
        assert "epsilon" not in form
        assert "instead of" not in form


def test_who_puts_lists_together_is_sure():
    assert LISTS.label().colluders == (10, Fraction(101, 10))
    assert "10 such readers who put what they have together would be right about 100." in LISTS.label().text
    assert PROMISES["epsilon"].label().colluders is None


@pytest.mark.parametrize("weights", [[], [0.0], [1.5], [math.nan]])
def test_bad_weights_are_refused(weights):
    with refused("weights", "at least one number"):
        PROMISES["epsilon"].label(weights=weights)


def test_a_label_of_dials_says_so():
    label = PROMISES["weights"].label()
    assert label.to_dict()["protects"]["adjacency"] == "changing the privacy weight of one item"
    assert "any weight" in label.text
    assert "weight of 0" not in label.text


@pytest.mark.parametrize("name", PROMISES)
def test_facts_lead_back_to_the_promise(name):
    told = json.loads(json.dumps(PROMISES[name].facts()))
    assert Guarantee.of_facts(told) == PROMISES[name]


@pytest.mark.parametrize("wrong", [{}, {"unit": "x"}, {"amount": "1"}, {"protected": "cat"}, {"recipients": 3}])
def test_facts_from_elsewhere_are_not_trusted(wrong):
    facts = {**PROMISES["epsilon"].facts(), **wrong} if wrong else {}
    with refused(problem="a guarantee must be facts", kind=errors.DataError):
        Guarantee.of_facts(facts)


def test_ledgers_say_what_is_spent_and_left_at_a_dial_of_1():
    people = hetdp.Ledger.of_people(limit=3)
    people.charge_people([(["ann", "bob"], [0.5, 0.1])], amount=2, description="x")
    assert "Left: epsilon = 1." in people.label().text
    assert "So far, at weight 1: epsilon = 2. Someone who has read all of it" in people.label().text
    items = hetdp.Ledger(limits=[5.0, 7.0], unit="rho")
    items.charge([0.01, 0.0], unit="epsilon", amount=1.0)
    items.charge([0.01, 0.0], unit="rho", amount=0.25)
    assert Spending.of(items).spent == 0.75
    assert Spending.of(items).left is None
    items.charge([0.01, 0.0], unit="rho")
    assert "What was spent so far is not known" in PROMISES["rho"].label(ledger=items).text
    with refused(problem="must know the level (amount) of each charge"):
        items.label()
    profiles = hetdp.Ledger.of_profiles(limit=0.3)
    profiles.charge_profiles(Guarantee("epsilon", 0.1, adjacent="adding or removing an item of a user"))
    assert Fraction(Spending.of(profiles).left) <= Fraction(0.3) - Fraction(0.1)
    assert hetdp.Ledger.of_people(limit=1).label().title == "Everything that a ledger allows"
    with refused(problem="must have a charge or a limit"):
        hetdp.Ledger(limits=[1.0]).label()


@pytest.mark.parametrize(
    ("left", "shown"), [(12.3456789, "12.3456"), (2.9999999, "2.99999"), (1e-7, "0.0000001"), (0, "0")]
)
def test_what_is_left_is_rounded_down(left, shown):
    label = Label.of(PROMISES["epsilon"], spending=Spending("epsilon", 1.0000001, 0.0, float(left), "everybody"))
    assert f"Left: epsilon = {shown}." in label.text
    assert "epsilon = 1.00001." in label.text


def profiles(weight_of_the_unseen, extra):
    users, items, weights = (
        ["ann", "ann", "bob", "cy", "dan"],
        ["tea", "jazz", "tea", "jazz", "tea"],
        [1.0, 0.5, 1, 1, 1],
    )
    if extra:
        users, items, weights = [*users, "bob"], [*items, "jazz"], [*weights, weight_of_the_unseen]
    return hetdp.Profiles.from_pairs(users, items, weights)


def labelled(extra):
    """Yield a label for every public way to a result; with or without one more item of weight 0."""
    weights = [1.0, 0.5, 0.25]
    stretched = hetdp.stretch(queries.mean(Box.uniform(0, 1, size=3)), [*weights[:2], 0.0])
    ledger = hetdp.Ledger(limits=np.full(3, 9.0))
    values = [0.1, 0.9, 0.7 if extra else 0.2]
    release = hetdp.release(stretched, values, epsilon=0.5, ledger=ledger)
    yield "release", release.label(ledger=ledger)
    yield "distortion", hetdp.release_distortion_bound(release, epsilon=1.0).label()
    yield "gaussian", hetdp.release(stretched, values, rho=0.5).label()
    classes = hetdp.weight_classes(queries.mean(Box.uniform(0, 1, size=3)), [*weights[:2], 0.0])
    yield "weight classes", hetdp.release(classes, values, epsilon=0.5).label()
    rows = pa.table({"ward": ["er", "icu"] + ["er"] * extra, "dial": [1.0, 0.5] + [0.0] * extra})
    yield (
        "table",
        hetdp.release_table(
            rows, {"people": hetdp.tables.count()}, by={"ward": ["er", "icu"]}, weights="dial", epsilon=1.0
        ).label(),
    )
    yield "ledger", ledger.label()
    crowd = profiles(0.0, extra)
    for engine in ("exact", "gossip", "sketch"):
        searching = hetdp.PrivateNeighbors(epsilon=1, engine=engine, n_neighbors=1, cycles=2, catalogue="given")
        yield engine, searching.fit(crowd).label()
    for kind in ("sketch", "matrix"):
        yield f"model, {kind}", hetdp.PrivateRecommender(epsilon=1, release=kind, catalogue="given").fit(crowd).label()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no item may be named")  # of a crowd so small
def test_every_way_to_a_result_has_a_label_that_a_weight_of_0_leaves_alone():
    without, beside = dict(labelled(0)), dict(labelled(1))
    assert len(without) == 11
    for name, label in without.items():
        assert isinstance(label, Label)
        assert label.to_json() == beside[name].to_json(), name
        assert (label.text, label.to_html()) == (beside[name].text, beside[name].to_html())


def test_weights_leave_no_trace_in_a_label():
    def label(weight):
        stretched = hetdp.stretch(queries.mean(Box.uniform(0, 1, size=2)), [weight, 1.0])
        return hetdp.release(stretched, [0, 1], epsilon=0.5).label().to_json()

    assert label(0.1) == label(0.9)


def test_a_label_is_about_the_fits_there_were_not_about_parameters_of_now():
    profiles = hetdp.Profiles.from_pairs(list(range(300)) * 2, ["tea"] * 300 + ["jazz"] * 300)
    fitted = hetdp.PrivateNeighbors(2, engine="sketch", catalogue="given").fit(profiles)
    assert fitted.label().guarantee.trust == "local"
    assert fitted.set_params(engine="exact").label().guarantee.trust == "local"
    label = fitted.fit(profiles).set_params(engine="sketch").label()
    assert (label.guarantee.trust, "exact" in label.mechanism) == ("holder", True)
    model = hetdp.PrivateRecommender(epsilon=50).fit(profiles).set_params(catalogue="given").fit(profiles)
    assert model.label().guarantee.trust == "holder"


def test_the_label_of_a_ledger_counts_every_kind_of_charge():
    people = hetdp.Ledger.of_people(limit=10)
    people.charge_people([(["ann"], [1.0])], amount=0.5)
    people.view(["ann"]).charge([5.0], amount=5)
    assert (people.label().spending.spent, people.label().spending.left) == (5.5, 4.5)


def test_public_sizes_are_no_secret_of_a_dial():
    swapped = hetdp.PrivateNeighbors(2, score="cosine", sizes="public").promise(9).label().text
    assert "Weight 0 keeps" not in swapped
    assert "How many items there are is public" in swapped
