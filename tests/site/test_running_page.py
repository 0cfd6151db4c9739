"""docs/guide/running.md: every command in it exists, with these options, and the unit runs one of them."""

import re
import shlex
from pathlib import Path

import click
import pytest
from tests.support.command_words import parsed

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guide" / "running.md").read_text(encoding="utf-8")
UNIT = (ROOT / "packaging" / "hetdp-node.service").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = re.findall(r"(?:^|\s|/)hetdp ((?:node|network) .*)$", BLOCKS, flags=re.MULTILINE)
STARTED = re.findall(r"^ExecStart=/opt/hetdp/bin/hetdp (.*)$", UNIT, flags=re.MULTILINE)


@pytest.mark.parametrize("line", [*COMMANDS, *STARTED])
def test_commands_of_the_page_and_of_the_unit_can_be_read(line):
    parsed(shlex.split(line))


def test_a_command_that_is_not_there_is_noticed():
    with pytest.raises(AssertionError):
        parsed(["node", "reinstall"])
    with pytest.raises(click.UsageError):
        parsed(["node", "page", "--port", "8765"])


def test_the_page_shows_what_it_is_about():
    assert len(COMMANDS) >= 9
    assert len(STARTED) == 1
    named = {line.split()[1] for line in COMMANDS}
    assert named >= {"init", "status", "backup", "restore", "move", "receive", "page", "add-peer"}
    folders = set(re.findall(r"--folder (\S+)", "\n".join([*COMMANDS, *STARTED])))
    assert folders == {"/var/lib/hetdp/node"}, "the unit runs the node that the page makes"


def test_the_unit_keeps_the_node_in_its_folder_and_its_page_out_of_the_journal():
    settings = dict(line.split("=", 1) for line in UNIT.splitlines() if re.match(r"[A-Z]\w+=", line))
    assert settings["ProtectSystem"] == "strict"
    assert settings["StateDirectory"] == "hetdp"
    assert settings["StateDirectoryMode"] == "0700"
    assert settings["NoNewPrivileges"] == settings["ProtectHome"] == "yes"
    assert settings["CapabilityBoundingSet"] == ""
    assert settings["StandardOutput"] == "null", "the address of the page is printed there"
    assert "MemoryDenyWriteExecute" not in settings
    assert "ProcSubset" not in settings


def test_the_unit_comes_with_the_package():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"packaging/hetdp-node.service" = "share/hetdp/hetdp-node.service"' in text
    assert "share/hetdp/hetdp-node.service" in PAGE
