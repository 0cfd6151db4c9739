"""Bits have the exact probability however they are drawn, and depend on their person, item and code alone.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats
from tests.support.errors import refused
from tests.support.sketch_helpers import bits_of_rows, coded_of, dense_bits, exact, random_profiles, runs, same_profile
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp import audit, mechanisms
from hetdp.core.randomness import seeded_stream
from hetdp.node import dials as node_dials
from hetdp.noise.exact_coins import binary_digits, logistic
from hetdp.profiles.steps import WEIGHT_STEPS, code_profiles, weight_codes
from hetdp.sketching import _kernels, drawing
from hetdp.sketching.bit_law import chance_of_one, sketch_tables
from hetdp.sketching.drawing import PeopleBits, Sketches, pack, person_keys, toss_bits, unpack

EPSILON = Fraction(2)
CODES = (0, 1, 60, 127, 200, 255)  # 0 stands for absent
SECRET = seeded_stream(1).key()


def probabilities_pvalue(bits, probabilities):
    """Chi-square test of the number of ones in each column."""
    n = bits.shape[0]
    ones, expected = bits.sum(axis=0), n * np.asarray(probabilities)
    statistic = ((ones - expected) ** 2 / (expected * (1 - expected / n))).sum()
    return stats.chi2.sf(statistic, len(probabilities))


def unpacked(words, n_items):
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_items]


def of_sketches(rows, n_items, *, epsilon=Fraction(1), seed=1):
    """Bits of one dict of item -> code per user, by position."""
    return dense_bits(Sketches(coded_of(rows, n_items), epsilon=epsilon, stream=seeded_stream(seed)))


def of_people(rows, n_items, labels=None, *, epsilon=Fraction(1), seed=1):
    """Bits of one dict of item -> code per person, by key."""
    secret = seeded_stream(seed).key()
    drawn = PeopleBits(secret, epsilon=epsilon, n_items=n_items)
    return unpacked(drawn.words(person_keys(secret, labels or range(len(rows))), coded_of(rows, n_items)), n_items)


def runs_of_people(row, n_items, copies, *, epsilon):
    """Bits of `copies` people with the same profile."""
    drawn = PeopleBits(SECRET, epsilon=epsilon, n_items=n_items)
    return unpacked(drawn.words(person_keys(SECRET, range(copies)), same_profile(row, n_items, copies)), n_items)


def runs_of_sketches(row, n_items, copies, *, epsilon):
    return runs(row, n_items, copies, epsilon=epsilon, stream=seeded_stream(5))


BY_KEY = pytest.mark.parametrize("draw", [of_sketches, of_people])


# --- probabilities


# At 8, q < 1/256: every one comes from the digits behind the first eight. Ones are rare, so only larger errors show.
@pytest.mark.parametrize("draw", [runs_of_sketches, pytest.param(runs_of_people, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("epsilon", "wrong"), [(Fraction(1, 10), 1.1), (Fraction(1), 1.1), (Fraction(3), 1.1), (Fraction(8), 3.0)]
)
def test_bits_have_the_exact_probability_and_no_other(draw, epsilon, wrong):
    row = {place: code for place, code in enumerate(CODES) if code}
    bits = draw(row, len(CODES), 400_000, epsilon=epsilon)
    probabilities = np.array([exact(epsilon, code) for code in CODES])
    assert probabilities_pvalue(bits, probabilities) > FALSE_ALARM
    for factor in (wrong, 1 / wrong):
        for place, probability in enumerate(probabilities):
            altered = probabilities.copy()
            odds = factor * probability / (1 - probability)
            altered[place] = odds / (1 + odds)
            assert probabilities_pvalue(bits, altered) < FALSE_ALARM


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(3, 5), Fraction(1, 5)])
def test_tuned_bits_have_their_probability(tuned_for):
    """Two ways of drawing, four weights, 50,000 bits each: 5 standard errors (false-alarm rate 6e-7 each)."""
    codes, copies = [0, 51, 128, 255], 50_000
    drawn = toss_bits(
        np.repeat(codes, copies).astype(np.uint8), epsilon=EPSILON, tuned_for=tuned_for, stream=seeded_stream(11)
    ).reshape(len(codes), copies)
    row = {place: code for place, code in enumerate(codes) if code}
    many = runs(row, len(codes), copies, epsilon=EPSILON, tuned_for=tuned_for, stream=seeded_stream(12))
    for place, code in enumerate(codes):
        p = chance_of_one(EPSILON, code / WEIGHT_STEPS, tuned_for=tuned_for)
        error = 5 * np.sqrt(p * (1 - p) / copies)
        assert abs(drawn[place].mean() - p) < error
        assert abs(many[:, place].mean() - p) < error


@pytest.mark.parametrize("draw", [runs_of_sketches, runs_of_people])
def test_bits_are_independent_across_items_and_people(draw):
    """Ones per person and per item, and pairs of items and of people, false-alarm rate 1e-6 each."""
    bits = draw({}, 700, 700, epsilon=Fraction(1))
    chance = exact(Fraction(1), 0)
    for axis in (0, 1):
        spread = ((bits.sum(axis=axis) - 700 * chance) ** 2 / (700 * chance * (1 - chance))).sum()
        assert FALSE_ALARM / 2 < stats.chi2.sf(spread, 700) < 1 - FALSE_ALARM / 2
        centred = bits - chance
        pairs = centred.T @ centred if axis else centred @ centred.T
        largest = np.abs(pairs[np.triu_indices(700, 1)]).max() / (700 * (chance * (1 - chance)) ** 2) ** 0.5
        assert largest < 8.0  # 244,650 pairs; a tie of two coins would give more than 26


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_library_engine_and_node_draw_with_the_same_probabilities(epsilon):
    """40,000 bits of eleven weights in each of four ways: each fits p(code / 255), and none fits a larger epsilon."""
    dials = np.arange(0, 101, 10)
    codes = [dial * WEIGHT_STEPS // 100 for dial in dials.tolist()]
    weights = np.array([float(Fraction(code, WEIGHT_STEPS)) for code in codes])
    weights = np.where(weight_codes(weights) < codes, np.nextafter(weights, 1), weights)
    probabilities = [exact(epsilon, code) for code in codes]
    runs_each = 40_000
    plan = mechanisms.sketch(weights).plan(noise="laplace", amount=epsilon)
    everything = np.ones(dials.size, dtype=bool)
    row = {place: code for place, code in enumerate(codes) if code}
    drawn = {
        "library": plan.answers(np.ones(dials.size), everything, seeded_stream(21), count=runs_each),
        "engine": runs(row, dials.size, runs_each, epsilon=epsilon, stream=seeded_stream(22)),
        "node": node_dials.draw_bits(
            np.tile(dials, runs_each).astype(np.uint8), epsilon=epsilon, stream=seeded_stream(23)
        ).reshape(runs_each, -1),
        "one profile": toss_bits(
            np.tile(codes, runs_each).astype(np.uint8), epsilon=epsilon, stream=seeded_stream(24)
        ).reshape(runs_each, -1),
    }
    for way, bits in drawn.items():
        assert probabilities_pvalue(bits, probabilities) > FALSE_ALARM, way
        assert probabilities_pvalue(bits, [exact(epsilon * 11 / 10, code) for code in codes]) < FALSE_ALARM, way


def test_library_and_node_toss_the_same_coins():
    """Bit by bit from the same stream: a dial is the largest step of 1/255 below it, and so is a weight."""
    dials = np.arange(101, dtype=np.uint8)
    codes = np.array([dial * 255 // 100 for dial in range(101)], dtype=np.uint8)
    least = np.array([float(Fraction(int(code), 255)) for code in codes])
    least = np.where(weight_codes(least) < codes, np.nextafter(least, 1), least)
    plan = mechanisms.sketch(least).plan(noise="laplace", amount=2)
    of_library = plan.answer(np.ones(101), np.ones(101, dtype=bool), seeded_stream(3))
    of_node = node_dials.draw_bits(dials, epsilon=Fraction(2), stream=seeded_stream(3))
    assert of_node.tolist() == of_library.astype(bool).tolist()
    assert of_node.tolist() == toss_bits(codes, epsilon=Fraction(2), stream=seeded_stream(3)).tolist()
    assert all(Fraction(int(code), 255) <= Fraction(dial, 100) for dial, code in enumerate(codes))


def test_ties_of_the_first_digits_are_settled_by_the_next():
    tables = sketch_tables(Fraction(1))
    high, low = tables.tail
    one = np.uint64(1)
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    bits = np.zeros((1, 8), dtype=np.uint64)
    _kernels.settle(digits, tables.tail, np.zeros(4, np.int64), np.arange(64, 68), 64, bits)
    assert bits[0, 0] == 0b0101
    high, low = tables.extra[200]
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    landed = np.empty(4, dtype=np.bool_)
    _kernels.land(digits, np.full(4, 200, np.uint8), tables, landed)
    assert landed.tolist() == [True, False, True, False]


def slow_bit(label, item, code, *, epsilon):
    """One bit as in docs/proofs/recommender.md: blocks of AES by hand, digits as whole numbers of any size."""
    key = hashlib.blake2b(f"t{label}".encode(), key=SECRET, digest_size=11, person=b"hetdp-person").digest()
    coins = hashlib.blake2b(key=SECRET, digest_size=32, person=b"hetdp-coins").digest()

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
def test_bits_of_people_are_those_of_the_proof(epsilon):
    random = np.random.default_rng(7)
    rows = [{int(item): int(random.integers(1, 256)) for item in random.choice(700, 200, replace=False)} for _ in "ab"]
    expected = [
        [slow_bit(label, item, row.get(item, 0), epsilon=epsilon) for item in range(700)]
        for label, row in zip("ab", rows, strict=True)
    ]
    np.testing.assert_array_equal(of_people(rows, 700, ["a", "b"], epsilon=epsilon), expected)


# --- audits, and broken variants that they or the tests above must catch

AUDITED = {0: 255, 1: 128, 2: 51}  # weights 1, about 1/2 and 1/5
CLAIMS = {item: float(EPSILON) * code / WEIGHT_STEPS for item, code in AUDITED.items()}


def audited(items, *, epsilon=EPSILON, tuned_for=Fraction(1)):
    """Audit sketches of three items against the claims; false-alarm rate 1e-7."""

    def sketch(profile, size, random_state):
        row = {item: AUDITED[item] for item, present in enumerate(profile) if present}
        stream = seeded_stream(random_state)
        return runs(row, 3, size, epsilon=epsilon, tuned_for=tuned_for, stream=stream).astype(np.float64)

    adjacent = [([1, 1, 1], [int(other != item) for other in AUDITED]) for item in items]
    return audit(sketch, adjacent=adjacent, claimed=CLAIMS, confidence=1 - 1e-7, random_state=3)


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(3, 4), Fraction(1, 4)])
def test_the_sketch_passes_the_audit_item_by_item(tuned_for):
    report = audited(AUDITED, tuned_for=tuned_for)
    assert report.verdict == "no violation found", str(report)
    assert all(row.lower_bound > 0.8 * CLAIMS[row.item] for row in report.rows)


def test_a_sketch_that_ignores_weights_is_caught(monkeypatch):
    def flat(epsilon, tuned_for):
        tables = sketch_tables(epsilon, tuned_for)
        return tables._replace(extra=np.repeat(tables.extra[-1:], 256, axis=0))

    monkeypatch.setattr(drawing, "sketch_tables", flat)
    assert audited([1]).verdict == "violated"


def test_a_sketch_that_takes_the_larger_term_is_caught(monkeypatch):
    """Up to the weight that it is tuned for, zeros lose too much: second coins of heavier items are used for all."""

    def larger(epsilon, tuned_for):
        return sketch_tables(epsilon, tuned_for)._replace(extra=sketch_tables(epsilon, Fraction(1, 1000)).extra)

    monkeypatch.setattr(drawing, "sketch_tables", larger)
    assert audited([2], tuned_for=Fraction(3, 4)).verdict == "violated"


def test_a_sketch_with_a_tenth_more_epsilon_is_caught():
    assert audited([0], epsilon=EPSILON * 11 / 10).verdict == "violated"


@pytest.mark.parametrize("broken", ["later digits left out", "codes ignored"])
def test_a_broken_coin_of_people_is_seen(monkeypatch, broken):
    def tables(epsilon, tuned_for):
        sound = sketch_tables(epsilon, tuned_for)
        if broken == "codes ignored":
            return sound._replace(extra=np.repeat(sound.extra[-1:], 256, axis=0))
        return sound._replace(tail=np.zeros(2, dtype=np.uint64))

    monkeypatch.setattr(drawing, "sketch_tables", tables)
    bits = runs_of_people({1: 60, 2: 20}, 3, 100_000, epsilon=Fraction(8))  # all ones come from later digits
    assert probabilities_pvalue(bits, [exact(Fraction(8), code) for code in (0, 60, 20)]) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_no_coin_shares_digits_with_another(monkeypatch, broken):
    """With one purpose for two things, item 1 would share first digits of items 128 to 255, and show in their bits."""
    if broken:
        monkeypatch.setattr(drawing, "_EXTRA", drawing._HEAD)
    copies = 60_000
    bits = runs_of_people({1: 255}, 256, copies, epsilon=Fraction(1)).astype(np.float64)
    own = bits[:, 1] - bits[:, 1].mean()
    ties = (bits[:, 128:] - bits[:, 128:].mean(axis=0)).T @ own / copies
    largest = np.abs(ties).max() / (bits[:, 1].std() * bits[:, 128:].std(axis=0).min()) * copies**0.5
    assert (largest > 6.5) == broken  # 128 ties by chance: above 6.5 once in 10^8 runs


# --- what a bit depends on


@BY_KEY
def test_an_item_changes_only_its_own_bit_and_only_upward(draw):
    rows = [{1: 255, 3: 100}, {2: 50}, {}]
    moved = 0
    for seed in range(20):
        before, after = (draw([first, *rows[1:]], 30, seed=seed) for first in (rows[0], rows[0] | {7: 255}))
        changed = np.argwhere(before != after)
        assert changed.tolist() in ([], [[0, 7]])
        assert (after >= before).all()
        moved += len(changed)
    assert moved > 0


@BY_KEY
def test_a_larger_code_never_takes_a_bit_away(draw):
    """Second coins of one item share their digits: only the code decides, and it does so in order."""
    bits = np.array([draw([{0: code} if code else {}], 1) for code in range(0, 256, 5)]).ravel()
    assert (np.diff(bits.astype(int)) >= 0).all()


@BY_KEY
def test_an_item_of_code_0_is_an_absent_item(draw):
    np.testing.assert_array_equal(draw([{1: 255}], 9), draw([{1: 255, 4: 0}], 9))


@BY_KEY
def test_batches_do_not_matter(monkeypatch, draw):
    rows = [{1: 255, 3: 100}, {2: 50}, {}] * 5
    whole = draw(rows, 600)
    monkeypatch.setattr(drawing, "_BATCH_BLOCKS", 3)
    monkeypatch.setattr(drawing, "_BATCH_ITEMS", 7)
    np.testing.assert_array_equal(draw(rows, 600), whole)


def test_rows_of_sketches_are_the_same_however_they_are_asked_for():
    coded = code_profiles(random_profiles(1300, 50, 8))
    sketches = Sketches(coded, epsilon=Fraction(1), stream=seeded_stream(3))
    whole = bits_of_rows(sketches, range(50))
    assert not whole[:, 1300:].any()
    np.testing.assert_array_equal(bits_of_rows(sketches, [17, 3]), whole[[17, 3]])
    part = np.empty((50, 8), dtype=np.uint64)
    sketches.rows(np.arange(50), part, first_group=1)
    np.testing.assert_array_equal(unpacked(part, 512), whole[:, 512:1024])
    for user in (0, 511, 512, 1299):
        mine = np.unpackbits(sketches.published_sketch(user), bitorder="little")[:50]
        np.testing.assert_array_equal(mine, whole[:, user])


def test_a_person_has_the_same_bits_in_any_place_part_and_company():
    random = np.random.default_rng(4)
    rows = [
        dict.fromkeys(random.choice(1300, 9, replace=False).tolist(), int(random.integers(1, 256))) for _ in "x" * 90
    ]
    labels = [f"p{place}" for place in range(90)]
    whole = of_people(rows, 1300, labels)
    order = random.permutation(90)
    other = of_people([rows[place] for place in order], 1300, [labels[place] for place in order])
    np.testing.assert_array_equal(other, whole[order])
    parts = [of_people(rows[begin : begin + 17], 1300, labels[begin : begin + 17]) for begin in range(0, 90, 17)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (of_people(rows, 1300, labels, seed=2) != whole).any(axis=1).all()
    assert (of_people(rows, 1300, [f"{label}'" for label in labels]) != whole).any(axis=1).all()


# --- packing, keys and secrets


def test_bits_behind_the_catalogue_are_0():
    drawn = PeopleBits(SECRET, epsilon=Fraction(1, 10), n_items=70)
    words = drawn.words(person_keys(SECRET, range(50)), coded_of([{}] * 50, 70))
    assert words.shape == (50, 8)
    assert not unpacked(words, 512)[:, 70:].any()


def test_packed_bits_are_read_back():
    bits = seeded_stream(1).words(77) < 2**63
    assert unpack(pack(bits), 77).tolist() == bits.tolist()
    assert len(pack(bits)) == 10
    assert pack(np.array([True, False, True])) == b"\x05"


def test_keys_differ_between_people_and_fit_into_a_block():
    keys = person_keys(SECRET, [*range(1000), *map(str, range(1000)), "é", ""])
    assert np.unique(keys, axis=0).shape == keys.shape == (2002, 2)
    assert (keys[:, 1] < 2**24).all()
    assert (person_keys(SECRET, [7]) == person_keys(SECRET, [7])).all()
    assert (person_keys(SECRET, [7]) != person_keys(bytes(32), [7])).any()


def test_secrets_are_neither_shown_nor_pickled_and_other_users_are_refused():
    sketches = Sketches(coded_of([{}, {}], 3), epsilon=Fraction(1), stream=seeded_stream(3))
    people = PeopleBits(SECRET, epsilon=Fraction(1), n_items=3)
    assert [repr(sketches), repr(people)] == ["Sketches(2 users, 3 items)", "PeopleBits(3 items)"]
    for drawn in (sketches, people):
        with pytest.raises(TypeError, match="cannot be pickled"):
            drawn.__reduce__()
    with refused("user"):
        sketches.published_sketch(2)
    assert sketches.simulated
