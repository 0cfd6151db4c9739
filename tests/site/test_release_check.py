"""tools/release_check.py: it tries every extra, with commands that exist, and a failure is told and counted."""

import importlib.util
import shlex
from pathlib import Path

import pytest
from tests.support.command_words import parsed

from hetdp.cli import main

ROOT = Path(__file__).resolve().parents[2]


def loaded(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


CHECK = loaded(ROOT / "tools" / "release_check.py")
COMMANDS = [command for some in (CHECK.BARE, *CHECK.WITH_EXTRA.values()) for command in some]


def test_every_extra_that_somebody_may_install_is_tried():
    assert set(CHECK.WITH_EXTRA) == set(CHECK.settings()["project"]["optional-dependencies"])


def test_every_group_of_commands_is_run_and_every_word_is_one_that_is_read():
    words = [shlex.split(command) for command in COMMANDS]
    asked = [rest for program, *rest in words if program == "hetdp" and not rest[0].startswith("-")]
    assert {rest[0] for rest in asked if parsed(rest)} == set(main.COMMANDS)
    for program, *rest in words:
        if program == "python" and rest[0].endswith(".py"):
            compile(CHECK.GIVEN[rest[0]], rest[0], "exec")


def test_a_failure_is_told_and_noted_and_the_rest_goes_on(capsys):
    findings = CHECK.Findings(planned=2)

    def fail():
        raise CHECK.Failed("what went wrong")

    assert findings.attempt("the first", fail) is None
    assert findings.attempt("the second", lambda: 3) == 3
    told = capsys.readouterr().out
    assert findings.failed == ["the first"]
    assert "[1/2] the first ... FAILED after 0 s\n    what went wrong" in told
    assert "[2/2] the second ... 0 s" in told


def test_other_bytes_other_names_and_other_ends_are_failures(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hetdp.whl").write_text(name)
    first, second = (tmp_path / name / "hetdp.whl" for name in ("one", "two"))
    CHECK._same([first], [first])
    with pytest.raises(CHECK.Failed, match=r"bytes differ: hetdp\.whl"):
        CHECK._same([first], [second])
    with pytest.raises(CHECK.Failed, match=r"and \['hetdp.whl'\] before"):
        CHECK._same([first], [])
    with pytest.raises(CHECK.Failed, match="exit code 3"):
        CHECK._run(["python3", "-c", "raise SystemExit(3)"], tmp_path)
