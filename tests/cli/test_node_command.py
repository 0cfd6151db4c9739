"""`hetdp network` and `hetdp node`, and that every setting is documented."""

import json
import re
import stat
import sys
import time
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.cli.network import network
from hetdp.cli.node import node
from hetdp.core.errors import DataError, HetdpError, InvalidInput, MissingExtra
from hetdp.core.randomness import seeded_stream
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol import Refused
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.sketches import check_sketch, sign_sketch
from hetdp.node.publication import publish
from hetdp.node.settings import SETTINGS, NodeSettings, read_settings, settings_toml
from hetdp.node.storage.crowd import CrowdModel, save_model
from hetdp.node.storage.folder import MODEL, locked
from hetdp.node.storage.network_file import read_network, usual_most_items
from hetdp.recommender.model import ItemModel

DOCUMENTED = Path(__file__).parents[2] / "docs" / "guide" / "node.md"


def run(group, *arguments, code=0):
    result = CliRunner().invoke(group, [str(argument) for argument in arguments])
    if isinstance(result.exception, HetdpError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def publish_at(handle, now_s):
    """Publish on a machine whose clock was never set."""
    handle.now, handle.uptime = lambda: now_s, lambda: Uptime("boot", now_s)
    publish(handle.store, identity=handle.identity, network=handle.network, now_s=now_s, uptime=handle.uptime())


@pytest.fixture
def files(tmp_path):
    (tmp_path / "items.csv").write_text("item,title,group\n" + "".join(f"i{n},Item {n},g{n % 2}\n" for n in range(50)))
    (tmp_path / "me.csv").write_text("item,weight\ni3,0.5\ni4,\ni5,0\n")
    run(network, "create", tmp_path / "net.toml", "--catalogue", tmp_path / "items.csv", "--epsilon", "0.3", "-q")
    return tmp_path


@pytest.fixture
def home(files):
    run(node, "init", "--network", files / "net.toml", "--profile", files / "me.csv", "--folder", files / "home", "-q")
    return files / "home"


@pytest.mark.parametrize(("given", "tuned_for"), [("0.75", "3/4"), ("1/3", "1/3")])
def test_a_network_may_be_tuned_for_a_weight(files, given, tuned_for):
    options = ("--catalogue", files / "items.csv", "--epsilon", "10", "--tuned-for", given, "--json")
    shown = json.loads(run(network, "create", files / "tuned.toml", *options).stdout)
    assert str(read_network(files / "tuned.toml").tuned_for) == tuned_for
    assert shown["tuned_for"] == float(Fraction(tuned_for))
    for wrong in ("0", "2", "much", "1/0", "0.5,0.5"):
        result = run(network, "create", files / "x.toml", *options[:4], "--tuned-for", wrong, code=2)
        assert "--tuned-for must be" in result.output


def test_a_network_is_made(files):
    made = read_network(files / "net.toml")
    assert (made.name, made.items, str(made.epsilon), made.catalogue) == ("net", 50, "3/10", "items.csv")
    assert (made.epoch_length_s, made.most_items, made.admission) == (7 * 86400, 25, "open")
    assert stat.S_IMODE((files / "net.toml").stat().st_mode) == 0o644, "everybody may read it"
    with pytest.raises(DataError, match="must not replace a file"):
        run(network, "create", files / "net.toml", "--catalogue", files / "items.csv", "--epsilon", "3")
    with pytest.raises(InvalidInput, match="epsilon must be a number"):
        run(network, "create", files / "x.toml", "--catalogue", files / "items.csv", "--epsilon", "lots")
    base = ("create", files / "x.toml", "--catalogue", files / "items.csv", "--epsilon", "3")
    run(network, *base, "--epoch-length", "soon", code=2)
    run(network, *base, "--period", "0", code=2)
    result = run(network, *base, "--epoch-length", "12h", "--dry-run", "--json")
    assert json.loads(result.stdout)["epoch_length_s"] == 43200
    assert not (files / "x.toml").exists()


def test_a_network_says_how_many_items_nodes_learn_about(files):
    base = ("create", files / "x.toml", "--catalogue", files / "items.csv", "--epsilon", "3", "--dry-run", "--json")
    heads = [json.loads(run(network, *base, *more).stdout)["head"] for more in ((), ("--head", "20"), ("--head", "99"))]
    assert heads == [50, 20, 50]
    run(network, *base, "--head", "0", code=2)


def test_status_says_where_recommendations_come_from_and_names_no_item(home):
    assert "votes of neighbours (0 of 50 sketches" in run(node, "status", "--folder", home).output
    weights = np.full((50, 50), 0.1, dtype=np.float32)
    save_model(home / MODEL, CrowdModel(ItemModel(np.arange(50.0), weights), 2345))
    shown = run(node, "status", "--folder", home).output
    assert "learned from a crowd of 2,345 sketches" in shown
    told = json.loads(run(node, "status", "--folder", home, "--json").stdout)
    assert (told["counted"], told["learned_from"], told["taste"]) == (0, 2345, 1.0)
    save_model(home / MODEL, CrowdModel(ItemModel(np.arange(50.0), weights, taste=0.0), 2346))
    assert "in which no taste rises" in " ".join(run(node, "status", "--folder", home).output.split())
    assert not re.search(r"\bi\d+\b|Item", shown + json.dumps(told))


def test_epochs_that_are_too_short_are_refused_and_short_ones_explained(files):
    base = ("create", files / "x.toml", "--catalogue", files / "items.csv", "--epsilon", "3", "--dry-run")
    assert "at least 20 times --period" in run(network, *base, "--epoch-length", "199s", code=2).output
    assert "An epoch lasts 3 min 20 s" in run(network, *base, "--epoch-length", "200s").output
    assert "An epoch lasts" not in run(network, *base, "--epoch-length", "1d").output


@pytest.mark.parametrize("items", [50, 51, 99, 100, 101, 480, 3999, 4001, 50_000])
def test_a_sketch_of_ones_is_refused_where_nothing_is_said(items):
    made = a_network(items=items, most_items=usual_most_items(items))
    ones = sign_sketch(np.ones(items, dtype=bool), epoch=0, identity=identity_of(1), network=made)
    with pytest.raises(Refused, match="that a profile explains"):
        check_sketch(ones, network=made, network_id=made.id, size=items)
    full = draw_bits(
        dict.fromkeys(range(made.most_items), 100), epsilon=made.epsilon, size=items, stream=seeded_stream(1, items)
    )
    honest = sign_sketch(full, epoch=0, identity=identity_of(1), network=made)
    check_sketch(honest, network=made, network_id=made.id, size=items)


def test_a_network_that_cannot_refuse_ones_is_warned_about(files):
    base = ("create", files / "x.toml", "--catalogue", files / "items.csv", "--dry-run")
    says = "a sketch of ones cannot be told from"
    assert says not in run(network, *base, "--epsilon", "3").output
    assert says in run(network, *base, "--epsilon", "3", "--most-items", "50").output
    assert says in run(network, *base, "--epsilon", "0.3").output
    assert says not in run(network, *base, "--epsilon", "0.3", "-q").output


def test_nothing_is_said_about_dry_runs_that_are_none_and_files_have_their_names(files):
    base = ("create", files / "x.toml", "--catalogue", files / "items.csv", "--epsilon", "3")
    assert "Dry run: nothing was written" in run(network, *base, "--dry-run").output
    assert "ry run" not in run(network, *base).output
    with pytest.raises(DataError, match=r"^FILE cannot be written"):
        run(network, "create", files / "no" / "x.toml", *base[2:])
    run(network, "add-peer", files / "x.toml", "--address", "tcp://a:1", "--key", "ab" * 32, "--curve", "cd" * 32)
    assert stat.S_IMODE((files / "x.toml").stat().st_mode) == 0o644


def test_invitations_and_peers(files, home):
    contact = json.loads(run(node, "status", "--folder", home, "--json").stdout)
    options = ("--address", contact["address"], "--key", contact["key_hex"], "--curve", contact["curve_hex"])
    before = read_network(files / "net.toml").id
    for _ in range(2):
        run(network, "add-peer", files / "net.toml", *options)
    known = read_network(files / "net.toml")
    assert [peer.key for peer in known.bootstrap] == [contact["key_hex"]]
    assert known.id == before
    with pytest.raises(InvalidInput, match="64 hexadecimal"):
        run(network, "add-peer", files / "net.toml", *options[:2], "--key", "xx", "--curve", "yy")
    with pytest.raises(DataError, match="which is open: none is needed"):
        run(network, "invite", files / "net.toml", "--key", contact["key_hex"])
    closed = files / "closed.toml"
    run(network, "create", closed, "--catalogue", files / "items.csv", "--epsilon", "3", "--invite-only")
    assert stat.S_IMODE((files / "closed.toml.key").stat().st_mode) == 0o600
    invitation = run(network, "invite", closed, "--key", contact["key_hex"], "-q").stdout.strip()
    assert len(invitation) == 128
    run(network, "invite", closed, "--key", "short", code=2)


def test_a_node_is_made_shown_and_exported(files, home):
    status = json.loads(run(node, "status", "--folder", home, "--json").stdout)
    assert (status["network"], status["private"]["items"], status["running"], status["published_epoch"]) == (
        "net",
        3,
        False,
        None,
    )
    handle = NodeHandle.open(home)
    publish_at(handle, handle.now())
    handle.close()
    shown = run(node, "status", "--folder", home).output
    assert "i3" not in shown
    assert "The sketch of this epoch is out. The next sketch: 20" in shown
    planned = run(node, "run", "--folder", home, "--dry-run").output
    assert "The sketch of this epoch is out. The next sketch: 20" in planned
    assert "[[bootstrap]]" in shown
    assert status["curve_hex"] in shown
    run(node, "export", "--folder", home, "-o", files / "out.json", "-q")
    exported = json.loads((files / "out.json").read_text())["private"]
    assert stat.S_IMODE((files / "out.json").stat().st_mode) == 0o600
    assert {row["item"]: row["weight"] for row in exported["profile"]} == {"i3": 0.5, "i4": 1.0, "i5": 0.0}
    assert {row["item"]: row["loss"] for row in exported["losses"]} == {"i3": 0.15, "i4": 0.3}
    secrets = json.loads((home / "identity.key").read_text())
    assert not any(secret in (files / "out.json").read_text() for secret in secrets.values())
    assert json.loads(run(node, "export", "--folder", home).stdout) == {"private": exported}


def test_a_clock_that_was_ahead_is_told_with_what_comes_next(home):
    handle = NodeHandle.open(home)
    publish_at(handle, handle.now() + 10 * 365 * 86400)
    length_s = handle.network.epoch_length_s
    handle.close()
    shown, facts = run(node, "status", "--folder", home).output, run(node, "status", "--folder", home, "--json").stdout
    assert "was ahead when it was drawn, or is behind now" in " ".join(shown.split())
    facts = json.loads(facts)
    assert (facts["why"], facts["clock_behind"]) == ("behind", True)
    assert 0 < facts["next_draw_s"] - time.time() <= 2 * length_s
    planned = json.loads(run(node, "run", "--folder", home, "--dry-run", "--json").stdout)
    assert (planned["would_draw_a_sketch"], planned["why"]) == (False, "behind")


def test_a_dry_run_draws_nothing(home):
    planned = json.loads(run(node, "run", "--folder", home, "--dry-run", "--json").stdout)
    assert planned["would_draw_a_sketch"]
    assert (planned["private"]["items_that_count"], planned["private"]["largest_loss"]) == (2, 0.3)
    handle = NodeHandle.open(home)
    assert handle.store.publications.all() == []
    handle.close()


def test_errors_are_clear(files, home):
    with pytest.raises(DataError, match="there must be a node"):
        run(node, "status", "--folder", files / "nowhere")
    with pytest.raises(DataError, match="must not exist yet"):
        run(node, "init", "--network", files / "net.toml", "--folder", home)
    with pytest.raises(InvalidInput, match="advertise must be given"):
        run(node, "init", "--network", files / "net.toml", "--folder", files / "b", "--listen", "tcp://0.0.0.0:0")
    with locked(home), pytest.raises(DataError, match="only one node"):
        run(node, "run", "--folder", home, "--no-page")
    (home / "node.toml").write_text("neighbors = 3\n")
    with pytest.raises(DataError, match="known settings"):
        run(node, "status", "--folder", home)


def test_init_and_dry_run_say_what_it_costs(files, home):
    make = ("init", "--network", files / "net.toml", "--folder")
    told = json.loads(run(node, *make, files / "x", "--json").stdout)
    assert (told["epsilon_per_epoch"], told["epoch_length_s"], told["lifetime_limit"]) == (0.3, 604800, 3.0)
    assert (told["epochs_at_full_weight"], told["limit_spent_after_s"]) == (10, 70 * 86400)
    for output in (run(node, *make, files / "y").output, run(node, "run", "--folder", home, "--dry-run").output):
        for words in ("epsilon per epoch", "7 days", "lifetime limit of an item", "70 days (10 epochs)"):
            assert words in output
        assert "Warning" not in output
    planned = json.loads(run(node, "run", "--folder", home, "--dry-run", "--json").stdout)
    assert planned["limit_spent_after_s"] == 70 * 86400


def test_costly_networks_are_warned_of_and_the_usual_limit_is_bounded(files):
    base = ("--catalogue", files / "items.csv", "--most-items", "9")
    run(network, "create", files / "much.toml", *base, "--epsilon", "6", "--epoch-length", "1h", "-q")
    output = run(node, "init", "--network", files / "much.toml", "--folder", files / "much").output
    assert "Epsilon 6 per epoch is a lot" in output
    assert "403-fold" in output
    assert "spent after 5 h, within a day" in " ".join(output.split())
    handle = NodeHandle.open(files / "much")
    assert handle.store.ledger.default_limit() == 30.0
    handle.close()
    again = run(node, "run", "--folder", files / "much", "--dry-run").output
    assert "Epsilon 6 per epoch is a lot" in again
    run(network, "create", files / "huge.toml", *base, "--epsilon", "40", "-q")
    output = run(node, "init", "--network", files / "huge.toml", "--folder", files / "huge").output
    assert "such an item never counts" in output


def test_the_default_limit_follows_the_settings_until_the_page_sets_it(home):
    """Six epochs at epsilon 0.3: i4 at full weight and i3 at half stop where the setting says, not later."""
    text = (home / "node.toml").read_text()
    (home / "node.toml").write_text(text.replace("lifetime_epochs = 10.0", "lifetime_epochs = 2.0"))
    handle = NodeHandle.open(home)
    assert handle.store.ledger.default_limit() == 0.6
    for epoch in range(6):
        publish_at(handle, handle.network.starts(epoch) + 1.0)
    assert sorted(handle.store.ledger.spent().values()) == [0.6, 0.6]
    assert [item.exhausted for item in handle.store.profile.items() if item.dial] == [True, True]
    handle.store.ledger.set_default_limit(0.9)
    handle.close()
    (home / "node.toml").write_text(text.replace("lifetime_epochs = 10.0", "lifetime_epochs = 20.0"))
    handle = NodeHandle.open(home)
    assert (handle.store.ledger.default_limit(), handle.store.ledger.default_limit_chosen()) == (0.9, True)
    with handle.store.database.transaction(
        durable=True
    ) as connection:  # made before this was written down: nothing grows
        connection.execute("DELETE FROM facts WHERE name = 'default_limit_chosen'")
    assert handle.store.ledger.default_limit() == 0.9
    handle.close()


def test_what_must_be_copied_is_whole_also_through_a_pipe(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    where = ("--listen", "tcp://0.0.0.0:7470", "--advertise", "tcp://[fd00::1]:7470")
    shown = run(node, "init", "--network", files / "net.toml", "--folder", files / "piped", *where, "-q").stdout.split()
    handle = NodeHandle.open(files / "piped")
    handle.close()
    assert {handle.contact.key, handle.contact.curve, "tcp://[fd00::1]:7470"} <= set(shown)


def test_an_export_does_not_go_into_the_folder_of_the_node(files, home):
    key = (home / "identity.key").read_bytes()
    (files / "link").symlink_to(home)
    for place in ("identity.key", "node.toml", "new.json", "../home/lock"):
        with pytest.raises(DataError, match="outside the node's folder"):
            run(node, "export", "--folder", home, "-o", home / place)
    with pytest.raises(DataError, match="outside the node's folder"):
        run(node, "export", "--folder", files / "link", "-o", home / "identity.key")
    assert (home / "identity.key").read_bytes() == key
    assert not (home / "new.json").exists()


def test_a_node_without_anybody_to_ask_says_what_to_do(home):
    says = f"hetdp network add-peer {home / 'network.toml'} --address"
    assert says in " ".join(run(node, "status", "--folder", home).output.split())
    contact = json.loads(run(node, "status", "--folder", home, "--json", "-q").stdout)
    own = ("--address", contact["address"], "--key", contact["key_hex"], "--curve", contact["curve_hex"])
    run(network, "add-peer", home / "network.toml", *own)
    assert says in run(node, "status", "--folder", home).output, "to ask oneself does not help"
    run(network, "add-peer", home / "network.toml", *own[:2], "--key", "ab" * 32, *own[4:])
    assert says not in run(node, "status", "--folder", home).output
    assert stat.S_IMODE((home / "network.toml").stat().st_mode) == 0o600, "as it was"


def test_a_node_without_a_valid_invitation_does_not_start(files):
    closed, home = files / "closed.toml", files / "guest"
    run(network, "create", closed, "--catalogue", files / "items.csv", "--epsilon", "3", "--invite-only")
    made = run(node, "init", "--network", closed, "--profile", files / "me.csv", "--folder", home)
    key = json.loads(run(node, "status", "--folder", home, "--json", "-q").stdout)["key_hex"]
    assert f"This network is by invitation. Send your key, {key}," in made.output

    def refused(text, match):
        settings = read_settings(home / "node.toml")
        (home / "node.toml").write_text(settings_toml(msgspec.structs.replace(settings, invitation=text)))
        with pytest.raises(DataError, match=match):
            run(node, "run", "--folder", home, "--no-page")
        (home / "node.toml").write_text(settings_toml(settings))

    refused("", ". Send your key")
    refused("0" * 128, "Got one for another key or network")
    refused(run(network, "invite", closed, "--key", "ab" * 32).stdout.strip(), "Got one for another key or network")
    refused("0123", "must be 128 hexadecimal digits")
    invitation = run(network, "invite", closed, "--key", key).stdout.strip()
    settings = msgspec.structs.replace(read_settings(home / "node.toml"), invitation=invitation)
    (home / "node.toml").write_text(settings_toml(settings))
    handle = NodeHandle.open(home)
    handle.check_invited()
    assert handle.store.publications.all() == [], "nothing was spent"
    handle.close()


def test_a_second_node_starts_no_page(home, monkeypatch):
    web, pages = pytest.importorskip("hetdp.node.page"), []
    monkeypatch.setattr(web, "serve", lambda *_, **__: pages.append(1))
    with locked(home), pytest.raises(DataError, match="already running there"):
        run(node, "run", "--folder", home, "--page")
    assert pages == []


def test_a_page_that_cannot_start_is_told_in_one_sentence(home, monkeypatch):
    def serve(handle, **_):
        handle.stopping.set()
        raise InvalidInput("port must be free [(]got 80[)].")

    monkeypatch.setattr(pytest.importorskip("hetdp.node.page"), "serve", serve)
    output = run(node, "run", "--folder", home, "--page").output
    assert "The page stopped: port must be free [(]got 80[)]. The node goes on." in output
    assert "Nobody to ask yet" in output


def test_a_missing_extra_is_named(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "zmq", None)
    for group, arguments in ((node, ("status",)), (network, ("invite", files / "net.toml"))):
        with pytest.raises(MissingExtra, match=r"pip install 'hetdp\[node\]'"):
            run(group, *arguments)


def test_a_node_without_the_packages_of_its_page_goes_on(home, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("hetdp.node.page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(NodeHandle, "alone", lambda handle: bool(handle.stopping.set()))  # asked once it is running
    output = run(node, "run", "--folder", home, "--page").output
    assert "The page needs uvicorn, which is not installed." in output
    assert "pip install 'hetdp[node]'. The node goes on without." in " ".join(output.split())


def test_settings_survive_their_file(tmp_path):
    settings = NodeSettings(neighbors=3, advertise="tcp://a:1")
    (tmp_path / "node.toml").write_text(settings_toml(settings))
    assert read_settings(tmp_path / "node.toml") == settings
    assert SETTINGS.keys() == set(NodeSettings.__struct_encode_fields__)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented_with_its_default(name):
    default = json.dumps(msgspec.to_builtins(NodeSettings())[name])
    assert f"| `{name}` | `{default}` | {SETTINGS[name]} |" in DOCUMENTED.read_text()


def grown(files, *names, retire=()):
    (files / "more.csv").write_text("item,title\n" + "".join(f"{name},The {name}\n" for name in names))
    retiring = [part for name in retire for part in ("--retire", name)]
    return run(network, "grow", files / "net.toml", "--add", files / "more.csv", *retiring, "--json", "-q")


def test_a_catalogue_grows_and_a_node_takes_it_over(files, home):
    assert json.loads(grown(files, "a", "b", retire=["i4"]).stdout) == {
        "network": "net", "version": 2, "new_versions": 1, "items": 52, "added": 2, "retired": 1, "dry_run": False,
    }  # fmt: skip
    versions = files / "net.toml.versions"
    assert stat.S_IMODE(versions.stat().st_mode) == 0o644, "everybody may read it"
    assert json.loads(run(node, "catalogue", "--folder", home, "--json").stdout)["version"] == 1
    told = json.loads(run(node, "catalogue", versions, "--folder", home, "--json").stdout)
    assert told == {"version": 2, "new_versions": 1, "items": 52, "retired": 1}
    assert json.loads(run(node, "catalogue", versions, "--folder", home, "--json").stdout)["new_versions"] == 0
    grown(files, "c")
    assert json.loads(run(node, "catalogue", versions, "--folder", home, "--json").stdout)["items"] == 53
    status = json.loads(run(node, "status", "--folder", home, "--json", "-q").stdout)
    assert (status["catalogue_version"], status["catalogue_items"]) == (3, 53)


def test_what_is_retired_is_not_retired_again(files):
    grown(files, "b", retire=["i7"])
    with pytest.raises(DataError, match="'i7', which is retired already"):
        grown(files, "d", retire=["i7"])


def test_only_the_maker_adds_and_only_what_is_new(files, tmp_path):
    before = (files / "net.toml").read_bytes()
    with pytest.raises(DataError, match=r"new items only.*'i7'"):
        grown(files, "i7")
    with pytest.raises(DataError, match="--retire must name items by their id"):
        grown(files, "a", retire=["nothing"])
    result = run(network, "grow", files / "net.toml", code=2)
    assert "--add or --retire" in result.output
    run(network, "create", files / "other.toml", "--catalogue", files / "items.csv", "--epsilon", "3", "-q")
    (files / "more.csv").write_text("item\na\n")
    with pytest.raises(DataError, match="key of the network's maker"):
        run(network, "grow", files / "net.toml", "--add", files / "more.csv", "--secret", files / "other.toml.key")
    run(network, "grow", files / "net.toml", "--add", files / "more.csv", "--dry-run", "-q")
    assert not (files / "net.toml.versions").exists()
    assert (files / "net.toml").read_bytes() == before, "it stays the same network"
    assert tmp_path


def test_one_thing_has_one_spelling(files):
    (files / "tea.csv").write_text("item\ngreen tea\nGreen  Tea\n")
    with pytest.raises(DataError, match="more than case and blanks"):
        run(network, "create", files / "tea.toml", "--catalogue", files / "tea.csv", "--epsilon", "3")
    with pytest.raises(DataError, match="all different"):
        grown(files, "I7")


def test_versions_of_another_network_forks_and_rubbish_are_refused_and_nothing_changes(files, home):
    grown(files, "a")
    versions = files / "net.toml.versions"
    run(node, "catalogue", versions, "--folder", home, "-q")
    versions.unlink()
    grown(files, "b")
    with pytest.raises(DataError, match="only one of its number"):
        run(node, "catalogue", versions, "--folder", home)
    handle = NodeHandle.open(home)
    try:
        assert [event.kind for event in handle.store.events.all()] == ["forked", "grown"]
        assert [item.item for item in handle.store.catalogue.search("The a")] == ["a"]
        assert handle.store.catalogue.search("The b") == []
    finally:
        handle.close()
    for rubbish in (b"[]\n", b'[2,"",[],[],""]\n', b"\xff\xfe", b"[" * 5000):
        versions.write_bytes(rubbish)
        with pytest.raises(DataError):
            run(node, "catalogue", versions, "--folder", home)
    with pytest.raises(DataError, match="readable"):
        run(node, "catalogue", files / "nowhere", "--folder", home)
