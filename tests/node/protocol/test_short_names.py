"""Short names of keys: whoever is held is known by name, however many others there are."""

import hashlib

import pytest

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import exchanges
from hetdp.node.protocol.exchanges import NameBook, short
from hetdp.node.protocol.messages import SignedSketch, Slip
from hetdp.node.protocol.sketch_shelf import SketchShelf


def key(number):
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=32).digest()


@pytest.fixture
def shelf():
    shelf = SketchShelf(bytes(32), most=20, stream=seeded_stream(1))
    for number in range(20):
        shelf.keep(SignedSketch(key(number), 1, b"", b"", b""))
    return shelf


def test_a_crowd_of_keys_makes_nobody_forget_the_names_of_what_is_held(shelf, monkeypatch):
    monkeypatch.setattr(exchanges, "_MOST_NAMES", 50)
    book = NameBook(bytes(32), held=shelf.key_of)
    for number in range(1000):
        book.add(key(number))
    slips = [Slip(key(number), 1) for number in range(20)]
    assert book.whole(short(slips)) == slips
    assert shelf.lacking(book.whole(short(slips)), epochs=range(3), count=20) == (), "what is held is not asked for"
    forgotten = short([Slip(key(900), 1)])
    assert book.whole(forgotten) == list(forgotten)


def test_names_go_with_what_is_held(shelf):
    book = NameBook(bytes(32), held=shelf.key_of)
    slips = [Slip(bytes(32), 1), Slip(key(3), 1)]
    assert book.whole(short(slips)) == slips
    shelf.expire(range(2, 3))
    assert book.whole(short(slips)) == [slips[0], *short(slips[1:])]
