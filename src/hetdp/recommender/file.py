"""A model as a file: a zip of `about.json` (how it was made, in words and numbers), `items.json` and arrays of numpy.

It holds the public part and nothing else. Nothing in it is run when it is opened, and nothing is packed, so that a file
never becomes larger than it is.
"""

import json
import math
import os
import zipfile
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from hetdp._version import __version__
from hetdp.accounting.guarantee import Guarantee
from hetdp.core.errors import DataError
from hetdp.core.files import whole_file
from hetdp.profiles.ids import Ids, as_ids
from hetdp.recommender.model import ItemModel
from hetdp.recommender.settings import ModelSettings, promise

_KIND = "hetdp model"
_VERSION = 1
_EXACT = ("epsilon", "delta")
#: Sums of numbers below it are finite, whatever their kind.
_LARGEST = 1e30
#: The time in the zip; files of the same model are the same.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """A model for anybody: a function of published bits, or of one noisy matrix, and of public names.

    Attributes
    ----------
    settings, guarantee
        How it was made, and what is promised.
    item_ids
        The catalogue.
    counts
        How much each of its items counts, noise included.
    head
        Where the items of the model are in the catalogue.
    model
        What the items of the head say about each other.
    by_position
        Whether the catalogue is the columns of a matrix.
    simulated
        Whether any noise came from a seed.
    """

    settings: ModelSettings
    guarantee: Guarantee
    item_ids: Ids
    counts: NDArray[np.float64]
    head: NDArray[np.int32]
    model: ItemModel
    by_position: bool
    simulated: bool

    def __repr__(self) -> str:
        return f"PublishedModel({self.item_ids.size:,} items, {self.guarantee.short})"


def save(public: PublishedModel, path: str | os.PathLike[str]) -> None:
    """Write a model; the file is there as a whole or not at all."""
    settings: dict[str, Any] = asdict(public.settings)
    about = {
        "kind": _KIND,
        "version": _VERSION,
        "made_by": f"hetdp {__version__}",
        "settings": settings | {name: str(settings[name]) for name in _EXACT},
        "by_position": public.by_position,
        "guarantee": public.guarantee.text,
    }
    arrays = {"counts": public.counts, "head": public.head, **public.model.arrays()}
    with whole_file(Path(path), mode=0o644) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as file:
        for name, text in (("about", about), ("items", public.item_ids.tolist())):
            file.writestr(zipfile.ZipInfo(f"{name}.json", _NO_TIME), json.dumps(text, ensure_ascii=False, indent=1))
        for name, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy", _NO_TIME), "w", force_zip64=True) as member:
                np.lib.format.write_array(cast("Any", member), np.ascontiguousarray(array), allow_pickle=False)


def load(path: str | os.PathLike[str]) -> PublishedModel:
    """Return the model in a file."""
    name = Path(path).name
    if not Path(path).is_file():
        raise DataError(f"File not found: {os.fspath(path)}")
    try:
        with zipfile.ZipFile(path) as file:
            return _opened(file, name)
    except DataError:
        raise
    except Exception:  # noqa: BLE001  (a hostile file chooses what goes wrong)
        raise DataError(f"{name} is damaged, or no model of hetdp") from None


def _opened(file: zipfile.ZipFile, name: str) -> PublishedModel:
    if any(member.compress_type != zipfile.ZIP_STORED for member in file.infolist()):
        raise ValueError(name)
    about = json.loads(file.read("about.json"))
    if about["kind"] != _KIND:
        raise ValueError(name)
    if about["version"] != _VERSION:
        raise DataError(f"{name}: unknown file version {about['version']!r}; this hetdp reads version {_VERSION}")
    exact = {field: _fraction(about["settings"][field]) for field in _EXACT}
    settings = ModelSettings(**about["settings"] | exact)
    item_ids = as_ids("items", list(_every(json.loads(file.read("items.json")))))
    arrays = {
        member.filename.removesuffix(".npy"): _array(file, member)
        for member in file.infolist()
        if member.filename.endswith(".npy")
    }
    counts, head = arrays.pop("counts"), arrays.pop("head")
    inside = head.dtype == np.int32 and head.ndim == 1 and (np.diff(head) > 0).all() and head[0] >= 0
    if not inside or head[-1] >= item_ids.size or counts.shape != item_ids.shape:
        raise ValueError(name)
    model = ItemModel.of_arrays(arrays)
    shaped = model.counts.shape == head.shape and model.weights.shape == (head.size, head.size)
    if not (shaped and 0.0 <= model.taste <= 1.0):
        raise ValueError(name)
    return PublishedModel(
        settings=settings,
        guarantee=promise(settings),
        item_ids=item_ids,
        counts=counts,
        head=head,
        model=model,
        by_position=bool(about["by_position"]),
        simulated=False,
    )


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array of finite numbers, having looked first whether there are as many as it says."""
    with file.open(member) as stream:
        if np.lib.format.read_magic(cast("BinaryIO", stream)) != (1, 0):
            raise ValueError(member.filename)
        shape, by_column, kind = np.lib.format.read_array_header_1_0(cast("BinaryIO", stream))
        data = stream.read()
    if by_column or kind.kind not in "if" or len(data) != math.prod(shape) * kind.itemsize:
        raise ValueError(member.filename)
    array = np.frombuffer(data, dtype=kind).reshape(shape)
    if not (np.abs(array) < _LARGEST).all():  # nan neither
        raise ValueError(member.filename)
    return array


def _every(items: object) -> list[Any]:
    if not isinstance(items, list):
        raise TypeError
    return items


def _fraction(text: str) -> Fraction:
    """Return a fraction of two whole numbers; a power of ten could be larger than the memory."""
    above, _, below = text.partition("/")
    return Fraction(int(above), int(below or "1"))
