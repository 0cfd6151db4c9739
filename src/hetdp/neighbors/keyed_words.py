"""Random words that belong to a pair of numbers: a keyed function instead of a memory.

The noise of a pair must be drawn once and reused ever after. Instead of storing it for every pair that ever met, it is
computed from a secret key and the pair, by AES-256 on the block (first, second, purpose, counter): the same pair gives
the same words, and without the key they cannot be told from fresh ones.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput

__all__ = ["KeyedWords"]

_KEY_BYTES = 32
#: Pairs handled together.
_CHUNK = 16_384


class KeyedWords:
    """The keyed function of one secret key.

    Parameters
    ----------
    key
        32 secret bytes (`Stream.key`).
    purpose
        A whole number below 2**16; different purposes give independent words for the same pair.

    Privacy
    -------
    Whoever has the key can recompute the noise, so it is never shown, stored or sent. Distinct blocks never collide,
    which tells AES from a random function only after about 2**64 of them.

    Examples
    --------
    >>> words = KeyedWords(bytes(32)).words([1, 2], [5, 6], count=3)
    >>> words.shape, bool((words == KeyedWords(bytes(32)).words([1, 2], [5, 6], count=3)).all())
    ((2, 3), True)
    """

    def __init__(self, key: bytes, *, purpose: int = 0) -> None:
        # Imported here because it takes longer than the rest of `import hetdp` together.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        if len(key) != _KEY_BYTES:
            raise InvalidInput(f"key must be {_KEY_BYTES} bytes. Got {len(key)} instead.")
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
        """Return `count` words for each pair, one row per pair.

        Privacy
        -------
        The order of a pair matters; sort it where it should not.
        """
        one, two = np.asarray(first, dtype=np.uint32), np.asarray(second, dtype=np.uint32)
        each = -(-count // 2)
        out = np.empty((one.size, 2 * each), dtype=np.uint64)
        for begin in range(0, one.size, _CHUNK):  # in parts that stay in the cache
            part = slice(begin, min(begin + _CHUNK, one.size))
            blocks = np.empty((part.stop - begin, each, 2), dtype=np.uint64)
            blocks[..., 0] = (one[part].astype(np.uint64) | (two[part].astype(np.uint64) << np.uint64(32)))[:, None]
            blocks[..., 1] = (np.arange(each, dtype=np.uint64) << np.uint64(32)) + np.uint64(self._purpose)
            out[part] = self.encrypt(blocks).reshape(-1, 2 * each)
        return out[:, :count]

    def encrypt(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the two words of each block that compiled code has laid out: (pair, counter and purpose).

        Privacy
        -------
        Whoever lays out blocks sees to it that none is used for two things. Threads may call it at the same time.
        """
        out = np.empty(blocks.nbytes + 15, dtype=np.uint8)  # OpenSSL asks for 15 bytes of room, and leaves them alone
        if not hasattr(self._own, "update_into"):
            self._own.update_into = self._start().update_into
        if blocks.size:
            self._own.update_into(blocks.reshape(-1).view(np.uint8).data, out.data)
        return out[: blocks.nbytes].view(np.uint64).reshape(-1, 2)
