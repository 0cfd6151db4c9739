"""The page of a real node in a live network of three processes, in a real browser."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from fractions import Fraction

import pytest
from tests.support.page_browser import browser, needs_chromium, opened

from hetdp.node.catalogue_file import read_network_catalogue
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.folder import free_ports, init_node

pytest.importorskip("playwright", reason="playwright is not installed: pip install --group test")
pytestmark = [needs_chromium, pytest.mark.browser, pytest.mark.network]

ITEMS = 60
EPOCH_S = 3600
#: What the two others have; the owner adds the first four in the browser and should be recommended the rest.
THEIRS = range(12)


@pytest.fixture
def folders(tmp_path):
    """Make the folders of an owner with an empty list and of two others who are alike."""
    rows = [f"i{place},Piece {place},,{'Music' if place % 2 else 'Books'}" for place in range(ITEMS)]
    (tmp_path / "items.csv").write_text("\n".join(["item,title,link,group", *rows]) + "\n")
    (tmp_path / "theirs.csv").write_text("\n".join(["item", *(f"i{place}" for place in THEIRS)]) + "\n")
    items, digest = read_network_catalogue(tmp_path / "items.csv")
    who = [Identity.generate() for _ in range(3)]
    addresses = [f"tcp://127.0.0.1:{port}" for port in free_ports(3)]
    network = NetworkParameters(
        name="three",
        catalogue="items.csv",
        catalogue_sha256=digest,
        items=len(items),
        epsilon=Fraction(30),  # noise so small that one of the 180 bits is wrong once in 10**10 runs
        epoch_start_s=int(time.time()) - 60,
        epoch_length_s=EPOCH_S,
        period_s=0.3,
        bootstrap=(Bootstrap(addresses[1], who[1].key.hex(), who[1].curve.hex()),),
    )
    (tmp_path / "net.toml").write_text(network.to_toml())
    made = []
    for number, identity in enumerate(who):
        made.append(tmp_path / f"node-{number}")
        init_node(
            made[-1],
            network_path=tmp_path / "net.toml",
            profile_path=tmp_path / "theirs.csv" if number else None,
            settings=NodeSettings(listen=addresses[number], page=number == 0),
            identity=identity,
        )
    return made


@contextmanager
def running(folders):
    """Run the nodes as processes; yield the owner's address and process."""
    command = [sys.executable, "-c", "from hetdp.cli.node import node; node()", "run", "--json", "--folder"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([*command, str(folder)], **options) for folder in folders]
    try:
        yield json.loads(processes[0].stdout.readline())["page"], processes[0]
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    for out, err in said:
        assert "Piece" not in out + err, "nothing is said about items"
        assert "token" not in err
        assert "Traceback" not in err


def test_from_an_empty_list_to_a_recommendation(folders):
    with running(folders) as (address, _), browser() as started, opened(started, address) as tab:
        page = tab.page
        assert page.locator("h2", has_text="Three steps").is_visible()
        for place in range(4):
            page.locator("#search").fill(f"piece {place}")
            page.locator(f"#add-{place}").click()
            page.locator(f"#dial-{place}").wait_for()
        page.locator("#dial-3").focus()
        page.keyboard.press("Home")
        page.get_by_text("Piece 3: hidden from the next sketch.").wait_for()

        page.get_by_role("link", name="Neighbours").click()
        page.locator("#people li").nth(1).wait_for(timeout=60_000)
        page.locator("#add-11").wait_for(timeout=60_000)
        advice = page.locator("#advice").inner_text()
        assert "Both people like you seem to have it." in advice
        assert "seems to have about 3 of your 3" in page.locator("#people").inner_text()
        assert page.locator("#add-0").count() == 0, "what is on the list is not recommended"

        page.locator("#add-11").click()
        page.get_by_text("Piece 11 is on your list.").wait_for()
        page.reload()
        assert page.locator("#add-11").count() == 0
        page.get_by_role("link", name="My items").click()
        page.locator("h1", has_text="My items").wait_for()
        page.locator("#search").fill("piece")  # what was looked for last is still there
        page.locator("#dial-11").wait_for()
        assert page.locator("#dial-11").input_value() == "100"
        assert page.locator("#dial-3").input_value() == "0"
        assert "4 changes wait" in page.locator("main").inner_text(), "0, 1, 2 and 11; 3 is hidden"
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="My privacy").click()
        page.locator(".sketch img").wait_for()
        page.get_by_role("link", name="Network", exact=True).click()
        page.locator("h1", has_text="Network").wait_for()
        assert "2 sketches of others held" in " ".join(page.locator("main").inner_text().split())
        tab.check()
        with opened(started, tab.origin + "/?token=wrong") as stranger:
            assert "This address does not work" in stranger.page.locator("body").inner_text()
    handle = NodeHandle.open(folders[0])
    try:
        assert {item.place: item.dial for item in handle.store.profile.items()} == {
            0: 100,
            1: 100,
            2: 100,
            3: 0,
            11: 100,
        }
        assert handle.store.ledger.spent() == {}, "the sketch of this epoch was drawn before anything was added"
    finally:
        handle.close()
