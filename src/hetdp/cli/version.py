"""`hetdp --version`, and with --json what a bug report should say: versions, and nothing about whose machine it is."""

import re
from importlib import metadata
from typing import Any

import click

from hetdp._version import __version__
from hetdp.cli.output import print_json

__all__ = ["print_version", "versions"]

#: No dependency by name, but what results depend on: numba's compiler, and the frames that results come as.
_BENEATH, _BESIDE = ("llvmlite",), ("pandas", "polars")


def versions() -> dict[str, Any]:
    """Return the versions of what hetdp runs on; None for what is not installed. Names no user, host or folder.

    Examples
    --------
    >>> found = versions()
    >>> found["hetdp"] == __version__, "numpy" in found["packages"], "msgspec" in found["optional"]
    (True, True, True)
    """
    import platform
    import sqlite3

    from cryptography.hazmat.backends.openssl import backend

    needed, optional = _requirements()
    return {
        "hetdp": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": " ".join(part for part in (platform.system(), platform.machine(), *platform.libc_ver()) if part),
        "openssl": backend.openssl_version_text(),  # that of cryptography, which draws the noise
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: _installed(name) for name in sorted({*needed, *_BENEATH})},
        "optional": {name: _installed(name) for name in sorted({*optional, *_BESIDE} - needed)},
    }


def _requirements() -> tuple[set[str], set[str]]:
    """Return the names of what hetdp needs, and of what its extras bring to those who use them."""
    needed, optional = set(), set()
    try:
        stated = metadata.requires("hetdp") or []
    except metadata.PackageNotFoundError:  # run from its sources
        stated = []
    for requirement in stated:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)", requirement)
        if name is not None and extra is None:
            needed.add(name[0])
        elif name is not None and extra is not None:
            optional.add(name[0])
    return needed, optional


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def print_version(*, as_json: bool) -> None:
    """Print the version in a line; as JSON, also those of what hetdp runs on."""
    if as_json:
        print_json(versions())
    else:
        click.echo(f"hetdp, version {__version__}")
