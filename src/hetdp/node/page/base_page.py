"""What a page is: an address, a place in the menu, a template, what it shows, and what its forms do.

A page is a subclass in a file of its own, a template, and a line in `application.PAGES`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hetdp.core.errors import InvalidInput
from hetdp.node.handle import NodeHandle
from hetdp.node.page.owner_guard import Notice

#: The fields of a form, as they were sent.
Form = Mapping[str, str]
#: What a form does; returns what to tell its sender.
FormAction = Callable[[Form], Notice | None]

_LONGEST = 200


@dataclass(frozen=True, slots=True, repr=False)
class Download:
    """A file for the owner to keep. Private, so `repr` shows nothing."""

    content: bytes
    media_type: str


class Page(ABC):
    """One page of a node.

    What its owner is looking at is kept here, in memory, and not in addresses: browsers remember those and may copy
    them to a cloud.
    """

    address: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]  # the inside of an SVG, 24 x 24
    template: ClassVar[str]
    in_menu: ClassVar[bool] = True
    watch: ClassVar[str]  # names in the answer of /state whose change makes the page out of date
    #: Form -> the part of the page to look at afterwards. Fixed names: addresses say nothing about what was chosen.
    anchors: ClassVar[Mapping[str, str]] = {}

    def __init__(self, node: NodeHandle) -> None:
        self._node = node

    @abstractmethod
    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""

    def alert(self) -> str:
        """Return what the other pages say as long as the owner should look at this one; "" for nothing."""
        return ""

    def begin_again(self) -> None:  # noqa: B027  (most pages have nothing to forget)
        """Forget what was looked for: somebody has just come in, perhaps with another browser."""

    def forms(self) -> dict[str, FormAction]:
        """Return what forms of the page do, by the last part of their address. Afterwards the page is shown again."""
        return {}

    def downloads(self) -> dict[str, Callable[[], Download]]:
        """Return the files that can be kept, by name, which is the last part of their address."""
        return {}


def whole_in(form: Form, name: str) -> int:
    """Return a field as a whole number of at least 0."""
    text = form.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 9):  # noqa: PLR2004  (no catalogue is larger)
        raise InvalidInput("must be a whole number", parameter=name)
    return int(text)


def amount_in(form: Form, name: str) -> float | None:
    """Return a field as a number of at least 0; None for an empty one."""
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0.0):
        raise InvalidInput("must be a number of at least 0", parameter=name)
    return amount


def text_in(form: Form, name: str) -> str:
    """Return a field as a text of bounded length, without surplus blanks."""
    return " ".join(form.get(name, "").split())[:_LONGEST]


def bytes_in(form: Form, name: str) -> bytes:
    """Return what a file held, or a text as UTF-8; nothing if there is none."""
    return form.get(name, "").encode(errors="surrogateescape")
