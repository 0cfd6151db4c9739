"""`hetdp audit`, through its real entry point; and the example in docs/guide/auditing.md, exactly as printed there."""

import json
import re
import shlex
from pathlib import Path

import pytest

from hetdp import auditing
from hetdp.auditing.audit_all import Case
from hetdp.auditing.report import Finding

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "auditing.md"
ADJACENT = "[[[0, 1], [1, 1]]]"


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (Path("mine.py")).write_text(
        "import numpy as np\n"
        "def good(profile, size, random_state):\n"
        "    return sum(profile) + np.random.default_rng(random_state).laplace(0, 1, size)\n"
        "def bad(profile, size, random_state):\n"
        "    return sum(profile) + np.random.default_rng(random_state).laplace(0, 0.5, size)\n"
        "number = 3\n"
    )
    return run


def test_the_example_of_the_documentation_is_caught(run):
    text = PAGE.read_text()
    (code,) = re.findall(r"```python\n# mine.py\n(.*?)```", text, flags=re.DOTALL)
    (command,) = re.findall(r"```sh\n(hetdp audit mine\.py.*?)```", text, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    Path("mine.py").write_text(code)
    status, out, _ = run(*shlex.split(command)[1:], "--json")
    assert status == 1
    report = json.loads(out)
    assert report["verdict"] == "violated"
    assert 1.7 < report["rows"][0]["lower_bound"] <= 2
    assert report["smallest"] == "a loss of 1.1 for item 0 (claimed 1)"
    Path("mine.py").write_text(code.replace("1.0 / (2 * EPSILON)", "1.0 / EPSILON"))
    assert run(*shlex.split(command)[1:], "--confidence", "0.9999999")[0] == 0


def test_a_function_and_its_report(run):
    common = ("--claimed", 1, "--adjacent", ADJACENT, "--seed", 1)
    status, out, err = run("audit", "mine.py:bad", *common, "--output", "report.json")
    assert status == 1
    assert "violated" in out
    assert "Wrote report.json" in err
    assert json.loads(Path("report.json").read_text())["verdict"] == "violated"
    status, out, err = run("audit", "mine.py:good", *common, "--confidence", 0.9999999, "--quiet")
    assert (status, err) == (0, "")
    assert "no violation found" in out


def test_pairs_from_a_file_and_claims_per_item(run):
    Path("pairs.json").write_text(ADJACENT)
    arguments = ("audit", "mine.py:bad", "--adjacent", "pairs.json", "--samples", 5000, "--seed", 1)
    assert run(*arguments, "--claimed", "[1, 1]")[0] == 1
    assert run(*arguments, "--claimed", "[3, 1]")[0] == 0


def test_list(run):
    status, out, _ = run("audit", "--list")
    assert status == 0
    assert "hetdp.release, total (noise scale)" in out.splitlines()
    status, out, _ = run("audit", "--list", "--json")
    assert "PrivateNeighbors.kneighbors, exact (statistical)" in json.loads(out)["cases"]
    assert len(json.loads(out)["cases"]) == len(auditing.battery())


def finding(verdict):
    found = Finding("replay", "x", verdict, "Words.", smallest="one bit (item 3) " + "and so on " * 9)
    return Case("example", "replay", lambda _: found)


@pytest.fixture
def small(monkeypatch):
    """A battery of some cases."""

    def make(*cases):
        monkeypatch.setattr(auditing, "battery", lambda _: list(cases))

    return make


def test_the_battery_leaves_with_1_on_a_violation_only(run, small):
    small(finding("no violation found"))
    status, out, err = run("audit", "--all", "--seed", 1, "-o", "report.json")
    assert status == 0
    assert "Wrote report.json" in err
    report = json.loads(Path("report.json").read_text())
    assert (report["complete"], report["seed"], len(report["findings"])) == (True, 1, 1)
    assert report["findings"][0]["smallest"].startswith("one bit")
    assert "example (replay): no violation found" in out
    assert "would have found: one bit (item 3)" in out
    assert max(map(len, out.splitlines())) <= 80
    small(finding("violated"))
    assert run("audit", "--all", "--seed", 1, "--quiet")[0] == 1


def test_control_c_prints_what_is_known(run, small):
    def interrupted(_):
        raise KeyboardInterrupt

    small(finding("no violation found"), Case("slow", "replay", interrupted))
    status, out, err = run("audit", "--all", "--json")
    assert status == 130
    assert "Interrupted after 1 of 2" in err
    report = json.loads(out)
    assert not report["complete"]
    assert len(report["findings"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "either FILE.py:FUNCTION or one of"),
        (("mine.py:bad", "--all"), 2, "either FILE.py:FUNCTION or one of"),
        (("mine.py:bad",), 2, "claimed must be given"),
        (("mine.py:bad", "--claimed", "1"), 2, "adjacent must be given"),
        (("mine.py:bad", "--claimed", "x", "--adjacent", ADJACENT), 3, "--claimed must be JSON"),
        (("mine.py:bad", "--claimed", "Infinity", "--adjacent", ADJACENT), 2, "claimed must be a finite number"),
        (("mine.py:bad", "--claimed", "1", "--adjacent", "no.json"), 3, "--adjacent must be a JSON file"),
        (("mine.py:bad", "--claimed", "1", "--adjacent", "[[[0], [0]]]"), 2, "differ in exactly one item"),
        (("mine.py:bad", "--claimed", "1", "--adjacent", "3"), 2, "adjacent must be a list of pairs"),
        (("mine.py", "--claimed", "1", "--adjacent", ADJACENT), 3, "as FILE.py:FUNCTION"),
        (("no.py:f", "--claimed", "1", "--adjacent", ADJACENT), 3, "File not found: no.py"),
        (("mine.py:nothing", "--claimed", "1", "--adjacent", ADJACENT), 3, "must define a function"),
        (("mine.py:number", "--claimed", "1", "--adjacent", ADJACENT), 3, "must define a function"),
        (("--all", "-o", "nowhere/report.json"), 3, "--output"),
    ],
)
def test_bad_input(run, arguments, code, message):
    found, out, err = run("audit", *arguments)
    assert (found, out) == (code, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err
