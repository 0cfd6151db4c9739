"""Kernels: Cyclon, the protocol that keeps every node supplied with random peers. It never looks at a profile.

An entry of a view is a peer and the cycle in which that peer made it (`born`); -1 stands for an empty place. Nodes act
one after the other within a cycle, so that an exchange is an exchange: what one node gives away the other one has.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["choices_per_word", "exchange_views", "first_views"]

Views = NDArray[np.int32]
Births = NDArray[np.int16]
Words = NDArray[np.uint64]

#: A choice among the few entries of a view takes 16 random bits.
choices_per_word = 4


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, inline="always")
def _take(words: Words, place: int, number: int, below: int) -> int:
    """Return the random choice `number` of an exchange whose words start at `place`."""
    bits = (words[place + (number >> 2)] >> np.uint64(16 * (number & 3))) & np.uint64(0xFFFF)
    return np.int64((bits * np.uint64(below)) >> np.uint64(16))


@njit(cache=True, nogil=True)
def _receive(
    view: Views, born: Births, node: int, sent: NDArray[np.int64], n_sent: int, ids: Views, births: Births, count: int
) -> None:
    """Take in entries: never oneself, never twice, first into empty places, then instead of what was sent."""
    width = view.shape[1]
    used = 0
    for number in range(count):
        peer = ids[number]
        known = peer == node
        empty = -1
        for slot in range(width):
            known |= view[node, slot] == peer
            if view[node, slot] < 0 and empty < 0:
                empty = slot
        if known:
            continue
        if empty < 0:
            if used == n_sent:
                return
            empty = sent[used]
            used += 1
        view[node, empty] = peer
        born[node, empty] = births[number]


@njit(cache=True, nogil=True)
def exchange_views(view: Views, born: Births, now: int, exchange: int, words: Words, words_each: int) -> None:
    """Let every node exchange up to `exchange` entries with its oldest peer.

    The node gives that peer's entry away for good and sends itself instead, as the freshest entry of all. So everybody
    is in about as many views as everybody else, and who has left is forgotten.
    """
    n, width = view.shape
    slots, other_slots = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    ids, other_ids = np.empty(exchange, dtype=np.int32), np.empty(exchange, dtype=np.int32)
    births, other_births = np.empty(exchange, dtype=np.int16), np.empty(exchange, dtype=np.int16)
    for node in range(n):
        place = node * words_each
        filled, oldest = 0, -1
        for slot in range(width):
            if view[node, slot] >= 0:
                if oldest < 0 or born[node, slot] < born[node, slots[oldest]]:
                    oldest = filled
                slots[filled] = slot
                filled += 1
        if filled == 0:
            continue
        slots[0], slots[oldest] = slots[oldest], slots[0]
        peer = view[node, slots[0]]
        ids[0], births[0] = node, now
        sent = min(exchange, filled)
        for number in range(1, sent):
            chosen = number + _take(words, place, number - 1, filled - number)
            slots[number], slots[chosen] = slots[chosen], slots[number]
            ids[number], births[number] = view[node, slots[number]], born[node, slots[number]]
        filled = 0
        for slot in range(width):
            if view[peer, slot] >= 0:
                other_slots[filled] = slot
                filled += 1
        returned = min(exchange, filled)
        for number in range(returned):
            chosen = number + _take(words, place, exchange + number - 1, filled - number)
            other_slots[number], other_slots[chosen] = other_slots[chosen], other_slots[number]
            other_ids[number] = view[peer, other_slots[number]]
            other_births[number] = born[peer, other_slots[number]]
        view[node, slots[0]] = -1
        # Place 0 of `slots` is now empty and is filled first, so what may be overwritten starts at place 1.
        _receive(view, born, node, slots[1:], sent - 1, other_ids, other_births, returned)
        _receive(view, born, peer, other_slots, returned, ids, births, sent)
