"""`hetdp budget` on ledgers of every kind, and the options of `hetdp release` that are about a ledger."""

import json

import pytest
from tests.support.errors import complaints

from hetdp.accounting import Ledger
from hetdp.cli.output import rounded

RELEASE = ["--query", "mean", "--column", "hours", "--lower", "0", "--upper", "80", "--weight-column", "privacy"]


@pytest.fixture
def people(tmp_path):
    """Return a function that writes a table of some people."""

    def write(ids, name="people.csv"):
        path = tmp_path / name
        rows = [f"{one},{40 + place % 9},0.5" for place, one in enumerate(ids)]
        path.write_text("\n".join(["person,hours,privacy", *rows]) + "\n")
        return path

    return write


def test_a_ledger_of_people_is_shown_with_its_totals_and_limits(tmp_path, run):
    path = tmp_path / "people.db"
    with Ledger.of_people(path, limit=3, weights_limit=2, delta_limit=1e-6, on_exhausted="drop") as ledger:
        ledger.charge_people([(["ann", 7], [1.0, 1 / 3])], amount=2, delta=3e-8, weights_loss=0.5, description="hours")
        ledger.charge_people(None, amount=1.5, description="all")
    code, out, _ = run("budget", path, "--json", "--items")
    shown = json.loads(out)
    owned = shown["private"]
    assert code == 0
    assert (owned["items"], shown["releases"], owned["dropped_items"], owned["exhausted_items"]) == (2, 2, 1, 1)
    assert (shown["protects"], shown["against"].startswith("one who sees every release")) == ("person", True)
    assert (shown["total_of_weight_1"], shown["limit_of_new_people"]) == (3.5, 3.0)
    assert (shown["weights_spent"], shown["weights_limit"]) == (0.5, 2.0)
    assert (shown["delta_spent"], shown["delta_limit"]) == (3e-8, 1e-6)
    assert [(entry["query"], entry["epsilon"], entry["delta"]) for entry in shown["history"]] == [
        ("hours", 2.0, 3e-8),
        ("all", 1.5, 0.0),
    ]
    found = {row["item"]: (row["limit"], row["spent"], row["remaining"]) for row in owned["per_item"]}
    assert found == {"ann": (3.0, 3.0, 0.0), 7: (3.0, 1.16666666667, 1.83333333333)}
    code, out, _ = run("budget", path, "--items")
    assert code == 0
    for words in ("1.16667", "1.83333", "dropping"):
        assert words in out
    spaced = " ".join(out.split())
    for words in (
        "who 2 people",
        "limit epsilon = 3 each",
        "spent at most 3, on average 2.08334",  # up
        "left at least 0 nothing left 1 person dropped 1 person",
        "hours epsilon = 2 3e-08 0.5 dropping",
        "spent by weights 0.5 of 2",
        "delta 3e-08 of 1e-06",
    ):
        assert words in spaced


def test_an_empty_ledger_is_shown(tmp_path, run):
    Ledger.of_people(tmp_path / "none.db", limit=1).close()
    code, out, _ = run("budget", tmp_path / "none.db", "--json")
    shown = json.loads(out)["private"]
    assert (code, shown["items"], shown["spent_max"], shown["remaining_min"]) == (0, 0, 0.0, None)
    assert run("budget", tmp_path / "none.db", "--items")[0] == 0


def test_figures_are_never_rounded_to_the_nearest():
    for value in (1 / 3, 2 / 3, 0.1 + 0.2, 1e-9 / 7, 12345.6789, 0.5):
        up, down = rounded(value, 6, up=True), rounded(value, 6, up=False)
        assert down <= value <= up
        assert up - down <= 1.1e-5 * value
    assert rounded(float("inf"), 6, up=True) is None


