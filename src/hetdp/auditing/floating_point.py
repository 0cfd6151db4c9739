"""The floating-point audit: noise that is not on a public grid tells the answer by its last bits (Mironov 2012)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hetdp.auditing.adjacency import Pair, formerly_neighbors
from hetdp.auditing.events import precision_feature
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.statistical import plan_audit
from hetdp.auditing.subjects import Claims, Subject
from hetdp.core.checks import Real, positive
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream

__all__ = ["floating_point_audit"]

_SAMPLES = 100_000


@formerly_neighbors
def floating_point_audit(
    mechanism: object,
    *,
    adjacent: Sequence[Pair] | None = None,
    claimed: Claims | None = None,
    epsilon: Real | None = None,
    grid: float | None = None,
    items: Sequence[int] | None = None,
    samples: int = _SAMPLES,
    confidence: float = 1 - 1e-9,
    random_state: RandomState = None,
    progress: Callable[[float], None] | None = None,
) -> Finding:
    """Look for answers that lie off the public grid, and for adjacent profiles that have different last bits.

    The precision distinguisher counts outputs off a coarse lattice: 0 plus floating-point noise has binary digits that
    1 plus floating-point noise cannot have. What it sees is turned into a certified lower bound on the loss. A
    mechanism whose outputs all lie on a public grid, by exact arithmetic, has no last bits to tell anything by.

    Parameters
    ----------
    mechanism
        As for `audit`; its outputs must be numbers. Only the first cell of a vector is looked at.
    adjacent, claimed, epsilon, items
        As for `audit`. Profiles with the exact answers 0 and 1 show most.
    grid
        The public step; known for plans. Not checked if there is none.
    samples, confidence
        Runs per side, and the chance that the bounds hold.
    random_state, progress
        As for `audit`.

    Examples
    --------
    >>> def textbook(profile, size, random_state):
    ...     return sum(profile) + np.random.default_rng(random_state).laplace(0, 1, size)
    >>> floating_point_audit(textbook, adjacent=[([0], [1])], claimed=1.0, random_state=1).verdict
    'violated'
    """
    plan = plan_audit(
        mechanism,
        adjacent=adjacent,
        claimed=claimed,
        samples=samples,
        confidence=confidence,
        epsilon=epsilon,
        items=items,
        features=[precision_feature()],
    )
    if plan.subject.reader.kind != "numbers":
        raise InvalidInput("must return numbers for a floating-point audit (got labels)", parameter="mechanism")
    known = plan.subject.plan
    step = known.grid if grid is None and known is not None else grid
    off_grid: list[int] = [0]
    if step is not None:
        plan = replace(plan, subject=_watched(plan.subject, positive("grid", step), off_grid))
    report = plan.run(random_state, progress)
    outside = sum(off_grid)
    worst = max(report.rows, key=lambda row: row.lower_bound - row.claimed)
    violated = outside > 0 or report.verdict == VIOLATED
    words = f"Loss shown by the last bits: at least {worst.lower_bound:.4g}, claimed {worst.claimed:.4g}"
    words += f" ({worst.event})." if worst.lower_bound else "."
    if step is not None:
        words = f"{outside} outputs off the grid. {words}"
    figures = {"lower_bound": worst.lower_bound, "claimed": worst.claimed, "off_grid": outside, "grid": step}
    return Finding("floating point", report.subject, VIOLATED if violated else NOTHING, words, figures)


def _watched(subject: Subject, grid: float, off_grid: list[int]) -> Subject:
    """Return the subject with every output checked against the grid on its way out."""

    def run(profile: object, count: int, stream: Stream) -> object:
        raw = subject.run(profile, count, stream)
        off_grid.append(int((np.remainder(np.asarray(raw, dtype=np.float64), grid) != 0).sum()))
        return raw

    return replace(subject, run=run)
