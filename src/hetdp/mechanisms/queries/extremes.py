"""The largest and the smallest value, with noise as large as the range; `hetdp.mechanisms` has better ones."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.mechanisms.examples import AGES, MIXED, query_examples
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery, Query, floats
from hetdp.profiles import Box

__all__ = ["maximum", "minimum"]


class _Extreme(ItemwiseQuery):
    """max x_i (items shrink to their lower end) or min x_i (to their upper end); S_i(w) <= w r_i.

    Shrinking toward the harmless end lets an item with weight 0 drop out; shrinking a minimum toward 0 would instead
    make it the answer.
    """

    additive: ClassVar[bool] = False
    proportional = True

    def __init__(self, name: str, domain: Box) -> None:
        self._largest = name == "maximum"
        self.better_than_stretching = (
            f"the {name} is released with noise as large as the range of the values divided by epsilon, however many "
            f"items there are. Use hetdp.mechanisms.{name}, which chooses a value that about 20 / epsilon items "
            "reach, however wide the range is."
        )
        super().__init__(name, domain.recentered(domain.lower if self._largest else domain.upper))
        center = self.domain.center
        # A public reference near the values, so that contributions stay small numbers of grid steps.
        self._reference = float(center.max() if self._largest else center.min())

    @property
    def offset(self) -> float:
        return self._reference

    def contributions(self, points: Floats) -> Floats:
        return points - self.offset

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        low = self.domain.center + shrinkage * (self.domain.lower - self.domain.center)
        return low - self.offset

    def combine(self, contributions: Floats) -> float:
        return float(contributions.max() if self._largest else contributions.min())

    def combine_integers(self, steps: NDArray[np.int64], clamped: Floats) -> list[int]:  # noqa: ARG002
        return [int(steps.max() if self._largest else steps.min())]

    def merged(self, cells: Sequence[list[int]]) -> list[int]:
        return [max(column) if self._largest else min(column) for column in zip(*cells, strict=True)]

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * self.domain.ranges

    def lipschitz_bounds(self) -> Floats:
        return np.ones(self.size)

    def gradient_norm_bound(self, start: Floats, end: Floats) -> float:  # noqa: ARG002  (the gradient is one-hot)
        return 1.0

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        """Return the largest move of any item: an extreme cannot move further than that."""
        return float(np.abs(clamped - self.domain.shrink(clamped, shrinkage)).max())

    @property
    def distortions_add_up(self) -> bool:
        return False


def maximum(domain: Box) -> Query:
    """Return the largest value. Its noise is as large as the range: use `hetdp.mechanisms.maximum` instead.

    Items shrink toward their lower end, whatever the centre of the domain is.

    S_i(w) = w r_i, so w_i = min(1, v_i S / r_i), and S is the widest range: the scale of the noise is the range divided
    by epsilon, however many items there are, and `stretch` warns. `hetdp.mechanisms.maximum` chooses a value that about
    20 / epsilon items reach. Rounded per item.

    Parameters
    ----------
    domain
        The public range of each value.

    Examples
    --------
    >>> maximum(Box.uniform(20, 80, size=3))([30, 50, 40])
    50.0
    """
    return _Extreme("maximum", domain)


def minimum(domain: Box) -> Query:
    """Return the smallest value. Its noise is as large as the range: use `hetdp.mechanisms.minimum` instead.

    Items shrink toward their upper end, whatever the centre of the domain is. Else as `maximum`.

    Parameters
    ----------
    domain
        The public range of each value.

    Examples
    --------
    >>> minimum(Box.uniform(20, 80, size=3))([30, 50, 40])
    30.0
    """
    return _Extreme("minimum", domain)


@query_examples
def _examples() -> dict[str, Query]:
    return {
        "maximum": maximum(AGES),
        "maximum, mixed": maximum(MIXED),
        "minimum": minimum(AGES),
        "minimum, mixed": minimum(MIXED),
    }
