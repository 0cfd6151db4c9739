"""Packages whose names are imported when first asked for: nobody waits for what they do not use."""

import importlib
from collections.abc import Callable, Mapping, Sequence

__all__ = ["attach"]


def attach(
    package: str, homes: Mapping[str, Sequence[str]], *, there: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    Parameters
    ----------
    package
        Its name.
    homes
        Where its public names live: by module, relative to the package. Under "" and "module." are modules themselves.
    there
        Public names that are there from the start.
    """
    where = {name: f"{package}.{home}" for home, names in homes.items() for name in names}

    def __getattr__(name: str) -> object:  # noqa: N807  (it becomes that of the package)
        if name not in where:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        if where[name].endswith("."):
            return importlib.import_module(f"{where[name]}{name}")
        return getattr(importlib.import_module(where[name]), name)

    def __dir__() -> list[str]:  # noqa: N807
        return sorted([*where, *there])

    return __getattr__, __dir__
