"""The engines by name. To add one: a folder with an object like those below, and a line here."""

from hetdp.core.checks import one_of
from hetdp.neighbors.engines.base import Effort
from hetdp.neighbors.engines.exact.engine import EXACT
from hetdp.neighbors.engines.gossip.engine import GOSSIP
from hetdp.neighbors.engines.sketch.engine import SKETCH
from hetdp.profiles import Profiles

__all__ = ["ENGINES", "estimate"]

ENGINES = {engine.name: engine for engine in (EXACT, GOSSIP, SKETCH)}


def estimate(
    profiles: Profiles,
    *,
    engine: str,
    k: int = 10,
    voters: int = 0,
    cycles: int = 20,
    threads: int = 1,
    recommendations: int = 0,
) -> Effort:
    """Return roughly what a fit takes, and recommendations if any are wanted.

    Parameters
    ----------
    profiles
        What would be fitted.
    engine, k, voters, cycles, threads
        As for `PrivateNeighbors`, where k is `n_neighbors`.
    recommendations
        How many items per user would be recommended; 0 for none.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(list(range(100)) * 2, list(range(200)))
    >>> rough = estimate(profiles, engine="exact")
    >>> rough.seconds < 1, rough.memory_bytes < 2**30
    (True, True)
    """
    found = ENGINES[one_of("engine", engine, tuple(ENGINES))]
    return found.estimate(profiles, k=k, voters=voters, cycles=cycles, threads=threads, recommendations=recommendations)
