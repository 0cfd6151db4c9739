"""Pairs on their way into profiles: columns chosen, batches finished, keys merged, items renamed."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from hetdp.core.errors import DataError
from hetdp.profiles import formats as files
from hetdp.profiles.frames import frame_columns, matrix_pairs, matrix_weights
from hetdp.profiles.reading import (
    PairCollector,
    PairColumns,
    checked_default,
    choose_columns,
    finish_batch,
    merge_pairs,
    open_pairs,
    rename_items,
    weight_vector,
)


def test_columns_are_chosen_by_name():
    chosen = choose_columns("likes.csv", ["age", "user", "item", "weight"], user="user", item="item")
    assert chosen == PairColumns(["user", "item", "weight"], "column 'weight'", "name")
    assert checked_default(0.5, None) == 0.5


def test_rows_whose_rating_is_too_small_go():
    columns = [pa.array(["ann", "bob"]), pa.array(["tea", "tea"]), pa.array(["4.5", "2"])]
    kept = finish_batch(columns, PairColumns(["user", "item", "rating"], rated=True), 3.0)
    assert [column.to_pylist() for column in kept] == [["ann"], ["tea"]]


def test_a_collector_sorts_users_and_items():
    collector = PairCollector()
    collector.add(["bob", "ann"], ["tea", "tea"])
    rows, users, items = collector.finish()
    assert (rows.indptr.tolist(), users.tolist(), items.tolist()) == ([0, 1, 2], ["ann", "bob"], ["tea"])


def test_of_repeated_pairs_the_largest_weight_wins():
    rows = merge_pairs(np.array([3, 0, 3]), np.array([0.25, 1.0, 0.5]), (2, 2))
    assert (rows.indptr.tolist(), rows.indices.tolist(), rows.weights.tolist()) == ([0, 1, 2], [0, 1], [1.0, 0.5])
    assert rows.merged == 1


def test_renamed_items_are_sorted_again_and_those_without_a_place_go():
    rows = np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32), np.array([0.1, 0.2, 0.3])
    renamed = rename_items(*rows, np.array([1, -1, 0], dtype=np.int32))
    assert [part.tolist() for part in renamed] == [[0, 2, 2], [0, 1], [0.2, 0.1]]


def test_weights_keep_their_precision():
    assert weight_vector(1, 2).dtype == np.float32
    assert weight_vector([0.1, 0.2], 2).tolist() == [0.1, 0.2]


def test_frames_and_matrices():
    table = pa.table({"user": [1], "item": ["a"], "age": [30]})
    columns = frame_columns(table, user="user", item="item", weight=None)
    assert [str(column.type) for column in columns] == ["int64", "string"]
    keys, shape = matrix_pairs(csr_array([[0, 1], [1, 0]]))
    assert (keys.tolist(), shape) == ([1, 2], (2, 2))
    assert matrix_weights(csr_array([[0, 0.5], [0, 0]]), np.array([1, 2]), (2, 2)).tolist() == [0.5, 0.0]


@pytest.mark.parametrize("name", ["likes.csv", "likes.tsv", "likes.txt", "likes.csv.gz", "likes.parquet"])
def test_a_file_is_opened_once(tmp_path, monkeypatch, name):
    path = tmp_path / name
    columns = {"user": ["ann", "bob"], "item": ["tea", "tea"], "weight": [0.5, 1.0]}
    if name.endswith(".parquet"):
        from pyarrow import parquet

        parquet.write_table(pa.table(columns), path)
    else:
        between = {".tsv": "\t", ".txt": " "}.get(path.suffix, ",")
        lines = [between.join(map(str, row)) + "\n" for row in [tuple(columns), *zip(*columns.values(), strict=True)]]
        with pa.output_stream(str(path)) as stream:
            stream.write("".join(lines).encode())
    opened, really = [], pa.OSFile

    def counted(path):
        opened.append(path)
        return really(path)

    monkeypatch.setattr(pa, "OSFile", counted)
    monkeypatch.setattr(pa, "input_stream", None)
    with open_pairs(path) as pairs:
        assert pairs.memory_bytes > 0
        assert pairs.weights is not None
        rows, users, _, _ = pairs.read()
    assert (users.tolist(), rows.weights.tolist()) == (["ann", "bob"], [0.5, 1.0])
    assert opened == [str(path)]


def test_there_is_memory_or_the_system_does_not_tell():
    available = files.available_bytes()
    assert available is None or available > 0


def test_a_header_may_be_longer_than_the_first_look(tmp_path):
    names = [f"column{number}" for number in range(20_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join([*names, "user", "item"]) + "\n" + ",".join([*("x" for _ in names), "ann", "tea"]) + "\n")
    with open_pairs(path) as pairs:
        assert pairs.read()[1].tolist() == ["ann"]


def test_comments_may_be_longer_than_the_first_look(tmp_path):
    path = tmp_path / "likes.txt"
    path.write_text("# a long story\n" * 10_000 + "dims 3 2\n1 2 0.5\n")
    with open_pairs(path) as pairs:
        assert pairs.weights == "the third column"
        rows, users, items, _ = pairs.read()
    assert (users.tolist(), items.tolist(), rows.weights.tolist()) == ([1, 2, 3], [1, 2], [0.5])


def test_what_is_no_text_is_not_quoted_as_names_of_columns(tmp_path):
    path = tmp_path / "likes.csv"
    path.write_bytes(b"\xff\xfesecret,item\nann,tea\n")
    with pytest.raises(DataError, match=r"likes.csv must be a readable .csv file") as caught, open_pairs(path):
        pass
    assert "secret" not in str(caught.value)


def test_columns_that_are_not_read_may_be_in_another_encoding(tmp_path):
    path = tmp_path / "likes.csv"
    path.write_bytes("user,item,title\nann,tea,caf\u00e9\n".encode("latin-1"))
    with open_pairs(path) as pairs:
        assert pairs.read()[1].tolist() == ["ann"]


def test_a_known_layout_tells_the_columns(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating\n1,1193,5\n")
    with open_pairs(path) as pairs:
        assert (pairs.item_column, pairs.weights) == ("movieId", None)
