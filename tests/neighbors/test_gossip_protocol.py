"""Random peers (Cyclon): distinct others, all connected, everybody in about as many views. Seeds are fixed."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.gossip.protocol import RandomPeers


def in_degrees(view, n):
    return np.bincount(view[view >= 0], minlength=n)


@pytest.mark.parametrize(("n", "width", "exchange"), [(400, 10, 5), (50, 10, 10), (12, 10, 5), (6, 10, 5), (40, 3, 1)])
def test_views_hold_distinct_others_only(n, width, exchange):
    peers = RandomPeers(n, width=width, exchange=exchange, stream=seeded_stream(1))
    for _ in range(30):
        view = peers.next_cycle().view
        assert view.shape == (n, min(width, n - 1))
        assert view.max() < n
        assert (view != np.arange(n)[:, None]).all()
        for row in view.tolist():
            present = [peer for peer in row if peer >= 0]
            assert len(present) == len(set(present))


def test_the_network_stays_connected_and_balanced():
    n = 2000
    peers = RandomPeers(n, width=10, exchange=5, stream=seeded_stream(2))
    started = in_degrees(peers._views.view, n)
    for _ in range(40):
        views = peers.next_cycle()
        rows = np.repeat(np.arange(n), 10)[views.view.reshape(-1) >= 0]
        columns = views.view[views.view >= 0]
        graph = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
        assert connected_components(graph, directed=True, connection="weak", return_labels=False) == 1
    degrees = in_degrees(views.view, n)
    assert (views.view >= 0).mean() > 0.97
    # A random graph has a standard deviation of 3.2; Cyclon narrows it, and leaves nobody out.
    assert degrees.std() < 0.9 * started.std()
    assert degrees.min() >= 1
    assert degrees.max() < 30


def test_views_keep_changing_and_entries_stay_young():
    peers = RandomPeers(1000, width=10, exchange=5, stream=seeded_stream(3))
    for _ in range(20):
        before = peers.next_cycle()
    kept = before.view.copy()
    after = peers.next_cycle()
    assert np.array_equal(before.view, kept)  # earlier views are left as they were
    same = (after.view[:, :, None] == before.view[:, None, :]).any(axis=2).mean()
    assert 0.1 < same < 0.7
    assert after.born[after.view >= 0].max() == 21
    assert after.born[after.view >= 0].min() > 21 - 20


def test_over_time_everybody_is_met_about_equally():
    """Peers seen over 200 cycles are spread evenly over all nodes: no node is met twice as often as the mean."""
    n = 300
    peers = RandomPeers(n, width=10, exchange=5, stream=seeded_stream(4))
    met = np.zeros(n)
    for _ in range(200):
        met += in_degrees(peers.next_cycle().view, n)
    assert met.min() > 0.7 * met.mean()
    assert met.max() < 1.3 * met.mean()


def test_a_single_node_and_two():
    assert RandomPeers(1, width=10, exchange=5, stream=seeded_stream(1)).next_cycle().view.shape == (1, 0)
    pair = RandomPeers(2, width=10, exchange=5, stream=seeded_stream(1))
    for _ in range(10):
        view = pair.next_cycle().view
    assert sorted(view[view >= 0].tolist()) in ([0, 1], [0], [1])
