"""The node's model on disk: learned from public sketches, so nothing in it is secret, and it never leaves the folder.

It can always be learned again. So a file that cannot be read, or of another head, counts as none.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hetdp.core.files import whole_file
from hetdp.recommender.model import ItemModel

__all__ = ["CrowdModel", "load_model", "save_model"]

_SKETCHES = "sketches"


@dataclass(frozen=True, eq=False)
class CrowdModel:
    """What the first items of the catalogue say about each other, and from how many sketches that was learned."""

    model: ItemModel
    sketches: int


def save_model(path: Path, learned: CrowdModel) -> None:
    """Write a model, as a whole or not at all, for its owner only."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_SKETCHES: np.int64(learned.sketches)}, **learned.model.arrays())


def load_model(path: Path, *, n_head: int) -> CrowdModel | None:
    """Return the model in a file; None if there is none that fits. The catalogue may have grown since."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        sketches = int(arrays.pop(_SKETCHES))
        model = ItemModel.of_arrays(arrays)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None
    return CrowdModel(model, sketches) if model.counts.size <= n_head else None
