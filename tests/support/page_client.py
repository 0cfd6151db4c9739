"""A guarded page in memory, and a client that behaves like the owner's browser."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import httpx

from hetdp.node.page.application import make_application
from hetdp.node.page.owner_guard import OwnerGuard, Session

HOST = "127.0.0.1:4321"
BASE = f"http://{HOST}"


class Client:
    """A browser without a screen: keeps cookies, follows nothing."""

    def __init__(self, app):
        self._app = app
        self.cookies = httpx.Cookies()

    def request(self, method, address, **options):
        async def send():
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=self.cookies) as client:
                answer = await client.request(method, address, **options)
                self.cookies = client.cookies
                return answer

        return asyncio.run(send())

    def get(self, address, **options):
        return self.request("GET", address, **options)

    def post(self, address, **options):
        return self.request("POST", address, **options)


class Page:
    """The page of a node."""

    def __init__(self, node):
        self.node = node
        self.session = Session()
        self.worker = ThreadPoolExecutor(1)
        self.app = OwnerGuard(
            make_application(self.node, self.session, self.worker),
            session=self.session,
            hosts=(HOST, "localhost:4321"),
            cookie="hetdp_4321",
        )
        self.client = self.stranger()

    def stranger(self):
        """Return a client that has not opened the printed address."""
        return Client(self.app)

    def enter(self):
        answer = self.client.get("/", params={"token": self.session.token})
        assert answer.status_code == 303
        return self

    def get(self, address, **headers):
        answer = self.client.get(address, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.text

    def post(self, address, **fields):
        """Send a form as the page would, and return the page that follows."""
        answer = self.send(address, fields | {"form_token": self.session.form_token})
        assert answer.status_code == 303, answer.text
        return self.get(answer.headers["location"])

    def send(self, address, fields, **headers):
        return self.client.post(address, data=fields, headers={"Origin": BASE} | headers)

    def close(self):
        self.worker.shutdown()


def text_of(html):
    """Return what a reader sees, on one line."""
    without = re.sub(r"<(script|style|title)\b.*?</\1>", " ", html, flags=re.DOTALL)
    plain = re.sub(r"<[^>]+>", " ", without)
    for escaped, character in (("&#39;", "'"), ("&#34;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        plain = plain.replace(escaped, character)
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(plain.split()))
