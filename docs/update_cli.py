"""Write the --help pages of every command into docs/reference/cli.md, which a test keeps true."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from hetdp.cli.main import cli

INTRODUCTION = """# Command line

Data goes to standard output, everything else to standard error. Every command takes `--json` and `--quiet`; those that
spend or delete something take `--dry-run`. Exit codes: 0 done, 1 an audit found a violation, 2 usage, 3 bad data,
4 budget exhausted, 5 ledger unusable, 6 output could not be written, 130 interrupted, 143 terminated
([what to do](exit_codes.md)). Completion in your shell: [click's
documentation](https://click.palletsprojects.com/en/stable/shell-completion/) with `_HETDP_COMPLETE`.

These are the approved texts of `--help`: `docs/update_cli.py` writes them, and a test compares them.
"""


def names_in(group: click.Group) -> Iterator[tuple[str, ...]]:
    """Yield the names of all commands, those of groups after their group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, *inner) for inner in names_in(command))


def render() -> str:
    """Return what docs/reference/cli.md should hold."""
    pages = [INTRODUCTION]
    for command in ((), *names_in(cli)):
        result = CliRunner().invoke(cli, [*command, "--help"], prog_name="hetdp", terminal_width=100)
        pages.append(f"## {' '.join(('hetdp', *command))}\n\n```text\n{result.output.strip()}\n```\n")
    return "\n".join(pages)


if __name__ == "__main__":
    (Path(__file__).parent / "reference" / "cli.md").write_text(render())
