"""`hetdp --version --json`: what a bug report needs, and nothing about whose machine it is."""

import getpass
import json
import os
import platform
import socket
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

import hetdp
from hetdp.cli.main import cli
from hetdp.cli.version import versions

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*arguments):
    return CliRunner().invoke(cli, arguments, prog_name="hetdp")


def test_the_version_alone_is_one_line():
    assert run("--version").output == f"hetdp, version {hetdp.__version__}\n"


@pytest.mark.parametrize("order", [("--version", "--json"), ("--json", "--version")])
def test_with_json_come_the_versions_of_what_it_runs_on(order):
    done = run(*order)
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told == versions()
    assert told["hetdp"] == hetdp.__version__
    assert told["python"].endswith(platform.python_version())
    assert told["openssl"].startswith("OpenSSL")
    assert told["packages"]["numpy"] == metadata.version("numpy")
    assert told["packages"]["llvmlite"] == metadata.version("llvmlite")


def test_every_dependency_that_somebody_uses_is_told():
    extras = {
        name: requirements
        for name, requirements in PROJECT["optional-dependencies"].items()
        if name in metadata.metadata("hetdp").get_all("Provides-Extra", [])
    }
    told = versions()
    assert told["packages"].keys() >= {Requirement(one).name for one in PROJECT["dependencies"]}
    wanted = {Requirement(one).name for some in extras.values() for one in some}
    assert told["optional"].keys() | told["packages"].keys() >= wanted


def test_what_is_not_installed_is_null(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("hetdp.cli.version.metadata.version", missing)
    assert set(versions()["optional"].values()) == {None}


def test_nothing_tells_whose_machine_it_is():
    told = versions()
    flat = {**told, **told["packages"], **told["optional"]}
    words = {word for value in flat.values() if isinstance(value, str) for word in value.split()}
    assert not words & {socket.gethostname(), getpass.getuser(), os.uname().release}
    assert not [word for word in words if "/" in word]  # a folder


def test_nothing_heavy_is_loaded():
    script = (
        "import sys, contextlib\nfrom hetdp.cli.main import main\n"
        "with contextlib.suppress(SystemExit):\n    main(['--version', '--json'])\n"
        "heavy = {'numba', 'llvmlite', 'sklearn', 'scipy', 'pyarrow', 'pandas', 'polars', 'narwhals', 'duckdb'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("loaded: []")


def test_json_alone_is_a_mistake():
    for words in (("--json",), ("--json", "datasets")):
        done = run(*words)
        assert done.exit_code == 2
        assert "--json must come with --version, or after the name of a command." in done.output
