"""The engines by name. To add one: a folder with an object like those below, and a line here."""

from fractions import Fraction

from hetdp.core.checks import Real, fraction, one_of
from hetdp.neighbors.engines.base import Effort
from hetdp.neighbors.engines.exact.engine import EXACT
from hetdp.neighbors.engines.gossip.engine import GOSSIP
from hetdp.neighbors.engines.sketch.engine import SKETCH
from hetdp.profiles import Profiles

__all__ = ["ENGINES", "estimate", "split_epsilon"]

ENGINES = {engine.name: engine for engine in (EXACT, GOSSIP, SKETCH)}

#: Part of epsilon that finds neighbours: votes need more. Measured on the built-in sets; see docs/neighbors.md.
_NEIGHBORS_SHARE = Fraction(1, 3)


def split_epsilon(epsilon: Real, engine: str = "exact") -> tuple[Fraction, Fraction]:
    """Return what of epsilon should go to the neighbours and what to the recommendations: `hetdp recommend`.

    Parameters
    ----------
    epsilon
        The total.
    engine
        Which engine; sketches give recommendations for nothing, so all of it goes to the neighbours there.

    Privacy
    -------
    The two add up to epsilon, exactly.

    Examples
    --------
    >>> split_epsilon(1, "exact")
    (Fraction(1, 3), Fraction(2, 3))
    >>> split_epsilon(3, "sketch")
    (Fraction(3, 1), Fraction(0, 1))
    """
    level = fraction("epsilon", epsilon)
    free = ENGINES[one_of("engine", engine, tuple(ENGINES))].free_recommendations
    share = Fraction(1) if free else _NEIGHBORS_SHARE
    return share * level, (1 - share) * level


def estimate(
    profiles: Profiles, *, engine: str, k: int = 10, cycles: int = 20, threads: int = 1, recommendations: int = 0
) -> Effort:
    """Return roughly what a fit takes, and recommendations if any are wanted.

    Parameters
    ----------
    profiles
        What would be fitted.
    engine, k, cycles, threads
        As for `PrivateNeighbors`.
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
    return found.estimate(profiles, k=k, cycles=cycles, threads=threads, recommendations=recommendations)
