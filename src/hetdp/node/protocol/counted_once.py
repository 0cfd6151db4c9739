"""Which of some sketches are near-identical with one that was there before: those count once. Public data only."""

from hetdp.node.protocol.messages import SignedSketch
from hetdp.sketching.copies import Name, SeenSketches

__all__ = ["CountedOnce"]


class CountedOnce:
    """Sketches of different keys; of those that are near-identical (`hetdp.sketching.copies`), the first counts.

    One of them, the own, counts as there before all others. Where `seen` is None, nothing is told from anything.
    """

    def __init__(self, seen: SeenSketches | None) -> None:
        self._seen = seen
        self._lead: Name | None = None
        self._copies: dict[bytes, tuple[Name, SignedSketch]] = {}  # with the first of its kind

    def __len__(self) -> int:
        """Return how many do not count."""
        return len(self._copies)

    def __contains__(self, key: object) -> bool:
        """Return whether the sketch of a key does not count."""
        return key in self._copies

    def add(self, sketch: SignedSketch) -> None:
        """Take in a sketch of a key that has none here."""
        if self._seen is None:
            return
        alike = self._seen.alike(sketch.bits, _size(sketch))
        if alike:
            # The own one may have come later than one that is like it and like this one.
            first = self._lead if self._lead is not None and self._lead in alike else alike[0]
            self._copies[sketch.key] = first, sketch
        else:
            self._seen.add({_name(sketch): sketch.bits}, _size(sketch))

    def remove(self, sketch: SignedSketch) -> None:
        """Forget a sketch; if it was the first of its kind, the next one is."""
        if self._copies.pop(sketch.key, None) is None:
            self._forget(_name(sketch))

    def lead(self, sketch: SignedSketch, others: dict[bytes, SignedSketch]) -> None:
        """Let a sketch, the own, be there before all `others`, in the place of the one before it."""
        if self._seen is None:
            return
        last, self._lead = self._lead, _name(sketch)
        if last is not None:
            self._forget(last)
        alike = self._seen.alike(sketch.bits, _size(sketch))
        self._seen.add({self._lead: sketch.bits}, _size(sketch))
        for name in alike:
            self._forget(name)
            self._copies[name[0]] = self._lead, others[name[0]]

    def _forget(self, name: Name) -> None:
        if self._seen is None:
            return
        self._seen.discard([name])
        for copy in [copy for first, copy in self._copies.values() if first == name]:
            del self._copies[copy.key]
            self.add(copy)


def _name(sketch: SignedSketch) -> Name:
    return sketch.key, sketch.epoch


def _size(sketch: SignedSketch) -> int:
    """Return how many bits are compared: the last byte may be filled up with zeros that all sketches have."""
    return 8 * (len(sketch.bits) - 1) if sketch.bits else 0
