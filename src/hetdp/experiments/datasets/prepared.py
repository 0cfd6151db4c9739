"""Get data sets ready for an evaluation, and refuse what cannot be evaluated before anything starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.experiments.configurations import fingerprint
from hetdp.experiments.datasets.built_in import BUILT_IN
from hetdp.profiles import Profiles
from hetdp.profiles.reading.files import COMPRESSIONS, FORMATS, PLAIN_ENDINGS
from hetdp.profiles.reading.pairs import open_pairs

__all__ = ["DataSet", "check_profiles", "prepare_data"]

_ENDINGS = (*COMPRESSIONS, *FORMATS, *PLAIN_ENDINGS, ".data")


@dataclass(frozen=True)
class DataSet:
    """A data set that can be evaluated.

    Attributes
    ----------
    name
        How figures call it.
    profiles
        Its contents; weights do not matter.
    fingerprint
        Fingerprint of the contents.
    built_in
        Whether it is generated.
    weights
        Where the file has weights, which an evaluation does not use, in words; None if it has none.
    """

    name: str
    profiles: Profiles
    fingerprint: str
    built_in: bool
    weights: str | None = None


def prepare_data(names: Sequence[str], *, k: int) -> list[DataSet]:
    """Return data sets by the names of built-in ones or by paths of files."""
    found: list[DataSet] = []
    for name in names:
        if name in BUILT_IN:
            profiles, label, weights = BUILT_IN[name](0), name, None
        else:
            path = Path(name)
            if not path.exists():
                listed = ", ".join(BUILT_IN)
                raise DataError(f"--data must be a file, or one of {listed}. Got {name!r} instead.")
            with open_pairs(path) as pairs:
                profiles, label, weights = Profiles.from_rows(*pairs.read()), _label(path), pairs.weights
        check_profiles(label, profiles, k=k)
        built_in = name in BUILT_IN
        # A file is never called as a built-in set is: published points belong to those alone.
        while label in {other.name for other in found} or (label in BUILT_IN and not built_in):
            label += "'"
        found.append(DataSet(label, profiles, fingerprint(profiles), built_in, weights))
    if len({one.fingerprint for one in found}) < len(found):
        raise DataError("--data must name different data sets. Got two with the same users and items instead.")
    return found


def check_profiles(name: str, profiles: Profiles, *, k: int) -> None:
    """Refuse profiles that have nothing to evaluate."""
    if profiles.n_users < 2:  # noqa: PLR2004  (a user and a neighbour)
        raise DataError(f"{name} must have at least 2 users to find neighbours among. Got {profiles.n_users} instead.")
    if profiles.n_users <= k:
        raise DataError(
            f"{name} must have more users than neighbours are looked for (k = {k}). Got {profiles.n_users} instead."
        )
    if not (profiles.popularity > 1).any():
        raise DataError(f"{name} must have an item that two users have, or nothing can be tested. Got none instead.")
    sizes = profiles.sizes
    if (sizes == sizes[0]).all() and (profiles.popularity[profiles.indices] == profiles.n_users).all():
        raise DataError(f"{name} must have users who differ. Got {profiles.n_users} identical profiles instead.")


def _label(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name or path.name
