"""`hetdp neighbors`, run through its entry point, and where it matters in a process apart."""

import csv
import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.support.errors import complaints

from hetdp.cli import output
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.gossip.engine import users_settled

HUGE = ("--epsilon", 200)
GROUPS, MEMBERS = 6, 5


def twins():
    """Users in groups that share all items with each other and none with anybody else."""
    return [(f"u{g}-{m}", f"i{g}-{i}") for g in range(GROUPS) for m in range(MEMBERS) for i in range(12 + (m > 0))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("likes.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in twins()))
    Path("items.txt").write_text("\n".join(sorted({item for _, item in twins()})))
    return tmp_path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("folder")
class TestNeighbors:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_finds_the_group_of_each_user_and_says_what_it_promises(self, run, engine):
        cycles = ("--cycles", 60) if engine == "gossip" else ()
        level = 30 if engine == "sketch" else 200
        arguments = ("neighbors", "likes.csv", "--epsilon", level, "-k", 3, "--engine", engine, *cycles)
        code, out, err = run(*arguments, "--catalogue", "items.txt", "-o", "found.parquet")
        assert code == 0
        assert "30 users, 78 items" in err
        assert "stand out" in err
        total = 29 * level if engine == "gossip" else level  # in so many cycles everybody meets everybody
        assert f"guarantee: epsilon = {total} " in " ".join(out.split())
        table = parquet.read_table("found.parquet")
        assert table.column_names == ["user", "neighbor", "score", "significance"]
        rows = table.to_pylist()
        assert len(rows) == 90
        same = [row["user"].split("-")[0] == row["neighbor"].split("-")[0] for row in rows]
        assert np.mean(same) > 0.95
        assert all(row["user"] != row["neighbor"] for row in rows)
        about = json.loads(table.schema.metadata[b"hetdp"])
        assert about["guarantee"]["against_one"] == total
        assert about["guarantee"]["delta"] == 0
        assert about["engine"] == engine
        assert "pairs" not in about  # the file goes to recipients

    @pytest.mark.parametrize("ending", output.ENDINGS)
    def test_every_format_holds_the_same_columns(self, run, ending):
        assert run("neighbors", "likes.csv", *HUGE, "-k", 2, "-o", f"found{ending}")[0] == 0
        path = Path(f"found{ending}")
        if ending == ".parquet":
            rows = parquet.read_table(path).to_pylist()
        elif ending == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            text = gzip.decompress(path.read_bytes()).decode() if ending == ".csv.gz" else path.read_text()
            rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == 60
        assert list(rows[0]) == ["user", "neighbor", "score", "significance"]
        assert rows[0]["user"] == "u0-0"
        assert float(rows[0]["score"]) == pytest.approx(12, abs=0.5)

    def test_ids_stay_what_they_were(self, run):
        parquet.write_table(
            pa.table({"who": [7, 7, 8, 8, 9], "what": ["007", "x, y", "007", "x, y", '"'], "v": [1.0] * 5}), "n.parquet"
        )
        columns = ("--user-column", "who", "--item-column", "what", "--weight-column", "v")
        assert run("neighbors", "n.parquet", *columns, *HUGE, "-k", 1, "-o", "found.parquet")[0] == 0
        table = parquet.read_table("found.parquet")
        assert table.schema.field("user").type == pa.int64()
        assert dict(zip(table["user"].to_pylist(), table["neighbor"].to_pylist(), strict=True))[7] == 8
        Path("t.csv").write_text('user,item\n"a,b",1\nb,1\n"a,b",2\nb,2\nc,3\n')
        assert run("neighbors", "t.csv", *HUGE, "-k", 1, "-o", "r.csv")[0] == 0
        assert {row["user"] for row in csv.DictReader(Path("r.csv").read_text().splitlines())} <= {"a,b", "b", "c"}

    def test_without_output_the_first_rows_are_shown(self, run):
        code, out, err = run("neighbors", "likes.csv", *HUGE, "-k", 2)
        assert code == 0
        assert "The first 10 neighbours" in out
        assert "u0-0" in out
        assert "-o FILE" in err
        assert names_in(Path()) == ["items.txt", "likes.csv"]

    def test_summary_as_json(self, run):
        code, out, err = run("neighbors", "likes.csv", *HUGE, "-k", 2, "-o", "found.csv", "--json", "--quiet")
        assert (code, err) == (0, "")
        shown = json.loads(out)
        owned = shown["private"]
        assert (owned["users"], owned["items"], owned["pairs"]) == (30, 78, len(twins()))
        assert owned["rows"] == 60
        assert shown["output"] == "found.csv"
        assert shown["guarantee"]["against_all"] == 29 * 200
        shown = json.loads(run("neighbors", "likes.csv", *HUGE, "-k", 2, "--engine", "gossip", "--json")[1])
        assert shown["private"]["report"]["distinct_comparisons_max"] <= 29
        assert len(shown["first_rows"]) == 10

    def test_a_dry_run_draws_and_writes_nothing(self, run, monkeypatch):
        monkeypatch.setattr("hetdp.neighbors.estimator.PrivateNeighbors.fit", None)
        code, out, _ = run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "-o", "found.csv", "--dry-run")
        assert code == 0
        assert "nothing was drawn" in out
        assert names_in(Path()) == ["items.txt", "likes.csv"]
        shown = json.loads(run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--dry-run", "--json")[1])
        assert shown["guarantee"]["against_one"] == 1
        assert shown["private"]["users"] == 30

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_promise_of_a_dry_run_is_the_one_that_is_kept(self, run, engine):
        options = ("--score", "cosine") if engine == "exact" else ()
        arguments = ("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--engine", engine, *options)
        arguments += ("--json", "--quiet")
        planned = json.loads(run(*arguments, "--dry-run")[1])["guarantee"]
        kept = json.loads(run(*arguments)[1])["guarantee"]
        for number in ("per_recipient", "shared", "delta"):
            assert kept[number] == pytest.approx(planned[number])
        assert kept["per_recipient"] + kept["shared"] == pytest.approx(1)
        if engine != "gossip":
            assert kept["against_one"] == pytest.approx(planned["against_one"])
        assert kept["against_all"] <= planned["against_all"] + 1e-9  # gossip may meet fewer than all

    def test_significant_only_gives_fewer(self, run):
        everything = ("neighbors", "likes.csv", "--epsilon", 0.01, "-k", 5, "--json", "--quiet")
        assert json.loads(run(*everything)[1])["private"]["rows"] == 150
        assert json.loads(run(*everything, "--significant-only")[1])["private"]["rows"] < 75
        code, out, _ = run(
            *everything[:3],
            1e-9,
            "-k",
            1,
            "--engine",
            "sketch",
            "--significant-only",
            "--catalogue",
            "items.txt",
            "-o",
            "s.parquet",
        )
        assert code == 0
        table = parquet.read_table("s.parquet")
        assert table.schema.field("user").type == pa.string()
        assert f"{table.num_rows:,} for 30 users" in out

    def test_too_few_cycles_are_told_before_the_start(self, run):
        pairs = "".join(f"{user},{user // 4}\n" for user in range(users_settled(2) + 1))
        Path("many.csv").write_text("user,item\n" + pairs)
        options = ("--epsilon", 1, "-k", 2, "--engine", "gossip", "--dry-run")
        assert "--cycles 3" in run("neighbors", "many.csv", *options, "--cycles", 2)[2]
        assert "rule of thumb" not in run("neighbors", "many.csv", *options, "--cycles", 3)[2]

    def test_a_repeated_pair_counts_once(self, run):
        Path("twice.csv").write_text("user,item\na,x\na,x\nb,x\nc,y\n")
        code, out, _ = run("neighbors", "twice.csv", "--epsilon", 1, "-k", 1, "--json")
        assert (code, json.loads(out)["private"]["pairs"]) == (0, 3)

    def test_squared_cosine_warns(self, run):
        code, _, err = run("neighbors", "likes.csv", "--epsilon", 1, "-k", 1, "--score", "squared-cosine")
        assert code == 0
        assert "turns large negative noise into similarity" in err

    def test_the_bar_is_for_terminals_only(self, run, monkeypatch):
        arguments = ("neighbors", "likes.csv", *HUGE, "-k", 2)
        assert "Finding neighbours" not in run(*arguments)[2]
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "Finding neighbours" in run(*arguments)[2]
        assert run(*arguments, "--quiet")[2] == ""

    def test_compilation_is_announced_when_nothing_is_on_disk(self, run, monkeypatch):
        arguments = ("neighbors", "likes.csv", *HUGE, "-k", 2)
        run(*arguments)  # whatever had to be compiled has been
        assert "Compiling" not in run(*arguments)[2]
        monkeypatch.setattr(output, "compiled", lambda _: False)
        assert "Compiling (once" in run(*arguments)[2]


@pytest.mark.usefixtures("folder")
class TestSources:
    LENS = "userId,movieId,rating,timestamp\n" + "".join(
        f"{user},{item},{1 + item % 5},9\n" for user in range(8) for item in range(20)
    )
    FILES = {  # noqa: RUF012  (not changed)
        "ratings.csv": LENS,
        "ratings.dat": "\n".join(line.replace(",", "::") for line in LENS.split("\n")[1:]),
        "u.data": "\n".join(line.replace(",", "\t") for line in LENS.split("\n")[1:]),
        "user_ratedmovies.dat": LENS.replace("userId", "userID").replace("movieId", "movieID").replace(",", "\t"),
        "own.csv": LENS.replace("userId", "user").replace("movieId", "item"),
    }

    @pytest.mark.parametrize("name", FILES)
    def test_known_files_need_no_options(self, run, name):
        Path(name).write_text(self.FILES[name])
        arguments = ("neighbors", name, "--epsilon", 1, "-k", 2, "--dry-run")
        code, _, err = run(*arguments)
        assert code == 0
        assert f"read {name}: 8 users, 20 items, 160 pairs" in err
        shown = json.loads(run(*arguments, "--min-rating", 4, "--json")[1])
        owned = shown["private"]
        assert (owned["items"], owned["pairs"], owned["weights"]) == (8, 64, "every weight is 1 (no column of weights)")

    def test_a_folder_and_named_columns(self, run):
        Path("ml").mkdir()
        Path("ml/u.data").write_text(self.FILES["u.data"])
        assert "read u.data: 8 users" in run("neighbors", "ml", "--epsilon", 1, "-k", 2, "--dry-run")[2]
        Path("x.csv").write_text(self.LENS.replace("movieId", "thing"))
        options = ("neighbors", "x.csv", "--epsilon", 1, "-k", 2, "--dry-run")
        code, _, err = run(*options)
        assert (code, complaints(err)) == (3, ["--item-column"])
        assert run(*options, "--item-column", "thing")[0] == 0

    def test_which_weights_were_used_is_said(self, run):
        Path("w.csv").write_text("user,item,weight,care\na,x,1,0.5\nb,x,1,\nc,y,0.5,1\n")
        options = ("neighbors", "w.csv", "--epsilon", 1, "-k", 1, "--dry-run", "--json")
        for extra, words in (
            ((), "weights from column 'weight'"),
            (("--no-weights",), "every weight is 1 (--no-weights)"),
            (
                ("--weight-column", "care", "--default-weight", 0.25),
                "weights from column 'care', 0.25 where it is empty",
            ),
        ):
            code, out, err = run(*options, *extra)
            assert code == 0
            assert json.loads(out)["private"]["weights"] == words
            assert f"; {words}." in err

    @pytest.mark.parametrize("cell", ["17", "often", ""])
    def test_no_cell_of_weights_is_refused_or_told(self, run, cell):
        Path("w.csv").write_text(f"user,item,weight\na,x,{cell}\nb,x,1\nc,y,0.5\n")
        options = ("neighbors", "w.csv", "--epsilon", 1, "-k", 1, "--dry-run")
        code, out, err = run(*options)
        assert code == 0
        assert not cell or cell not in out + err

    def test_what_a_neighbour_needs_names_its_epsilon(self, run):
        options = ("likes.csv", "-k", 2, "--dry-run", "--epsilon")
        assert (
            "at epsilon 200, a neighbour needs a single item of weight 1 in common"
            in run("neighbors", *options, 200)[2]
        )
        assert "at epsilon 0.5, a neighbour needs about" in run("neighbors", *options, 0.5)[2]
        assert "at epsilon 1, a neighbour needs" in run("neighbors", *options, 1, "--engine", "sketch")[2]


@pytest.mark.usefixtures("folder")
class TestCatalogue:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_only_private_names_of_sketches_spend_delta(self, run, engine):
        Path("items.txt").write_text("\n".join(sorted({item for _, item in twins()} | {"nobody's"})))
        arguments = ("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--engine", engine, "--json", "--quiet")
        shown = json.loads(run(*arguments, "--delta", 1e-5)[1])
        assert (shown["catalogue"], shown["delta"]) == ("private", 1e-5)
        assert shown["guarantee"]["delta"] == (1e-5 if engine == "sketch" else 0.0), "lists of people need no names"
        for extra in ((), ("--dry-run",)):
            shown = json.loads(run(*arguments, "--catalogue", "items.txt", *extra)[1])
            assert shown["private"]["items"] == 79
            assert shown["catalogue"] == "given"
            assert shown["guarantee"]["delta"] == 0

    def test_items_that_are_missing_are_counted(self, run):
        Path("items.csv").write_text("item,title\n" + "".join(f"i{g}-0,secret\n" for g in range(GROUPS)))
        for command in ("neighbors", "evaluate"):
            code, out, err = run(command, "likes.csv", "--epsilon", 1, "-k", 2, "--catalogue", "items.csv")
            assert (code, out) == (3, "")
            assert "72 of 78" in err
            assert "i1-1" not in err

    def test_columns_of_a_known_data_set(self, run):
        Path("ratings.csv").write_text("userId,movieId,rating\n1,10,5\n2,10,4\n3,20,4\n")
        Path("movies.csv").write_text("movieId,title\n10,Heat\n20,Alien\n30,Brazil\n")
        options = ("neighbors", "ratings.csv", "--epsilon", 1, "-k", 1, "--dry-run")
        assert "3 users, 3 items, 3 pairs" in run(*options, "--catalogue", "movies.csv")[2]
        code, _, err = run(*options, "--catalogue", "nothing.csv")
        assert code == 3
        assert "nothing.csv" in err


@pytest.mark.usefixtures("folder")
class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "options", "code", "words"),
        [
            ("", (), 3, "bad.csv"),
            ("user,item\n", (), 3, "bad.csv"),
            ("user,thing\na,b\n", (), 3, "--item-column"),
            ("one,other\nsecret,b\n", (), 3, "--user-column"),
            ("user,item\na,b\n", ("--weight-column", "v"), 3, "--weight-column"),
            ("user,item\na,b\n", ("--rating-column", "v"), 2, "--rating-column"),
            ("user,item,v\na,b,5\n", ("--min-rating", 1), 3, "--rating-column"),
            ("user,item\nann,secret\nbob\n", (), 3, "bad.csv"),
            ("user,item\nann,secret\nbob,b\n", ("-k", 2), 2, "--neighbors"),
        ],
    )
    @pytest.mark.parametrize("command", ["neighbors", "evaluate"])
    def test_bad_files(self, run, command, content, options, code, words):  # noqa: PLR0917  (one per parameter)
        Path("bad.csv").write_text(content)
        found, out, err = run(command, "bad.csv", "--epsilon", 1, *options)
        assert found == code
        assert words in err
        assert out == ""
        assert "Traceback" not in err
        assert "secret" not in err
        assert "1.5" not in err

    @pytest.mark.parametrize(
        ("options", "code", "words"),
        [
            (("--epsilon", 0), 2, "--epsilon must be a number above 0"),
            (("--epsilon", -1), 2, "--epsilon must be a number above 0"),
            (("--epsilon", "nan"), 2, "--epsilon must be a number above 0"),
            ((), 2, "--epsilon"),
            (("--epsilon", 1, "--engine", "magic"), 2, "'magic' is not one of"),
            (("--epsilon", 1, "--score", "magic"), 2, "'magic' is not one of"),
            (("--epsilon", 1, "-k", 0), 2, "-k"),
            (("--epsilon", 1, "--engine", "sketch", "--score", "cosine"), 2, "--score must be overlap"),
            (("--epsilon", 1, "--tuned-for", 0.5), 2, "--tuned-for cannot be used"),
            (("--epsilon", 1, "--engine", "sketch", "--tuned-for", 1.5), 2, "--tuned-for must be a weight"),
            (("--epsilon", 1, "--cycles", 5), 2, "--cycles cannot be used"),
            (("--epsilon", 1, "--sizes", "public"), 2, "--sizes cannot be used"),
            (("--epsilon", 1, "-o", "found.xlsx"), 2, "--output must end in"),
            (("--epsilon", 1, "-o", "missing/found.csv"), 3, "--output"),
            (("--epsilon", 1, "-o", "likes.csv"), 2, "--output would overwrite"),
            (("--epsilon", 1, "--catalogue", "items.txt", "-o", "items.txt"), 2, "--output would overwrite"),
            (("--epsilon", 1, "-o", "."), 3, "--output"),
            (("--epsilon", 1, "--no-weights", "--weight-column", "v"), 2, "--weight-column cannot be used"),
            (("--epsilon", 1, "--no-weights", "--default-weight", 1), 2, "--default-weight cannot be used"),
            (("--epsilon", 1, "--default-weight", 1.5), 2, "--default-weight"),
        ],
    )
    def test_bad_options_are_refused_before_reading(self, run, monkeypatch, options, code, words):
        monkeypatch.setattr("hetdp.cli.source.Source.read", None)
        found, out, err = run("neighbors", "likes.csv", *options)
        assert found == code
        assert words in err
        assert out == ""

    @pytest.mark.parametrize(("name", "words"), [("nothing.csv", "nothing.csv"), (".", "ratings.dat")])
    def test_files_that_cannot_be_read(self, run, name, words):
        code, _, err = run("neighbors", name, "--epsilon", 1)
        assert code == 3
        assert words in err

    def test_a_parquet_file_that_is_none(self, run):
        Path("bad.parquet").write_text("secret")
        code, _, err = run("neighbors", "bad.parquet", "--epsilon", 1)
        assert code == 3
        assert "bad.parquet" in err
        assert "Traceback" not in err


