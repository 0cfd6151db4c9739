"""Every exception and warning of hetdp, in one tree.

.. code-block:: text

    HetdpError
    ├── InvalidInput (ValueError)     a parameter breaks its constraint
    │   └── DataError                 a file, a column or a table is not what it should be
    ├── BudgetExhausted               a ledger refuses a charge; nothing was spent
    ├── LedgerError                   a ledger file is damaged, foreign, locked or read-only
    ├── MissingExtra (ImportError)    an optional package is not installed; the message says how to install it
    └── SimulatedResult               a seeded result was about to be published

    HetdpWarning (UserWarning)
    └── StretchingWarning             stretching is private here, but the answer is useless

Exceptions carry fields; the message is put together from them when it is shown. No field ever holds a private value, a
weight, a shrinkage factor or a true answer.
"""

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import Self

from hetdp.core.text import counted, several

__all__ = [
    "BudgetExhausted",
    "DataError",
    "HetdpError",
    "HetdpWarning",
    "InvalidInput",
    "LedgerError",
    "MissingExtra",
    "Problem",
    "SimulatedResult",
    "StretchingWarning",
]

#: A list of a million items is not worth showing.
_BRIEFLY = reprlib.Repr()
_BRIEFLY.maxlist = _BRIEFLY.maxtuple = 6
_BRIEFLY.maxstring = _BRIEFLY.maxother = 120


class HetdpError(Exception):
    """Base of every exception raised on purpose by hetdp."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with what was given.

    Attributes
    ----------
    problem
        What is wrong. With a parameter: what follows its name, such as "must be smaller than upper". Without: a
        sentence, such as "File not found: people.csv".
    parameter
        The parameter that is wrong; "" for none.
    got
        The public value that was given; `...` if it is not worth showing.
    hint
        How to put it right: one or more sentences.
    """

    problem: str
    parameter: str = ""
    got: object = ...
    hint: str = ""

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """Return the problem in words; `names` says what parameters are called where the reader is.

        Examples
        --------
        >>> Problem("must be above 0", "epsilon", got=-1, hint="Try 1.").text({"epsilon": "--epsilon"})
        '--epsilon must be above 0 (got -1). Try 1.'
        """
        subject = (names or {}).get(self.parameter, self.parameter)
        words = f"{subject} {self.problem}" if subject else self.problem
        if self.got is not ...:
            words += f" (got {_shown(self.got)})"
        if not words.endswith((".", "?", "!")):
            words += "."
        return f"{words} {self.hint}" if self.hint else words


def _public(value: object) -> object:
    """Return a value that may be shown; of anything that may hold data, such as an array or a frame, only its type."""
    if getattr(value, "shape", None) == () and callable(plain := getattr(value, "item", None)):
        value = plain()  # a number of numpy, as Python writes it
    plain_kinds = (bool, int, float, str, Fraction, PurePath, type, type(None), type(...))
    parts = value if isinstance(value, tuple) else (value,)
    return value if all(isinstance(part, plain_kinds) for part in parts) else type(value)


def _shown(value: object) -> str:
    """Return a value in a few characters, a type by its name."""
    return value.__name__ if isinstance(value, type) else _BRIEFLY.repr(value)


class InvalidInput(HetdpError, ValueError):
    """A parameter breaks its constraint.

    Parameters
    ----------
    problem, parameter, got, hint
        See `Problem`; `several` makes one exception of many problems.

    Attributes
    ----------
    problems
        All that is wrong.
    parameter, problem, got, hint
        The fields of the first of them.

    Examples
    --------
    >>> raise InvalidInput("must be smaller than upper", parameter="lower", got=5)
    Traceback (most recent call last):
    hetdp.core.errors.InvalidInput: lower must be smaller than upper (got 5).
    """

    def __init__(self, problem: str = "", *, parameter: str = "", got: object = ..., hint: str = "") -> None:
        super().__init__(problem)
        self.problems: tuple[Problem, ...] = (Problem(problem, parameter, _public(got), hint),)

    @classmethod
    def several(cls, problems: Sequence[Problem]) -> Self:
        """Return one exception for all problems that were found, so that they can be put right at once.

        Examples
        --------
        >>> error = InvalidInput.several([Problem("is required", "lower"), Problem("is required", "upper")])
        >>> print(error)
        lower is required.
        upper is required.
        """
        error = cls(problems[0].problem)
        error.problems = tuple(problems)
        return error

    @property
    def parameter(self) -> str:
        """The parameter that is wrong; "" for none."""
        return self.problems[0].parameter

    @property
    def problem(self) -> str:
        """What is wrong with it."""
        return self.problems[0].problem

    @property
    def got(self) -> object:
        """What was given instead; `...` if that is not worth showing."""
        return self.problems[0].got

    @property
    def hint(self) -> str:
        """How to put it right; "" if nothing is known to help."""
        return self.problems[0].hint

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """Return all problems, one per line; `names` says what parameters are called where the reader is."""
        return "\n".join(problem.text(names) for problem in self.problems)

    def __str__(self) -> str:
        return self.text()


class DataError(InvalidInput):
    """A file, a column or a table is not what the command needs."""


class BudgetExhausted(HetdpError):
    """A charge does not fit into the limits of a ledger; nothing was spent.

    The numbers are those of the item with the largest shortfall (or row, or person: what the ledger protects). They
    reveal the remaining budget of its owner. Show the message to the owner only; do not publish it. It does not name
    the item.

    Attributes
    ----------
    requested, remaining, short_by
        Loss asked for, loss still allowed, and the difference, in the unit of the ledger.
    items
        How many items have too little budget; 0 if another account has: that of the weights, or of delta.
    unit
        What the ledger counts: "epsilon" or "rho"; or "delta".
    """

    def __init__(
        self,
        *,
        requested: float,
        remaining: float,
        items: int,
        unit: str,
        account: str | None = None,
        protected: str = "item",
    ) -> None:
        self.requested = requested
        self.remaining = remaining
        self.short_by = requested - remaining
        self.items = items
        self.unit = unit
        if account is not None:
            super().__init__(
                f"The privacy budget of {account} is exhausted; nothing was spent. Requested {unit}: "
                f"{requested:.6g}. Remaining: {remaining:.6g}. Short by: {self.short_by:.6g}. Use a smaller {unit}."
            )
            return
        who = counted(items, protected, several(protected))
        super().__init__(
            f"The privacy budget is exhausted; nothing was spent. Private, for the owner of the data: {who} cannot "
            f"spend as much as this release needs. Largest shortfall ({unit}): Requested: {requested:.6g}. Remaining: "
            f"{remaining:.6g}. Short by: {self.short_by:.6g}. Use a smaller epsilon. Or exclude these "
            f"{several(protected)} from this and all later releases (on_exhausted: drop)."
        )


class LedgerError(HetdpError):
    """A ledger file cannot be used as it is; it was left untouched."""


class MissingExtra(HetdpError, ImportError):
    """A package that only some of hetdp needs is not installed; the message says how to install it.

    Attributes
    ----------
    extra
        The extra that brings it, as in ``pip install 'hetdp[extra]'``.
    """

    def __init__(self, message: str, *, extra: str = "", name: str | None = None) -> None:
        super().__init__(message, name=name)
        self.extra = extra


class SimulatedResult(HetdpError):
    """A result made with a seed was about to be published; its noise can be recomputed by anyone."""


class HetdpWarning(UserWarning):
    """Base of every warning of hetdp."""


class StretchingWarning(HetdpWarning):
    """Stretching keeps its promise here but leaves nothing of the answer; another mechanism would serve better."""
