"""The public categories of a column: a cell is coded once, to the place of its category or to none."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.box import Box

_NONE = -1
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)\.0+")


@dataclass(frozen=True, init=False)
class Categories:
    """Public categories, in their order; whatever is none of them counts for none.

    Cells are compared as texts without blanks around them. A whole number is written without a fraction and true and
    false in small letters, so that a CSV file and a parquet file of the same table agree.

    Parameters
    ----------
    labels
        Texts, numbers or booleans, each different.

    Privacy
    -------
    The categories are public and must not be collected from the data: that some category has a person in it would be
    released for free. Coding never fails on a cell.

    Examples
    --------
    >>> wards = Categories(["er", "icu", "lab"])
    >>> wards.codes([" icu ", "er", "kitchen", None])
    array([ 1.,  0., -1., -1.])
    >>> Categories([1, 2]).codes(["2", 1.0, True])
    array([ 1.,  0., -1.])
    """

    labels: tuple[str, ...]

    def __init__(self, labels: Iterable[object]) -> None:
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise InvalidInput("must be a list of labels", parameter="categories", got=type(labels))
        texts = tuple(_text(label) for label in labels)
        if not texts or "" in texts:
            raise InvalidInput("must be one label at least, none of them empty", parameter="categories")
        repeated = next((text for place, text in enumerate(texts) if text in texts[:place]), None)
        if repeated is not None:
            raise InvalidInput(f"must be different from each other (got {repeated!r} twice)", parameter="categories")
        object.__setattr__(self, "labels", texts)

    def __len__(self) -> int:
        return len(self.labels)

    def domain(self, *, size: int) -> Box:
        """Return the domain of `size` codes: from -1, which is none and the centre, to the last category."""
        return Box.uniform(_NONE, len(self) - 1, size=size, center=_NONE)

    def codes(self, cells: Iterable[object]) -> NDArray[np.float64]:
        """Return the place of each cell's category, -1 for none.

        Privacy
        -------
        The codes are as private as the cells.
        """
        places = {text: place for place, text in enumerate(self.labels)}
        return np.array([places.get(_text(cell), _NONE) for cell in cells], dtype=np.float64)

    def places(self, clamped: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the place of the category of each clamped value of the domain, -1 for none."""
        return np.floor(clamped).astype(np.intp)


def _text(cell: object) -> str:
    """Return a cell as the text that is compared; the empty one, which is no category, for what is missing."""
    try:
        if cell is None or cell != cell:  # noqa: PLR0124  (nan)
            return ""
        if isinstance(cell, bool | np.bool_):
            return "true" if cell else "false"
        if isinstance(cell, float | np.floating) and float(cell).is_integer():
            return str(int(cell))
        text = (cell.decode() if isinstance(cell, bytes) else str(cell)).strip()
    except Exception:  # noqa: BLE001  (whatever is wrong with a private cell must not show)
        return ""
    whole = _WHOLE.fullmatch(text)
    if whole:
        return whole[1]
    return text.lower() if text.lower() in ("true", "false") else text
