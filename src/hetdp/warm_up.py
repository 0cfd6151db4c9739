"""Compile the kernels ahead of time: `hetdp warm-up exact gossip sketch model`.

Kernels are compiled at their first use on a machine and kept on disk. Which of them are there is answered by looking
for files, without loading the compiler.
"""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

#: What can be compiled by itself, and a file that holds a kernel of it.
PARTS = {
    "exact": "neighbors/_kernels/selecting.py",
    "gossip": "neighbors/_kernels/vicinity.py",
    "sketch": "neighbors/_kernels/sketch_search.py",
    "model": "recommender/_kernels.py",
}
_PACKAGE = Path(__file__).parent


def compile_kernels(parts: Iterable[str] = tuple(PARTS)) -> None:
    """Fit engines, and the model, once on a few made-up people, which compiles what they need.

    Examples
    --------
    >>> compile_kernels(["exact"])
    """
    from hetdp.evaluation.metrics import recall
    from hetdp.evaluation.neighbor_baselines import true_neighbors
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.noise import discrete_laplace
    from hetdp.profiles import Profiles, policies, split
    from hetdp.recommender import PrivateRecommender

    users, items = zip(*((user, item) for user in range(40) for item in range(30) if (user + item) % 3), strict=True)
    profiles = Profiles.from_pairs(users, items)
    weighted = policies.slices(0.5, 1, 3).draw(profiles, random_state=0)
    train, test = split(weighted, random_state=0)
    for part in parts:
        if part == "model":
            PrivateRecommender(catalogue="given", random_state=0).fit(train).recommend(3)
            continue
        model = PrivateNeighbors(3, engine=part, catalogue="given", random_state=0).fit(train)
        recall(model, weighted, test)
    true_neighbors(train, 3)
    discrete_laplace(255, 10_000, random_state=0)


def kept_in(part: str = "exact") -> Path:
    """Return the folder in which numba keeps the compiled kernels of a part.

    Examples
    --------
    >>> kept_in("exact").name.startswith(("_kernels", "__pycache__"))
    True
    """
    folder = (_PACKAGE / PARTS[part]).parent
    chosen = os.environ.get("NUMBA_CACHE_DIR", "")
    beside = folder / "__pycache__"
    if not chosen and os.access(beside if beside.exists() else folder, os.W_OK):
        return beside
    # Numba's own name for the folder of a package: the last part of its path, and a hash of all of it.
    name = f"{folder.name}_{hashlib.sha1(str(folder).encode(), usedforsecurity=False).hexdigest()}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return (Path(chosen) if chosen else home) / name


def compiled(part: str) -> bool:
    """Return whether the kernels of a part are on disk, and not older than their sources."""
    source = _PACKAGE / PARTS[part]
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    written = [path.stat().st_mtime for path in kept_in(part).glob(f"{source.stem}.*{python}*.nbi")]
    return bool(written) and max(written) >= source.stat().st_mtime
