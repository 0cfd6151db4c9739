"""One answer for each public level of dials, so that one can see whether dials go with values."""

import functools
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hetdp.accounting.composition import add_up
from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.label import Label, LabelOptions
from hetdp.accounting.ledger.ledger import Chargeable
from hetdp.accounting.planning import plan
from hetdp.accounting.releasing import Release, answered
from hetdp.core.checks import Real, float_vector
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, as_stream
from hetdp.core.vectors import constant
from hetdp.mechanisms.ratios import check_confidence
from hetdp.mechanisms.stretching import Stretched
from hetdp.profiles import PrivacyWeights

#: The dials of the paper's three groups end here.
WESTIN_LEVELS = (0.0, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class ByDial:
    """Answers about the items of each level of dials.

    Attributes
    ----------
    levels
        Public ends of the levels; level k holds dials above levels[k], up to levels[k + 1].
    answers
        One release per level. `estimate`, `low` and `high` are about the items of that level; totals and counts per
        item, because how many there are is private. `value` is not about the level: all others count as the centre.
    guarantee
        The promise of all of them together.
    """

    levels: tuple[float, ...]
    answers: tuple[Release, ...]
    guarantee: Guarantee

    def public(self) -> dict[str, Any]:
        """Return what may be published, ready for JSON.

        Examples
        --------
        >>> from hetdp.mechanisms import queries, stretching
        >>> from hetdp.profiles import Box
        >>> ages = stretching.stretch(queries.mean(Box.uniform(0, 100, size=4)), [0.5, 0.5, 1, 1])
        >>> answers = release_by_dial(ages, [20, 30, 40, 50], epsilon=1.0).public()
        >>> [level["up_to"] for level in answers["levels"]]
        [0.5, 0.75, 1.0]
        """
        shown = [answer.public() for answer in self.answers]
        names = ("estimate", "low", "high", "reason", "denominator")
        levels = [
            {"above": low, "up_to": high, **{name: answer[name] for name in names}}
            for (low, high), answer in zip(pairwise(self.levels), shown, strict=True)
        ]
        same = ("query", "noise", "scale", "grid", "epsilon", "rho", "version")
        return {
            **{name: shown[0][name] for name in same},
            "confidence": next((answer["confidence"] for answer in shown if answer["confidence"]), None),
            "levels": levels,
            "guarantee": self.guarantee.text,
            "promise": self.guarantee.facts(),
        }

    def plot(self, *, column: str = "") -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: the answer and its interval for each level of dials; see `Release.plot`.

        Parameters
        ----------
        column
            What the values are, for the title.
        """
        from hetdp.accounting.display import plot_by_dial

        return plot_by_dial(self, column)

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what publishing all of it means to people; see `Guarantee.label`."""
        first = self.answers[0]
        titled: LabelOptions = {"title": f"A {first.query} for each level of dials", **options}
        return Label.of(self.guarantee, mechanism=f"{first.query}, noise: {first.noise}", **titled)


def release_by_dial(
    mechanism: Stretched,
    values: ArrayLike,
    *,
    levels: ArrayLike = WESTIN_LEVELS,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    ledger: Chargeable | None = None,
    grid: float | None = None,
    confidence: float = 0.95,
    denominator: Real | None = None,
    description: str | None = None,
    random_state: RandomState = None,
) -> ByDial:
    """Release an answer for each public level of dials; where they differ, dials go with values.

    Parameters
    ----------
    mechanism
        A stretched mean, total, count, variance or histogram.
    values
        One private value per item.
    levels
        Public and increasing, in [0, 1]: the ends of the levels. Items with dials at or below the first are in none.
    epsilon, rho, noise, ledger, grid, confidence, denominator, description, random_state
        See `hetdp.release`.

    Privacy
    -------
    Which level an item is in depends on its dial alone, so its value touches one answer: it loses epsilon * v_i once,
    as in a single release. A dial that changes can touch two levels, so each weight pays twice what it pays for one
    (docs/proofs/estimation.md). All of it is charged at once, before anything is looked at.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.profiles import Box
    >>> ages = stretching.stretch(queries.mean(Box.uniform(0, 100, size=4000)), [0.5] * 2000 + [1.0] * 2000)
    >>> strict, _, relaxed = release_by_dial(ages, [60.0] * 2000 + [30.0] * 2000, epsilon=1.0, random_state=1).answers
    >>> round(strict.estimate), round(relaxed.estimate), strict.low > relaxed.high
    (60, 30, True)
    """
    stream = as_stream(random_state)
    check_confidence(confidence)
    ends = float_vector("levels", levels)
    if ends.size < 2 or (np.diff(ends) <= 0).any() or ends[0] < 0 or ends[-1] > 1:  # noqa: PLR2004  (a level has two ends)
        raise InvalidInput("must be at least two increasing numbers in [0, 1] (got other numbers)", parameter="levels")
    if not isinstance(mechanism, Stretched) or mechanism.query.why_no_estimate is not None or denominator == 0:
        raise InvalidInput(
            "must be a stretched mean, total, count, variance or histogram of items that are alike, with a "
            f"denominator (got {getattr(mechanism, 'name', type(mechanism).__name__)!r} without one)",
            parameter="mechanism",
        )
    dials = mechanism.weights.values
    inside = [(dials > low) & (dials <= high) for low, high in pairwise(ends)]
    plans = [
        plan(
            replace(mechanism, weights=PrivacyWeights(np.where(level, dials, 0.0)), prior=None, public_weight=None),
            epsilon=epsilon, rho=rho, noise=noise, grid=grid, denominator=denominator,
        )
        for level in inside
    ]  # fmt: skip
    read = mechanism.domain.read(values)
    touched = min(2, len(plans)) * plans[0].weights_amount
    keep = constant(np.True_, dials.size)
    if ledger is not None:
        keep = ledger.charge(
            functools.reduce(add_up, (prepared.losses for prepared in plans)),
            unit=plans[0].unit,
            description=f"{mechanism.name if description is None else description} by dial",
            amount=plans[0].amount,
            weights_loss=touched,
        )
    known: dict[str, Any] = {"confidence": confidence, "drops": True, "population": None}
    return ByDial(
        tuple(ends.tolist()),
        tuple(answered(prepared, read, keep, stream, **known) for prepared in plans),
        Guarantee(
            plans[0].unit,
            plans[0].amount,
            adjacent=mechanism.adjacent,
            weights=mechanism.weights,
            weights_amount=touched,
            simulated=stream.simulated,
        ),
    )
