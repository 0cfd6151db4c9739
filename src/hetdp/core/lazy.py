"""Names that are imported when first asked for, of packages and by key: nobody waits for what they do not use."""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

__all__ = ["OnDemand", "attach"]


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


class OnDemand(MutableMapping[str, Any]):
    """Objects by name, each imported when it is asked for.

    Parameters
    ----------
    package
        Where their modules are.
    names
        What they are called. The object `warm-up` is `warm_up` in the module `warm_up` of the package.

    Examples
    --------
    >>> functions = OnDemand("hetdp.core", "lazy")
    >>> list(functions), "words" in functions
    (['lazy'], False)
    """

    def __init__(self, package: str, *names: str) -> None:
        self._package = package
        self._found: dict[str, Any] = dict.fromkeys(names)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  (whatever it is)
        if self._found[name] is None:
            attribute = name.replace("-", "_")
            self._found[name] = getattr(importlib.import_module(f"{self._package}.{attribute}"), attribute)
        return self._found[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._found[name] = value

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
