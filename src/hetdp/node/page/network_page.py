"""Network: the epoch clock, peers known, sketches held, traffic."""

from itertools import pairwise

from starlette.responses import Response

from hetdp.node.handle import NodeHandle
from hetdp.node.page.pictures import curve_path, face
from hetdp.node.page.rendering import Renderer
from hetdp.node.storage.folder import NETWORK

__all__ = ["NetworkPage"]

_MOST_PEERS = 30


class NetworkPage:
    """What the page of the network shows."""

    def __init__(self, node: NodeHandle, renderer: Renderer) -> None:
        self._node, self._renderer = node, renderer

    def show(self) -> Response:
        """Return the page.

        Privacy
        -------
        For the owner's eyes: it tells whom the node has talked to.
        """
        store, network, status = self._node.store, self._node.network, self._node.status()
        history = store.peers.traffic_history()
        steps = [(later[1] - earlier[1], later[2] - earlier[2]) for earlier, later in pairwise(history)]
        top = max((max(step) for step in steps), default=0)
        peers = store.peers.known()
        return self._renderer.page(
            "/network",
            "network.html",
            watch="epoch network",
            status=status,
            own_face=face(status.key_hex),
            parameters=network,
            epsilon=float(network.epsilon),
            sketch_bytes=-(-network.items // 8),
            first_peers=any(peer.key != status.key_hex for peer in network.bootstrap),
            network_file=str(self._node.folder / NETWORK),
            peers=[(peer, face(peer.key_hex)) for peer in peers[:_MOST_PEERS]],
            more_peers=max(0, len(peers) - _MOST_PEERS),
            # Less than nothing was sent where the node was started again with an older store.
            sent_path=curve_path([max(0, sent) for sent, _ in steps], top=top),
            received_path=curve_path([max(0, received) for _, received in steps], top=top, filled=True),
            top=top,
            since_s=history[0][0] if history else None,
        )
