"""What a release, or several, will do and cost, before a value is read; and what it takes to be accurate enough."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import add_up
from hetdp.core.checks import Real, one_of, positive
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.intervals import MOST_LEVEL, check_confidence, up
from hetdp.mechanisms.mechanism import Mechanism, Plan

#: The smallest level that is tried for a width.
_LEAST_LEVEL = 1e-6


@dataclass(frozen=True, repr=False, eq=False)
class Plans:
    """Several releases, planned: what they cost together before the first is asked.

    Attributes
    ----------
    plans
        One per mechanism.
    unit
        What is spent: "epsilon" or "rho".
    amount, weights_amount
        What all of them cost an item of weight 1, and a weight, at most.
    losses
        What each item pays for all of them. The owner's.
    """

    plans: tuple[Plan, ...]

    def __repr__(self) -> str:
        return f"Plans({len(self.plans)} releases, {self.unit} = {self.amount:g})"

    @property
    def unit(self) -> str:
        """What is spent."""
        return self.plans[0].unit

    @property
    def amount(self) -> float:
        """What all of them cost an item of weight 1. Public."""
        return functools.reduce(lambda total, one: float(add_up(total, one.amount)), self.plans, 0.0)

    @property
    def weights_amount(self) -> float:
        """What all of them cost each weight. Public."""
        return functools.reduce(lambda total, one: float(add_up(total, one.weights_amount)), self.plans, 0.0)

    @property
    def losses(self) -> NDArray[np.float64]:
        """What each item pays for all of them. The owner's."""
        return functools.reduce(add_up, (one.losses for one in self.plans))


@overload
def plan(
    mechanism: Mechanism,
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    grid: float | None = None,
    within: float | None = None,
    confidence: float = 0.95,
) -> Plan: ...
@overload
def plan(
    mechanism: Sequence[Mechanism],
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    grid: float | None = None,
    within: float | None = None,
    confidence: float = 0.95,
) -> Plans: ...
def plan(
    mechanism: Mechanism | Sequence[Mechanism],
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    grid: float | None = None,
    within: float | None = None,
    confidence: float = 0.95,
) -> Plan | Plans:
    """Return what `release` with the same arguments would do and cost, without doing it.

    Parameters
    ----------
    mechanism
        What would be released; or several, for `Plans` of all of them and what they cost together.
    epsilon, rho, noise, grid
        See `hetdp.release`.
    within
        Instead of epsilon or rho: what the noise of the answer stays below. The level is then the smallest that does
        it, from public numbers alone.
    confidence
        How often the noise stays below it.

    Privacy
    -------
    Spends nothing and reads no value. The losses depend on the weights and are the owner's.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching, weight_class
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=2)), [1, 0.5])
    >>> plan(stretched, epsilon=0.1).scale, plan(stretched, noise="gaussian", rho=0.5).scale
    (10.0, 1.0)
    >>> plan([stretched, stretched], epsilon=0.1)
    Plans(2 releases, epsilon = 0.2)
    >>> ages = weight_class.weight_classes(queries.mean(Box.uniform(0, 100, size=10_000)), [0.5, 1.0] * 5000)
    >>> plan(ages, within=0.5).amount
    0.267
    """
    asked = {"epsilon": epsilon, "rho": rho, "noise": noise, "grid": grid, "within": within, "confidence": confidence}
    if isinstance(mechanism, list | tuple) and mechanism:
        return Plans(tuple(plan(one, **asked) for one in mechanism))  # type: ignore[call-overload]
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(
            "must be a mechanism, such as hetdp.weight_classes(query, weights) or hetdp.stretch(query, weights)",
            parameter="mechanism",
            got=type(mechanism),
        )
    if noise is None:
        noise = "gaussian" if epsilon is None and rho is not None else "laplace"
    one_of("noise", noise, ("laplace", "gaussian"))
    wanted, other = ("epsilon", "rho") if noise == "laplace" else ("rho", "epsilon")
    given = {"epsilon": epsilon, "rho": rho}
    if within is not None:
        if epsilon is not None or rho is not None:
            raise InvalidInput("cannot be used with epsilon or rho: it finds one of them", parameter="within")
        given[wanted] = _level_within(mechanism, within, noise=noise, confidence=confidence, grid=grid)
    if given[other] is not None:
        raise InvalidInput(f"cannot be used with {noise} noise; use {wanted}", parameter=other)
    if given[wanted] is None:
        raise InvalidInput(f"is required with {noise} noise", parameter=wanted)
    return mechanism.plan(noise=noise, amount=given[wanted], grid=grid)


def _level_within(mechanism: Mechanism, within: float, *, noise: str, confidence: float, grid: float | None) -> float:
    """Return the smallest level, in three digits, whose noise reaches no farther than `within`; see `hetdp.plan`.

    From public numbers alone.
    """
    goal, sure = positive("within", within), check_confidence(confidence)

    def reach_at(level: float) -> float:
        try:
            found = mechanism.plan(noise=noise, amount=level, grid=grid).reach(sure)
        except InvalidInput as error:
            if error.parameter not in ("epsilon", "rho"):
                raise
            raise InvalidInput("must be smaller for noise below 2**52 steps", parameter="within", got=within) from None
        if found is None:
            raise InvalidInput(
                "must be asked of a stretched query other than a variance, or of weight classes",
                parameter="within",
                got=mechanism.name,
                hint="Only these add noise of a known scale to the answer.",
            )
        return found

    # Noise is inversely proportional to epsilon, or to the root of rho. Where steps are coarse, rounding adds to it.
    level, reach, power = 1.0, reach_at(1.0), 1 if noise == "laplace" else 2
    while (level := max(_LEAST_LEVEL, float(up(level * (reach / goal) ** power)))) <= MOST_LEVEL:
        if (reach := reach_at(level)) <= goal:
            return level
    least = up(reach_at(MOST_LEVEL))
    raise InvalidInput(f"must be at least {least:f}, which takes a level of a million", parameter="within", got=within)
