import io
import json
import zipfile

import numpy as np
import pytest
from tests.support.crowds import tastes
from tests.support.errors import refused

from hetdp import PrivateRecommender, Profiles
from hetdp.core.errors import DataError


@pytest.fixture
def saved(tmp_path):
    model = PrivateRecommender(epsilon=3, catalogue="given").fit(tastes())
    path = tmp_path / "model.hetdp"
    model.save(path)
    return model, path


def changed(path, name, contents):
    """Write the file again with other contents of one member."""
    with zipfile.ZipFile(path) as file:
        members = {one: file.read(one) for one in file.namelist()}
    members[name] = contents
    with zipfile.ZipFile(path, "w") as file:
        for one, data in members.items():
            file.writestr(one, data)


def test_what_is_saved_is_what_is_loaded(saved):
    model, path = saved
    again = PrivateRecommender.load(path)
    own = ["item 00", "item 01"]
    assert again.recommend(9, profiles=own).equals(model.recommend(9, profiles=own))
    assert again.guarantee_ == model.guarantee_
    assert again.epsilon == 3
    assert np.array_equal(again.item_ids_, model.item_ids_)


def test_the_file_holds_no_person_and_is_the_same_for_the_same_model(saved, tmp_path):
    model, path = saved
    model.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert b"person 1" not in path.read_bytes()
    with zipfile.ZipFile(path) as file:
        assert json.loads(file.read("about.json"))["guarantee"] == model.guarantee_.text


def test_whole_numbers_stay_whole_numbers(tmp_path):
    profiles = Profiles.from_pairs(list(range(50)) * 2, [1] * 50 + [2] * 50)
    PrivateRecommender(epsilon=3, catalogue="given").fit(profiles).save(tmp_path / "m")
    assert PrivateRecommender.load(tmp_path / "m").item_ids_.tolist() == [1, 2]


def test_a_newer_file_is_told_as_such(saved):
    _, path = saved
    with zipfile.ZipFile(path) as file:
        about = json.loads(file.read("about.json"))
    changed(path, "about.json", json.dumps(about | {"version": 99, "made_by": "hetdp 9.9"}))
    with refused(problem="version 99", kind=DataError):
        PrivateRecommender.load(path)


def test_damaged_files_are_refused_at_any_byte(saved):
    model, path = saved
    expected = model.recommend(9, profiles=["item 00"])
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 97)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            again = PrivateRecommender.load(path)
        except DataError:
            continue
        # A byte that nobody reads, such as one of a time.
        assert again.recommend(9, profiles=["item 00"]).equals(expected)
    for end in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with refused(problem="no model of hetdp", kind=DataError):
            PrivateRecommender.load(path)


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("about.json", b"[]"),
        ("about.json", b"{}"),
        ("about.json", b"\xff"),
        ("items.json", b"[1, 1]"),
        ("items.json", b"[1]"),
        ("counts.npy", b"\x93NUMPY\x01\x00"),
        ("head.npy", b""),
        ("about.json", b"[" * 200_000),
        ("items.json", b"[" * 200_000),
        ("items.json", b'"abcd"'),
        ("counts.npy", b"\x93NUMPY\x01\x00v\x00" + (b"(" * 3000).ljust(117)),
    ],
)
def test_foreign_contents_are_refused(saved, name, contents):
    _, path = saved
    changed(path, name, contents)
    with pytest.raises(DataError, match=r"no model of hetdp|ids must"):
        PrivateRecommender.load(path)


def test_an_array_that_claims_to_be_huge_is_not_made(saved):
    _, path = saved
    header = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }".ljust(117)
        + b"\n"
    )
    changed(path, "counts.npy", header)
    with refused(problem="no model of hetdp", kind=DataError):
        PrivateRecommender.load(path)


def test_other_files(tmp_path):
    with refused(problem="File not found", kind=DataError):
        PrivateRecommender.load(tmp_path / "nothing")
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("a", "b")
    with refused(problem="no model of hetdp", kind=DataError):
        PrivateRecommender.load(tmp_path / "zip")


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1/0"},
        {"epsilon": "1e1000000000"},
        {"epsilon": "0"},
        {"delta": "2"},
        {"n_head": "x"},
        {"unit": "x"},
        {"release": "x"},
        {"catalogue": "x"},
        {"more": 1},
    ],
)
def test_settings_are_checked(saved, change):
    _, path = saved
    with zipfile.ZipFile(path) as file:
        about = json.loads(file.read("about.json"))
    changed(path, "about.json", json.dumps(about | {"settings": about["settings"] | change}))
    with refused(problem="no model of hetdp", kind=DataError):
        PrivateRecommender.load(path)


@pytest.mark.parametrize("shape", [(2, 2), (4,), (32, 0), (32, 32, 2)])
def test_arrays_of_other_shapes_are_refused(saved, shape):
    _, path = saved
    with zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
    for name in names:
        text = io.BytesIO()
        np.save(text, np.zeros(shape, dtype=np.float32))
        before = path.read_bytes()
        changed(path, name, text.getvalue())
        with refused(problem="no model of hetdp", kind=DataError):
            PrivateRecommender.load(path)
        path.write_bytes(before)


def test_numbers_that_would_overflow_are_refused(saved):
    _, path = saved
    text = io.BytesIO()
    np.save(text, np.full(32, 1e38))
    changed(path, "counts.npy", text.getvalue())
    with refused(problem="no model of hetdp", kind=DataError):
        PrivateRecommender.load(path)
