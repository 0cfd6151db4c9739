"""Every query the package ships, for tests that must hold for all of them, and points to try them on."""

from hetdp.auditing.examples import AGES, SIGNED, UNIT, example_queries

__all__ = ["AGES", "CATALOGUE", "SIGNED", "UNIT", "extreme_points"]

CATALOGUE = example_queries()


def extreme_points(query, rng, count):
    """Vertices and inner points of a domain."""
    domain = query.domain
    for turn in range(count):
        where = rng.random(domain.size)
        yield domain.lower + (where.round() if turn % 2 else where) * domain.ranges
