"""Templates, read once, with everything escaped; and the frame that all pages share."""

import math
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from hetdp.core.words import byte_size, counted, duration, short_number
from hetdp.node.handle import NodeHandle
from hetdp.node.page import words
from hetdp.node.page.session import Session

__all__ = ["Renderer", "state_of"]

_FOLDER = Path(__file__).parent
#: Address of each page -> what the menu calls it.
PAGES = {"/items": "My items", "/privacy": "My privacy", "/neighbours": "Neighbours", "/network": "Network"}


def state_of(node: NodeHandle) -> dict[str, object]:
    """Return numbers that change when a page is out of date; the browser asks for them now and then."""
    clock, store = node.clock(), node.store
    return {
        "profile": store.profile.version(),
        "epoch": [clock.epoch, clock.published_epoch],
        "network": [store.peers.sketch_count(), store.peers.traffic().exchanges],
    }


class Renderer:
    """Turns what a page knows into HTML.

    Privacy
    -------
    The result is for the owner's browser. Titles come from a file that others wrote: all of it is escaped.
    """

    def __init__(self, node: NodeHandle, session: Session) -> None:
        self._node, self._session = node, session
        self._environment = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
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

    def missing(self, code: int = 404) -> HTMLResponse:
        """Return what is shown where there is no page."""
        return self.page("", "missing.html", watch="", code=code)

    def page(self, address: str, template: str, *, watch: str, code: int = 200, **facts: Any) -> HTMLResponse:  # noqa: ANN401
        """Return a page as a response.

        Parameters
        ----------
        address
            Which entry of the menu it is.
        template
            Its file.
        watch
            Names in the answer of /state whose change makes the page out of date.
        code
            Status of the response.
        facts
            What the template shows.
        """
        clock = self._node.clock()
        passed = (clock.now_s - clock.starts_s) / (clock.ends_s - clock.starts_s)
        html = self._environment.get_template(template).render(
            **facts,
            address=address,
            pages=PAGES,
            watch=watch,
            state=state_of(self._node),
            name=self._node.name,
            network=self._node.network.name,
            clock=clock,
            left_s=math.ceil(clock.ends_s - clock.now_s),
            passed=round(100.0 * min(1.0, max(0.0, passed)), 2),
            next_moment=words.moment_words(clock.ends_s, clock.now_s),
            moment=lambda moment_s: words.moment_words(moment_s, clock.now_s),
            form_token=self._session.form_token,
            message=self._session.view.take_message(),
        )
        return HTMLResponse(html, status_code=code)
