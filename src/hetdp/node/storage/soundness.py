"""Whether a store holds what every store must: looked at when it is opened, so that damage is called by its name.

SQLite notices torn pages, not a value that has become another. What can be computed again, or comes again by gossip, is
not looked at here; losses are compared with what was published (`other_charges`).
"""

import json
from fractions import Fraction

import numpy as np

from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.database import Database

__all__ = ["check_sound"]

_ARRAYS = ("dials", "lost", "limits", "page", "groups")


def check_sound(database: Database, network: NetworkParameters) -> None:
    """Refuse a store whose facts and arrays do not fit its catalogue and network."""
    try:
        sound = _facts_fit(database, network) and _arrays_fit(database)
    except (ValueError, TypeError, ArithmeticError):
        sound = False
    if not sound:
        raise database.damaged()


def _facts_fit(database: Database, network: NetworkParameters) -> bool:
    numbers = [database.fact(name) for name in ("items", "most_items", "default_limit", "profile_version")]
    return (
        Fraction(database.fact("epsilon")) == network.epsilon
        and int(numbers[1]) == network.most_items
        and all(isinstance(number, int | float) and number >= 0 for number in numbers)
    )


def _arrays_fit(database: Database) -> bool:
    arrays = {name: database.array(name) for name in _ARRAYS}
    counted = database.rows("SELECT count(*), min(place), max(place) FROM catalogue")
    (size, first, last) = counted[0]
    names = json.loads(database.fact("group_names"))
    return (
        (first, last) == (0, size - 1)
        and all(array.size == size for array in arrays.values())
        and bool(np.array_equal(np.sort(arrays["page"]), np.arange(size)))
        and int(arrays["dials"].max()) <= FULL_DIAL
        and int(arrays["groups"].min()) >= 0
        and int(arrays["groups"].max()) < len(names)
    )
