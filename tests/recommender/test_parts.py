"""Parts hold whole people: a second appearance is refused, however the id is written."""

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp import PrivateRecommender, Profiles
from hetdp.core.errors import DataError
from hetdp.core.randomness import seeded_stream
from hetdp.recommender.parts import Participants
from hetdp.sketching.drawing import person_keys

SECRET = seeded_stream(1).key()


def texts(*ids):
    return np.array(ids, dtype=object)


@pytest.mark.parametrize("again", [np.array([7]), np.array([7.0]), texts("7"), texts(" 7"), texts("7.0")])
def test_one_person_is_one_however_the_id_is_written(again):
    people = Participants(SECRET)
    people.add(np.array([3, 7]))
    with refused(problem="1 person came before", kind=DataError):
        people.add(again)
    assert len(people) == 2


def test_different_ids_are_different_people():
    people = Participants(SECRET)
    people.add(np.array([1, 2]))
    people.add(texts("01", "ann", "Ann", "1.5"))
    assert len(people) == 6
    assert repr(people) == "Participants(private: 6)"


def test_one_person_twice_in_a_part_is_refused():
    with refused(problem="came before", kind=DataError):
        Participants(SECRET).add(texts("1", " 1"))


def test_nobody_of_a_refused_part_is_added_and_errors_name_nobody():
    people = Participants(SECRET)
    people.add(texts("ann"))
    with pytest.raises(DataError) as refused:
        people.add(texts("bob", "ann"))
    assert "ann" not in str(refused.value)
    people.add(texts("bob"))
    assert len(people) == 2


def test_keys_are_those_of_the_sketches_and_may_end_in_zeros():
    people = Participants(SECRET)
    keys = people.add(texts("ann", "7"))
    np.testing.assert_array_equal(keys, person_keys(SECRET, ["ann", 7]))
    close = np.array([[5, 0], [5, 1], [5, 256], [5, 1 << 16], [5 << 56, 0]], dtype=np.uint64)
    people.add_keys(close)
    assert len(people) == 7
    with refused(problem="5 people", kind=DataError):
        people.add_keys(close)


@pytest.mark.parametrize(
    ("settings", "passes"), [({}, 1), ({"n_head": 2}, 2), ({"catalogue": "private", "epsilon": 200}, 2)]
)
def test_progress_counts_parts_and_passes(settings, passes):
    parts = [Profiles.from_pairs([person] * 3, ["a", "b", "c"]) for person in range(4)]
    told = []
    settings = {"catalogue": ["a", "b", "c"], **settings}
    PrivateRecommender(progress=lambda *step: told.append(step), **settings).fit(parts)
    assert [done for done, _ in told] == list(range(1, 4 * passes + 1))
    assert {done <= whole for done, whole in told} == {True}
