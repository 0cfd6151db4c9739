"""Who a node is: an Ed25519 key that signs, and a Curve25519 key pair for the encrypted transport."""

import hashlib
import json
import os
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hetdp.core.errors import DataError
from hetdp.core.randomness import Stream, secure_stream

_FIRST = [
    "amber",
    "brave",
    "calm",
    "clear",
    "deft",
    "eager",
    "fair",
    "gentle",
    "happy",
    "keen",
    "kind",
    "lively",
    "lucky",
    "mellow",
    "neat",
    "quiet",
]
_SECOND = [
    "badger",
    "crane",
    "deer",
    "falcon",
    "finch",
    "fox",
    "hare",
    "heron",
    "lark",
    "lynx",
    "marten",
    "otter",
    "owl",
    "robin",
    "seal",
    "wren",
]
_INVITATION = b"hetdp-invitation-1"


@dataclass(frozen=True, repr=False, eq=False)
class Identity:
    """The two secret keys of a node; `repr` shows the pseudonym only."""

    signing_secret: bytes
    curve_secret: bytes

    def __repr__(self) -> str:
        return f"Identity({pseudonym(self.key)})"

    @classmethod
    def generate(cls, stream: Stream | None = None) -> "Identity":
        """Return a new identity, from the secure stream unless another is given (for simulations)."""
        random = (secure_stream() if stream is None else stream).words(8).tobytes()
        return cls(random[:32], random[32:])

    @classmethod
    def load(cls, path: Path) -> "Identity":
        """Read the identity from its file."""
        try:
            stored = json.loads(path.read_text())
            return cls(bytes.fromhex(stored["signing"]), bytes.fromhex(stored["curve"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"{path} must be the key file of a node") from None

    def save(self, path: Path) -> None:
        """Write the identity to a new file that only its owner can read; an existing one is never replaced."""
        text = json.dumps({"signing": self.signing_secret.hex(), "curve": self.curve_secret.hex()})
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())

    @cached_property
    def key(self) -> bytes:
        """The public key that stands for the node."""
        return self._signer.public_key().public_bytes_raw()

    @cached_property
    def curve(self) -> bytes:
        """The public key of the transport."""
        return X25519PrivateKey.from_private_bytes(self.curve_secret).public_key().public_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """Return the signature of a text.

        What is signed is public. Ed25519 is deterministic: signing twice reveals nothing new.
        """
        return self._signer.sign(text)

    @cached_property
    def _signer(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.signing_secret)


#: Digests of what was found genuine, newest last: the same record or sketch arrives many times.
_genuine: OrderedDict[bytes, None] = OrderedDict()
_MOST_GENUINE = 16384
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


def check_signature(key: bytes, text: bytes, signature: bytes) -> bool:
    """Return whether a signature is genuine; genuine ones are remembered by their digest."""
    if len(key) != _KEY_BYTES or len(signature) != _SIGNATURE_BYTES:
        return False  # or another cut of the same bytes would have the digest of a genuine one
    digest = hashlib.blake2b(key + signature + text, digest_size=32).digest()
    if digest in _genuine:
        return True
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    _genuine[digest] = None
    while len(_genuine) > _MOST_GENUINE:
        _genuine.popitem(last=False)
    return True


def sign_invitation(network_secret: bytes, network_id: bytes, key: bytes) -> bytes:
    """Return an invitation: the signature of the network key under a node's public key."""
    return Ed25519PrivateKey.from_private_bytes(network_secret).sign(_INVITATION + network_id + key)


def check_invitation(network_key: bytes, network_id: bytes, key: bytes, invitation: bytes) -> bool:
    """Return whether an invitation is genuine."""
    return check_signature(network_key, _INVITATION + network_id + key, invitation)


def pseudonym(key: bytes) -> str:
    """Return a name that people can tell apart, made from a public key."""
    return f"{_FIRST[key[0] % 16]}-{_SECOND[key[1] % 16]}-{key[2:4].hex()}"
