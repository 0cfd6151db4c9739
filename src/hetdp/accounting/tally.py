"""What one object has released so far: losses add up over all its fits, and over its copies."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self

from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.core.errors import InvalidInput

_SEEDED = "Fits with a seed are not counted: they promise nothing, and must not be published."


class Releasing(Protocol):
    """Something that was released, and may release more."""

    @property
    def guarantee(self) -> Guarantee:
        """The promise of everything it has released so far."""


@dataclass(frozen=True)
class Once:
    """Something that was released, and that is all."""

    guarantee: Guarantee


class Tally:
    """The releases of an estimator; its copies share it.

    Examples
    --------
    >>> tally = Tally()
    >>> for _ in range(10):
    ...     tally.add(Once(Guarantee("epsilon", 0.1)))
    >>> tally.total().text.partition(":")[0]
    '(epsilon, v)-differential privacy with epsilon = 1'
    """

    def __init__(self) -> None:
        self._released: list[Releasing] = []

    def __copy__(self) -> Self:
        """Return the tally itself: what a copy releases is released by the same object."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def add(self, released: Releasing) -> None:
        """Count a release, and whatever else it will release."""
        self._released.append(released)

    def total(self, *planned: Guarantee, simulated: bool = False) -> Guarantee:
        """Return everything released so far, and what is planned, together; refuse plans of another kind.

        Fits with a seed are no releases, for nothing publishes them: they count among themselves (`simulated`) only.
        """
        parts = [*(released.guarantee for released in self._released), *planned]
        first, *others = [part for part in parts if simulated or not part.simulated] or parts
        try:
            together = first.compose(*others) if others else first
            seeded = any(part.simulated for part in parts) and not simulated
            return replace(together, remarks=(*together.remarks, _SEEDED)) if seeded else together
        except InvalidInput as error:
            raise InvalidInput(
                "must make the same kind of promise (unit, what is protected) in every fit of one object, "
                "for losses add up (got another kind)",
                parameter="parameters",
                hint="Make a new estimator for it.",
            ) from error


def charge(ledgers: Iterable[Ledger | None], promise: Guarantee, description: str) -> None:
    """Charge each of the ledgers that there are for a release, once; to be called before anything is drawn for it."""
    for ledger in dict.fromkeys(ledgers):
        if ledger is None:
            continue
        if not isinstance(ledger, Ledger):
            raise InvalidInput("must be a Ledger (Ledger.of_profiles)", parameter="ledger", got=type(ledger))
        ledger.charge_profiles(promise, description=description)
