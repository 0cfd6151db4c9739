"""The closed form: which items speak for which, from public evidence; scored at home for an exact own row (EASE)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hetdp.recommender.evidence import Evidence

__all__ = ["ItemModel", "learn"]


@dataclass(frozen=True, eq=False)
class ItemModel:
    """How much each item of the head speaks for each other. Public.

    Attributes
    ----------
    counts
        How much each item counts in all, noise included.
    weights
        `weights[i, j]`: how much having i speaks for j; 0 on the diagonal.
    """

    counts: NDArray[np.float64]
    weights: NDArray[np.float32]

    def __repr__(self) -> str:
        return f"ItemModel({self.counts.size} items)"

    def scores(self, indptr: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of every item for exact own rows; whoever has nothing gets the popularity of items."""
        scores = np.zeros((indptr.size - 1, self.counts.size))
        for row, (begin, end) in enumerate(itertools.pairwise(indptr)):
            scores[row] = self.weights[items[begin:end]].sum(axis=0) if end > begin else self.counts
        return scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be saved, by name."""
        return {"model_counts": self.counts, "model_weights": self.weights}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model that was saved."""
        return cls(arrays["model_counts"], arrays["model_weights"])


def learn(evidence: Evidence) -> ItemModel:
    """Return the model that evidence speaks for."""
    n = evidence.counts
    ridge = 2.0 * evidence.edge + 5.0 * max(float(np.maximum(n, 0.0).mean()), 1.0)
    precision = np.linalg.inv(evidence.gram + ridge * np.eye(n.size))
    weights = -precision / np.diag(precision)
    np.fill_diagonal(weights, 0.0)
    return ItemModel(n, weights.astype(np.float32))
