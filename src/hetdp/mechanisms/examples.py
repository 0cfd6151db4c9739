"""Everything the package can release, in small and on domains of all kinds: what audits and tests run on.

A module that makes a mechanism or a query registers examples of it, beside its own code, with `@mechanism_examples` or
`@query_examples`. `hetdp audit --all` runs on all of them, and a test fails if something public has none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hetdp.mechanisms.plan import Mechanism
from hetdp.profiles import Box

if TYPE_CHECKING:
    from hetdp.mechanisms.queries.base import Query

#: From "never counts" to ordinary; the audits look at small weights as well as large ones.
WEIGHTS = (0.8, 0.0, 0.25, 1.0, 0.5, 0.3)
UNIT, SIGNED, AGES = Box.uniform(0, 1, size=6), Box.uniform(-1, 1, size=6), Box.uniform(20, 80, size=6)
MIXED = Box(lower=[-2, 0, 20, -5, 0.5, -1], upper=[1, 3, 80, -1, 0.75, 1])


@dataclass(frozen=True)
class Example:
    """A mechanism with the weights `WEIGHTS`; its name holds that of the function that makes it or its query."""

    name: str
    mechanism: Mechanism
    #: Whether it can be planned with Gaussian noise too.
    gaussian: bool = False
    #: For slow mechanisms: runs per side, and which items to audit. Else chosen from the claims, and all.
    samples: int | None = None
    items: tuple[int, ...] | None = None


_mechanisms: list[Callable[[], Iterator[Example]]] = []
_queries: list[Callable[[], "dict[str, Query]"]] = []


def mechanism_examples(make: Callable[[], Iterator[Example]]) -> Callable[[], Iterator[Example]]:
    """Register the examples of a kind of mechanism."""
    _mechanisms.append(make)
    return make


def query_examples(make: "Callable[[], dict[str, Query]]") -> "Callable[[], dict[str, Query]]":
    """Register the examples of some queries, by name. Each is audited as it is when stretched."""
    _queries.append(make)
    return make


def examples() -> list[Example]:
    """Return the examples of all mechanisms."""
    from hetdp import mechanisms

    for name in dir(mechanisms):  # a mechanism brings its examples along when it is loaded
        getattr(mechanisms, name)
    return [example for make in _mechanisms for example in make()]


def example_queries() -> "dict[str, Query]":
    """Return every built-in query on small domains: unit, signed, away from 0, and mixed."""
    return {name: query for make in _queries for name, query in make().items()}
