"""Keys chosen from the data: the promise of docs/proofs/tables.md, recomputed from the distributions themselves."""

import itertools
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from math import prod

import pytest
from tests.support.errors import refused

from hetdp.core.randomness import seeded_stream
from hetdp.tables.keys import UnknownKeys, choose, chosen, key_noise_scale, threshold, unknown_keys

#: Far above the rounding of 60 digits, far below any difference that matters.
TINY = Decimal("1e-45")


@pytest.fixture(autouse=True)
def _sixty_digits():
    with localcontext(prec=60):
        yield


def decimal(value):
    value = Fraction(value)
    return Decimal(value.numerator) / Decimal(value.denominator)


def truncated(ratio, bound):
    """Return the probabilities of the noise, ratio = exp(-1/scale), summed up rather than in closed form."""
    weights = {step: ratio ** abs(step) for step in range(-bound, bound + 1)}
    whole = sum(weights.values())
    return {step: weight / whole for step, weight in weights.items()}


def law(count, noise, bound, *, at_bound=False):
    """Return the distribution of what is published about a key: its noisy count, which is more than its name, or None.

    `at_bound` is the wrong rule: released at the bound, too. A key that nobody is in is not in the table at all.
    """
    found = defaultdict(type(noise[0]))
    for step, chance in noise.items():
        noisy = count + step
        released = chosen([count], [step], bound)[0] or (at_bound and count and noisy == bound)
        found[noisy if released else None] += chance
    return found


def classes(one, two):
    """Return the chances of outputs of one key, joined where the ratio of the two chances is the same."""
    joined = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for output in one.keys() | two.keys():
        pair = (one.get(output, Decimal(0)), two.get(output, Decimal(0)))
        label = round(pair[0] / pair[1], 40) if pair[1] else None
        joined[label][0] += pair[0]
        joined[label][1] += pair[1]
    return list(joined.values())


def hockey_stick(keys, level):
    """Return the smallest delta at which the joint of independent keys, a (one, two) pair of laws each, has `level`."""
    factor = level.exp()
    found = Decimal(0)
    for outcome in itertools.product(*(classes(one, two) for one, two in keys)):
        first, second = (prod((pair[side] for pair in outcome), start=Decimal(1)) for side in (0, 1))
        found += max(first - factor * second, Decimal(0))
    return found


def lost(weight, groups_in, others, *, epsilon, bound, steps, groups, at_bound=False):
    """Return the exact delta that a person of a weight loses at epsilon * weight, the worse of both directions."""
    share = min(Fraction(1), groups * Fraction(weight) / groups_in)
    added = int(share * steps)
    ratio = (-decimal(1 / key_noise_scale(epsilon, steps=steps, groups=groups))).exp()
    noise = truncated(ratio, bound)
    keys = [
        (law(count + added, noise, bound, at_bound=at_bound), law(count, noise, bound, at_bound=at_bound))
        for count in others
    ]
    level = decimal(epsilon * Fraction(weight))
    return max(hockey_stick(keys, level), hockey_stick([(two, one) for one, two in keys], level))


WEIGHTS = [0, Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), 1]
SETTINGS = [
    (Fraction(1), Fraction(1, 20), 16),
    (Fraction(1, 4), Fraction(1, 100), 4),
    (Fraction(3), Fraction(1, 1000), 8),
    (Fraction(1, 2), Fraction(3, 10), 32),
    (Fraction(1), Fraction(1, 10**9), 4),
]


def formula(epsilon, delta, weight):
    return decimal(delta) * (decimal(epsilon * weight).exp() - 1) / (decimal(epsilon).exp() - 1)


@pytest.mark.parametrize(("epsilon", "delta", "steps"), SETTINGS)
def test_one_key_loses_what_the_formula_says(epsilon, delta, steps):
    setting = {"epsilon": epsilon, "steps": steps, "groups": 1}
    bound = threshold(epsilon, delta, steps=steps, groups=1)
    for weight, others in itertools.product(WEIGHTS, (0, 1, bound, 2 * bound + 1, 5 * bound + 7)):
        found = lost(weight, 1, [others], bound=bound, **setting)
        assert found <= formula(epsilon, delta, weight) + TINY <= decimal(delta * weight) + 2 * TINY
        assert weight or found == 0
    # It is reached, by somebody alone in a key and by somebody in a crowd; one step less would be too little.
    for others in (0, 5 * bound + 7):
        assert lost(1, 1, [others], bound=bound, **setting) > decimal(delta) * decimal(Fraction(3, 4))
        assert lost(1, 1, [others], bound=bound - 1, **setting) > decimal(delta)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("epsilon", "delta", "steps"), SETTINGS[:3])
def test_several_keys_lose_at_most_their_share(epsilon, delta, steps, groups):
    """Also where somebody is in more keys than `groups`: then they count less in each."""
    steps = min(steps, 8)
    bound = threshold(epsilon, delta, steps=steps, groups=groups)
    for weight, groups_in in itertools.product(WEIGHTS, (1, 2, 3, 5)):
        crowds = ([0] * groups_in, [0] * (groups_in - 1) + [3 * bound], [2 * bound + 1] * min(groups_in, 3))
        for others in crowds if groups_in <= 3 else crowds[:1]:
            found = lost(weight, groups_in, others, epsilon=epsilon, bound=bound, steps=steps, groups=groups)
            assert found <= decimal(delta * weight) + TINY
            assert weight or found == 0


