"""`hetdp warm-up`, and what commands say before they compile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hetdp import PrivateRecommender, warm_up
from hetdp.recommender import _kernels

PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """As if nothing were compiled: numba keeps kernels in a folder that is empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def warm(cold):
    """As if all kernels were compiled: a file of each part is in the folder where numba would keep it."""
    for part, source in warm_up.PARTS.items():
        folder = warm_up.kept_in(part)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{Path(source).stem}.kernel-1.{PYTHON}.nbi").touch()
    return cold


@pytest.mark.usefixtures("warm")
def test_a_second_call_compiles_nothing(run, monkeypatch):
    monkeypatch.setattr("hetdp.cli.warm_up.compile_kernels", None)
    code, out, _ = run("warm-up", "--json")
    assert code == 0
    assert json.loads(out) == {"compiled": [], "there_already": list(warm_up.PARTS)}


def test_kernels_that_are_missing_or_older_than_their_sources_are_compiled(run, warm, monkeypatch):
    asked = []
    monkeypatch.setattr("hetdp.cli.warm_up.compile_kernels", asked.extend)
    for path in warm.rglob("*.nbi"):
        os.utime(path, (0, 0))
    code, out, _ = run("warm-up", "exact", "model", "--json")
    assert (code, asked) == (0, ["exact", "model"])
    assert json.loads(out) == {"compiled": ["exact", "model"], "there_already": []}


@pytest.mark.slow
def test_numba_keeps_kernels_where_we_look_for_them(tmp_path, monkeypatch):
    """Through numba itself, in a process of its own; one small kernel, which every fit calls."""
    script = (
        "import numpy\n"
        "from hetdp.warm_up import compiled, kept_in\n"
        "before = compiled('model')\n"
        "from hetdp.recommender import _kernels\n"
        "_kernels.mirror(numpy.zeros((2, 2), numpy.int64))\n"
        "print(before, compiled('model'), kept_in('model').is_dir())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
    called, mirror = [], _kernels.mirror
    monkeypatch.setattr(_kernels, "mirror", lambda pairs: called.append(mirror(pairs)))
    PrivateRecommender(random_state=0).fit([[1, 0, 1], [0, 1, 1]] * 40)
    assert called


def test_a_folder_that_may_not_be_written_is_refused(run, cold, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, _, err = run("warm-up", "exact")
    assert code == 2
    assert "NUMBA_CACHE_DIR" in err
    assert not cold.exists()


@pytest.mark.parametrize("state", ["cold", "warm"])
def test_commands_say_that_they_compile_first(run, tmp_path, request, state):
    request.getfixturevalue(state)
    data = tmp_path / "likes.csv"
    data.write_text("user,item\n" + "".join(f"{user},{item}\n" for user in range(30) for item in range(user % 5 + 2)))
    _, _, err = run("neighbors", data, "--epsilon", 1, "-k", 3, "--dry-run")
    assert ("Compiling (once on this machine" in err) == (state == "cold")
