"""The sketch engine: CPU time and memory, as a ratio to the exact engine.

python benchmarks/sketch.py                 10,000 users x 50,000 items, 100 per user, epsilon = 3
python benchmarks/sketch.py --large         and 100,000 x 200,000, 50 per user: 2.5 GB of bits, in blocks
"""

import resource
import sys
import time
from fractions import Fraction

import numpy as np

from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
from hetdp.profiles.steps import CodedProfiles, code_profiles
from measuring import cpu_seconds
from populations import community_profiles

EPSILON = Fraction(3)
K = 10


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def exact_seconds(coded: CodedProfiles) -> float:
    """Return the CPU time of the exact engine on the same profiles."""
    factors = np.ones(coded.n_users)

    def run() -> object:
        return exact_neighbors(coded, k=K, epsilon=EPSILON, factors=factors, stream=Stream())

    run()
    return cpu_seconds(run, rounds=3)


def standard() -> None:
    start = time.process_time()
    small = code_profiles(community_profiles(300, 500, 20))
    sketch_neighbors(small, k=K, epsilon=EPSILON, stream=Stream())
    print(f"first call: {time.process_time() - start:.1f} s of CPU (kernels compiled or read from cache)\n")
    print(f"{'10,000 users x 50,000 items, 100 each':<44}{'CPU s':>8}{'ratio':>8}")
    for head in ("flat", "heavy"):
        coded = code_profiles(community_profiles(10_000, 50_000, 100, head=head))
        own = cpu_seconds(lambda coded=coded: sketch_neighbors(coded, k=K, epsilon=EPSILON, stream=Stream()), rounds=3)  # type: ignore[misc]
        peer = exact_seconds(coded)
        print(f"{'sketch, ' + head:<44}{own:>8.2f}{own / peer:>8.2f}")
        print(f"{'exact, ' + head:<44}{peer:>8.2f}{1.0:>8.2f}")
    print(f"peak memory: {peak_mib():,.0f} MiB")


def large() -> None:
    coded = code_profiles(community_profiles(100_000, 200_000, 50))
    print(f"\n100,000 users x 200,000 items, 50 each; memory before: {peak_mib():,.0f} MiB")
    for threads in (1, 2):
        start, cpu = time.perf_counter(), time.process_time()
        sketch_neighbors(coded, k=K, epsilon=EPSILON, stream=Stream(), threads=threads)
        print(f"{threads} thread(s): {time.process_time() - cpu:.1f} s of CPU, {time.perf_counter() - start:.1f} s")
    print(f"peak memory: {peak_mib():,.0f} MiB")


def main() -> None:
    standard()
    if "--large" in sys.argv:
        large()


if __name__ == "__main__":
    main()
