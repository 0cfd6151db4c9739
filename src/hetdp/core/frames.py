"""Results as data frames, whatever libraries are installed."""

from collections.abc import Mapping
from typing import Any

__all__ = ["as_frame"]


def as_frame(columns: Mapping[str, object]) -> Any:  # noqa: ANN401  (pandas is optional)
    """Return a pandas data frame if pandas is installed, else an arrow table.

    Examples
    --------
    >>> as_frame({"user": ["ann"], "score": [1.0]}).shape
    (1, 2)
    """
    try:
        import pandas as pd
    except ImportError:
        import pyarrow as pa

        return pa.table(dict(columns))
    return pd.DataFrame(dict(columns))
