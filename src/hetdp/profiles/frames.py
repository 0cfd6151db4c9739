"""Pairs and weights in data frames and in scipy sparse matrices; neither library is imported before one arrives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError, InvalidInput
from hetdp.profiles.reading import (
    WeightColumn,
    Weights,
    checked_default,
    choose_columns,
    finish_batch,
    no_weights,
    weight_vector,
)

__all__ = ["frame_columns", "matrix_pairs", "matrix_weights"]


def frame_columns(
    frame: object, *, user: str, item: str, weight: WeightColumn, default_weight: float | None = None
) -> list[Any]:
    """Return the user, item and (if there is one) weight columns of a pandas, polars or arrow table, for arrow."""
    import narwhals.stable.v1 as nw

    try:
        table: Any = nw.from_native(frame)
        names = list(table.collect_schema().names())
    except TypeError:
        raise DataError("must be a pandas, polars or arrow table", parameter="frame", got=type(frame)) from None
    except Exception:  # noqa: BLE001  (such as repeated names of columns, which each library reports in its own way)
        raise DataError("must be a table with a different name for each column", parameter="frame") from None
    default = checked_default(default_weight, weight)
    chosen = choose_columns("frame", names, user=user, item=item, weight=weight, text=False)
    if default is not None and chosen.weight is None:
        raise no_weights("frame")
    table = table.select(chosen.names)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    try:
        columns = [table.get_column(name).to_arrow() for name in chosen.names]
    except Exception:  # noqa: BLE001  (whatever is wrong with a cell, the message might quote it)
        raise DataError(
            "must hold texts or whole numbers as ids and numbers as weights, one kind per column (got a mixed column)",
            parameter="frame",
        ) from None
    return finish_batch(columns, chosen, None, default)


def matrix_pairs(matrix: object) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return `row * columns + column` of each entry other than 0, and the shape."""
    keys, values, shape = _entries("matrix", matrix)
    return keys[values != 0], shape


def matrix_weights(matrix: object, pairs: NDArray[np.int64], shape: tuple[int, int]) -> Weights:
    """Return the weight of each pair (a sorted key); what is not stored is 0, as everywhere in scipy."""
    keys, values, found_shape = _entries("weights", matrix)
    if found_shape != shape:
        raise InvalidInput(
            f"must be {shape[0]} x {shape[1]} (got {found_shape[0]} x {found_shape[1]})", parameter="weights"
        )
    vector = weight_vector(values, keys.size)
    place = np.searchsorted(pairs, keys)
    known = np.append(pairs, -1)[place] == keys
    strangers = int(np.count_nonzero(vector[~known]))
    if strangers:
        raise InvalidInput(f"must belong to pairs that exist (got {strangers} of other pairs)", parameter="weights")
    result = np.zeros(pairs.size, dtype=vector.dtype)
    np.maximum.at(result, place[known], vector[known])  # of a repeated entry the largest wins, as everywhere here
    result.flags.writeable = False
    return result


def _entries(name: str, matrix: object) -> tuple[NDArray[np.int64], NDArray[Any], tuple[int, int]]:
    from scipy.sparse import issparse

    if not issparse(matrix) or getattr(matrix, "ndim", 0) != 2:  # noqa: PLR2004
        raise InvalidInput("must be a scipy sparse matrix", parameter=name, got=type(matrix))
    stored: Any = matrix.tocoo()  # type: ignore[attr-defined]
    keys = stored.row.astype(np.int64) * stored.shape[1] + stored.col
    return keys, stored.data, (int(stored.shape[0]), int(stored.shape[1]))
