"""What can be asked of a table: each aggregate knows its sums, and what they tell once they are noisy.

To add one, write its class, and a function that makes it in `AGGREGATES`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from hetdp.core.checks import finite
from hetdp.core.errors import InvalidInput
from hetdp.tables.ratios import Estimate, NoisySum, scaled_count, scaled_total, weighted_mean, weighted_variance
from hetdp.tables.sums import PEOPLE, Sum


@dataclass(frozen=True)
class Context:
    """Public facts that an estimate needs beside the noisy sums of its own group."""

    #: The noisy sum of weights over all groups, where it was released.
    everybody: NoisySum | None
    #: Number of people in all groups together, where the caller knows it from elsewhere.
    population: float | None
    #: Whether people may have counted with dials other than 1.
    dialled: bool
    #: Whether they may have counted with weights other than 1, for their dials or for being in many groups.
    weighted: bool
    #: Why nobody can tell what counts and totals would be if everybody counted fully, if so.
    obstacle: str | None
    confidence: float


class Aggregate(ABC):
    """One question about every group; `count`, `mean`, `total` and `variance` make one."""

    #: Whether the answer grows with its group, so that estimates must know how much people count for.
    grows: ClassVar[bool] = False

    @abstractmethod
    def sums(self, *, scaled_up: bool = False, weighted: bool = False) -> tuple[Sum, ...]:
        """Return what has to be released for it.

        `scaled_up` if a population is known that dials hide a part of, `weighted` if people may count with other
        weights than 1.
        """

    @abstractmethod
    def value(self, noisy: Mapping[Sum, NoisySum]) -> float:
        """Return the answer as the noisy sums have it, in which people count with their dials."""

    @abstractmethod
    def estimate(self, noisy: Mapping[Sum, NoisySum], context: Context) -> Estimate:
        """Return what the answer would be if everybody counted fully, as far as the noisy sums tell.

        Parameters
        ----------
        noisy
            What was released of the group.
        context
            What else is public.
        """


@dataclass(frozen=True)
class _Count(Aggregate):
    grows: ClassVar[bool] = True

    def sums(self, *, scaled_up: bool = False, weighted: bool = False) -> tuple[Sum, ...]:  # noqa: ARG002
        return (PEOPLE,)

    def value(self, noisy: Mapping[Sum, NoisySum]) -> float:
        return noisy[PEOPLE].value

    def estimate(self, noisy: Mapping[Sum, NoisySum], context: Context) -> Estimate:
        if context.obstacle is not None:
            return Estimate.none(context.obstacle)
        whole, population = (context.everybody, context.population) if context.dialled else (None, None)
        return scaled_count(noisy[PEOPLE], whole, population=population, confidence=context.confidence)


@dataclass(frozen=True)
class _Total(Aggregate):
    summed: Sum
    grows: ClassVar[bool] = True

    def sums(self, *, scaled_up: bool = False, weighted: bool = False) -> tuple[Sum, ...]:  # noqa: ARG002
        return (PEOPLE, self.summed) if scaled_up else (self.summed,)

    def value(self, noisy: Mapping[Sum, NoisySum]) -> float:
        return noisy[self.summed].value

    def estimate(self, noisy: Mapping[Sum, NoisySum], context: Context) -> Estimate:
        if context.obstacle is not None:
            return Estimate.none(context.obstacle)
        whole, population = (context.everybody, context.population) if context.dialled else (None, None)
        return scaled_total(
            noisy[self.summed],
            whole,
            population=population,
            center=0.0,
            lower=self.summed.lower,
            upper=self.summed.upper,
            confidence=context.confidence,
        )


@dataclass(frozen=True)
class _Mean(Aggregate):
    summed: Sum

    def sums(self, *, scaled_up: bool = False, weighted: bool = False) -> tuple[Sum, ...]:  # noqa: ARG002
        return (PEOPLE, self.summed, self.summed.room) if weighted else (PEOPLE, self.summed)

    def value(self, noisy: Mapping[Sum, NoisySum]) -> float:
        return self.summed.center + _ratio(noisy[self.summed], noisy[PEOPLE])

    def estimate(self, noisy: Mapping[Sum, NoisySum], context: Context) -> Estimate:
        own = self.summed
        return weighted_mean(
            noisy[own], noisy[PEOPLE], center=own.center, lower=own.lower, upper=own.upper,
            confidence=context.confidence, distorted=context.weighted, room=noisy.get(own.room),
        )  # fmt: skip


@dataclass(frozen=True)
class _Variance(Aggregate):
    summed: Sum

    @property
    def squares(self) -> Sum:
        own = self.summed
        return Sum(own.column, own.lower, own.upper, own.center, power=2)

    def sums(self, *, scaled_up: bool = False, weighted: bool = False) -> tuple[Sum, ...]:  # noqa: ARG002
        return (PEOPLE, self.summed, self.squares)

    def value(self, noisy: Mapping[Sum, NoisySum]) -> float:
        first, second = (_ratio(noisy[each], noisy[PEOPLE]) for each in (self.summed, self.squares))
        return second + self.squares.shift - first * first

    def estimate(self, noisy: Mapping[Sum, NoisySum], context: Context) -> Estimate:
        own = self.summed
        return weighted_variance(
            noisy[own], noisy[self.squares], noisy[PEOPLE], shift=self.squares.shift, center=own.center,
            lower=own.lower, upper=own.upper, confidence=context.confidence, distorted=context.weighted,
        )  # fmt: skip


def count() -> Aggregate:
    """Return the question how many people (rows, where rows are what is protected) a group has.

    Examples
    --------
    >>> count()
    _Count()
    """
    return _Count()


def mean(column: str, *, lower: float, upper: float) -> Aggregate:
    """Return the question for the mean of a column; a person with several rows counts with the mean of theirs.

    Parameters
    ----------
    column
        A column of a type of numbers, or one of a file of text. Cells that are none count as the middle of the range,
        whoever has them; leave them out with `where="hours is not null"`.
    lower, upper
        Public range, to which cells are clamped.

    Examples
    --------
    >>> mean("hours", lower=0, upper=99).sums(scaled_up=False)[1].center
    49.5
    """
    return _Mean(_centred(column, lower, upper))


def total(column: str, *, lower: float, upper: float) -> Aggregate:
    """Return the question for the total of a column.

    Parameters
    ----------
    column
        A column of numbers; cells that are none count as 0.
    lower, upper
        Public range of what one person's rows come to together, with 0 in it. Every row is clamped to it, then their
        sum is.

    Examples
    --------
    >>> total("euros", lower=0, upper=500).sums(scaled_up=False)[0].most == 2**40
    True
    """
    low, high = _range(column, lower, upper)
    if not low <= 0 <= high:
        raise InvalidInput(f"The range of a total must contain 0: absent people add 0 (got {low:g} to {high:g})")
    return _Total(Sum(column, low, high, 0.0, power=1, added_up=True))


def variance(column: str, *, lower: float, upper: float) -> Aggregate:
    """Return the question for the variance of a column, over persons' means where they have several rows.

    Parameters
    ----------
    column, lower, upper
        As for `mean`.

    Examples
    --------
    >>> len(variance("hours", lower=0, upper=99).sums(scaled_up=False))
    3
    """
    return _Variance(_centred(column, lower, upper))


#: By the name that `hetdp release --aggregate` knows them by.
AGGREGATES: dict[str, Callable[..., Aggregate]] = {"count": count, "mean": mean, "total": total, "variance": variance}


def parse_aggregate(text: str) -> tuple[str, Aggregate]:
    """Return what "mean:hours:0:99" stands for, with a name for its row.

    Parameters
    ----------
    text
        What `hetdp release --aggregate` takes: the name of an aggregate, and what it needs, between colons.

    Examples
    --------
    >>> parse_aggregate("count")[0], parse_aggregate("mean:hours:0:99")[0]
    ('count', 'mean of hours')
    """
    name, *rest = text.split(":")
    if name not in AGGREGATES:
        raise InvalidInput(
            f"Unknown aggregate {name!r}: choose one of {', '.join(AGGREGATES)}",
            hint="Ask for a median or a histogram of all rows as a query.",
        )
    if name == "count":
        if rest:
            raise InvalidInput("A count has no column and no range", got=text)
        return name, count()
    try:
        *column, lower, upper = rest
        low, high = float(lower), float(upper)
    except ValueError:
        column, low, high = [], 0.0, 0.0
    if not column:
        raise InvalidInput(f"An aggregate is NAME:COLUMN:LOWER:UPPER, such as {name}:hours:0:99", got=text)
    return f"{name} of {':'.join(column)}", AGGREGATES[name](":".join(column), lower=low, upper=high)


def _centred(column: str, lower: float, upper: float) -> Sum:
    low, high = _range(column, lower, upper)
    return Sum(column, low, high, low / 2 + high / 2, power=1)


def _range(column: str, lower: float, upper: float) -> tuple[float, float]:
    if not isinstance(column, str):
        raise InvalidInput("must be the name of a column", parameter="column", got=type(column))
    low, high = finite("lower", lower), finite("upper", upper)
    if not (low < high and 2.0**-400 < high - low < 2.0**400):
        raise InvalidInput(f"must be below upper, by less than 1e120 (got {lower!r} and {upper!r})", parameter="lower")
    return low, high


def _ratio(part: NoisySum, whole: NoisySum) -> float:
    return part.value / whole.value if whole.value else math.nan
