"""`hetdp warm-up`: compile the kernels ahead of time, so that no command has to wait for it."""

import os
import time
from pathlib import Path

import click

from hetdp.cli.output import Voice, output_options, print_facts, print_json
from hetdp.core.compiling import PARTS, compiled, kept_in, seconds_to_compile
from hetdp.core.errors import HetdpError
from hetdp.core.text import listed, rough_duration

__all__ = ["warm_up"]


@click.command("warm-up", short_help="Compile ahead of time what first uses wait for.")
@click.argument("parts", nargs=-1, type=click.Choice(tuple(PARTS)))
@output_options
def warm_up(*, parts: tuple[str, ...], voice: Voice) -> None:
    """Compile the kernels of engines (exact, gossip, sketch) and of the model, all if none is named.

    They are compiled once on a machine, for one version of Python and hetdp, and kept on disk: after installation, or
    while an image is built, so that no first command has to wait. NUMBA_CACHE_DIR says where, if it is set.
    """
    wanted = tuple(dict.fromkeys(parts)) or tuple(PARTS)
    missing = [part for part in wanted if not compiled(part)]
    folder = kept_in()
    if voice.dry_run:
        about = f"about {rough_duration(seconds_to_compile(missing))} of CPU" if missing else "nothing to do"
        voice.note(f"--dry-run: would compile {listed(missing) if missing else 'nothing'} into {folder}: {about}.")
        return
    _check_kept(folder)
    spent = {}
    for place, part in enumerate(missing, start=1):
        voice.note(f"Compiling {part} ({place} of {len(missing)}), about {rough_duration(PARTS[part][1])} of CPU ...")
        from hetdp.warm_up import compile_kernels

        before = time.process_time()
        compile_kernels([part])
        spent[part] = round(time.process_time() - before, 1)
    if voice.as_json:
        print_json({"compiled": spent, "there_already": [one for one in wanted if one not in missing]})
        return
    there = {part: f"compiled, {rough_duration(spent[part])} of CPU" if part in spent else "there" for part in wanted}
    print_facts("", {**there, "kept in": str(folder)})


def _check_kept(folder: Path) -> None:
    """Refuse to compile what could not be kept."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        raise HetdpError(
            f"compiled kernels must have a folder to be kept in, or each process compiles them again. Got {folder}, "
            "which this user may not write. Set NUMBA_CACHE_DIR to one that may be written, here and where hetdp runs."
        )
