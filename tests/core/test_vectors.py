"""Constant vectors and parts of long ones."""

import numpy as np
import pytest

from hetdp.core.checks import float_vector
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import TOGETHER, constant, each, is_constant, parts


def test_a_constant_vector_cannot_be_changed():
    vector = constant(0.5, 4)
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        vector.flags.writeable = True
    assert vector[1:].tolist() == [0.5] * 3


def test_a_function_of_constants_is_one_and_of_others_is_not():
    many, few = constant(0.1, 3), np.array([1.0, 2.0, 3.0])
    assert is_constant(each(np.add, many, many))
    assert each(np.add, many, many).tolist() == [0.2] * 3
    assert not is_constant(each(np.add, many, few))
    assert each(np.add, many, few).tolist() == (0.1 + few).tolist()
    assert not is_constant(constant(0.1, 0))


@pytest.mark.parametrize("size", [1, TOGETHER, TOGETHER + 1, 3 * TOGETHER - 1])
def test_a_function_of_long_vectors_is_the_same_in_parts(size):
    left, right = np.arange(size) / 7, constant(0.3, size)
    assert each(np.multiply, left, right).tobytes() == (left * 0.3).tobytes()
    assert each(np.less, left, right).dtype == np.bool_


@pytest.mark.parametrize("size", [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 5 * TOGETHER])
def test_parts_are_all_and_none_twice(size):
    found = [place for part in parts(size) for place in range(size)[part]]
    assert found == list(range(size))


def test_a_public_vector_that_is_constant_stays_so_and_is_a_copy():
    source = np.array([0.5])
    vector = float_vector("limits", np.broadcast_to(source, 3))
    source[0] = 2.0
    assert is_constant(vector)
    assert vector.tolist() == [0.5] * 3
    with pytest.raises(InvalidInput, match="limits must hold finite numbers"):
        float_vector("limits", np.broadcast_to(np.nan, 3))
