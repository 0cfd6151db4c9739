"""A whole network in memory with a fake clock: the same state machines as on the wire, and every misfortune at will.

Loss, duplication, reordering (random delays), partitions, nodes that come and go, clocks that differ, and peers that
are anything but honest. Every message is recorded, so that tests can compare what an eavesdropper sees.
"""

import heapq
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from hetdp.core.randomness import Stream, seeded_stream
from hetdp.node.protocol.node import Action, Call, HangUp, Reply

__all__ = ["Conditions", "MemoryNetwork", "Observed", "Participant"]


class Participant(Protocol):
    """What the network needs of a node: `hetdp.node.protocol.node.Node`, or something malicious."""

    @property
    def next_wakeup_s(self) -> float:
        """When `tick` has something to do."""

    def tick(self, now_s: float) -> list[Action]:
        """Let time pass."""

    def receive(self, link: Hashable, curve: bytes, raw: bytes, *, now_s: float) -> list[Action]:
        """Take in one message."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What an eavesdropper on all wires sees of one message."""

    time_s: float
    sender: str
    receiver: str
    size: int


@dataclass(slots=True)
class Conditions:
    """How bad the network is."""

    loss: float = 0.0  # probability
    duplication: float = 0.0  # probability
    delay_s: tuple[float, float] = (0.01, 0.05)  # a wide range reorders messages
    reachable: Callable[[str, str], bool] = field(default=lambda _sender, _receiver: True)  # for partitions


@dataclass(slots=True)
class _Member:
    node: Participant
    address: str
    curve: bytes
    clock_offset_s: float


class MemoryNetwork:
    """Nodes, connections between them, and a clock that moves when told. Conditions may be changed at any time."""

    def __init__(self, *, seed: int, now_s: float = 0.0, conditions: Conditions | None = None) -> None:
        self.now_s = now_s
        self.conditions = conditions or Conditions()
        self.log: list[Observed] = []
        self._stream: Stream = seeded_stream(seed)
        self._members: dict[str, _Member] = {}
        self._links: dict[tuple[str, Hashable], tuple[str, Hashable]] = {}
        self._queue: list[tuple[float, int, str, Callable[[], None]]] = []
        self._order = 0

    def add(self, node: Participant, *, address: str, curve: bytes, clock_offset_s: float = 0.0) -> None:
        """Let a node take part from now on."""
        self._members[address] = _Member(node, address, curve, clock_offset_s)
        self._wake(self._members[address])

    def remove(self, address: str) -> None:
        """Let a node vanish, as if killed."""
        self._members.pop(address, None)

    def run(self, *, until_s: float) -> None:
        """Let everything happen until a moment."""
        while self._queue and self._queue[0][0] <= until_s:
            self.now_s, _, _, event = heapq.heappop(self._queue)
            event()
        self.now_s = until_s

    def _wake(self, member: _Member) -> None:
        def event() -> None:
            if self._members.get(member.address) is not member:
                return
            if member.node.next_wakeup_s <= self.now_s + member.clock_offset_s:
                self._act(member, member.node.tick(self.now_s + member.clock_offset_s))
            self._wake(member)

        due_s = max(member.node.next_wakeup_s - member.clock_offset_s, self.now_s + 1e-6)
        self._schedule(due_s, member.address, event)

    def _schedule(self, due_s: float, label: str, event: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (due_s, self._order, label, event))

    def _act(self, member: _Member, actions: Iterable[Action]) -> None:
        for action in actions:
            here = (member.address, action.link)
            if isinstance(action, HangUp):
                there = self._links.pop(here, None)
                if there is not None:
                    self._links.pop(there, None)
                continue
            if isinstance(action, Call):
                there = (action.address, ("in", member.address, action.link))
                self._links[here], self._links[there] = there, here
            found = self._links.get(here)
            if isinstance(action, Call | Reply) and found is not None:
                self._send(member, found, action.raw)

    def _send(self, member: _Member, there: tuple[str, Hashable], raw: bytes) -> None:
        address, link = there
        self.log.append(Observed(self.now_s, member.address, address, len(raw)))
        low, high = self.conditions.delay_s
        luck = self._stream.uniforms(4)
        if luck[0] < self.conditions.loss or not self.conditions.reachable(member.address, address):
            return
        delays = [low + (high - low) * float(luck[1])]
        if luck[2] < self.conditions.duplication:
            delays.append(low + (high - low) * float(luck[3]))

        def arrive() -> None:
            receiver = self._members.get(address)
            if receiver is not None:
                now_s = self.now_s + receiver.clock_offset_s
                self._act(receiver, receiver.node.receive(link, member.curve, raw, now_s=now_s))

        for delay in delays:
            self._schedule(self.now_s + delay, address, arrive)
