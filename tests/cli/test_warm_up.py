"""`hetdp warm-up`, and what commands say before they compile."""

import json

import pytest

from hetdp.core import compiling


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """As if nothing were compiled: numba keeps kernels in a folder that is empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def warm(cold):
    """As if all kernels were compiled: a file of each part is in the folder where numba would keep it."""
    for part, (source, _) in compiling.PARTS.items():
        folder = compiling.kept_in(part)
        folder.mkdir(parents=True, exist_ok=True)
        name = source.rpartition("/")[2].removesuffix(".py")
        (folder / f"{name}.kernel-1.py{compiling.sys.version_info.major}{compiling.sys.version_info.minor}.nbi").touch()
    return cold


@pytest.mark.usefixtures("cold")
def test_before_anything_is_compiled_every_part_takes_time():
    assert not any(compiling.compiled(part) for part in compiling.PARTS)
    assert compiling.seconds_to_compile(compiling.PARTS) == sum(seconds for _, seconds in compiling.PARTS.values())
    assert "hetdp warm-up" in compiling.words_about_compiling(["exact", "sketch"])


@pytest.mark.usefixtures("warm")
def test_what_is_compiled_takes_none_and_nothing_is_said():
    assert all(compiling.compiled(part) for part in compiling.PARTS)
    assert compiling.seconds_to_compile(compiling.PARTS) == 0
    assert compiling.words_about_compiling(["exact"]) == ""


def test_kernels_older_than_their_sources_do_not_count(warm):
    for path in warm.rglob("*.nbi"):
        compiling.os.utime(path, (0, 0))
    assert not any(compiling.compiled(part) for part in compiling.PARTS)


def test_numba_keeps_kernels_where_we_look_for_them(tmp_path):
    """Through numba itself, in a process of its own."""
    import subprocess
    import sys

    script = (
        "from hetdp.core.compiling import compiled, kept_in\n"
        "before = compiled('model')\n"
        "from hetdp.recommender import PrivateRecommender\n"
        "PrivateRecommender(random_state=0).fit([[1, 0, 1], [0, 1, 1]] * 40)\n"
        "print(before, compiled('model'), kept_in('model').is_dir())"
    )
    environment = {**compiling.os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


@pytest.mark.usefixtures("warm")
def test_there_is_nothing_to_do_twice(run):
    code, out, _ = run("warm-up", "--json")
    assert code == 0
    assert json.loads(out) == {"compiled": {}, "there_already": list(compiling.PARTS)}


@pytest.mark.usefixtures("cold")
def test_a_dry_run_says_what_and_how_long(run):
    code, out, err = run("warm-up", "exact", "model", "--dry-run")
    assert (code, out) == (0, "")
    assert "would compile exact and model" in err
    assert "of CPU" in err


def test_a_folder_that_may_not_be_written_is_refused(run, cold, monkeypatch):
    monkeypatch.setattr(compiling.os, "access", lambda *_: False)
    code, _, err = run("warm-up", "exact")
    assert code == 2
    assert "NUMBA_CACHE_DIR" in err
    assert not cold.exists()


@pytest.mark.usefixtures("cold")
def test_commands_say_that_they_compile_first(run, tmp_path):
    data = tmp_path / "likes.csv"
    data.write_text("user,item\n" + "".join(f"{user},{item}\n" for user in range(30) for item in range(user % 5 + 2)))
    _, _, err = run("neighbors", data, "--epsilon", 1, "-k", 3, "--dry-run")
    assert "Compiling first, once on this machine: exact" in err
