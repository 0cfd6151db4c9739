"""The commands by name, each imported when it is asked for: nobody waits for commands that they did not call."""

import importlib
from collections.abc import Iterator, MutableMapping

import click

__all__ = ["Commands"]


class Commands(MutableMapping[str, click.Command]):
    """Commands of a group. A command that is called `warm-up` is `warm_up` in `hetdp.cli.warm_up`.

    Parameters
    ----------
    names
        What they are called.

    Examples
    --------
    >>> commands = Commands("compare", "warm-up")
    >>> list(commands), commands["warm-up"].name
    (['compare', 'warm-up'], 'warm-up')
    """

    def __init__(self, *names: str) -> None:
        self._found: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if found is None:
            attribute = name.replace("-", "_")
            found = getattr(importlib.import_module(f"hetdp.cli.{attribute}"), attribute)
            if not isinstance(found, click.Command):
                message = f"hetdp.cli.{attribute} has no command of that name"
                raise TypeError(message)
            self._found[name] = found
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
