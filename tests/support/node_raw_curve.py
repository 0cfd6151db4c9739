"""ZeroMQ's CURVE handshake by hand, to do what libzmq never would: the other side of attacks on the transport.

crypto_box is X25519, XSalsa20 and Poly1305; Salsa20 is written out, vectorised over blocks.
"""

import secrets
import socket
import struct
import threading
from contextlib import suppress

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.poly1305 import Poly1305

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0")
_QUARTER = ((4, 0, 12, 7), (8, 4, 0, 9), (12, 8, 4, 13), (0, 12, 8, 18))
#: Columns, then rows; the four quarters of a round at once.
_STEPS = [
    [(*(at[(place + 5 * np.arange(4)) % 16] for place in places), bits) for *places, bits in _QUARTER]
    for at in (np.arange(16), np.arange(16).reshape(4, 4).T.ravel())
]
_SIGMA = np.frombuffer(b"expand 32-byte k", "<u4")


def _core(key, places, *, whole):
    """Twenty rounds on a key and columns of 16 bytes of input; without the final sum for HSalsa20."""
    state = np.zeros((16, places.shape[1]), np.uint32)
    state[[0, 5, 10, 15]] = _SIGMA[:, None]
    words = np.frombuffer(key, "<u4")
    state[1:5], state[11:15], state[6:10] = words[:4, None], words[4:, None], places
    x = state.copy()
    for half in range(20):
        for target, one, other, bits in _STEPS[half % 2]:
            both = x[one] + x[other]
            x[target] ^= (both << np.uint32(bits)) | (both >> np.uint32(32 - bits))
    return x + state if whole else x[[0, 5, 10, 15, 6, 7, 8, 9]]


def _hsalsa(key, nonce):
    return _core(key, np.frombuffer(nonce, "<u4")[:, None], whole=False).astype("<u4").tobytes()


def shared_key(public, secret):
    agreed = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public))
    return _hsalsa(agreed, bytes(16))


def _stream(key, nonce, length):
    blocks = -(-length // 64)
    places = np.zeros((4, blocks), np.uint32)
    places[:2] = np.frombuffer(nonce[16:], "<u4")[:, None]
    places[2] = np.arange(blocks)
    return _core(_hsalsa(key, nonce[:16]), places, whole=True).T.astype("<u4").tobytes()[:length]


def _xor(one, other):
    return (np.frombuffer(one, np.uint8) ^ np.frombuffer(other, np.uint8)).tobytes()


def seal(key, nonce, text):
    stream = _stream(key, nonce, 32 + len(text))
    hidden = _xor(text, stream[32:])
    return Poly1305.generate_tag(stream[:32], hidden) + hidden


def unseal(key, nonce, box):
    stream = _stream(key, nonce, 16 + len(box))
    Poly1305.verify_tag(stream[:32], box[16:], box[:16])
    return _xor(box[16:], stream[32:])


def key_pair():
    secret = X25519PrivateKey.generate()
    return secret.public_key().public_bytes_raw(), secret.private_bytes_raw()


class Line:
    """A TCP connection that reads and writes ZMTP frames."""

    def __init__(self, end):
        self.end = end
        end.settimeout(20)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.end.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def frame(self):
        flags = self.exactly(1)[0]
        return self.exactly(struct.unpack(">Q", self.exactly(8))[0] if flags & 2 else self.exactly(1)[0])

    def command(self, body):
        head = bytes([4, len(body)]) if len(body) < 256 else b"\x06" + struct.pack(">Q", len(body))
        self.end.sendall(head + body)


class RawCaller(Line):
    """A client with a handshake behind it, free to send any frame."""

    def __init__(self, address, server, who, *, host=None):
        super().__init__(socket.create_connection(address, source_address=None if host is None else (host, 0)))
        self.count = 0
        try:
            self._shake_hands(server, who)
        except BaseException:
            self.end.close()
            raise

    def _shake_hands(self, server, who):
        self.end.sendall(_GREETING + bytes(32))
        self.exactly(64)
        public, secret = key_pair()
        nonce = self.nonce()
        self.command(
            b"\x05HELLO\x01\x00"
            + bytes(72)
            + public
            + nonce
            + seal(shared_key(server, secret), b"CurveZMQHELLO---" + nonce, bytes(64))
        )
        welcome = self.frame()
        plain = unseal(shared_key(server, secret), b"WELCOME-" + welcome[8:24], welcome[24:])
        theirs, cookie = plain[:32], plain[32:]
        self.key = shared_key(theirs, secret)
        number = secrets.token_bytes(16)
        vouch = seal(shared_key(theirs, who.curve_secret), b"VOUCH---" + number, public + server)
        about = b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
        nonce = self.nonce()
        box = seal(self.key, b"CurveZMQINITIATE" + nonce, who.curve + number + vouch + about)
        self.command(b"\x08INITIATE" + cookie + nonce + box)
        ready = self.frame()
        if not ready.startswith(b"\x05READY"):
            raise EOFError

    def nonce(self):
        self.count += 1
        return struct.pack(">Q", self.count)

    def send(self, text, *, more=False):
        nonce = self.nonce()
        body = b"\x07MESSAGE" + nonce + seal(self.key, b"CurveZMQMESSAGEC" + nonce, bytes([more]) + text)
        self.end.sendall(b"\x02" + struct.pack(">Q", len(body)) + body)

    def receive(self):
        body = self.frame()
        return unseal(self.key, b"CurveZMQMESSAGES" + body[8:16], body[16:])[1:]


class Poisoner:
    """Answers every handshake with a WELCOME whose key is zero: libzmq's client side ends its process over it."""

    def __init__(self, who):
        self.who = who
        self.calls = 0
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.door.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.door.close()

    def _serve(self):
        with suppress(OSError):
            while True:
                end, _ = self.door.accept()
                with end, suppress(OSError, EOFError):
                    self._poison(Line(end))

    def _poison(self, line):
        line.end.sendall(_GREETING + b"\x01" + bytes(31))
        line.exactly(64)
        theirs = line.frame()[80:112]
        number = secrets.token_bytes(16)
        box = seal(shared_key(theirs, self.who.curve_secret), b"WELCOME-" + number, bytes(32) + secrets.token_bytes(96))
        line.command(b"\x07WELCOME" + number + box)
        self.calls += 1
        line.end.recv(300)
