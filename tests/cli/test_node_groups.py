"""`hetdp node groups`: what sketches tell about groups, and limits, on the command line; all of it private."""

import json
from pathlib import Path

import pytest

from hetdp.node.handle import NodeHandle

FOLDER = ("--folder", "home")


@pytest.fixture
def made(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"i{n},{'health' if n < 20 else 'tea'}\n" for n in range(60))
    Path("items.csv").write_text("item,group\n" + rows)
    Path("me.csv").write_text("item\n" + "".join(f"i{n}\n" for n in (*range(10), 30)))
    code, _, err = run("network", "create", "net.toml", "--catalogue", "items.csv", "--epsilon", 3)
    assert code == 0, err
    code, out, err = run("node", "init", "--network", "net.toml", "--profile", "me.csv", *FOLDER)
    assert code == 0, err
    return out, err


def dials():
    handle = NodeHandle.open(Path("home"))
    try:
        return {item.item: item.dial for item in handle.store.profile.items()}
    finally:
        handle.close()


def test_a_new_node_says_what_its_first_sketch_would_tell(made):
    out, err = made
    private = out.split("Private, for the owner of the data:")
    assert "health" not in private[0]
    assert "practically" in private[-1]
    assert "hetdp node groups --folder home" in err


@pytest.mark.usefixtures("made")
def test_groups_are_shown_under_private_only(run):
    code, out, _ = run("node", "groups", *FOLDER, "--json")
    assert code == 0
    shown = json.loads(out)
    assert list(shown) == ["private"]
    health, tea, whole = shown["private"]["groups"]
    assert (health["group"], health["items"], health["next_sketch"]["loss"]) == ("health", 10, 30.0)
    assert health["next_sketch"]["accuracy"] > 0.999
    assert tea["next_sketch"]["accuracy"] == pytest.approx(0.9526, abs=1e-4)
    assert whole["group"] == "Your whole list"
    for command in (("status",), ("run", "--dry-run")):
        _, out, err = run("node", *command, *FOLDER)
        assert "health" not in out.split("Private, for the owner of the data:")[0] + err
        _, out, _ = run("node", *command, *FOLDER, "--json")
        public = json.loads(out)
        public.pop("private")
        assert "accuracy" not in json.dumps(public)


@pytest.mark.usefixtures("made")
def test_a_group_fits_into_one_line_of_a_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("node", "groups", *FOLDER)
    (tea,) = (line.split() for line in out.splitlines() if line.split()[:1] == ["tea"])
    assert " ".join(tea) == "tea 96 in 100 96 in 100 3 0"


@pytest.mark.usefixtures("made")
def test_a_limit_is_shown_first_and_set_on_request(run):
    asked = ("node", "groups", *FOLDER, "--group", "health", "--limit", 3)
    code, out, err = run(*asked)
    assert code == 0, err
    assert "Nothing was changed" in err
    assert "right 55 times in 100, instead of practically always" in err.replace("\n", " ")
    assert set(dials().values()) == {100}
    code, out, _ = run(*asked, "--set", "--json")
    assert code == 0
    found = json.loads(out)["private"]
    assert found["proposal"]["dials"][0] == {"title": "i0", "before": 100, "after": 10}
    assert found["groups"][-2]["limit"] == 3.0
    assert dials() == {f"i{n}": 10 for n in range(10)} | {"i30": 100}
    code, *_ = run("node", "groups", *FOLDER, "--group", "health", "--no-limit")
    assert code == 0
    assert dials()["i0"] == 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--limit", 3), "--group or --whole-list needs"),
        (("--group", "health"), "--group or --whole-list needs"),
        (("--group", "health", "--limit", 3, "--no-limit"), "--group or --whole-list needs"),
        (("--group", "coffee", "--limit", 3), "group must be one of the catalogue's: 'health'"),
        (("--group", "health", "--whole-list", "--limit", 3), "cannot be used with --whole-list"),
        (("--set",), "--set needs --limit"),
        (("--group", "health", "--no-limit", "--set"), "--set needs --limit"),
        (("--group", "health", "--limit", -3), "limit must be"),
    ],
)
@pytest.mark.usefixtures("made")
def test_what_makes_no_sense_is_refused(run, options, says):
    code, _, err = run("node", "groups", *FOLDER, *options)
    assert code != 0
    assert says in err
    assert set(dials().values()) == {100}
