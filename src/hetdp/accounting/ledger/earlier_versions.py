"""Ledgers of earlier versions: how they were written, and what they are today.

Version 1 had no column for whether a charge drops items; version 2 kept all accounts as floats in one row.
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import BOUNDLESS, group_loss, steps_down, steps_of, steps_up
from hetdp.accounting.ledger.accounts import Accounts, Totals
from hetdp.accounting.ledger.identity import Ids, canonical
from hetdp.accounting.ledger.state import Entry

__all__ = ["Old", "Unreadable", "from_1_to_2", "read"]

#: Version 1 had no column for it: the description of a charge that drops items ended in these words.
_DROPPING_MARK = " (dropping)"
_HEAD = ("chain", "unit", "items", "charges", "weights_spent")
_VECTORS = ("limits", "epsilon", "rho", "active")


class Unreadable(Exception):
    """An old ledger that is not as it was written."""


@dataclass(frozen=True)
class Old:
    """What an old ledger holds, in the terms of today."""

    totals: Totals
    accounts: Accounts
    entries: list[Entry]


def read(connection: sqlite3.Connection, version: int) -> Old:
    """Return what a ledger of version 1 or 2 holds, if it is as it was written."""
    cells = _read_state(connection, version)
    entries = _read_history(connection, cells["chain"], version)
    try:
        labels = json.loads(cells["items"])
        limits, epsilon, rho = (np.frombuffer(cells[name], "<f8") for name in ("limits", "epsilon", "rho"))
        active = np.frombuffer(cells["active"], np.bool_)
        if not limits.size == epsilon.size == rho.size == active.size == len(limits if labels is None else labels):
            raise Unreadable("its state is unreadable")
        accounts = _accounts(labels, limits, epsilon, rho, active)
        totals = Totals(
            cells["unit"],
            charges=cells["charges"],
            dropping=bool(cells.get("dropping")) or any(entry.dropping for entry in entries),
            weights_spent=steps_of(cells["weights_spent"]),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise Unreadable("its state is unreadable") from error
    return Old(totals, accounts, entries)


def from_1_to_2(connection: sqlite3.Connection) -> None:
    """Bring version 1 to 2. Descriptions stay, and those with the old mark count as dropping: that is the safe side."""
    cells = _read_state(connection, version=1)
    entries = _read_history(connection, cells["chain"], version=1)
    for table in ("state", "history"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN dropping INTEGER NOT NULL DEFAULT 0")
    chain = bytes(32)
    for place, entry in enumerate(entries, 1):
        told = (entry.time, entry.description, entry.unit, entry.amount, entry.weights_loss, entry.dropping)
        chain = _link(chain, *told)
        connection.execute("UPDATE history SET dropping = ? WHERE id = ?", (entry.dropping, place))
    dropping = any(entry.dropping for entry in entries)
    head = (chain, *(cells[name] for name in _HEAD[1:]), int(dropping))
    checksum = _checksum(2, *head, *(cells[name] for name in _VECTORS))
    connection.execute("UPDATE state SET checksum = ?, chain = ?, dropping = ?", (checksum, chain, int(dropping)))


def _accounts(
    labels: list[str | int] | None,
    limits: NDArray[np.float64],
    epsilon: NDArray[np.float64],
    rho: NDArray[np.float64],
    active: NDArray[np.bool_],
) -> Accounts:
    """Return accounts of today. Those whose ids are one person become one account.

    They were charged as if they were two people. As one, a person has lost what a group of two has, may lose the
    smaller of the limits, and is out if one of the two was dropped.
    """
    if labels is None:
        members = [[place] for place in range(limits.size)]
        ids = None
    else:
        places: dict[int | str, list[int]] = defaultdict(list)
        for place, label in enumerate(labels):
            places[_canonical(label)].append(place)
        members = list(places.values())
        ids = Ids.of_canonical(list(places))
    if len(members) != limits.size:
        limits = np.array([limits[group].min() for group in members])
        epsilon = np.array([group_loss(epsilon[group], "epsilon") for group in members])
        rho = np.array([group_loss(rho[group], "rho") for group in members])
        active = np.array([active[group].all() for group in members])
    fresh = Accounts.fresh(ids, steps_down(limits))
    pure = np.where(np.isinf(epsilon), BOUNDLESS, steps_up(epsilon))
    return Accounts(ids, fresh.limits, pure, steps_up(rho), active, fresh.dials, fresh.epsilon_then, fresh.rho_then)


def _canonical(label: str | int) -> int | str:
    """Return the canonical id of an old label, which could be empty, or half a character."""
    if isinstance(label, str):
        label = label.encode("utf-8", "backslashreplace").decode()
        return canonical(label) if label.strip() else "(empty)"
    return canonical(label)


def _read_state(connection: sqlite3.Connection, version: int) -> dict[str, Any]:
    """Return the cells of the one row of the state."""
    columns = (*_HEAD, *(() if version == 1 else ("dropping",)), *_VECTORS)
    rows = connection.execute(f"SELECT checksum, {', '.join(columns)} FROM state").fetchall()  # noqa: S608  (constants)
    try:
        ((checksum, *cells),) = rows
        if checksum != _checksum(version, *cells):
            raise Unreadable("its checksum does not match")
    except (AttributeError, TypeError, ValueError) as error:
        raise Unreadable("its state is unreadable") from error
    return dict(zip(columns, cells, strict=True))


def _read_history(connection: sqlite3.Connection, chain: bytes, version: int) -> list[Entry]:
    """Return every charge, oldest first, if they are the ones chained into `chain`."""
    column = "" if version == 1 else ", dropping"
    rows = connection.execute(f"SELECT time, description, unit, amount, weights_loss{column} FROM history ORDER BY id")  # noqa: S608
    found, entries = bytes(32), []
    try:
        for time, description, unit, amount, weights_loss, *rest in rows:
            dropping = bool(rest[0]) if rest else description.endswith(_DROPPING_MARK)
            entries.append(Entry(time, description, unit, amount, weights_loss, dropping))
            found = _link(found, time, description, unit, amount, weights_loss, *map(bool, rest))
    except (AttributeError, TypeError) as error:
        raise Unreadable("its history is unreadable") from error
    if found != chain:
        raise Unreadable("its history does not match")
    return entries


def _checksum(version: int, chain: bytes, *columns: bytes | str | float) -> bytes:
    blobs = [column for column in columns if isinstance(column, bytes)]
    others = [column for column in columns if not isinstance(column, bytes)]
    digest = hashlib.sha256(json.dumps([version, chain.hex(), others, list(map(len, blobs))]).encode())
    for blob in blobs:
        digest.update(blob)
    return digest.digest()


def _link(chain: bytes, *entry: str | float | None) -> bytes:
    return hashlib.sha256(chain + json.dumps(entry).encode()).digest()