@pytest.mark.usefixtures("folder")
class TestMemory:
    SEARCH = ("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "-o", "found.csv", "--ledger", "book.db")

    def test_what_does_not_fit_is_refused_before_the_charge(self, run, monkeypatch):
        monkeypatch.setattr("hetdp.cli.neighbors.available_bytes", lambda: 1)
        code, out, err = run(*self.SEARCH)
        assert (code, out) == (3, "")
        assert "exact engine" in err
        assert not Path("found.csv").exists()
        assert not Path("book.db").exists()

    @pytest.mark.parametrize(("available", "more"), [(None, ()), (1, ("--no-memory-check",))])
    def test_unknown_memory_or_an_option_lets_it_go_on(self, run, monkeypatch, available, more):
        monkeypatch.setattr("hetdp.cli.neighbors.available_bytes", lambda: available)
        code, _, err = run(*self.SEARCH, *more)
        assert (code, "Warning: " in err) == (0, bool(more))


@pytest.mark.usefixtures("folder")
class TestFilesAreWholeOrNotThere:
    @pytest.mark.parametrize("ending", output.ENDINGS)
    def test_an_interruption_while_writing_leaves_the_old_file(self, run, monkeypatch, ending):
        name = f"found{ending}"
        Path(name).write_text("old")
        blocks = output.Lists.blocks

        def interrupted(lists):
            yield from blocks(lists)
            raise KeyboardInterrupt

        monkeypatch.setattr(output.Lists, "blocks", interrupted)
        code, out, err = run("neighbors", "likes.csv", *HUGE, "-k", 2, "-o", name)
        assert (code, out) == (130, "")
        assert "Interrupted" in err
        assert Path(name).read_text() == "old"
        assert names_in(Path()) == sorted(["items.txt", "likes.csv", name])

    @pytest.mark.slow
    def test_ctrl_c_while_searching(self, folder):
        command = Path(sys.executable).parent / "hetdp"
        arguments = ["neighbors", "likes.csv", "--epsilon", "1", "-k", "5", "--engine", "gossip"]
        Path("old.csv").write_text("old")
        with subprocess.Popen(
            [command, *arguments, "--cycles", "32000", "-o", "old.csv"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        ) as process:
            assert process.stderr is not None
            while "stand out" not in process.stderr.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert (process.returncode, out) == (130, "")
        assert "Traceback" not in err
        assert Path("old.csv").read_text() == "old"
        assert names_in(folder) == ["items.txt", "likes.csv", "old.csv"]

    def test_an_existing_file_is_replaced(self, run):
        Path("found.csv").write_text("old")
        assert run("neighbors", "likes.csv", *HUGE, "-k", 2, "-o", "found.csv")[0] == 0
        assert Path("found.csv").read_text().startswith("user,neighbor,score,significance\n")


def test_help_loads_nothing_heavy():
    script = (
        "import sys\nfrom hetdp.cli.main import main\n"
        "try:\n    main(['neighbors', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'scipy', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)\n"
        "raise SystemExit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
