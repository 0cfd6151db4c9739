"""Release an answer: charge the ledger, then look at the data, then add exact noise."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp._version import __version__
from hetdp.accounting.guarantee import Guarantee
from hetdp.accounting.label import Label, LabelOptions
from hetdp.accounting.ledger.ledger import Chargeable
from hetdp.accounting.planning import plan
from hetdp.core.checks import Real
from hetdp.core.errors import InvalidInput, SimulatedResult
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.core.vectors import constant
from hetdp.mechanisms.distortion import plan_distortion
from hetdp.mechanisms.plan import Mechanism, Plan
from hetdp.mechanisms.queries.base import exact_total
from hetdp.mechanisms.ratios import Estimate, NoisySum, check_confidence
from hetdp.mechanisms.stretching import Stretched, StretchedPlan


@dataclass(frozen=True, eq=False)
class Release:
    """An answer that may be published, with its promise.

    Attributes
    ----------
    value
        The noisy stretched answer, which dials pull toward the centre: a number, or an array for a histogram. (Sums of)
        multiples of `grid`, where there is one.
    scale
        Scale of the Laplace noise, or standard deviation of the Gaussian noise; None for other randomness.
    epsilon, rho
        The level, whichever was used; the other is None.
    grid
        Step of the public grid.
    guarantee
        The promise, in words and numbers.
    estimate
        What dials did divided out, for means, totals, counts, variances and, bin by bin, histograms. It is the mean
        (and so on) weighted by dials: where dials go with values, the strict are under-represented. Else None.
    low, high
        Ends of the confidence interval of the estimate; for a histogram, of each bin by itself.
    confidence
        Chance that the interval covers the truth, if dials do not go with values.
    reason
        Why there is no estimate, or none with an interval.
    denominator
        The noisy sum of weights that the estimate was divided by, released too; None where there is none.
    population
        How many items it is about, where that is public.
    simulated
        True if made with a seed; then nothing publishes it.
    losses
        What each item paid; calculated when it is read. The owner's: not shown, not in `public()`.
    query, noise
        What was asked, and what kind of randomness was added, in words.
    paid
        The plan that `losses` are calculated from; the owner's, and not shown.
    version
        Of hetdp.

    Privacy
    -------
    Everything `public()` returns is safe to publish. The true answer is not stored anywhere.
    """

    value: float | NDArray[np.float64]
    scale: float | None
    grid: float | None
    query: str
    noise: str
    guarantee: Guarantee
    estimate: float | NDArray[np.float64] | None = None
    low: float | NDArray[np.float64] | None = None
    high: float | NDArray[np.float64] | None = None
    confidence: float | None = None
    reason: str | None = None
    denominator: NoisySum | None = None
    population: int | None = None
    simulated: bool = False
    version: str = __version__
    #: Who paid: the plan, and which items were kept.
    paid: tuple[Plan, NDArray[np.bool_]] | None = field(default=None, repr=False)

    @cached_property
    def losses(self) -> NDArray[np.float64] | None:
        """What each item paid. The owner's."""
        if self.paid is None:
            return None
        prepared, keep = self.paid
        return np.where(keep, prepared.losses, 0.0)

    @property
    def epsilon(self) -> float | None:
        """The level of a Laplace release."""
        return self.guarantee.amount if self.guarantee.unit == "epsilon" else None

    @property
    def rho(self) -> float | None:
        """The level of a Gaussian release."""
        return self.guarantee.amount if self.guarantee.unit == "rho" else None

    @property
    def shares(self) -> NDArray[np.float64] | None:
        """The estimates of a histogram as shares of all items."""
        if self.population is None or not isinstance(self.estimate, np.ndarray):
            return None
        return self.estimate / self.population

    def public(self) -> dict[str, Any]:
        """Return what may be published, ready for JSON.

        Refuses a simulated release: anyone who knows the seed can subtract the noise.

        Examples
        --------
        >>> from hetdp.mechanisms import queries, stretching
        >>> from hetdp.profiles import Box
        >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=2)), [1, 0.5])
        >>> answer = release(stretched, [1, 1], epsilon=1.0).public()
        >>> [name for name in answer if answer[name] is None]
        ['estimate', 'low', 'high', 'confidence', 'rho']
        """
        if self.simulated:
            raise SimulatedResult(
                "This release was made with a seed (random_state) and must not be published: its noise can be "
                "recomputed. Make it again without random_state. In a simulation, read .value instead."
            )
        return self._shown()

    def _shown(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("estimate", "low", "high", "value")}
        summed = self.denominator
        return {
            "query": self.query,
            **{name: found.tolist() if isinstance(found, np.ndarray) else found for name, found in numbers.items()},
            "confidence": self.confidence,
            "reason": self.reason,
            **({} if self.shares is None else {"shares": self.shares.tolist()}),
            "denominator": None if summed is None else {"value": summed.value, "scale": summed.scale},
            "noise": self.noise,
            "scale": self.scale,
            "grid": self.grid,
            "epsilon": self.epsilon,
            "rho": self.rho,
            "guarantee": self.guarantee.text,
            "promise": self.guarantee.facts(),
            "version": self.version,
        }

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what publishing this means to people; see `Guarantee.label`.

        Examples
        --------
        >>> from hetdp.mechanisms import queries, stretching
        >>> from hetdp.profiles import Box
        >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=2)), [1, 0.5])
        >>> release(stretched, [1, 1], epsilon=1.0).label().title
        'A released total'
        """
        titled: LabelOptions = {"title": f"A released {self.query}", **options}
        return Label.of(self.guarantee, mechanism=f"{self.query}, noise: {self.noise}", **titled)

    def plot(self, *, column: str = "") -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: the answer with its interval; bars for a histogram.

        Needs the extra `plot`. Notebooks show it as an image; `hetdp.plots.save` writes it to a file.

        Parameters
        ----------
        column
            What the values are, for the title and the axis.

        Privacy
        -------
        It shows what `public()` does, and says so if the answer is simulated and must not be published.

        Examples
        --------
        >>> from hetdp.mechanisms import queries, stretching
        >>> from hetdp.profiles import Box
        >>> ages = stretching.stretch(queries.mean(Box.uniform(0, 100, size=1000)), [0.5, 1.0] * 500)
        >>> chart = release(ages, [30.0] * 1000, epsilon=1.0).plot(column="age")
        >>> chart.title["text"]
        'A released mean of age'
        """
        from hetdp.accounting.display import plot_release

        return plot_release(self, column)

    def _repr_html_(self) -> str:
        from hetdp.accounting.display import release_card

        return release_card(self).html()


