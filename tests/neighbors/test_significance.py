"""Significance means one thing: one minus the chance that the best of all others gets there by noise alone."""

from fractions import Fraction

import numpy as np
import pytest

import hetdp
from hetdp.neighbors.engines.sketch.engine import sketch_items_to_stand_out, sketch_significance
from hetdp.neighbors.scores import items_to_stand_out, overlap_significance
from hetdp.node.neighbors import find_neighbors
from hetdp.node.protocol.messages import SignedSketch
from hetdp.sketching.drawing import pack
from hetdp.sketching.reading import RARE, SIGNIFICANT, items_behind


@pytest.mark.parametrize(("shown", "verdict"), [(10, "may be chance"), (12, "significant")])
def test_library_and_node_say_the_same(shown, verdict):
    """So many ones of 50 items among 1,000 others at epsilon 3; at 10, the library said 0.99 and the node "chance"."""
    overlaps = items_behind(np.array([[shown]]), 50, 3)
    of_library = sketch_significance(overlaps, np.array([50]), others=1000, epsilon=3)[0, 0]
    bits = np.zeros((1000, 400), dtype=bool)
    bits[0, :shown] = True
    sketches = [SignedSketch(number.to_bytes(32), 0, pack(row), b"", b"") for number, row in enumerate(bits)]
    best = find_neighbors(sketches, range(50), epsilon=Fraction(3), sizes={b"": 400}, count=1)[0]
    assert best.shared == pytest.approx(overlaps[0, 0])
    assert of_library == pytest.approx(1 - best.by_chance)
    assert (of_library >= SIGNIFICANT) == (best.by_chance < RARE) == (verdict == "significant")


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_among_strangers_anybody_stands_out_one_time_in_twenty_at_most(spread):
    """500 strangers, with factors of their own in a cosine; 1e-6 allows 4.9 standard errors."""
    factors = np.exp(spread * np.random.default_rng(1).standard_normal(500))
    steps = hetdp.discrete_laplace(255, (20_000, 500), random_state=5)
    best = np.sort(steps * factors, axis=1)[:, ::-1][:, :5] / 255
    sure = overlap_significance(best, others=500, epsilon=1, factors=factors)
    share = (sure[:, 0] >= 0.95).mean()
    assert 0.02 < share < 0.05 + 4.9 * np.sqrt(0.05 * 0.95 / 20_000)
    assert (np.diff(sure, axis=1) <= 0).all()


def test_significance_of_sketches_follows_the_binomial():
    sure = sketch_significance(np.array([[20.0, 0.0], [20.0, np.nan]]), np.array([50, 20]), others=300, epsilon=2)
    assert sure[0, 0] > 0.99
    assert sure[0, 1] < 0.5
    assert np.isnan(sure[1, 1])


def test_items_to_stand_out_grow_with_the_logarithm_of_the_crowd():
    needed = [items_to_stand_out(n_users=10**power, epsilon=1.0) for power in (3, 4, 5, 6)]
    assert np.diff(needed) == pytest.approx(np.log(10), rel=0.01)
    assert items_to_stand_out(n_users=10**5, epsilon=0.5) == pytest.approx(2 * needed[2])
    assert 0 < items_to_stand_out(n_users=2, epsilon=1.0) < items_to_stand_out(n_users=3, epsilon=1.0)


@pytest.mark.parametrize("n_users", [2, 120, 100_000])
def test_items_to_stand_out_is_where_significance_begins(n_users):
    needed = items_to_stand_out(n_users=n_users, epsilon=2.0)
    sure = overlap_significance(np.array([[needed + 0.01, needed - 0.01]]), others=n_users - 1, epsilon=2.0)
    assert sure[0, 0] >= SIGNIFICANT > sure[0, 1]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("size", [5, 50, 400])
def test_sketch_items_to_stand_out_is_where_significance_begins(epsilon, size):
    n_users = 5_000
    needed = sketch_items_to_stand_out(n_users=n_users, epsilon=epsilon, size=size)
    contrast = np.tanh(epsilon / 2)

    def is_significant(overlap):
        found = sketch_significance(np.array([[overlap]]), np.array([size]), others=n_users - 1, epsilon=epsilon)
        return found[0, 0] >= SIGNIFICANT

    if np.isinf(needed):
        assert not is_significant(size - 1 / contrast)
    else:
        assert is_significant(needed)
        assert not is_significant(needed - 1 / contrast)


def test_few_items_cannot_stand_out():
    common = {"n_users": 5_000, "epsilon": 0.5}
    assert np.isinf(sketch_items_to_stand_out(size=5, **common))
    assert sketch_items_to_stand_out(size=400, **common) < 400
