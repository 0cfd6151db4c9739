"""What one sketch tells about a group: what the owner is told, and how often a real peer is right.

Invented people of the demo have one of eight tastes each, a public group of the catalogue. The peer of the attack knows
how people of each taste are made, and nobody's list: it takes the likeliest taste (of eight), or says whether somebody
has anything of a taste (of two, like the figure on the page).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import seeded_stream
from hetdp.node.demo import people
from hetdp.node.dials import draw_bits, weight_of
from hetdp.node.guessing import CoinPair, guessing_accuracy
from hetdp.node.storage.group_limits import _in_proportion
from hetdp.sketching.bit_law import chance_of_one

COUNT, SEED, TASTES, PER_TASTE = 100, 1, 8, 60


def chances(epsilon: Fraction) -> NDArray[np.float64]:
    """Return the chance of a one at every item, by taste, for somebody whose list is not known."""
    there = sum(share * chance_of_one(epsilon, weight_of(dial)) for share, dial in ((0.1, 0), (0.15, 50), (0.75, 100)))
    likely = np.full((TASTES, TASTES * PER_TASTE), 0.02)
    for taste in range(TASTES):
        likely[taste, taste * PER_TASTE : (taste + 1) * PER_TASTE] = [0.75] * 36 + [0.2] * 24
    likely *= 0.85  # the others are hidden as a test
    return likely * there + (1 - likely) * chance_of_one(epsilon)


def told(dials: NDArray[np.int64], epsilon: Fraction) -> float:
    """Return the accuracy that the owner of some dials is told."""
    counts = np.bincount(dials, minlength=101)
    kinds = [int(dial) for dial in np.flatnonzero(counts) if dial]
    absent = chance_of_one(epsilon)
    return guessing_accuracy(CoinPair(int(counts[d]), chance_of_one(epsilon, weight_of(d)), absent) for d in kinds)


def limited(dials: NDArray[np.int64], epsilon: Fraction, target: float) -> NDArray[np.int64]:
    """Return the dials that the largest limit proposes with which the owner is told at most a target."""
    low, high = 0, int(dials.sum())
    while high - low > 1:
        middle = (low + high) // 2
        fits = told(_in_proportion(dials, middle), epsilon) <= target
        low, high = (middle, high) if fits else (low, middle)
    return _in_proportion(dials, low)


def measure(epsilon: Fraction, target: float | None = None) -> tuple[float, ...]:
    """Return of eight right, of two right, and what owners are told about their own taste and about others."""
    crowd, law, absent = people.invent_people(COUNT, seed=SEED), chances(epsilon), chance_of_one(epsilon)
    eight, two, dials_left = list[bool](), list[bool](), list[float]()
    mine, others = list[float](), list[float]()
    for person, profile in enumerate(crowd.profiles):
        dials, taste = np.zeros(law.shape[1], dtype=np.int64), person % TASTES
        dials[list(profile)] = list(profile.values())
        own = slice(taste * PER_TASTE, (taste + 1) * PER_TASTE)
        if target is not None and told(dials[own], epsilon) > target:
            dials[own] = limited(dials[own], epsilon, target)
        without = dials.copy()
        without[own] = 0
        for number, real in enumerate((dials, without)):
            stream = seeded_stream(9, 2 * person + number + 1000 * int(10 * epsilon))
            bits = draw_bits(real.astype(np.uint8), epsilon=epsilon, stream=stream)
            if number == 0:
                eight.append(np.argmax(np.where(bits, np.log(law), np.log1p(-law)).sum(axis=1)) == taste)
            here, guess = bits[own], law[taste, own]
            gain = np.where(here, np.log(guess / absent), np.log((1 - guess) / (1 - absent))).sum()
            two.append((gain > 0) == (number == 0))
        for group in range(TASTES):
            accuracy = told(dials[group * PER_TASTE : (group + 1) * PER_TASTE], epsilon)
            (mine if group == taste else others).append(accuracy)
        dials_left.append(dials[own].sum() / 100)
    return sum(eight), *(float(one) for one in (np.mean(two), np.median(mine), np.median(others), np.mean(dials_left)))


if __name__ == "__main__":
    print(
        "epsilon, limit: peer right of 8 / of 2; owners are told: own taste, another taste (medians); sum of own dials"
    )
    for epsilon in ("0.1", "0.3", "0.5", "1", "2", "3"):
        for target in (None, 0.75):
            eight, two, mine, others, left = measure(Fraction(epsilon), target)
            print(f"{epsilon}, {target}: {eight} of {COUNT} / {two:.3f}; {mine:.3f}, {others:.3f}; {left:.1f}")
