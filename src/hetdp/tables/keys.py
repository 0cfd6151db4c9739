"""Keys chosen from the data: a group is named only if enough people are in it, whatever the noise.

The stretched count of a key, in whole steps, gets discrete Laplace noise truncated to [-B, B]; the key is released if
the sum is above B. Nobody is needed to know which keys there might be: one that nobody is in has the count 0 and can
never be released, so it does not have to be listed. Proved in docs/proofs/tables.md, "Keys chosen from the data".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction

from hetdp.core.checks import Real, chance, fraction, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.noise.samplers import MAXIMUM_SCALE, truncated_laplace_integers

#: Decimals whose operations, exp and ln among them, are each off by less than 10**-118 of the result.
_PRECISE = Context(prec=120, Emax=MAX_EMAX, Emin=MIN_EMIN)
#: More than all roundings of a bound together: a bound has at most 22 digits before the point.
_ROUNDING = Decimal("1e-80")


@dataclass(frozen=True)
class UnknownKeys:
    """Keys that are not listed in advance; `unknown_keys` makes it.

    Attributes
    ----------
    delta
        The chance that the release names a key which shows that one person of weight 1 is there.
    """

    delta: Real

    def __post_init__(self) -> None:
        chance("delta", self.delta)


def unknown_keys(delta: Real = 1e-9) -> UnknownKeys:
    """Let the keys of a table be chosen from its data: ``by={"department": hetdp.unknown_keys()}``.

    Parameters
    ----------
    delta
        Above 0 and below 1. A smaller one asks for more people in a key.

    Privacy
    -------
    Unit: one person (or row), all rows present or absent. A person of weight v loses at most (epsilon v, delta v) for
    the keys, where epsilon is their share of the release; with weight 0, nothing at all (docs/proofs/tables.md).

    Examples
    --------
    >>> unknown_keys(delta=1e-9)
    UnknownKeys(delta=1e-09)
    """
    return UnknownKeys(delta)


def key_noise_scale(epsilon: Fraction, *, steps: int, groups: int) -> Fraction:
    """Return the scale of the noise of a stretched count, in steps, at which a person loses epsilon v in all."""
    scale = groups * steps / epsilon
    if scale > MAXIMUM_SCALE:
        least = Fraction(groups * steps, MAXIMUM_SCALE)
        raise InvalidInput(
            f"epsilon for the keys must be at least {float(least):g} where a person is in up to {groups} groups",
            got=float(epsilon),
        )
    return scale


def threshold(epsilon: Fraction, delta: Real, *, steps: int, groups: int) -> int:
    """Return B, in steps: noise is truncated to [-B, B], and a key is released if its noisy count is above B.

    The smallest B at which adding one person of full weight to a key steps out of what was possible without them with
    a probability of at most delta / groups:

        (exp(s/t) - 1) / ((exp(1/t) + 1) exp(B/t) - 2) <= delta / groups,   t = groups s / epsilon.

    Parameters
    ----------
    epsilon
        What a person of weight 1 may lose by the keys in all.
    delta
        As in `unknown_keys`.
    steps
        s: what a person counted in full adds to the stretched count of a key.
    groups
        The most keys that a person may be counted in full in (`max_groups`).

    Examples
    --------
    >>> people = threshold(Fraction(1), 1e-9, steps=2**40, groups=1) / 2**40
    >>> print(f"{people:.3f}")
    20.571
    """
    whole("steps", steps, minimum=1)
    scale = key_noise_scale(fraction("epsilon", epsilon), steps=steps, groups=whole("groups", groups, minimum=1))
    chance = fraction("delta", UnknownKeys(delta).delta) / groups
    c = _PRECISE
    one_person = c.subtract(c.exp(_decimal(steps / scale)), Decimal(1))
    wanted = c.add(c.divide(one_person, _decimal(chance)), Decimal(2))
    ratio = c.divide(wanted, c.add(c.exp(_decimal(1 / scale)), Decimal(1)))
    bound = c.add(c.multiply(_decimal(scale), c.ln(ratio)), _ROUNDING)
    return int(bound.to_integral_value(ROUND_CEILING))


def _decimal(value: Fraction) -> Decimal:
    return _PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


def chosen(counts: Sequence[int], noise: Sequence[int], bound: int) -> list[bool]:
    """Return which keys are released: those whose noisy count is *above* the bound.

    At the bound itself a key could be released that counts nobody, since noise can be as large as the bound.

    Examples
    --------
    >>> chosen([1, 1, 40], [20, 19, -20], bound=20)
    [True, False, False]
    """
    return [count + extra > bound for count, extra in zip(counts, noise, strict=True)]


def choose(
    counts: Sequence[int], *, epsilon: Fraction, delta: Real, steps: int, groups: int, stream: Stream
) -> list[bool]:
    """Draw the noise, and return which keys are released.

    Parameters
    ----------
    counts
        The exact stretched count of each key that is in the table, in steps. Keys of count 0 must have been removed:
        they could not be released, but their noise would be drawn.
    epsilon, delta, steps, groups
        As in `threshold`.
    stream
        Where the noise comes from.

    Privacy
    -------
    Unit: one person, whose rows are all present or absent. Guarantee: a person who adds at most s steps to each key
    and groups v s steps to all of them together loses at most (epsilon v, delta v), and with one group not more than
    (epsilon v, delta (exp(epsilon v) - 1) / (exp(epsilon) - 1)). Theorem: docs/proofs/tables.md.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> crowd, two = 1000 * 2**40, 2 * 2**40
    >>> choose([crowd, two], epsilon=Fraction(1), delta=1e-9, steps=2**40, groups=1, stream=seeded_stream(1))
    [True, False]
    """
    bound = threshold(epsilon, delta, steps=steps, groups=groups)
    scale = key_noise_scale(epsilon, steps=steps, groups=groups)
    return chosen(counts, truncated_laplace_integers(scale, bound, len(counts), stream).tolist(), bound)
