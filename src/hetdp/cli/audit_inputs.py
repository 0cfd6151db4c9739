"""What `hetdp audit` reads: a function from a Python file, and JSON from the command line or from a file."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hetdp.core.errors import DataError

__all__ = ["load_function", "read_json"]


def load_function(target: str) -> Callable[..., Any]:
    """Return the function that FILE.py:FUNCTION names."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise DataError(f"the function must be given as FILE.py:FUNCTION. Got {target!r} instead.")
    if not Path(path).is_file():
        raise DataError(f"the file of the function must exist. Got {path!r} instead.")
    spec = importlib.util.spec_from_file_location("audited", path)
    if spec is None or spec.loader is None:
        raise DataError(f"the file of the function must be a Python file. Got {path!r} instead.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(
            f"the file of the function must run without an error. Got {type(error).__name__} in {path!r} instead."
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise DataError(f"{path} must define a function {name!r}. Got {type(function).__name__} instead.")
    return function  # type: ignore[no-any-return]


def read_json(option: str, text: str) -> Any:  # noqa: ANN401  (JSON is whatever it is; the audit checks it)
    """Return JSON given on the command line or in a file.

    Privacy
    -------
    Profiles for an audit are made up; never use real ones.

    Examples
    --------
    >>> read_json("--claimed", "[0.5, 1]")
    [0.5, 1]
    """
    try:
        is_file = Path(text).is_file()
    except OSError:  # too long for a file name
        is_file = False
    try:
        return json.loads(Path(text).read_text(encoding="utf-8") if is_file else text)
    except (ValueError, OSError) as error:
        kind = "a JSON file" if is_file or text.endswith(".json") else "JSON or a file with it"
        raise DataError(f"{option} must be {kind}. Got {text[:60]!r} instead.") from error
