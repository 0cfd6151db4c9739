"""The statistical audit: certified lower bounds on the privacy loss of any mechanism, item by item."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.auditing.events import EVENTS_PER_PAIR, Event, Floats, Outputs, certified_log_ratio, learn_events
from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow
from hetdp.auditing.subjects import Claims, Pair, Subject, claims_for, pairs_for, subject_of
from hetdp.core.checks import Real, finite, not_negative, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream

#: How much above its claim a loss is found, and the probability that it is missed.
_FACTOR, _MISS = 1.1, 1 - 0.999
#: Below this many runs per side, no event differs clearly from chance.
MINIMUM_SAMPLES = 1_000
#: Beyond this many, a larger factor is looked for instead.
LARGEST_SAMPLE = 4_000_000
#: At a claim of 0 there is no factor to detect; this many runs find a loss of about 0.04.
SAMPLES_AT_ZERO = 100_000
#: Runs are made and counted this many numbers at a time.
_CHUNK = 200_000
#: Runs per side from which events are learned: half of those that are counted, but not more than this.
_LARGEST_LEARNING = 100_000


@dataclass(frozen=True)
class SampleSize:
    """How many runs per side, and the smallest loss that they find with the required power.

    Attributes
    ----------
    samples, detectable
        The runs, and that loss.
    capped
        Whether fewer runs were planned than the required factor takes.
    """

    samples: int
    detectable: float
    capped: bool


def plan_samples(
    claim: float,
    *,
    samples: int | None = None,
    delta: float = 0.0,
    confidence: float = 0.999,
    comparisons: int = 1,
) -> SampleSize:
    """Return the number of runs per side that detect a loss of 1.1 times the claim with probability 99.9 %.

    By the normal approximation, for an event that Laplace noise shows most: p1 = 1/2 against p0 = exp(-loss)/2. The
    estimate of log p has standard deviation sd = sqrt((1 - p) / (p n)), and the bound is above the claim when
    (1.1 - 1) claim >= z_confidence (sd1 + sd0) + z_power sqrt(sd1**2 + sd0**2).

    Parameters
    ----------
    claim
        The promised loss. At 0 the size is fixed.
    samples
        A number of runs that is given; then `detectable` is the loss that they find.
    delta
        The promised delta. It is taken off p1.
    confidence
        Probability that a kept promise is not accused.
    comparisons
        How many bounds share the confidence (Bonferroni).

    Examples
    --------
    >>> plan_samples(1.0).samples, plan_samples(0.25).samples
    (33240, 250400)
    >>> plan_samples(0.01)
    SampleSize(samples=4000000, detectable=0.0155..., capped=True)
    """
    from scipy import stats

    promised = not_negative("claim", claim)
    quantiles = float(stats.norm.isf(error_rate(confidence) / comparisons / 2)), float(stats.norm.isf(_MISS))
    if samples is None and promised > 0:
        needed = float(_needed(promised, np.array(_FACTOR * promised), delta, quantiles))
        wanted = 10 * math.ceil(min(needed, 1e12) / 10)
        if wanted <= LARGEST_SAMPLE:
            return SampleSize(max(wanted, MINIMUM_SAMPLES), _FACTOR * promised, capped=False)
    planned = LARGEST_SAMPLE if promised > 0 else SAMPLES_AT_ZERO
    count = planned if samples is None else whole("samples", samples, minimum=MINIMUM_SAMPLES)
    losses = promised + np.geomspace(1e-6, 50.0, 5000)
    found = losses[_needed(promised, losses, delta, quantiles) <= count]
    detectable = float(found[0]) if found.size else math.inf
    return SampleSize(count, detectable, capped=samples is None and promised > 0)


def error_rate(confidence: float) -> float:
    """Return 1 - confidence, which must lie strictly between 1/2 and 1."""
    if not 0.5 < finite("confidence", confidence) < 1:  # noqa: PLR2004  (less than even odds is no confidence)
        raise InvalidInput("must lie between 0.5 and 1", parameter="confidence", got=confidence)
    return 1 - confidence


def _needed(claim: float, losses: Floats, delta: float, quantiles: tuple[float, float]) -> Floats:
    """Return how many runs per side tell a loss from the claim (the formula of `plan_samples`)."""
    z_confidence, z_power = quantiles
    left = max(1 - 2 * delta, 1e-9)  # twice what delta leaves of p1
    first, second = 1 / left, np.sqrt(2 * np.exp(np.minimum(losses, 600.0)) / left - 1)
    error = z_confidence * (first + second) + z_power * np.hypot(first, second)
    needed: Floats = (error / np.maximum(losses - claim, 1e-12)) ** 2
    return needed


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
        The promised delta, in the same forms: a claim of (claimed, delta) is refuted by an event whose probability is
        above exp(claimed) times the other probability plus delta.
    samples
        Runs per side; chosen from the claim if not given, so that a factor of 1.1 is found (`plan_samples`).
    confidence
        Probability that all lower bounds hold together.
    epsilon
        With a mechanism: the epsilon to plan it for.
    items
        Which items to audit; all if there are few.
    random_state
        A seed makes the audit of a plan, or of a function that takes `random_state`, reproducible.
    progress
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    AuditReport
        With a `verdict` of "violated" or "no violation found", and the `smallest` violation it would have found.

    Raises
    ------
    AuditInterrupted
        On Ctrl-C; its `report` holds the pairs that were complete.

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
    >>> report.verdict, report.rows[0].lower_bound > 1.8, report.smallest
    ('violated', True, 'a loss of 1.1 for item 0 (claimed 1)')
    """
    subject = subject_of(mechanism, epsilon=epsilon)
    false_alarm = error_rate(confidence)
    promise: Claims | None = subject.claims if claimed is None else claimed
    if promise is None:
        raise InvalidInput("must be given with a function: the loss it promises", parameter="claimed")
    pairs = pairs_for(subject, adjacent, items)
    if not pairs:
        raise InvalidInput("must name at least one item of adjacent", parameter="items")
    subject.draw(pairs[0][1][0], 2, as_stream(None))  # from here on it is known what an output is
    if subject.features is not None and not subject.cells:
        raise InvalidInput("must return numbers for a floating-point audit (got labels)", parameter="mechanism")
    comparisons = EVENTS_PER_PAIR * len(pairs)
    claims, deltas = ([claims_for(one, item) for item, _ in pairs] for one in (promise, delta))
    sizes = [
        plan_samples(claim, samples=samples, delta=beyond, confidence=confidence, comparisons=comparisons)
        for claim, beyond in zip(claims, deltas, strict=True)
    ]
    runs = _Runs(subject, as_stream(random_state), [size.samples for size in sizes], progress)
    rows: list[AuditRow] = []
    try:
        for (item, pair), claim, beyond, size in zip(pairs, claims, deltas, sizes, strict=True):
            bound, event = _largest_bound(runs, pair, size.samples, false_alarm / comparisons, beyond)
            rows.append(AuditRow(item, claim, bound, event, size.samples, size.detectable))
    except KeyboardInterrupt:
        raise AuditInterrupted(AuditReport(subject.name, tuple(rows), confidence, len(pairs))) from None
    return AuditReport(subject.name, tuple(rows), confidence, len(pairs))


