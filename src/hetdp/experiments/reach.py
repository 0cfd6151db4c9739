"""How far private neighbours get on the way from random to true ones, with the uncertainty of all three."""

from dataclasses import dataclass

from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import Measurements, Values, estimate
from hetdp.experiments.settings import Settings
from hetdp.experiments.sweeps import overlap_baseline, sweep_configurations

__all__ = ["Reach", "reach_of", "sketch_reach"]


@dataclass(frozen=True)
class Reach:
    """How far neighbours get.

    Attributes
    ----------
    loss
        The total loss of an item of weight 1.
    share, low
        Share of the way from random (0) to true neighbours by the same score (1), and the lower end of its 95 %
        interval; minus infinity with one run.
    """

    loss: float
    share: float
    low: float


def reach_of(loss: float, recall: Values, random: Values, true: Values) -> Reach | None:
    """Return how far a recall is on the way from random to true neighbours, run by run; None if there is no way.

    The interval is that of the recall minus its share of the way, within each run: the ends of the way are as random
    as what lies between them.

    Examples
    --------
    >>> import numpy as np
    >>> found = reach_of(1.0, np.array([0.3, 0.5]), np.array([0.1, 0.3]), np.array([0.5, 0.7]))
    >>> round(found.share, 6), round(found.low, 6)
    (0.5, 0.5)
    """
    gap = float((true - random).mean())
    if gap <= 0:
        return None
    share = float((recall - random).mean()) / gap
    missed = estimate((recall - random) - share * (true - random))
    return Reach(loss, share, share + (missed.low - missed.mean) / gap)


def sketch_reach(measured: Measurements, settings: Settings, data: str) -> tuple[Reach, ...]:
    """Return how far the sketch engine gets at each total loss, smallest first; nothing where it was not measured."""
    true = measured.runs(data, overlap_baseline(settings))
    random = measured.runs(data, Configuration(engine="random", k=settings.k))
    if true is None or random is None:
        return ()
    found = []
    for one in sweep_configurations(settings):
        if one.engine != "sketch":
            continue
        for epsilon in sorted(one.epsilons):
            runs = measured.runs(data, one, epsilon=epsilon)
            reach = None if runs is None else reach_of(epsilon, runs, random, true)
            if reach is not None:
                found.append(reach)
    return tuple(found)
