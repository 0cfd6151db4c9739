"""How benchmarks measure: CPU time, which other work on the machine disturbs least."""

import time
from collections.abc import Callable


def cpu_seconds(function: Callable[[], object], *, rounds: int = 9, warm_up: bool = True) -> float:
    """Return the CPU time of one call: the best of several, after a warm-up."""
    if warm_up:
        function()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)
