"""Which address does what, and the frame that all pages share. Pages are found in `PAGES`, in the order of the menu.

All work is done by one thread, so that the store opens one connection for the page.
"""

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from hetdp.core.errors import HetdpError, InvalidInput
from hetdp.core.text import byte_size, counted, duration, short_number
from hetdp.node import words
from hetdp.node.handle import EpochClock, NodeHandle
from hetdp.node.page.base_page import Download, Form, FormAction, Page
from hetdp.node.page.data_page import DataPage, LeavePage
from hetdp.node.page.items_page import ItemsPage
from hetdp.node.page.neighbors_page import NeighborsPage
from hetdp.node.page.network_page import NetworkPage
from hetdp.node.page.owner_guard import FORM, Notice, Session
from hetdp.node.page.privacy_page import PrivacyPage
from hetdp.node.storage.events import happening
from hetdp.node.words import moment_words

_HAPPENED = ("/network#happened", "What happened")


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """Something that needs the owner; `link` is where to do something about it. Names no item and no dial."""

    title: str
    text: str
    link: tuple[str, str] = _HAPPENED


def needs_owner(node: NodeHandle, clock: EpochClock) -> list[OwnerNotice]:
    """Return what needs the owner now."""
    mode, found = node.store.mode.get(), []
    if clock.why in {"behind", "skipped"} and clock.next_draw_s is not None:
        again = moment_words(clock.next_draw_s, clock.now_s)
        found.append(OwnerNotice("No sketch is drawn now.", f"{clock.why_words} The next one comes {again}."))
    elif mode == "paused":
        found.append(
            OwnerNotice(
                "Your node is paused.",
                "No sketch of you is drawn, and nothing is spent, until you resume.",
                ("/data#pause", "Resume"),
            )
        )
    elif mode == "stopped":
        met = node.store.events.newest("twin")
        words = "" if met is None else happening(met)
        found.append(OwnerNotice("Your node has stopped publishing.", words, ("/data#pause", "What to do")))
    elif mode == "closed":
        found.append(
            OwnerNotice("This node is closed.", "It has moved or has left the network, and publishes nothing any more.")
        )
    return found


PAGES: tuple[type[Page], ...] = (ItemsPage, PrivacyPage, NeighborsPage, NetworkPage, DataPage, LeavePage)

