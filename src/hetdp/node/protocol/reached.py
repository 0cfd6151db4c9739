"""Whom this node has reached itself, and where: the one thing about an address that nobody else can make up. No I/O.

An answer over a connection that this node has opened proves that whoever holds the key is at the address. A call proves
the key only, and a record says what its owner likes.
"""

from collections import OrderedDict

from hetdp.node.protocol.addresses import endpoint_of

__all__ = ["Reached"]

#: So many addresses are remembered, those tried last; one is tried per period.
_MOST = 1024

_Endpoint = tuple[str, int]


class Reached:
    """Who answered at which address when asked there last, and who did not.

    Privacy
    -------
    Knows keys and addresses of peers, which are public; whom a node asks is independent of its profile.

    Examples
    --------
    >>> reached = Reached()
    >>> reached.note(b"tea", "tcp://10.0.0.1:7470", answered=True)
    >>> reached.at(b"tea", "tcp://10.0.0.1:7470"), reached.at(b"tea", "tcp://10.0.0.2:7470")
    (True, False)
    """

    def __init__(self) -> None:
        self._answered: OrderedDict[_Endpoint, bytes] = OrderedDict()
        self._silent: OrderedDict[tuple[_Endpoint, bytes], None] = OrderedDict()

    def note(self, key: bytes, address: str, *, answered: bool) -> None:
        """Remember how it went with a peer that was asked at an address."""
        endpoint = endpoint_of(address)
        if answered:
            self._silent.pop((endpoint, key), None)
            self._answered[endpoint] = key
            self._answered.move_to_end(endpoint)
        else:
            if self._answered.get(endpoint) == key:  # the address may be somebody else's by now
                del self._answered[endpoint]
            self._silent[endpoint, key] = None
            self._silent.move_to_end((endpoint, key))
        for memory in (self._answered, self._silent):
            while len(memory) > _MOST:
                memory.popitem(last=False)

    def at(self, key: bytes, address: str) -> bool:
        """Return whether a peer has answered at an address, and nobody else since."""
        return self._answered.get(endpoint_of(address)) == key

    def rank(self, key: bytes, address: str) -> int:
        """Return how credible it is that a peer is at an address: 1 if it answered, -1 if not, 0 if untried."""
        if self.at(key, address):
            return 1
        return -((endpoint_of(address), key) in self._silent)