@dataclass
class _Runs:
    """Draws the outputs of a subject, and reports which share of all runs is done."""

    subject: Subject
    stream: Stream
    #: Runs per side that are counted, by pair.
    samples: Sequence[int]
    progress: Callable[[float], None] | None
    done: int = 0

    def draw(self, profile: object, count: int) -> Outputs:
        outputs = self.subject.draw(profile, count, self.stream)
        self.done += count
        if self.progress is not None:
            self.progress(self.done / sum(2 * (size + self.learning(size)) for size in self.samples))
        return outputs

    def learning(self, samples: int) -> int:
        """Return the runs per side from which events are learned; they are never counted. Memory limits them."""
        wanted = min(max(samples // 2, MINIMUM_SAMPLES), _LARGEST_LEARNING)
        return min(wanted, max(100 * _CHUNK // max(self.subject.cells, 1), 2 * MINIMUM_SAMPLES))

    def count(self, profile: object, events: Sequence[Event], runs: int) -> list[int]:
        """Return how often each event happens in new runs."""
        chunk = max(_CHUNK // max(self.subject.cells, 1), 1) if self.subject.vectorised else MINIMUM_SAMPLES
        counts = [0] * len(events)
        for begin in range(0, runs, chunk):
            outputs = self.draw(profile, min(chunk, runs - begin))
            counts = [count + event.count(outputs) for count, event in zip(counts, events, strict=True)]
        return counts


def _largest_bound(runs: _Runs, pair: Pair, samples: int, false_alarm: float, delta: float) -> tuple[float, str]:
    """Return the largest loss that an event certifies for a pair, and the event in words."""
    one, two = (runs.draw(profile, runs.learning(samples)) for profile in pair)
    features = runs.subject.features
    events = learn_events(one, two, runs=samples, false_alarm=false_alarm, delta=delta, features=features)
    counts = [runs.count(profile, events, samples) for profile in pair]
    best, words = 0.0, "none"
    for place, event in enumerate(events):
        likely, unlikely = counts[event.swapped][place], counts[not event.swapped][place]
        bound = float(certified_log_ratio(likely, samples, unlikely, samples, false_alarm=false_alarm, delta=delta))
        if bound > best:
            best, words = bound, event.words + (f", beyond delta {delta:.4g}" if delta else "")
    return best, words
