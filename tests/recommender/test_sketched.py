"""Sums of sketches are those of the bits published, whatever the parts, the order, the passes and the threads.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.sketch_helpers import coded_of, random_profiles, same_profile

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.profiles.steps import code_profiles
from hetdp.recommender import sketched
from hetdp.recommender.parts import Part
from hetdp.recommender.sketched import SketchLearning, SketchSums, sum_part
from hetdp.sketching.bit_law import chance_of_one, contrast
from hetdp.sketching.drawing import PeopleBits, person_keys

SECRET = seeded_stream(1).key()
ONE = Fraction(1)


def published(coded, labels, *, epsilon=ONE, secret=SECRET):
    """All bits, people x items."""
    words = PeopleBits(secret, epsilon=epsilon, n_items=coded.n_items).words(person_keys(secret, labels), coded)
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : coded.n_items].astype(bool)


def places(*items):
    return np.array(items, dtype=np.int32)


def part_of(user_ids, coded):
    return Part(user_ids, coded, keys=person_keys(SECRET, user_ids.tolist()))


def learn(coded, user_ids, head, *, cuts=(), count=False, threads=1, order=1):
    learning = SketchLearning(ONE, coded.n_items, seeded_stream(2), threads=threads)
    pieces = [slice(begin, end) for begin, end in itertools.pairwise([0, *cuts, coded.n_users])]
    parts = [part_of(user_ids[piece], sketched._rows(coded, piece)) for piece in pieces][::order]
    for part in parts * count:
        learning.count(part)
    for part in parts:
        learning.add(part, head)
    return learning


def same(one, two):
    mine, other = one.evidence(), two.evidence()
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(mine.gram, other.gram)
    assert (mine.edge, mine.noise) == (other.edge, other.noise)


@pytest.mark.parametrize(("people", "items"), [(1, 1), (2, 3), (64, 64), (65, 130), (700, 5)])
def test_sums_of_bits_are_what_a_product_of_matrices_gives(people, items):
    bits = seeded_stream(people).words(people * items).reshape(people, items) < 2**62
    sums = SketchSums.of_bits(bits)
    whole = bits.astype(np.int64)
    np.testing.assert_array_equal(sums.pairs, whole.T @ whole)
    np.testing.assert_array_equal(sums.ones, whole.sum(axis=0))
    halves = SketchSums.of_bits(bits[: people // 2]) + SketchSums.of_bits(bits[people // 2 :])
    np.testing.assert_array_equal(halves.pairs, sums.pairs)
    assert halves.n_people == sums.n_people == people


@pytest.mark.parametrize("head", [(), (3,), (2, 5, 70), tuple(range(90))])
@pytest.mark.parametrize("small_blocks", [False, True])
def test_sums_of_a_part_are_those_of_its_published_bits(monkeypatch, head, small_blocks):
    if small_blocks:
        monkeypatch.setattr(sketched, "_WORDS", 3)
        monkeypatch.setattr(sketched, "_DRAWN_WORDS", 1)
    coded = code_profiles(random_profiles(500, 90, 6))
    keys = person_keys(SECRET, range(500))
    bits = PeopleBits(SECRET, epsilon=ONE, n_items=90)
    found = sum_part(bits, keys, coded, places(*head))
    expected = published(coded, range(500)).astype(np.int64)
    np.testing.assert_array_equal(found.ones, expected.sum(axis=0))
    np.testing.assert_array_equal(found.pairs, expected[:, list(head)].T @ expected[:, list(head)])
    np.testing.assert_array_equal((found + found).pairs, 2 * found.pairs)


def test_parts_order_passes_and_threads_give_the_same_bit_for_bit(monkeypatch):
    monkeypatch.setattr(sketched, "_WORDS", 2)
    monkeypatch.setattr(sketched, "_DRAWN_WORDS", 1)
    coded, ids = code_profiles(random_profiles(400, 120, 7)), np.array([f"p{one}" for one in range(400)], dtype=object)
    head = places(*range(0, 120, 3))
    whole = learn(coded, ids, head)
    same(whole, learn(coded, ids, head, cuts=(17, 200)))
    same(whole, learn(coded, ids, head, cuts=(17, 200), order=-1))
    same(whole, learn(coded, ids, head, cuts=(301,), count=True))
    same(whole, learn(coded, ids, head, threads=3))


def test_counts_of_a_first_pass_are_those_of_the_second():
    coded, ids = code_profiles(random_profiles(300, 40, 5)), np.arange(300)
    learning = SketchLearning(ONE, 40, seeded_stream(2))
    learning.count(part_of(ids, coded))
    before = learning.counts
    learning.add(part_of(ids, coded), places(1, 4))
    np.testing.assert_array_equal(learning.counts, before)
    np.testing.assert_array_equal(learning.evidence().counts, before[[1, 4]])


def test_evidence_is_the_sum_of_what_each_sketch_says():
    coded = code_profiles(random_profiles(300, 20, 5))
    bits = published(coded, range(300), epsilon=Fraction(2))
    found = SketchSums.of_bits(bits).evidence(Fraction(2))
    each = (bits - chance_of_one(2)) / contrast(2)
    expected = each.T @ each
    np.fill_diagonal(expected, each.sum(axis=0))
    np.testing.assert_allclose(found.gram, expected, atol=1e-8)
    np.testing.assert_allclose(found.counts, each.sum(axis=0), atol=1e-8)


@pytest.mark.slow
def test_evidence_is_unbiased_and_its_noise_is_as_stated():
    """Item 0 and 1 in every profile, 2 in none: means within 6 standard errors, false-alarm rate below 1e-8."""
    people, runs = 2000, 300
    coded = same_profile({0: 255, 1: 255}, 4, people)
    pairs = []
    for run in range(runs):
        learning = SketchLearning(ONE, 4, seeded_stream(run))
        learning.add(part_of(np.arange(people), coded), places(0, 1, 2, 3))
        evidence = learning.evidence()
        pairs.append([evidence.gram[0, 1], evidence.gram[0, 2], evidence.gram[2, 3], *evidence.counts[[0, 2]]])
    found = np.array(pairs)
    error = found.std(axis=0, ddof=1) / runs**0.5
    assert (np.abs(found.mean(axis=0) - [people, 0, 0, people, 0]) < 6 * error).all()
    # Of a variance from 300 runs, the standard error is a twelfth.
    assert found[:, 2].var(ddof=1) == pytest.approx(evidence.noise, rel=0.5)
    assert found[:, 4].var(ddof=1) == pytest.approx(evidence.count_noise, rel=0.5)


def test_an_item_of_code_0_changes_nothing_and_one_of_code_255_only_its_own_sums():
    rows = [{1: 255, 3: 100}, {2: 50}, {}] * 30
    ids, head = np.arange(90), places(*range(8))
    before = learn(coded_of(rows, 8), ids, head).evidence()
    changed = 0
    for item in (5, 6):
        after = learn(coded_of([rows[0] | {item: 255}, *rows[1:]], 8), ids, head).evidence()
        others = np.arange(8) != item
        np.testing.assert_array_equal(after.gram[np.ix_(others, others)], before.gram[np.ix_(others, others)])
        changed += int((after.counts != before.counts).sum())
    assert changed in {1, 2}


def test_data_that_change_between_two_passes_are_refused():
    ids = np.array([1, 2])
    learning = SketchLearning(Fraction(9), 40, seeded_stream(2))
    learning.count(part_of(ids, coded_of([dict.fromkeys(range(40), 255), {}], 40)))
    learning.add(part_of(ids, coded_of([{}, {}], 40)), places(0))
    with refused(problem="other rows", kind=DataError):
        learning.evidence()


def test_a_part_without_keys_is_refused():
    with refused(problem="keys of its people"):
        SketchLearning(ONE, 3, seeded_stream(2)).count(Part(np.array([1]), coded_of([{}], 3)))


def test_a_crowd_may_grow_after_its_head_was_chosen():
    coded, ids, head = code_profiles(random_profiles(300, 40, 5)), np.arange(300), places(1, 4)
    learning = SketchLearning(ONE, 40, seeded_stream(2))
    first, later = (part_of(ids[piece], sketched._rows(coded, piece)) for piece in (slice(0, 200), slice(200, 300)))
    learning.count(first)
    learning.add(first, head)
    learning.evidence()
    learning.add(later, head)
    same(learning, learn(coded, ids, head))


def test_a_model_needs_somebody_and_shows_nothing_of_them():
    learning = SketchLearning(ONE, 3, seeded_stream(2))
    with pytest.raises(InvalidInput, match="at least one part"):
        learning.evidence()
    assert repr(learning) == "SketchLearning(3 items)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        learning.__reduce__()
    found = sum_part(PeopleBits(SECRET, epsilon=ONE, n_items=3), person_keys(SECRET, [1]), coded_of([{}], 3), places(0))
    assert repr(found) == "PartSums(3 items, 1 of them related)"
