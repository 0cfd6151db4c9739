"""Fields of forms, as the numbers they stand for. The browser checks them too; this is for everybody else."""

import math
from collections.abc import Mapping

from hetdp.core.errors import InvalidInput

__all__ = ["amount_in", "text_in", "whole_in"]

_LONGEST = 200


def whole_in(form: Mapping[str, str], name: str) -> int:
    """Return a field as a whole number of at least 0.

    Examples
    --------
    >>> whole_in({"place": "17"}, "place")
    17
    """
    text = form.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 9):  # noqa: PLR2004  (no catalogue is larger)
        raise InvalidInput(f"{name} must be a whole number. Got something else instead.")
    return int(text)


def amount_in(form: Mapping[str, str], name: str) -> float | None:
    """Return a field as a number of at least 0; None for an empty one.

    Examples
    --------
    >>> amount_in({"limit": "4.5"}, "limit"), amount_in({"limit": " "}, "limit")
    (4.5, None)
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0.0):
        raise InvalidInput(f"{name} must be a number of at least 0. Got something else instead.")
    return amount


def text_in(form: Mapping[str, str], name: str) -> str:
    """Return a field as a text of bounded length, without surplus blanks.

    Examples
    --------
    >>> text_in({"text": "  green   tea "}, "text")
    'green tea'
    """
    return " ".join(form.get(name, "").split())[:_LONGEST]
