"""`hetdp completion`: shell completion."""

import click

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for your shell.

    For instance: hetdp completion bash > ~/.local/share/bash-completion/completions/hetdp
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(context.find_root().command, {}, "hetdp", "_HETDP_COMPLETE").source())
