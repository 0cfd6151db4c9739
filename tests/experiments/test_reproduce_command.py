"""The command: good input gives files, bad input a clear text before anything starts."""

import csv
import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import click.testing
import pytest
from tests.support.sweeps import SMALL

from hetdp.cli.reproduce import reproduce
from hetdp.core.errors import DataError, InvalidInput
from hetdp.experiments.demo import demo_report

pytestmark = pytest.mark.slow

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey" / "survey.csv.gz"


def call(*arguments):
    return click.testing.CliRunner().invoke(reproduce, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "sweep.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def first(tmp_path_factory, crowd_file, config):
    """The output of one small sweep, made with the umask that most people have: its folder and what was told."""
    out = tmp_path_factory.mktemp("reproduced") / "out"
    before = os.umask(0o022)
    try:
        done = call("--data", crowd_file, "--config", config, "-o", out, "-j", 1, "--json", "-q")
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.output
    return SimpleNamespace(out=out, found=json.loads(done.stdout)["private"])


@pytest.fixture
def out(tmp_path, first):
    """A copy of that folder, for a test to go on with."""
    return Path(shutil.copytree(first.out, tmp_path / "out"))


def test_a_file_of_ones_own_is_evaluated_and_a_second_call_computes_nothing(first, out, crowd_file, config):
    assert first.found["tasks_computed"] > 0 == first.found["tasks_reused"]
    assert {path.name for path in out.iterdir()} >= {
        "report.html",
        "numbers.csv",
        "runs.csv",
        "results.sqlite",
        "figures",
    }
    numbers = (out / "numbers.csv").read_text()
    again = json.loads(call("--data", crowd_file, "--config", config, "-o", out, "--jobs", 1, "--json", "-q").stdout)[
        "private"
    ]
    assert (again["tasks_computed"], again["tasks_reused"]) == (0, first.found["tasks_computed"])
    assert (out / "numbers.csv").read_text() == numbers


def test_more_runs_only_compute_what_is_missing(out, crowd_file, config):
    arguments = ("--data", crowd_file, "--config", config, "-o", out, "-j", 1, "--json", "-q", "--runs", 3)
    found = json.loads(call(*arguments).stdout)["private"]
    assert 2 * found["tasks_computed"] == found["tasks_reused"] > 0


@pytest.mark.skipif(not SURVEY.exists(), reason="the survey data are not beside the project")
def test_the_survey_data_are_evaluated(tmp_path, config):
    done = call("--data", SURVEY, "--config", config, "-o", tmp_path / "out", "-j", 1, "-q")
    assert done.exit_code == 0, done.output
    assert "survey" in done.output


def test_what_is_written_is_for_its_owner_only(first):
    made = [first.out, *(path for path in first.out.rglob("*") if path.is_file())]
    assert len(made) > 5
    assert {path.name: path.stat().st_mode & 0o077 for path in made} == {path.name: 0 for path in made}


def test_weights_that_are_not_used_are_mentioned(tmp_path, crowd_file):
    weighted = tmp_path / "weighted.csv"
    head, *rows = crowd_file.read_text().split()
    weighted.write_text("\n".join([f"{head},weight", *(f"{row},0.5" for row in rows)]) + "\n")
    said = call("--data", weighted, "-o", tmp_path / "out", "--dry-run").output
    assert "Weights of weighted (column 'weight') are not used" in said
    assert "Weights of" not in call("--data", crowd_file, "-o", tmp_path / "out", "--dry-run").output


def test_a_dry_run_writes_nothing(tmp_path, crowd_file):
    done = call("--data", crowd_file, "-o", tmp_path / "out", "--dry-run")
    assert "would run 161 configurations 10 times on 1 data set, 1,610 tasks in all, 1,610 of them left" in done.output
    assert "What open verdicts need is run up to 400 times." in done.output
    assert "Mixes left out, more than everybody (pragmatists + unconcerned): 60 + 60 %, 60 + 70 %" in done.output
    assert not (tmp_path / "out").exists()


def test_a_dry_run_says_what_is_left(first, crowd_file, config):
    arguments = ("--data", crowd_file, "--config", config, "-o", first.out, "-j", 1)
    plan = call(*arguments, "--dry-run", "--runs", 4).output
    assert " 4 times on 1 data set" in plan
    tasks, left = (int(number) for number in re.findall(r"(\d+) tasks in all, (\d+) of them left", plan)[0])
    assert tasks == 2 * left > 0
    assert "Mixes left out" not in plan
    assert " 1 time on " in call(*arguments, "--dry-run", "--runs", 1).output


def refused(tmp_path, *arguments):
    done = call(*arguments, "-o", tmp_path / "out", "-q")
    assert done.exit_code != 0
    assert not (tmp_path / "out").exists()
    loud = call(*arguments, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert loud.output == ""  # no bar above the error, which is told by the program around the command
    return done.exception


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,item\n" + "".join(f"ann,{item}\n" for item in range(9)), "at least 2 users"),
        ("user,item\nann,tea\nbob,tea\n", "more users than neighbours are looked for"),
        ("user,item\n" + "".join(f"{user},{item}\n" for user in range(20) for item in "abc"), "20 identical profiles"),
        ("user,item\n" + "".join(f"{user},{user}\n" for user in range(20)), "an item that two users have"),
        ("user\nann\nbob\n", "item"),
    ],
)
def test_data_that_cannot_be_evaluated_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    error = refused(tmp_path, "--data", path)
    assert isinstance(error, DataError)
    assert message in str(error)


