"""`hetdp evaluate`: the table, its intervals, its seeds, and what it refuses."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hetdp import Profiles, split
from hetdp.evaluation.metrics import recall_per_user
from hetdp.evaluation.neighbor_baselines import random_neighbors, true_neighbors
from hetdp.evaluation.results import interval

QUICK = ("-k", 3, "--runs", 2, "--json", "--quiet")
MODELS = ("model", "matrix model", "private popularity", "holder's popularity")
FAST = (*QUICK, "--what", "neighbors")


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    pairs = {(u, 40 * (u % 4) + int(i)) for u in range(60) for i in rng.integers(0, 40, 25)}
    Path("likes.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in sorted(pairs)))
    return run


def recalls(out):
    return {(row["method"], row["epsilon"]): row["recall"] for row in json.loads(out)["private"]["neighbors"]}


def test_prints_every_method_and_says_that_it_is_not_private(run):
    code, out, err = run("evaluate", "likes.csv", "-k", 3, "--runs", 2, "--epsilon", 1, "--epsilon", 5)
    assert code == 0
    for method in ("true neighbours", "exact", "gossip", "sketch", "same people", "random"):
        assert method in out
    for method in ("EASE, no privacy", "model", "private popularity", "popularity", "Better than private"):
        assert method in out
    for third in ("head", "middle", "tail"):
        assert third in out
    assert out.startswith("Private, for the owner of the data:")
    assert "as private as likes.csv" in err
    assert "Intervals of 95 %" in out


def test_the_first_row_is_the_recall_of_true_neighbours_over_the_runs(run):
    code, out, _ = run("evaluate", "likes.csv", *FAST, "--seed", 4)
    assert code == 0
    profiles = Profiles.read("likes.csv")
    expected = []
    for seed in (4, 5):
        train, test = split(profiles, random_state=seed)
        expected.append(recall_per_user(true_neighbors(train, 3, score="overlap"), profiles, test))
    mean, half = interval(np.array(expected))
    (row,) = [row for row in json.loads(out)["private"]["neighbors"] if row["method"] == "true neighbours"]
    assert row["recall"] == pytest.approx(mean)
    assert (row["low"], row["high"]) == pytest.approx((max(0, mean - half), min(1, mean + half)))


def test_engines_lie_between_random_and_true_ones(run):
    found = recalls(run("evaluate", "likes.csv", *FAST, "--epsilon", 50)[1])
    for engine in ("exact", "gossip", "sketch"):
        assert found["random", None] + 0.2 < found[engine, 50.0] <= found["true neighbours", None] + 0.1


def test_same_seed_same_table_whatever_the_threads(run):
    arguments = ("evaluate", "likes.csv", *FAST, "--westin", "0.34,0.43,0.23")
    first = run(*arguments, "--seed", 1, "--threads", 1)[1]
    assert run(*arguments, "--seed", 1, "--threads", 2)[1] == first
    assert recalls(run(*arguments, "--seed", 2)[1]) != recalls(first)


def test_weights_are_drawn_as_told(run):
    free = recalls(run("evaluate", "likes.csv", *FAST, "--engine", "exact", "--epsilon", 50)[1])
    none = recalls(run("evaluate", "likes.csv", *FAST, "--engine", "exact", "--epsilon", 50, "--slices", "0,0,2")[1])
    assert none["true neighbours", None] == free["true neighbours", None]  # without privacy, weights do not count
    assert none["exact", 50.0] < free["exact", 50.0] - 0.2
    assert set(none) == {("true neighbours", None), ("exact", 50.0), ("same people", None), ("random", None)}


def test_against_all_is_told(run):
    rows = {row["method"]: row for row in json.loads(run("evaluate", "likes.csv", *FAST)[1])["private"]["neighbors"]}
    assert rows["sketch"]["against_all"] == 1
    assert rows["exact"]["against_all"] == 59
    assert rows["true neighbours"]["against_all"] is None


def test_differences_from_true_neighbours_are_paired(run):
    code, out, _ = run("evaluate", "likes.csv", *FAST, "--seed", 4, "--engine", "exact", "--epsilon", 50)
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["private"]["neighbors"]}
    assert rows["true neighbours"]["difference"] is rows["true neighbours"]["difference_half_width"] is None
    for row in rows.values():
        if row["method"] != "true neighbours":
            assert row["difference"] == pytest.approx(row["recall"] - rows["true neighbours"]["recall"])
    profiles = Profiles.read("likes.csv")
    differences = []
    for seed in (4, 5):
        train, test = split(profiles, random_state=seed)
        lists = random_neighbors(60, 3, random_state=seed), true_neighbors(train, 3, score="overlap")
        differences.append(np.subtract(*(recall_per_user(found, profiles, test) for found in lists)))
    assert rows["random"]["difference_half_width"] == pytest.approx(interval(np.array(differences))[1])
    # At a huge epsilon an engine finds nearly what true neighbours are: both rise and fall with the same split.
    assert rows["exact"]["difference_half_width"] < rows["exact"]["half_width"]
    assert "beyond true ones" in run("evaluate", "likes.csv", "-k", 3, "--runs", 2, "--engine", "exact")[1]


def test_sizes_and_weights_per_user(run):
    cosine = ("evaluate", "likes.csv", *FAST, "--engine", "exact", "--score", "cosine", "--epsilon", 0.2)
    noisy, public = (json.loads(run(*cosine, *extra)[1]) for extra in ((), ("--sizes", "public")))
    assert (noisy["sizes"], public["sizes"]) == ("noisy", "public")
    assert noisy["private"] != public["private"]
    slices = ("evaluate", "likes.csv", *FAST, "--engine", "exact", "--slices", "0,1,2")
    item, user = (json.loads(run(*slices, *extra)[1]) for extra in ((), ("--per", "user")))
    assert item["private"]["weights"] == "weights drawn: slices 0,1,2 per item"
    assert user["private"]["weights"] == "weights drawn: slices 0,1,2 per user"
    assert item["private"]["neighbors"] != user["private"]["neighbors"]


def test_drawn_weights_take_the_place_of_those_in_the_file(run):
    text = Path("likes.csv").read_text().replace("\n", ",17\n").replace("user,item,17", "user,item,weight")
    Path("plays.csv").write_text(text)
    options = (*FAST, "--engine", "exact", "--slices", "0,1,2")
    assert recalls(run("evaluate", "plays.csv", *options)[1]) == recalls(run("evaluate", "likes.csv", *options)[1])
    code, _, err = run("evaluate", "plays.csv", *options, "--weight-column", "weight")
    assert code == 2
    assert "--weight-column cannot be used" in err


def test_the_table_can_be_written(run):
    options = ("evaluate", "likes.csv", *FAST, "--engine", "sketch")
    code, out, _ = run(*options, "-o", "table.csv")
    assert code == 0
    shown = json.loads(out)
    rows = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    assert [row["method"] for row in rows] == ["true neighbours", "sketch", "same people", "random"]
    assert [float(row["recall"]) for row in rows] == [row["recall"] for row in shown["private"]["neighbors"]]
    assert rows[0]["difference"] == ""
    assert {row["table"] for row in rows} == {"neighbors"}
    assert run(*options, "-o", "table.json")[0] == 0
    assert json.loads(Path("table.json").read_text()) == shown


def test_both_tables_in_one_file(run):
    code, out, _ = run("evaluate", "likes.csv", *QUICK, "--engine", "model", "--engine", "exact", "-o", "table.csv")
    assert code == 0
    shown = json.loads(out)
    rows = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    assert [row["table"] for row in rows] == ["neighbors"] * 4 + ["recommendations"] * 6
    assert [float(row["ndcg"]) for row in rows[4:]] == [row["ndcg"] for row in shown["private"]["recommendations"]]
    assert (rows[0]["ndcg"], rows[4]["beats_popularity"]) == ("", "")


@pytest.mark.slow
def test_several_ways_to_draw_weights_are_compared(run):
    drawn = ("--slices", "0,1,1", "--slices", "0.5,1,2", "--westin", "0.34,0.43,0.23")
    shown = json.loads(run("evaluate", "likes.csv", *QUICK, "--engine", "model", *drawn)[1])
    assert "neighbors" not in shown["private"]
    labels = [f"{text} per item" for text in ("westin 0.34,0.43,0.23", "slices 0,1,1", "slices 0.5,1,2")]
    rows = [(row["method"], row["weights"]) for row in shown["private"]["recommendations"]]
    assert rows == [
        ("EASE, no privacy", None),
        *((method, label) for label in labels for method in MODELS),
        ("popularity", None),
    ]
    out = run("evaluate", "likes.csv", "--runs", 2, "--what", "items", "--engine", "model", *drawn[:4])[1]
    assert "slices 0.5,1,2 per item" in out


def test_the_rules_of_the_paper_can_be_had(run):
    gossip = ("evaluate", "likes.csv", *FAST, "--engine", "gossip", "--slices", "0,1,3", "--epsilon", 5)
    product, smaller, default = (
        json.loads(run(*gossip, *extra)[1]) for extra in (("--combine", "product"), ("--combine", "smaller"), ())
    )
    assert product["combine"] == "product"
    assert product["private"] != smaller["private"] == default["private"]
    code, out, err = run(
        "evaluate",
        "likes.csv",
        "-k",
        3,
        "--runs",
        2,
        "--what",
        "neighbors",
        "--engine",
        "gossip",
        "--score",
        "squared-cosine",
    )
    assert code == 0
    assert "gossip" in out
    assert err.count("turns large negative noise into similarity") == 1


def test_a_catalogue_is_taken_as_given(run):
    Path("items.txt").write_text("\n".join(map(str, range(200))))
    shown = json.loads(run("evaluate", "likes.csv", *FAST, "--engine", "exact", "--catalogue", "items.txt")[1])
    assert shown["private"]["items"] == 200


def test_cosine_leaves_sketches_out(run):
    code, out, err = run("evaluate", "likes.csv", "-k", 3, "--runs", 2, "--score", "cosine")
    assert code == 0
    assert "sketch " not in out
    assert "Sketches know overlaps only" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--westin", "1,0"), "--westin must be three shares"),
        (("--westin", "1,0,x"), "--westin must be three shares"),
        (("--westin", "1,1,1"), "sum to 1"),
        (("--slices", "0,1,2.5"), "--slices must be"),
        (("--slices", "0,inf,2"), "--slices must be"),
        (("--slices", "0,2,2"), "lower and upper"),
        (("--slices", "0,1,0"), "n must be a whole number of at least 1"),
        (("--share", "1"), "share must be above 0 and below 1"),
        (("--what", "neighbors", "--engine", "model"), "--engine model finds no neighbours"),
        (("--combine", "product", "--engine", "exact"), "--combine cannot be used"),
        (("--combine", "product", "--what", "items"), "--combine cannot be used"),
        (("--runs", "1"), "--runs"),
        (("--epsilon", "1", "--epsilon", "0"), "--epsilon must be"),
        (("--engine", "magic"), "not one of"),
        (("--engine", "sketch", "--score", "cosine"), "--score must be overlap with --engine sketch"),
        (("--engine", "exact", "--engine", "sketch", "--cycles", "3"), "--cycles cannot be used"),
        (("--sizes", "public"), "--sizes cannot be used"),
        (("--per", "user"), "--per cannot be used"),
        (("--output", "table.xlsx"), "--output must end in"),
        (("--output", "likes.csv"), "--output would overwrite"),
    ],
)
def test_bad_options(run, monkeypatch, options, words):
    monkeypatch.setattr("hetdp.cli.source.Source.read", None)
    code, out, err = run("evaluate", "likes.csv", *options)
    assert (code, out) == (2, "")
    assert words in err


def test_nothing_to_test(run):
    Path("alone.csv").write_text("user,item\na,1\nb,2\nc,3\n")
    code, _, err = run("evaluate", "alone.csv", "-k", 1)
    assert code == 3
    assert "shared by two users" in err


def test_nothing_hidden(run):
    """One shared item: with this seed, neither pair is in the tenth that is hidden."""
    Path("small.csv").write_text("user,item\na,1\nb,1\nc,3\n")
    code, out, err = run("evaluate", "small.csv", "-k", 1)
    assert (code, out) == (3, "")
    assert "run 1 of 5" in err
