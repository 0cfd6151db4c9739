"""`hetdp datasets`: the list, one set, one file, and exporting."""

import json

import pytest
from click.testing import CliRunner
from tests.support.errors import complaints

from hetdp import datasets
from hetdp.cli.main import cli
from hetdp.profiles import Profiles


def run(*arguments, code=0):
    result = CliRunner().invoke(cli, ["datasets", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_the_list_names_everything():
    text = run().stdout
    for name in datasets.BUILT_IN:
        assert name in text
    for one in datasets.PUBLIC:
        assert one.name in text
        assert one.address in text
        assert one.terms in text
    assert "51,466" in text
    # The curve of popularity of delicious_like, and the rarest item of digg_like.
    rows = [line.split() for line in text.splitlines() if "delicious_like" in line or "digg_like" in line]
    assert rows[-1][1:] == ["44,966", "3,638", "2,150", "712", "1", "73"]
    assert rows[-2][-2:] == ["10", "230"]


def test_the_list_as_json():
    found = json.loads(run("--json").stdout)
    assert [one["name"] for one in found["built_in"]] == list(datasets.BUILT_IN)
    assert found["built_in"][0]["users"] == 120
    assert found["built_in"][1]["mean_overlap"] == pytest.approx(99, rel=0.05)
    assert found["built_in"][2]["items_of_6_users_or_more"] == 712
    assert [one["address"] for one in found["public"]] == [one.address for one in datasets.PUBLIC]


def test_one_set_is_described_and_exported(tmp_path):
    path = tmp_path / "survey.csv"
    result = run("survey_like", "--seed", 3, "-o", path, "--json")
    assert json.loads(result.stdout)["pairs"] == Profiles.read(path).n_pairs  # of nobody
    assert Profiles.read(path) == datasets.survey_like(3)
    assert "Wrote" in result.stderr
    assert "120" in run("survey_like", "--quiet").stdout
    assert [one.name for one in tmp_path.iterdir()] == ["survey.csv"]


def test_a_file_is_described_and_converted(tmp_path):
    ratings = tmp_path / "ratings.dat"
    ratings.write_text("1::10::5::9\n1::20::2::9\n2::10::4::9\n")
    assert json.loads(run(ratings, "--json").stdout)["private"]["pairs"] == 3
    assert (
        json.loads(run(ratings, "--json", "--min-rating", 4, "-o", tmp_path / "liked.csv").stdout)["private"]["pairs"]
        == 2
    )
    assert (tmp_path / "liked.csv").read_text() == "user,item\n1,10\n2,10\n"
    weighted = tmp_path / "weighted.csv"
    weighted.write_text('user,item,weight\n"a, b",tea,0.5\n')
    run(weighted, "-o", tmp_path / "copy.csv")
    assert Profiles.read(tmp_path / "copy.csv").profile("a, b") == {"tea": 0.5}


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_every_format_can_be_read_again_and_no_weight_is_rounded(tmp_path, ending):
    path = tmp_path / f"set{ending}"
    run("survey_like", "-o", path)
    assert Profiles.read(path) == datasets.survey_like(0)
    weighted = tmp_path / "weighted.csv"
    weighted.write_text("user,item,weight\n1,tea,0.12345678901234567\n2,tea,1\n")
    run(weighted, "-o", path)
    assert Profiles.read(path) == Profiles.read(weighted)


def test_weights_are_named_and_can_be_ignored(tmp_path):
    path = tmp_path / "plays.csv"
    path.write_text("user,item,weight\n1,tea,17\n2,tea,1\n")
    assert (
        json.loads(run(path, "--no-weights", "--json").stdout)["private"]["weights"]
        == "every weight is 1 (--no-weights)"
    )
    path.write_text("user,item,weight\n1,tea,0.5\n2,tea,1\n")
    result = run(path, "--json")
    assert json.loads(result.stdout)["private"]["weights"] == "weights from column 'weight'"
    assert "weights from column 'weight'" in result.stderr


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("user,item\n1,2\n")


@pytest.mark.parametrize(
    ("arguments", "code", "about"),
    [
        (("-o", "x.csv", "--min-rating", 0), 2, ["--min-rating", "--output"]),
        (("survey_like", "--min-rating", 3, "--no-weights"), 2, ["--no-weights", "--min-rating"]),
        (("r.csv", "-o", "r.csv"), 2, ["--output"]),
        (("r.csv", "--seed", 0), 2, ["--seed"]),
        (("survey_like", "-o", "x.xlsx"), 2, ["--output"]),
        (("r.csv", "-o", "x.xlsx"), 2, ["--output"]),
        (("survey_like", "-o", "no/x.csv"), 3, ["--output"]),
        (("survey_like", "-o", "."), 3, ["--output"]),
    ],
)
@pytest.mark.usefixtures("ratings")
def test_mistakes_are_told_by_option(run, arguments, code, about):
    found, _, err = run("datasets", *arguments)
    assert (found, complaints(err)) == (code, about)


@pytest.mark.parametrize(
    ("arguments", "about"), [(("servey_like",), "servey_like"), (("r.csv", "--min-rating", 3), "rating")]
)
@pytest.mark.usefixtures("ratings")
def test_what_there_is_not_is_named(run, arguments, about):
    found, _, err = run("datasets", *arguments)
    assert (found, about in err) == (3, True)
