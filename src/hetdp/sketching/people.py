"""The bits of people who come in parts: each person's are drawn once, however often and wherever they are made.

A bit is a function of a secret, the person, the item, and how much the item counts for the person, and of nothing else:
not of the person's place, of who else is there, of the part, the pass or the machine. So a second pass over the data,
or a worker that takes over from another, sees the bits that were published; a fresh draw would be a second loss.
"""

import hashlib
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import KeyedWords
from hetdp.profiles.steps import CodedProfiles
from hetdp.sketching.law import GROUP_WORDS, ROUNDS, sketch_tables

#: Bytes of a person's key: with a purpose (1 byte) and a counter (4 bytes) they fill one block of AES.
_KEY_BYTES = 11
#: Blocks of AES handled together: 1 MiB, so that they stay in the cache.
_BATCH_BLOCKS = 65_536
#: Different purposes give independent words for the same person and item: first digits, later digits, second coins.
_HEAD, _TAIL, _EXTRA = 1, 2, 3


def person_keys(secret: bytes, labels: Iterable[int | str]) -> NDArray[np.uint64]:
    """Return the key of each person, a row of 88 bits; two people with the same key must be refused.

    Labels are canonical ids; a number and a text are two people. Without the secret, keys cannot be told from chance.

    Examples
    --------
    >>> person_keys(bytes(32), ["ann", 7, "7"]).shape
    (3, 2)
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


class PeopleBits:
    """The sketches of people, made where they are needed: a keyed function instead of a memory.

    Parameters
    ----------
    secret
        Of one fit, 32 bytes from `Stream.key`. Anyone who has it can take the noise off the bits.
    epsilon
        Loss of an item of weight 1.
    n_items
        Size of the catalogue.

    Privacy
    -------
    Item i of a person pays epsilon * v_i, once, against everybody together, however often the bits are made with the
    same secret (docs/proofs/recommender.md). Another secret is another draw, and costs as much again.

    Examples
    --------
    >>> from hetdp import Profiles
    >>> from hetdp.profiles.steps import code_profiles
    >>> coded = code_profiles(Profiles.from_pairs(["ann", "bob"], ["tea", "jazz"]))
    >>> bits = PeopleBits(bytes(32), epsilon=Fraction(1), n_items=2)
    >>> keys = person_keys(bytes(32), ["ann", "bob"])
    >>> words = bits.words(keys, coded)
    >>> words.shape, bool((words == bits.words(keys, coded)).all())
    ((2, 8), True)
    """

    def __init__(self, secret: bytes, *, epsilon: Fraction, n_items: int) -> None:
        from hetdp.sketching import _kernels, _people_kernels

        self._shared, self._own = _kernels, _people_kernels
        self.epsilon, self.n_items = epsilon, n_items
        self._tables = sketch_tables(epsilon)
        self._cipher = KeyedWords(hashlib.blake2b(key=secret, digest_size=32, person=b"hetdp-coins").digest())

    def __repr__(self) -> str:
        return f"PeopleBits({self.n_items} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "bits of people cannot be pickled: their secret must stay here"
        raise TypeError(message)

    @property
    def n_words(self) -> int:
        """Words of 64 items in a row; groups of words are drawn whole."""
        return -(-self.n_items // (64 * GROUP_WORDS)) * GROUP_WORDS

    def words(self, keys: NDArray[np.uint64], coded: CodedProfiles) -> NDArray[np.uint64]:
        """Return the bits of each person as a row of words, first item in the lowest bit; what is left over is 0."""
        out = np.empty((keys.shape[0], self.n_words), dtype=np.uint64)
        each = self.n_words * ROUNDS // 2
        batch = max(1, _BATCH_BLOCKS // each)
        blocks = np.empty((min(batch, keys.shape[0]) * each, 2), dtype=np.uint64)
        for begin in range(0, keys.shape[0], batch):
            part = keys[begin : begin + batch]
            used = blocks[: part.shape[0] * each]
            self._own.coin_blocks(part, self.n_words // GROUP_WORDS, _HEAD, used)
            self._base(part, self._cipher.encrypt(used).reshape(-1), out[begin : begin + batch])
        owners = np.repeat(np.arange(coded.n_users), coded.sizes)
        for begin in range(0, coded.items.size, _BATCH_BLOCKS):
            some = slice(begin, begin + _BATCH_BLOCKS)
            people, items = owners[some], coded.items[some].astype(np.int64)
            landed = np.empty(items.size, dtype=np.bool_)
            self._shared.land(self._own_words(keys, people, items, _EXTRA), coded.codes[some], self._tables, landed)
            self._own.set_own_bits(people, items, landed, out)
        return out

    def _base(self, keys: NDArray[np.uint64], random: NDArray[np.uint64], bits: NDArray[np.uint64]) -> None:
        """Toss the coins that everybody tosses, whatever they have."""
        last_word, last_bits = divmod(self.n_items, 64)
        pending = np.empty(bits.shape, dtype=np.uint64)
        count = self._shared.compare(random, self._tables.head, last_word, last_bits, bits, pending)
        people, items = np.empty((2, count), dtype=np.int64)
        self._shared.open_coins(pending, 0, people, items)
        digits = self._own_words(keys, people, items, _TAIL)
        self._shared.settle(digits, self._tables.tail, people, items, 0, bits)

    def _own_words(
        self, keys: NDArray[np.uint64], people: NDArray[np.int64], items: NDArray[np.int64], purpose: int
    ) -> NDArray[np.uint64]:
        blocks = np.empty((items.size, 2), dtype=np.uint64)
        self._own.own_blocks(keys, people, items, purpose, blocks)
        return self._cipher.encrypt(blocks)
