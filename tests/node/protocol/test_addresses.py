"""What an address tells: its parts, its kind, and whether two are the same host."""

import math

from hetdp.node.protocol.addresses import address_kind, endpoint_of, host_of, most_at_host, split_address


def test_an_address_is_a_host_and_a_port():
    assert split_address("tcp://127.0.0.1:7470") == ("127.0.0.1", 7470)
    assert endpoint_of("tcp://[2001:DB8:0::5]:0080") == endpoint_of("tcp://[2001:db8::5]:80")


def test_kinds_of_addresses():
    hosts = {
        "127.0.0.1": "loopback",
        "[::ffff:7f00:1]": "loopback",
        "10.0.0.1": "private",
        "8.8.8.8": "public",
        "tea.example": "name",
        "0.0.0.0": "nowhere",  # noqa: S104  (nothing is bound)
        "[fe80::1]": "link-local",
    }
    assert {host: address_kind(f"tcp://{host}:1") for host in hosts} == hosts


def test_one_host_is_one_host_however_it_is_spelled():
    assert host_of("tcp://[2001:DB8:0::5]:1") == host_of("tcp://[2001:db8::6]:2") == "2001:db8::/64"
    assert host_of("tcp://10.0.0.1:3") == "10.0.0.1"


def test_only_a_node_on_loopback_takes_any_number_of_peers_there():
    near = "tcp://127.0.0.1:1"
    assert most_at_host(near, "tcp://127.0.0.1:2", 4) == math.inf
    assert most_at_host(near, "tcp://8.8.8.8:1", 4) == 4
    assert most_at_host(near, "", 0) == math.inf