@pytest.mark.parametrize(("epsilon", "delta", "steps"), SETTINGS)
def test_the_constant_for_several_keys_is_the_right_one(epsilon, delta, steps):
    """Somebody who puts all of a weight of 1/3 into one of 3 groups reaches delta / 3, so B cannot be any smaller."""
    setting = {"epsilon": epsilon, "steps": steps, "groups": 3}
    third, bound = Fraction(1, 3), threshold(epsilon, delta, steps=steps, groups=3)
    assert lost(third, 1, [0], bound=bound - 1, **setting) > decimal(delta) / 3
    # The formula for one key is smaller than that: with several, only delta * v is promised.
    assert lost(third, 1, [0], bound=bound, **setting) > formula(epsilon, delta, third)
    # Set for delta instead of delta / 3, three keys would lose almost three times as much.
    careless = threshold(epsilon, 3 * delta, steps=steps, groups=3)
    assert lost(1, 3, [0, 0, 0], bound=careless, **setting) > 2 * decimal(delta)


@pytest.mark.parametrize(("epsilon", "delta", "steps"), SETTINGS)
def test_releasing_at_the_bound_would_be_too_much(epsilon, delta, steps):
    bound = threshold(epsilon, delta, steps=steps, groups=1)
    setting = {"epsilon": epsilon, "steps": steps, "groups": 1, "at_bound": True}
    assert lost(1, 1, [0], bound=bound, **setting) > decimal(delta)


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20)])
@pytest.mark.parametrize("bound", [1, 2, 7, 12])
def test_the_closed_form_of_the_proof_in_rational_numbers(ratio, bound):
    """Where exp(-1/t) is rational, everything is: no rounding anywhere."""
    noise = truncated(ratio, bound)
    assert sum(noise.values()) == 1
    for added in range(2 * bound + 2):
        beyond = sum((chance for step, chance in noise.items() if step > bound - added), start=Fraction(0))
        closed = (ratio**-added - 1) / ((1 / ratio + 1) * ratio**-bound - 2)
        assert beyond == closed if added <= bound + 1 else beyond <= closed
        for count in (0, 1, bound, 3 * bound):
            one, two = law(count + added, noise, bound), law(count, noise, bound)
            for first, second in ((one, two), (two, one)):
                excess = sum(max(first[at] - ratio**-added * second.get(at, 0), 0) for at in first)
                assert excess <= beyond


@pytest.mark.parametrize("groups", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", [Fraction(1, 2), 1e-3, 1e-9, 1e-300])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3), Fraction(1, 4), Fraction(20), Fraction(900)])
def test_the_bound_is_the_smallest_that_keeps_the_promise(epsilon, delta, groups):
    steps = 2**40
    bound = threshold(epsilon, delta, steps=steps, groups=groups)
    with localcontext(prec=400):
        step = decimal(1 / key_noise_scale(epsilon, steps=steps, groups=groups))
        allowed = decimal(Fraction(delta) / groups)

        def beyond(last):
            return ((steps * step).exp() - 1) / ((step.exp() + 1) * (last * step).exp() - 2)

        assert beyond(bound) <= allowed < beyond(bound - 1)


def test_a_key_of_nobody_is_never_released_and_a_crowd_always_is():
    setting = {"epsilon": Fraction(1), "delta": Fraction(1, 2), "steps": 4, "groups": 1}
    bound = threshold(Fraction(1), Fraction(1, 2), steps=4, groups=1)
    assert not any(choose([0] * 100_000, **setting, stream=seeded_stream(1)))
    assert all(choose([2 * bound + 1] * 100_000, **setting, stream=seeded_stream(1)))


def test_counts_beyond_64_bits_are_exact():
    huge = 2**80
    assert chosen([huge, huge + 1], [-huge, -huge], 0) == [False, True]


def test_released_as_often_as_the_promise_allows_and_no_more():
    """500,000 keys with one person each. Binomial bounds at a false-alarm rate of 1e-6."""
    from scipy import stats

    delta, keys = 0.01, 500_000
    hits = sum(choose([2**40] * keys, epsilon=Fraction(1), delta=delta, steps=2**40, groups=1, stream=seeded_stream(2)))
    assert stats.binomtest(hits, keys, delta).pvalue > 1e-6
    half = sum(choose([2**39] * keys, epsilon=Fraction(1), delta=delta, steps=2**40, groups=1, stream=seeded_stream(3)))
    assert stats.binomtest(half, keys, float(formula(Fraction(1), Fraction(delta), Fraction(1, 2)))).pvalue > 1e-6


@pytest.mark.parametrize("bad", [0, 1, 2.0, -1e-9, float("nan"), "1e-9", None, True])
def test_bad_deltas_are_refused(bad):
    with refused("delta", ""):
        unknown_keys(delta=bad)


def test_keys_are_a_value():
    assert unknown_keys() == UnknownKeys(1e-9)
    assert hash(unknown_keys(0.5)) == hash(UnknownKeys(0.5))


def test_too_small_an_epsilon_is_refused_with_the_least_that_works():
    with refused(problem="at least 0.000732422 where a person is in up to 3 groups"):
        threshold(Fraction(1, 10_000), 1e-9, steps=2**40, groups=3)
