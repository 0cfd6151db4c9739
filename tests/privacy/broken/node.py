"""A node broken on purpose: how it draws, what it charges, and dials that depend on other items."""

from fractions import Fraction

import numpy as np

from hetdp.auditing.audit_all import without
from hetdp.core.randomness import as_stream
from hetdp.node import publication
from hetdp.node.audit_cases import DIALS, GROUP, PUBLIC_CALLS, seen_of_a_group
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.node.storage.ledger import LossLedger
from tests.privacy.broken.base import Variant, behind, by_replay, by_statistics, patched, told_otherwise
from tests.privacy.internals import node as internals
from tests.privacy.internals.node import CLAIMS, published_bits

_published = PUBLIC_CALLS["node, publication"]
_MOST = FULL_DIAL * 10


def _but(item):
    return without([item], len(DIALS))


def _drawn(how):
    """Return how to build the draw of a sketch, broken or repaired."""
    worse = patched(published_bits, internals, draw_bits=how)
    return lambda broken: worse if broken else published_bits


def _rounded_up(real):
    """Dials rounded up to whole halves."""
    half = FULL_DIAL // 2
    return lambda dials, **told: real((-(-dials.astype(np.int64) // half) * half).astype(np.uint8), **told)


def _absent_never_drawn(real):
    """No noise for what is not on the list."""
    return lambda dials, **told: real(dials, **told) & (dials > 0)


def _words_for_listed_first():
    """Random words are drawn for listed items first, one of dial 0 among them: it shifts those of all others."""

    def publish(profile, size, random_state):
        listed = np.tile(np.array(profile) >= 0.5, size)
        dials = np.where(listed, np.tile(DIALS, size), 0).astype(np.uint8)
        order = np.argsort(~listed, kind="stable")
        bits = np.empty(dials.size, dtype=np.bool_)
        stream = as_stream(random_state)
        bits[order] = draw_bits(dials[order], epsilon=Fraction(1), stream=stream)
        return bits.reshape(size, -1).astype(np.float64)

    return publish


def _scaled_to_a_limit(real):
    """Scale the dials of each group to its limit, when the sketch is drawn.

    Scaled to ten full dials, the ten are at 100 without the last item and at 99 with it: one item moves every bit, and
    loses 4.92 at epsilon 3 where 0.30 is promised.
    """

    def draw(dials, **told):
        groups = dials.reshape(-1, len(GROUP)).astype(np.int64)
        totals = np.maximum(groups.sum(axis=1, keepdims=True), _MOST)
        return real((groups * _MOST // totals).astype(np.uint8).ravel(), **told)

    return draw


_in_order = _words_for_listed_first()
_scaled = patched(seen_of_a_group, publication, draw_bits=_scaled_to_a_limit)
_last = without([len(GROUP) - 1], len(GROUP))

VARIANTS = (
    Variant("dials rounded up", by_statistics(_drawn(_rounded_up), _but(2), CLAIMS)),
    Variant("sketch without absent items", by_statistics(_drawn(_absent_never_drawn), _but(3), CLAIMS)),
    Variant(
        "coins for listed items first",
        by_replay(lambda broken: _in_order if broken else published_bits, _but(1), {1: 0.0}, odd_values=False),
    ),
    behind(
        _published,
        "epochs 2 % too sharp",
        publication,
        draw_bits=told_otherwise(epsilon=lambda epsilon: epsilon * Fraction(102, 100)),
    ),
    behind(
        _published,
        "epochs at half price",
        LossLedger,
        charge=lambda real: lambda ledger, dials: real(ledger, dials // 2),
    ),
    Variant(
        "dials scaled to a group's limit when a sketch is drawn",
        by_statistics(
            lambda broken: _scaled if broken else seen_of_a_group, _last, [3.0 * dial / FULL_DIAL for dial in GROUP]
        ),
    ),
)
