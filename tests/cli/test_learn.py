"""`hetdp learn`, and `hetdp recommend` with a model, run through their entry point."""

import json
import sys
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.support.crowds import tastes

from hetdp import PrivateRecommender

GIVEN = ("--catalogue", "items.txt")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    users, items, _ = tastes().to_pairs()
    rows = [f"{user},{item}\n" for user, item in zip(users, items, strict=True)]
    Path("likes.csv").write_text("user,item\n" + "".join(rows))
    for part in range(2):
        own = [row for row in rows if int(row.split(",")[0].split()[1]) % 2 == part]
        Path(f"part-{part}.csv").write_text("user,item\n" + "".join(own))
    Path("items.txt").write_text("\n".join(sorted(set(items))))
    Path("me.csv").write_text("item\nitem 00\nitem 01\n")
    return tmp_path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("folder")
class TestLearn:
    def test_a_model_is_learned_and_used_at_home(self, run):
        code, out, err = run("learn", "likes.csv", "--epsilon", 5, "-o", "model.hetdp")
        assert code == 0
        assert "600 users" in err
        assert "epsilon = 5 and delta = 0.000001 for weight 1" in " ".join(out.split())
        code, out, err = run("recommend", "model.hetdp", "me.csv", "-n", 3, "--json")
        assert code == 0
        assert "2 items of one person" in err
        shown = json.loads(out)
        items = [row["item"] for row in shown["first_rows"]]
        assert set(items) < {f"item 0{place}" for place in range(2, 8)}
        assert len(items) == 3

    @pytest.mark.parametrize("pandas", [True, False])
    def test_reasons_that_are_numbers(self, run, monkeypatch, pandas):
        Path("numbers.csv").write_text(Path("likes.csv").read_text().replace("item ", "1"))
        Path("my.csv").write_text("item\n100\n101\n")
        if not pandas:
            monkeypatch.setitem(sys.modules, "pandas", None)
        assert run("learn", "numbers.csv", "--epsilon", 5, "-o", "m.hetdp", "-q")[0] == 0
        out = run("recommend", "m.hetdp", "my.csv", "-n", 2, "--why", "--json")[1]
        assert {row["because"] for row in json.loads(out)["first_rows"]} <= {"100, 101", "101, 100"}

    def test_reasons_are_own_items(self, run):
        assert run("learn", "likes.csv", "--epsilon", 5, "-o", "m.hetdp", "-q")[0] == 0
        out = run("recommend", "m.hetdp", "me.csv", "-n", 2, "--why", "--json")[1]
        assert {row["because"] for row in json.loads(out)["first_rows"]} <= {"item 00, item 01", "item 01, item 00"}

    @pytest.mark.parametrize("user", ["", "user"])
    def test_ratings_of_ones_own_count_as_asked(self, run, user):
        assert run("learn", "likes.csv", "--epsilon", 5, "-o", "m.hetdp", "-q")[0] == 0
        column, cell = (f"{user},", "ann,") if user else ("", "")
        Path("rated.csv").write_text(f"{column}item,stars\n{cell}item 00,5\n{cell}item 20,1\n")
        home = ("recommend", "m.hetdp", "rated.csv", "-n", 2, "--why", "--json")
        out = run(*home, "--rating-column", "stars", "--min-rating", 4)[1]
        assert {row["because"] for row in json.loads(out)["first_rows"]} == {"item 00"}
        code, _, err = run(*home, "--rating-column", "nowhere", "--min-rating", 4)
        assert code == 3
        assert "nowhere" in err

    def test_without_a_ledger_it_says_that_nobody_counts(self, run):
        for command in (
            ("learn", "likes.csv", "-o", "m.hetdp"),
            ("neighbors", "likes.csv", "-k", 3, "-o", "n.parquet"),
        ):
            assert "Without --ledger" in " ".join(run(*command, "--epsilon", 5)[2].split())
            assert "Without --ledger" not in run(*command, "--epsilon", 5, "--ledger", "l.db", "--limit", 50)[2]

    def test_profiles_of_several_people_and_plain_lines(self, run):
        assert run("learn", "likes.csv", "--epsilon", 5, "-o", "m.hetdp", "-q")[0] == 0
        Path("us.csv").write_text("user,item\nann,item 00\nbob,item 20\n")
        assert run("recommend", "m.hetdp", "us.csv", "-n", 2, "-o", "us.parquet")[0] == 0
        assert parquet.read_table("us.parquet")["user"].to_pylist() == ["ann", "ann", "bob", "bob"]
        Path("me.txt").write_text("item 00\nitem 01\n")
        one, other = (
            json.loads(run("recommend", "m.hetdp", name, "--json")[1])["first_rows"] for name in ("me.csv", "me.txt")
        )
        assert one == other

    def test_parts_of_a_crowd(self, run):
        for names in ((), GIVEN):
            code, out, _ = run("learn", "part-0.csv", "part-1.csv", "--epsilon", 5, *names, "-o", "m.hetdp", "--json")
            assert code == 0
            assert json.loads(out)["items"] == 32
        code, _, err = run("learn", "part-0.csv", "part-0.csv", "--epsilon", 5, *GIVEN, "-o", "again.hetdp")
        assert code == 3
        assert "300 people came before" in err
        assert "person 0" not in err
        assert not Path("again.hetdp").exists()

    def test_a_dry_run_spends_and_writes_nothing(self, run, folder):
        before = names_in(folder)
        code, out, _ = run("learn", "likes.csv", "--epsilon", 1, "-o", "m.hetdp", "--dry-run", "--json")
        assert code == 0
        assert "delta" in json.loads(out)
        assert names_in(folder) == before

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (("learn", "likes.csv", "--epsilon", 1), 2, "--output is required"),
            (("learn", "likes.csv", "--epsilon", 0, "-o", "m"), 2, "--epsilon must be a number above 0"),
            (("learn", "likes.csv", "--epsilon", 1, "--delta", 2, "-o", "m"), 2, "--delta must be below 1"),
            (("learn", "likes.csv", "--epsilon", 1, "--unit", "user", "-o", "m"), 2, "--unit must be 'item'"),
            (("learn", "likes.csv", "--epsilon", 1, "-o", "likes.csv"), 2, "--output would overwrite"),
            (("learn", "nothing.csv", "--epsilon", 1, "-o", "m"), 3, "nothing.csv"),
            (("learn", "--epsilon", 1, "-o", "m"), 2, "DATA is required"),
            (("recommend", "m.hetdp"), 2, "LIST"),
            (("recommend", "items.txt", "me.csv"), 3, "no model of hetdp"),
            (("recommend", "none", "me.csv"), 3, "File not found: none"),
            (("recommend", "m.hetdp", "me.csv", "--epsilon", 1), 2, "--epsilon"),
            (("recommend", "m.hetdp", "me.csv", "-o", "x.txt"), 2, "--output must end in"),
        ],
    )
    def test_bad_requests_leave_nothing_behind(self, run, folder, arguments, code, words):
        before = names_in(folder)
        found, out, err = run(*arguments)
        assert (found, out) == (code, "")
        assert words in err
        assert "Traceback" not in err
        assert names_in(folder) == before

    def test_a_profile_of_unknown_items_gets_what_is_popular(self, run):
        assert run("learn", "likes.csv", "--epsilon", 5, *GIVEN, "-o", "m.hetdp")[0] == 0
        Path("odd.csv").write_text("item\nnobody's\n")
        code, out, err = run("recommend", "m.hetdp", "odd.csv", "-n", 3, "--json")
        assert code == 0
        assert "popularity alone" in err
        assert len(json.loads(out)["first_rows"]) == 3

    def test_the_model_of_a_command_is_never_simulated(self, run):
        assert run("learn", "likes.csv", "--epsilon", 5, "-o", "m.hetdp")[0] == 0
        assert not PrivateRecommender.load("m.hetdp").simulated_


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("default")  # Dask's own servers warn about sockets when they close
class TestCluster:
    @pytest.mark.usefixtures("folder")
    def test_files_are_read_and_summed_by_workers(self, run):
        distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
        with distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tcp://",  # what is sent is pickled, although the worker is in this process
            dashboard_address=None,
            silence_logs=50,
        ) as cluster:
            at = ("--dask", cluster.scheduler_address)
            for data in (("part-0.csv", "part-1.csv"), ("likes.csv",)):
                code, out, _ = run("learn", *data, "--epsilon", 5, *GIVEN, *at, "-o", "m.hetdp", "--json")
                assert code == 0
                assert json.loads(out)["items"] == 32
            assert run("recommend", "m.hetdp", "me.csv", "-q")[0] == 0
            code, _, err = run("learn", "part-0.csv", "part-0.csv", "--epsilon", 5, *at, "-o", "again.hetdp")
            assert code == 3
            assert "300 people came before" in err

    @pytest.mark.usefixtures("folder")
    def test_a_cluster_that_does_not_answer_is_told(self, run):
        pytest.importorskip("distributed", reason="needs dask[distributed]")
        code, _, err = run("learn", "likes.csv", "--epsilon", 5, "--dask", "nonsense://x", "-o", "m.hetdp")
        assert code != 0
        assert "--dask must be the address of a Dask scheduler that answers" in " ".join(err.split())
        assert not Path("m.hetdp").exists()
