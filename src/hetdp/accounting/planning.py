"""What a release, or several, will do and cost, before a value is read; and what it takes to be accurate enough."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import add_up
from hetdp.core.checks import Real, fraction, not_negative, one_of
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.accuracy import level_within
from hetdp.mechanisms.plan import Mechanism, Plan
from hetdp.mechanisms.stretching import StretchedPlan


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
    denominator: Real | None = None,
    drops: bool = False,
    within: float | None = None,
    confidence: float = 0.95,
    deviation: float | None = None,
) -> Plan: ...
@overload
def plan(
    mechanism: Sequence[Mechanism],
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    grid: float | None = None,
    denominator: Real | None = None,
    drops: bool = False,
    within: float | None = None,
    confidence: float = 0.95,
    deviation: float | None = None,
) -> Plans: ...
def plan(
    mechanism: Mechanism | Sequence[Mechanism],
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    grid: float | None = None,
    denominator: Real | None = None,
    drops: bool = False,
    within: float | None = None,
    confidence: float = 0.95,
    deviation: float | None = None,
) -> Plan | Plans:
    """Return what `release` with the same arguments would do and cost, without doing it.

    Parameters
    ----------
    mechanism
        What would be released; or several, for `Plans` of all of them and what they cost together.
    epsilon, rho, noise, grid, denominator
        See `hetdp.release`.
    drops
        Whether the ledger of the release drops items that cannot pay.
    within
        Instead of epsilon or rho: how far the ends of the interval may be from the estimate. The level is then the
        smallest that is expected to do it, from public numbers alone: how many items there are, their range, the
        multiplier, and the prior of the mechanism (without one, a mean effective weight of 1/2).
    confidence
        Of that interval.
    deviation
        A public guess of the standard deviation of the values, with `within`. Default: that of values spread evenly
        over their range.

    Raises
    ------
    InvalidInput
        Also if no level makes the interval that narrow, because who has which dial is chance; says which width can be.

    Privacy
    -------
    Spends nothing and reads no value. The losses depend on the weights and are the owner's.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=2)), [1, 0.5])
    >>> plan(stretched, epsilon=0.1).scale, plan(stretched, noise="gaussian", rho=0.5).scale
    (10.0, 1.0)
    >>> plan([stretched, stretched], epsilon=0.1)
    Plans(2 releases, epsilon = 0.2)
    >>> ages = stretching.stretch(queries.mean(Box.uniform(0, 100, size=10_000)), [0.5, 1.0] * 5000, prior=[0.5, 1.0])
    >>> plan(ages, within=0.5, deviation=15.0).amount
    0.119
    """
    asked = {"epsilon": epsilon, "rho": rho, "noise": noise, "grid": grid, "denominator": denominator, "drops": drops}
    accuracy = {"within": within, "confidence": confidence, "deviation": deviation}
    if isinstance(mechanism, list | tuple) and mechanism:
        return Plans(tuple(plan(one, **asked, **accuracy) for one in mechanism))  # type: ignore[call-overload]
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(
            "must be a stretched query, hetdp.stretch(query, weights), or another of hetdp.mechanisms",
            parameter="mechanism",
            got=type(mechanism),
        )
    if noise is None:
        noise = "gaussian" if epsilon is None and rho is not None else "laplace"
    one_of("noise", noise, ("laplace", "gaussian"))
    wanted, other = ("epsilon", "rho") if noise == "laplace" else ("rho", "epsilon")
    given = {"epsilon": epsilon, "rho": rho}
    own = None if denominator is None else not_negative("denominator", denominator)
    if within is not None:
        if epsilon is not None or rho is not None:
            raise InvalidInput("cannot be used with epsilon or rho: it finds one of them", parameter="within")
        given[wanted] = level_within(
            mechanism, within, noise=noise, confidence=confidence, denominator=own, drops=drops, deviation=deviation
        )
    if given[other] is not None:
        raise InvalidInput(f"cannot be used with {noise} noise; use {wanted}", parameter=other)
    if given[wanted] is None:
        raise InvalidInput(f"is required with {noise} noise", parameter=wanted)
    prepared = mechanism.plan(noise=noise, amount=given[wanted], grid=grid)
    if not isinstance(prepared, StretchedPlan) or prepared.mechanism.query.why_no_estimate is not None or own == 0:
        return prepared
    if prepared.mechanism.public_weight is not None and not drops:
        return prepared  # what everybody knows needs no noise
    return prepared.with_denominator(prepared.level if denominator is None else fraction("denominator", denominator))
