"""One noisy matrix: how far an item or a person moves it, to the last step, and that its noise is drawn once."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.support.errors import refused

from hetdp import Profiles, errors
from hetdp.core.randomness import seeded_stream
from hetdp.noise import discrete_gaussian
from hetdp.profiles.steps import CodedProfiles, code_profiles
from hetdp.recommender import matrix
from hetdp.recommender.matrix import COUNTS_SHARE, ONE_ITEM, ONE_PAIR, MatrixLearning, MatrixRule, MatrixSums
from hetdp.recommender.parts import Part

STEPS = 255
CLIP = 30


def matrix_spread(unit, size):
    return MatrixRule(unit).pair_spread(size)


def part_of(*rows, dials=None, n_items=64):
    """Return people with the given codes on the first items; a code of 0 is no item."""
    kept = [[(item, code) for item, code in enumerate(row) if code] for row in rows]
    indptr = np.cumsum([0, *map(len, kept)])
    items = np.array([item for row in kept for item, _ in row], dtype=np.int32)
    codes = np.array([code for row in kept for _, code in row], dtype=np.uint8)
    return Part(
        np.arange(len(rows)),
        CodedProfiles(indptr, items, codes, n_items),
        None if dials is None else np.array(dials, dtype=np.uint8),
    )


def pairs_of(codes, unit, dial=None, n_items=64):
    sums = MatrixSums.of_nobody(n_items, n_items)
    part = part_of(codes, dials=None if dial is None else [dial], n_items=n_items)
    sums.add_pairs(part, MatrixRule(unit), np.arange(n_items, dtype=np.int32))
    return sums.pairs.tolist()


def counts_of(codes, unit, dial=None, n_items=64):
    sums = MatrixSums.of_nobody(n_items, 0)
    sums.add_counts(part_of(codes, dials=None if dial is None else [dial], n_items=n_items), MatrixRule(unit))
    return sums.counts.tolist()


def apart(one, two):
    """The square of the L2 distance, exactly."""
    return sum((a - b) ** 2 for a, b in zip(one, two, strict=True))


some_codes = st.lists(st.integers(0, STEPS), min_size=40, max_size=64)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some_codes, st.integers(0, 39), st.integers(1, STEPS), st.integers(0, STEPS))
def test_an_item_moves_the_matrix_by_no_more_than_its_weight_allows(codes, item, here, there):
    """Added, removed, or given another weight; the larger of the two weights pays."""
    one, two = list(codes), list(codes)
    one[item], two[item] = here, there
    allowed = Fraction(max(here, there) * matrix_spread("item", 64), STEPS)
    assert apart(pairs_of(one, "item"), pairs_of(two, "item")) <= allowed**2


def test_the_bound_is_nearly_reached_where_it_is_looked_for():
    """The worst cases lie at the edge of the ball: others of full weight, and one that does not quite fill it."""
    worst = 0.0
    for full in range(26, 36):
        for rest in range(0, STEPS + 1, 15):
            others = [*[STEPS] * full, rest]
            distance = math.sqrt(apart(pairs_of([*others, STEPS], "item"), pairs_of(others, "item")))
            worst = max(worst, distance / matrix_spread("item", 64))
    assert 0.985 < worst < 1


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some_codes, some_codes, st.integers(0, STEPS), st.integers(0, STEPS))
def test_a_person_moves_the_matrix_by_no_more_than_the_own_dial_allows(one, two, dial, other_dial):
    spread = matrix_spread("user", 64)
    first, second = pairs_of(one, "user", dial), pairs_of(two, "user", other_dial)
    assert apart(first, [0] * len(first)) <= (Fraction(dial, STEPS) * spread) ** 2
    # Exchanged for another, with another dial: both may be seen, but no entry is negative.
    assert apart(first, second) <= 2 * (Fraction(max(dial, other_dial), STEPS) * spread) ** 2


def test_whoever_fills_the_ball_with_full_items_reaches_the_bound_for_people():
    reached = math.sqrt(apart(pairs_of([STEPS] * CLIP, "user", STEPS), [0] * (64 * 65 // 2)))
    assert reached == pytest.approx(matrix_spread("user", 64), rel=1e-9)
    assert matrix_spread("user", 64) == pytest.approx(ONE_PAIR * math.sqrt(CLIP * (CLIP + 1) / 2))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(some_codes, st.integers(0, 39), st.integers(1, STEPS), st.integers(1, STEPS))
def test_one_item_of_a_person_moves_little(codes, item, here, dial):
    """What docs/proofs/recommender.md says of single items where whole people are protected."""
    one, two = list(codes), list(codes)
    one[item], two[item] = here, 0
    allowed = Fraction(dial * here, STEPS**2) * matrix_spread("item", 64) + 100
    assert apart(pairs_of(one, "user", dial), pairs_of(two, "user", dial)) <= allowed**2


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(some_codes, st.integers(0, STEPS))
def test_counts_of_people_fit_their_dials(codes, dial):
    counts = counts_of(codes, "user", dial)
    assert apart(counts, [0] * 64) <= (Fraction(dial, STEPS) * ONE_ITEM) ** 2 * CLIP
    assert counts_of(codes, "item") == [code << 15 for code in codes] + [0] * (64 - len(codes))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(some_codes, st.sampled_from(["item", "user"]))
def test_entries_are_cut_by_less_than_the_bound_says(codes, unit):
    """Against exact arithmetic: 50 more digits of the square root."""
    found, place = pairs_of(codes, unit), 0
    square, limit = sum(code**2 for code in codes), CLIP * STEPS**2
    share = Fraction(1)
    if square > limit:
        share = Fraction(limit, square)
        if unit == "item":
            share = Fraction(math.isqrt(share.numerator * 10**100 // share.denominator), 10**50)
    padded = [*codes, *[0] * (64 - len(codes))]
    for row in range(64):
        for column in range(row + 1):
            lost = padded[row] * padded[column] * share * 2**15 - found[place]
            assert -Fraction(1, 10**30) <= lost < matrix._LOST
            place += 1


def people(seed, users=200, items=40):
    rng = np.random.default_rng(seed)
    has = rng.uniform(size=(users, items)) < 0.6
    rows, columns = np.nonzero(has)
    weights = rng.choice([0.0, 0.3, 1.0], size=rows.size)
    return Profiles.from_pairs(rows, columns, weights, user_ids=np.arange(users), item_ids=np.arange(items))


def parts_of(profiles, bounds):
    users, items, weights = profiles.to_pairs()
    found = []
    for begin, end in pairwise(bounds):
        here = (users >= begin) & (users < end)
        some = Profiles.from_pairs(
            users[here], items[here], weights[here], user_ids=np.arange(begin, end), item_ids=profiles.item_ids
        )
        found.append(Part(some.user_ids, code_profiles(some)))
    return found


def learned(parts, *, unit="item", head=40, rho=Fraction(1, 50), first=False, seed=3):
    learning = MatrixLearning(rho, MatrixRule(unit), n_items=40, stream=seeded_stream(seed))
    if first:
        for part in parts:
            learning.count(part)
        _ = learning.counts
    for part in parts:
        learning.add(part, np.arange(head, dtype=np.int32))
    return learning


@pytest.mark.parametrize("unit", ["item", "user"])
@pytest.mark.parametrize("first", [True, False])
def test_parts_add_up_to_the_same_bits_in_any_order(unit, first):
    everybody = people(1)
    whole = learned(parts_of(everybody, [0, 200]), unit=unit, head=30, first=first)
    halves = learned(parts_of(everybody, [0, 20, 120, 200])[::-1], unit=unit, head=30, first=first)
    assert whole.evidence().gram.tobytes() == halves.evidence().gram.tobytes()
    assert whole.counts.tobytes() == halves.counts.tobytes()


def test_sums_of_parts_are_sums():
    everybody, head = people(1), np.arange(40, dtype=np.int32)
    sums = []
    for part in parts_of(everybody, [0, 70, 200]):
        sums.append(MatrixSums.of_nobody(40, 40))
        sums[-1].add_pairs(part, MatrixRule("item"), head)
        sums[-1].add_counts(part, MatrixRule("item"))
    both = MatrixSums.of_nobody(40, 40)
    for part in parts_of(everybody, [0, 200]):
        both.add_pairs(part, MatrixRule("item"), head)
        both.add_counts(part, MatrixRule("item"))
    added = sums[1] + sums[0]
    assert (added.pairs == both.pairs).all()
    assert (added.counts == both.counts).all()
    assert "40" in repr(added)


@pytest.mark.parametrize("unit", ["item", "user"])
def test_noise_has_the_size_that_rho_asks_for(unit):
    """All entries of nobody's matrix are noise. Five sigma of a variance of 780 entries: false alarms 1e-6."""
    nobody = Part(np.arange(0), CodedProfiles(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), 80))
    learning = MatrixLearning(Fraction(1, 50), MatrixRule(unit), n_items=80, stream=seeded_stream(5))
    learning.add(nobody, np.arange(40, dtype=np.int32))
    evidence = learning.evidence()
    sigma = {"item": math.sqrt(30 + 2 / 3), "user": math.sqrt(30 * 31 / 2)}[unit] / math.sqrt(
        2 / 50 * (1 - COUNTS_SHARE[unit])
    )
    assert evidence.noise == pytest.approx(sigma**2, rel=1e-3)
    assert evidence.edge == pytest.approx(2 * sigma * math.sqrt(40), rel=1e-3)
    entries = evidence.gram[np.tril_indices(40, -1)]
    assert entries.var() / sigma**2 == pytest.approx(1, abs=5 * math.sqrt(2 / entries.size))
    assert (evidence.gram == evidence.gram.T).all()
    assert (np.diag(evidence.gram) == evidence.counts).all()
    each = {"item": 1.0, "user": math.sqrt(30)}[unit] / math.sqrt(2 / 50 * float(COUNTS_SHARE[unit]))
    assert learning.counts.std() / each == pytest.approx(1, abs=5 / math.sqrt(2 * 80))


