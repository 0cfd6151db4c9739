"""The server itself: where it listens, what it says, when it stops, what it loads."""

import logging
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from tests.support.errors import refused
from tests.support.page_browser import served
from tests.support.sockets import hung_up

from hetdp.node.page import serve
from hetdp.node.storage.page_door import PageDoor

pytestmark = pytest.mark.network


def test_the_page_is_served_until_the_node_stops(caplog, capfd, nodes):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with caplog.at_level(logging.DEBUG), served(nodes.new()) as address:
        assert address.startswith("http://127.0.0.1:")
        with httpx.Client(follow_redirects=True) as client:
            answer = client.get(address)
        assert answer.status_code == 200
        assert answer.url.path == "/items"
        assert answer.url.query == b""
        assert {"server", "date"} & set(answer.headers) == set()
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    token = address.partition("token=")[2]
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert token not in "".join(ours)
    assert capfd.readouterr() == ("", ""), "nothing is written anywhere"


def test_a_fresh_address_lets_another_browser_in_once_and_is_in_no_log(caplog, capfd, nodes):
    node = nodes.new()
    with caplog.at_level(logging.DEBUG), served(node) as first:
        base = first.partition("?")[0]
        with httpx.Client(follow_redirects=True) as one, httpx.Client(follow_redirects=True) as two:
            assert one.get(first).status_code == 200
            fresh = PageDoor(node.folder).fresh_address()
            assert fresh.startswith(base)
            assert fresh != first
            assert two.get(base).status_code == 403
            assert two.get(fresh).status_code == 200
            assert one.get(base).status_code == two.get(base).status_code == 200, "both are in"
        assert httpx.get(fresh).status_code == 403
    assert not (node.folder / "page.address").exists()
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert fresh.partition("token=")[2] not in "".join([*ours, *capfd.readouterr()])


def test_two_pages_on_one_machine_do_not_take_each_others_cookie(nodes):
    with served(nodes.new()) as first, served(nodes.new()) as second, httpx.Client(follow_redirects=True) as client:
        assert client.get(first).status_code == client.get(second).status_code == 200
        assert client.get(first.partition("?")[0]).status_code == 200
        assert len(client.cookies) == 2


def test_only_loopback_listens(nodes):
    with served(nodes.new()) as address:
        port = int(address.partition("/?")[0].rpartition(":")[2])
        with socket.socket() as other:
            other.bind(("127.0.0.2", port))  # would fail if the page listened on every address


def test_a_busy_port_is_explained(nodes):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with refused("port", str(port)):
            serve(nodes.new(), port=port)


def test_a_long_header_does_not_fill_the_memory(nodes):
    with served(nodes.new()) as address, socket.socket() as wire:
        wire.connect(("127.0.0.1", int(address.partition("/?")[0].rpartition(":")[2])))
        wire.settimeout(30)
        wire.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert wire.recv(100).startswith(b"HTTP/1.1 400")


def port_of(address):
    return int(address.partition("/?")[0].rpartition(":")[2])


def unfinished(port):
    wire = socket.create_connection(("127.0.0.1", port), timeout=30)
    wire.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
    return wire


def test_unfinished_requests_of_others_do_not_lock_the_owner_out(nodes):
    """More connections than there are places, each with half a request: the owner gets in, and stays in."""
    # A browser asks again where a connection that it has kept was closed, as an idle one may be; this client would not.
    fresh = httpx.Limits(max_keepalive_connections=0)
    with served(nodes.new()) as address, httpx.Client(follow_redirects=True, limits=fresh) as owner:
        assert owner.get(address).status_code == 200
        crowd = [unfinished(port_of(address)) for _ in range(600)]
        try:
            for _ in range(3):
                assert owner.get(address.partition("?")[0]).status_code == 200
            assert hung_up(crowd[0]), "the oldest had to go"
        finally:
            for wire in crowd:
                wire.close()


def test_who_sends_no_request_is_hung_up_on(monkeypatch, nodes):
    monkeypatch.setattr("hetdp.node.page.server._HEADERS_S", 0.2)
    with served(nodes.new()) as address:
        with unfinished(port_of(address)) as slow:
            assert hung_up(slow)
        with socket.create_connection(("127.0.0.1", port_of(address)), timeout=30) as silent:
            assert hung_up(silent)
        with httpx.Client(follow_redirects=True) as owner:
            assert owner.get(address).status_code == 200


def test_a_refused_stranger_keeps_no_connection(nodes):
    with served(nodes.new()) as address, socket.create_connection(("127.0.0.1", port_of(address)), timeout=30) as wire:
        wire.sendall(
            f"POST /items/undo HTTP/1.1\r\nHost: 127.0.0.1:{port_of(address)}\r\nContent-Length: 9999\r\n\r\n".encode()
        )
        answer = b""
        while more := wire.recv(4096):
            answer += more
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"\r\nconnection: close\r\n" in answer.lower()


def test_importing_the_page_loads_nothing_heavy():
    script = (
        "import sys, hetdp.node.page\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'pandas', 'polars', 'pyarrow', 'rich', 'zmq', 'httpx', 'multipart'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
