"""Networks, catalogues, identities and folders: what is written, what is refused, who can read it."""

import stat
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
import zmq
from tests.support.node_swarm import a_network, contact_of
from zmq.utils import z85

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.catalogue_file import read_network_catalogue
from hetdp.node.handle import NodeHandle, how_to_be_invited
from hetdp.node.protocol.addresses import split_address
from hetdp.node.protocol.identity import Identity, check_invitation, check_signature, pseudonym, sign_invitation
from hetdp.node.protocol.network import sketch_bytes
from hetdp.node.settings import NodeSettings, settings_toml
from hetdp.node.storage.folder import init_node, is_running, locked
from hetdp.node.storage.network_file import exact_number, read_network, usual_most_items


def test_a_network_survives_its_file(tmp_path):
    network = a_network(epsilon=Fraction(1, 3), bootstrap=(contact_of(1), contact_of(2)))
    (tmp_path / "n.toml").write_text(network.to_toml())
    assert read_network(tmp_path / "n.toml") == network


def test_the_id_stands_for_the_parameters_but_not_for_who_is_known():
    network = a_network()
    assert a_network(bootstrap=(contact_of(1),), catalogue="elsewhere/items.csv").id == network.id
    for change in ({"epsilon": Fraction(2)}, {"epoch_length_s": 7}, {"catalogue_sha256": "1" * 64}, {"name": "x"}):
        assert a_network(**change).id != network.id


def test_a_network_tuned_for_another_weight_is_another_network(tmp_path):
    usual, tuned = a_network(), a_network(tuned_for=Fraction(3, 4))
    assert tuned.id not in (usual.id, a_network(tuned_for=Fraction(1, 2)).id)
    for network in (usual, tuned):
        (tmp_path / "n.toml").write_text(network.to_toml())
        assert read_network(tmp_path / "n.toml") == network


def test_epochs_follow_the_schedule_and_a_sketch_has_one_bit_per_item():
    network = a_network(items=12, epoch_start_s=0, epoch_length_s=3600)
    assert (network.epoch_at(7205.0), network.starts(2), sketch_bytes(network.items)) == (2, 7200, 2)


def test_numbers_are_read_exactly():
    assert (exact_number("0.1"), exact_number("1/3")) == (Fraction(1, 10), Fraction(1, 3))


def test_the_usual_profile_is_a_quarter_of_the_catalogue_within_bounds():
    assert [usual_most_items(items) for items in (10, 50, 480, 50_000)] == [10, 25, 120, 1000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": "much"}, "epsilon or tuned_for must be a number"),
        ({"tuned_for": 0}, "tuned_for must be above 0"),
        ({"tuned_for": "1.01"}, "tuned_for must be above 0 and at most 1"),
        ({"version": 2}, "Unknown network version 2"),
        ({"admission": "all"}, "admission must be"),
        ({"most_items": 20_001}, "most_items must be from 1 to 20000"),
        ({"most_items": 0}, "most_items must be from 1 to 20000"),
        ({"admission": "invite"}, "network_key must be given"),
        ({"shuffle_size": 50}, "shuffle_size must be at most"),
        ({"surprise": 1}, "unknown field"),
        ({"items": 0}, "items"),
    ],
)
def test_bad_network_files_are_refused(tmp_path, change, message):
    plain = msgspec.to_builtins(a_network(), enc_hook=str) | change
    plain.pop("bootstrap")
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in plain.items()]
    (tmp_path / "n.toml").write_text("\n".join(lines))
    with pytest.raises(DataError, match=message):
        read_network(tmp_path / "n.toml")


@pytest.mark.parametrize(
    "address", ["", "tcp://", "tcp://host", "tcp://host:0", "tcp://host:70000", "ipc://x", "tcp://a b:1"]
)
def test_bad_addresses_are_refused(address):
    with pytest.raises(InvalidInput, match="tcp://host:port"):
        split_address(address)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title\nTea\n", "column 'item'"),
        ("item,title\n", "1 to"),
        ("item\na\na\n", "all different"),
        ("item,link\na,javascript:alert(1)\n", "https://"),
        ("item,title\na\n", "as long as the header"),
        ("item\n" + "x" * 501 + "\n", "at most 500"),
    ],
)
def test_bad_catalogues_are_refused(tmp_path, text, message):
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_network_catalogue(tmp_path / "c.csv")


def test_rows_of_a_profile_that_cannot_be_used_are_told_by_number_and_the_others_are_taken(tmp_path):
    home = arrange(tmp_path)
    (tmp_path / "me.csv").write_text("item,weight\nsecretive,\ni1,7.25\ni2,0.5\ni2,1\ni3,1\n")
    made = init_node(home, network_path=tmp_path / "n.toml", profile_path=tmp_path / "me.csv")
    assert [(one.row, one.why) for one in made.imported.left_out] == [(1, "unknown"), (2, "weight")]
    assert (made.imported.added, made.imported.repeated) == (2, 1)
    assert "secretive" not in repr(made)
    handle = NodeHandle.open(home)
    assert {item.item: item.dial for item in handle.store.profile.items()} == {"i2": 50, "i3": 100}
    assert [(item.name, item.dial) for item in handle.store.unknown.all()] == [("secretive", 100)]
    handle.close()


