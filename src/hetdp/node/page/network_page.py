"""Network: the epoch clock, what happened, peers reached, sketches held, traffic."""

from typing import Any

from hetdp.node.page.base_page import Page
from hetdp.node.page.pictures import face
from hetdp.node.protocol.network import sketch_bytes
from hetdp.node.storage.events import happening
from hetdp.node.storage.folder import NETWORK

_MOST_PEERS = 12
_MOST_EVENTS = 50


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
            "events": [(event.time_s, happening(event)) for event in events],
        }