def release(
    mechanism: Mechanism,
    values: ArrayLike,
    *,
    epsilon: Real | None = None,
    rho: Real | None = None,
    noise: str | None = None,
    ledger: Chargeable | None = None,
    grid: float | None = None,
    confidence: float = 0.95,
    denominator: Real | None = None,
    description: str | None = None,
    random_state: RandomState = None,
) -> Release:
    """Release the answer of a mechanism on private values, and an estimate that dials do not distort.

    Parameters
    ----------
    mechanism
        From `hetdp.stretch`, or any other of `hetdp.mechanisms`.
    values
        One private value per item. Clamped into the domain; nan becomes the centre, silently.
    epsilon
        Level of a Laplace release.
    rho
        Level of a Gaussian release; item i pays rho * v_i**2.
    noise
        "laplace" or "gaussian". Default: the one that the given level belongs to.
    ledger
        Charged with what each item loses before the values are looked at. Without one, keeping count is up to you.
    grid
        A public power of two that the answer is a multiple of. Default: about 2**-40 of the noise scale. A coarse grid
        costs accuracy, never privacy: an item whose weight does not pay for one step is dropped.
    confidence
        Of the interval of the estimate.
    denominator
        Level, in the unit of the release, of the noisy sum of weights that the estimate is divided by. The weights pay
        it, values pay nothing. Default: that of the release; then the denominator's noise makes an interval wider by
        half at the very most, and by a tenth for a mean near the centre. 0: no sum is drawn, and there is no estimate,
        or one from the prior.
    description
        What the history of the ledger calls it. Default: the name of the query.
    random_state
        A seed makes the release reproducible, and unfit to be published.

    Returns
    -------
    Release

    Raises
    ------
    BudgetExhausted
        If some item cannot pay and the ledger does not drop it; nothing was spent or computed.

    Privacy
    -------
    Unit: one item replaced. (epsilon, v)-differentially private with Laplace noise of scale multiplier * S / epsilon,
    rho * v_i**2-zCDP with Gaussian noise. Exact: no floating-point noise, no rounding outside the promise
    (docs/proofs/stretching.md, docs/proofs/noise.md). Each weight pays the level and that of the denominator
    (docs/proofs/estimation.md), charged at once, before anything is looked at.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1])), [0.5, 0.25, 0.1])
    >>> from hetdp.accounting import Ledger
    >>> ledger = Ledger(limits=[1.0, 1.0, 1.0])
    >>> answer = release(stretched, [1, 1, 1], epsilon=0.5, ledger=ledger)
    >>> answer.scale, answer.epsilon, answer.value % answer.grid
    (4.0, 0.5, 0.0)
    >>> ledger.spent
    array([0.25 , 0.125, 0.05 ])
    >>> ages = stretching.stretch(queries.mean(Box.uniform(0, 100, size=1000)), [0.5, 1.0] * 500)
    >>> answer = release(ages, [30.0] * 1000, epsilon=1.0, random_state=1)
    >>> round(answer.value), round(answer.estimate), answer.low < 30 < answer.high, answer.guarantee.weights_amount
    (22, 30, True, 2.0)
    """
    stream = as_stream(random_state)
    drops = _drops(ledger)
    prepared = plan(mechanism, epsilon=epsilon, rho=rho, noise=noise, grid=grid, denominator=denominator, drops=drops)
    check_confidence(confidence)
    read = mechanism.domain.read(values)  # once; their number is checked before anything is charged
    if ledger is not None and not hasattr(ledger, "charge"):
        raise InvalidInput("must be a hetdp.Ledger", parameter="ledger", got=type(ledger))
    keep = constant(np.True_, read.size)
    if ledger is not None:
        keep = ledger.charge(
            prepared.losses,
            unit=prepared.unit,
            description=mechanism.name if description is None else description,
            amount=prepared.amount,
            weights_loss=prepared.weights_amount,
        )
    known: dict[str, Any] = {"confidence": confidence, "drops": drops or _drops(ledger), "population": keep.size}
    return answered(prepared, read, keep, stream, **known)


def answered(
    prepared: Plan,
    values: NDArray[np.float64],
    keep: NDArray[np.bool_],
    stream: Stream,
    *,
    confidence: float,
    drops: bool,
    population: int | None,
) -> Release:
    """Return the release of a plan that has been paid for, about the items that are kept."""
    (cells,) = prepared.answers(values, keep, stream, count=1)
    paid = prepared.weights_amount
    return Release(
        value=prepared.finish(cells),
        scale=prepared.scale,
        grid=prepared.grid,
        query=prepared.mechanism.name,
        noise=prepared.noise,
        guarantee=Guarantee(
            prepared.unit,
            prepared.amount,
            adjacent=prepared.mechanism.adjacent,
            weights=prepared.mechanism.weights,
            weights_amount=None if paid == prepared.amount else paid,
            simulated=stream.simulated,
        ),
        **_estimated(prepared, cells, keep, stream, confidence=confidence, drops=drops, population=population),
        population=population,
        simulated=stream.simulated,
        paid=(prepared, keep),
    )


def _drops(ledger: Chargeable | None) -> bool:
    """Return whether some items may not count, as far as the public knows."""
    return bool(getattr(ledger, "drops", False))


def _estimated(
    prepared: Plan,
    cells: NDArray[np.float64],
    keep: NDArray[np.bool_],
    stream: Stream,
    *,
    confidence: float,
    drops: bool,
    population: int | None,
) -> dict[str, Any]:
    """Return the estimate of a release and what belongs to it; a denominator is drawn here, where one is planned."""
    weight, distorted, released = None, True, {}
    if isinstance(prepared, StretchedPlan):
        if prepared.denominator is not None:
            weight = prepared.denominator.release(prepared.effective_weights, keep, stream)
        elif prepared.mechanism.public_weight is not None and not drops:
            weight, distorted = NoisySum(exact_total(prepared.effective_weights), 0.0), False
        reason = prepared.mechanism.query.why_no_estimate
        if weight is not None and reason is None:
            found = _shown(
                prepared.estimates(cells, weight, confidence=confidence, distorted=distorted, population=population)
            )
            released = {"denominator": weight if distorted else None}
            if "reason" not in found:
                return found | released | {"confidence": confidence}
            reason = found["reason"]
    else:
        reason = "What dials do to this answer cannot be divided out."
    value = prepared.finish(cells)
    # A prior of weights knows nothing of items that cannot pay.
    by_prior = None if isinstance(value, np.ndarray) or drops else prepared.estimate(value)
    if by_prior is not None:
        reason = "This estimate is divided by what the prior expects, which does not tell how far off it is."
    reason = reason or "No sum of weights was released that it could be divided by."
    return {"estimate": by_prior, "reason": reason, **released}


def _shown(estimates: list[Estimate]) -> dict[str, Any]:
    """Return estimates as fields of a release: numbers, or arrays for a vector; nothing if one of them has none."""
    reason = next((found.reason for found in estimates if found.value is None), None)
    if reason is not None:
        return {"reason": reason}
    columns = {"estimate": "value", "low": "low", "high": "high"}
    found = {name: [getattr(one, column) for one in estimates] for name, column in columns.items()}
    return {name: column[0] if len(column) == 1 else np.array(column) for name, column in found.items()}


def release_distortion_bound(
    about: Stretched | Release,
    *,
    epsilon: Real,
    confidence: float = 0.95,
    ledger: Chargeable | None = None,
    random_state: RandomState = None,
) -> Release:
    """Release an upper bound on the distortion `|f(d) - R(d)|` that stretching can have caused.

    The bound is the worst case over all values, so it depends on the weights only, plus noise and a public margin that
    makes it hold with the given confidence. Rounding to the grid is part of the distortion, and so are items that a
    ledger dropped, which count with weight 0.

    Parameters
    ----------
    about
        A release of a stretched query, for a bound of that very answer. Or what `hetdp.stretch` returns, for one of an
        answer with noise of this same epsilon, on the grid that goes with it, without the items that the ledger no
        longer lets count.
    epsilon
        Its own level: what each weight pays.
    confidence
        Chance that the released number is above the bound.
    ledger
        Charged in `weights_spent`; items pay nothing.
    random_state
        A seed makes the release reproducible, and unfit to be published.

    Privacy
    -------
    The weights pay epsilon each, the values nothing: an item with weight 0 keeps its absolute protection. (Releasing
    the distortion of the actual values with the same epsilon, as the paper suggests, would void it.)

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=100)), [0.5] * 100)
    >>> bound = release_distortion_bound(stretched, epsilon=1.0, random_state=1)
    >>> round(bound.value, 1), bound.guarantee.protects
    (54.1, 'weights')
    >>> coarse = release(stretched, [1.0] * 100, epsilon=1.0, grid=1.0)  # half an item is less than one step: dropped
    >>> release_distortion_bound(coarse, epsilon=1.0, random_state=1).value > 100
    True
    """
    stream = as_stream(random_state)
    of, kept = _to_bound(about, epsilon)
    prepared = plan_distortion(of, epsilon=epsilon, confidence=confidence)
    query = of.mechanism.query
    keep = constant(np.True_, query.size)
    if ledger is not None:
        keep = ledger.charge(
            np.zeros(query.size),
            unit="epsilon",
            description=f"distortion bound of {query.name}",
            amount=prepared.epsilon,
            weights_loss=prepared.epsilon,
        )
    return Release(
        value=prepared.answer(keep if kept is None else kept, stream),
        scale=prepared.scale,
        grid=prepared.grid,
        query=f"distortion bound of {query.name}",
        noise="laplace",
        guarantee=Guarantee("epsilon", prepared.epsilon, protects="weights", simulated=stream.simulated),
        simulated=stream.simulated,
    )


def _to_bound(about: Stretched | Release, epsilon: Real) -> tuple[StretchedPlan, NDArray[np.bool_] | None]:
    """Return the plan of what a distortion bound is about, and which items were kept if that is known already."""
    if isinstance(about, Stretched):
        return about.plan(noise="laplace", amount=epsilon), None
    if isinstance(about, Release) and about.paid is not None and isinstance(about.paid[0], StretchedPlan):
        return about.paid  # type: ignore[return-value]
    raise InvalidInput(
        "must be a stretched query, hetdp.stretch(query, weights), or a release of one",
        parameter="about",
        got=type(about),
    )
