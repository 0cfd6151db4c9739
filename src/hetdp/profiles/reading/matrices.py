"""Pairs and weights in scipy sparse matrices, without importing scipy before one arrives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.reading.pairs import Weights, weight_vector

__all__ = ["matrix_pairs", "matrix_weights"]


def matrix_pairs(matrix: object) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return `row * columns + column` of each entry other than 0, and the shape.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix_pairs(csr_array([[0, 1], [1, 0]]))
    (array([1, 2]), (2, 2))
    """
    keys, values, shape = _entries("matrix", matrix)
    return keys[values != 0], shape


def matrix_weights(matrix: object, pairs: NDArray[np.int64], shape: tuple[int, int]) -> Weights:
    """Return the weight of each pair (a sorted key); what is not stored is 0, as everywhere in scipy.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> matrix_weights(csr_array([[0, 0.5], [0, 0]]), np.array([1, 2]), (2, 2))
    array([0.5, 0. ])
    """
    keys, values, found_shape = _entries("weights", matrix)
    if found_shape != shape:
        raise InvalidInput(f"weights must be {shape[0]} x {shape[1]}. Got {found_shape[0]} x {found_shape[1]} instead.")
    vector = weight_vector(values, keys.size)
    place = np.searchsorted(pairs, keys)
    known = np.append(pairs, -1)[place] == keys
    strangers = int(np.count_nonzero(vector[~known]))
    if strangers:
        raise InvalidInput(f"weights must belong to pairs that exist. Got {strangers} of other pairs instead.")
    result = np.zeros(pairs.size, dtype=vector.dtype)
    np.maximum.at(result, place[known], vector[known])  # of a repeated entry the largest wins, as everywhere here
    result.flags.writeable = False
    return result


def _entries(name: str, matrix: object) -> tuple[NDArray[np.int64], NDArray[Any], tuple[int, int]]:
    from scipy.sparse import issparse

    if not issparse(matrix) or getattr(matrix, "ndim", 0) != 2:  # noqa: PLR2004
        raise InvalidInput(f"{name} must be a scipy sparse matrix. Got {type(matrix).__name__} instead.")
    stored: Any = matrix.tocoo()  # type: ignore[attr-defined]
    keys = stored.row.astype(np.int64) * stored.shape[1] + stored.col
    return keys, stored.data, (int(stored.shape[0]), int(stored.shape[1]))
