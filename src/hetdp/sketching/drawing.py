"""Draw the bits of sketches: of one profile (`toss_bits`), of many by position (`Sketches`), of people by key.

All three follow `sketching.bit_law`. `toss_bits` draws fresh bits for publication. In `Sketches` and `PeopleBits` each
bit is a function of a secret key, of the person and the item, and of the code of the person's weight of the item, and
of nothing else. So bits can be computed in parts of any shape, in any order and repeatedly, and are always the same;
they need not be stored. `Sketches` knows people by their position. `PeopleBits` knows them by keys made from their ids
(`person_keys`), so that their bits do not depend on position, on who else is there, on the part, the pass over the data
or the machine: a worker that takes over from another gets the published bits, where a fresh draw would spend epsilon
once more.
"""

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import KeyedWords, Stream
from hetdp.noise.exact_coins import toss_kinds
from hetdp.profiles.steps import CodedProfiles
from hetdp.sketching.bit_law import GROUP_WORDS, ROUNDS, USUAL_TUNING, chance_of_one, coins, contrast, sketch_tables

Words = NDArray[np.uint64]
Places = NDArray[np.int64]

#: Users whose bits are made together; columns come in multiples of it.
GROUP_USERS = 64 * GROUP_WORDS
#: Blocks of AES handled together: 1 MiB, so that they stay in the cache.
_BATCH_BLOCKS = 65_536
#: Items whose bits of one user are extracted together.
_BATCH_ITEMS = 4096
#: Different purposes give independent words for the same person and item: first digits, later digits, second coins.
_HEAD, _TAIL, _EXTRA = 1, 2, 3
#: Bytes of a person's key: with a purpose (1 byte) and a counter (4 bytes) they fill one block of AES.
_KEY_BYTES = 11


def toss_bits(
    codes: NDArray[np.uint8], *, epsilon: Fraction, stream: Stream, tuned_for: Fraction = USUAL_TUNING
) -> NDArray[np.bool_]:
    """Draw the bits of one sketch, one per catalogue item; `codes` are weights in steps of 1/255, 0 for absent items.

    Both likelihood ratios of bit i are at most exp(epsilon v_i) (docs/proofs/mechanisms.md), so item i has a privacy
    loss of epsilon * v_i against everybody together. An item of code 0 leaves every bit the same for the same stream.
    One random word is drawn per catalogue item, and the work is the same, whatever the profile.
    """
    return toss_kinds(coins(epsilon, tuned_for), codes.astype(np.intp), stream)


def pack(bits: NDArray[np.bool_]) -> bytes:
    """Return bits as bytes, first item in the lowest bit; spare bits of the last byte are 0."""
    return np.packbits(bits, bitorder="little").tobytes()


