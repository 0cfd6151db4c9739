"""`hetdp release`: questions about quantiles and categories, and the mechanism of one's choice."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.support.errors import complaints

HOURS = ("--column", "hours", "--lower", 0, "--upper", 80)
WARD = ("--column", "ward", "--epsilon", 1e6)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    wards = rng.choice([" er", "icu", "lab", "kitchen", ""], 200, p=[0.1, 0.4, 0.2, 0.2, 0.1])
    rows = [f"{rng.uniform(20, 60):.2f},{ward},{rng.choice([0, 0.5, 1])}" for ward in wards]
    Path("people.csv").write_text("\n".join(["hours,ward,privacy", *rows]) + "\n")
    return wards


def test_a_quantile_says_which(run):
    options = ("--query", "quantile", "--quantile", 0.25, *HOURS, "--epsilon", 1e6)
    code, out, _ = run("release", "people.csv", *options, "--json")
    hours = [float(line.split(",")[0]) for line in Path("people.csv").read_text().split("\n")[1:-1]]
    shown = json.loads(out)
    assert (code, shown["query"], shown["quantile"]) == (0, "quantile", 0.25)
    assert shown["value"] == pytest.approx(np.quantile(hours, 0.25), abs=0.5)
    code, out, _ = run("release", "people.csv", *options)
    assert code == 0
    assert "quantile" in out


@pytest.mark.parametrize("query", ["median", "maximum", "minimum", "quantile"])
def test_what_is_chosen_is_a_multiple_of_the_step(run, query):
    share = ("--quantile", 0.25) if query == "quantile" else ()
    options = ("--query", query, *share, *HOURS, "--epsilon", 0.1, "--step", 2.5, "--json")
    code, out, _ = run("release", "people.csv", *options)
    assert code == 0
    assert json.loads(out)["value"] % 2.5 == 0


def test_no_digit_of_what_is_chosen_is_lost(run):
    Path("wages.csv").write_text("wage\n" + "1234567.5\n" * 50)
    limits = ("--column", "wage", "--lower", 1_234_500, "--upper", 1_234_600)
    _, out, _ = run("release", "wages.csv", "--query", "median", *limits, "--epsilon", 100)
    assert out.split()[:2] == ["median", "1234567.5"]


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("--query median", "median "),
        ("--query maximum --step 1", "maximum "),
        ("--query quantile --quantile 0.9", "quantile 0.9 "),
        ("--query squared_norm", "estimate of the sum of squares "),
        ("--query variance", "variance "),
        ("--query mean --mechanism sampling", "mean "),
        ("--query mean --mechanism stretching", "mean "),
        ("--query mean", "estimate of the mean "),
        ("--query l0", "estimate of the number of rows that are not 0 "),
        ("--query mean --weight-classes 0.5", "estimate of the mean "),
    ],
)
def test_the_answer_comes_first(run, words, begins):
    options = (*words.split(), *HOURS, "--weight-column", "privacy", "--epsilon", 1)
    code, out, err = run("release", "people.csv", *options)
    assert code == 0
    assert out.startswith(begins)
    assert "squared_norm" not in out + err


def test_a_mode_is_told_by_its_label(run):
    code, out, err = run("release", "people.csv", "--query", "mode", *WARD, "--categories", "lab, icu ,er", "--json")
    shown = json.loads(out)
    assert (code, shown["value"], shown["categories"]) == (0, "icu", ["lab", "icu", "er"])
    assert "kitchen" not in out + err
    code, out, _ = run("release", "people.csv", "--query", "mode", *WARD, "--categories", "lab,icu,er")
    assert code == 0
    assert "icu" in out


@pytest.mark.parametrize("mechanism", ["stretching", "sampling"])
def test_a_histogram_of_categories_has_their_labels(run, folder, mechanism):
    Path("wards.txt").write_text("\ufefflab\n\nicu\ner\n", encoding="utf-8")
    options = ("--query", "histogram", *WARD, "--categories-file", "wards.txt", "--mechanism", mechanism)
    code, out, _ = run("release", "people.csv", *options, "--json")
    shown = json.loads(out)
    assert (code, shown["categories"]) == (0, ["lab", "icu", "er"])
    assert "edges" not in shown
    wanted = [(np.char.strip(folder) == ward).sum() for ward in shown["categories"]]
    assert shown["value"] == pytest.approx(wanted, abs=0.01)
    code, out, _ = run("release", "people.csv", *options)
    assert code == 0
    assert all(word in out for word in ("category", "lab", "icu", "er"))


def test_a_histogram_of_categories_has_estimates(run):
    rows = ["icu,0.5"] * 400 + ["lab,1"] * 200 + ["kitchen,0.5"] * 400
    Path("wards.csv").write_text("\n".join(["ward,privacy", *rows]) + "\n")
    options = ("--query", "histogram", *WARD, "--categories", "er,icu,lab", "--weight-column", "privacy", "--json")
    shown = json.loads(run("release", "wards.csv", *options)[1])
    assert shown["estimate"] == pytest.approx([0, 400, 200], abs=0.01)
    assert [one["value"] for one in shown["classes"][:2]] == [
        pytest.approx([0, 0, 200], abs=0.01),
        pytest.approx([0, 400, 0], abs=0.01),
    ]


@pytest.mark.parametrize("mechanism", ["stretching", "sampling"])
def test_a_histogram_of_bins_has_their_edges(run, mechanism):
    options = ("--query", "histogram", *HOURS, "--bins", 2, "--epsilon", 1, "--mechanism", mechanism, "--json")
    assert json.loads(run("release", "people.csv", *options)[1])["edges"] == [0, 40, 80]


@pytest.mark.parametrize(
    ("cells", "categories"), [([3, 3, 4, None], "4,3"), ([3.0, 3.0, None], "4,3"), ([True, True, False], "false,true")]
)
def test_typed_cells_are_compared_as_texts(run, cells, categories):
    parquet.write_table(pa.table({"ward": cells}), "people.parquet")
    code, out, _ = run("release", "people.parquet", "--query", "mode", *WARD, "--categories", categories, "--json")
    assert (code, json.loads(out)["value"]) == (0, categories.split(",")[1])


def test_one_class_leaves_out_smaller_weights(run):
    options = ("--query", "total", *HOURS, "--weight-column", "privacy", "--epsilon", 1e6, "--json")
    code, out, _ = run("release", "people.csv", *options, "--weight-classes", 0.6)
    rows = [line.split(",") for line in Path("people.csv").read_text().split("\n")[1:-1]]
    assert code == 0
    counted = [float(row[0]) if row[2] == "1.0" else 40 for row in rows]  # the others count as the middle
    assert json.loads(out)["value"] == pytest.approx(sum(counted), abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (("--query", "quantile", *HOURS), ["--quantile"]),
        (("--query", "quantile", "--quantile", 2, *HOURS), ["--quantile"]),
        (("--query", "mean", "--quantile", 0.5, "--bins", 5, "--step", 5, *HOURS), ["--bins", "--quantile", "--step"]),
        (("--query", "median", "--step", 1e-6, *HOURS), ["--step"]),
        (("--query", "count", "--center", 5, *HOURS), ["--center"]),
        (("--query", "mean", "--categories", "a,b", *HOURS), ["--categories"]),
        (("--query", "mode", "--column", "ward"), ["--categories"]),
        (("--query", "mode", "--categories", "a", *HOURS), ["--lower", "--upper"]),
        (("--query", "mode", "--column", "ward", "--categories", "a,,b"), ["--categories"]),
        (("--query", "mode", "--column", "ward", "--categories", "a,a"), ["--categories"]),
        (("--query", "mode", "--column", "ward", "--categories", "a", "--categories-file", "b"), ["--categories"]),
        (("--query", "mode", "--column", "ward", "--categories-file", "no.txt"), ["--categories-file"]),
        (("--query", "histogram", "--column", "ward", "--categories", "a", "--bins", 3), ["--bins"]),
        (("--query", "histogram", "--column", "ward"), ["--lower", "--upper"]),
        (("--query", "mean", "--mechanism", "exponential", *HOURS), ["--mechanism"]),
        (("--query", "median", "--mechanism", "stretching", *HOURS), ["--mechanism"]),
        (("--query", "mean", "--mechanism", "sampling", "--multiplier", 2, *HOURS), ["--multiplier"]),
    ],
)
def test_what_does_not_go_together_is_refused_by_option(run, arguments, about):
    found, out, err = run("release", "people.csv", *arguments, "--epsilon", 1)
    assert (found, out) == (3 if "no.txt" in arguments else 2, "")
    assert complaints(err) == about


def test_sampling_has_no_gaussian_noise(run):
    code, _, err = run("release", "people.csv", "--query", "mean", "--mechanism", "sampling", *HOURS, "--rho", 1)
    assert (code, complaints(err)) == (2, ["--rho"])
    code, out, _ = run("release", "people.csv", "--query", "mean", "--mechanism", "sampling", *HOURS, "--epsilon", 1)
    assert code == 0
    assert "noise scale" in out
