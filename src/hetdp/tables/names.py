"""Which items may be named: they are the keys of a table of pairs, chosen by the rule for keys that nobody lists.

Sketches and models need names of items. Where no catalogue is given, an item is named if so many
people count it that noise alone cannot name it (`hetdp.tables.keys`).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, chance
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.profiles.ids import Ids, whole_numbers
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.tables.keys import choose, threshold

#: Where names come from: noise on counts, or a public list.
CATALOGUES = ("private", "given")
#: Part of epsilon that goes to names where sketches need them; measured in docs/guide/recommender.md, neighbors.md.
NAMES_SHARE = Fraction(1, 10)

#: What a promise says where names are chosen, and against whom it then holds.
HOLDER = (
    "Names of items were chosen by noise on exact counts: a trusted curator holds the profiles, and the promise is to "
    "everybody else."
)
OTHERS = "everybody but the holder of the profiles, together, whatever else they know"


def check_names(epsilon: Fraction, delta: Real) -> None:
    """Refuse levels of names at which noise would be cut off far inside its scale, which is slow to draw."""
    if epsilon < chance("delta", delta):
        raise InvalidInput(
            f"must not be so far below delta where names are private (got {float(epsilon):g} for names and "
            f"{float(delta):g})",
            parameter="epsilon",
            hint="Give a catalogue.",
        )


def chosen_names(
    counts: NDArray[np.int64],
    *,
    epsilon: Fraction,
    delta: Real,
    stream: Stream,
    steps: int = WEIGHT_STEPS,
    groups: int = 1,
) -> NDArray[np.bool_]:
    """Return which items may be named: those that enough people count, whatever the noise.

    Parameters
    ----------
    counts
        Of each item, the sum of the codes of all who have it; exact.
    epsilon, delta
        What an item of weight 1 (or a person of dial 1) may lose by it.
    stream
        Where the noise comes from.
    steps, groups
        What counts as one in full, and how many items a protected unit may count in full: 1 where it is an item.

    Privacy
    -------
    Unit: one item of one person, or one person with all items. A weight of v loses at most (epsilon v, delta v), and a
    weight of 0 nothing: an item that nobody counts has no noise drawn for it either. Needs a holder who is trusted with
    exact counts. Theorem: docs/proofs/tables.md, "Keys chosen from the data".

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> counts = np.array([255 * 1000, 255 * 2, 0])
    >>> chosen_names(counts, epsilon=Fraction(1), delta=1e-6, stream=seeded_stream(1)).tolist()
    [True, False, False]
    """
    named = np.zeros(counts.size, dtype=np.bool_)
    (there,) = np.nonzero(counts)
    named[there] = choose(
        counts[there].tolist(), epsilon=epsilon, delta=delta, steps=steps, groups=groups, stream=stream
    )
    return named


def people_needed(epsilon: Fraction, delta: Real, *, steps: int = WEIGHT_STEPS, groups: int = 1) -> int:
    """Return how many people, counted in full, an item needs to be named one time in two.

    Examples
    --------
    >>> people_needed(Fraction(1, 10), 1e-6)
    109
    """
    return -(-threshold(epsilon, delta, steps=steps, groups=groups) // steps)


def as_named(chosen: Ids) -> Ids:
    """Return chosen names as ids: whole numbers, in their order, if all of *these* are some, whatever others are.

    Examples
    --------
    >>> as_named(np.array(["10", "9"], dtype=object)).tolist()
    [9, 10]
    """
    texts = np.array([str(name) for name in chosen.tolist()], dtype=object)
    numbers = whole_numbers(texts)
    return np.sort(texts) if numbers is None else np.sort(numbers)
