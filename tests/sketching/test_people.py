"""Bits of people have the exact law and belong to the person: no order, part, pass or neighbour moves them.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats
from tests.support.sketch_helpers import coded_of, exact, same_profile
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp.core.randomness import seeded_stream
from hetdp.noise.exact_coins import binary_digits, logistic
from hetdp.sketching import people as people_module
from hetdp.sketching.law import sketch_tables
from hetdp.sketching.people import PeopleBits, person_keys

CODES = (0, 1, 60, 127, 200, 255)  # 0 stands for absent
SECRET = seeded_stream(1).key()


def unpacked(words, n_items):
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_items]


def bits_of(rows, n_items, labels=None, *, epsilon=Fraction(1), secret=SECRET):
    """Bits of one dict of item -> code per person."""
    drawn = PeopleBits(secret, epsilon=epsilon, n_items=n_items)
    return unpacked(drawn.words(person_keys(secret, labels or range(len(rows))), coded_of(rows, n_items)), n_items)


def law_pvalue(bits, probabilities):
    n = bits.shape[0]
    ones, expected = bits.sum(axis=0), n * np.asarray(probabilities)
    return stats.chi2.sf(((ones - expected) ** 2 / (expected * (1 - expected / n))).sum(), len(probabilities))


def slow_bit(label, item, code, *, epsilon, secret):
    """One bit as docs/proofs/recommender.md has it: blocks of AES by hand, digits as whole numbers of any size."""
    key = hashlib.blake2b(f"t{label}".encode(), key=secret, digest_size=11, person=b"hetdp-person").digest()
    coins = hashlib.blake2b(key=secret, digest_size=32, person=b"hetdp-coins").digest()

    def words(purpose, counter):
        block = key + bytes([purpose]) + counter.to_bytes(4, "little")
        found = Cipher(algorithms.AES(coins), modes.ECB()).encryptor().update(block)  # noqa: S305
        return [int.from_bytes(found[begin : begin + 8], "little") for begin in (0, 8)]

    group, word, place = item // 512, item // 64 % 8, item % 64
    first = [words(1, 32 * group + (8 * digit + word) // 2)[(8 * digit + word) % 2] >> place & 1 for digit in range(8)]
    high, low = words(2, item)
    base = int("".join(map(str, first)), 2) << 128 | high << 64 | low
    high, low = words(3, item)
    chance = binary_digits(logistic(epsilon), 136) + 1
    second = sketch_tables(epsilon).extra[code]
    return base < chance or (high << 64 | low) < (int(second[0]) << 64 | int(second[1]))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(6)])
def test_bits_are_those_of_the_proof(epsilon):
    random = np.random.default_rng(7)
    rows = [{int(item): int(random.integers(1, 256)) for item in random.choice(700, 200, replace=False)} for _ in "ab"]
    expected = [
        [slow_bit(label, item, row.get(item, 0), epsilon=epsilon, secret=SECRET) for item in range(700)]
        for label, row in zip("ab", rows, strict=True)
    ]
    np.testing.assert_array_equal(bits_of(rows, 700, ["a", "b"], epsilon=epsilon), expected)


# At 8, q < 1/256: every one comes from the digits behind the first eight. Ones are rare, so only larger errors show.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "wrong"), [(Fraction(1, 10), 1.1), (Fraction(1), 1.1), (Fraction(3), 1.1), (Fraction(8), 3.0)]
)
def test_bits_have_the_exact_probability_and_no_other(epsilon, wrong):
    copies = 400_000
    row = {place: code for place, code in enumerate(CODES) if code}
    drawn = PeopleBits(SECRET, epsilon=epsilon, n_items=len(CODES))
    words = drawn.words(person_keys(SECRET, range(copies)), same_profile(row, len(CODES), copies))
    bits = unpacked(words[:, :1], len(CODES))
    probabilities = np.array([exact(epsilon, code) for code in CODES])
    assert law_pvalue(bits, probabilities) > FALSE_ALARM
    for factor in (wrong, 1 / wrong):
        for place, probability in enumerate(probabilities):
            altered = probabilities.copy()
            odds = factor * probability / (1 - probability)
            altered[place] = odds / (1 + odds)
            assert law_pvalue(bits, altered) < FALSE_ALARM


def test_bits_are_independent_across_items_and_people():
    """Ones per person and per item, and pairs of items and of people, false-alarm rate 1e-6 each."""
    bits = bits_of([{}] * 700, 700)
    chance = exact(Fraction(1), 0)
    for axis in (0, 1):
        spread = ((bits.sum(axis=axis) - 700 * chance) ** 2 / (700 * chance * (1 - chance))).sum()
        assert FALSE_ALARM / 2 < stats.chi2.sf(spread, 700) < 1 - FALSE_ALARM / 2
        centred = bits - chance
        pairs = centred.T @ centred if axis else centred @ centred.T
        largest = np.abs(pairs[np.triu_indices(700, 1)]).max() / (700 * (chance * (1 - chance)) ** 2) ** 0.5
        assert largest < 8.0  # 244,650 pairs; a tie of two coins would give more than 26


def test_a_person_has_the_same_bits_in_any_place_part_and_company():
    random = np.random.default_rng(4)
    rows = [
        dict.fromkeys(random.choice(1300, 9, replace=False).tolist(), int(random.integers(1, 256))) for _ in "x" * 90
    ]
    labels = [f"p{place}" for place in range(90)]
    whole = bits_of(rows, 1300, labels)
    order = random.permutation(90)
    other = bits_of([rows[place] for place in order], 1300, [labels[place] for place in order])
    np.testing.assert_array_equal(other, whole[order])
    parts = [bits_of(rows[begin : begin + 17], 1300, labels[begin : begin + 17]) for begin in range(0, 90, 17)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (bits_of(rows, 1300, labels, secret=bytes(32)) != whole).any(axis=1).all()
    assert (bits_of(rows, 1300, [f"{label}'" for label in labels]) != whole).any(axis=1).all()


def test_batches_do_not_matter(monkeypatch):
    rows = [{1: 255, 3: 100}, {2: 50}, {}] * 5
    whole = bits_of(rows, 600)
    monkeypatch.setattr(people_module, "_BATCH_BLOCKS", 3)
    np.testing.assert_array_equal(bits_of(rows, 600), whole)


def test_an_item_moves_only_its_own_bit_and_only_upward():
    rows = [{1: 255, 3: 100}, {2: 50}, {}]
    moved = 0
    for seed in range(20):
        secret = seeded_stream(seed).key()
        before = bits_of(rows, 30, secret=secret)
        after = bits_of([rows[0] | {7: 255}, *rows[1:]], 30, secret=secret)
        assert np.argwhere(before != after).tolist() in ([], [[0, 7]])
        assert (after >= before).all()
        moved += int((after != before).sum())
    assert moved > 0


def test_a_larger_code_never_takes_a_bit_away():
    """Second coins of one item share their digits: only the code decides, and it does so in order."""
    bits = np.array([bits_of([{0: code} if code else {}] * 1, 1) for code in range(0, 256, 5)]).ravel()
    assert (np.diff(bits.astype(int)) >= 0).all()


def test_bits_behind_the_catalogue_are_nobodys():
    drawn = PeopleBits(SECRET, epsilon=Fraction(1, 10), n_items=70)
    words = drawn.words(person_keys(SECRET, range(50)), coded_of([{}] * 50, 70))
    assert words.shape == (50, 8)
    assert not unpacked(words, 512)[:, 70:].any()


def test_keys_tell_people_apart_and_fit_into_a_block():
    keys = person_keys(SECRET, [*range(1000), *map(str, range(1000)), "é", ""])
    assert np.unique(keys, axis=0).shape == keys.shape == (2002, 2)
    assert (keys[:, 1] < 2**24).all()
    assert (person_keys(SECRET, [7]) == person_keys(SECRET, [7])).all()
    assert (person_keys(SECRET, [7]) != person_keys(bytes(32), [7])).any()


@pytest.mark.parametrize("broken", ["later digits left out", "codes ignored"])
def test_a_broken_coin_is_seen(monkeypatch, broken):
    def tables(epsilon):
        sound = sketch_tables(epsilon)
        if broken == "codes ignored":
            return sound._replace(extra=np.repeat(sound.extra[-1:], 256, axis=0))
        return sound._replace(tail=np.zeros(2, dtype=np.uint64))

    monkeypatch.setattr(people_module, "sketch_tables", tables)
    epsilon, copies = Fraction(8), 100_000  # all ones come from later digits
    drawn = PeopleBits(SECRET, epsilon=epsilon, n_items=3)
    bits = unpacked(drawn.words(person_keys(SECRET, range(copies)), same_profile({1: 60, 2: 20}, 3, copies))[:, :1], 3)
    assert law_pvalue(bits, [exact(epsilon, code) for code in (0, 60, 20)]) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_no_coin_borrows_digits_of_another(monkeypatch, broken):
    """With one purpose for two things, item 1 would borrow first digits of items 128 to 255, and show in their bits."""
    if broken:
        monkeypatch.setattr(people_module, "_EXTRA", people_module._HEAD)
    epsilon, copies = Fraction(1), 60_000
    drawn = PeopleBits(SECRET, epsilon=epsilon, n_items=256)
    keys, coded = person_keys(SECRET, range(copies)), same_profile({1: 255}, 256, copies)
    bits = unpacked(drawn.words(keys, coded)[:, :4], 256).astype(np.float64)
    own = bits[:, 1] - bits[:, 1].mean()
    ties = (bits[:, 128:] - bits[:, 128:].mean(axis=0)).T @ own / copies
    largest = np.abs(ties).max() / (bits[:, 1].std() * bits[:, 128:].std(axis=0).min()) * copies**0.5
    assert (largest > 6.5) == broken  # 128 ties by chance: below 6.5 but once in 10^8 runs


def test_nothing_inside_is_shown_or_sent():
    drawn = PeopleBits(SECRET, epsilon=Fraction(1), n_items=3)
    assert repr(drawn) == "PeopleBits(3 items)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        drawn.__reduce__()
