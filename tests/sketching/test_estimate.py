"""What sketches say on average is the truth."""

from fractions import Fraction

import numpy as np

from hetdp.core.randomness import seeded_stream
from hetdp.sketching.bits import pack, toss_bits, unpack
from hetdp.sketching.estimate import item_shares, items_behind, items_behind_error, ones_among

EPSILON = Fraction(1)
PROFILE = np.where(np.arange(400) < 90, 255, 0).astype(np.uint8)


def sketches(count):
    return [pack(toss_bits(PROFILE, epsilon=EPSILON, stream=seeded_stream(7, number))) for number in range(count)]


def test_items_behind_ones_are_counted_without_bias_and_with_an_honest_error():
    """500 sketches that have 40 of 100 items: mean within 6 standard errors (1e-8), spread within a fifth."""
    places = range(50, 150)
    published = sketches(500)
    ones = ones_among(published, places, size=400)
    assert ones.tolist() == [int(unpack(sketch, 400)[50:150].sum()) for sketch in published]
    found, error = items_behind(ones, 100, EPSILON), items_behind_error(100, EPSILON)
    assert abs(found.mean() - 40) < 6 * error / np.sqrt(500)
    assert 0.8 * error < found.std() < 1.2 * error


def test_shares_move_toward_their_mean_and_stay_within_bounds():
    ones = sum(unpack(sketch, 400).astype(np.int64) for sketch in sketches(200))
    shares = item_shares(ones, 200, EPSILON)
    plain = items_behind(ones, 200, EPSILON) / 200
    assert ((shares > 0) & (shares < 1)).all()
    assert abs(shares[:90].mean() - 1) < 0.1
    assert abs(shares[90:].mean()) < 0.05
    inner = (shares > 1e-6) & (shares < 1 - 1e-6)
    assert (np.abs(shares - plain.mean()) <= np.abs(plain - plain.mean()) + 1e-12)[inner].all()
    assert item_shares(np.zeros(0, dtype=np.int64), 5, EPSILON).size == 0


def test_a_few_ones_are_read_as_by_hand():
    assert ones_among([b"\x03", b"\x0c"], {0, 1, 2}, size=8).tolist() == [2, 1]
    assert items_behind([4, 50], 50, 3).round(1).tolist() == [1.8, 52.6]
    assert round(items_behind_error(50, 3), 1) == 1.7
    assert item_shares(np.array([3, 1]), 3, 20).round(3).tolist() == [1.0, 0.333]
