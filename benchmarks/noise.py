"""Speed of the exact, keyed noise as a ratio to numpy's unsafe generators, in the same run on one thread.

    python benchmarks/noise.py

Above 1.0 means faster than numpy. The keystream is included; the compilation of the kernels is not, and is printed.
"""

import subprocess
import sys
import time

import numpy as np

import hetdp
from measuring import cpu_seconds

SAMPLES = 1_000_000


def import_seconds(statement: str) -> float:
    """Return the CPU time that a statement takes in a fresh interpreter, without the interpreter's own start."""
    script = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(5)
    ]
    return min(float(run.stdout.strip().splitlines()[-1]) for run in runs)


def main() -> None:
    start = time.process_time()
    hetdp.discrete_gaussian(1000, 10_000)
    print(f"first call: {time.process_time() - start:.2f} s of CPU (numba loaded, kernels compiled or read from cache)")
    print(f"import hetdp: {import_seconds('import hetdp'):.3f} s of CPU, "
          f"of which numpy {import_seconds('import numpy'):.3f} s\n")  # fmt: skip

    generator = np.random.default_rng()
    laplace = cpu_seconds(lambda: generator.laplace(size=SAMPLES))
    normal = cpu_seconds(lambda: generator.normal(size=SAMPLES))
    print(f"{'sampler':<38}{'ns/sample':>10}{'ratio':>8}   peer (ratio 1.0)")
    print(f"{'numpy Generator.laplace':<38}{1e9 * laplace / SAMPLES:>10.1f}{1.0:>8.2f}")
    for scale in (10, 2**20, 2**40):
        own = cpu_seconds(lambda scale=scale: hetdp.discrete_laplace(scale, SAMPLES))  # type: ignore[misc]
        name = f"hetdp.discrete_laplace(scale={scale})"
        print(f"{name:<38}{1e9 * own / SAMPLES:>10.1f}{laplace / own:>8.2f}   numpy Generator.laplace")
    print(f"{'numpy Generator.normal':<38}{1e9 * normal / SAMPLES:>10.1f}{1.0:>8.2f}")
    for sigma in (10, 1000, 2**40):
        own = cpu_seconds(lambda sigma=sigma: hetdp.discrete_gaussian(sigma, SAMPLES))  # type: ignore[misc]
        name = f"hetdp.discrete_gaussian(sigma={sigma})"
        print(f"{name:<38}{1e9 * own / SAMPLES:>10.1f}{normal / own:>8.2f}   numpy Generator.normal")

    query = hetdp.queries.mean(hetdp.Box.uniform(0, 1, size=1000))
    stretched = hetdp.stretch(query, np.full(1000, 0.5))
    one = cpu_seconds(lambda: hetdp.release(stretched, np.ones(1000), epsilon=1.0))
    print(f"\none release of a mean of 1,000 items: {1e3 * one:.2f} ms")


if __name__ == "__main__":
    main()
