"""Two tests for copies: honest sketches pass them, whatever the profiles; copies do not."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol.seen_sketches import (
    NEVER,
    SELDOM,
    SeenSketches,
    least_difference,
    least_shared,
    ones_of_rows,
    packed_rows,
)
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import pack, toss_bits


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(1, 2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(6), Fraction(64)])
@pytest.mark.parametrize("size", [1, 40, 300, 2048, 50_000])
def test_the_quantile_is_that_of_the_least_that_two_draws_differ(epsilon, tuned_for, size):
    least = least_difference(epsilon, size, tuned_for)
    weights = np.linspace(0.0, 1.0, 256)
    p = np.array([chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in weights])
    rate = float((p[:, None] * (1 - p) + p * (1 - p[:, None])).min())  # whatever the two weights are
    law = scipy.stats.binom(size, rate)
    assert law.cdf(least - 1) <= NEVER * (1 + 1e-6)
    assert law.cdf(least) > NEVER * (1 - 1e-6) or least == size + 1


def test_the_test_is_off_where_honest_twins_may_not_differ():
    assert least_difference(Fraction(9), 300) == least_difference(Fraction(64), 50_000) == 0
    seen = SeenSketches(Fraction(9))
    seen.add({(b"a", 0): bytes(38)}, 300)
    assert seen.alike(bytes(38), 300) == []


@pytest.mark.parametrize(("most", "chance"), [(0, 0.05), (1, 0.3), (300, 0.0474), (2048, 0.27), (3000, 0.0474)])
def test_shared_noise_has_an_exact_tail(most, chance):
    least, ones = least_shared(most, chance), np.arange(most + 1)
    assert (scipy.stats.binom.sf(least - 1, ones, chance) <= SELDOM * (1 + 1e-6)).all()
    told = least <= ones
    assert (scipy.stats.binom.sf(least - 2, ones, chance)[told] > SELDOM * (1 - 1e-6)).all()
    assert (least[~told] == ones[~told] + 1).all()
    assert (scipy.stats.binom.sf(ones - 1, ones, chance)[~told] > SELDOM).all(), "so few could all be shared by chance"


def twins(size, epsilon, count, seed):
    """Return sketches of one profile of weight 1 everywhere: none differ less."""
    codes = np.full(size, 255, dtype=np.uint8)
    return [pack(toss_bits(codes, epsilon=epsilon, stream=seeded_stream(seed, n))) for n in range(count)]


@pytest.mark.parametrize(("size", "epsilon"), [(300, Fraction(3)), (2048, Fraction(1)), (2048, Fraction(3))])
def test_twins_are_no_copies_of_each_other(size, epsilon):
    """190 pairs, each taken for a copy with probability 1e-9 at most: a false alarm once in 5 million runs."""
    sketches = twins(size, epsilon, 20, 5)
    seen = SeenSketches(epsilon)
    seen.add({(bytes([number]), 0): bits for number, bits in enumerate(sketches)}, size)
    for number, bits in enumerate(sketches):
        assert seen.alike(bits, size) == [(bytes([number]), 0)]


def test_what_differs_in_a_bit_less_is_found_and_in_a_bit_more_is_not():
    size, least = 2048, least_difference(Fraction(3), 2048)
    (bits,) = twins(size, Fraction(3), 1, 6)
    seen = SeenSketches(Fraction(3))
    seen.add({(b"a", 0): bits}, size)
    for flips, found in ((least - 1, [(b"a", 0)]), (least, [])):
        changed = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
        changed[-flips:] ^= 1
        assert seen.alike(np.packbits(changed, bitorder="little").tobytes(), size) == found


def test_sketches_of_different_lengths_are_compared_on_what_they_share():
    """Old catalogues are beginnings of new ones. Bits beyond them tell nothing."""
    (bits,) = twins(2000, Fraction(3), 1, 7)
    seen = SeenSketches(Fraction(3))
    seen.add({(b"long", 0): bits, (b"other", 0): twins(2000, Fraction(3), 2, 8)[1]}, 2000)
    short = packed_rows([bits], 1203)[0].tobytes()[:151]
    assert seen.alike(short, 1203) == [(b"long", 0)]
    seen.add({(b"short", 0): short}, 1203)
    assert seen.alike(bits, 2000) == [(b"long", 0), (b"short", 0)]
    padded = packed_rows([bytes(24)], 190)[0].tobytes()  # two empty beginnings that tell nothing by themselves
    assert seen.alike(padded, 190) == []


def test_what_was_forgotten_is_not_found_and_the_first_of_a_name_stays():
    one, two, three = twins(300, Fraction(3), 3, 9)
    seen = SeenSketches(Fraction(3))
    for _ in range(2):
        seen.add({(b"a", 0): one, (b"b", 0): two}, 300)
    seen.add({(b"a", 0): three}, 300)
    assert len(seen) == 2
    assert seen.alike(three, 300) == []
    seen.discard([(b"a", 0), (b"nobody", 3)])
    assert list(seen) == [(b"b", 0)]
    assert seen.alike(one, 300) == []
    assert seen.alike(two, 300) == [(b"b", 0)]
    seen.discard([(b"b", 0)])
    seen.add({(bytes([number]), 1): two for number in range(50)}, 300)
    assert len(seen.alike(two, 300)) == 50


def test_rows_are_cut_and_filled():
    rows = packed_rows([b"\xff" * 20, b"\xff", b""], 70)
    assert rows.shape == (3, 2)
    assert ones_of_rows(rows).tolist() == [70, 8, 0]
