"""Which address does what. All work is done by one thread, so that the store opens one connection for the page."""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hetdp.core.errors import InvalidInput
from hetdp.node.handle import NodeHandle
from hetdp.node.page.guard import FORM
from hetdp.node.page.items_page import ItemsPage
from hetdp.node.page.neighbours_page import NeighboursPage
from hetdp.node.page.network_page import NetworkPage
from hetdp.node.page.privacy_page import PrivacyPage
from hetdp.node.page.rendering import Renderer, state_of
from hetdp.node.page.session import Message, Session

__all__ = ["make_application"]

_STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_application(node: NodeHandle, session: Session, worker: ThreadPoolExecutor) -> Starlette:
    """Return the application without its guard.

    Parameters
    ----------
    node
        The node whose owner is served.
    session
        What the owner is looking at.
    worker
        A pool with one thread.

    Privacy
    -------
    Must stand behind a `Guard`: it asks nobody who they are.
    """
    renderer = Renderer(node, session)
    items, privacy = ItemsPage(node, session.view, renderer), PrivacyPage(node, session.view, renderer)
    people, network = NeighboursPage(node, session.view, renderer), NetworkPage(node, renderer)

    def show(page: Callable[[], Response]) -> Callable[[Request], object]:
        async def endpoint(_request: Request) -> Response:
            return await asyncio.get_running_loop().run_in_executor(worker, page)

        return endpoint

    def act(action: Callable[[Mapping[str, str]], Message | None], then: str) -> Callable[[Request], object]:
        def work(form: Mapping[str, str]) -> Message | None:
            try:
                return action(form)
            except InvalidInput as error:
                return Message(str(error), bad=True)

        async def endpoint(request: Request) -> Response:
            message = await asyncio.get_running_loop().run_in_executor(worker, work, request.scope[FORM])
            if message is not None:
                session.view.message = message
            return RedirectResponse(then, status_code=303)

        return endpoint

    def state() -> Response:
        return Response(json.dumps(state_of(node)), media_type="application/json")

    shown = {
        "/items": items.show,
        "/privacy": privacy.show,
        "/neighbours": people.show,
        "/network": network.show,
        "/state": state,
    }
    done = {
        "/items/search": (items.search, "/items"),
        "/items/page": (items.turn, "/items"),
        "/items/narrow": (items.narrow, "/items"),
        "/items/add": (items.add, "/items"),
        "/items/dial": (items.set_dial, "/items"),
        "/items/group": (items.set_group, "/items"),
        "/items/remove": (items.remove, "/items"),
        "/items/undo": (items.undo, "/items"),
        "/privacy/choose": (privacy.choose, "/privacy"),
        "/privacy/limit": (privacy.set_limit, "/privacy"),
        "/privacy/default-limit": (privacy.set_default_limit, "/privacy"),
        "/neighbours/add": (people.add, "/neighbours"),
        "/neighbours/dismiss": (people.dismiss, "/neighbours"),
        "/neighbours/undismiss": (people.undismiss, "/neighbours"),
        "/neighbours/undo": (people.undo, "/neighbours"),
    }
    routes = [Route(address, show(page), methods=["GET"]) for address, page in shown.items()]
    routes += [Route(address, act(action, then), methods=["POST"]) for address, (action, then) in done.items()]
    routes += [Route(f"/static/{path.name}", _static(path), methods=["GET"]) for path in sorted(_STATIC.iterdir())]
    routes.append(Route("/", show(lambda: RedirectResponse("/items", status_code=303)), methods=["GET"]))

    async def missing(_request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 404
        return await asyncio.get_running_loop().run_in_executor(worker, renderer.missing, code)

    return Starlette(routes=routes, exception_handlers={404: missing, 405: missing})


def _static(path: Path) -> Callable[[Request], object]:
    content, kind = path.read_bytes(), _KINDS[path.suffix]

    async def endpoint(_request: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint
