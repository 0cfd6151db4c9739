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
from hetdp.core.randomness import RandomState, as_stream
from hetdp.core.vectors import constant
from hetdp.mechanisms.distortion import plan_distortion
from hetdp.mechanisms.intervals import check_confidence
from hetdp.mechanisms.mechanism import Mechanism, Plan
from hetdp.mechanisms.stretching import Stretched, StretchedPlan
from hetdp.mechanisms.weight_class import ClassSum, WeightClassesPlan


@dataclass(frozen=True, eq=False)
class Release:
    """An answer that may be published, with its promise.

    Attributes
    ----------
    value
        The raw value, as the mechanism releases it: a number, or an array for a histogram. Stretching moves it toward
        the centre.
    scale
        Scale of the Laplace noise, or standard deviation of the Gaussian noise; None for other randomness, and where
        noises of several scales add up.
    epsilon, rho
        The level, whichever was used; the other is None.
    grid
        Step of the public grid, where there is one. Released numbers are multiples of it: the value, or the sum of each
        class.
    guarantee
        The promise, in words and numbers.
    estimate
        What the query would be without weights and noise, inside the range of its answers. Weight classes have one, and
        stretched queries whose weights are publicly 1. Items below the lowest class count as the middle of their range.
    low, high
        Ends of the interval that holds the answer without its noise, with the chance `confidence`; for a histogram, of
        each bin by itself. Of a stretched query without estimate, this is the stretched answer.
    confidence
        That chance; None where there is no interval.
    reason
        Why there is no estimate.
    classes
        Of weight classes: what was released of each class.
    population
        How many items it is about, where that is public.
    simulated
        True if made with a seed; then nothing publishes it.
    losses
        What each item lost; calculated when it is read. The owner's: not shown, not in `public()`.
    query, noise
        What was asked, and what kind of randomness was added, in words.
    paid
        The plan that `losses` are calculated from, and which items took part; the owner's, and not shown.
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
    classes: tuple[ClassSum, ...] | None = None
    population: int | None = None
    simulated: bool = False
    version: str = __version__
    #: The plan, and which items took part.
    paid: tuple[Plan, NDArray[np.bool_]] | None = field(default=None, repr=False)

    @cached_property
    def losses(self) -> NDArray[np.float64] | None:
        """What each item lost. The owner's."""
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
        ['estimate', 'rho']
        """
        if self.simulated:
            raise SimulatedResult(
                "This release was made with a seed (random_state) and must not be published: its noise can be "
                "recomputed. Make it again without random_state. In a simulation, read .value instead."
            )
        return self._shown()

    def _shown(self) -> dict[str, Any]:
        numbers = {name: _listed(getattr(self, name)) for name in ("estimate", "low", "high", "value")}
        shares = {} if self.shares is None else {"shares": self.shares.tolist()}
        classes = [
            {"boundary": one.boundary, "value": _listed(one.value), "scale": one.scale} for one in self.classes or ()
        ]
        return {
            "query": self.query,
            **numbers,
            "confidence": self.confidence,
            "reason": self.reason,
            **shares,
            **({"classes": classes} if classes else {}),
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


def _listed(number: Any) -> Any:  # noqa: ANN401  (a number, an array or None)
    return number.tolist() if isinstance(number, np.ndarray) else number


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
    description: str | None = None,
    random_state: RandomState = None,
) -> Release:
    """Release the answer of a mechanism on private values, with the exact interval of its noise.

    Parameters
    ----------
    mechanism
        From `hetdp.weight_classes`, `hetdp.stretch`, or any other of `hetdp.mechanisms`.
    values
        One private value per item. Clamped into the domain; nan becomes the centre, silently.
    epsilon
        Level of a Laplace release.
    rho
        Level of a Gaussian release; item i loses rho * v_i**2.
    noise
        "laplace" or "gaussian". Default: the one that the given level belongs to.
    ledger
        Charged with what each item loses before the values are read. Without one, keeping count is up to you.
    grid
        A public power of two that released numbers are multiples of. Default: about 2**-40 of the noise scale. A coarse
        grid costs accuracy, never privacy.
    confidence
        Of the interval, from 0.01 to 0.999999.
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
        If some item has too little remaining budget and the ledger does not drop it; nothing was spent or computed.

    Privacy
    -------
    Unit: one item replaced. (epsilon, v)-differentially private with Laplace noise, rho * v_i**2-zCDP with Gaussian
    noise. Exact: no floating-point noise, no rounding outside the promise (docs/proofs/stretching.md,
    docs/proofs/weight_classes.md, docs/proofs/noise.md). Charged before anything is read.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.mechanisms.weight_class import weight_classes
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1])), [0.5, 0.25, 0.1])
    >>> from hetdp.accounting import Ledger
    >>> ledger = Ledger(limits=[1.0, 1.0, 1.0])
    >>> answer = release(stretched, [1, 1, 1], epsilon=0.5, ledger=ledger)
    >>> answer.scale, answer.epsilon, answer.value % answer.grid
    (4.0, 0.5, 0.0)
    >>> ledger.spent
    array([0.25 , 0.125, 0.05 ])
    >>> ages = weight_classes(queries.mean(Box.uniform(0, 100, size=1000)), [0.5, 1.0] * 500)
    >>> answer = release(ages, [60.0, 20.0] * 500, epsilon=1.0, random_state=1)
    >>> round(answer.estimate), answer.low < 40 < answer.high, answer.guarantee.weights_amount
    (40, True, 0.75)
    """
    stream = as_stream(random_state)
    prepared = plan(mechanism, epsilon=epsilon, rho=rho, noise=noise, grid=grid)
    sure = check_confidence(confidence)
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
    (cells,) = prepared.answers(read, keep, stream, count=1)
    found = prepared.read(cells, sure, drops=bool(getattr(ledger, "drops", False)))
    lost = prepared.weights_amount
    return Release(
        value=found.value,
        scale=prepared.scale,
        grid=prepared.grid,
        query=mechanism.name,
        noise=prepared.noise,
        guarantee=Guarantee(
            prepared.unit,
            prepared.amount,
            adjacent=mechanism.adjacent,
            weights=mechanism.weights,
            weights_amount=None if lost == prepared.amount else lost,
            simulated=stream.simulated,
        ),
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        confidence=None if found.low is None else sure,
        reason=found.reason,
        classes=prepared.class_sums(cells) if isinstance(prepared, WeightClassesPlan) else None,
        population=keep.size if mechanism.steps_to_replace == 1 else None,
        simulated=stream.simulated,
        paid=(prepared, keep),
    )


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
        Its own level: what each weight loses.
    confidence
        Chance that the released number is above the bound.
    ledger
        Charged in `weights_spent`; items lose nothing.
    random_state
        A seed makes the release reproducible, and unfit to be published.

    Privacy
    -------
    Each weight loses epsilon, the values nothing: an item with weight 0 keeps its absolute protection. (Releasing
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
