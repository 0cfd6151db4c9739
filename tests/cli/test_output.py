"""How commands speak: lines that fit a terminal, help in sections, what became of a ledger."""

import io
from pathlib import Path

import click
import pytest

from hetdp.cli.output import Sectioned, Voice, say_ledger, wrapped
from hetdp.cli.release import release

LONG = "Where they do, the strict are under-represented; --by-dial shows it, at https://example.org/a-long-address."


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


def test_every_option_of_a_release_is_in_one_section():
    names = [name for names in release.sections.values() for name in names]
    options = {option.name for option in release.params if isinstance(option, click.Option)}
    assert set(names) <= options
    assert options - set(names) == {"output", "plot", "as_json", "quiet", "dry_run"}
    assert isinstance(release, Sectioned)


def test_the_help_of_a_release_has_headings_and_fits(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("release", "--help")
    lines = out.split("\n")
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Data:",
        "One question about all rows (--query):",
        "Answers per group (--aggregate):",
        "Privacy:",
        "Ledger:",
        "Output:",
    ]
    assert max(map(len, lines)) <= 80
    assert out.count("--epsilon FLOAT") == 1


@pytest.mark.parametrize(
    ("protects", "told", "options", "said"),
    [
        ("row", {"made": "epsilon = 3"}, {}, ["Made l.db: every row, by its position, may lose epsilon = 3 in total."]),
        ("person", {"made": "rho = 1"}, {"limit": 1, "weights_limit": 2}, ["Made l.db: every person may lose rho = 1"]),
        ("person", {"new": 1}, {"limit": 7}, ["Private: added 1 new person to l.db."]),
        (
            "person",
            {"new": 1200},
            {"weights_limit": 2},
            ["Private: added 1,200 new people", "--weights-limit is for new ledgers"],
        ),
        ("row", {}, {"limit": 7}, ["Private: --limit is for rows new to the ledger: there are none"]),
        ("person", {}, {}, []),
    ],
)
def test_what_became_of_a_ledger_and_what_was_ignored_is_said(capsys, protects, told, options, said):
    given = {"limit": None, "weights_limit": None, **options}
    say_ledger(Voice(), Path("l.db"), protects, given, **told)
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == len(said)
    assert all(note.startswith(begin) for note, begin in zip(notes, said, strict=True))
