"""Chromium, driven by playwright, that keeps a record of every request and every word on the console."""

import os
import shutil
import threading
from contextlib import contextmanager

import pytest

from hetdp.node.page import serve


def chromium_path():
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


needs_chromium = pytest.mark.skipif(
    chromium_path() is None, reason="no chromium found: install it (Debian: apt-get install chromium) or set CHROMIUM"
)


@contextmanager
def browser():
    """Start the browser of the system; nothing is downloaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root, as in containers, cannot have Chromium's sandbox; the only pages opened are our own.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=chromium_path(), args=options)
        yield started
        started.close()


@contextmanager
def served(node):
    """Serve the page of a node from a thread; yield the address to open."""
    addresses, listening = [], threading.Event()

    def announce(address):
        addresses.append(address)
        listening.set()

    thread = threading.Thread(target=serve, args=(node,), kwargs={"announce": announce})
    thread.start()
    assert listening.wait(30)
    try:
        yield addresses[0]
    finally:
        node.stopping.set()
        thread.join(30)
        assert not thread.is_alive(), "the page stops with its node"


class Tab:
    """A tab that remembers what it asked for and what it complained about."""

    def __init__(self, context, origin):
        self.context, self.origin = context, origin
        self.requests, self.complaints = [], []
        self.page = context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def check(self):
        """Every request went to the page's own server, and nothing was complained about."""
        foreign = [url for url in self.requests if not url.startswith((self.origin + "/", "data:"))]
        assert foreign == []
        assert self.complaints == []


@contextmanager
def opened(started, address, **options):
    """Open the printed address in a fresh profile of the browser."""
    context = started.new_context(**options)
    try:
        tab = Tab(context, address.partition("/?")[0])
        tab.page.goto(address)
        yield tab
    finally:
        context.close()
