"""A short demonstration: a mean in which every person has set their own level, on generated people."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Ledger, Release, release
from hetdp.core.files import write_whole
from hetdp.mechanisms import queries
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.stretching import stretch
from hetdp.profiles import Box, WeightPrior

__all__ = ["LIMIT", "PEOPLE", "RUNS", "MeanDemonstration", "demonstrate_mean"]

PEOPLE = 1000
RUNS = 400
LIMIT = 3.0
_EPSILONS = (0.1, 0.5, 1.0, 2.0)
_PRIOR = WeightPrior.westin(0.34, 0.43, 0.23)


@dataclass(frozen=True)
class MeanDemonstration:
    """A mean of generated people, and how good such means are.

    Attributes
    ----------
    hours, weights
        Of each person. They are made up, so they may be shown.
    truth, answer
        The true mean, and the release of it at epsilon = 1.
    errors
        Root mean squared error in hours for each epsilon: of the paper's stretching, and of our estimate, for which
        the weights pay epsilon once more.
    spent
        What each person paid for `answer`.
    """

    hours: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    truth: float
    answer: Release
    errors: list[dict[str, float]]
    spent: NDArray[np.float64] = field(repr=False)

    def save(self, path: Path) -> None:
        """Write the people to a CSV file that `hetdp release` can read."""
        people = enumerate(zip(self.hours, self.weights, strict=True))
        lines = [f"person{place},{hour:.1f},{weight:g}" for place, (hour, weight) in people]
        write_whole(path, "\n".join(["id,hours,privacy", *lines, ""]))


def demonstrate_mean() -> MeanDemonstration:
    """Release the mean weekly hours of generated people, and simulate how far off such means are."""
    generator = np.random.default_rng(2012)
    hours = generator.gamma(9.0, 3.8, PEOPLE).clip(0, 80)
    weights = generator.choice(_PRIOR.weights, size=PEOPLE, p=_PRIOR.probabilities)
    query = queries.mean(Box.uniform(0, 80, size=PEOPLE))
    truth = float(query(hours))
    ledger = Ledger(np.full(PEOPLE, LIMIT))
    chosen = best_multiplier(query, _PRIOR, 1.0)
    answer = release(stretch(query, weights, multiplier=chosen), hours, epsilon=1.0, ledger=ledger)

    errors = []
    for epsilon in _EPSILONS:
        paper, ours = (
            stretch(query, weights),
            stretch(query, weights, multiplier=best_multiplier(query, _PRIOR, epsilon)),
        )
        runs = range(RUNS)
        found = {
            "paper": [release(paper, hours, epsilon=epsilon, denominator=0, random_state=run).value for run in runs],
            "hetdp": [release(ours, hours, epsilon=epsilon, random_state=run).estimate for run in runs],
        }
        rmse = {name: float(np.sqrt(np.mean((np.array(each) - truth) ** 2))) for name, each in found.items()}
        errors.append({"epsilon": epsilon, **rmse})
    return MeanDemonstration(hours, weights, truth, answer, errors, ledger.spent)
