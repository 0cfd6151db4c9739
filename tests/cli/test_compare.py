"""`hetdp compare`: errors, what is recommended, and contenders of one's own."""

import json
from pathlib import Path

import numpy as np
import pytest

from hetdp.mechanisms.comparison import QUERY_NAMES

MINE = """
import hetdp

def strict(weights, epsilon):
    query = hetdp.queries.mean(hetdp.Box.uniform(0, 1, size=weights.size))
    return hetdp.weight_classes(query, weights, [0.75])

def broken(weights, epsilon):
    return 1 / 0

number = 3
"""
SMALL = ("--epsilon", 1, "-n", 60, "--runs", 5)


def asked(query):
    return ("compare", "--query", query, *(("--quantile", 0.9) if query == "quantile" else ()), *SMALL)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = [f"{x:.3f},{v}" for x, v in zip(rng.uniform(size=60), rng.choice([0, 0.5, 0.75, 1], 60), strict=True)]
    Path("people.csv").write_text("\n".join(["x,privacy", *rows]) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERY_NAMES)
def test_names_and_bars_fit_into_80_columns_in_one_line(run, query, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(*asked(query))
    shown = json.loads(run(*asked(query), "--json", "--quiet")[1])
    lines = [line.strip() for line in out.splitlines()]
    for one in shown["mechanisms"]:
        assert any(line.startswith(f"{one['mechanism']}  ") and "█" in line for line in lines)
    cut = shown["mechanisms"][-1]["rmse"] > 4 * shown["mechanisms"][0]["rmse"]
    assert ("cut at 4 times the smallest error" in out) == cut == ("▶" in out)


def test_values_may_depend_on_weights(run):
    given = ("--weights", "1=0.8,0.25=0.2", "--values", "1=0,0,0,0,0,0,0,1,1,1", "--values", "0.25=0,0,0,1,1,1,1,1,1,1")
    asked = ("compare", "--query", "mean", "--epsilon", 1, "-n", 2000, "--runs", 30, *given, "--json", "--quiet")
    code, out, _ = run(*asked)
    errors = {one["mechanism"]: one["rmse"] for one in json.loads(out)["mechanisms"]}
    assert code == 0
    assert errors["weight classes 1, 0.25"] < 0.005
    assert errors["stretching (paper)"] > 0.05


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--weights", "1"), "--weights"),
        (("--weights", "1=0.5"), "weights"),
        (("--weights", "2=1"), "weights"),
        (("--values", "a"), "--values"),
        (("--values", "2"), "--values"),
        (("--values", "0", "--values", "1"), "--values"),
        (("--values", "0.3=1"), "--values"),
    ],
)
def test_bad_weights_and_values_are_refused(run, words, option):
    code, out, err = run("compare", "--query", "mean", *SMALL, *words)
    assert (code, out) == (2, "")
    assert option in err


@pytest.mark.parametrize("words", [("--query", "quantile"), ("--query", "mean", "--quantile", 0.5)])
def test_a_share_is_for_quantiles(run, words):
    code, out, err = run("compare", *words, *SMALL)
    assert (code, out) == (2, "")
    assert "--quantile must be given for --query quantile, and for no other" in err


def test_what_a_contender_is_can_be_copied(run):
    *_, text = run("compare", "--query", "mean", *SMALL, "--contender", "mine:f")
    Path("mine.py").write_text("import hetdp\n" + text[text.index("def f(") :])
    assert run("compare", "--query", "mean", *SMALL, "--contender", "mine:f")[0] == 0


def test_a_contender_from_a_module_of_this_folder(run):
    Path("my_contenders.py").write_text(MINE)
    arguments = ("compare", "--query", "mean", *SMALL, "--contender", "my_contenders:strict", "--json")
    code, out, _ = run(*arguments)
    assert code == 0
    assert "my_contenders.strict" in [one["mechanism"] for one in json.loads(out)["mechanisms"]]


@pytest.mark.parametrize(
    ("contender", "message"),
    [
        ("strict", "must be a module and a function, such as mine:f, not 'strict'"),
        ("my_contenders:nothing", "must be a function of the module my_contenders"),
        ("my_contenders:number", "must be a function of the module my_contenders"),
        ("my_contenders:broken", "failed: ZeroDivisionError: division by zero"),
        ("not_there:strict", "cannot be imported: ModuleNotFoundError"),
        ("my_mistakes:strict", "cannot be imported: SyntaxError"),
    ],
)
def test_bad_contenders_are_explained(run, contender, message):
    Path("my_contenders.py").write_text(MINE)
    Path("my_mistakes.py").write_text("def strict(")
    code, out, err = run("compare", "--query", "mean", *SMALL, "--contender", contender)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err
