"""The only source of random numbers: AES-256 in counter mode, keyed by the operating system.

A `Stream` hands out 64-bit words of keystream. The secure stream is keyed by `os.urandom`, shared by all threads
behind a lock, keyed afresh in a forked child and after every 2 GiB. A seeded stream is for simulation and tests.
Its key is a hash of the seed. Results drawn from it are marked `simulated`, and functions that publish refuse them.
"""

import hashlib
import os
import threading
import weakref
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput

_REKEY_AFTER_WORDS = 2**28
_KEY_BYTES = 32
#: Pairs whose words are made together, so that they stay in the cache.
_PAIRS_AT_ONCE = 16_384
_ZEROS = memoryview(bytes(2**16))

_forks = 0
_streams: "weakref.WeakSet[Stream]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    global _forks, _secure_lock  # noqa: PLW0603  (a fork happens to the whole process; so does this)
    _forks += 1
    # Another thread may have held a lock at the moment of the fork, and does not exist here to let it go.
    _secure_lock = threading.Lock()
    for stream in _streams:
        stream.renew_lock()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Stream:
    """A stream of uniformly random 64-bit words.

    Noise hides data only from those who cannot predict it. A stream without a key is as unpredictable as AES-256; a
    stream with a key of 32 bytes is reproducible: `simulated`, and protects nobody.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self.simulated = key is not None
        self.renew_lock()
        self._drawn = 0
        self._start(key or os.urandom(_KEY_BYTES))
        _streams.add(self)

    def __repr__(self) -> str:
        return f"Stream({'simulated' if self.simulated else 'secure'})"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "a random stream cannot be pickled: two copies would draw the same noise"
        raise TypeError(message)

    @property
    def drawn(self) -> int:
        """How many words were drawn so far."""
        return self._drawn

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words; none is ever handed out twice, in no thread and in no forked child."""
        out = np.empty(count, dtype=np.uint64)
        target = out.data.cast("B") if count else memoryview(b"")
        with self._lock:
            # A signal may have kept what runs after a fork from running; the number of the process cannot lie.
            stale = self._generation != (_forks, os.getpid()) or self._since_key > _REKEY_AFTER_WORDS
            if stale and not self.simulated:
                self._start(os.urandom(_KEY_BYTES))
            for begin in range(0, 8 * count, len(_ZEROS)):
                part = target[begin : begin + len(_ZEROS)]
                self._encrypt.update_into(_ZEROS[: len(part)], part)
            self._since_key += count
            self._drawn += count
        return out

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """Return floats in [0, 1), for simulations and searches. Never for noise: floats are not exact."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def key(self) -> bytes:
        """Return a fresh key of 32 bytes, as secret as the stream, for a keyed function such as the noise of a pair."""
        return self.words(4).tobytes()

    def child(self) -> "Stream":
        """Return an independent stream of the same kind, so that parts of a work can be done in any order.

        The child of a simulated stream is determined by it.
        """
        return Stream(self.key()) if self.simulated else Stream()

    def renew_lock(self) -> None:
        """Replace the lock: for a forked child, in which nobody holds the old one any more."""
        self._lock = threading.Lock()

    def _start(self, key: bytes) -> None:
        # Imported here because it takes longer than the rest of `import hetdp` together.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encrypt = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._since_key = 0
        self._generation = (_forks, os.getpid())


#: What functions accept as `random_state`: None (secure), a whole number (simulated) or a stream.
RandomState: TypeAlias = int | Stream | None

_secure: Stream | None = None
_secure_lock = threading.Lock()


def secure_stream() -> Stream:
    """Return the stream that the whole process shares, keyed by the operating system; for releases without a seed."""
    global _secure  # noqa: PLW0603  (made at first use, so that importing hetdp does not load the cipher)
    with _secure_lock:
        if _secure is None:
            _secure = Stream()
        return _secure


def seeded_stream(seed: int, *path: int) -> Stream:
    """Return a reproducible stream for simulation; `path` gives independent streams for the same seed.

    Anyone who knows the seed knows the noise, so results are stamped `simulated`.
    """
    label = "/".join(str(whole("seed", part, minimum=0)) for part in (seed, *path))
    return Stream(hashlib.blake2b(label.encode(), digest_size=32, person=b"hetdp-simulation").digest())


def as_stream(random_state: RandomState) -> Stream:
    """Return the stream that a `random_state` argument stands for."""
    if random_state is None:
        return secure_stream()
    if isinstance(random_state, Stream):
        return random_state
    return seeded_stream(whole("random_state", random_state, minimum=0))


def simulation_stream(random_state: RandomState, purpose: str) -> Stream:
    """Return the stream for one purpose, so that equal seeds for different purposes do not draw the same numbers.

    With one stream for both, a split and a weight policy with the same seed would test exactly the items with the
    lowest weights.
    """
    if random_state is None or isinstance(random_state, Stream):
        return as_stream(random_state)
    return seeded_stream(whole("random_state", random_state, minimum=0), int.from_bytes(purpose.encode()))


class KeyedWords:
    """Random words that belong to a pair of numbers: a keyed function instead of a memory.

    The noise of a pair must be drawn once and reused ever after. Instead of storing it for every pair that ever met, it
    is computed from a secret key (`Stream.key`) and the pair, by AES-256 on the block (first, second, purpose,
    counter): the same pair gives the same words, and without the key they cannot be told from fresh ones. Different
    purposes, whole numbers below 2**16, give independent words for the same pair.

    Anyone who has the key can recompute the noise, so it is never shown, stored or sent. Distinct blocks never collide,
    which tells AES from a random function only after about 2**64 of them.
    """

    def __init__(self, key: bytes, *, purpose: int = 0) -> None:
        # Imported here because it takes longer than the rest of `import hetdp` together.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        if len(key) != _KEY_BYTES:
            raise InvalidInput(f"must be {_KEY_BYTES} bytes", parameter="key", got=len(key))
        # Each block is a number used once with its pair; electronic codebook mode is then just AES as a function.
        self._start = Cipher(algorithms.AES(key), modes.ECB()).encryptor  # noqa: S305
        self._own = threading.local()
        self._purpose = purpose

    def __repr__(self) -> str:
        return "KeyedWords()"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "a keyed function cannot be pickled: its key must stay here"
        raise TypeError(message)

    def words(self, first: object, second: object, *, count: int) -> NDArray[np.uint64]:
        """Return `count` words for each pair, one row per pair; (1, 2) and (2, 1) are two pairs."""
        one, two = np.asarray(first, dtype=np.uint32), np.asarray(second, dtype=np.uint32)
        each = -(-count // 2)
        out = np.empty((one.size, 2 * each), dtype=np.uint64)
        for begin in range(0, one.size, _PAIRS_AT_ONCE):
            part = slice(begin, min(begin + _PAIRS_AT_ONCE, one.size))
            blocks = np.empty((part.stop - begin, each, 2), dtype=np.uint64)
            blocks[..., 0] = (one[part].astype(np.uint64) | (two[part].astype(np.uint64) << np.uint64(32)))[:, None]
            blocks[..., 1] = (np.arange(each, dtype=np.uint64) << np.uint64(32)) + np.uint64(self._purpose)
            out[part] = self.encrypt(blocks).reshape(-1, 2 * each)
        return out[:, :count]

    def encrypt(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the two words of each block that compiled code has laid out: (pair, counter and purpose).

        The caller makes sure that no block is used for two things. Threads may call it at the same time.
        """
        out = np.empty(blocks.nbytes + 15, dtype=np.uint8)  # OpenSSL asks for 15 bytes of room, and leaves them alone
        if not hasattr(self._own, "update_into"):
            self._own.update_into = self._start().update_into
        if blocks.size:
            self._own.update_into(blocks.reshape(-1).view(np.uint8).data, out.data)
        return out[: blocks.nbytes].view(np.uint64).reshape(-1, 2)
