"""The command: good input gives files, bad input a clear text before anything starts."""

import csv
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import click.testing
import pytest

from hetdp.cli.reproduce import reproduce
from hetdp.core.errors import DataError, InvalidInput

pytestmark = pytest.mark.slow

#: A small sweep.
QUICK = ("--quick", "--runs", 2, "-j", 1)
SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey" / "survey.csv.gz"


def call(*arguments):
    return click.testing.CliRunner().invoke(reproduce, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def first(tmp_path_factory, crowd_file):
    """The output of one small sweep, made with the umask that most people have: its folder and what was told."""
    out = tmp_path_factory.mktemp("reproduced") / "out"
    before = os.umask(0o022)
    try:
        done = call("--data", crowd_file, *QUICK, "-o", out, "--json", "-q")
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.output
    return SimpleNamespace(out=out, found=json.loads(done.stdout)["private"])


@pytest.fixture
def out(tmp_path, first):
    """A copy of that folder, for a test to go on with."""
    return Path(shutil.copytree(first.out, tmp_path / "out"))


def test_a_file_of_ones_own_is_evaluated_and_a_second_call_computes_nothing(first, out, crowd_file):
    assert first.found["tasks_computed"] > 0 == first.found["tasks_reused"]
    assert {path.name for path in out.iterdir()} == {"numbers.csv", "report.html", "results.sqlite", "verdicts.md"}
    numbers = (out / "numbers.csv").read_text()
    again = json.loads(call("--data", crowd_file, *QUICK, "-o", out, "--json", "-q").stdout)["private"]
    assert (again["tasks_computed"], again["tasks_reused"]) == (0, first.found["tasks_computed"])
    assert (out / "numbers.csv").read_text() == numbers


def test_more_runs_only_compute_what_is_missing(out, crowd_file):
    more = ("--quick", "--runs", 3, "-j", 1)
    found = json.loads(call("--data", crowd_file, *more, "-o", out, "--json", "-q").stdout)["private"]
    assert 2 * found["tasks_computed"] == found["tasks_reused"] > 0


@pytest.mark.skipif(not SURVEY.exists(), reason="the survey data are not beside the project")
def test_the_survey_data_are_evaluated(tmp_path):
    done = call("--data", SURVEY, *QUICK, "-o", tmp_path / "out", "-q")
    assert done.exit_code == 0, done.output
    assert "survey" in done.output


def test_what_is_written_is_for_its_owner_only(first):
    made = [first.out, *(path for path in first.out.rglob("*") if path.is_file())]
    assert len(made) == 5
    assert {path.name: path.stat().st_mode & 0o077 for path in made} == {path.name: 0 for path in made}


def test_weights_that_are_not_used_are_mentioned(tmp_path, out, crowd_file):
    weighted = tmp_path / "weighted.csv"
    head, *rows = crowd_file.read_text().split()
    weighted.write_text("\n".join([f"{head},weight", *(f"{row},0.5" for row in rows)]) + "\n")
    said = call("--data", weighted, *QUICK, "-o", out).stderr
    assert "Weights of weighted (column 'weight') are not used" in said
    assert "Weights of" not in call("--data", crowd_file, *QUICK, "-o", out).stderr


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
        ("user,item\nann,tea\nbob,tea\n", "more than 10 users"),
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
    assert (error.parameter, error.got) == ("--data", "surveylike")


def test_the_same_data_twice_are_refused(tmp_path, crowd_file):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(crowd_file.read_bytes())
    error = refused(tmp_path, "--data", crowd_file, "--data", copy)
    assert (error.parameter, "different" in error.problem) == ("--data", True)


def test_a_file_named_like_a_built_in_set_is_not_taken_for_it(tmp_path, crowd_file):
    mine = tmp_path / "survey_like.csv"
    mine.write_bytes(crowd_file.read_bytes())
    arguments = (*QUICK, "-o", tmp_path / "out", "--json", "-q")
    found = json.loads(call("--data", mine, "--data", "survey_like", *arguments).stdout)["private"]
    strict = next(row for row in found["verdicts"] if "always" in row["conclusion"])
    assert strict["extended"] == ["survey_like'"]
    numbers = list(csv.DictReader((tmp_path / "out" / "numbers.csv").read_text().splitlines()))
    assert {row["data"] for row in numbers if row["published"]} == {"survey_like"}
    assert {row["data"] for row in numbers} == {"survey_like'", "survey_like"}


def test_data_declared_to_be_the_papers_are_what_it_speaks_of(tmp_path, first, crowd_file):
    arguments = ("--data", crowd_file, *QUICK)
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
    numbers = list(csv.DictReader((tmp_path / "plain" / "numbers.csv").read_text().splitlines()))
    assert {row["published"] for row in numbers} == {""}


def test_too_few_declarations_are_refused(tmp_path, crowd_file):
    error = refused(tmp_path, "--data", crowd_file, "--data", "survey_like", "--as", "digg")
    assert (error.parameter, error.got) == ("--as", 1)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, crowd_file):
    (tmp_path / "file").write_text("")
    done = call("--data", crowd_file, "-o", tmp_path / "file" / "out", "-q")
    assert isinstance(done.exception, DataError)
    assert done.exception.parameter == "--output"


@pytest.mark.filterwarnings("default")  # Dask's own client warns about sockets when it gives up
def test_a_cluster_that_does_not_answer_is_refused_before_anything_starts(tmp_path, crowd_file):
    pytest.importorskip("distributed", reason="needs dask[distributed]")
    error = refused(tmp_path, "--data", crowd_file, "--dask", "tcp://127.0.0.1:9")
    assert isinstance(error, InvalidInput)
    assert "--dask must be the address of a Dask scheduler that answers" in str(error)


def test_jobs_and_a_cluster_exclude_each_other(tmp_path):
    assert "exclude each other" in call("-j", 2, "--dask", "tcp://x:1", "-o", tmp_path).output
