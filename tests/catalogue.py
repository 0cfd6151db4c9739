"""Every query the package ships, for tests that must hold for all of them, and points to try them on."""

from hetdp import Box
from hetdp.auditing.catalogue import shipped_queries

UNIT = Box.uniform(0, 1, size=6)
SIGNED = Box.uniform(-1, 1, size=6)
AGES = Box.uniform(20, 80, size=6)

CATALOGUE = shipped_queries()


def extreme_points(query, rng, count):
    """Vertices and inner points of a domain."""
    domain = query.domain
    for turn in range(count):
        where = rng.random(domain.size)
        yield domain.lower + (where.round() if turn % 2 else where) * domain.ranges
