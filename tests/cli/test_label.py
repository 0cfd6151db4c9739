"""`hetdp label`, run through its entry point, on everything that hetdp writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hetdp import Guarantee, Ledger, PrivateRecommender, Profiles
from hetdp.cli.network import network
from hetdp.cli.node import node
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish

MEAN = ("ages.csv", "--column", "age", "--query", "mean", "--lower", 20, "--upper", 80, "--weight-column", "dial")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ages.csv").write_text("age,dial\n" + "30,1\n50,0.5\n" * 20)
    pairs = [(f"u{user}", f"i{(user * 7 + place) % 9}") for user in range(12) for place in range(4)]
    Path("likes.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in pairs))
    return tmp_path


def record(run, *arguments):
    code, out, _ = run("label", *arguments, "--format", "json")
    assert code == 0
    return json.loads(out)


@pytest.mark.parametrize(
    ("command", "unit", "epsilon"),
    [
        (("release", *MEAN, "--epsilon", 0.5), "item", 0.5),
        (("release", *MEAN, "--epsilon", 0.5, "--weight-classes", "1,0.1"), "item", 0.5),
        (("release", "ages.csv", "--aggregate", "count", "--epsilon", 0.5), "row", 0.5),
        (("neighbors", "likes.csv", "--epsilon", 2, "-k", 2), "item", 2.0),
        (("learn", "likes.csv", "--epsilon", 2, "--dry-run", "-o", "m.hetdp"), "item", 2.0),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_json_of_every_command_has_a_label(run, command, unit, epsilon):
    code, out, err = run(*command, "--json", "-q")
    assert code == 0, err
    Path("out.json").write_text(out)
    found = record(run, "out.json")
    assert found["protects"]["unit"] == unit
    assert found["at_weight_1"]["epsilon"] == epsilon


def test_a_parquet_file_has_a_label(run):
    assert run("neighbors", "likes.csv", "--epsilon", 2, "-k", 2, "-o", "lists.parquet", "-q")[0] == 0
    assert record(run, "lists.parquet")["at_weight_1"]["epsilon"] == 2.0


def test_a_model_has_a_label(run):
    crowd = Profiles.from_pairs(["ann", "bob"], ["tea", "jazz"])
    PrivateRecommender(epsilon=1, catalogue="given").fit(crowd).save("m.hetdp")
    found = record(run, "m.hetdp")
    assert (found["trust"], found["at_weight_1"]["epsilon"]) == ("local", 1.0)


def test_a_ledger_has_a_label_and_tells_what_is_left_of_others(run):
    with Ledger.of_profiles("ledger.db", limit=3) as ledger:
        ledger.charge_profiles(Guarantee("epsilon", 1.0, adjacent="adding or removing an item of a user"))
    assert record(run, "ledger.db")["composition"]["left_at_weight_1"] == 2.0
    Path("out.json").write_text(run("release", *MEAN, "--epsilon", 0.5, "--json", "-q")[1])
    out = run("label", "out.json", "--ledger", "ledger.db")[1]
    assert "Left: epsilon = 2." in out


def test_a_node_has_a_label_that_its_items_leave_alone(run, tmp_path):
    Path("items.csv").write_text("item\n" + "".join(f"i{place}\n" for place in range(50)))
    made = ("create", "net.toml", "--catalogue", "items.csv", "--epsilon", "0.3", "-q")
    assert CliRunner().invoke(network, made).exit_code == 0
    labels = []
    for name, own in (("one", "i3,0.5\n"), ("two", "i3,0.5\ni4,1\ni5,0\n")):
        Path("me.csv").write_text(f"item,weight\n{own}")
        given = ("init", "--network", "net.toml", "--profile", "me.csv", "--folder", name, "-q")
        assert CliRunner().invoke(node, given).exit_code == 0
        handle = NodeHandle.open(tmp_path / name)
        for _ in range(2):
            later = handle.network.starts(1) + 1.0 if _ else handle.network.starts(0) + 1.0
            publish(
                handle.store,
                identity=handle.identity,
                network=handle.network,
                now_s=later,
                uptime=Uptime("boot", later),
            )
        handle.close()
        labels.append(run("label", name)[1])
    assert labels[0] == labels[1]
    found = record(run, "two")
    assert (found["trust"], found["composition"]["spent_at_weight_1"]) == ("local", 0.6)


def test_formats_follow_the_file_and_options_the_card(run):
    Path("out.json").write_text(run("release", *MEAN, "--epsilon", 1, "--json", "-q")[1])
    for name, begins in {"l.txt": "Privacy label: Ages", "l.html": "<!DOCTYPE", "l.json": "{"}.items():
        assert run("label", "out.json", "-o", name, "--title", "Ages")[0] == 0
        assert Path(name).read_text().startswith(begins)
    out = run("label", "out.json", "--weight", 0.3, "--items", 4)[1]
    assert "weight 0.3" in out
    assert "4 items at once" in out
    assert json.loads(run("label", "out.json", "--json")[1])["schema"] == "hetdp privacy label"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("none.json",), 3, "SOURCE must be a file or folder"),
        (("ages.csv",), 3, "SOURCE must carry a guarantee"),
        (("empty.json",), 3, "SOURCE must carry a guarantee"),
        (("wrong.json",), 3, "a guarantee must be facts"),
        (("good.json", "--weight", 2), 2, "--weight must be at least one number"),
        (("good.json", "-o", "label.pdf"), 2, "--output must end in"),
        (("good.json", "-o", "good.json"), 2, "would overwrite"),
    ],
)
def test_what_is_no_promise_is_refused(run, arguments, code, words):
    Path("empty.json").write_text("[]")
    Path("wrong.json").write_text('{"promise": {"unit": "epsilon", "amount": -1}}')
    Path("good.json").write_text('{"promise": {"unit": "epsilon", "amount": 1}}')
    found, out, err = run("label", *arguments)
    assert found == code
    assert words in " ".join((out + err).split())
