"""How often the best guess is right, as brute force, simulation and closed forms say: never too low, hardly high."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from hetdp.node.guessing import CoinPair, guessing_accuracy, most_accuracy
from hetdp.sketching.bit_law import chance_of_one

#: What the calculation may be too high by, for so few coins.
SLACK = 1e-4


def by_enumeration(coins):
    """Return the accuracy from all outcomes of all coins."""
    flat = [(coin.there, coin.absent) for coin in coins for _ in range(coin.number)]

    def chance(outcome, which):
        return math.prod(pair[which] if bit else 1 - pair[which] for pair, bit in zip(flat, outcome, strict=True))

    outcomes = itertools.product((0, 1), repeat=len(flat))
    return (1 + math.fsum(max(0.0, chance(bits, 0) - chance(bits, 1)) for bits in outcomes)) / 2


def weights(epsilon, *dials, tuned_for=1.0):
    absent = chance_of_one(epsilon, tuned_for=tuned_for)
    return [CoinPair(1, chance_of_one(epsilon, dial / 100, tuned_for=tuned_for), absent) for dial in dials]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 3, 8])
@pytest.mark.parametrize("tuned_for", [0.5, 1.0])
@pytest.mark.parametrize("dials", [(100,), (1,), (100, 50, 10), (3, 17, 40, 41, 66, 80, 99, 100), (100,) * 9])
def test_it_is_what_enumeration_says(epsilon, tuned_for, dials):
    coins = weights(epsilon, *dials, tuned_for=tuned_for)
    right = by_enumeration(coins)
    assert right <= guessing_accuracy(coins) <= right + SLACK


@pytest.mark.parametrize("number", [1, 2, 30, 400, 5000, 300_000])
@pytest.mark.parametrize("epsilon", [0.05, 1, 3])
@pytest.mark.parametrize("dial", [5, 50, 100])
def test_many_equal_coins_are_binomial(number, epsilon, dial):
    (coin,) = weights(epsilon, dial)
    counts = np.arange(number + 1)
    gain = binom.pmf(counts, number, coin.there) - binom.pmf(counts, number, coin.absent)
    right = (1 + np.maximum(gain, 0).sum()) / 2
    assert right - 1e-9 <= guessing_accuracy([coin._replace(number=number)]) <= right + 1e-3


def test_a_peer_who_knows_both_lists_is_right_as_often_as_it_says():
    """The attack itself, played 200,000 times. A false alarm is 5.7 standard errors away: 1e-8."""
    coins = [coin._replace(number=number) for coin, number in zip(weights(1, 100, 40, 7), (4, 9, 20), strict=True)]
    generator, runs = np.random.default_rng(8), 100_000
    evidence = []
    for chosen in ("there", "absent"):
        total = np.zeros(runs)
        for coin in coins:
            ones = generator.binomial(coin.number, getattr(coin, chosen), runs)
            total += ones * math.log(coin.there / coin.absent)
            total += (coin.number - ones) * math.log((1 - coin.there) / (1 - coin.absent))
        evidence.append(total)
    right = (np.mean(evidence[0] > 0) + np.mean(evidence[1] <= 0)) / 2
    assert abs(right - guessing_accuracy(coins)) < 5.7 * 0.5 / math.sqrt(2 * runs)


@pytest.mark.parametrize("dials", [(100,), (30, 30), (5,) * 40, (100, 1, 50)])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_sum_of_losses_bounds_it(epsilon, dials):
    most = most_accuracy(epsilon * sum(dials) / 100)
    assert guessing_accuracy(weights(epsilon, *dials)) <= most + 1e-6
    if dials == (100,):  # one item of weight 1 meets the bound
        assert guessing_accuracy(weights(epsilon, *dials)) >= most


def test_more_to_see_tells_more():
    """Adding a coin never lowers it, beyond what the calculation may be too high by."""
    found = [guessing_accuracy(weights(1.5, *range(10, 10 + count))) for count in range(30)]
    assert found[0] == 0.5
    assert all(after > before - 1e-6 for before, after in itertools.pairwise(found))


def test_where_it_cannot_be_computed_it_is_not_understated():
    assert guessing_accuracy(weights(200, 100)) == 1.0
    assert guessing_accuracy([CoinPair(10_000_000, 0.5001, 0.5)]) == 1.0
    assert guessing_accuracy([CoinPair(0, 0.9, 0.1), CoinPair(5, 0.3, 0.3)]) == 0.5
