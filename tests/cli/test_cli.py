"""The command line, run in this process through its real entry point, and where it matters in one of its own."""

import errno
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.support.errors import complaints

import hetdp
from hetdp.mechanisms.by_name import QUERIES, SELECTED, mechanism_named

MEAN = ("--query", "mean", "--column", "hours", "--lower", "0", "--upper", "80")
WEIGHTED = (*MEAN, "--weight-column", "privacy")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = ["id,hours,privacy,city"]
    rows += [f"p{i},{rng.uniform(20, 60):.2f},{rng.choice([0, 0.5, 1])},Oslo" for i in range(200)]
    Path("people.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestRelease:
    def test_the_example_of_the_documentation(self, run):
        code, out, err = run("release", "people.csv", *MEAN, "--weight-column", "privacy", "--epsilon", 1,
                             "--ledger", "ledger.db")  # fmt: skip
        assert code == 0
        assert "guarantee: epsilon = 1" in out
        assert "Created ledger.db" in err
        with hetdp.Ledger.open("ledger.db") as ledger:
            weights = np.array([float(line.split(",")[2]) for line in Path("people.csv").read_text().split()[1:]])
            assert ledger.spent == pytest.approx(weights)

    @pytest.mark.parametrize("query", [query for query in QUERIES if query != "mode"])
    def test_every_query_is_close_to_the_truth_at_a_huge_epsilon(self, run, query):
        options = ("--column", "hours", "--lower", 0, "--upper", 80, "--epsilon", 1e6, "--json", "--quiet")
        more = {"histogram": ("--bins", 4), "quantile": ("--quantile", 0.9)}.get(query, ())
        code, out, err = run("release", "people.csv", "--query", query, *options, *more)
        assert (code, err) == (0, "")
        hours = np.array([float(line.split(",")[1]) for line in Path("people.csv").read_text().split()[1:]])
        truth = {
            "mean": hours.mean(),
            "total": hours.sum(),
            "count": 200,
            "histogram": np.histogram(hours, [0, 20, 40, 60, 80])[0],
            "variance": hours.var(),
            "l0": 200,
            "squared_norm": (hours**2).sum(),
            "quantile": np.quantile(hours, 0.9),
            "median": np.median(hours),
            "maximum": hours.max(),
            "minimum": hours.min(),
        }[query]
        apart = 1.0 if query in SELECTED else 0.05  # any value between two people's is as good
        assert json.loads(out)["value"] == pytest.approx(truth, abs=apart)

    def test_parquet_and_compressed_csv(self, run):
        table = pa.table({"hours": [10.0, None, 30.0], "privacy": [1.0, 0.5, None]})
        parquet.write_table(table, "people.parquet")
        arguments = (*MEAN, "--weight-column", "privacy", "--epsilon", 1e6, "--json", "--quiet")
        arguments += ("--default-weight", 1)
        code, out, _ = run("release", "people.parquet", *arguments)
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx(80 / 3, abs=0.01)
        Path("people.csv.gz").write_bytes(gzip.compress(b"hours,privacy\n10,1\n,0.5\n30,\n"))
        code, out, _ = run("release", "people.csv.gz", *arguments)
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx(80 / 3, abs=0.01)

    def test_count_without_a_range_counts_what_is_there(self, run):
        Path("gaps.csv").write_text("hours,other\n1,x\n,x\ntext,x\n")
        code, out, _ = run("release", "gaps.csv", "--query", "count", "--column", "hours", "--epsilon", 1e6, "--json")
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx(2, abs=0.01)

    def test_private_values_never_cause_an_error(self, run):
        Path("odd.csv").write_text('hours,other\n7,x\nsecret,x\n,x\n1e999,x\nnan,x\n"two\nlines",x\n')
        code, out, err = run("release", "odd.csv", *MEAN, "--epsilon", 1e6, "--json")
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx((7 + 80 + 4 * 40) / 6, abs=0.01)
        assert "secret" not in out + err

    def test_dry_run_spends_nothing_and_makes_nothing(self, run):
        arguments = ("release", "people.csv", *MEAN, "--epsilon", 2, "--ledger", "ledger.db", "--json")
        code, out, _ = run(*arguments, "--dry-run")
        assert code == 0
        assert json.loads(out)["private"]["rows_with_too_little_budget"] == 0
        assert not Path("ledger.db").exists()
        assert run(*arguments)[0] == 0
        code, out, _ = run(*arguments, "--dry-run")
        assert (code, json.loads(out)["private"]["rows_with_too_little_budget"]) == (0, 200)
        with hetdp.Ledger.open("ledger.db") as ledger:
            assert ledger.spent == pytest.approx(np.full(200, 2.0))

    def test_exhausted_budget_is_exit_code_4_or_drops_rows(self, run):
        arguments = ("release", "people.csv", *MEAN, "--weight-column", "privacy", "--epsilon", 2, "--ledger", "l.db")
        assert run(*arguments)[0] == 0
        code, out, err = run(*arguments)
        assert (code, out) == (4, "")
        assert "Short by: 1." in err
        code, out, err = run(*arguments, "--on-exhausted", "drop", "--mechanism", "stretching", "--json")
        assert code == 0
        assert "Rows with too little budget do not count any more" in err
        public = json.loads(out)
        assert (public["estimate"], public["on_exhausted"]) == (None, "drop")

    @pytest.mark.parametrize("query", ["mean", "histogram", "variance", "median", "maximum"])
    def test_what_weights_do_to_an_answer_is_said(self, run, query):
        options = ("--column", "hours", "--lower", 0, "--upper", 80, "--epsilon", 1)
        asked = ("release", "people.csv", "--query", query, *options)
        said = [run(*asked, *more)[2].splitlines() for more in ((), WEIGHTED[-2:])]
        assert any("privacy weight" in line for line in said[1])
        assert not any("privacy weight" in line for line in said[0])

    def test_selections_refuse_what_is_about_stretching(self, run):
        options = ("--column", "hours", "--lower", 0, "--upper", 80)
        assert run("release", "people.csv", "--query", "median", *options, "--rho", 1)[0] == 2
        code, _, err = run("release", "people.csv", "--query", "median", *options, "--epsilon", 1, "--multiplier", 2)
        assert (code, complaints(err)) == (2, ["--multiplier"])

    def test_who_was_dropped_once_stays_away(self, run):
        options = (*MEAN, "--epsilon", 1, "--weight-column", "privacy", "--ledger", "l.db", "--limit", 1.5)
        for _ in range(2):
            assert run("release", "people.csv", *options, "--on-exhausted", "drop")[0] == 0
        code, out, _ = run("release", "people.csv", *options, "--dry-run", "--json")
        assert (code, json.loads(out)["private"]["rows_with_too_little_budget"]) == (0, 0)
        weights = [float(line.split(",")[2]) for line in Path("people.csv").read_text().split()[1:]]
        assert json.loads(out)["private"]["rows_dropped_before"] == weights.count(1.0)
        code, out, err = run("release", "people.csv", *options, "--json", "--epsilon", 0.1)
        assert (code, json.loads(out)["on_exhausted"]) == (0, "drop")
        assert "Rows with too little budget" in err

    def test_dropped_rows_do_not_count_in_a_median(self, run):
        Path("two.csv").write_text("x,w\n" + "5,1\n" * 150 + "70,0.1\n" * 50)
        options = ("--column", "x", "--lower", 0, "--upper", 80, "--weight-column", "w", "--ledger", "l.db")
        for epsilon in (30, 20):
            level = ("--epsilon", epsilon, "--limit", 32, "--on-exhausted", "drop", "--json")
            code, out, err = run("release", "two.csv", "--query", "median", *options, *level)
            assert code == 0
        assert json.loads(out)["value"] == pytest.approx(70, abs=1)
        assert "Rows with too little budget do not count any more" in err

    def test_an_answer_that_was_paid_for_is_shown_although_it_cannot_be_written(self, run, monkeypatch):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("hetdp.cli.output.whole_file", full)
        code, out, err = run("release", "people.csv", *MEAN, "--epsilon", 1, "--json", "-o", "answer.json")
        assert code == 6
        assert "No space left on device" in err
        assert "value" in json.loads(out)

    def test_an_unwritable_output_is_found_before_anything_is_spent(self, run, monkeypatch):
        def full(**_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("hetdp.cli.output.tempfile.NamedTemporaryFile", full)
        code, out, err = run("release", "people.csv", *MEAN, "--epsilon", 1, "--ledger", "l.db", "-o", "answer.json")
        assert (code, out) == (3, "")
        assert complaints(err) == ["--output"]
        assert "No space left on device" in err
        assert {path.name for path in Path().iterdir()} == {"people.csv"}

    def test_rows_are_recognised_by_their_identifier(self, run):
        arguments = (*MEAN, "--epsilon", 1, "--ledger", "ids.db", "--id-column", "id")
        assert run("release", "people.csv", *arguments)[0] == 0
        lines = Path("people.csv").read_text().split()
        Path("later.csv").write_text("\n".join([lines[0], "new,40,1,Rome", lines[5], lines[3]]) + "\n")
        code, out, _ = run("release", "later.csv", *arguments, "--dry-run", "--json")
        assert (code, json.loads(out)["private"]["rows_with_too_little_budget"]) == (0, 0)
        code, _, err = run("release", "later.csv", *arguments)
        assert code == 0
        assert "Private: added 1 new person" in err
        with hetdp.Ledger.open("ids.db") as ledger:
            spent = dict(zip(ledger.items, ledger.spent, strict=True))
        assert (spent["p4"], spent["p2"], spent["p0"], spent["new"]) == (2, 2, 1, 1)
        code, _, err = run("release", "people.csv", *MEAN, "--epsilon", 1, "--ledger", "ids.db")
        assert code == 3
        assert complaints(err) == ["--id-column"]

    def test_output_is_written_whole(self, run):
        code, _, err = run("release", "people.csv", *MEAN, "--epsilon", 1, "-o", "answer.json")
        assert code == 0
        assert "Wrote answer.json" in err
        assert json.loads(Path("answer.json").read_text())["query"] == "mean"
        assert not list(Path().glob(".answer*"))

    def test_without_weights_the_raw_value_is_the_estimate(self, run):
        code, out, _ = run("release", "people.csv", *MEAN, "--epsilon", 1, "--json")
        public = json.loads(out)
        assert (code, public["estimate"]) == (0, public["value"])
        assert public["low"] < public["estimate"] < public["high"]

    def test_the_command_of_the_readme_is_right(self, run):
        """Twenty runs with the noise of fixed seeds, as `hetdp release` asks for it; and one of the command itself."""
        assert run("demo", "--save", "people.csv")[0] == 0
        hours, weights = np.genfromtxt("people.csv", delimiter=",", skip_header=1, usecols=(1, 2), unpack=True)
        assert hours.mean() == pytest.approx(34.2, abs=0.05)
        mean = mechanism_named("mean", weights, lower=0, upper=80)
        found = [hetdp.release(mean, hours, epsilon=1.0, random_state=seed) for seed in range(20)]
        assert max(abs(answer.estimate - hours.mean()) for answer in found) < 2
        counted = np.where(weights >= 0.25, hours, 40).mean()  # the middle stands for who does not count
        assert sum(answer.low <= counted <= answer.high for answer in found) >= 18
        code, out, _ = run("release", "people.csv", *MEAN, "--weight-column", "weight", "--epsilon", 1, "--json")
        public = json.loads(out)
        # Off by more with a chance below 1e-6: the noise of three classes.
        assert (code, public["estimate"]) == (0, pytest.approx(34.2, abs=2.5))
        assert public["low"] < public["estimate"] < public["high"]

    def test_an_epsilon_for_an_accuracy(self, run):
        arguments = ("release", "people.csv", *MEAN, "--weight-column", "privacy")
        code, out, _ = run(*arguments, "--within", 5, "--ledger", "l.db", "--json")
        found = json.loads(out)
        assert (code, found["within"], found["confidence"], found["rows"]) == (0, 5, 0.95, 200)
        assert found["each_weight_loses"] == pytest.approx(0.75 * found["epsilon"])
        assert not Path("l.db").exists()
        public = json.loads(run(*arguments, "--epsilon", found["epsilon"], "--json", "--quiet")[1])
        assert 4.9 < (public["high"] - public["low"]) / 2 <= 5
        code, out, err = run(*arguments, "--within", 1e-9)
        assert (code, out, complaints(err)) == (2, "", ["--within"])
        assert re.search(r"at least 0.0000\d+,", err), "a number that people can read"

    def test_weight_classes_answer_one_by_one(self, run):
        arguments = ("release", "people.csv", *MEAN, "--weight-column", "privacy", "--epsilon", 3)
        code, out, err = run(*arguments, "--ledger", "l.db", "--json")
        shown = json.loads(out)
        assert (code, [one["boundary"] for one in shown["classes"]]) == (0, [1, 0.5, 0.25])
        assert shown["value"] == pytest.approx(40 + sum(one["value"] for one in shown["classes"]))
        assert "Rows with a privacy weight below 0.25 count as 40, the middle of the range" in err
        with hetdp.Ledger.open("l.db") as ledger:
            weights = np.array([float(line.split(",")[2]) for line in Path("people.csv").read_text().split()[1:]])
            assert ledger.spent == pytest.approx(3 * weights)
            assert ledger.weights_spent == pytest.approx(2.25)
        code, out, _ = run(*arguments, "--dry-run", "--json")
        assert (code, json.loads(out)["each_weight_loses"]) == (0, 2.25)
        code, out, err = run(*arguments, "--weight-classes", "1,0.4")
        assert code == 0
        assert "weights from 0.4" in out
        assert "below 0.4" in err

    def test_the_estimate_comes_first_with_its_interval(self, run):
        arguments = ("release", "people.csv", *MEAN, "--weight-column", "privacy", "--epsilon", 1)
        code, out, _ = run(*arguments)
        assert code == 0
        places = [out.index(word) for word in ("estimate of the mean", "95 % interval", "noise scale")]
        assert places == sorted(places)
        code, out, _ = run(*arguments, "--confidence", 0.8, "--json", "--quiet")
        public = json.loads(out)
        assert public["low"] < public["estimate"] < public["high"]
        assert (public["confidence"], public["reason"]) == (0.8, None)
        code, out, _ = run(*arguments[:-1], 0.01, "--confidence", 0.99)
        assert (code, "as wide as the range" in " ".join(out.split())) == (0, True)
        histogram = ("--query", "histogram", "--column", "hours", "--lower", 0, "--upper", 80, "--bins", 4)
        code, out, _ = run("release", "people.csv", *histogram, "--weight-column", "privacy", "--epsilon", 1)
        assert code == 0
        assert {"estimate", "share"} <= set(out.split())
        assert "of each bin by itself" in out

    @pytest.mark.parametrize(
        ("arguments", "about"),
        [
            ((), ["--query", "--column", "--epsilon"]),
            (MEAN, ["--epsilon"]),
            ((*MEAN, "--epsilon", "1", "--rho", "1"), ["--epsilon"]),
            ((*MEAN, "--epsilon", "1", "--within", "1"), ["--epsilon"]),
            ((*MEAN, "--epsilon", "0"), ["--epsilon"]),
            ((*MEAN, "--epsilon", "nan"), ["--epsilon"]),
            ((*MEAN, "--epsilon", "x"), ["--epsilon"]),
            ((*MEAN, "--epsilon", "1e-300", "--ledger", "new.db"), ["--epsilon"]),
            ((*MEAN, "--rho", "5e-324", "--ledger", "new.db"), ["--rho"]),
            (("--query", "mean", "--column", "hours", "--epsilon", "1"), ["--lower", "--upper"]),
            (("--query", "mean", "--bins", "2"), ["--column", "--bins", "--lower", "--upper", "--epsilon"]),
            (("--query", "middle", "--column", "hours", "--epsilon", "1"), ["--query"]),
            ((*MEAN[:-1], "-5", "--epsilon", "1"), ["--lower"]),
            ((*MEAN, "--epsilon", "1", "--mechanism", "stretching", "--center", "99"), ["--center"]),
            ((*MEAN, "--epsilon", "1", "--center", "9"), ["--center"]),
            ((*MEAN, "--epsilon", "1", "--multiplier", "0.5"), ["--multiplier"]),
            ((*MEAN, "--epsilon", "1", "--multiplier", "most"), ["--multiplier"]),
            ((*MEAN, "--epsilon", "1", "--multiplier", "2"), ["--multiplier"]),
            ((*MEAN, "--epsilon", "1", "--default-weight", "2"), ["--default-weight"]),
            ((*MEAN, "--epsilon", "1", "--limit", "-1", "--ledger", "new.db"), ["--limit"]),
            ((*MEAN, "--epsilon", "1", "--id-column", "id", "--limit", "2"), ["--limit", "--id-column"]),
            ((*MEAN, "--epsilon", "1", "--id-column", "id"), ["--id-column"]),
            ((*MEAN, "--epsilon", "1", "--weight-classes", "1,0.5"), ["--weight-classes"]),
            ((*WEIGHTED, "--epsilon", "1", "--weight-classes", "a"), ["--weight-classes"]),
            ((*WEIGHTED, "--epsilon", "1", "--weight-classes", "0.5,1"), ["--weight-classes"]),
            ((*WEIGHTED, "--epsilon", "1", "--weight-classes", "1,0"), ["--weight-classes"]),
            ((*WEIGHTED, "--epsilon", "1", "--mechanism", "sampling", "--weight-classes", "1"), ["--weight-classes"]),
            (("--query", "variance", *WEIGHTED[2:], "--epsilon", "1", "--mechanism", "classes"), ["--mechanism"]),
            (("--query", "variance", *MEAN[2:], "--within", "1"), ["--within"]),
            (("--query", "median", *MEAN[2:], "--within", "1"), ["--within"]),
            ((*MEAN, "--epsilon", "1", "--confidence", "1"), ["--confidence"]),
            ((*MEAN, "--epsilon", "1", "-o", "answer.csv"), ["--output"]),
            ((*MEAN, "--epsilon", "1", "--ledger", "l.json", "-o", "l.json"), ["--output"]),
            (
                (*MEAN, "--epsilon", "1", "--mechanism", "stretching", "--multiplier", "1e20"),
                ["--epsilon"],
            ),
            ((*MEAN, "--epsilon", "1", "--by", "city", "--unit", "id"), ["--by", "--unit"]),
        ],
    )
    def test_options_are_refused_by_name_and_all_at_once(self, run, arguments, about):
        found, out, err = run("release", "people.csv", *arguments)
        assert (found, out) == (2, "")
        assert complaints(err) == about
        assert [path.name for path in Path().iterdir()] == ["people.csv"]

    @pytest.mark.parametrize(
        ("arguments", "code", "about"),
        [
            ((*MEAN, "--epsilon", "1", "--weight-column", "nope"), 3, "'nope'"),
            ((*MEAN, "--epsilon", "1", "--id-column", "city", "--ledger", "new.db"), 3, "--id-column"),
            ((*MEAN, "--epsilon", "1", "-o", "nowhere/answer.json"), 3, "--output"),
            ((*MEAN, "--epsilon", "1", "--ledger", "new.db", "--limit", "0"), 4, "200 rows"),
            ((*MEAN, "--epsilon", "1", "--ledger", "people.csv"), 5, "people.csv"),
            ((*MEAN, "--epsilon", "1", "--ledger", "nowhere/l.db"), 5, "nowhere"),
        ],
    )
    def test_data_and_ledgers_that_cannot_be_used(self, run, arguments, code, about):
        before = Path("people.csv").read_bytes()
        found, out, err = run("release", "people.csv", *arguments)
        assert (found, out) == (code, "")
        assert about in err
        assert "Traceback" not in err
        assert [path.name for path in Path().iterdir()] == ["people.csv"]
        assert Path("people.csv").read_bytes() == before

    def test_what_is_required_is_named_at_once(self, run):
        assert complaints(run("release")[2]) == ["DATA", "--query", "--column", "--epsilon"]
        assert complaints(run("learn")[2]) == ["DATA", "--epsilon", "--output"]

    def test_bad_files(self, run):
        for name, content, message in (
            ("missing.csv", None, "missing.csv"),
            ("empty.csv", "", "empty.csv"),
            ("header.csv", "hours,other\n", "at least one row"),
            ("broken.parquet", "no parquet", "broken.parquet"),
            ("ragged.csv", "hours,other\n1\n2,3,4\n", "ragged.csv"),
        ):
            if content is not None:
                Path(name).write_text(content)
            code, out, err = run("release", name, *MEAN, "--epsilon", 1, "--ledger", "ledger.db")
            assert (code, out) == (3, "")
            assert message in err
        assert not Path("ledger.db").exists()

    def test_odd_tables(self, run):
        for content, message in (("hours,hours\n1,2\n", "'hours'"), ("id,hours\n,1\nb,2\n", "--id-column")):
            Path("odd.csv").write_text(content)
            label = "id" if content.startswith("id,") else "hours"
            code, _, err = run("release", "odd.csv", *MEAN, "--epsilon", 1, "--id-column", label, "--ledger", "odd.db")
            assert code == 3
            assert message in err
        Path("words.csv").write_text("hours,privacy\n1,high\n2,low\n")
        code, _, err = run("release", "words.csv", *MEAN, "--weight-column", "privacy", "--epsilon", 1)
        assert (code, "A cell that is not a number" in err) == (0, True)  # weights are secret: no cell is refused
        Path("flags.csv").write_text("hours,privacy\ntrue,1\nFalse,1\n")
        arguments = ("--query", "mean", "--column", "hours", "--lower", 0, "--upper", 1, "--epsilon", 1e6, "--json")
        assert json.loads(run("release", "flags.csv", *arguments)[1])["value"] == pytest.approx(0.5, abs=0.01)

    def test_a_refused_release_adds_no_rows(self, run):
        arguments = (*MEAN, "--epsilon", 2, "--ledger", "ids.db", "--id-column", "id")
        assert run("release", "people.csv", *arguments)[0] == 0
        Path("later.csv").write_text("id,hours\np1,40\nnew,30\n")
        assert run("release", "later.csv", *arguments)[0] == 4
        with hetdp.Ledger.open("ids.db") as ledger:
            assert ledger.size == 200
        assert run("release", "later.csv", *arguments, "--on-exhausted", "drop")[0] == 0
        code, out, _ = run("release", "later.csv", *MEAN, "--epsilon", 0.5, "--ledger", "ids.db", "--id-column", "id",
                           "--dry-run", "--json")  # fmt: skip
        assert (code, json.loads(out)["private"]["rows_with_too_little_budget"]) == (0, 0)

    def test_histograms_say_where_their_bins_are(self, run):
        _, out, _ = run(
            "release", "people.csv", "--query", "histogram", *MEAN[2:], "--bins", 2, "--epsilon", 1, "--json"
        )
        assert json.loads(out)["edges"] == [0, 40, 80]
        assert json.loads(out)["rows"] == 200

    @pytest.mark.slow
    def test_a_full_disk_is_no_traceback(self):
        command = [sys.executable, "-m", "hetdp", "release", "people.csv", *MEAN, "--epsilon", "1", "--json"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 6
        assert "could not be written" in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.slow
    def test_a_reader_that_went_away_is_no_violation(self):
        command = [sys.executable, "-m", "hetdp", "release", "people.csv", *MEAN, "--epsilon", "1", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.close()
            told = process.stderr.read()
        assert process.returncode == 6  # 1 is what an audit says
        assert "Traceback" not in told

    def test_a_table_of_another_length_is_refused(self, run):
        assert run("release", "people.csv", *MEAN, "--epsilon", 1, "--ledger", "ledger.db")[0] == 0
        Path("short.csv").write_text("hours,other\n1,1\n")
        code, _, err = run("release", "short.csv", *MEAN, "--epsilon", 1, "--ledger", "ledger.db")
        assert code == 3
        assert "1 row" in err
        assert "200" in err


@pytest.mark.usefixtures("folder")
class TestBudget:
    def test_what_is_left(self, run):
        run("release", "people.csv", *MEAN, "--epsilon", 1, "--ledger", "ledger.db", "--id-column", "id")
        code, out, err = run("budget", "ledger.db", "--json", "--items")
        shown = json.loads(out)
        assert (code, err) == (0, "")
        owned = shown["private"]
        assert (owned["items"], shown["releases"], owned["spent_max"], owned["remaining_min"]) == (200, 1, 1.0, 2.0)
        assert shown["history"][0]["query"] == "mean of hours"
        assert owned["per_item"][0] == {"item": "p0", "limit": 3.0, "spent": 1.0, "remaining": 2.0}
        code, out, _ = run("budget", "ledger.db", "--items")
        assert code == 0
        assert "p199" in out

    def test_releases_that_drop_and_charges_without_a_level_are_shown(self, run):
        with hetdp.Ledger(limits=[1.0], path="ledger.db") as ledger:
            ledger.charge([0.1], description="by hand")
        with hetdp.Ledger.open("ledger.db", on_exhausted="drop") as ledger:
            ledger.charge([0.1], description="mean", amount=0.1)
        shown = json.loads(run("budget", "ledger.db", "--json")[1])
        assert [entry["dropping"] for entry in shown["history"]] == [False, True]
        code, out, _ = run("budget", "ledger.db")
        assert code == 0
        lines = [line.split()[2:] for line in out.splitlines() if " 20" in line and ":" in line]
        assert lines == [["by", "hand", "0"], ["mean", "epsilon", "=", "0.1", "0", "dropping"]]

    def test_gaussian_ledgers_have_no_pure_epsilon(self, run):
        run("release", "people.csv", *MEAN, "--rho", 0.1, "--ledger", "ledger.db")
        shown = json.loads(run("budget", "ledger.db", "--json")[1])
        assert shown["private"]["epsilon_max"] is None
        assert shown["private"]["rho_max"] == pytest.approx(0.1)

    def test_missing_and_foreign_files(self, run):
        code, _, err = run("budget", "nothing.db")
        assert code == 5
        assert "nothing.db" in err
        assert run("budget", "people.csv")[0] == 5


def test_interruption_is_exit_code_130(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hetdp.cli.release_query.read_table", interrupted)
    code, _, err = run("release", "people.csv", *MEAN, "--epsilon", 1)
    assert code == 130
    assert "Interrupted" in err


def test_the_installed_command_works():
    command = Path(sys.executable).parent / "hetdp"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"hetdp, version {hetdp.__version__}"


@pytest.mark.slow
def test_help_in_the_documentation_is_true():
    docs = Path(__file__).parents[2] / "docs"
    # In a process of its own: click keeps help options of commands that other tests have called by themselves.
    script = f"import runpy; print(runpy.run_path({str(docs / 'update_cli.py')!r})['render'](), end='')"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert (docs / "reference" / "cli.md").read_text() == shown, "run docs/update_cli.py"


@pytest.mark.usefixtures("folder")
def test_compare_recommends(run):
    arguments = ("compare", "--query", "mean", "--epsilon", 1, "-n", 200, "--runs", 10, "--values", "0,0,1")
    code, out, _ = run(*arguments)
    assert code == 0
    assert "Recommended: " in out
    shown = json.loads(run(*arguments, "--json", "--quiet")[1])
    assert shown["recommended"] == shown["mechanisms"][0]["mechanism"]
    assert run("compare", "--query", "mean", "--epsilon", 1, "--values", "a")[0] == 2
    assert run("compare", "--query", "mean", "--epsilon", -1)[0] == 2
    assert run("compare", "--query", "mean", "--epsilon", 1, "--westin", "1")[0] == 2
