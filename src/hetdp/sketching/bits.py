"""The bits of sketches: of one profile, drawn once and packed for publication; and of many, made when somebody looks.

Both draw from the one law of `sketching.law`. In `Sketches` every bit is a function of a secret key, the item, the
user, and whether and how much that item counts for that user, and of nothing else: so bits can be made in blocks of any
shape, in any order and as often as wanted, and are always the same.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import KeyedWords, Stream
from hetdp.noise.exact_coins import toss_kinds
from hetdp.profiles.steps import CodedProfiles
from hetdp.sketching.law import (
    GROUP_WORDS,
    ROUNDS,
    USUAL_TUNING,
    SketchTables,
    chance_of_one,
    coins,
    contrast,
    sketch_tables,
)

#: Users whose bits are made together; columns come in multiples of it.
GROUP_USERS = 64 * GROUP_WORDS
#: Blocks of AES handled together, so that they stay in the cache.
_BATCH_BLOCKS = 16_384
#: Different purposes give independent words for the same item and user: first digits, later digits, second coins.
_HEAD, _TAIL, _EXTRA = 1, 2, 3


def toss_bits(
    codes: NDArray[np.uint8], *, epsilon: Fraction, stream: Stream, tuned_for: Fraction = USUAL_TUNING
) -> NDArray[np.bool_]:
    """Draw the bits of one sketch, one per catalogue item; `codes` are weights in steps of 1/255, 0 for absent items.

    Both likelihood ratios of bit i are at most exp(epsilon v_i) (docs/proofs/mechanisms.md), so item i pays epsilon *
    v_i, once, against everybody together. An item of code 0 leaves every bit the same for the same stream. One random
    word per catalogue item, and the same work, whatever the profile.
    """
    return toss_kinds(coins(epsilon, tuned_for), codes.astype(np.intp), stream)


def pack(bits: NDArray[np.bool_]) -> bytes:
    """Return bits as bytes, first item in the lowest bit; what is left of the last byte is 0."""
    return np.packbits(bits, bitorder="little").tobytes()


def unpack(packed: bytes, size: int) -> NDArray[np.bool_]:
    """Return the bits of a packed sketch."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=size, bitorder="little").view(np.bool_)


class Sketches:
    """The sketches of all users of one epoch.

    What `published_sketch` returns may be published: item i of its user pays epsilon * v_i, once, against everybody
    together (docs/proofs/sketch_engine.md). The object itself holds private data and the key. A second object for the
    same profiles is another epoch, and costs as much again.
    """

    def __init__(
        self, coded: CodedProfiles, *, epsilon: Fraction, stream: Stream, tuned_for: Fraction = USUAL_TUNING
    ) -> None:
        from hetdp.sketching import _kernels

        self._kernels = _kernels
        self.n_users, self.n_items = coded.n_users, coded.n_items
        self.epsilon, self.tuned_for = epsilon, tuned_for
        self.simulated = stream.simulated
        self._tables: SketchTables = sketch_tables(epsilon, tuned_for)
        self._cipher = KeyedWords(stream.key())
        owners = np.repeat(np.arange(coded.n_users), coded.sizes)
        landed = np.empty(coded.items.size, dtype=np.bool_)
        for begin in range(0, coded.items.size, _BATCH_BLOCKS):
            part = slice(begin, begin + _BATCH_BLOCKS)
            digits = self._pair_words(coded.items[part].astype(np.int64), owners[part], _EXTRA)
            _kernels.land(digits, coded.codes[part], self._tables, landed[part])
        counts = np.bincount(coded.items[landed], minlength=coded.n_items)
        self._indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self._users = np.empty(self._indptr[-1], dtype=np.int32)
        _kernels.sort_pairs(coded.indptr, coded.items, landed, self._indptr[:-1].copy(), self._users)

    def __repr__(self) -> str:
        return f"Sketches({self.n_users} users, {self.n_items} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "sketches cannot be pickled: their key must stay here"
        raise TypeError(message)

    @property
    def chance_of_one(self) -> float:
        """The probability q that the bit of an absent item is 1. Public."""
        return chance_of_one(self.epsilon, tuned_for=self.tuned_for)

    @property
    def contrast(self) -> float:
        """How much more likely a bit is 1 for an item of weight 1 than for an absent one. Public."""
        return contrast(self.epsilon, tuned_for=self.tuned_for)

    @property
    def n_groups(self) -> int:
        """Groups of `GROUP_USERS` users."""
        return -(-self.n_users // GROUP_USERS)

    def rows(
        self, items: NDArray[np.integer], out: NDArray[np.uint64], *, first_group: int = 0, bare: bool = False
    ) -> None:
        """Write the published bits of some items, one row each; as many groups of users as fit into a row of `out`.

        With `bare`, the bits that everybody would publish with an empty profile.
        """
        chosen = np.ascontiguousarray(items, dtype=np.int64)
        groups = out.shape[1] // GROUP_WORDS
        each = groups * GROUP_WORDS * ROUNDS // 2
        batch = max(1, _BATCH_BLOCKS // each)
        blocks = np.empty((batch * each, 2), dtype=np.uint64)
        for begin in range(0, chosen.size, batch):
            part = chosen[begin : begin + batch]
            used = self._kernels.row_blocks(part, first_group, groups, _HEAD, blocks)
            bits = out[begin : begin + part.size]
            self._base(self._cipher.encrypt(blocks[:used]).reshape(-1), part, first_group, bits)
            if not bare:
                self._kernels.set_bits(part, self._indptr, self._users, first_group * GROUP_USERS, bits)

    def published_sketch(self, user: int) -> NDArray[np.uint8]:
        """Return what one user publishes: the whole sketch, eight items to a byte, the first in the lowest bit.

        Simulated unless the stream was secure.
        """
        whole("user", user, minimum=0)
        if user >= self.n_users:
            raise InvalidInput(f"must be below the number of users ({self.n_users})", parameter="user", got=user)
        group, column = divmod(user, GROUP_USERS)
        ones = np.empty(self.n_items, dtype=np.uint8)
        step = 4096
        bits = np.empty((step, GROUP_WORDS), dtype=np.uint64)
        for begin in range(0, self.n_items, step):
            items = np.arange(begin, min(begin + step, self.n_items))
            self.rows(items, bits[: items.size], first_group=group)
            self._kernels.column_bits(bits[: items.size], column, ones[begin : begin + items.size])
        return np.packbits(ones, bitorder="little")

    def _base(
        self, random: NDArray[np.uint64], items: NDArray[np.int64], first_group: int, bits: NDArray[np.uint64]
    ) -> None:
        """Toss the coins that everybody tosses, whatever they have."""
        first_user = first_group * GROUP_USERS
        last_word, last_bits = divmod(self.n_users - first_user, 64)
        pending = np.empty(bits.shape, dtype=np.uint64)
        count = self._kernels.compare(random, self._tables.head, last_word, last_bits, bits, pending)
        rows, users = np.empty((2, count), dtype=np.int64)
        self._kernels.open_coins(pending, first_user, rows, users)
        digits = self._pair_words(items[rows], users, _TAIL)
        self._kernels.settle(digits, self._tables.tail, rows, users, first_user, bits)

    def _pair_words(self, items: NDArray[np.int64], users: NDArray[np.int64], purpose: int) -> NDArray[np.uint64]:
        blocks = np.empty((items.size, 2), dtype=np.uint64)
        self._kernels.pair_blocks(items, users, purpose, blocks)
        return self._cipher.encrypt(blocks)
