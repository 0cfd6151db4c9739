"""Signed sketches: what is refused, and what an honest node may publish."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import Refused
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.sketches import check_sketch, plausible_ones, sign_sketch


def changed(sketch, **fields):
    names = ("key", "epoch", "bits", "invitation", "signature")
    return SignedSketch(*(fields.get(name, getattr(sketch, name)) for name in names))


def test_bad_sketches_are_refused():
    network = a_network(items=2001, most_items=200)
    bits = draw_bits({}, epsilon=network.epsilon, size=2001, stream=seeded_stream(1))
    good = sign_sketch(bits, epoch=3, identity=identity_of(1), network=network)

    def check(sketch):
        check_sketch(sketch, network=network, network_id=network.id, size=network.items)

    check(good)
    for bad, message in (
        (changed(good, epoch=4), "signed"),
        (changed(good, key=identity_of(2).key), "signed"),
        (changed(good, signature=bytes(64)), "signed"),
        (changed(good, signature=b""), "signed"),
        (changed(good, bits=good.bits + b"\0"), "251 bytes"),
        (changed(good, bits=good.bits[:-1]), "251 bytes"),
        (changed(good, bits=good.bits[:-1] + b"\x02"), "spare bits"),
        (sign_sketch(np.ones(2001, bool), epoch=3, identity=identity_of(1), network=network), "a profile explains"),
        (sign_sketch(np.zeros(2001, bool), epoch=3, identity=identity_of(1), network=network), "a profile explains"),
    ):
        with pytest.raises(Refused, match=message):
            check(bad)
    other = a_network(items=2001, most_items=200, name="other")
    with pytest.raises(Refused, match="signed"):
        check_sketch(good, network=other, network_id=other.id, size=other.items)


def test_the_largest_profile_is_plausible():
    network = a_network(items=2000, most_items=500)
    dials = dict.fromkeys(range(500), 100)
    for seed in range(20):
        bits = draw_bits(dials, epsilon=network.epsilon, size=2000, stream=seeded_stream(seed))
        sketch = sign_sketch(bits, epoch=0, identity=identity_of(1), network=network)
        check_sketch(sketch, network=network, network_id=network.id, size=2000)


def test_how_many_ones_an_honest_sketch_may_have():
    low, high = plausible_ones(Fraction(3), 50_000, 1000)
    assert (round(low), round(high)) == (1983, 3665)
