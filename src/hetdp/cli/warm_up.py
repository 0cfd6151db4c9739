"""`hetdp warm-up`: compile the kernels ahead of time, so that no command has to wait for it."""

import os

import click

from hetdp.cli.output import Voice, output_options, print_facts, print_json
from hetdp.core.errors import HetdpError
from hetdp.warm_up import PARTS, compile_kernels, compiled, kept_in


@click.command("warm-up")
@click.argument("parts", nargs=-1, type=click.Choice(tuple(PARTS)), metavar="[PART]...")
@output_options
def warm_up(*, parts: tuple[str, ...], voice: Voice) -> None:
    """Compile the kernels of PART: exact, gossip, sketch (engines of hetdp neighbors) or model. All if none is given.

    Kernels are compiled once per machine, version of Python and version of hetdp, and kept on disk. Run this after
    installation, or while an image is built, and no first command has to wait. The environment variable
    NUMBA_CACHE_DIR chooses the folder.
    """
    wanted = tuple(dict.fromkeys(parts)) or tuple(PARTS)
    missing = [part for part in wanted if not compiled(part)]
    folder = kept_in()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        raise HetdpError(
            f"Compiled kernels cannot be kept: this user may not write to {folder}. Set NUMBA_CACHE_DIR to another "
            "folder, here and where hetdp runs."
        )
    with voice.progress("Compiling") as advance:
        for place, part in enumerate(missing):
            advance(place, len(missing), f"Compiling {part}")
            compile_kernels([part])
    if voice.as_json:
        print_json({"compiled": missing, "there_already": [part for part in wanted if part not in missing]})
        return
    print_facts("", {part: "compiled" if part in missing else "already there" for part in wanted})
    voice.note(f"Kept in {folder}.")
