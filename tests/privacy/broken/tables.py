"""Tables broken on purpose: budget splits, sums of people, and keys chosen from the data."""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

from hetdp.auditing.audit_all import without
from hetdp.noise.samplers import laplace_integers
from hetdp.tables import release
from hetdp.tables.audit_cases import PUBLIC_CALLS
from hetdp.tables.plan import TablePlan
from hetdp.tables.sums import PEOPLE
from tests.privacy.broken.base import (
    Variant,
    behind,
    by_replay,
    by_statistics,
    narrower,
    patched,
    told_otherwise,
)
from tests.privacy.internals import tables as internals
from tests.privacy.internals.tables import KEY_CLAIMS, KEY_DELTAS, SUM_CLAIMS, chosen_keys, likelihood_ratios

_N_KEYS, _N_PEOPLE = len(KEY_CLAIMS), len(SUM_CLAIMS)


# Keys chosen from the data.
def _untruncated(_real):
    return lambda scale, _bound, count, stream: laplace_integers(scale, count, stream)


def _with_empty(real):
    """List the key of the person of weight 0 as well, which nobody counts in."""

    def counts(profile):
        return real(profile) | ({3: 0} if profile[1] else {})

    return counts


def _in_full(real):
    """Count a person in more keys than there may be by their weight in each."""

    def counts(profile):
        found = real(profile)
        weight, keys = internals._KEY_PEOPLE[3]
        return found | ({key: int(weight * internals._STEPS) for key in keys} if profile[3] else {})

    return counts


def _keys(name, person, **broken):
    worse = patched(chosen_keys, internals, **broken)
    build = lambda broken: worse if broken else chosen_keys  # noqa: E731
    return Variant(name, by_statistics(build, without([person], _N_KEYS), KEY_CLAIMS, KEY_DELTAS))


_shown = partial(chosen_keys, counts_shown=True)
_empty_shown = patched(_shown, internals, counts_of_keys=_with_empty)


# Sums of people.
def _sums(name, person, **broken):
    """Return the variant of the noisy sums for which the cases call something else, seen by one person."""
    fresh = lru_cache(maxsize=64)(internals.exact_sums)  # its own cache: other functions are called beneath it
    worse = patched(likelihood_ratios, internals, _known_sums=lambda _: fresh, **broken)
    build = lambda broken: worse if broken else likelihood_ratios  # noqa: E731
    return Variant(name, by_statistics(build, without([person], _N_PEOPLE), SUM_CLAIMS))


def _exact_counts(real):
    def noisy(plan, keys, found, stream):
        exact = [found.get(key, {}).get(PEOPLE, 0) for key in keys]
        return {added: exact if added == PEOPLE else sums for added, sums in real(plan, keys, found, stream).items()}

    return noisy


def _asked_for(**other):
    """Add up another question than the one that noise is drawn for."""
    return lambda real: lambda source, question: real(source, replace(question, **other))


def _rows_that_count(real):
    return lambda profile: [row for row in real(profile) if row[1] >= 18]


def _epsilon_per_sum(real):
    def plan():
        right = real()
        return replace(right, shares=dict.fromkeys(right.shares, right.epsilon))

    return plan


def _larger_free_sums(real):
    def sums(source, question):
        found = real(source, question)
        return {
            key: {added: steps * (16 if added.free else 1) for added, steps in own.items()}
            for key, own in found.items()
        }

    return sums


# Budget splits, seen through `release_table`.
def _spread(factor):
    """Return how to change the width of noise by a factor."""
    return lambda real: lambda plan, added: real(plan, added) * factor(plan, added)


def _only(kind):
    return _spread(lambda plan, added: Fraction(1, len(plan.shares)) if kind(added) else Fraction(1))


def _twice(level):
    return 2 * level


_counts = PUBLIC_CALLS["hetdp.release_table, counts of people"]
_chosen = PUBLIC_CALLS["hetdp.release_table, unknown keys"]
#: Smaller, for what is far off.
_few_aggregates = partial(PUBLIC_CALLS["hetdp.release_table, every aggregate"], groups=2_000)
_few_counts = partial(_counts, groups=2_000)

VARIANTS = (
    _keys("unknown keys by plain thresholding", 1, truncated_laplace_integers=_untruncated, counts_of_keys=_with_empty),
    _keys(
        "unknown keys, delta for each group",
        0,
        threshold=lambda real: lambda epsilon, delta, **told: real(epsilon, 3 * delta, **told),
    ),
    _keys("unknown keys, counted in full in each group", 3, counts_of_keys=_in_full),
    Variant(
        "unknown keys, noise for keys of nobody",
        by_replay(lambda broken: _empty_shown if broken else _shown, without([1], _N_KEYS), {1: 0.0}, odd_values=False),
    ),
    _sums("table, a denominator without noise", 0, noisy_sums=_exact_counts),
    _sums("table, every row of a person counted", 2, group_sums=_asked_for(unit=None, max_groups=1)),
    _sums("table, counted in full in each group", 1, group_sums=_asked_for(max_groups=99)),
    _sums("table, the weight of the rows that count", 3, rows_of=_rows_that_count),
    _sums("table, epsilon spent once per sum", 0, sums_plan=_epsilon_per_sum),
    _sums("table, a free sum that is not", 4, group_sums=_larger_free_sums),
    behind(
        _few_aggregates,
        "table, a denominator at the full level",
        TablePlan,
        spread=_only(lambda added: added == PEOPLE),
    ),
    behind(_few_aggregates, "table, a total at the full level", TablePlan, spread=_only(lambda added: added.added_up)),
    behind(
        _few_aggregates, "table, squares at the full level", TablePlan, spread=_only(lambda added: added.power == 2)
    ),
    behind(_counts, "table, noise 2 % too small", release, laplace_integers=narrower(Fraction(98, 100))),
    behind(
        _few_counts,
        "table, noise as for one group",
        TablePlan,
        spread=_spread(lambda plan, _: Fraction(1, plan.question.max_groups)),
    ),
    behind(
        _chosen,
        "table, counts at the full level beside keys",
        TablePlan,
        spread=_spread(lambda plan, _: (plan.epsilon - plan.keys_share) / plan.epsilon),
    ),
    behind(_chosen, "unknown keys at the full level", release, choose=told_otherwise(epsilon=_twice)),
    behind(_chosen, "unknown keys at twice delta", release, choose=told_otherwise(delta=_twice)),
    behind(
        PUBLIC_CALLS["hetdp.release_table, unknown keys of people"],
        "unknown keys of people in several groups, noise as for one",
        release,
        choose=told_otherwise(groups=lambda _: 1),
    ),
)
