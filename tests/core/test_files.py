"""Files are whole or not there."""

import pytest

from hetdp.core.files import whole_file, write_whole


@pytest.mark.parametrize("contents", ["{}", b"{}"])
def test_a_file_is_written_whole_and_for_its_owner(tmp_path, contents):
    path = tmp_path / "answer.json"
    write_whole(path, contents)
    assert path.read_text() == "{}"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "likes.csv"
    with whole_file(path) as temporary:
        temporary.write_text("user,item")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as temporary:
        temporary.write_text("half of \ud800", encoding="utf-8")
    assert path.read_text() == "user,item"
    assert list(tmp_path.iterdir()) == [path]
