"""Short names of keys, for slips: eight bytes stand for 32, and whoever knows the key knows whom they mean. No I/O."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from hetdp.node.protocol.messages import Slip, name_of

__all__ = ["NameBook", "short"]

#: More keys than a node knows places of and holds sketches of, all together.
_MOST_NAMES = 20_000


class NameBook:
    """The keys that a node has met, by name; beyond what it remembers, those met longest ago are forgotten.

    Those whose sketches are `held` are never forgotten, however many others are met: it tells their keys by name. What
    a name means that was never met is the name itself: to the shelf it is somebody new.
    """

    def __init__(self, own_key: bytes, *, held: Callable[[bytes], bytes | None]) -> None:
        self._own = {name_of(own_key): own_key}
        self._held = held
        self._keys: OrderedDict[bytes, bytes] = OrderedDict()

    def add(self, key: bytes) -> None:
        """Remember a key. Of two with the same name, the first: nobody takes another's name."""
        name = name_of(key)
        self._keys.setdefault(name, key)
        self._keys.move_to_end(name)
        if len(self._keys) > _MOST_NAMES:
            self._keys.popitem(last=False)

    def whole(self, slips: Iterable[Slip]) -> list[Slip]:
        """Return slips with keys in the place of names."""
        return [Slip(self._key(slip.key), slip.epoch) for slip in slips]

    def _key(self, name: bytes) -> bytes:
        return self._own.get(name) or self._held(name) or self._keys.get(name, name)


def short(slips: Iterable[Slip]) -> tuple[Slip, ...]:
    """Return slips with names in the place of keys, as they are sent."""
    return tuple(Slip(name_of(slip.key), slip.epoch) for slip in slips)
