"""The statistical audit: certified lower bounds on the privacy loss of any mechanism, item by item."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.auditing.events import EVENTS_PER_PAIR, Event, Feature, Outputs, certified_log_ratio, learn_events
from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow
from hetdp.auditing.subjects import Claims, Pair, Subject, claims_for, pairs_for, subject_of
from hetdp.core.checks import Real, finite, not_negative, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.core.text import counted

#: Below this many runs per side, no event can be told from chance.
MINIMUM_SAMPLES = 1_000
#: Beyond this many, a larger factor is looked for instead.
LARGEST_SAMPLE = 4_000_000
#: At a claim of 0 there is no factor to detect; this many runs find a loss of about 0.04.
SAMPLES_AT_ZERO = 100_000


@dataclass(frozen=True)
class SampleSize:
    """How many runs per side, and the smallest true loss that they find with the power asked for.

    Attributes
    ----------
    samples, detectable
        The runs, and that loss.
    capped
        Whether fewer runs were planned than the factor asked for takes.
    """

    samples: int
    detectable: float
    capped: bool


_SMALLEST_EXCESS = 1e-12


def plan_samples(
    claim: float,
    *,
    factor: float = 1.1,
    confidence: float = 0.999,
    power: float = 0.999,
    comparisons: int = 1,
    largest: int = LARGEST_SAMPLE,
) -> SampleSize:
    """Return the number of runs per side that detect a loss of `factor` times the claim.

    By the normal approximation at the event that Laplace noise is worst at: p1 = 1/2 against p0 = exp(-loss)/2. The
    estimate of log(p/n) has standard deviation sd = sqrt((1 - p) / (p n)), and the bound clears the claim when
    (factor - 1) claim >= z_confidence (sd1 + sd0) + z_power sqrt(sd1**2 + sd0**2).

    Parameters
    ----------
    claim
        The promised loss. At 0 the size is fixed.
    factor
        By how much the promise must be broken to be noticed.
    confidence, power
        Chance that a kept promise is not accused, and that one broken by the factor is.
    comparisons
        How many bounds share the confidence (Bonferroni).
    largest
        Where to stop; then `detectable` tells what is still found.

    Examples
    --------
    >>> plan_samples(1.0).samples, plan_samples(0.25).samples
    (33240, 250400)
    >>> plan_samples(0.01)
    SampleSize(samples=4000000, detectable=0.0155..., capped=True)
    """
    promised = not_negative("claim", claim)
    if finite("factor", factor) <= 1:
        raise InvalidInput("must be > 1", parameter="factor", got=factor)
    check_confidence("power", power)
    quantiles = _quantiles(check_confidence("confidence", confidence) / comparisons, 1 - power)
    if promised == 0:
        return SampleSize(SAMPLES_AT_ZERO, _detectable(0.0, SAMPLES_AT_ZERO, quantiles), capped=False)
    wanted = 10 * math.ceil(min(_needed(promised, factor * promised, quantiles), 1e12) / 10)
    if wanted <= largest:
        return SampleSize(max(wanted, MINIMUM_SAMPLES), factor * promised, capped=False)
    return SampleSize(largest, _detectable(promised, largest, quantiles), capped=True)


def detectable_loss(claim: float, samples: int, *, confidence: float, comparisons: int, power: float = 0.999) -> float:
    """Return the smallest loss above the claim that a given number of runs finds; infinity if there is none."""
    quantiles = _quantiles(check_confidence("confidence", confidence) / comparisons, 1 - power)
    return _detectable(claim, whole("samples", samples, minimum=MINIMUM_SAMPLES), quantiles)


def check_confidence(name: str, value: float) -> float:
    """Return the false-alarm rate 1 - value of a confidence strictly between 1/2 and 1."""
    number = finite(name, value)
    if not 0.5 < number < 1:  # noqa: PLR2004  (less than even odds is no confidence)
        raise InvalidInput("must lie between 0.5 and 1", parameter=name, got=value)
    return 1 - number


def _quantiles(false_alarm: float, miss: float) -> tuple[float, float]:
    from scipy import stats

    return float(stats.norm.isf(false_alarm / 2)), float(stats.norm.isf(miss))


def _needed(claim: float, loss: float, quantiles: tuple[float, float]) -> float:
    """Return how many runs per side tell a loss from the claim (the formula of `plan_samples`)."""
    z_confidence, z_power = quantiles
    if loss - claim < _SMALLEST_EXCESS:  # too small for any number of runs, and for the square below
        return math.inf
    other = math.sqrt(2 * math.exp(min(loss, 600.0)) - 1)
    return ((z_confidence * (1 + other) + z_power * math.hypot(1, other)) / (loss - claim)) ** 2


def _detectable(claim: float, samples: int, quantiles: tuple[float, float]) -> float:
    """Return the smallest loss for which `samples` runs suffice, or infinity."""
    losses = claim + np.geomspace(1e-6, 50.0, 2000)
    found = (float(loss) for loss in losses if _needed(claim, float(loss), quantiles) <= samples)
    return next(found, math.inf)


#: Runs are made and counted this many numbers at a time.
_CHUNK = 200_000
_LARGEST_LEARNING = 100_000


@dataclass(frozen=True)
class PlannedPair:
    """Two adjacent profiles, the claim about the item in which they differ, and how many runs will test it."""

    item: Hashable
    pair: Pair
    claimed: float
    size: SampleSize
    delta: float = 0.0

    @property
    def learning(self) -> int:
        """Runs per side from which the events are learned; never counted."""
        return min(max(self.size.samples // 2, MINIMUM_SAMPLES), _LARGEST_LEARNING)


@dataclass(frozen=True)
class AuditPlan:
    """What an audit will do; `features` are read off the outputs, or learned from them if there are none."""

    subject: Subject
    pairs: Sequence[PlannedPair]
    confidence: float
    features: Sequence[Feature] | None = None

    @property
    def runs(self) -> int:
        """How many runs there will be in all."""
        return sum(2 * (planned.size.samples + planned.learning) for planned in self.pairs)

    @property
    def false_alarm(self) -> float:
        """False-alarm rate of each single event."""
        return check_confidence("confidence", self.confidence) / (EVENTS_PER_PAIR * len(self.pairs))

    def __str__(self) -> str:
        sizes = sorted({planned.size.samples + planned.learning for planned in self.pairs})
        runs = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        count = len(self.pairs)
        text = f"{counted(count, 'item')} x 2 x {runs} runs"
        capped = [planned for planned in self.pairs if planned.size.capped]
        if capped:
            worst = max(planned.size.detectable / planned.claimed for planned in capped if planned.claimed)
            text += f"; capped: finds a factor of {worst:.3g} at the smallest claim"
        return text

    def run(self, random_state: RandomState = None, progress: Callable[[float], None] | None = None) -> AuditReport:
        """Run the audit.

        Parameters
        ----------
        random_state
            A seed makes the audit of a seeded mechanism reproducible.
        progress
            Called with the share that is done, from 0 to 1.

        Raises
        ------
        AuditInterrupted
            On Ctrl-C; its `report` holds the pairs that were complete.
        """
        stream = as_stream(random_state)
        rows: list[AuditRow] = []
        done = 0

        def advance(runs: int) -> None:
            nonlocal done
            done += runs
            if progress is not None:
                progress(done / self.runs)

        try:
            for planned in self.pairs:
                rows.append(self._row(planned, stream, advance))  # noqa: PERF401  (kept if interrupted)
        except KeyboardInterrupt:
            raise AuditInterrupted(self._report(rows)) from None
        return self._report(rows)

    def _report(self, rows: Sequence[AuditRow]) -> AuditReport:
        return AuditReport(self.subject.name, tuple(rows), self.confidence, str(self), len(self.pairs))

    def _row(self, planned: PlannedPair, stream: Stream, advance: Callable[[int], None]) -> AuditRow:
        samples = planned.size.samples
        learned = [self._learning_sample(profile, planned.learning, stream, advance) for profile in planned.pair]
        rate, delta = self.false_alarm, planned.delta
        events = learn_events(*learned, runs=samples, false_alarm=rate, delta=delta, features=self.features)
        counts = [self._count(profile, events, samples, stream, advance) for profile in planned.pair]
        best, words = 0.0, "none"
        for place, event in enumerate(events):
            likely, unlikely = counts[event.swapped][place], counts[not event.swapped][place]
            bound = float(certified_log_ratio(likely, samples, unlikely, samples, false_alarm=rate, delta=delta))
            if bound > best:
                best, words = bound, event.words + (f", beyond delta {delta:.4g}" if delta else "")
        return AuditRow(planned.item, planned.claimed, best, words, samples, planned.size.detectable)

    def _learning_sample(self, profile: object, runs: int, stream: Stream, advance: Callable[[int], None]) -> Outputs:
        cells = max(self.subject.reader.cells, 1)
        wanted = max(min(runs, 100 * _CHUNK // cells), 2 * MINIMUM_SAMPLES)  # a long vector must fit into memory
        outputs = self.subject.draw(profile, min(wanted, runs), stream)
        advance(runs)
        return outputs

    def _count(
        self, profile: object, events: Sequence[Event], runs: int, stream: Stream, advance: Callable[[int], None]
    ) -> list[int]:
        chunk = max(_CHUNK // max(self.subject.reader.cells, 1), 1) if self.subject.vectorised else MINIMUM_SAMPLES
        counts = [0] * len(events)
        for begin in range(0, runs, chunk):
            size = min(chunk, runs - begin)
            outputs = self.subject.draw(profile, size, stream)
            counts = [count + event.count(outputs) for count, event in zip(counts, events, strict=True)]
            advance(size)
        return counts


def audit(
    mechanism: object,
    *,
    adjacent: Sequence[Pair] | None = None,
    claimed: Claims | None = None,
    delta: Claims = 0.0,
    samples: int | None = None,
    confidence: float = 0.999,
    epsilon: Real | None = None,
    items: Sequence[int] | None = None,
    random_state: RandomState = None,
    progress: Callable[[float], None] | None = None,
) -> AuditReport:
    """Try to refute a privacy promise by running a mechanism on adjacent profiles.

    Parameters
    ----------
    mechanism
        A plan (`hetdp.plan`); a mechanism together with `epsilon`; or any function of a profile that returns a number,
        a vector or something hashable. A function that takes `size` is called with it and returns that many outputs;
        one that takes `random_state` is given a fresh seed.
    adjacent
        Pairs of public profiles that differ in exactly one item. Found by search for plans and mechanisms.
    claimed
        The promised loss: one number, one per item, or a dict from item to loss. Known for plans: epsilon * v_i.
    delta
        What the promise leaves out, in the same forms: a claim of (claimed, delta) is refuted by an event of chance
        above exp(claimed) times the other chance plus delta.
    samples
        Runs per side; chosen from the claim if not given, so that a factor of 1.1 is found (`plan_samples`).
    confidence
        Chance that all lower bounds hold together.
    epsilon
        Level, with a mechanism.
    items
        Which items to audit; all if there are few.
    random_state
        A seed makes the audit of a plan, or of a function that takes `random_state`, reproducible.
    progress
        Called with the share that is done.

    Returns
    -------
    AuditReport
        With a `verdict` of "violated" or "no violation found".

    Privacy
    -------
    A violation is real up to 1 - confidence. "No violation found" proves nothing: other profiles or rarer events may
    still break the promise. Runs on made-up profiles, spends no budget; claims tell weights, so the report is the
    owner's.

    Examples
    --------
    >>> import numpy as np
    >>> def noisy_sum(profile, size, random_state):  # scale should be 1, not 1/2
    ...     return sum(profile) + np.random.default_rng(random_state).laplace(0, 0.5, size)
    >>> report = audit(noisy_sum, adjacent=[([0, 1], [1, 1])], claimed=1.0, random_state=1)
    >>> report.verdict, report.rows[0].lower_bound > 1.8
    ('violated', True)
    """
    plan = planned_audit(
        mechanism,
        adjacent=adjacent,
        claimed=claimed,
        delta=delta,
        samples=samples,
        confidence=confidence,
        epsilon=epsilon,
        items=items,
    )
    return plan.run(random_state, progress)


def planned_audit(
    mechanism: object,
    *,
    adjacent: Sequence[Pair] | None = None,
    claimed: Claims | None = None,
    delta: Claims = 0.0,
    samples: int | None = None,
    confidence: float = 0.999,
    epsilon: Real | None = None,
    items: Sequence[int] | None = None,
    features: Sequence[Feature] | None = None,
) -> AuditPlan:
    """Return what `audit` with the same arguments will do."""
    check_confidence("confidence", confidence)
    if samples is not None:
        whole("samples", samples, minimum=MINIMUM_SAMPLES)
    subject = subject_of(mechanism, epsilon=epsilon)
    promise: Claims | None = subject.claims if claimed is None else claimed
    if promise is None:
        raise InvalidInput("must be given with a function: the loss it promises", parameter="claimed")
    pairs = pairs_for(subject, adjacent, items)
    if not pairs:
        raise InvalidInput("must name at least one item of adjacent", parameter="items")
    comparisons = EVENTS_PER_PAIR * len(pairs)
    planned = []
    for item, pair in pairs:
        claim = claims_for(promise, item)
        if samples is None:
            size = plan_samples(claim, confidence=confidence, comparisons=comparisons)
        else:
            found = detectable_loss(claim, samples, confidence=confidence, comparisons=comparisons)
            size = SampleSize(samples, found, capped=False)
        planned.append(PlannedPair(item, pair, claim, size, claims_for(delta, item)))
    subject.draw(pairs[0][1][0], 2, as_stream(None))  # from here on it is known how many numbers one output has
    return AuditPlan(subject, tuple(planned), confidence, features)
