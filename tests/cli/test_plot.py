"""`--plot`: drawn from what was found, refused before anything is spent, and never at the cost of an answer."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.support.errors import complaints

from hetdp import Ledger
from hetdp.core.text import as_precise

MEAN = ("release", "people.csv", "--query", "mean", "--column", "hours", "--lower", 0, "--upper", 80)
SPEND = ("--weight-column", "privacy", "--epsilon", 1, "--ledger", "ledger.db")
WARDS = (
    *("release", "people.csv", "--aggregate", "mean:hours:0:80", "--aggregate", "count", "--by", "ward"),
    *("--keys", "wards.txt", "--weight-column", "privacy", "--unit", "id", "--epsilon", 5),
)
AUDIT = ("audit", "mine.py:good", "--claimed", 1, "--adjacent", "[[[0, 1], [1, 1]]]", "--samples", 2000, "--seed", 1)
COMPARE = ("compare", "--query", "mean", "--epsilon", 1, "-n", 50, "--runs", 5)
EVALUATE = ("evaluate", "likes.csv", "-k", 3, "--runs", 2, "--engine", "sketch")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{row},{row % 60},{(0.5, 1)[row % 2]},{('er', 'icu')[row % 2]}" for row in range(200)]
    Path("people.csv").write_text("\n".join(["id,hours,privacy,ward", *rows]) + "\n")
    Path("wards.txt").write_text("er\nicu\n")
    Path("mine.py").write_text(
        "import numpy as np\n"
        "def good(profile, size, random_state):\n"
        "    return sum(profile) + np.random.default_rng(random_state).laplace(0, 1, size)\n"
    )
    rng = np.random.default_rng(5)
    pairs = {(u, 40 * (u % 4) + int(i)) for u in range(40) for i in rng.integers(0, 40, 20)}
    Path("likes.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in sorted(pairs)))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "title"),
    [
        ((*MEAN, *SPEND), "A released mean of hours"),
        (WARDS, "A released table: mean of hours and count by ward"),
        (COMPARE, "Error of the mean of 50 items at epsilon = 1"),
        (EVALUATE, "What privacy costs: quality against total loss"),
        (AUDIT, "good: no violation found"),
    ],
    ids=["release", "table", "compare", "evaluate", "audit"],
)
def test_what_was_found_is_drawn(run, command, title):
    code, out, err = run(*command, "--plot", "found.svg", "--json")
    assert code == 0, err
    assert json.loads(out)
    assert "Wrote found.svg." in err
    assert f"<title>{title}</title>" in Path("found.svg").read_text()


def test_the_picture_is_of_what_was_released(run):
    _, out, _ = run(*MEAN, *SPEND, "--plot", "found.svg", "--json")
    answer = json.loads(out)
    (shown,) = as_precise(answer["estimate"], answer["low"], answer["high"])[:1]
    assert f"{shown} (" in Path("found.svg").read_text()


def test_no_chart_is_made_of_a_category(run):
    code, _, err = run(
        *("release", "people.csv", "--query", "mode", "--column", "ward", "--categories", "er,icu"),
        *("--epsilon", 1, "--plot", "mode.svg"),
    )
    assert (code, complaints(err)) == (2, ["--plot"])


REFUSED = {"found.pdf": 2, "nowhere/found.svg": 3, "data.svg": 2, "ledger.svg": 2}


@pytest.mark.parametrize("plot", REFUSED)
@pytest.mark.parametrize("command", [(*MEAN, *SPEND), (*WARDS, "--ledger", "ledger.db")], ids=["query", "table"])
def test_what_cannot_be_written_is_refused_before_anything_is_spent(run, command, plot):
    Path("people.csv").rename("data.svg")
    called = {"people.csv": "data.svg", "ledger.db": "ledger.svg"}
    code, out, err = run(*(called.get(word, word) for word in command), "--plot", plot)
    assert (code, complaints(err)) == (REFUSED[plot], ["--plot"])
    assert not out
    assert not Path("ledger.svg").exists()


@pytest.mark.parametrize("kind", ["bins", "groups"])
def test_more_than_can_be_seen_is_refused_before_anything_is_spent(run, kind):
    bins = ("histogram" if word == "mean" else word for word in (*MEAN, *SPEND))
    Path("wards.txt").write_text("".join(f"{ward}\n" for ward in range(600)))  # of two aggregates each
    command = (*bins, "--bins", 1200) if kind == "bins" else (*WARDS, "--ledger", "ledger.db")
    code, out, err = run(*command, "--plot", "found.svg")
    assert code == 2
    assert "1200" in err
    assert not out
    assert not Path("ledger.db").exists()


def test_two_files_cannot_be_one(run):
    code, _, err = run(*WARDS, "-o", "same.json", "--plot", "./same.json")
    assert (code, complaints(err)) == (2, ["--plot"])


def test_a_missing_extra_is_named_before_anything_is_spent(run, hide):
    hide("altair")
    code, out, err = run(*MEAN, *SPEND, "--plot", "found.svg")
    assert code != 0
    assert not out
    assert "pip install 'hetdp[plot]'" in err
    assert not Path("ledger.db").exists()


def test_an_answer_that_was_paid_for_is_shown_even_if_it_cannot_be_drawn(run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hetdp.plots.as_bytes", full)
    code, out, err = run(*MEAN, *SPEND, "--plot", "found.svg")
    assert code == 6
    assert "estimate of the mean" in out
    assert "No space left on device" in err
    assert not Path("found.svg").exists()
    with Ledger.open("ledger.db") as ledger:
        assert len(ledger.history) == 1


def test_a_dry_run_draws_nothing(run):
    for command in ((*MEAN, *SPEND), WARDS):
        code, _, err = run(*command, "--plot", "found.svg", "--dry-run")
        assert code == 0, err
    assert not Path("found.svg").exists()


def test_a_battery_has_no_picture(run):
    code, _, err = run("audit", "--list", "--plot", "found.svg")
    assert (code, complaints(err)) == (2, ["--plot"])


@pytest.mark.slow
def test_no_text_of_the_data_is_a_script_in_a_page(run, tmp_path):
    wicked = "</script><script>alert(1)//"
    data, page = tmp_path / "wards.csv", tmp_path / "picture.html"
    data.write_text("id,ward\n" + "".join(f"p{person},{wicked}\n" for person in range(400)))
    options = ("--aggregate", "count", "--by", "ward", "--unknown-keys", "--epsilon", 3, "--unit", "id")
    assert run("release", data, *options, "--plot", page)[0] == 0
    written = page.read_text()
    assert wicked not in written
    assert "alert(1)//" in written
    assert not re.search(r"<script>alert|</script>\S*alert", written)


def test_a_table_in_which_nothing_may_be_named_is_drawn_too(run, tmp_path):
    data, picture = tmp_path / "wards.csv", tmp_path / "picture.svg"
    data.write_text("id,ward\n" + "".join(f"p{person},ward {person}\n" for person in range(40)))
    options = ("--aggregate", "count", "--by", "ward", "--unknown-keys", "--epsilon", 1, "--unit", "id")
    assert run("release", data, *options, "--plot", picture)[0] == 0
    assert "No group has enough people to be named." in picture.read_text()


def test_a_picture_that_cannot_be_drawn_is_output_that_could_not_be_written(run, tmp_path, monkeypatch):
    def fails(*_):
        raise ValueError

    monkeypatch.setattr("hetdp.plots.as_bytes", fails)
    picture = tmp_path / "picture.svg"
    code, _, err = run("compare", "--query", "mean", "--epsilon", 1, "-n", 50, "--runs", 3, "--plot", picture)
    assert code == 6
    assert "the picture could not be drawn" in err
    assert not picture.exists()


def test_more_bins_than_can_be_drawn_are_refused_before_anything_is_spent(run):
    bins = ("histogram" if word == "mean" else word for word in (*MEAN, *SPEND))
    code, out, err = run(*bins, "--bins", 1800, "--plot", "found.svg")
    assert (code, out) == (2, "")
    assert "1800" in err
    assert not Path("ledger.db").exists()


def test_files_of_keys_and_categories_are_kept(run):
    for name in ("wards.csv", "wards.json", "wards.svg"):
        Path(name).write_text("er\nicu\n")
        option = "--plot" if name.endswith(".svg") else "-o"
        assert run(*(name if word == "wards.txt" else word for word in WARDS), option, name)[0] == 2
    bars = ("release", "people.csv", "--query", "histogram", "--column", "ward", "--categories-file", "wards.svg")
    assert run(*bars, "--epsilon", 1, "--plot", "wards.svg")[0] == 2
    assert {Path(name).read_text() for name in ("wards.csv", "wards.json", "wards.svg")} == {"er\nicu\n"}


def test_nothing_of_the_data_moves_the_cursor(run):
    wicked = f"x{chr(27)}]0;pwned{chr(7)}{chr(27)}[2J"
    Path("wicked.csv").write_text("id,ward\n" + "".join(f"p{person},{wicked}\n" for person in range(400)))
    options = ("--aggregate", "count", "--by", "ward", "--unknown-keys", "--epsilon", 8, "--unit", "id")
    code, out, _ = run("release", "wicked.csv", *options)
    assert code == 0
    assert "pwned" in out
    assert chr(27) not in out