def unpack(packed: bytes, size: int) -> NDArray[np.bool_]:
    """Return the bits of a packed sketch."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=size, bitorder="little").view(np.bool_)


class _KeyedBits:
    """Bits that are functions of a secret key: a first coin for every row and column, a second for what people have."""

    def __init__(self, key: bytes, *, epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> None:
        from hetdp.sketching import _kernels

        self.epsilon, self.tuned_for = epsilon, tuned_for
        self._kernels = _kernels
        self._tables = sketch_tables(epsilon, tuned_for)
        self._cipher = KeyedWords(key)

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "keyed bits cannot be pickled: their key must not leave this process"
        raise TypeError(message)

    def _first_coins(self, blocks: Words, bits: Words, n_columns: int, first_column: int = 0) -> tuple[Places, Places]:
        """Toss first coins into `bits`; return row and column of those that their first digits do not decide."""
        last_word, last_bits = divmod(n_columns - first_column, 64)
        pending = np.empty(bits.shape, dtype=np.uint64)
        random = self._cipher.encrypt(blocks).reshape(-1)
        count = self._kernels.compare(random, self._tables.head, last_word, last_bits, bits, pending)
        rows, columns = np.empty((2, count), dtype=np.int64)
        self._kernels.open_coins(pending, first_column, rows, columns)
        return rows, columns

    def _words(self, write_blocks: Callable[..., None], *coins: Words | Places, purpose: int) -> Words:
        """Return two words for each coin; `coins` are what the kernel `write_blocks` names them by."""
        blocks = np.empty((coins[-1].size, 2), dtype=np.uint64)
        write_blocks(*coins, purpose, blocks)
        return self._cipher.encrypt(blocks)

    def _second_coins(self, coded: CodedProfiles, words: Callable[[Places, Places], Words]) -> NDArray[np.bool_]:
        """Return which second coins of all pairs are 1; `words` gives the digits of some people and their items."""
        people = np.repeat(np.arange(coded.n_users), coded.sizes)
        landed = np.empty(coded.items.size, dtype=np.bool_)
        for begin in range(0, landed.size, _BATCH_BLOCKS):
            part = slice(begin, begin + _BATCH_BLOCKS)
            digits = words(people[part], coded.items[part].astype(np.int64))
            self._kernels.land(digits, coded.codes[part], self._tables, landed[part])
        return landed


class Sketches(_KeyedBits):
    """The sketches of all users of one epoch.

    Privacy
    -------
    What `published_sketch` returns may be published: item i of its user has a privacy loss of epsilon * v_i against
    everybody together (docs/proofs/sketch_engine.md). The object itself holds private data and the key. A second object
    for the same profiles is another epoch, and spends as much again.
    """

    def __init__(
        self, coded: CodedProfiles, *, epsilon: Fraction, stream: Stream, tuned_for: Fraction = USUAL_TUNING
    ) -> None:
        super().__init__(stream.key(), epsilon=epsilon, tuned_for=tuned_for)
        self.n_users, self.n_items = coded.n_users, coded.n_items
        self.simulated = stream.simulated
        write = self._kernels.item_user_blocks
        landed = self._second_coins(coded, lambda users, items: self._words(write, items, users, purpose=_EXTRA))
        counts = np.bincount(coded.items[landed], minlength=coded.n_items)
        self._indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self._users = np.empty(self._indptr[-1], dtype=np.int32)
        self._kernels.sort_pairs(coded.indptr, coded.items, landed, self._indptr[:-1].copy(), self._users)

    def __repr__(self) -> str:
        return f"Sketches({self.n_users} users, {self.n_items} items)"

    @property
    def chance_of_one(self) -> float:
        """The probability q that the bit of an absent item is 1. Public."""
        return chance_of_one(self.epsilon, tuned_for=self.tuned_for)

    @property
    def contrast(self) -> float:
        """How much likelier a one is for an item of weight 1 than for an absent item. Public."""
        return contrast(self.epsilon, tuned_for=self.tuned_for)

    @property
    def n_groups(self) -> int:
        """Groups of `GROUP_USERS` users."""
        return -(-self.n_users // GROUP_USERS)

    def rows(self, items: NDArray[np.integer], out: Words, *, first_group: int = 0) -> None:
        """Write the published bits of some items, one row each, for as many groups of users as a row of `out` holds."""
        chosen = np.ascontiguousarray(items, dtype=np.int64)
        groups = out.shape[1] // GROUP_WORDS
        first_user = first_group * GROUP_USERS
        each = groups * GROUP_WORDS * ROUNDS // 2
        batch = max(1, _BATCH_BLOCKS // each)
        blocks = np.empty((batch * each, 2), dtype=np.uint64)
        for begin in range(0, chosen.size, batch):
            part = chosen[begin : begin + batch]
            bits = out[begin : begin + part.size]
            used = self._kernels.item_group_blocks(part, first_group, groups, _HEAD, blocks)
            rows, users = self._first_coins(blocks[:used], bits, self.n_users, first_user)
            digits = self._words(self._kernels.item_user_blocks, part[rows], users, purpose=_TAIL)
            self._kernels.settle(digits, self._tables.tail, rows, users, first_user, bits)
            self._kernels.set_bits_of_users(part, self._indptr, self._users, first_user, bits)

    def published_sketch(self, user: int) -> NDArray[np.uint8]:
        """Return what one user publishes: the whole sketch, eight items to a byte, the first in the lowest bit.

        Simulated unless the stream was secure.
        """
        whole("user", user, minimum=0)
        if user >= self.n_users:
            raise InvalidInput(f"must be below the number of users ({self.n_users})", parameter="user", got=user)
        group, column = divmod(user, GROUP_USERS)
        ones = np.empty(self.n_items, dtype=np.uint8)
        bits = np.empty((_BATCH_ITEMS, GROUP_WORDS), dtype=np.uint64)
        for begin in range(0, self.n_items, _BATCH_ITEMS):
            items = np.arange(begin, min(begin + _BATCH_ITEMS, self.n_items))
            self.rows(items, bits[: items.size], first_group=group)
            self._kernels.column_bits(bits[: items.size], column, ones[begin : begin + items.size])
        return np.packbits(ones, bitorder="little")


def person_keys(secret: bytes, labels: Iterable[int | str]) -> Words:
    """Return the key of each person, a row of 88 bits; callers must refuse two people with the same key.

    Labels are canonical ids; a number and a text are two people. Without the secret, keys look random.
    """
    started = hashlib.blake2b(key=secret, digest_size=_KEY_BYTES, person=b"hetdp-person")
    digests = bytearray()
    for label in labels:
        own = started.copy()
        own.update(b"n%d" % label if isinstance(label, int) else b"t" + label.encode())
        digests += own.digest()
    keys = np.zeros((len(digests) // _KEY_BYTES, 16), dtype=np.uint8)
    keys[:, :_KEY_BYTES] = np.frombuffer(digests, dtype=np.uint8).reshape(-1, _KEY_BYTES)
    return keys.view("<u8").astype(np.uint64, copy=False)


class PeopleBits(_KeyedBits):
    """The sketches of people who come in parts.

    Bits depend on a `secret` of 32 bytes from `Stream.key`. Anyone who has it can remove the noise from the bits.

    Privacy
    -------
    Item i of a person has a privacy loss of epsilon * v_i against everybody together, however often the bits are
    computed with the same secret (docs/proofs/recommender.md). Another secret is another draw, and spends as much
    again.
    """

    def __init__(self, secret: bytes, *, epsilon: Fraction, n_items: int) -> None:
        super().__init__(hashlib.blake2b(key=secret, digest_size=32, person=b"hetdp-coins").digest(), epsilon=epsilon)
        self.n_items = n_items

    def __repr__(self) -> str:
        return f"PeopleBits({self.n_items} items)"

    @property
    def n_words(self) -> int:
        """Words of 64 items in a row; groups of words are drawn whole."""
        return -(-self.n_items // (64 * GROUP_WORDS)) * GROUP_WORDS

    def words(self, keys: Words, coded: CodedProfiles) -> Words:
        """Return the bits of each person as a row of words, first item in the lowest bit; spare bits are 0."""
        out = np.empty((keys.shape[0], self.n_words), dtype=np.uint64)
        each = self.n_words * ROUNDS // 2
        batch = max(1, _BATCH_BLOCKS // each)
        blocks = np.empty((min(batch, keys.shape[0]) * each, 2), dtype=np.uint64)
        for begin in range(0, keys.shape[0], batch):
            part, bits = keys[begin : begin + batch], out[begin : begin + batch]
            used = self._kernels.person_blocks(part, self.n_words // GROUP_WORDS, _HEAD, blocks)
            people, items = self._first_coins(blocks[:used], bits, self.n_items)
            digits = self._words(self._kernels.person_item_blocks, part, people, items, purpose=_TAIL)
            self._kernels.settle(digits, self._tables.tail, people, items, 0, bits)
        write = self._kernels.person_item_blocks
        landed = self._second_coins(
            coded, lambda people, items: self._words(write, keys, people, items, purpose=_EXTRA)
        )
        self._kernels.set_bits_of_items(coded.indptr, coded.items, landed, out)
        return out
