"""What a private model costs beside the same closed form without privacy: CPU time; and memory, for a large crowd.

python benchmarks/recommender_speed.py            100,000 people x 2,000 items, all of them related
python benchmarks/recommender_speed.py --large    and 1,000,000 x 50,000 from files, a head of 4,096 (minutes)
python benchmarks/recommender_speed.py --large=N  the same with N people
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hetdp import PrivateRecommender, Profiles
from hetdp.recommender.model import Evidence, ItemModel, learn
from measuring import cpu_seconds
from populations import community_profiles

PEOPLE, ITEMS, EACH = 100_000, 2_000, 50
LARGE_PEOPLE, LARGE_ITEMS, LARGE_EACH, HEAD = 1_000_000, 50_000, 100, 4_096
PART_PEOPLE = 20_000
ROWS = 8_192


def without_privacy(profiles: Profiles) -> ItemModel:
    """Return the closed form on exact counts: a dense float32 Gram matrix, in blocks of people."""
    matrix = profiles.to_csr()[0].astype(np.float32)
    gram = np.zeros((profiles.n_items, profiles.n_items), dtype=np.float32)
    for begin in range(0, profiles.n_users, ROWS):
        block = matrix[begin : begin + ROWS].toarray()
        gram += block.T @ block
    exact = gram.astype(np.float64)
    return learn(Evidence(exact.diagonal().copy(), exact, edge=0.0, noise=0.0, count_noise=0.0))


def standard() -> None:
    profiles = community_profiles(PEOPLE, ITEMS, EACH)
    peer = cpu_seconds(lambda: without_privacy(profiles), rounds=3)
    print(f"{f'{PEOPLE:,} people x {ITEMS:,} items, epsilon 1':<44}{'CPU s':>8}{'ratio':>8}")
    print(f"{'closed form without privacy':<44}{peer:>8.2f}{1.0:>8.2f}")
    for release in ("sketch", "matrix"):
        model = PrivateRecommender(1.0, release=release, catalogue="given")
        own = cpu_seconds(lambda model=model: model.fit(profiles), rounds=3)  # type: ignore[misc]
        print(f"{f'fit, release={release!r}':<44}{own:>8.2f}{own / peer:>8.2f}")


def write_parts(folder: Path, people: int) -> list[Path]:
    """Write files of whole people, one after the other, in a process of its own: its memory is not ours."""
    code = (
        "import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from populations import community_profiles\n"
        f"for part, first in enumerate(range(0, {people}, {PART_PEOPLE})):\n"
        f"    count = min({PART_PEOPLE}, {people} - first)\n"
        f"    some = community_profiles(count, {LARGE_ITEMS}, {LARGE_EACH}, head='heavy', random_state=part)\n"
        "    table = pa.table({'user': some.owners.astype(np.int64) + first, 'item': some.indices})\n"
        f"    pq.write_table(table, {str(folder)!r} + f'/part-{{part:04}}.parquet')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    return sorted(folder.glob("*.parquet"))


def large(people: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_parts(Path(folder), people)
        model = PrivateRecommender(1.0, catalogue=np.arange(LARGE_ITEMS), n_head=HEAD)
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit([str(path) for path in paths])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{people:,} people x {LARGE_ITEMS:,} items in {len(paths)} files, a head of {HEAD:,}, two passes:")
    print(f"{cpu:.0f} s of CPU, {wall:.0f} s, peak memory {peak:.2f} GiB")


def main() -> None:
    asked = [one for one in sys.argv[1:] if one.startswith("--large")]
    if asked and "--only" in sys.argv:  # a process that has done nothing else shows its own peak
        large(int(asked[0].partition("=")[2] or LARGE_PEOPLE))
        return
    standard()
    if asked:
        subprocess.run([sys.executable, __file__, asked[0], "--only"], check=True)


if __name__ == "__main__":
    main()
