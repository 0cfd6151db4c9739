"""Kernels: Cyclon, the protocol that keeps every node supplied with random peers. It never looks at a profile.

An entry of a view is a peer and the cycle in which that peer made it (`born`); -1 stands for an empty place. Nodes act
one after the other within a cycle, so that an exchange is an exchange: what one node gives away the other one has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner, kernel

Views = NDArray[np.int32]
Births = NDArray[np.int16]
Words = NDArray[np.uint64]

#: A choice among the few entries of a view takes 16 random bits.
choices_per_word = 4


@kernel
def first_views(words: Words, begin: int, end: int, view: Views) -> None:
    """Give the nodes from `begin` to `end` a view of distinct random peers, one word per entry.

    Floyd's way to draw some of n - 1 without a list of n - 1: the newest candidate stands in for a repeated one.
    """
    n, width = view.shape
    for node in range(begin, end):
        for slot in range(width):
            last = n - 1 - width + slot
            word = words[(node - begin) * width + slot] >> np.uint64(32)
            drawn = np.int64((word * np.uint64(last + 1)) >> np.uint64(32))
            for earlier in range(slot):
                if view[node, earlier] == drawn:
                    drawn = last
                    break
            view[node, slot] = drawn
        for slot in range(width):
            if view[node, slot] >= node:  # step over oneself
                view[node, slot] += 1


@inlined
def _take(words: Words, place: int, number: int, below: Any) -> Any:  # noqa: ANN401  (64-bit integers of either kind)
    """Return the random choice `number` of an exchange whose words start at `place`."""
    bits = (words[np.uint64(place + (number >> 2))] >> np.uint64(16 * (number & 3))) & np.uint64(0xFFFF)
    return np.int64((bits * np.uint64(below)) >> np.uint64(16))


@inner
def _receive(
    peers: Views,
    births: Births,
    node: int,
    holes: int,
    sent: NDArray[np.int64],
    n_sent: int,
    ids: Views,
    id_births: Births,
    count: int,
) -> None:
    """Take entries into a view: never oneself, never twice, first into holes, then instead of what was sent."""
    width = peers.size
    used = 0
    for number in range(count):
        peer = ids[number]
        known = peer == node
        for slot in range(width):
            known |= peers[slot] == peer
        if known:
            continue
        target = -1
        if holes > 0:
            for slot in range(width):
                if peers[slot] < 0:
                    target = slot
            holes -= 1
        else:
            if used == n_sent:
                return
            target = sent[used]
            used += 1
        peers[target] = peer
        births[target] = id_births[number]


@kernel
def exchange_views(
    view: Views,
    born: Births,
    now: int,
    words: Words,
    words_each: int,
    both_slots: NDArray[np.int64],
    both_ids: Views,
    both_births: Births,
) -> None:
    """Let every node exchange entries with its oldest peer, as many as there is room for.

    The node gives that peer's entry away for good and sends itself instead, as the freshest entry of all. So everybody
    is in about as many views as everybody else, and who has left is forgotten.

    The last three are room for either side: one place more than a view has, and what is sent.
    """
    n, width = view.shape
    exchange = both_ids.shape[1]
    slots, ids, births = both_slots[0], both_ids[0], both_births[0]
    other_slots, other_ids, other_births = both_slots[1], both_ids[1], both_births[1]
    for node in range(n):
        own, own_born = view[node], born[node]
        place = node * words_each
        filled, oldest, least = 0, 0, now + 1
        for slot in range(width):
            slots[filled] = slot
            if own[slot] >= 0:
                if own_born[slot] < least:
                    oldest, least = filled, own_born[slot]
                filled += 1
        if filled == 0:
            continue
        slots[0], slots[oldest] = slots[oldest], slots[0]
        peer: Any = np.int64(own[slots[0]])  # as `node` is: one `_receive` is enough
        ids[0], births[0] = node, now
        sent = min(exchange, filled)
        for number in range(1, sent):
            chosen = number + _take(words, place, number - 1, filled - number)
            slots[number], slots[chosen] = slots[chosen], slots[number]
            ids[number], births[number] = own[slots[number]], own_born[slots[number]]
        own[slots[0]] = -1
        holes = width - filled + 1
        theirs, theirs_born = view[peer], born[peer]
        filled = 0
        for slot in range(width):
            other_slots[filled] = slot
            filled += int(theirs[slot] >= 0)
        returned = min(exchange, filled)
        for number in range(returned):
            chosen = number + _take(words, place, exchange + number - 1, filled - number)
            other_slots[number], other_slots[chosen] = other_slots[chosen], other_slots[number]
            other_ids[number], other_births[number] = theirs[other_slots[number]], theirs_born[other_slots[number]]
        # Place 0 of `slots` is a hole now; what may be overwritten starts at place 1.
        _receive(own, own_born, node, holes, slots[1:], sent - 1, other_ids, other_births, returned)
        _receive(theirs, theirs_born, peer, width - filled, other_slots, returned, ids, births, sent)
