"""Network: the epoch clock, what happened, peers reached, sketches held, traffic."""

from itertools import pairwise
from typing import Any

from hetdp.node.page.base_page import Page
from hetdp.node.page.pictures import curve_path, face
from hetdp.node.protocol.network import sketch_bytes
from hetdp.node.storage.events import happening
from hetdp.node.storage.folder import NETWORK

__all__ = ["NetworkPage"]

_MOST_PEERS = 12
_MOST_EVENTS = 50
_WEEK_S = 7 * 24 * 3600


class NetworkPage(Page):
    """What the page of the network shows."""

    address = "/network"
    title = "Network"
    icon = (
        '<circle cx="12" cy="5.5" r="2.2"/><circle cx="5.5" cy="17" r="2.2"/><circle cx="18.5" cy="17" r="2.2"/>'
        '<path d="M11 7.5L6.6 15M13 7.5l4.4 7.5M7.8 17h8.4"/>'
    )
    template = "network.html"
    watch = "epoch network"

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        store, network, status = self._node.store, self._node.network, self._node.status()
        history = store.peers.traffic_history()
        steps = [(later[1] - earlier[1], later[2] - earlier[2]) for earlier, later in pairwise(history)]
        top = max((max(step) for step in steps), default=0)
        peers, events = store.peers.known(), store.events.all(_MOST_EVENTS)
        return {
            "status": status,
            "alike": len(store.peers.liked()),
            "own_face": face(status.key_hex),
            "parameters": network,
            "epsilon": float(network.epsilon),
            "sketch_bytes": sketch_bytes(self._node.store.catalogue.size()),
            "first_peers": any(peer.key != status.key_hex for peer in network.bootstrap),
            "network_file": str(self._node.folder / NETWORK),
            "peers": [(peer, face(peer.key_hex)) for peer in peers[:_MOST_PEERS]],
            "more_peers": max(0, len(peers) - _MOST_PEERS),
            # Less than nothing was sent where the node was started again with an older store.
            "sent_path": curve_path([max(0, sent) for sent, _ in steps], top=top),
            "received_path": curve_path([max(0, received) for _, received in steps], top=top, filled=True),
            "top": top,
            "per_week": _per_week(history),
            "events": [(event.time_s, happening(event)) for event in events],
            "since_s": history[0][0] if history else None,
        }


def _per_week(history: list[tuple[float, int, int]]) -> int | None:
    """Return how many bytes a week takes at the pace of the last exchanges; None before there are two."""
    if len(history) < 2 or history[-1][0] <= history[0][0]:  # noqa: PLR2004  (a pace needs two moments)
        return None
    (first_s, *before), (last_s, *after) = history[0], history[-1]
    return max(0, round((sum(after) - sum(before)) / (last_s - first_s) * _WEEK_S))