def test_the_same_people_written_differently_have_one_budget(tmp_path, people, run):
    ledger = tmp_path / "ledger.db"
    for writing in ("{}", "{}.0", " {}"):
        table = people([writing.format(person) for person in range(1, 9)])
        assert run("release", table, *RELEASE, "--epsilon", "1", "--ledger", ledger, "--id-column", "person")[0] == 0
    with Ledger.open(ledger) as opened:
        assert (opened.size, opened.items) == (8, tuple(range(1, 9)))
        assert opened.spent == pytest.approx([1.5] * 8)
    code, _, err = run(
        "release", people(["1", "1.0"]), *RELEASE, "--epsilon", "1", "--ledger", ledger, "--id-column", "person"
    )
    assert code != 0
    assert "must identify each row of people.csv" in err


def test_a_table_of_strangers_is_refused_unless_told(tmp_path, people, run):
    ledger = tmp_path / "ledger.db"
    charged = ["--epsilon", "0.5", "--ledger", ledger, "--id-column", "person"]
    assert run("release", people(["ann", "bob"]), *RELEASE, *charged)[0] == 0
    strangers = people(["ann", "SECRET1", "SECRET2"], "strangers.csv")
    code, _, err = run("release", strangers, *RELEASE, *charged)
    assert (code != 0, "--new-people" in err, "SECRET" in err) == (True, True, False)
    with Ledger.open(ledger) as opened:
        assert (opened.size, len(opened.history)) == (2, 1)
    assert run("release", strangers, *RELEASE, *charged, "--new-people")[0] == 0
    with Ledger.open(ledger) as opened:
        assert (opened.size, len(opened.history)) == (4, 2)


def test_a_new_ledger_may_limit_what_weights_lose(tmp_path, people, run):
    ledger = tmp_path / "ledger.db"
    charged = ["--epsilon", "1", "--ledger", ledger, "--id-column", "person", "--weights-limit", "1.5"]
    table = people(["ann", "bob"])
    codes = [run("release", table, *RELEASE, *charged)[0] for _ in range(3)]
    assert codes[0] == 0
    assert codes[-1] == 4
    with Ledger.open(ledger) as opened:
        assert opened.weights_limit == 1.5
        assert opened.weights_spent <= 1.5


@pytest.mark.parametrize("option", [["--new-people"], ["--weights-limit", "1"]])
def test_options_of_a_ledger_need_one(people, run, option):
    code, _, err = run("release", people(["ann"]), *RELEASE, "--epsilon", "1", *option)
    assert (code, complaints(err)) == (2, [option[0]])


def test_rows_are_told_from_people_and_limits_from_none(tmp_path, people, run):
    table, ledger = people(range(40)), tmp_path / "rows.db"
    assert run("release", table, *RELEASE, "--rho", "0.1", "--ledger", ledger)[0] == 0
    code, out, err = run("budget", ledger)
    spaced = " ".join(out.split())
    assert (code, "one who has seen all of these releases" in err) == (0, True)
    for words in (
        "who 40 rows",
        "limit rho = 0.25 each",
        "spent by weights 0.03125, without a limit",
    ):
        assert words in spaced
    assert "spent in epsilon at most 1.0" in spaced
    assert "with delta = 1e-06" in spaced


def test_the_history_says_what_was_asked(tmp_path, people, run):
    table, ledger = people(range(40)), tmp_path / "ledger.db"
    options = ("--epsilon", "1", "--ledger", ledger, "--id-column", "person")
    assert run("release", table, *RELEASE, *options)[0] == 0
    assert run("release", table, *RELEASE, *options, "--mechanism", "stretching")[0] == 0
    shown = json.loads(run("budget", ledger, "--json")[1])
    assert [(entry["query"], entry["weights_loss"]) for entry in shown["history"]] == [
        ("mean of hours", 0.75),
        ("mean of hours", 1.0),
    ]
    code, _, err = run("release", table, *RELEASE, *options[:-2])
    assert (code, complaints(err)) == (3, ["--id-column"])


def test_what_weight_1_has_paid_counts_releases_of_rows_too(people, tmp_path, run):
    path = tmp_path / "ledger.db"
    assert run("release", people(range(9)), *RELEASE, "--epsilon", 1.5, "--ledger", path)[0] == 0
    shown = json.loads(run("budget", path, "--json")[1])
    assert (shown["total_of_weight_1"], shown["private"]["spent_max"]) == (1.5, 0.75)
