"""How far is the walk? The project's modules in which code runs during one call, counted.

`python tools/walk.py` takes the walks that this house is measured by: a CSV of likes to its neighbours, and a release
from a CSV of people with and without a ledger, and from Python. What only defines things while it is imported does not
count; compiled kernels count as the module that calls them.
"""

import csv
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

_RELEASE = [
    "release", "people.csv", "--query", "mean", "--column", "hours", "--lower", "0", "--upper", "80",
    "--weight-column", "privacy", "--epsilon", "1", "--quiet",
]  # fmt: skip
WALKS = {
    "a CSV to neighbours": ["neighbors", "likes.csv", "--epsilon", "1", "-k", "3", "-o", "lists.csv", "--quiet"],
    "a release": _RELEASE,
    "a release charged to a ledger": [*_RELEASE, "--ledger", "ledger.db", "--id-column", "person"],
}


#: Imports names when they are asked for; as with every import, that it does so does not count.
_IMPORTS = "hetdp.core.lazy"


def modules_run(call: Callable[[], object]) -> Counter[str]:
    """Return the modules of hetdp whose functions ran during a call, and how many different ones did in each."""
    functions: set[tuple[str, str]] = set()
    importing = 0

    def watch(frame: object, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code  # type: ignore[attr-defined]
        if code.co_name == "<module>" or code.co_filename.startswith("<frozen importlib"):
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing:
            name = frame.f_globals.get("__name__", "")  # type: ignore[attr-defined]
            if name.startswith("hetdp") and name != _IMPORTS:
                functions.add((name, code.co_qualname))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Counter(module for module, _ in functions)


def release_from_python(folder: Path) -> Callable[[], object]:
    """Return a release of a stretched query that is charged to the file of a ledger, ready to be made."""
    import hetdp

    stretched = hetdp.stretch(hetdp.queries.mean(hetdp.Box.uniform(0, 80, size=200)), [0.5] * 200)
    ledger = hetdp.Ledger([3.0] * 200, folder / "python.db")
    return partial(hetdp.release, stretched, list(range(200)), epsilon=1, ledger=ledger)


def take_all(folder: Path) -> dict[str, Counter[str]]:
    """Take all walks in a folder of their own and return what each met."""
    from hetdp.cli.main import main as hetdp

    with (folder / "likes.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("user", "item", "weight"), *((u, i, 0.5) for u in range(40) for i in range(20) if (u * i) % 3)]
        )
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("person", "hours", "privacy"), *((p, p % 80, 0.5) for p in range(200))])
    calls: dict[str, Callable[[], object]] = {}
    for name, arguments in WALKS.items():
        given = [str(folder / word) if word.endswith((".csv", ".db")) else word for word in arguments]
        calls[name] = partial(hetdp, given)
    calls["a release from Python"] = release_from_python(folder)
    return {name: modules_run(call) for name, call in calls.items()}


def main() -> None:
    """Print what was met."""
    with tempfile.TemporaryDirectory() as folder:
        for name, met in take_all(Path(folder)).items():
            print(f"{name}: {len(met)} modules, {met.total()} functions")
            for module, count in sorted(met.items()):
                print(f"  {module} ({count})")


if __name__ == "__main__":
    main()
