"""Columns as a data frame, of the library at hand."""

from collections.abc import Mapping
from typing import Any

__all__ = ["as_frame"]


def as_frame(columns: Mapping[str, object]) -> Any:  # noqa: ANN401  (pandas is optional)
    """Return a pandas data frame if pandas is installed, else an arrow table.

    Examples
    --------
    >>> list(as_frame({"user": ["ann"], "score": [1.0]}).columns)
    ['user', 'score']
    """
    try:
        import pandas as pd
    except ImportError:
        import pyarrow as pa

        return pa.table(dict(columns))
    return pd.DataFrame(dict(columns))
