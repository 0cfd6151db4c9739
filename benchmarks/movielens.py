"""MovieLens-100k for measurements, from the PyPI package recbole: for research, and not to be passed on.

Nothing of it is in this project. The package is downloaded once into a cache outside of the tree.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

from hetdp import Profiles

PACKAGE = "recbole==1.2.1"
WHEEL = "recbole-1.2.1-py3-none-any.whl"
RATINGS = "recbole/dataset_example/ml-100k/ml-100k.inter"
CACHE = Path.home() / ".cache" / "hetdp-benchmarks"


def movielens_100k(minimum: float = 0.0, *, cache: Path = CACHE) -> Profiles:
    """Who has rated which film, with at least so many stars."""
    wheel = cache / WHEEL
    if not wheel.exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(cache), PACKAGE], check=True)
    with zipfile.ZipFile(wheel) as package:
        lines = package.read(RATINGS).decode().splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    kept = [(int(user), int(item)) for user, item, stars, _ in rows if float(stars) >= minimum]
    return Profiles.from_pairs(*zip(*kept, strict=True))


def resampled(profiles: Profiles, n_people: int, *, rank: int = 40, seed: int = 0) -> Profiles:
    """Return a crowd with the taste of some people: each is one of them, as `rank` numbers tell, drawn item by item."""
    from scipy.sparse.linalg import svds

    random = np.random.default_rng(seed)
    has, _ = profiles.to_csr()
    left, sizes, right = svds(has.astype(np.float64), k=rank, random_state=seed)
    chances = np.clip((left * sizes) @ right, 0.0, 1.0)
    users, items = [], []
    for person, like in enumerate(random.integers(0, profiles.n_users, n_people)):
        (own,) = np.nonzero(random.random(profiles.n_items) < chances[like])
        users.append(np.full(own.size, person))
        items.append(own)
    return Profiles.from_pairs(np.concatenate(users), np.concatenate(items), item_ids=range(profiles.n_items))
