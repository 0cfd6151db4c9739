"""Packages that only some of hetdp needs: how they are asked for, and what is said where they are missing."""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from hetdp.core.errors import MissingExtra
from hetdp.core.text import agreeing, listed


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module of an extra and return it.

    Parameters
    ----------
    module
        What to import, such as ``"altair"``.
    extra
        The extra of hetdp that brings it.
    purpose
        Who needs it, as the beginning of a sentence.

    Raises
    ------
    MissingExtra
        If it is not installed.

    Examples
    --------
    >>> require("json", extra="report", purpose="A report").dumps([1])
    '[1]'
    >>> require("no_such_module", extra="plot", purpose="A plot")
    Traceback (most recent call last):
    hetdp.core.errors.MissingExtra: A plot needs no_such_module, which is not installed.
    Install it with: pip install 'hetdp[plot]'.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # What is missing may be something that the module itself needs.
        raise _missing([error.name or module], extra, purpose) from error


def require_all(modules: Sequence[str], *, extra: str, purpose: str) -> None:
    """Refuse to begin where modules of an extra are not installed. Nothing is imported yet.

    Examples
    --------
    >>> require_all(["json", "no_such_module", "nor_this"], extra="node", purpose="A node")
    Traceback (most recent call last):
    hetdp.core.errors.MissingExtra: A node needs no_such_module and nor_this, which are not installed.
    Install them with: pip install 'hetdp[node]'.
    """
    missing = [module for module in modules if _origin(module) is None]
    if missing:
        raise _missing(missing, extra, purpose)


def place_of(module: str, *, extra: str, purpose: str) -> Path:
    """Return the file of a module without importing it; refuse where there is none.

    Examples
    --------
    >>> place_of("json", extra="node", purpose="A node").name
    '__init__.py'
    """
    found = _origin(module)
    if found is None:
        raise _missing([module], extra, purpose)
    return Path(found)


def _origin(module: str) -> str | None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # the package that it is in
        return None
    return None if found is None else found.origin  # a folder that happens to have the name has none


def _missing(modules: Sequence[str], extra: str, purpose: str) -> MissingExtra:
    number = len(modules)
    return MissingExtra(
        f"{purpose} needs {listed(modules)}, which {agreeing(number, 'is', 'are')} not installed. "
        f"Install {agreeing(number, 'it', 'them')} with: pip install 'hetdp[{extra}]'.",
        extra=extra,
        name=modules[0],
    )
