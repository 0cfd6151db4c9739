"""Words of commands, read as click reads them; nothing is run."""

import click

from hetdp.cli.main import cli


def parsed(words):
    """Return the command that words ask for; fail if there is none, or if it does not take them."""
    command, context = cli, click.Context(cli, info_name="hetdp")
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    command.parse_args(context, list(words))
    return command
