"""Chromium, driven by playwright, that keeps a record of every request and every word on the console."""

import os
import shutil
import threading
from contextlib import contextmanager

import pytest


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
    from hetdp.node.page import serve

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

    def __init__(self, page, origin):
        self.page, self.context, self.origin = page, page.context, origin
        self.requests, self.complaints = [], []
        self._listeners = {
            "request": lambda request: self.requests.append(request.url),
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def check(self):
        """Every request went to the page's own server, and nothing was complained about."""
        foreign = [url for url in self.requests if not url.startswith((self.origin + "/", "data:"))]
        assert foreign == []
        assert self.complaints == []

    def leave(self):
        """Leave nothing to the next test: no listener, no route, no second tab, no cookie, no page that goes on asking.

        What pages keep in the browser belongs to their origin, and every test has a server and a port of its own.
        """
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.unroute_all(behavior="ignoreErrors")
        for other in self.context.pages:
            if other is not self.page:
                other.close()
        self.context.clear_cookies()
        self.page.goto("about:blank")


@contextmanager
def opened(started, address, **options):
    """Open the printed address in a fresh profile of the browser."""
    context = started.new_context(**options)
    try:
        tab = Tab(context.new_page(), address.partition("/?")[0])
        tab.page.goto(address)
        yield tab
    finally:
        context.close()


@contextmanager
def opened_in(page, address):
    """Open the printed address in a tab that is there already: a profile of its own would take a new process."""
    tab = Tab(page, address.partition("/?")[0])
    try:
        page.goto(address)
        yield tab
    finally:
        tab.leave()
