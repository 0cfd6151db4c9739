"""Kernels: Vicinity, the protocol that keeps the best peers met so far. It looks at noisy scores only.

A cycle is synchronous: every node reads the views that the others had when it began and writes a row of its own, so
nodes can be handled in any order and by any number of threads. The last kernels tell who was compared with whom, and
how many of the best peers were found.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel

Views = NDArray[np.int32]
Births = NDArray[np.int16]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]

_OLD = -1  # met before and turned down: never again of interest, because a view only gets better
_NEW = -2  # payloads from here down count the new candidates


class Scratch(NamedTuple):
    """Room for what one node hears of.

    Attributes
    ----------
    offered, offered_born
        All peers offered to it, with repetitions.
    stamps, keys, payloads
        A table of the peers it knows, by hash: whose entry it is, the peer, and what is known of it. As many as a power
        of two; stamps are -1 to begin with.
    """

    offered: Views
    offered_born: Births
    stamps: Views
    keys: Views
    payloads: Views


@kernel
def choose_partners(view: Views, born: Births, random_view: Views, words: Words, partners: Views) -> None:
    """Choose the peer that each node talks to: the one heard of longest ago, chance among equals.

    A node whose view is still empty talks to a random peer.
    """
    n, width = view.shape
    random_width = random_view.shape[1]
    for node in range(n):
        word = words[node]
        slot: Any = np.int64(((word & np.uint64(0xFFFFFFFF)) * np.uint64(width)) >> np.uint64(32))
        best = -1
        for _ in range(width):
            if view[node, slot] >= 0 and (best < 0 or born[node, slot] < born[node, best]):
                best = slot
            slot += 1
            if slot == width:
                slot = 0
        if best >= 0:
            partners[node] = view[node, best]
            continue
        partners[node] = -1
        slot = np.int64(((word >> np.uint64(32)) * np.uint64(random_width)) >> np.uint64(32))
        for _ in range(random_width):
            if random_view[node, slot] >= 0:
                partners[node] = random_view[node, slot]
                break
            slot = slot + 1 if slot + 1 < random_width else 0


@inlined
def _hash(peer: int, mask: int) -> Any:  # noqa: ANN401  (a 64-bit integer)
    return np.int64((np.uint64(peer) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask


@kernel
def collect_candidates(
    begin: int,
    end: int,
    now: int,
    exchange: int,
    view: Views,
    born: Births,
    partners: Views,
    inbox_indptr: Places,
    senders: Views,
    random_view: Views,
    random_born: Births,
    previous_random_view: Views,
    seen: Words,
    next_born: Births,
    scratch: Scratch,
    indptr: Places,
    found: Views,
    found_born: Births,
) -> None:
    """Write the new candidates of the nodes from `begin` to `end`: rows of peers, and when their entries were born.

    Candidates are the partner and its best, every sender and its best, and the random view. Left out are oneself,
    repetitions, peers in one's view (whose entries may get fresher: `next_born`), and peers turned down before, as far
    as they are remembered: all of them where `seen` holds a bit per pair, else those of the last random view. That only
    saves work: a peer turned down once would be turned down again.
    """
    width, random_width = view.shape[1], random_view.shape[1]
    remembers = seen.shape[0] > 0
    offered, offered_born, stamps, keys, payloads = scratch
    indptr[0] = 0
    count = 0
    for node in range(begin, end):
        n_offers = 0
        # The partner comes last of all senders, so that one loop reads both.
        for place in range(inbox_indptr[node], inbox_indptr[node + 1] + 1):
            peer = senders[place] if place < inbox_indptr[node + 1] else partners[node]
            if peer < 0:
                continue
            offered[n_offers], offered_born[n_offers] = peer, now
            n_offers += 1
            for slot in range(exchange):
                if view[peer, slot] >= 0:
                    offered[n_offers], offered_born[n_offers] = view[peer, slot], born[peer, slot]
                    n_offers += 1
        for slot in range(random_width):
            if random_view[node, slot] >= 0:
                offered[n_offers], offered_born[n_offers] = random_view[node, slot], random_born[node, slot]
                n_offers += 1
        # A small table of the peers known so far, cleared by a change of stamp.
        size = 16
        while size < 2 * (n_offers + width + random_width):
            size *= 2
        mask = size - 1
        for slot in range(width):
            next_born[node, slot] = born[node, slot]
            peer = view[node, slot]
            if peer >= 0:
                place = _hash(peer, mask)
                while stamps[place] == node:
                    place = (place + 1) & mask
                stamps[place], keys[place], payloads[place] = node, peer, slot
        if not remembers:
            for slot in range(previous_random_view.shape[1]):
                peer = previous_random_view[node, slot]
                if peer >= 0:
                    place = _hash(peer, mask)
                    while stamps[place] == node and keys[place] != peer:
                        place = (place + 1) & mask
                    if stamps[place] != node:
                        stamps[place], keys[place], payloads[place] = node, peer, _OLD
        first = count
        for number in range(n_offers):
            peer, birth = offered[number], offered_born[number]
            if peer == node:
                continue
            place = _hash(peer, mask)
            while stamps[place] == node and keys[place] != peer:
                place = (place + 1) & mask
            if stamps[place] == node:
                payload = payloads[place]
                if payload >= 0:
                    next_born[node, payload] = max(next_born[node, payload], birth)
                elif payload <= _NEW:
                    spot = first + _NEW - payload
                    found_born[spot] = max(found_born[spot], birth)
                continue
            stamps[place], keys[place] = node, peer
            if remembers:
                bit = np.uint64(1) << np.uint64(peer & 63)
                if seen[node, peer >> 6] & bit:
                    payloads[place] = _OLD
                    continue
                seen[node, peer >> 6] |= bit
            payloads[place] = _NEW - (count - first)
            found[count], found_born[count] = peer, birth
            count += 1
        indptr[node - begin + 1] = count


@kernel
def keep_best(
    begin: int,
    indptr: Places,
    found: Views,
    found_born: Births,
    found_scores: NDArray[np.float64],
    view: Views,
    scores: NDArray[np.float64],
    next_view: Views,
    next_born: Births,
) -> None:
    """Merge candidates into the views from row `begin` on: higher scores first, smaller index among equals.

    Empty places score minus infinity. `scores` and `next_born` hold the old rows on entry and the new ones on exit;
    `next_view` may be `view` itself where nobody else reads it.
    """
    width = view.shape[1]
    worst = width - 1
    for row in range(indptr.size - 1):
        node = begin + row
        for slot in range(width):
            next_view[node, slot] = view[node, slot]
        for place in range(indptr[row], indptr[row + 1]):
            peer, value = found[place], found_scores[place]
            if value < scores[node, worst] or (value == scores[node, worst] and peer >= next_view[node, worst]):
                continue
            slot = 0
            while value < scores[node, slot] or (value == scores[node, slot] and peer > next_view[node, slot]):
                slot += 1
            if next_view[node, slot] == peer:  # both asked about the other in the same cycle
                continue
            for later in range(worst, slot, -1):
                scores[node, later] = scores[node, later - 1]
                next_view[node, later] = next_view[node, later - 1]
                next_born[node, later] = next_born[node, later - 1]
            scores[node, slot] = value
            next_view[node, slot] = peer
            next_born[node, slot] = found_born[place]


@kernel
def worth_telling(
    begin: int,
    indptr: Places,
    found: Views,
    found_scores: NDArray[np.float64],
    worst: NDArray[np.float64],
    peers: Views,
    nodes: Views,
    scores: NDArray[np.float64],
) -> int:
    """Write the comparisons that the peer asked about wants to know of: peers, who asked, scores; return how many.

    Both sides of a comparison learn the score; `worst` is what each node had to beat when the cycle began.
    """
    size = 0
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            if found_scores[place] >= worst[found[place]]:
                peers[size], nodes[size], scores[size] = found[place], begin + row, found_scores[place]
                size += 1
    return size


@kernel
def sort_by_key(keys: Views, free: Places, order: Views) -> None:
    """Write the places of the keys to `order`, by key and then by place; negative ones are left out.

    `free` holds where each key begins, and on exit where it ends.
    """
    for place in range(keys.size):
        if keys[place] >= 0:
            order[free[keys[place]]] = place
            free[keys[place]] += 1


@kernel
def count_matches(users: Views, truth: Views, view: Views, viewed: Places) -> int:
    """Return how many peers of the rows `truth` are among as many first ones in the views of `users`.

    `viewed` holds the last row in whose view each peer was, and -1 on entry.
    """
    matches = 0
    k = truth.shape[1]
    for row in range(users.size):
        for slot in range(k):
            peer = view[users[row], slot]
            if peer >= 0:
                viewed[peer] = row
        for slot in range(k):
            peer = truth[row, slot]
            if peer >= 0 and viewed[peer] == row:
                matches += 1
    return matches


@kernel
def mark_met(begin: int, indptr: Places, found: Views, seen: Words) -> None:
    """Let the peers that were asked about remember who asked."""
    for row in range(indptr.size - 1):
        node = begin + row
        bit = np.uint64(1) << np.uint64(node & 63)
        for place in range(indptr[row], indptr[row + 1]):
            seen[found[place], node >> 6] |= bit


@kernel
def note_comparisons(
    begin: int,
    indptr: Places,
    found: Views,
    is_counted: NDArray[np.bool_],
    asked: Places,
    answered: Places,
    log: Places,
) -> int:
    """Add to the tallies, and log node * n + peer for every comparison in which `node` is counted; return how many."""
    n = is_counted.size
    size = 0
    for row in range(indptr.size - 1):
        node = begin + row
        asked[node] += indptr[row + 1] - indptr[row]
        for spot in range(indptr[row], indptr[row + 1]):
            peer = np.int64(found[spot])
            answered[peer] += 1
            if is_counted[node]:
                log[size] = node * n + peer
                size += 1
            if is_counted[peer]:
                log[size] = peer * n + node
                size += 1
    return size
