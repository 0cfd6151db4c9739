"""Recommendations and neighbours of a reproduction beside what would do as well: popularity, the same ten people."""

import contextlib
from collections.abc import Sequence

from hetdp.core.errors import DataError
from hetdp.evaluation.evaluating import EvaluationPlan
from hetdp.evaluation.results import MODEL, Evaluation
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings
from hetdp.profiles import policies

__all__ = ["LEVELS", "MOST_ITEMS", "beside_rivals"]

LEVELS = (1.0, 3.0)
#: Catalogues up to this size are related as a whole; of longer ones, the closed form takes minutes.
MOST_ITEMS = 4096
_FEWEST_RUNS, _MOST_RUNS = 2, 5


def beside_rivals(settings: SweepSettings, data: Sequence[DataSet]) -> dict[str, Evaluation]:
    """Return what the model and published sketches find beside their rivals, for each data set that is not too wide.

    People choose weights as the first mix of the settings says.
    """
    plan = EvaluationPlan(
        epsilon=LEVELS,
        neighbors=settings.k,
        engine=(MODEL, "sketch"),
        runs=min(max(settings.runs, _FEWEST_RUNS), _MOST_RUNS),
        policy=(policies.westin(*settings.mixes[0]),),
        seed=settings.seed,
    )
    found = {}
    for one in data:
        if settings.extras and one.profiles.n_items <= MOST_ITEMS:
            with contextlib.suppress(DataError):  # too small to hide anything: the figures are still worth having
                found[one.name] = plan.measure(one.profiles)
    return found
