"""A row of weight 0 decides nothing that others can see: no exit code, whatever is in it."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hetdp.profiles import formats

#: Bytes that are read at a time where a cell is longer than two blocks.
BLOCK = 2**20
LARGE = "longer than two blocks"
#: What the cell of a row of weight 0 may hold; the first is an ordinary one.
CELLS = {
    "ordinary": b"7",
    "bytes that are no text": b"caf\xe9\xff",
    "3 MB": b"x" * 3_000_000,
    LARGE: b"y" * (3 * BLOCK),
    "a decimal point": b"3.5",
    "a text": b"tea",
    "nothing": b"",
    "a very large number": b"9" * 30,
    "another item": b"77",
}
PAIRS = [(user, item, (0.5, 1.0)[(user + item) % 2]) for user in range(12) for item in range(user % 4, 30, 4)]
MEAN = ("--query", "mean", "--column", "hours", "--lower", 0, "--upper", 80, "--weight-column", "privacy")
GROUPED = ("--aggregate", "mean:hours:0:80", "--by", "ward", "--keys", "wards.txt", "--weight-column", "privacy")


def opened(path):
    return gzip.open(path, "wb", compresslevel=1) if str(path).endswith(".gz") else Path(path).open("wb")


def write_pairs(path, item, *, names=b"user,item,weight\n", mark=b","):
    """Write the pairs and, in their middle, one of weight 0 that user 11 has."""
    rows = [mark.join(str(cell).encode() for cell in row) for row in PAIRS]
    rows.insert(len(rows) // 2, mark.join((b"11", item, b"0")))
    with opened(path) as file:
        file.write(names + b"\n".join(rows) + b"\n")


def write_people(path, *, hours=b"7", ward=b"er"):
    rows = [b"p%d,%d,%s,%s" % (i, i % 80, (b"0.5", b"1")[i % 2], (b"er", b"icu")[i % 2]) for i in range(40)]
    rows.insert(20, b",".join((b"p99", hours, b"0", ward)))
    with opened(path) as file:
        file.write(b"id,hours,privacy,ward\n" + b"\n".join(rows) + b"\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("wards.txt").write_text("er\nicu\n")
    Path("items.txt").write_text("".join(f"{item}\n" for item in range(30)))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("path", ["likes.csv", "likes.tsv", "likes.csv.gz"])
def test_pairs_of_weight_0_decide_no_exit_code(run, monkeypatch, path, cell):
    if cell == LARGE:
        monkeypatch.setattr(formats, "_BLOCK", BLOCK)
    tabs = {"mark": b"\t", "names": b"user\titem\tweight\n"}
    write_pairs(path, CELLS[cell], **(tabs if path == "likes.tsv" else {}))
    assert run("neighbors", path, "--epsilon", 1, "-k", 2, "--dry-run")[0] == 0


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell != LARGE])
def test_no_command_that_reads_pairs_looks_at_weight_0(run, cell):
    write_pairs("likes.csv", CELLS[cell])
    for arguments in (
        ("neighbors", "likes.csv", "--epsilon", 1, "-k", 2),
        ("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--catalogue", "items.txt"),
        ("learn", "likes.csv", "--epsilon", 1, "--catalogue", "items.txt", "-o", "model.hetdp"),
        ("recommend", "model.hetdp", "likes.csv"),
    ):
        assert run(*arguments)[0] == 0, arguments


def test_a_rating_of_weight_0_decides_no_exit_code(run):
    for rating in (b"5", b"", b"five", b"\xff"):
        rows = b"".join(b"%d,%d,5,1\n" % (user, item) for user, item, _ in PAIRS)
        Path("likes.csv").write_bytes(b"user,item,rating,weight\n" + rows + b"11,7," + rating + b",0\n")
        assert run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--min-rating", 4, "--dry-run")[0] == 0


@pytest.mark.parametrize("item", [7, 77, None, 2**62])
def test_parquet_too(run, item):
    users, items, weights = (list(column) for column in zip(*PAIRS, (11, item, 0.0), strict=True))
    parquet.write_table(pa.table({"user": users, "item": items, "weight": weights}), "likes.parquet")
    assert run("neighbors", "likes.parquet", "--epsilon", 1, "-k", 2)[0] == 0
    texts = [None if one is None else str(one).encode() for one in items]
    texts[-1] = b"\xff" if item is None else texts[-1]
    column = pa.array(texts, pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"user": users, "item": column, "weight": weights}), "likes.parquet")
    assert run("neighbors", "likes.parquet", "--epsilon", 1, "-k", 2)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("path", ["people.csv", "people.csv.gz"])
def test_values_of_weight_0_decide_no_exit_code(run, monkeypatch, path, cell):
    if cell == LARGE:
        monkeypatch.setattr(formats, "_BLOCK", BLOCK)
    check_people(run, path, CELLS[cell])


@pytest.mark.slow
def test_a_value_of_weight_0_that_is_longer_than_every_buffer_decides_no_exit_code(run):
    check_people(run, "people.csv", b"y" * (2 * formats._BLOCK + BLOCK))


def check_people(run, path, cell):
    write_people(path, hours=cell)
    assert run("release", path, *MEAN, "--epsilon", 1)[0] == 0
    assert run("release", path, *GROUPED, "--epsilon", 1)[0] == 0
    write_people(path, ward=cell)
    assert run("release", path, *GROUPED, "--unit", "id", "--ledger", "ledger.db", "--epsilon", 1)[0] == 0


def test_a_row_without_a_readable_item_is_left_out_and_a_broken_file_is_refused(run):
    rows = b"".join(b"%d,%d,1\n" % (user, item) for user, item, _ in PAIRS)
    for item in (b"caf\xe9\xff", b"", b"3.5"):
        Path("likes.csv").write_bytes(b"user,item,weight\n" + rows + b"11," + item + b",0.5\n")
        code, _, err = run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2)
        assert (code, "caf" in err) == (0, False)
    for broken in (b'11,"tea,0\n', b"11,tea,0,1\n"):  # known gaps: no row can be told from the next
        Path("likes.csv").write_bytes(b"user,item,weight\n" + rows + broken + rows)
        assert run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2)[0] == 3


def test_an_error_about_the_catalogue_counts_what_counts(run):
    Path("items.txt").write_text("".join(f"{item}\n" for item in range(28)))
    said = []
    for item in (b"7", b"77"):
        write_pairs("likes.csv", item)
        code, _, err = run("neighbors", "likes.csv", "--epsilon", 1, "-k", 2, "--catalogue", "items.txt", "--quiet")
        said.append((code, err))
    assert said[0] == said[1]
    assert "2 of 30 items" in said[0][1]


@pytest.mark.slow
def test_long_and_odd_cells_in_the_middle_lose_no_row(run):
    rows = np.arange(120_000)
    for cell in (b"caf\xe9", b"y" * (2**25 + 2**20)):
        text = b"".join(b"p%d,%d,1\n" % (row, row % 2) for row in rows)
        Path("people.csv").write_bytes(b"id,hours,privacy\n" + text + b"q," + cell + b",1\n" + text)
        code, out, _ = run("release", "people.csv", "--query", "count", *MEAN[2:], "--epsilon", 10)
        count = float(out.split("count")[1].split()[0])
        assert (code, abs(count - 2 * rows.size) < 10) == (0, True)


@pytest.mark.parametrize("query", ["mean", "total", "squared_norm", "histogram", "count"])
@pytest.mark.parametrize("more", [(), ("--ledger", "l.db", "--limit", 0, "--on-exhausted", "drop")])
def test_no_cell_of_a_row_that_does_not_count_is_a_reason_to_refuse(run, query, more):
    """Rows below all weight classes, and rows without remaining budget, in a column that has no other number."""
    codes = []
    for cell in ("abc", "5"):
        Path("people.csv").write_text(f"v,w\n{cell},0.1\nxyz,1\n")
        Path("l.db").unlink(missing_ok=True)
        asked = ("--query", query, "--column", "v", "--lower", 0, "--upper", 10, "--weight-column", "w")
        codes.append(run("release", "people.csv", *asked, "--epsilon", 1, *more)[0])
    assert codes == [0, 0]
