"""How often chance alone gives so many ones: the exact tail of a binomial law, without scipy."""

import math

__all__ = ["RARE", "binomial_tail", "expected_by_chance"]

#: What chance gives less often than this, over all candidates together, counts as standing out.
RARE = 0.05
_NEGLIGIBLE = 1e-17


def binomial_tail(count: int, trials: int, chance: float) -> float:
    """Return the probability of at least `count` successes in so many independent trials.

    Parameters
    ----------
    count, trials
        Successes and trials.
    chance
        Of one success, strictly between 0 and 1.

    Returns
    -------
    float
        The sum of the law itself, not a normal approximation, which is far too small for rare ones.

    Privacy
    -------
    Arithmetic; what is done with the result is up to the caller.

    Examples
    --------
    >>> binomial_tail(2, 2, 0.5), round(binomial_tail(1, 3, 0.1), 6), binomial_tail(0, 5, 0.1), binomial_tail(6, 5, 0.1)
    (0.25, 0.271, 1.0, 0.0)
    """
    if count <= 0:
        return 1.0
    if count > trials:
        return 0.0
    odds = chance / (1.0 - chance)
    # Sum away from the mean, where terms only get smaller: upwards above it, downwards (and take the rest) below it.
    upwards = count > trials * chance
    place = count if upwards else count - 1
    term = total = _probability(place, trials, chance)
    while term > _NEGLIGIBLE * total and 0 <= place <= trials:
        if upwards:
            term *= (trials - place) / (place + 1) * odds
            place += 1
        else:
            term *= place / (trials - place + 1) / odds
            place -= 1
        total += term
    return min(1.0, total) if upwards else max(0.0, 1.0 - total)


def expected_by_chance(count: int, trials: int, chance: float, *, candidates: int) -> float:
    """Return how many of so many candidates would do at least as well by chance alone, on average.

    The best of many strangers looks good, so the tail is multiplied by how many were tried. It also bounds the
    probability that any of them does.

    Examples
    --------
    >>> round(expected_by_chance(2, 3, 0.0474, candidates=11), 3)
    0.072
    """
    return candidates * binomial_tail(count, trials, chance)


def _probability(count: int, trials: int, chance: float) -> float:
    """Return the probability of exactly so many successes."""
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways + count * math.log(chance) + (trials - count) * math.log1p(-chance))
