"""Speed of the gossip engine, as ratios to scipy without privacy and between sizes, in the same run.

    python benchmarks/gossip.py [NODES]

NODES is the size of the large network (1,000,000 unless given, 0 to leave it out). CPU times, one thread, best of
several, after compilation, unless said otherwise. Below 1.0 means faster than the peer. Noise is secure.
"""

import resource
import sys
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetdp import Profiles
from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.gossip.engine import GossipResult, gossip_neighbors
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.profiles.steps import CodedProfiles, code_profiles
from measuring import cpu_seconds
from populations import community_profiles

K = 10
CYCLES = 20


def gossip(coded: CodedProfiles, *, threads: int = 1, sample: int | None = None, cycles: int = CYCLES) -> GossipResult:
    n = coded.n_users
    return gossip_neighbors(
        coded, k=K, epsilon=Fraction(1), stream=Stream(), factors=np.ones(n), threads=threads, sample=sample,
        cycles=cycles,
    )  # fmt: skip


def scipy_neighbors(matrix: sparse.csr_array) -> NDArray[np.intp]:
    """Return the top 10 by the all-pairs product, without privacy."""
    common = (matrix @ matrix.T).toarray()
    np.fill_diagonal(common, -1)
    best = np.argpartition(-common, K, axis=1)[:, :K]
    return np.take_along_axis(best, np.argsort(-np.take_along_axis(common, best, axis=1), axis=1), axis=1)


def small_networks() -> None:
    print("500 users, 20 cycles, k = 10: a complete run, agreement with the best there is included")
    for head in ("flat", "heavy"):
        coded = code_profiles(community_profiles(500, 50_000, 135, head=head))
        ones = np.ones(coded.items.size, dtype=np.float32)
        matrix = sparse.csr_array((ones, coded.items, coded.indptr), shape=(500, 50_000))
        peer, own = cpu_seconds(lambda: scipy_neighbors(matrix)), cpu_seconds(lambda: gossip(coded))  # noqa: B023
        bare = cpu_seconds(lambda: gossip(coded, sample=0))  # noqa: B023
        result = gossip(coded)
        name = f"  50,000 items, 135 each, {head} head"
        print(
            f"{name:<42}{1e3 * own:>7.1f} ms  ratio {own / peer:.2f} to scipy X @ X.T and its top 10 "
            f"({1e3 * peer:.1f} ms); without measuring agreement {bare / peer:.2f}"
        )
        print(f"    {result.verdict}")
        print(f"    {result.afterwards}")
    random = np.random.default_rng(1)
    users, items = np.nonzero(random.random((500, 317)) < 0.4)
    dense = code_profiles(Profiles.from_pairs(users, items, random.choice([0.5, 0.75, 1.0], users.size)))
    print(f"{'  317 items, 127 each, three weights':<42}{1e3 * cpu_seconds(lambda: gossip(dense)):>7.1f} ms\n")


def comparisons() -> None:
    n, each = 2_000, 20
    coded = code_profiles(community_profiles(n, 50_000, 135))
    scores = noisy_scores(coded, key=bytes(32), epsilon=Fraction(1), factors=np.ones(n))
    users = np.arange(n, dtype=np.int32)
    indptr = np.arange(0, n * each + 1, each)
    found = np.random.default_rng(0).integers(0, n, n * each).astype(np.int32)
    worker = scores.worker()
    rate = n * each / cpu_seconds(lambda: scores.score(users, indptr, found, worker)) / 1e6
    print(f"comparisons of profiles of 135 items, exact noise included: {rate:.1f} million per second and core\n")


def large_network(n: int) -> None:
    print(f"30 items each, 20 cycles, two threads: 10,000 nodes against {n:,}")
    figures = []
    for nodes in (10_000, n):
        coded = code_profiles(community_profiles(nodes, max(20_000, nodes), 30))
        gossip(coded, threads=2, sample=0, cycles=1)
        start, cpu = time.perf_counter(), time.process_time()
        result = gossip(coded, threads=2, sample=0)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        figures.append((wall, cpu))
        rate = result.comparisons.total / cpu / 1e6
        print(
            f"  {nodes:>9,} nodes: {wall:.1f} s by the clock, {cpu:.1f} s of CPU, {1e6 * cpu / nodes / CYCLES:.2f} us "
            f"of CPU per node and cycle, {rate:.2f} million comparisons per second and core"
        )
        print(f"    {result.verdict}")
    ratios = [figures[1][column] / n / (figures[0][column] / 10_000) for column in (0, 1)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  per node and cycle: ratio {ratios[0]:.2f} by the clock, {ratios[1]:.2f} of CPU; memory {memory:.2f} GiB")


def main() -> None:
    start = time.process_time()
    gossip(code_profiles(community_profiles(5_000, 1_000, 10)), cycles=1)
    gossip(code_profiles(community_profiles(100, 1_000, 10)), cycles=1)
    print(f"first call: {time.process_time() - start:.2f} s of CPU (kernels compiled, or read from the cache)\n")
    small_networks()
    comparisons()
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if nodes:
        large_network(nodes)


if __name__ == "__main__":
    main()
