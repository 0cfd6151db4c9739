"""Events that may betray an item, chosen on a learning sample and counted on runs that were not used to choose them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.auditing.features import Feature, Floats, learn_features
from hetdp.auditing.outputs import Outputs
from hetdp.auditing.statistics import certified_log_ratio

__all__ = ["EVENTS_PER_PAIR", "Event", "apparent_loss", "learn_events"]

#: Learned events per direction; with the halfspace at the median that makes three, in two directions.
_LEARNED = 2
EVENTS_PER_PAIR = 2 * (_LEARNED + 1)


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose feature is beyond a threshold.

    Attributes
    ----------
    feature, threshold, above
        The set is {feature >= threshold} if `above`, else {feature <= threshold}.
    swapped
        Whether the event should be likelier under the second profile.

    Privacy
    -------
    A set of outputs, fixed before the runs it is counted on.
    """

    feature: Feature
    threshold: float
    above: bool
    swapped: bool

    @property
    def words(self) -> str:
        """The event in words."""
        return f"{self.feature.words} {'>=' if self.above else '<='} {self.threshold:.6g}"

    def count(self, outputs: Outputs) -> int:
        """Return how many outputs lie in the event."""
        values = self.feature.of(outputs)
        return int(((values >= self.threshold) if self.above else (values <= self.threshold)).sum())


def learn_events(
    one: Outputs,
    two: Outputs,
    *,
    runs: int,
    false_alarm: float,
    features: Sequence[Feature] | None = None,
) -> list[Event]:
    """Choose the events that promise the largest certified loss when counted on `runs` fresh runs per side.

    Features are learned on the first half of the sample, thresholds on the second: an event that merely fits the
    noise of the first half does not look good on the second.

    Parameters
    ----------
    one, two
        Outputs under the two profiles, for learning only.
    runs
        How many fresh runs per side the events will be counted on.
    false_alarm
        Allowed per event.
    features
        What to look at; learned if not given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> one, two = rng.laplace(0, 1, (2000, 1)), rng.laplace(1, 1, (2000, 1))
    >>> sorted({event.feature.words for event in learn_events(one, two, runs=2000, false_alarm=1e-3)})
    ['learned log-ratio', 'output']
    """
    half, other_half = len(one) // 2, len(two) // 2
    found = list(features) if features is not None else learn_features(one[:half], two[:other_half])
    fresh = one[half:], two[other_half:]
    values = [(feature, feature.of(fresh[0]), feature.of(fresh[1])) for feature in found]
    return [
        event
        for swapped in (False, True)
        for event in (
            _median_event(*values[0], swapped=swapped),
            *_best(values, swapped=swapped, runs=runs, false_alarm=false_alarm),
        )
    ]


def apparent_loss(one: Outputs, two: Outputs) -> float:
    """Return how large the loss looks on a small sample: good for comparing pairs of profiles, certain of nothing.

    Examples
    --------
    >>> import numpy as np
    >>> apparent_loss(np.zeros((500, 1)), np.ones((500, 1))) > 3
    True
    """
    losses = []
    for event in learn_events(one, two, runs=len(one), false_alarm=0.1):
        hits, other_hits = event.count(one), event.count(two)
        if event.swapped:
            hits, other_hits = other_hits, hits
        losses.append(float(certified_log_ratio(hits, len(one), other_hits, len(two), false_alarm=0.1)))
    return max(losses)


def _median_event(feature: Feature, one: Floats, two: Floats, *, swapped: bool) -> Event:
    """Return the halfspace at the median of the likelier side, pointing away from the other.

    For Laplace noise the medians are the exact answers, and this is the event with the worst ratio.
    """
    first, second = float(np.median(one)), float(np.median(two))
    if feature.landmarks:
        first, second = feature.landmarks[0], feature.landmarks[-1]
    own, other = (second, first) if swapped else (first, second)
    return Event(feature, own, above=own >= other, swapped=swapped)


def _best(
    values: Sequence[tuple[Feature, Floats, Floats]], *, swapped: bool, runs: int, false_alarm: float
) -> list[Event]:
    scored: list[tuple[float, int, Event]] = []
    for place, (feature, one, two) in enumerate(values):
        likely, unlikely = (two, one) if swapped else (one, two)
        thresholds = _thresholds(feature, one, two)
        for above in (True, False):
            hits, other_hits = _counts(likely, thresholds, above=above), _counts(unlikely, thresholds, above=above)
            # What would be certified if the fresh runs came out in the same proportions.
            bounds = certified_log_ratio(
                np.floor(hits / likely.size * runs),
                runs,
                np.ceil(other_hits / unlikely.size * runs),
                runs,
                false_alarm=false_alarm,
            )
            best = int(np.argmax(bounds))
            event = Event(feature, float(thresholds[best]), above=above, swapped=swapped)
            scored.append((-float(bounds[best]), 2 * place + above, event))
    scored.sort(key=lambda entry: entry[:2])
    return [event for _, _, event in scored[:_LEARNED]]


def _thresholds(feature: Feature, one: Floats, two: Floats) -> Floats:
    """Return landmarks and quantiles, ever finer toward both tails: truncated noise shows only there."""
    size = min(one.size, two.size)
    deep = np.geomspace(min(10 / size, 0.05), 0.1, 12)
    levels = np.concatenate([deep, np.linspace(0.15, 0.85, 15), 1 - deep])
    quantiles = [np.quantile(side, levels, method="nearest") for side in (one, two)]
    # The ends of one side are where the other may still have outputs.
    ends = [end for side in (one, two) for end in (np.nextafter(side.max(), np.inf), np.nextafter(side.min(), -np.inf))]
    return np.unique(np.concatenate([*quantiles, ends, feature.landmarks]))


def _counts(values: Floats, thresholds: Floats, *, above: bool) -> Floats:
    ordered = np.sort(values)
    if above:
        return (values.size - np.searchsorted(ordered, thresholds, side="left")).astype(np.float64)
    return np.searchsorted(ordered, thresholds, side="right").astype(np.float64)
