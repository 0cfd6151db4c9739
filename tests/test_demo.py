"""The first run: what `hetdp demo` measures, what it shows on one screen, and the file that it saves."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hetdp import demo
from hetdp.cli.main import cli

RELEASE = ("--query", "mean", "--column", "hours", "--lower", "0", "--upper", "80", "--weight-column", "weight")


def call(*arguments):
    result = CliRunner().invoke(cli, ["demo", *arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_the_first_run(monkeypatch):
    """One test, because everything it looks at is measured once, in ten seconds."""
    steps = []
    found = demo.run_demo(lambda *step: steps.append(step))
    assert steps[-1][0] == steps[-1][1] == len(steps)
    check_recommendations(found.recommendations)
    check_neighbors({(row.method, row.epsilon): row for row in found.neighbors})
    popular, private = found.small
    assert private.quality < popular.quality, "a small crowd is better served by popularity"
    monkeypatch.setattr(demo, "run_demo", lambda _: found)
    monkeypatch.setenv("COLUMNS", "80")
    check_screen(found)


def check_recommendations(rows):
    """They lie between popularity and no privacy."""
    ndcg = {(row.method, row.epsilon): row.quality for row in rows}
    popular, best = ndcg["popularity", None], ndcg["ease", None]
    assert best > 1.8 * popular  # the crowd has tastes to be found
    for release in ("sketch", "matrix"):
        one, two, five = (ndcg[release, epsilon] for epsilon in (1.0, 2.0, 5.0))
        assert popular < one < two < five < 1.05 * best
    assert ndcg["matrix", 1.0] > (popular + best) / 2


def check_neighbors(rows):
    """They are better than random ones, and their total loss is said."""
    assert rows["random", None].quality == pytest.approx(0.08, abs=0.01)
    assert rows["true", None].quality == pytest.approx(0.26, abs=0.02)
    one, two, five = (rows["sketch", epsilon].quality for epsilon in (1.0, 2.0, 5.0))
    assert rows["random", None].quality < one < two < five < rows["true", None].quality
    assert rows["random", None].quality + 0.1 < rows["gossip", 1.0].quality < rows["true", None].quality
    assert [rows[key].total for key in (("sketch", 1.0), ("sketch", 5.0), ("gossip", 1.0))] == [1.0, 5.0, 499.0]


def check_screen(found):
    """Everything fits on one screen, and JSON says the same."""
    lines = call().stdout.rstrip().splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80
    shown = json.loads(call("--json").stdout)
    assert [row["quality"] for row in shown["neighbors"]] == [row.quality for row in found.neighbors]


def test_the_crowd_is_the_same_every_time_and_has_popular_and_rare_items():
    crowd = demo.generated_crowd(300, 100)
    assert crowd == demo.generated_crowd(300, 100)
    assert crowd != demo.generated_crowd(300, 100, seed=1)
    assert crowd.n_users == 300
    assert crowd.sizes.min() >= 5
    popularity = np.sort(crowd.popularity)
    assert popularity[-10:].mean() > 2 * popularity[:10].mean()


def test_saved_people_can_be_asked_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("--save", "people.csv")
    with Path("people.csv").open(encoding="utf-8") as file:
        people = list(csv.DictReader(file))
    assert len(people) == 1000
    assert list(people[0]) == ["id", "hours", "weight"]
    assert {float(person["weight"]) for person in people} == {0.0, 0.5, 0.75, 1.0}
    asked = ["release", "people.csv", *RELEASE, "--epsilon", "1", "--ledger", "ledger.db", "--id-column", "id"]
    assert CliRunner().invoke(cli, asked).exit_code == 0
