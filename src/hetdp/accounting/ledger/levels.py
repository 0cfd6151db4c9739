"""How a ledger stands, in a few rows: who have paid alike, or nearly, however many there are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import loss_of
from hetdp.accounting.ledger.accounts import Accounts, Totals

__all__ = ["LedgerLevel", "levels_of"]

#: The most levels there are.
_MOST = 6
#: Where too many have paid differently: ends of the shares of a limit that are left. Nothing and all are their own.
_SHARES = ((0.0, 0.0), (0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0), (1.0, 1.0))


@dataclass(frozen=True, slots=True)
class LedgerLevel:
    """Items of a ledger that stand alike. For the owner's eyes: it depends on secret weights.

    Attributes
    ----------
    items
        How many there are.
    spent, remaining
        The most that one of them has lost, and the least that one has left, in the unit of the ledger.
    dial
        That of all of them; None where they have none, or different ones.
    share
        Between which shares of the limit what is left lies; None where all have lost the same.
    dropped
        Whether all of them were dropped because they could not pay.
    """

    items: int
    spent: float
    remaining: float
    dial: float | None = None
    share: tuple[float, float] | None = None
    dropped: bool = False


def levels_of(parts: Iterable[Accounts], totals: Totals) -> tuple[LedgerLevel, ...]:
    """Return the levels of accounts: one for each dial and loss if these are few, else by the share that is left."""
    alike: dict[tuple[int, ...], int] = {}
    shares = np.zeros((len(_SHARES), 3), dtype=np.int64)
    for part in parts:
        limits, lost = part.limits, part.lost(totals.unit, totals)
        left = np.maximum(limits - lost, 0)
        if len(alike) <= _MOST:
            dials = np.where(np.isnan(part.dials), -1.0, part.dials + 0.0)  # -0.0 is 0
            _count(alike, np.stack([dials.view(np.int64), lost, left, part.still_active(totals)]))
        _add(shares, limits, lost, left)
    return tuple(_by_share(shares) if len(alike) > _MOST else _by_loss(alike))


def _count(alike: dict[tuple[int, ...], int], columns: NDArray[np.int64]) -> None:
    """Count equal columns; once there are more than a few, they are only known to be too many."""
    unseen = np.ones(columns.shape[1], dtype=bool)
    for known in alike:
        same = (columns == np.array(known)[:, None]).all(axis=0)
        alike[known] += int(np.count_nonzero(same))
        unseen &= ~same
    new, counts = np.unique(columns[:, unseen], axis=1, return_counts=True)
    for column, count in zip(new.T[: _MOST + 1].tolist(), counts[: _MOST + 1].tolist(), strict=True):
        alike[tuple(column)] = count


def _add(
    shares: NDArray[np.int64], limits: NDArray[np.int64], lost: NDArray[np.int64], left: NDArray[np.int64]
) -> None:
    """Add accounts to the levels by share: how many, the largest loss, and what is left of it least."""
    quarters = np.clip(np.ceil(4 * (left / np.maximum(limits, 1))), 1, len(_SHARES) - 2)
    places = np.where(left == 0, 0, np.where(left == limits, len(_SHARES) - 1, quarters))
    for place, (items, spent, least) in enumerate(shares.tolist()):
        here = places == place
        if here.any():
            lowest = int(left[here].min())
            shares[place] = (
                items + np.count_nonzero(here),
                max(spent, int(lost[here].max())),
                min(least, lowest) if items else lowest,
            )


def _by_loss(alike: dict[tuple[int, ...], int]) -> Iterator[LedgerLevel]:
    """Yield the levels of equal accounts, those who lost least first."""
    for dial, lost, left, active in sorted(alike, key=lambda one: (not one[3], one[1], one[0])):
        own = float(np.int64(dial).view(np.float64))
        yield LedgerLevel(
            alike[dial, lost, left, active],
            loss_of(lost),
            loss_of(left),
            dial=own if own >= 0 else None,
            dropped=not active,
        )


def _by_share(shares: NDArray[np.int64]) -> Iterator[LedgerLevel]:
    """Yield the levels by share that somebody is in, those who have most left first."""
    for share, (items, lost, left) in reversed(list(zip(_SHARES, shares.tolist(), strict=True))):
        if items:
            yield LedgerLevel(items, loss_of(lost), loss_of(left), share=share)
