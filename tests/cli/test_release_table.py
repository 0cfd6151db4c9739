"""`hetdp release --aggregate`, as it is called."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.support.errors import complaints


@pytest.fixture
def visits(tmp_path):
    table = pa.table(
        {
            "person_id": [number // 2 for number in range(4000)],
            "department": ["er", "icu"] * 2000,
            "hours": [30.0, 50.0] * 2000,
            "privacy": [1.0] * 2000 + [0.5] * 2000,
        }
    )
    (tmp_path / "visits").mkdir()
    pyarrow.parquet.write_table(table.slice(0, 2500), tmp_path / "visits" / "a.parquet")
    pyarrow.parquet.write_table(table.slice(2500), tmp_path / "visits" / "b.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    (tmp_path / "keys.txt").write_text("er\nicu\n\nlab\n")
    return tmp_path


def asked(folder, *more, keys=True):
    by = ["--by", "department", *(["--keys", str(folder / "keys.txt")] if keys else [])]
    return [*by, "--aggregate", "count", "--aggregate", "mean:hours:0:99", "--epsilon", "1", *more]


def released(run, *arguments):
    code, out, err = run("release", *arguments, "--json", "--quiet")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("several", [True, False])
def test_files_give_one_row_per_key_and_aggregate(visits, run, several):
    files = sorted((visits / "visits").iterdir()) if several else [visits / "visits.csv"]
    own = ("--unit", "person_id", "--max-groups", "2", "--weight-column", "privacy")
    answer = released(run, *files, *asked(visits, *own))
    rows = answer["rows"]
    assert [(row["department"], row["aggregate"]) for row in rows] == [
        (key, name) for key in ("er", "icu", "lab") for name in ("count", "mean of hours")
    ]
    assert rows[1]["estimate"] == pytest.approx(30, abs=3)
    assert rows[3]["estimate"] == pytest.approx(50, abs=3)
    assert rows[0]["estimate"] is None
    assert "max_groups" in rows[0]["reason"]
    assert answer["split"] == {"count of people": 0.5, "sum of hours": 0.5}


def test_the_table_is_shown_and_written(visits, run):
    output = visits / "answer.csv"
    code, out, err = run("release", visits / "visits.csv", *asked(visits), "-o", output)
    assert code == 0
    assert "mean of hours" in out
    assert "95% intervals, each by itself" in out
    assert "Wrote" in err
    lines = output.read_text().splitlines()
    assert lines[0] == '"department","aggregate","estimate","low","high","value","reason"'
    assert len(lines) == 7
    assert run("release", visits / "visits.csv", *asked(visits), "-o", visits / "answer.json", "-q")[0] == 0
    assert len(json.loads((visits / "answer.json").read_text())["rows"]) == 6


def test_where_and_unknown_keys(visits, run):
    more = ("--unknown-keys", "--delta", "1e-6", "--where", "hours < 40")
    answer = released(run, visits / "visits.csv", *asked(visits, *more, keys=False))
    assert {row["department"] for row in answer["rows"]} == {"er"}
    assert answer["delta"] == 1e-6


def test_text_is_refused_by_type_and_remarked_on_where_there_is_none(visits, run):
    table = pa.table({"hours": ["30", "n/a"]})
    pyarrow.parquet.write_table(table, visits / "typed.parquet")
    asked_for = ("--aggregate", "mean:hours:0:80", "--epsilon", "1")
    code, out, err = run("release", visits / "typed.parquet", *asked_for)
    assert (code, out) == (3, "")
    assert "mean of hours" in err
    pyarrow.csv.write_csv(table, visits / "text.csv")
    code, _, err = run("release", visits / "text.csv", *asked_for)
    assert code == 0
    assert '"hours is not null"' in " ".join(err.split())


def test_population_scales_counts_up(visits, run):
    answer = released(run, visits / "visits.csv", *asked(visits, "--weight-column", "privacy", "--population", "4000"))
    assert answer["rows"][0]["estimate"] == pytest.approx(2000, rel=0.05)


def test_counts_that_will_have_no_estimate_are_known_before(visits, run):
    own = asked(visits, "--unit", "person_id", "--dry-run")
    code, out, _ = run("release", "nowhere.parquet", *own)
    assert code == 0
    assert "Counts and totals will have no estimate" in " ".join(out.split())
    assert "reason" in json.loads(run("release", "nowhere.parquet", *own, "--json")[1])
    for more in (("--max-groups", "1"), ("--max-groups", "1", "--population", "9")):
        assert "no estimate" not in run("release", "nowhere.parquet", *own, *more)[1]
    code, out, err = run("release", "nowhere.parquet", *own, "--population", "9")
    assert (code, out) == (2, "")
    assert complaints(err) == ["--population"]


def test_a_dry_run_reads_nothing(visits, run):
    code, out, _ = run("release", "nowhere.parquet", *asked(visits), "--dry-run")
    assert code == 0
    assert "Nothing was read or spent" in out


@pytest.mark.parametrize(
    ("more", "about"),
    [
        (["--query", "mean", "--rho", "1"], ["--query", "--rho"]),
        (["--aggregate", "count"], ["--aggregate"]),
        (["--delta", "1e-9"], ["--delta"]),
        (["--unknown-keys"], ["--unknown-keys"]),
        (["--by", "privacy"], ["--keys"]),
        (["--ledger", "ledger.db"], ["--unit"]),
        (["--limit", "3", "--update-weights", "--people", "3"], ["--limit", "--people", "--update-weights"]),
        (["--where", "hours +"], ["--where"]),
    ],
)
def test_what_does_not_fit_is_refused(visits, run, more, about):
    code, _, err = run("release", visits / "visits.csv", *asked(visits, *more))
    assert (code, complaints(err)) == (2, about)


@pytest.mark.parametrize(
    ("more", "code", "about"),
    [
        (["--aggregate", "median:hours:0:9"], 2, "'median'"),
        (["--aggregate", "mean:hours"], 2, "'mean:hours'"),
        (["--aggregate", "total:hours:5:9"], 2, "5 to 9"),
        (["--where", "nowhere = 1"], 3, "nowhere"),
        (["--unit", "nobody"], 3, "nobody"),
    ],
)
def test_aggregates_and_columns_that_there_are_not(visits, run, more, code, about):
    found, _, err = run("release", visits / "visits.csv", *asked(visits, *more))
    assert (found, about in err) == (code, True)


def test_options_of_tables_need_an_aggregate(visits, run):
    own = [
        "--query",
        "mean",
        "--column",
        "hours",
        "--lower",
        "0",
        "--upper",
        "9",
        "--epsilon",
        "1",
        "--by",
        "department",
    ]
    code, _, err = run("release", visits / "visits.csv", *own)
    assert (code, complaints(err)) == (2, ["--by"])
    code, _, err = run("release", *(visits / "visits").iterdir(), *own[:-2])
    assert (code, complaints(err)) == (2, ["DATA"])


@pytest.mark.slow
def test_a_ledger_of_people_is_made_and_kept(visits, run):
    own = asked(visits, "--unit", "person_id", "--weight-column", "privacy", "--ledger", visits / "ledger.db")
    for _ in range(3):
        released(run, visits / "visits.csv", *own)
    code, _, err = run("release", *sorted((visits / "visits").iterdir()), *own)  # whole numbers are the same people
    assert code == 4
    assert "nothing was spent" in err
    code, out, _ = run("budget", visits / "ledger.db", "--json")
    budget = json.loads(out)
    assert (code, budget["private"]["items"], budget["releases"], budget["private"]["spent_max"]) == (0, 2000, 3, 3.0)


@pytest.mark.slow
def test_dials_of_a_ledger_change_if_told(visits, run):
    own = asked(visits, "--unit", "person_id", "--ledger", visits / "ledger.db")
    released(run, visits / "visits.csv", *own)  # with dials of 1
    released(run, visits / "visits.csv", *own, "--weight-column", "privacy", "--update-weights")
    released(run, visits / "visits.csv", *own, "--weight-column", "privacy")
    code, out, _ = run("budget", visits / "ledger.db", "--json")
    assert (code, json.loads(out)["private"]["spent_mean"]) == (0, pytest.approx(1 + 2 * 0.75))


def test_epsilon_follows_from_accuracy(visits, run):
    own = ["--by", "department", "--keys", visits / "keys.txt", "--aggregate", "count", "--within", "10"]
    code, out, _ = run("release", "nowhere.parquet", *own, "--json")
    plan = json.loads(out)
    assert (code, plan["split"]) == (0, {"count of rows": 0.3})  # ln(20) / 10, rounded up
    more = ["--aggregate", "mean:hours:0:99", "--people", "500"]
    assert json.loads(run("release", "nowhere.parquet", *own, *more, "--json")[1])["epsilon"] >= 0.6
    code, _, err = run("release", "nowhere.parquet", *own, *more[:2])
    assert (code, complaints(err)) == (2, ["--people"])


@pytest.mark.parametrize(("name", "said"), [("zürich", True), ("basel", False)])
def test_names_beyond_ascii_come_with_a_word_on_encodings(run, tmp_path, name, said):
    (tmp_path / "keys.txt").write_text(f"{name}\n", encoding="utf-8")
    for encoding in ("utf-8", "cp1252"):
        (tmp_path / "people.csv").write_text("ward\n" + f"{name}\n" * 50, encoding=encoding)
        asked = ("--aggregate", "count", "--by", "ward", "--keys", tmp_path / "keys.txt", "--epsilon", 1)
        code, _, err = run("release", tmp_path / "people.csv", *asked)
        assert code == 0
        assert ("UTF-8" in err) == said, "whatever the file holds"


def test_groups_without_an_estimate_are_named_and_no_noise_is_shown_for_them(run, tmp_path):
    (tmp_path / "keys.txt").write_text("er\nnobody\n")
    rows = "".join(f"{person},er,40,1\n" for person in range(2000))
    (tmp_path / "people.csv").write_text("id,ward,hours,privacy\n" + rows)
    # At this confidence it takes noise of 20 scales to make an estimate of nobody: 1e-9.
    asked = ("--aggregate", "mean:hours:0:80", "--by", "ward", "--keys", tmp_path / "keys.txt", "--confidence", 0.9999)
    asked += ("--weight-column", "privacy", "--epsilon", 2, "--unit", "id")
    code, out, _ = run("release", tmp_path / "people.csv", *asked)
    assert code == 0
    assert "No estimate of nobody, mean of hours: The noisy sum of weights" in " ".join(out.split())
    (line,) = [line for line in out.splitlines() if line.strip().startswith("nobody")]
    assert not any(letter.isdigit() for letter in line)
    _, out, _ = run("release", tmp_path / "people.csv", *asked, "--dry-run", "--json")
    assert json.loads(out)["people_for_an_estimate"] > 20
