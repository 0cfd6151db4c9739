"""The audits of the engines, for the battery: each engine's `audits` module brings its subjects and mutants."""

from collections.abc import Sequence
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.audit_crowd import EPSILON, WEIGHTS, Subject, population, without
from hetdp.neighbors.recommending import Votes, vote_selection
from hetdp.profiles.steps import Holdings

__all__ = ["MUTANTS", "SUBJECTS", "audit_cases"]

_SAMPLES = {"quick": 20_000, "full": 60_000}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of the engines, for the battery.

    Examples
    --------
    >>> sorted({case.audit for case in audit_cases("quick")})
    ['replay', 'statistical']
    """
    cases = []
    for name, subject in SUBJECTS.items():
        cases += [
            statistical_case(name, subject, adjacent=without((0, 1, 2, 3)), claimed=WEIGHTS, samples=_SAMPLES[size]),
            # The item of weight 0 must leave every bit as it was.
            replay_case(name, subject, adjacent=without([1]), limits={1: 0.0}),
        ]
    return cases


def _recommended_items(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the items recommended to one recipient on the vote of the user, with their scores."""
    coded = population(profile)
    votes = Votes(np.zeros((size, 1), dtype=np.int32), np.ones((size, 1)))
    nobody = Holdings(np.zeros(size + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    selection = vote_selection(coded, nobody, votes, slice(0, size), n=3, epsilon=EPSILON, base=None)
    scores, items = selection.lists(np.arange(size, dtype=np.int32), as_stream(random_state))
    return np.concatenate([items, scores], axis=1)


_OF_ENGINES = [import_module(f"hetdp.neighbors.engines.{name}.audits") for name in ENGINES]

#: What one recipient, or everybody, gets to see of a user.
SUBJECTS: dict[str, Subject] = {
    name: subject for module in _OF_ENGINES for name, subject in module.SUBJECTS.items()
} | {"recommendations, votes": _recommended_items}

#: The engines, broken on purpose.
MUTANTS: Sequence[Mutant] = [mutant for module in _OF_ENGINES for mutant in module.MUTANTS]
