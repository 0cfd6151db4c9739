"""What an owner does with a node, as commands: import, export, pause, resume, leave, hide, a fresh address."""

import csv
import json
import re

import pytest
from click.testing import CliRunner

from hetdp.cli.network import network
from hetdp.cli.node import node
from hetdp.core.errors import DataError, HetdpError
from hetdp.node.handle import NodeHandle
from hetdp.node.storage.folder import locked
from hetdp.node.storage.page_door import PageDoor


def run(group, *arguments, code=0, answer=None):
    result = CliRunner().invoke(group, [str(argument) for argument in arguments], input=answer)
    if isinstance(result.exception, HetdpError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def files(tmp_path):
    rows = "".join(f"i{n},Item {n},https://www.ex.org/{n},g{n % 2}\n" for n in range(50))
    (tmp_path / "items.csv").write_text("item,title,link,group\n" + rows)
    (tmp_path / "me.csv").write_text("item,weight\ni3,0.5\nsecretive,\ni4,much\ni5,0\n")
    run(network, "create", tmp_path / "net.toml", "--catalogue", tmp_path / "items.csv", "--epsilon", "0.3", "-q")
    return tmp_path


@pytest.fixture
def home(files):
    run(node, "init", "--network", files / "net.toml", "--profile", files / "me.csv", "--folder", files / "home", "-q")
    return files / "home"


def dials(home):
    handle = NodeHandle.open(home)
    found = {item.item: item.dial for item in handle.store.profile.items()}
    handle.close()
    return found


def test_unknown_and_bad_rows_do_not_abort_init_and_are_told_by_number(files):
    make = ("init", "--network", files / "net.toml", "--profile", files / "me.csv", "--folder", files / "new")
    told = run(node, *make).output
    assert "Private: Row 2: not in the catalogue; kept" in told
    assert "Private: Row 3: the weight is no number from 0 to 1" in told
    assert "secretive" not in told
    assert dials(files / "new") == {"i3": 50, "i5": 0}
    shown = json.loads(run(node, *make[:-1], files / "other", "--json").stdout)
    left = shown.pop("private")["imported"]["left_out"]
    assert [(one["row"], one["name"], one["why"]) for one in left] == [(2, "secretive", "unknown"), (3, "i4", "weight")]
    assert "secretive" not in json.dumps(shown)


def test_files_of_all_kinds_are_imported_also_while_the_node_runs(files, home):
    (files / "marks.html").write_text('<DL><DT><A HREF="http://ex.org/7/">Seven</A><DT><A HREF="https://x.org/">X</A>')
    (files / "titles.txt").write_text("ITEM 8\nitem  9\n")
    (files / "table.csv").write_text("Title;Weight\nItem 10;0.25\nItem 3;1\n")
    with locked(home):
        told = run(node, "import", files / "marks.html", "--folder", home).output
        assert "Row 2: not in the catalogue" in told
        run(node, "import", files / "titles.txt", "--folder", home)
        shown = json.loads(run(node, "import", files / "table.csv", "--folder", home, "--json").stdout)
    assert (shown["private"]["imported"]["added"], shown["private"]["imported"]["known"]) == (1, 1)
    assert dials(home) == {"i3": 50, "i5": 0, "i7": 100, "i8": 100, "i9": 100, "i10": 25}
    (files / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\0\0")
    with pytest.raises(DataError, match="must be a text in UTF-8"):
        run(node, "import", files / "photo.jpg", "--folder", home)
    with pytest.raises(DataError, match="readable file"):
        run(node, "import", files / "nowhere.csv", "--folder", home)


def test_dials_are_shown_and_turned_also_while_the_node_runs(home):
    told = run(node, "dials", "--folder", home).output
    assert "Private, for the owner of the data" in told
    assert re.search(r"Item 3 +50 +half +0 ", told)
    with locked(home):
        told = run(node, "dials", "item  3", "20", "--folder", home).output
    assert "from the next sketch on" in told
    assert dials(home) == {"i3": 20, "i5": 0}
    shown = json.loads(run(node, "dials", "i7", "100", "--folder", home, "--json").stdout)
    assert shown.pop("private")["items"] == [
        {"item": "i7", "title": "Item 7", "dial": 100, "counts_as": 100, "spent": 0.0, "limit": 3.0}
    ]
    assert shown == {}
    assert dials(home) == {"i3": 20, "i5": 0, "i7": 100}
    assert "not on your list" in run(node, "dials", "i8", "--folder", home).output
    assert run(node, "dials", "i7", "101", "--folder", home, code=2).stderr
    with pytest.raises(HetdpError, match="it fits none") as caught:
        run(node, "dials", "secretive", "0", "--folder", home)
    assert "secretive" not in str(caught.value)


def test_a_dial_above_the_limit_of_its_group_is_held_back(home):
    run(node, "groups", "--group", "g1", "--limit", "0.1", "--set", "--folder", home, "-q")
    told = " ".join(run(node, "dials", "i9", "100", "--folder", home).output.split())
    assert "The limit of its group leaves no more" in told
    assert dials(home)["i9"] < 100


def test_a_list_longer_than_the_network_allows_is_told(files, home):
    (files / "all.txt").write_text("".join(f"Item {n}\n" for n in range(50)))
    told = " ".join(run(node, "import", files / "all.txt", "--folder", home).output.split())
    assert "the list is as long as this network allows; left out" in told
    assert "and 5 more" in told
    assert len(dials(home)) == 25


def test_the_list_is_exported_as_it_is_imported(files, home):
    text = run(node, "export", "--folder", home, "--csv").stdout
    assert [row["item"] for row in csv.DictReader(text.splitlines())] == ["i3", "i5", "secretive"]
    run(node, "export", "--folder", home, "--csv", "-o", files / "list.csv")
    assert (files / "list.csv").read_text() == text
    run(node, "init", "--network", files / "net.toml", "--profile", files / "list.csv", "--folder", files / "new", "-q")
    assert dials(files / "new") == dials(home)
    assert run(node, "export", "--folder", files / "new", "--csv").stdout == text


def test_pause_and_resume_say_what_others_see(home):
    told = " ".join(run(node, "pause", "--folder", home).output.split())
    assert "Others keep the last sketch for 2 epochs, and see that no new one comes" in told
    assert "paused already" in run(node, "pause", "--folder", home).output
    assert json.loads(run(node, "resume", "--folder", home, "--json").stdout) == {"mode": "open", "changed": True}
    assert "was not paused" in run(node, "resume", "--folder", home).output


def test_leaving_asks_says_what_stays_and_erases(home):
    (home / "mine.txt").write_text("x")
    told = " ".join(run(node, "leave", "--folder", home, "--erase", answer="n\n", code=1).output.split())
    assert "What leaving takes back: - Everything at home" in told
    assert "What it cannot take back: - What was published (no sketches)" in told
    assert (home / "node.db").exists()
    run(node, "leave", "--folder", home, "--dry-run")
    assert json.loads(run(node, "leave", "--folder", home, "--yes", "--json", "-q").stdout)["mode"] == "closed"
    with pytest.raises(DataError, match="it has left its network"):
        run(node, "run", "--folder", home, "--no-page")
    told = run(node, "leave", "--folder", home, "--erase", "--yes").output
    assert f"were left in {home}: mine.txt" in " ".join(told.split())
    assert [path.name for path in home.iterdir()] == ["mine.txt"]
    with pytest.raises(DataError, match="there must be a node"):
        run(node, "leave", "--folder", home, "--erase", "--yes")


def test_losses_are_kept_in_a_file_for_another_network(files, home):
    parcel = files / "me.parcel"
    told = run(node, "leave", "--folder", home, "--erase", "--keep", parcel, "--yes").output
    assert "holds your list, losses and keys" in told
    assert not home.exists()
    run(network, "create", files / "two.toml", "--catalogue", files / "items.csv", "--epsilon", "1", "-q")
    run(node, "receive", parcel, "--network", files / "two.toml", "--folder", files / "new", "-q")
    assert dials(files / "new") == {"i3": 50, "i5": 0}
    moved = run(node, "move", "--folder", files / "new", "--to", files / "last", "--json", "-q").stdout
    assert json.loads(moved)["private"] == {"kept_for_later": 1}


def test_who_has_left_with_a_file_is_told_so(files, home):
    told = run(node, "leave", "--folder", home, "--keep", files / "me.parcel", "--yes").output
    assert f"hetdp node leave --erase --folder {home}" in " ".join(told.split())
    with pytest.raises(DataError, match=r"it has left its network; list and losses are in .*me\.parcel"):
        run(node, "run", "--folder", home, "--no-page")


def test_neighbours_are_hidden_by_key(home):
    key = "ab" * 32
    shown = json.loads(run(node, "hide", key, "--folder", home, "--json").stdout)
    assert [one["key"] for one in shown["private"]["hidden"]] == [key]
    assert "nobody" in run(node, "unhide", key, "--folder", home).output
    with pytest.raises(ValueError, match="64 hexadecimal"):
        run(node, "hide", "somebody", "--folder", home)


def test_a_fresh_address_of_the_page(files, home):
    with pytest.raises(DataError, match="there must be a node"):
        run(node, "page", "--folder", files / "nowhere")
    with pytest.raises(DataError, match="Got none that runs"):
        run(node, "page", "--folder", home)
    with locked(home):
        with pytest.raises(DataError, match="hetdp node run --page"):
            run(node, "page", "--folder", home)
        PageDoor(home).open_at("http://127.0.0.1:1/")
        first = run(node, "page", "--folder", home).stdout
        assert first.startswith("Your page: http://127.0.0.1:1/?token=")
        second = json.loads(run(node, "page", "--folder", home, "--json").stdout)["page"]
    assert PageDoor(home).admits(second.partition("=")[2])


def test_a_weight_is_not_taken_for_a_dial(home):
    for text in ("0.5", "101", "much"):
        assert "half is 50" in run(node, "dials", "i3", text, "--folder", home, code=2).stderr


def test_a_paused_node_is_told_as_one(home):
    run(node, "pause", "--folder", home, "-q")
    assert re.search(r"running +no, but paused", run(node, "status", "--folder", home, "-q").output)