def test_unknown_data_are_refused(tmp_path):
    error = refused(tmp_path, "--data", "surveylike")
    assert "--data must be a file, or one of survey_like" in str(error)


def test_the_same_data_twice_are_refused(tmp_path, crowd_file):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(crowd_file.read_bytes())
    assert "different data sets" in str(refused(tmp_path, "--data", crowd_file, "--data", copy))


def test_a_file_named_like_a_built_in_set_is_not_taken_for_it(tmp_path, crowd_file, config):
    mine = tmp_path / "survey_like.csv"
    mine.write_bytes(crowd_file.read_bytes())
    arguments = ("--config", config, "-o", tmp_path / "out", "-j", 1, "--json", "-q")
    found = json.loads(call("--data", mine, "--data", "survey_like", *arguments).stdout)["private"]
    strict = next(row for row in found["verdicts"] if "always" in row["conclusion"])
    assert strict["extended"] == ["survey_like'"]
    numbers = list(csv.DictReader((tmp_path / "out" / "numbers.csv").read_text().splitlines()))
    assert {row["data"] for row in numbers if row["published"]} == {"survey_like"}
    assert {row["data"] for row in numbers} == {"survey_like'", "survey_like"}


def test_data_declared_to_be_the_papers_are_what_it_speaks_of(tmp_path, first, crowd_file, config):
    points = tmp_path / "points.json"
    points.write_text('{"figure1": {"crowd": {"baseline": 0.9, "random": 0.1, "hdp_by_lower_weight": [[0, 0.25]]}}}')
    arguments = ("--data", crowd_file, "--config", config, "-j", 1)
    for name in ("plain", "declared"):
        shutil.copytree(first.out, tmp_path / name)
    plain = call(*arguments, "-o", tmp_path / "plain")
    assert "the paper does not say this about such data" in plain.output
    declared = call(*arguments, "-o", tmp_path / "declared", "--as", "delicious")
    assert declared.exit_code == 0, declared.output
    assert "does not say this about such data" not in declared.output
    assert "extended by us" not in (tmp_path / "declared" / "report.html").read_text().split("<script", 1)[0].replace(
        "Extended by us", ""
    )
    found = json.loads(call(*arguments, "-o", tmp_path / "declared", "--as", "delicious", "--json", "-q").stdout)[
        "private"
    ]
    assert {tuple(row["extended"]) for row in found["verdicts"]} == {()}
    numbers = list(csv.DictReader((tmp_path / "declared" / "numbers.csv").read_text().splitlines()))
    assert {row["published"] for row in numbers if (row["figure"], row["x"]) == ("figure1", "0")} == {"0.122623"}
    call(*arguments, "-o", tmp_path / "plain", "--published", points)
    numbers = list(csv.DictReader((tmp_path / "plain" / "numbers.csv").read_text().splitlines()))
    assert {row["published"] for row in numbers} == {"", "0.9", "0.1", "0.25"}


