"""What one object has released so far: losses add up over all its fits, and over its copies."""

from typing import Self

from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.core.errors import InvalidInput

__all__ = ["Tally", "charge"]


class Tally:
    """The promise of everything that an estimator has released; its copies share it.

    Examples
    --------
    >>> tally = Tally()
    >>> for _ in range(3):
    ...     tally.add(Guarantee("epsilon", 0.1))
    >>> tally.total(Guarantee("epsilon", 0.7)).text.partition(":")[0]
    '(epsilon, v)-differential privacy with epsilon = 1'
    """

    def __init__(self) -> None:
        self._past: Guarantee | None = None

    def __copy__(self) -> Self:
        """Return the tally itself: what a copy releases is released by the same object."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def add(self, promise: Guarantee) -> None:
        """Count a release that is over: whatever comes after is counted beside it."""
        self._past = self.total(promise)

    def total(self, *promises: Guarantee) -> Guarantee:
        """Return what was released so far and further promises together, or refuse one of another kind.

        A seeded fit is counted with the others; whether anything is promised depends on the last.
        """
        first, *others = promises if self._past is None else (self._past, *promises)
        try:
            return first.compose(*others).with_noise_of(promises[-1]) if others else first
        except InvalidInput as error:
            raise InvalidInput(
                "parameters must make the same kind of promise (unit, what is protected) in every fit of one object, "
                "for losses add up. Got another kind instead. Make a new estimator for it."
            ) from error


def charge(ledger: Ledger | None, promise: Guarantee, description: str) -> None:
    """Charge a ledger, if there is one, for a release; to be called before anything is drawn for it."""
    if ledger is None:
        return
    if not isinstance(ledger, Ledger):
        raise InvalidInput(f"ledger must be a Ledger (Ledger.of_profiles). Got {type(ledger).__name__} instead.")
    ledger.charge_profiles(promise, description=description)
