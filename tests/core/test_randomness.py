import os
import pickle
import threading

import numpy as np
import pytest
from scipy import stats
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp.core import randomness
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import KeyedWords, Stream, as_stream, secure_stream, seeded_stream, simulation_stream


def test_words_are_fair_in_every_bit():
    words = Stream().words(100_000)
    for bit in range(64):
        share = ((words >> np.uint64(bit)) & np.uint64(1)).mean()
        # 64 bits, 6.5 standard errors each: false-alarm rate below 1e-8 in all.
        assert abs(share - 0.5) < 6.5 * 0.5 / 100_000**0.5


def test_a_seeded_stream_is_reproducible_whatever_the_chunks():
    whole = seeded_stream(3).words(20_000)
    stream = seeded_stream(3)
    parts = [stream.words(size) for size in (1, 0, 8191, 1808, 10_000)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert stream.drawn == 20_000


@pytest.mark.parametrize("handled", [True, False])
def test_a_forked_child_draws_other_words(handled):
    # What runs after a fork may itself be stopped by a signal, and Python then goes on without it.
    forks = randomness._forks
    stream = secure_stream()
    stream.words(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if not handled:
            randomness._forks = forks
        os.write(write, stream.words(8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 64), dtype=np.uint64)
    ours = stream.words(8)
    os.close(read)
    os.close(write)
    assert not np.isin(theirs, ours).any()


def test_a_lock_held_at_the_fork_does_not_stop_the_child():
    stream = secure_stream()
    with stream._lock, randomness._secure_lock:
        child = os.fork()
        if child == 0:
            secure_stream().words(1)
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_threads_never_share_words():
    stream = Stream()
    drawn = []

    def draw():
        drawn.append(np.concatenate([stream.words(100) for _ in range(50)]))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = np.concatenate(drawn)
    assert np.unique(everything).size == everything.size == stream.drawn


def test_the_key_is_changed_after_two_gibibytes(monkeypatch):
    monkeypatch.setattr(randomness, "_REKEY_AFTER_WORDS", 10)
    stream = Stream()
    before = stream._encrypt
    stream.words(11)
    assert stream._encrypt is before
    stream.words(1)
    assert stream._encrypt is not before
    seeded = seeded_stream(1)
    seeded.words(11)
    expected = seeded.words(1)
    monkeypatch.setattr(randomness, "_REKEY_AFTER_WORDS", 10**9)
    assert seeded_stream(1).words(12)[-1] == expected[0]


def test_streams_are_never_copied_or_shown():
    with pytest.raises(TypeError, match="two copies would draw the same noise"):
        pickle.dumps(Stream())
    assert repr(Stream()) == "Stream(secure)"
    assert repr(seeded_stream(123456)) == "Stream(simulated)"


def test_random_state():
    assert as_stream(None) is secure_stream()
    assert not secure_stream().simulated
    assert as_stream(3).simulated
    stream = Stream()
    assert as_stream(stream) is stream
    with pytest.raises(InvalidInput, match="random_state must be a whole number of at least 0"):
        as_stream(-1)
    with pytest.raises(InvalidInput, match="random_state"):
        as_stream(1.5)  # type: ignore[arg-type]


def test_keyed_words_belong_to_the_pair_the_purpose_and_the_key():
    key = seeded_stream(1).key()
    first, second = np.arange(40_000), np.arange(40_000)[::-1]
    words = KeyedWords(key).words(first, second, count=3)
    assert (KeyedWords(key).words(first[5:9], second[5:9], count=5)[:, :3] == words[5:9]).all()
    others = (
        KeyedWords(key).words(second, first, count=3),
        KeyedWords(key, purpose=1).words(first, second, count=3),
        KeyedWords(seeded_stream(2).key()).words(first, second, count=3),
    )
    for other in others:
        assert (other != words).all()
    assert np.unique(words).size == words.size
    ones = np.bitwise_count(words).sum(dtype=np.int64)
    assert stats.binomtest(int(ones), words.size * 64, 0.5).pvalue > FALSE_ALARM


def test_keys_stay_secret():
    words = KeyedWords(Stream().key())
    assert repr(words) == "KeyedWords()"
    with pytest.raises(TypeError, match="cannot be pickled"):
        words.__reduce__()
    with pytest.raises(InvalidInput, match=r"key must be 32 bytes [(]got 5[)]."):
        KeyedWords(b"short")


def test_child_streams_are_of_the_kind_of_their_parent():
    assert Stream().child().simulated is False
    one, two = seeded_stream(4), seeded_stream(4)
    assert (one.child().words(3) == two.child().words(3)).all()
    assert (one.child().words(3) != one.child().words(3)).all()
    assert one.child().simulated


def test_paths_and_purposes_give_independent_streams_for_one_seed():
    assert not (seeded_stream(7, 0).words(2) == seeded_stream(7, 1).words(2)).any()
    assert simulation_stream(0, "split").words(1) != simulation_stream(0, "policy").words(1)
    assert simulation_stream(0, "split").words(1) == simulation_stream(0, "split").words(1)
    assert simulation_stream(None, "split") is secure_stream()
