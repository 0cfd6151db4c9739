"""Get data sets ready for an evaluation, and refuse what cannot be evaluated before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.text import counted
from hetdp.datasets import BUILT_IN
from hetdp.experiments.configurations import fingerprint
from hetdp.experiments.published_figures import PUBLISHED_SETS, Published, published_for
from hetdp.profiles import Profiles
from hetdp.profiles.formats import COMPRESSIONS, ENDINGS
from hetdp.profiles.reading import open_pairs

__all__ = ["DataSet", "check_profiles", "prepare_data"]

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


def prepare_data(
    names: Sequence[str], *, k: int, papers: Sequence[str] = (), published: Mapping[str, Published] | None = None
) -> list[DataSet]:
    """Return data sets by the names of built-in ones or by paths of files.

    Parameters
    ----------
    names
        What to read or make.
    k
        How many neighbours will be looked for.
    papers
        Which of the paper's data sets each of them is, in order; nothing if no file is one.
    published
        Points by data set: its name in figures, or the paper's. They take the place of the paper's.
    """
    if papers and len(papers) != len(names):
        raise DataError(
            f"--as must say of each data set which of the paper's it is: {counted(len(names), 'time')}, in "
            "the order of --data",
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
                raise DataError(f"--data must be a file, or one of {listed}", got=name)
            pairs = open_pairs(path)
            profiles, label, weights = Profiles.from_rows(*pairs.read()), _label(path), pairs.weights
        check_profiles(label, profiles, k=k)
        built_in = name in BUILT_IN
        # A file is never called as a built-in set is: published points belong to those alone.
        while label in {other.name for other in found} or (label in BUILT_IN and not built_in):
            label += "'"
        paper = declared or (PUBLISHED_SETS[name] if built_in else None)
        points = (published or {}).get(label) or (published or {}).get(paper or "") or published_for(paper)
        found.append(DataSet(label, profiles, fingerprint(profiles), paper, points, weights))
    if len({one.fingerprint for one in found}) < len(found):
        raise DataError("--data must name different data sets (got two with the same users and items)")
    known = {name for one in found for name in (one.name, one.paper)}
    strange = [name for name in published or {} if name not in known]
    if strange:
        names_here = ", ".join(sorted(filter(None, known)))
        raise DataError(
            f"--published must hold points of the data sets that are evaluated ({names_here}) (got points of "
            f"{strange[0]!r})"
        )
    return found


def check_profiles(name: str, profiles: Profiles, *, k: int) -> None:
    """Refuse profiles that have nothing to evaluate."""
    if profiles.n_users < 2:  # noqa: PLR2004  (a user and a neighbour)
        raise DataError("must have at least 2 users to find neighbours among", parameter=name, got=profiles.n_users)
    if profiles.n_users <= k:
        raise DataError(
            f"must have more users than neighbours are looked for (k = {k})", parameter=name, got=profiles.n_users
        )
    if not (profiles.popularity > 1).any():
        raise DataError("must have an item that two users have, or nothing can be tested", parameter=name)
    sizes = profiles.sizes
    if (sizes == sizes[0]).all() and (profiles.popularity[profiles.indices] == profiles.n_users).all():
        raise DataError(f"must have users who differ (got {profiles.n_users} identical profiles)", parameter=name)


def _label(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name or path.name
