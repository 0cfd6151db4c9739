"""The statistical audit: certified lower bounds on the privacy loss of any mechanism, item by item."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from hetdp.auditing.adjacency import Pair, formerly_neighbors
from hetdp.auditing.bounds import (
    MINIMUM_SAMPLES,
    SampleSize,
    certified_log_ratio,
    check_confidence,
    detectable_loss,
    plan_samples,
)
from hetdp.auditing.events import EVENTS_PER_PAIR, Event, Feature, learn_events
from hetdp.auditing.outputs import Outputs
from hetdp.auditing.report import AuditInterrupted, AuditReport, AuditRow
from hetdp.auditing.subjects import Claims, Subject, claims_for, pairs_for, subject_of
from hetdp.core.checks import Real, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.core.text import counted, rough_duration

__all__ = ["AuditPlan", "audit", "plan_audit"]

#: Runs are made and counted this many numbers at a time.
_CHUNK = 200_000
_LARGEST_LEARNING = 100_000
_PILOT_S = 0.05
_TWO_MINUTES_S = 120


@dataclass(frozen=True)
class PlannedPair:
    """Two adjacent profiles, the claim about the item in which they differ, and how many runs will test it.

    Attributes
    ----------
    item, pair
        The item, and the profiles.
    claimed
        The loss that is claimed for it.
    size
        How many runs there will be.
    delta
        What the claim leaves out: the loss is that of chances less delta.
    """

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
    """What an audit will do, and how long it will take.

    Attributes
    ----------
    subject
        What is audited.
    pairs
        The pairs of adjacent profiles with their claims and numbers of runs.
    confidence
        Chance that all bounds hold together.
    run_s
        Seconds per run, from a pilot.
    features
        What is read off the outputs; None to learn it from them.
    """

    subject: Subject
    pairs: Sequence[PlannedPair]
    confidence: float
    run_s: float
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
        seconds = self.runs * self.run_s
        about = f"{max(round(seconds), 1)} s" if seconds < _TWO_MINUTES_S else rough_duration(seconds)
        text = f"{counted(count, 'item')} x 2 x {runs} runs, about {about}"
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


@formerly_neighbors
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
    plan = plan_audit(
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


@formerly_neighbors
def plan_audit(
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
    """Return what `audit` with the same arguments would do and how long it would take, from a few runs.

    Parameters
    ----------
    mechanism, adjacent, claimed, delta, samples, confidence, epsilon, items, features
        As for `audit`.

    Examples
    --------
    >>> str(plan_audit(lambda profile: 0.0, adjacent=[([0], [1])], claimed=1.0))
    '1 item x 2 x 58,605 runs, about ...'
    """
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
    return AuditPlan(subject, tuple(planned), confidence, _pilot(subject, pairs[0][1][0]), features)


def _pilot(subject: Subject, profile: object) -> float:
    """Return seconds per run, from as few runs as tell it."""
    count, stream = 10, as_stream(None)

    def taken() -> float:
        begin = time.perf_counter()
        subject.draw(profile, count, stream)
        return time.perf_counter() - begin

    while taken() < _PILOT_S and count * subject.reader.cells < _CHUNK:
        count *= 4
    return taken() / count  # once more: what happens only once, such as compiling, is not part of the price
