"""`hetdp node neighbors`: people like the owner and what they recommend, for the owner's eyes."""

import json

import pytest
from click.testing import CliRunner
from tests.support.node_swarm import START, Swarm, a_network, identity_of

from hetdp.cli.node import node
from hetdp.node.catalogue_file import read_network_catalogue
from hetdp.node.handle import NodeHandle
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.folder import init_node

#: Somebody who has everything the owner has, and item 50.
TWIN = dict.fromkeys([*range(20), 50], 100)


@pytest.fixture
def home(tmp_path):
    """Make a node of somebody with 20 items that count, and one of dial 0."""
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"i{n},Item {n}\n" for n in range(100)))
    (tmp_path / "me.csv").write_text("item,weight\n" + "".join(f"i{n},1\n" for n in range(20)) + "i99,0\n")
    digest = read_network_catalogue(tmp_path / "items.csv")[1]
    (tmp_path / "n.toml").write_text(a_network(catalogue_sha256=digest).to_toml())
    init_node(
        tmp_path / "home",
        network_path=tmp_path / "n.toml",
        profile_path=tmp_path / "me.csv",
        settings=NodeSettings(listen="tcp://127.0.0.1:7470"),
        identity=identity_of(20),
    )
    return tmp_path / "home"


def shown(home, *options):
    result = CliRunner().invoke(node, ["neighbors", "--folder", str(home), *options])
    assert result.exit_code == 0, result.output
    return result.stdout, result.output


def test_before_a_sketch_has_come_nobody_is_shown(home):
    _, everything = shown(home)
    assert "Private: Nobody yet who can be told from chance." in everything
    assert "Private: Nothing to recommend yet" in everything
    found = json.loads(shown(home, "--json")[0])
    assert found["sketches"] == 0
    assert found["private"]["neighbours"] == found["private"]["recommendations"] == []


def test_people_like_the_owner_and_what_they_have_are_shown_and_the_rest_is_not(home):
    swarm = Swarm(8, dials=lambda number: TWIN if number < 4 else {}, epoch_length_s=10_000)
    handle = NodeHandle.open(home)
    sketches = [swarm.sketch(number, 0) for number in swarm.nodes]
    handle.store.peers.keep(sketches=sketches, now_s=START, first_epoch=0)
    handle.close()

    found = json.loads(shown(home, "--json")[0])
    assert found.keys() == {"sketches", "private"}  # nothing that depends on the list is outside
    private = found["private"]
    assert (found["sketches"], private["items_that_count"], len(private["neighbours"])) == (8, 20, 8)
    like, strangers = private["neighbours"][:4], private["neighbours"][4:]
    assert all(one["by_chance"] < 0.05 <= two["by_chance"] for one, two in zip(like, strangers, strict=True))
    assert all(one["likely_from"] <= one["seems_to_have"] <= one["likely_to"] <= 20 for one in private["neighbours"])
    assert private["recommendations"][0]["title"] == "Item 50"

    text, _ = shown(home)
    before, after = text.split("Private, for the owner of the data:")
    assert before == ""
    assert all(one["name"] in after for one in like)
    assert not any(one["name"] in after for one in strangers)
    assert "Item 50" in after
    assert "people like you seem to have it" in after
    assert "Item 99" not in after
    assert len(json.loads(shown(home, "--json", "--items", "1")[0])["private"]["recommendations"]) == 1
