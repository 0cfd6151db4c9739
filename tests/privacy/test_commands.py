"""Commands: the noise in what they print and write is what they say is promised.

Commands draw secure noise, so there is no seed to fix; the false-alarm rate is 1e-9 each.
"""

import csv
import json
import math

import numpy as np
import pytest

from hetdp import PrivateRecommender
from hetdp.auditing.report import NOTHING
from hetdp.auditing.scales import Reached, scale_audit

pytestmark = pytest.mark.slow

FAR_OFF = 0.9  # what every split that is forgotten would exceed


def assert_as_promised(values, *law, **more):
    finding = scale_audit(lambda _: [Reached("numbers", np.asarray(values), *law, **more)])
    assert finding.verdict == NOTHING, str(finding)
    # One that is not told from another level would see nothing.
    narrow = scale_audit(lambda _: [Reached("numbers", np.asarray(values) * FAR_OFF, *law, **more)])
    assert narrow.verdict != NOTHING


def told(run, *arguments):
    code, out, err = run(*arguments, "--json", "--quiet")
    assert code == 0, err
    return json.loads(out)


def test_neighbors(run, tmp_path):
    (tmp_path / "pairs.csv").write_text("user,item\n" + "".join(f"{user},{user}\n" for user in range(200)))
    output = tmp_path / "lists.csv"
    answer = told(run, "neighbors", tmp_path / "pairs.csv", "-k", 199, "--epsilon", 1, "-o", output)
    with output.open() as file:
        scores = [float(row["score"]) for row in csv.DictReader(file)]
    assert len(scores) == 200 * 199
    assert_as_promised(np.array(scores) * answer["guarantee"]["amount"])


def test_release_of_a_query(run, tmp_path):
    (tmp_path / "rows.csv").write_text("hours\n0\n")
    asked = ["--query", "histogram", "--column", "hours", "--lower", 0, "--upper", 1, "--bins", 20_001]
    answer = told(run, "release", tmp_path / "rows.csv", *asked, "--epsilon", 1)
    assert_as_promised(np.array(answer["value"][1:]) * answer["epsilon"] / 2)


def test_release_of_aggregates(run, tmp_path):
    (tmp_path / "rows.csv").write_text("ward,hours\nx,0\n")
    (tmp_path / "keys.txt").write_text("".join(f"k{key}\n" for key in range(12_000)))
    asked = ["--aggregate", "count", "--aggregate", "total:hours:0:1", "--by", "ward", "--keys", tmp_path / "keys.txt"]
    answer = told(run, "release", tmp_path / "rows.csv", *asked, "--epsilon", 1)
    for name in ("count", "total of hours"):
        values = [row["value"] for row in answer["rows"] if row["aggregate"] == name]
        assert_as_promised(np.array(values) / 2)  # epsilon = 1, which the two share


def test_learn(run, tmp_path):
    people, n_items = 60, 20_000
    (tmp_path / "pairs.csv").write_text("user,item\n" + "".join(f"{person},0\n" for person in range(people)))
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"{item}\n" for item in range(n_items)))
    given = ["--epsilon", 1, "--catalogue", tmp_path / "items.csv", "--head", 50]
    answer = told(run, "learn", tmp_path / "pairs.csv", *given, "-o", tmp_path / "model.hetdp")
    counts = PrivateRecommender.load(tmp_path / "model.hetdp")._public.counts[1:]
    spread = math.sqrt(people) / (2 * math.sinh(answer["guarantee"]["amount"] / 2))
    assert_as_promised(counts / spread, "gaussian", symmetric=False)
