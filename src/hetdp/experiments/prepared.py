"""Get data sets ready for an evaluation, and refuse what cannot be evaluated before anything starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.text import counted
from hetdp.datasets import BUILT_IN
from hetdp.experiments.configurations import fingerprint
from hetdp.experiments.paper import PUBLISHED_SETS, Published, published_for
from hetdp.profiles import Profiles
from hetdp.profiles.formats import COMPRESSIONS, ENDINGS
from hetdp.profiles.reading import PairOptions, open_pairs

_ENDINGS = (*COMPRESSIONS, *ENDINGS, ".dat", ".data")


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
    paper
        Which of the paper's data sets it is, or was made to resemble; None if none.
    published
        Points to draw beside it, and to compare sizes with; None if there are none.
    weights
        Where the file has weights, which an evaluation does not use, in words; None if it has none.
    """

    name: str
    profiles: Profiles
    fingerprint: str
    paper: str | None = None
    published: Published | None = None
    weights: str | None = None


def prepare_data(names: Sequence[str], *, k: int, papers: Sequence[str] = ()) -> list[DataSet]:
    """Return data sets by the names of built-in ones or by paths of files.

    Parameters
    ----------
    names
        What to read or make.
    k
        How many neighbours will be looked for.
    papers
        Which of the paper's data sets each of them is, in order; nothing if no file is one.
    """
    if papers and len(papers) != len(names):
        raise DataError(
            f"must be given once for each data set, in the same order: {counted(len(names), 'time')}",
            parameter="papers",
            got=len(papers),
        )
    found: list[DataSet] = []
    for name, declared in zip(names, papers or [""] * len(names), strict=True):
        if name in BUILT_IN:
            profiles, label, weights = BUILT_IN[name](0), name, None
        else:
            path = Path(name)
            if not path.exists():
                listed = ", ".join(BUILT_IN)
                raise DataError(f"must be a file, or one of {listed}", parameter="data", got=name)
            pairs = open_pairs(path, PairOptions())
            profiles, label, weights = Profiles.from_rows(*pairs.read()), _label(path), pairs.weights
        check_profiles(label, profiles, k=k)
        built_in = name in BUILT_IN
        # A file is never called as a built-in set is: published points belong to those alone.
        while label in {other.name for other in found} or (label in BUILT_IN and not built_in):
            label += "'"
        paper = declared or (PUBLISHED_SETS[name] if built_in else None)
        found.append(DataSet(label, profiles, fingerprint(profiles), paper, published_for(paper), weights))
    if len({one.fingerprint for one in found}) < len(found):
        raise DataError("must name different data sets; two have the same users and items", parameter="data")
    return found


def check_profiles(name: str, profiles: Profiles, *, k: int) -> None:
    """Refuse profiles that have nothing to evaluate."""
    if profiles.n_users < 2:  # noqa: PLR2004  (a user and a neighbour)
        raise DataError(f"{name} must have at least 2 users to find neighbours among, not {profiles.n_users}")
    if profiles.n_users <= k:
        raise DataError(f"{name} must have more than {k} users to find {k} neighbours, not {profiles.n_users}")
    if not (profiles.popularity > 1).any():
        raise DataError(f"{name} must have an item that two users have, or nothing can be tested")
    sizes = profiles.sizes
    if (sizes == sizes[0]).all() and (profiles.popularity[profiles.indices] == profiles.n_users).all():
        raise DataError(f"{name} must have users who differ, not {profiles.n_users} identical profiles")


def _label(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name or path.name
