"""What commands print and write: lines that fit a terminal, what became of a ledger, approved texts of errors.

`tests/cli/approved/errors.txt` holds the commonest errors as people see them. After a change of words, read the
difference and approve it: `HETDP_APPROVE=1 pytest tests/cli/test_output.py`. The texts of `--help` are approved in
`docs/reference/cli.md`.
"""

import io
import os
import shlex
from pathlib import Path

import pytest

from hetdp.cli.output import Voice, say_ledger, wrapped

LONG = "Where they do, the strict are under-represented; --by-weight shows it, at https://example.org/a-long-address."
APPROVED = Path(__file__).parent / "approved" / "errors.txt"
MEAN = "release people.csv --query mean --column hours --lower 0 --upper 80"
#: What goes wrong most often.
ERRORS = (
    "release nofile.csv --query mean --column hours --lower 0 --upper 80 --epsilon 1",
    "release people.csv --query mean --column hourz --lower 0 --upper 80 --epsilon 1",
    "neighbors likes.csv --item-column movie --epsilon 1",
    "release people.csv",
    "learn",
    f"{MEAN} --epsilon 1 --rho 1 --limit 3 --bins 4",
    "neighbors likes.csv --epsilon 1 -k 2 --no-weights --weight-column w --cycles 3 --colluders 2",
    f"{MEAN} --epsilon -1",
    "release people.csv --query middle --column hours --epsilon 1",
    "release people.csv --aggregate median:hours:0:80 --epsilon 1",
    "release people.csv --aggregate count --by ward --epsilon 1",
    "budget missing.db",
    f"{MEAN} --epsilon 1 --ledger people.csv",
    f"{MEAN} --epsilon 1 -o nowhere/answer.json",
    f"{MEAN} --epsilon 1 -o people.csv",
    f"{MEAN} --epsilon 1 --default-weight 2",
    f"{MEAN} --epsilon 1 --plot answer.pdf",
    f"{MEAN} --epsilon 1 --plot answer.svg",
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_remarks_fit_a_terminal_and_stay_one_line_elsewhere(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert wrapped(LONG, to=io.StringIO()) == LONG
    lines = wrapped(LONG, to=Terminal()).split("\n")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 50
    assert " ".join(lines) == LONG  # options and addresses are never broken


def test_the_help_of_a_release_has_headings_and_fits(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("release", "--help")
    lines = out.split("\n")
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert len(headings) == 6
    assert max(map(len, lines)) <= 80
    assert out.count("--epsilon FLOAT") == 1


def test_the_commonest_errors_are_as_approved(run, tmp_path, monkeypatch, hide):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    hide("altair")
    Path("people.csv").write_text("id,hours,weight\na,30,1\nb,40,0.5\n")
    Path("likes.csv").write_text("user,item\nann,tea\nann,jazz\nbob,tea\n")
    said = []
    for command in ERRORS:
        code, out, err = run(*shlex.split(command))
        assert (out, code > 1) == ("", True)
        said.append(f"$ hetdp {command}\n{err.replace(str(tmp_path), '.')}[exit code {code}]\n")
    assert {path.name for path in Path().iterdir()} == {"people.csv", "likes.csv"}
    shown = "\n".join(said)
    if os.environ.get("HETDP_APPROVE"):
        APPROVED.write_text(shown, encoding="utf-8")
    assert shown == APPROVED.read_text(encoding="utf-8"), "see the first lines of this file"


@pytest.mark.parametrize(
    ("protects", "told", "options", "notes"),
    [
        ("row", {"made": "epsilon = 3"}, {}, ["l.db: every row may lose epsilon = 3"]),
        ("person", {"made": "rho = 1"}, {"limit": 1, "weights_limit": 2}, ["l.db: every person may lose rho = 1"]),
        ("person", {"new": 1}, {"limit": 7}, ["1 new person to l.db"]),
        ("person", {"new": 1200}, {"weights_limit": 2}, ["1,200 new people", "--weights-limit had no effect"]),
        ("row", {}, {"limit": 7}, ["Private: --limit had no effect"]),
        ("person", {}, {}, []),
    ],
)
def test_what_became_of_a_ledger_and_what_was_ignored_is_said(capsys, protects, told, options, notes):
    given = {"limit": None, "weights_limit": None, **options}
    say_ledger(Voice(), Path("l.db"), protects, given, **told)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(notes)
    assert all(note in line for line, note in zip(said, notes, strict=True))
