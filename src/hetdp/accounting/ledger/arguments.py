"""Checks of what callers hand to a ledger. Everything is checked before anything is spent."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.ledger.state import Charge, Entry, State
from hetdp.core.checks import float_vector, not_negative
from hetdp.core.errors import InvalidInput

__all__ = ["checked_items", "checked_limits", "entry_of", "refuse_other", "resolved"]


def entry_of(charge: Charge) -> Entry:
    """Return what the history keeps of a charge made now, or explain why it is not a charge.

    Examples
    --------
    >>> entry_of(Charge([0.25, 0.05], description="mean", amount=1)).amount
    1.0
    """
    if not isinstance(charge, Charge):
        raise InvalidInput(f"charges must be of type Charge. Got {type(charge).__name__} instead.")
    try:
        charge.description.encode()
    except (AttributeError, UnicodeEncodeError):
        kind = type(charge.description).__name__
        raise InvalidInput(f"description must be a valid text. Got {kind} instead.") from None
    return Entry(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        description=charge.description,
        unit=charge.unit,
        amount=None if charge.amount is None else not_negative("amount", charge.amount),
        weights_loss=not_negative("weights_loss", charge.weights_loss),
    )


def checked_limits(limits: ArrayLike) -> NDArray[np.float64]:
    """Return limits as a read-only vector, or explain what is wrong with them.

    Privacy
    -------
    A single number is refused: it would be a ledger of one item where many may have been meant.

    Examples
    --------
    >>> checked_limits([1, 0.5])
    array([1. , 0.5])
    """
    if np.isscalar(limits) or (isinstance(limits, np.ndarray) and limits.ndim == 0):
        raise InvalidInput("limits must be a vector with one limit per item. Got a single value instead.")
    vector = float_vector("limits", limits)
    if vector.min() < 0.0:
        raise InvalidInput("limits must be >= 0. Got a negative limit instead.")
    return vector


def checked_items(items: Iterable[str | int] | None, size: int) -> tuple[str | int, ...] | None:
    """Return the labels of `size` items, or explain what is wrong with them.

    Privacy
    -------
    Labels may be secret, so errors do not show them. Two items under one label could be mistaken for
    each other, and one of them charged in place of the other.

    Examples
    --------
    >>> checked_items(["diary", "clinic"], 2)
    ('diary', 'clinic')
    """
    if items is None:
        return None
    if isinstance(items, str):
        raise InvalidInput("items must be a sequence of labels. Got a single text instead.")
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    if any(isinstance(label, bool) or not isinstance(label, str | int) for label in labels):
        raise InvalidInput("items must be labels of type str or int. Got another type instead.")
    if len(labels) != size:
        raise InvalidInput(f"items must hold one label per item ({size}). Got {len(labels)} instead.")
    if len(set(labels)) != size:
        raise InvalidInput(f"items must be all different. Got {size - len(set(labels))} repeated instead.")
    return labels


def refuse_other(stored: State, given: State, path: Path) -> None:
    """Refuse a stored ledger that is not the one described by the arguments.

    Privacy
    -------
    Whoever asks for lower limits than those in the file must not get the higher ones.

    Examples
    --------
    >>> state = State.fresh("epsilon", None, np.array([1.0]))
    >>> refuse_other(state, state, Path("ledger.db"))
    """
    same = {
        "limits": np.array_equal(stored.limits, given.limits),
        "unit": stored.unit == given.unit,
        "items": stored.items == given.items,
    }
    for name, equal in same.items():
        if not equal:
            raise InvalidInput(
                f"{name} must be the same as in the ledger file {path.name}. Got other {name} instead. "
                "Use Ledger.open(path) to take them from the file."
            )


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file, with links followed.

    Privacy
    -------
    A ledger stays with its file when the working directory or a link changes.

    Examples
    --------
    >>> resolved("ledger.db").is_absolute()
    True
    """
    try:
        return Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError):
        raise InvalidInput(f"path must be the name of a file. Got {type(path).__name__} instead.") from None