def test_evidence_is_the_exact_matrix_and_noise():
    """The noise is replayed from the same seed: what is left is exact."""
    everybody = people(2)
    learning = learned(parts_of(everybody, [0, 200]), seed=9)
    found = learning.evidence().gram
    stream = seeded_stream(9)
    matrix.gaussian_integers(Fraction(ONE_ITEM) ** 2 / (2 * Fraction(1, 50) * COUNTS_SHARE["item"]), 40, stream)
    variance = Fraction(matrix_spread("item", 40)) ** 2 / (2 * Fraction(1, 50) * (1 - COUNTS_SHARE["item"]))
    noise = matrix.gaussian_integers(variance, 40 * 41 // 2, stream)
    exact = np.zeros((40, 40))
    for user in range(200):
        weights = np.zeros(40)
        for item, weight in everybody.profile(user).items():
            weights[item] = math.floor(weight * STEPS) / STEPS
        length = np.linalg.norm(weights)
        exact += np.outer(weights, weights) * min(1.0, math.sqrt(CLIP) / max(length, 1e-9))
    below = np.tri(40, k=-1, dtype=bool)
    expected = np.zeros((40, 40))
    expected[np.tril_indices(40)] = noise / ONE_PAIR
    assert (found - expected)[below] == pytest.approx(exact[below], abs=1e-6)
    # On the diagonal, counts at its level have their say.
    assert np.abs(np.diag(found) - np.diag(exact)).mean() < np.abs(np.diag(expected)).mean()


def test_nothing_is_added_once_noise_was_drawn():
    parts = parts_of(people(1), [0, 100, 200])
    learning = learned(parts[:1])
    again = learning.evidence()
    assert learning.evidence() is again
    with pytest.raises(errors.InvalidInput, match="all parts must come before"):
        learning.add(parts[1], np.arange(40, dtype=np.int32))
    counting = learned(parts[:1], first=True)
    with pytest.raises(errors.InvalidInput, match="all parts must come before"):
        counting.count(parts[1])
    counted = learned(parts[:1])
    assert counted.counts.size == 40
    with pytest.raises(errors.InvalidInput, match="all parts must come before"):
        counted.add(parts[1], np.arange(40, dtype=np.int32))
    with pytest.raises(TypeError, match="pickled"):
        learning.__reduce__()
    with pytest.raises(errors.InvalidInput, match="at least one part"):
        MatrixLearning(Fraction(1), MatrixRule("item"), n_items=3, stream=seeded_stream(1)).evidence()


def test_an_epsilon_that_no_noise_can_serve_is_refused():
    learning = learned(parts_of(people(1), [0, 200]), rho=Fraction(1, 10**14))
    with refused("epsilon"):
        learning.evidence()


def test_noise_is_that_of_the_sampler():
    """Guards the replay above against a sampler that ignores its stream."""
    one, two = (discrete_gaussian(1000, 50, random_state=seeded_stream(seed)) for seed in (9, 10))
    assert (one != two).any()
