"""The `hetdp` command: its subcommands, its errors and its exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 an audit found a violation,
2 usage, 3 bad data, 4 budget exhausted, 5 ledger unusable, 6 output could not be written, 130 interrupted, 143
terminated. A command is imported when it is called, so that `hetdp --help` is quick.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

import click

from hetdp._version import __version__
from hetdp.cli.interrupts import INTERRUPTED
from hetdp.cli.options import option_name
from hetdp.cli.output import wrapped
from hetdp.core.errors import BudgetExhausted, DataError, HetdpError, InvalidInput, LedgerError

#: Commands with their short help, in the order of the documentation. `warm-up` is `warm_up` of the module `warm_up`.
COMMANDS = {
    "release": "Release private answers from a table.",
    "compare": "Simulate mechanisms and recommend one for a query.",
    "budget": "Show what a ledger has recorded.",
    "label": "Explain a guarantee in plain words, on one card.",
    "neighbors": "Find the most similar users of each user, privately.",
    "learn": "Learn a public recommendation model, privately.",
    "recommend": "Recommend items with a model, on this machine.",
    "evaluate": "Measure accuracy on your own data (not private).",
    "datasets": "List data sets, describe or export one.",
    "reproduce": "Run the paper's evaluation again and write a report.",
    "network": "Create and manage a peer-to-peer network.",
    "node": "Run a node of a peer-to-peer network.",
    "audit": "Try to break a privacy guarantee.",
    "demo": "See hetdp work on generated people.",
    "warm-up": "Compile ahead of time what a first use would wait for.",
}
USAGE, BAD_DATA, EXHAUSTED, LEDGER, UNWRITTEN = 2, 3, 4, 5, 6


class _CommandLine(click.Group):
    """A group that imports a command when it is called; its help needs none of them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"hetdp.cli.{name}"), name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_CommandLine,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="hetdp")
def cli() -> None:
    """Heterogeneous differential privacy: every item has its own privacy weight."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Privacy
    -------
    Errors name parameters and constraints, never a private value; there is never a traceback with one in it.
    """
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="hetdp", standalone_mode=False)
    except click.ClickException as error:
        _all_missing(error).show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. No file is half written. What a ledger has recorded stays recorded.", err=True)
        sys.exit(INTERRUPTED)
    except HetdpError as error:
        problems = [one.text() for one in error.problems] if isinstance(error, InvalidInput) else [str(error)]
        for problem in problems:
            click.echo(wrapped(f"Error: {problem}"), err=True)
        sys.exit(exit_code(error))
    except OSError as error:  # a full disk behind standard output
        click.echo(f"Error: The output could not be written: {error.strerror}.", err=True)
        with contextlib.suppress(OSError):  # what Python still holds back would fail again at its end, with 120
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNWRITTEN)
    except SystemExit as error:  # by a signal; or by click, with 1, where nobody reads standard output any more
        sys.exit(UNWRITTEN if error.code == 1 else error.code)
    sys.exit(code if isinstance(code, int) else 0)


def _all_missing(error: click.ClickException) -> click.ClickException:
    """Return one error for all required parameters that are missing, where click names the first of them.

    Click handles parameters in the order in which they are given, and those not given after them.
    """
    if not isinstance(error, click.MissingParameter) or error.ctx is None:
        return error
    missing = [one for one in error.ctx.command.params if one.required and one.name not in error.ctx.params]
    return click.UsageError("\nError: ".join(f"{option_name(one)} is required." for one in missing), ctx=error.ctx)


def exit_code(error: HetdpError) -> int:
    """Return the exit code that stands for an error. It may depend on weights and limits, never on values.

    Examples
    --------
    >>> exit_code(DataError("no such column"))
    3
    """
    kinds = ((BudgetExhausted, EXHAUSTED), (DataError, BAD_DATA), (LedgerError, LEDGER))
    return next((code for kind, code in kinds if isinstance(error, kind)), USAGE)
