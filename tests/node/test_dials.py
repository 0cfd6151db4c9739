"""What a node puts on the wire, audited: per-item loss at most epsilon * v, and broken variants caught.

The audits use fixed seeds and confidence 1 - 1e-7: a false alarm in fewer than one of 10**6 choices of the seed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.auditing import audit
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.dials import as_dial
from hetdp.node.protocol.messages import Delivery, decode, encode
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.sketching import drawing
from hetdp.sketching.bit_law import exact_chance_of_one
from hetdp.sketching.drawing import pack, unpack

CONFIDENT = 1 - 1e-7
EPSILON = Fraction(3, 2)
DIALS = (100, 50, 10, 0)


def captured(profile, size, random_state):
    """`size` sketches of a profile of four items, as an eavesdropper with all keys reads them from the wire.

    They travel as one sketch of a catalogue with `size` copies of the four items, since bits are drawn independently.
    """
    network = a_network(items=4 * size, epsilon=EPSILON)
    dials = {4 * copy + item: DIALS[item] for copy in range(size) for item in range(4) if profile[item]}
    bits = draw_bits(dials, epsilon=EPSILON, size=4 * size, stream=seeded_stream(random_state))
    sketch = sign_sketch(bits, epoch=1, identity=identity_of(1), network=network)
    raw = encode(network.id, Delivery(bytes(8), (sketch,), ()))
    seen = decode(network.id, raw, largest=10**6).sketches[0]
    return unpack(seen.bits, 4 * size).reshape(size, 4).astype(float)


def neighbours(item):
    one, two = [1, 1, 1, 1], [1, 1, 1, 1]
    two[item] = 0
    return [(one, two)]


@pytest.mark.parametrize("item", range(4))
def test_captured_sketches_keep_the_promise_of_every_item(item):
    claim = float(EPSILON) * DIALS[item] / 100
    report = audit(
        captured, adjacent=neighbours(item), claimed=claim, samples=40_000, confidence=CONFIDENT, random_state=1
    )
    assert report.verdict == "no violation found"


@pytest.mark.parametrize("item", [0, 1])
def test_the_audit_sees_what_there_is_to_see(item):
    """The bound comes close to the promise: the test above would notice a promise broken by a quarter."""
    claim = float(EPSILON) * DIALS[item] / 100
    report = audit(captured, adjacent=neighbours(item), claimed=claim, samples=40_000, random_state=1)
    assert report.rows[0].lower_bound > 0.8 * claim


def _ignoring_dials(epsilon, tuned_for):
    return [exact_chance_of_one(epsilon, Fraction(min(1, code)), tuned_for=tuned_for) for code in range(256)]


def _square_roots(epsilon, tuned_for):
    weights = [Fraction(int(100 * (code / 255) ** 0.5), 100) for code in range(256)]
    return [exact_chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in weights]


@pytest.mark.slow
@pytest.mark.parametrize("broken", [_ignoring_dials, _square_roots])
def test_broken_variants_are_caught(monkeypatch, broken):
    monkeypatch.setattr(drawing, "coins", broken)
    report = audit(captured, adjacent=neighbours(1), claimed=float(EPSILON) / 2, samples=40_000, random_state=1)
    assert report.verdict == "violated"


def test_an_item_of_dial_0_leaves_every_bit_the_same():
    with_it = draw_bits({3: 100, 7: 0}, epsilon=EPSILON, size=1000, stream=seeded_stream(5))
    without = draw_bits({3: 100}, epsilon=EPSILON, size=1000, stream=seeded_stream(5))
    assert pack(with_it) == pack(without)
    higher = draw_bits(
        {3: 100, **dict.fromkeys(range(500, 1000), 100)}, epsilon=EPSILON, size=1000, stream=seeded_stream(5)
    )
    assert pack(higher) != pack(without)
    assert (higher[:500] == without[:500]).all()


def test_bits_at_a_large_epsilon_are_the_list():
    bits = draw_bits({0: 100}, epsilon=Fraction(9), size=4, stream=seeded_stream(1))
    assert bits.tolist() == [True, False, False, False]


@pytest.mark.parametrize("dials", [{}, {0: 1}, dict.fromkeys(range(5000), 100), {n: n % 101 for n in range(5000)}])
def test_random_words_do_not_depend_on_the_profile(dials):
    stream = seeded_stream(1)
    draw_bits(dials, epsilon=EPSILON, size=5000, stream=stream)
    assert stream.drawn == 5000


def test_bits_have_the_exact_frequencies():
    """Five kinds of items, 10**5 bits each, within 6 standard deviations: false alarm below 1e-8."""
    size = 100_000
    for dial in (0, 10, 50, 90, 100):
        bits = draw_bits(dict.fromkeys(range(size), dial), epsilon=EPSILON, size=size, stream=seeded_stream(9, dial))
        code = math.floor(dial * 255 / 100)
        expected = np.exp(1.5 * code / 255) / (1 + np.exp(1.5))
        assert abs(bits.mean() - expected) < 6 * (expected * (1 - expected) / size) ** 0.5


def test_weights_are_rounded_down():
    weights = ("0.29", 0.29, "1", 1.0, "0.999", 0.999, "", " 0.5 ")
    assert [as_dial(weight) for weight in weights] == [29, 29, 100, 100, 99, 99, 100, 50]
    for bad in ("-0.1", "1.01", "nan", "much", float("inf")):
        with pytest.raises(InvalidInput, match="from 0 to 1") as caught:
            as_dial(bad)
        assert str(bad) not in str(caught.value)


def test_a_dial_is_rounded_down_however_long_the_weight_is():
    assert as_dial("0.28" + "9" * 60) == 28
    assert as_dial("0." + "9" * 60) == 99