def test_errors_about_a_profile_do_not_repeat_it(tmp_path):
    home = arrange(tmp_path)
    for raw in (b"secretive\nitem\ni1\n", b"item\n\xff\xfe secretive", b"item\nsecre\0tive"):
        (tmp_path / "me.csv").write_bytes(raw)
        with pytest.raises(DataError) as caught:
            init_node(home, network_path=tmp_path / "n.toml", profile_path=tmp_path / "me.csv")
        assert not any(secret in str(caught.value) for secret in ("secre", "i1"))
        assert not home.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def arrange(tmp_path, items=20):
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"i{n},Item {n}\n" for n in range(items)))
    digest = read_network_catalogue(tmp_path / "items.csv")[1]
    (tmp_path / "n.toml").write_text(a_network(items=items, catalogue_sha256=digest).to_toml())
    return tmp_path / "home"


def test_files_of_a_node_are_for_its_owner_only(tmp_path):
    home = arrange(tmp_path)
    (tmp_path / "me.csv").write_text("item,weight\ni3,0.5\ni5,\n")
    settings = NodeSettings(listen="tcp://127.0.0.1:0")
    init_node(home, network_path=tmp_path / "n.toml", profile_path=tmp_path / "me.csv", settings=settings)
    handle = NodeHandle.open(home)
    handle.store.profile.set_dials({1: 10})
    assert [(item.item, item.dial) for item in handle.store.profile.items()] == [("i1", 10), ("i3", 50), ("i5", 100)]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.iterdir())}
    handle.close()
    assert modes.pop("home") == 0o700
    assert {"node.db", "identity.key", "node.toml", "network.toml", "lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    with pytest.raises(DataError, match="must not exist yet"):
        init_node(home, network_path=tmp_path / "n.toml")


def test_a_changed_network_file_is_refused(tmp_path):
    home = arrange(tmp_path)
    init_node(home, network_path=tmp_path / "n.toml")
    text = (home / "network.toml").read_text()
    (home / "network.toml").write_text(text.replace('epsilon = "3"', 'epsilon = "30"'))
    with pytest.raises(DataError, match="other parameters"):
        NodeHandle.open(home)
    (tmp_path / "items.csv").write_text("item\nother\n")
    with pytest.raises(DataError, match="the one the network names"):
        init_node(tmp_path / "second", network_path=tmp_path / "n.toml")


def test_one_node_per_folder(tmp_path):
    home = arrange(tmp_path)
    init_node(home, network_path=tmp_path / "n.toml")
    assert not is_running(home)
    with locked(home):
        assert is_running(home)
        with pytest.raises(DataError, match="only one node"), locked(home):
            pass
    assert not is_running(home)


def test_keys_are_kept_and_not_shown(tmp_path):
    who = Identity.generate()
    who.save(tmp_path / "key")
    again = Identity.load(tmp_path / "key")
    assert (again.key, again.curve) == (who.key, who.curve)
    assert repr(who) == f"Identity({pseudonym(who.key)})"
    with pytest.raises(FileExistsError):
        who.save(tmp_path / "key")
    (tmp_path / "bad").write_text('{"signing": "zz"}')
    with pytest.raises(DataError, match="key file"):
        Identity.load(tmp_path / "bad")


def test_a_signature_is_of_one_text():
    who = Identity.generate()
    assert check_signature(who.key, b"text", who.sign(b"text"))
    assert not check_signature(who.key, b"other", who.sign(b"text"))


def test_a_key_has_a_name_that_people_can_tell_apart():
    assert pseudonym(bytes(32)) == "amber-badger-0000"


def test_transport_keys_are_those_of_zeromq():
    who = Identity.generate()
    assert z85.decode(zmq.curve_public(z85.encode(who.curve_secret))) == who.curve


def test_invitations_are_for_one_key_and_one_network():
    network, guest, other = Identity.generate(), Identity.generate(), Identity.generate()
    invitation = sign_invitation(network.signing_secret, bytes(16), guest.key)
    assert check_invitation(network.key, bytes(16), guest.key, invitation)
    assert not check_invitation(network.key, bytes(16), other.key, invitation)
    assert not check_invitation(network.key, bytes([1] * 16), guest.key, invitation)
    assert not check_invitation(other.key, bytes(16), guest.key, invitation)
    assert not check_invitation(network.key, bytes(16), guest.key, b"")
    assert how_to_be_invited("ab", Path("home")).endswith("`invitation` in home/node.toml.")


def test_settings_are_written_with_their_defaults():
    assert NodeSettings().neighbors == 10
    assert settings_toml(NodeSettings()).splitlines()[-1] == "learn_epochs = 10"


def test_a_catalogue_has_titles_and_a_digest(tmp_path):
    (tmp_path / "items.csv").write_text("item,title\nt1,Tea\nc1,Coffee\n")
    items, digest = read_network_catalogue(tmp_path / "items.csv")
    assert (items[1].title, digest[:8]) == ("Coffee", "c77060fb")