_FOLDER = Path(__file__).parent
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_application(node: NodeHandle, session: Session, worker: ThreadPoolExecutor) -> Starlette:
    """Return the application, whose work is done by a pool with one thread.

    It must stand behind an `OwnerGuard`: it asks nobody who they are.
    """
    pages = [kind(node) for kind in PAGES]
    frame = Frame(node, session, pages)

    def show(answer: Callable[[], Response]) -> Callable[[Request], object]:
        async def endpoint(_request: Request) -> Response:
            return await asyncio.get_running_loop().run_in_executor(worker, answer)

        return endpoint

    def act(action: FormAction, then: str) -> Callable[[Request], object]:
        def work(form: Form) -> Notice | None:
            try:
                return action(form)
            except InvalidInput as error:
                return Notice(str(error), bad=True)

        async def endpoint(request: Request) -> Response:
            notice = await asyncio.get_running_loop().run_in_executor(worker, work, request.scope[FORM])
            if node.stopping.is_set():  # the owner has left: the next request would find nobody
                return await asyncio.get_running_loop().run_in_executor(worker, frame.goodbye)
            if notice is not None:
                session.notice = notice
            return RedirectResponse(then, status_code=303)

        return endpoint

    shown: dict[str, Callable[[], Response]] = {page.address: partial(frame.around, page) for page in pages}
    shown |= {"/state": frame.state, "/": frame.entrance}
    routes = [Route(address, show(answer), methods=["GET"]) for address, answer in shown.items()]
    routes += [
        Route(f"{page.address}/{name}", act(action, _after(page, name)), methods=["POST"])
        for page in pages
        for name, action in page.forms().items()
    ]
    routes += [
        Route(f"{page.address}/{name}", show(partial(_kept, make, name)), methods=["GET"])
        for page in pages
        for name, make in page.downloads().items()
    ]
    static = sorted((_FOLDER / "static").iterdir())
    routes += [Route(f"/static/{path.name}", _static(path), methods=["GET"]) for path in static]

    async def missing(_request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 404
        return await asyncio.get_running_loop().run_in_executor(worker, frame.missing, code)

    return Starlette(routes=routes, exception_handlers={404: missing, 405: missing, HetdpError: frame.damaged})


class Frame:
    """What all pages share. Titles come from a file that others wrote: all of it is escaped."""

    def __init__(self, node: NodeHandle, session: Session, pages: Sequence[Page]) -> None:
        self._node, self._session, self._pages = node, session, pages

    def around(self, page: Page) -> HTMLResponse:
        """Return a page in its frame."""
        alerts = [(other.address, other.title, other.alert()) for other in self._pages if other is not page]
        shown = page.shown() | {"alerts": [alert for alert in alerts if alert[-1]]}
        return self._filled(page.template, shown, address=page.address, title=page.title, watch=page.watch)

    def entrance(self) -> Response:
        """Lead whoever comes in to the first page."""
        for page in self._pages:
            page.begin_again()
        return RedirectResponse(PAGES[0].address, status_code=303)

    def state(self) -> Response:
        """Return numbers that change when a page is out of date; the browser asks for them now and then."""
        return Response(json.dumps(self._state()), media_type="application/json")

    def missing(self, code: int) -> HTMLResponse:
        """Return what is shown where there is no page."""
        return self._filled("missing.html", {"alerts": []}, address="", title="Not here", watch="", code=code)

    def damaged(self, _request: Request, error: Exception) -> HTMLResponse:
        """Return what is shown where the store cannot be read: nothing of it is needed."""
        html = _templates().get_template("damaged.html").render(error=str(error))
        return HTMLResponse(html, status_code=500)

    def goodbye(self) -> HTMLResponse:
        """Return the last page of a node that stops."""
        return self._filled("goodbye.html", {"alerts": []}, address="", title="Goodbye", watch="gone")

    def _filled(
        self, template: str, shown: dict[str, Any], *, address: str, title: str, watch: str, code: int = 200
    ) -> HTMLResponse:
        clock = self._node.clock()
        passed = (clock.now_s - clock.starts_s) / (clock.ends_s - clock.starts_s)
        next_s = clock.ends_s if clock.next_draw_s is None else clock.next_draw_s
        layout = _templates().get_template(template)
        html = layout.render(
            **shown,
            address=address,
            page_title=title,
            pages=[page for page in PAGES if page.in_menu],
            watch=watch,
            state=self._state(),
            name=self._node.name,
            network=self._node.network.name,
            mode=self._node.store.mode.get(),
            clock=clock,
            left_s=math.ceil(next_s - clock.now_s),
            passed=round(100.0 * min(1.0, max(0.0, passed)), 2),
            next_moment=words.moment_words(next_s, clock.now_s),
            moment=lambda moment_s: words.moment_words(moment_s, clock.now_s),
            form_token=self._session.form_token,
            notices=needs_owner(self._node, clock),
            message=self._session.take_notice(),
        )
        return HTMLResponse(html, status_code=code)

    def _state(self) -> dict[str, object]:
        clock, store = self._node.clock(), self._node.store
        return {
            "profile": store.profile.version(),
            "epoch": [clock.epoch, clock.published_epoch, clock.why],
            "network": [
                store.peers.sketch_count(),
                store.peers.traffic().exchanges,
                *(event.time_s for event in store.events.all(1)),
            ],
        }


@cache
def _templates() -> Environment:
    """Return the templates, the same for every node: to compile them takes longer than to fill them in."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["EPSILON_WORDS"] = words.EPSILON_WORDS
    environment.filters.update(
        bytes=byte_size,
        count=counted,
        dial_name=words.dial_name,
        duration=duration,
        factor=words.factor_words,
        percent=words.percent_words,
        number=lambda value: f"{value:,}",
        short=short_number,
        # For fields: without commas, and with all digits that were typed.
        plain=lambda value: f"{value:.12g}",
    )
    return environment


def _after(page: Page, form: str) -> str:
    """Return where to go after a form."""
    anchor = page.anchors.get(form, "")
    return f"{page.address}#{anchor}" if anchor else page.address


def _kept(make: Callable[[], Download], name: str) -> Response:
    """Return a file for the browser to save, not to show."""
    made = make()
    headers = {"Content-Disposition": f'attachment; filename="hetdp-{name}"'}
    return Response(made.content, media_type=made.media_type, headers=headers)


def _static(path: Path) -> Callable[[Request], object]:
    content, kind = path.read_bytes(), _KINDS[path.suffix]

    async def endpoint(_request: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint
