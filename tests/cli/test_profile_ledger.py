"""`--ledger` of neighbours and models: charged before anything is drawn, refused as a whole."""

import json
from pathlib import Path

import pytest

from hetdp.accounting import Ledger

SEARCH = ("neighbors", "likes.csv", "-k", 2, "--epsilon", 1)
LEARN = ("learn", "likes.csv", "--epsilon", 1, "--catalogue", "items.txt")
BOOK = ("--ledger", "book.db")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [(user, item) for user in range(12) for item in range(user % 4, 24, 4)]
    Path("likes.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in pairs))
    Path("items.txt").write_text("".join(f"{item}\n" for item in range(24)))


def charged(run, *arguments):
    code, out, err = run(*arguments, "--json", "--quiet")
    assert code == 0, err
    return json.loads(out)["ledger"]


@pytest.mark.parametrize("arguments", [SEARCH, (*LEARN, "-o", "model.hetdp")])
def test_every_run_adds_to_one_total_until_the_limit_refuses(run, arguments):
    for run_number in (1, 2):
        told = charged(run, *arguments, *BOOK, "--limit", 2.5)
        assert (told["charge"], told["total"], told["limit"]) == (1.0, run_number, 2.5)
        assert told["left"] == 2.5 - run_number
        assert told["colluders"] == 1
    Path("model.hetdp").unlink(missing_ok=True)
    kept = Path("book.db").read_bytes()
    code, out, err = run(*arguments, *BOOK, *(() if arguments[0] == "learn" else ("-o", "found.csv")))
    assert (code, out) == (4, "")
    assert "2.5" in err or "0.5" in err
    assert not Path("found.csv").exists()
    assert not Path("model.hetdp").exists()
    assert Path("book.db").read_bytes() == kept


def test_a_refused_charge_spends_nothing_and_keeps_the_file(run):
    Path("found.csv").write_text("kept")
    assert run(*SEARCH, *BOOK, "--limit", 0.9, "-o", "found.csv")[0] == 4
    assert Path("found.csv").read_text() == "kept"
    assert not Path("book.db").exists()


def test_a_dry_run_says_what_would_be_left_and_spends_nothing(run):
    assert charged(run, *SEARCH, *BOOK, "--limit", 1.5)["left"] == 0.5
    half = ("neighbors", "likes.csv", "-k", 2, "--epsilon", 0.25)
    for arguments, left, would in ((half, 0.25, "be charged"), (SEARCH, 0.5, "be refused (exit code 4)")):
        told = charged(run, *arguments, *BOOK, "--dry-run")
        assert (told["total"], told["left"], told["would"]) == (1.0, left, would)
    out = " ".join(run(*SEARCH, *BOOK, "--dry-run")[1].split())
    assert "would be refused (exit code 4), epsilon = 1; 0.5 of 1.5 left at weight 1" in out
    out = " ".join(run(*LEARN, "-o", "m.hetdp", *BOOK, "--dry-run")[1].split())
    assert "would be refused (exit code 4)" in out
    with Ledger.open("book.db") as ledger:
        assert ledger.total == 1.0
    assert not Path("new.db").exists()
    run(*SEARCH, "--ledger", "new.db", "--dry-run")
    assert not Path("new.db").exists()


def test_colluders_multiply_lists_and_are_fixed_when_the_ledger_is_made(run):
    told = charged(run, *SEARCH, *BOOK, "--limit", 9, "--colluders", 3)
    assert (told["charge"], told["total"], told["colluders"]) == (3.0, 3.0, 3)
    assert told["against"].startswith("3 recipients who share their lists")
    assert charged(run, *LEARN, "-o", "model.hetdp", *BOOK)["charge"] == 1.0  # all see the same
    for option, other in (("--colluders", 2), ("--limit", 8), ("--delta-limit", 1e-5)):
        code, _, err = run(*SEARCH, *BOOK, option, other)
        assert (code, option in err) == (2, True)
    assert charged(run, *SEARCH, *BOOK, "--colluders", 3, "--limit", 9)["total"] == 7.0


def test_deltas_have_a_limit_of_their_own(run):
    private = ("learn", "likes.csv", "--epsilon", 100, "-o", "model.hetdp", *BOOK)
    assert run(*private, "--delta", 1e-6, "--limit", 1000, "--delta-limit", 1.5e-6)[0] == 0
    assert run(*private, "--delta", 1e-6)[0] == 4
    assert run(*private, "--delta", 1e-7)[0] == 0


def test_a_ledger_of_another_kind_is_refused(run):
    Ledger.of_people("people.db", limit=3).close()
    code, _, err = run(*SEARCH, "--ledger", "people.db")
    assert (code, "--ledger must be a ledger of profiles" in err) == (3, True)
    assert run(*LEARN, "--release", "matrix", "-o", "model.hetdp", "--ledger", "rho.db")[0] == 0
    with Ledger.open("rho.db") as ledger:
        assert (ledger.unit, ledger.limit) == ("rho", 0.25)
    assert run(*LEARN, "-o", "other.hetdp", *BOOK)[0] == 0
    assert run(*LEARN, "--release", "matrix", "-o", "third.hetdp", *BOOK)[0] != 0  # rho on a ledger of epsilon
    assert not Path("third.hetdp").exists()


def test_options_without_a_ledger_and_a_ledger_at_home_are_refused(run):
    code, _, err = run(*SEARCH, "--colluders", 2)
    assert (code, "--colluders cannot be used without --ledger" in err) == (2, True)
    assert run(*LEARN, "-o", "model.hetdp")[0] == 0
    Path("me.csv").write_text("item\n1\n5\n")
    code, _, err = run("recommend", "model.hetdp", "me.csv", *BOOK)
    assert (code, "--ledger" in err) == (2, True)
    code, _, err = run(*SEARCH, *BOOK, "-o", "book.db.csv")
    assert code == 0
    assert run(*SEARCH, "--ledger", "likes.csv")[0] == 5


def test_the_budget_of_profiles_is_shown(run):
    run(*SEARCH, *BOOK, "--limit", 3, "--colluders", 2)
    shown = json.loads(run("budget", "book.db", "--json")[1])
    assert (shown["protects"], shown["colluders"], shown["unit"]) == ("item", 2, "epsilon")
    assert (shown["total_of_weight_1"], shown["limit"], shown["left"], shown["delta_spent"]) == (2.0, 3.0, 1.0, 0.0)
    assert [entry["query"] for entry in shown["history"]] == ["neighbours (exact)"]
    assert "private" not in shown  # one total, which is public
    out = " ".join(run("budget", "book.db", "--items")[1].split())
    for words in (
        "each item of a set of profiles",
        "2 recipients who share their lists",
        "1 of 3",
        "neighbours (exact)",
    ):
        assert words in out
