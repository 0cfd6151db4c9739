"""The `hetdp` command: its groups, its errors and its exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 an audit found a violation,
2 usage, 3 bad data, 4 budget exhausted, 5 ledger unusable, 6 output could not be written, 130 interrupted, 143
terminated. A command is imported when it is called, and imports what it needs when it runs, so that `--help` is quick.
"""

import importlib
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import click

from hetdp.cli.interrupts import INTERRUPTED
from hetdp.cli.output import wrapped
from hetdp.cli.version import print_version
from hetdp.core.errors import BudgetExhausted, DataError, HetdpError, LedgerError

__all__ = ["cli", "main"]


class OnDemand(MutableMapping[str, Any]):
    """Objects by name, each imported when it is asked for.

    Parameters
    ----------
    package
        Where their modules are.
    names
        What they are called. The object `warm-up` is `warm_up` in the module `warm_up` of the package.

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


#: In the order of the documentation.
COMMANDS = OnDemand(
    "hetdp.cli",
    "release",
    "compare",
    "budget",
    "label",
    "neighbors",
    "learn",
    "recommend",
    "evaluate",
    "datasets",
    "reproduce",
    "network",
    "node",
    "audit",
    "demo",
    "warm-up",
    "completion",
)
USAGE, BAD_DATA, EXHAUSTED, LEDGER, UNWRITTEN = 2, 3, 4, 5, 6


@click.group(
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    no_args_is_help=True,
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("--json", "as_json", is_flag=True, help="With --version: also of what it runs on, for a bug report.")
@click.pass_context
def cli(context: click.Context, *, version: bool, as_json: bool) -> None:
    """Heterogeneous differential privacy: a privacy dial for every item."""
    if version:
        print_version(as_json=as_json)
        context.exit()
    if as_json:
        raise click.UsageError("--json must come with --version, or after the name of a command.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Privacy
    -------
    Errors name parameters and constraints, never a private value; there is never a traceback with one in it.
    """
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="hetdp", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. No file was half written; whatever a ledger had recorded stays recorded.", err=True)
        sys.exit(INTERRUPTED)
    except HetdpError as error:
        click.echo(wrapped(f"Error: {error}"), err=True)
        sys.exit(exit_code(error))
    except OSError as error:  # a full disk behind standard output
        click.echo(f"Error: the output could not be written: {error.strerror}.", err=True)
        sys.exit(UNWRITTEN)
    except SystemExit as error:  # by a signal; or by click, with 1, where nobody reads standard output any more
        sys.exit(UNWRITTEN if error.code == 1 else error.code)
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: HetdpError) -> int:
    """Return the exit code that stands for an error. It may depend on weights and levels, never on values.

    Examples
    --------
    >>> exit_code(DataError("no such column"))
    3
    """
    kinds = ((BudgetExhausted, EXHAUSTED), (DataError, BAD_DATA), (LedgerError, LEDGER))
    return next((code for kind, code in kinds if isinstance(error, kind)), USAGE)
