"""Checks of errors by their fields: which parameter, and what is wrong with it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from hetdp.core.errors import HetdpError, InvalidInput


@contextmanager
def refused(
    parameter: str | None = None, problem: str = "", *, kind: type[HetdpError] = InvalidInput
) -> Iterator[SimpleNamespace]:
    """Expect an error of a kind about a parameter (if one is given) whose text contains a problem.

    After the block, the attribute `error` of the yielded object is the exception.
    """
    found = SimpleNamespace(error=None)
    with pytest.raises(kind) as raised:
        yield found
    found.error = raised.value
    if parameter is not None:
        assert getattr(found.error, "parameter", None) == parameter, f"{found.error!r} is not about {parameter}"
    assert problem in str(found.error), f"{problem!r} is not in {str(found.error)!r}"


def complaints(said: str) -> list[str]:
    """Return what each error of a command is about: the first option or argument that its line names."""
    lines = [line.removeprefix("Error: ") for line in said.splitlines() if line.startswith("Error: ")]
    found = [re.search(r"--[a-z][a-z-]+|\bDATA\b", line) for line in lines]
    return [option[0] if option is not None else line for option, line in zip(found, lines, strict=True)]