def test_points_of_other_data_and_too_few_declarations_are_refused(tmp_path, crowd_file):
    points = tmp_path / "points.json"
    points.write_text('{"figure1": {"elsewhere": {"random": 0.1}}}')
    error = refused(tmp_path, "--data", crowd_file, "--published", points)
    assert "points of the data sets that are evaluated (crowd) (got points of 'elsewhere')" in str(error)
    error = refused(tmp_path, "--data", crowd_file, "--data", "survey_like", "--as", "digg")
    assert "--as must say of each data set which of the paper's it is: 2 times" in str(error)


def test_open_verdicts_take_more_runs_and_a_second_call_computes_nothing(first, out, crowd_file, config):
    arguments = ("--data", crowd_file, "--config", config, "-o", out, "-j", 1, "--json", "-q")
    few = first.found
    assert {runs for row in few["verdicts"] for runs in row["runs"].values()} == {2}
    more = json.loads(call(*arguments, "--most-runs", 8).stdout)["private"]
    runs = {number["runs"] for row in more["verdicts"] for number in row["numbers"]}
    assert "8" in runs <= {"2", "4", "8"}
    assert 0 < more["tasks_computed"] < 3 * few["tasks_computed"]
    assert json.loads(call(*arguments, "--most-runs", 8).stdout)["private"]["tasks_computed"] == 0
    assert "| crowd | | | | | " in (out / "verdicts.md").read_text()


def test_shares_without_a_possible_mix_are_refused(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("pragmatists = [0.9]\nunconcerned = [0.7]")
    assert "a combination that leaves room" in str(refused(tmp_path, "--config", path))


def test_an_impossible_mix_is_refused(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("mixes = [[0.6, 0.6, 0.1]]")
    assert "sum to 1 (got 0.6, 0.6, 0.1)" in str(refused(tmp_path, "--config", path))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, crowd_file):
    (tmp_path / "file").write_text("")
    done = call("--data", crowd_file, "-o", tmp_path / "file" / "out", "-q")
    assert isinstance(done.exception, DataError)
    assert "--output must be a folder that can be written" in str(done.exception)


@pytest.mark.filterwarnings("default")  # Dask's own client warns about sockets when it gives up
def test_a_cluster_that_does_not_answer_is_refused_before_anything_starts(tmp_path, crowd_file):
    pytest.importorskip("distributed", reason="needs dask[distributed]")
    error = refused(tmp_path, "--data", crowd_file, "--dask", "tcp://127.0.0.1:9")
    assert isinstance(error, InvalidInput)
    assert "--dask must be the address of a Dask scheduler that answers" in str(error)


def test_jobs_and_a_cluster_exclude_each_other(tmp_path):
    assert "exclude each other" in call("-j", 2, "--dask", "tcp://x:1", "-o", tmp_path).output


def test_the_demonstration_shows_engines_and_the_model_beside_their_rivals_and_writes_a_report(tmp_path):
    steps = []
    found = demo_report(tmp_path / "hetdp-report.html", lambda *step: steps.append(step))
    rows = {(row.data, row.method): row for row in found.rows}
    engines, models = ("exact", "gossip", "sketch"), ("model, epsilon 1", "model, epsilon 3")
    neighbors = {"random", "same people", "true, overlap", "true, cosine"}
    items = {"popularity", "EASE, no privacy", *models}
    assert set(rows) == {(data, one) for data in ("survey_like", "digg_like") for one in (*engines, *neighbors, *items)}
    for (_, method), row in rows.items():
        assert (row.recall is None, row.ndcg is None) == (method in items, method in neighbors)
        assert (row.loss_all is not None) == (method in engines or method in models)
    assert all(row.loss_one <= row.loss_all for row in found.rows if row.loss_all is not None)
    assert [rows["digg_like", name].loss_all for name in ("sketch", *models)] == [1.0, 1.0, 3.0]
    assert rows["digg_like", models[1]].ndcg > rows["digg_like", "popularity"].ndcg + 0.05
    assert steps[-1][0] == steps[-1][1] == len(steps)
    assert "data-drawn" not in found.report.read_text(encoding="utf-8").split("<script", 1)[0]
    assert "Does it work" in found.report.read_text(encoding="utf-8")
