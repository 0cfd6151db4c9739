"""New recipients: profiles that were not fitted, on the items that were."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles import Profiles
from hetdp.profiles.coded import CodedProfiles, code_profiles
from hetdp.profiles.reading.identifiers import Ids, positions
from hetdp.profiles.weights import WEIGHT_STEPS

__all__ = ["on_fitted_items"]


def on_fitted_items(
    profiles: Profiles, item_ids: Ids, *, public_sizes: bool
) -> tuple[CodedProfiles, NDArray[np.float64]]:
    """Return new recipients on the items fitted, and how large they are, with the items that nobody there has.

    Parameters
    ----------
    profiles
        The recipients; items are matched by id.
    item_ids
        The items fitted.
    public_sizes
        Whether a size is what a recipient lists, as where sizes are declared public, or what counts of it.

    Privacy
    -------
    Looks at the recipients and at ids that are public. Nothing is promised to recipients about what they ask with.

    Examples
    --------
    >>> fitted = Profiles.from_pairs(["ann"], ["tea"]).item_ids
    >>> asking = Profiles.from_pairs(["zoe", "zoe"], ["golf", "tea"], weights=[0.2, 1.0])
    >>> coded, sizes = on_fitted_items(asking, fitted, public_sizes=False)
    >>> coded.items.tolist(), sizes.tolist()
    ([0], [1.2])
    """
    coded = code_profiles(profiles)
    place = _places(profiles, item_ids)
    if profiles.n_pairs and (place[profiles.indices] < 0).all():
        raise InvalidInput("X must have items that were fitted. Got none of them instead.")
    owners = np.repeat(np.arange(coded.n_users), coded.sizes)
    counted = np.bincount(owners, weights=coded.codes, minlength=coded.n_users) / WEIGHT_STEPS
    sizes = profiles.sizes.astype(np.float64) if public_sizes else counted
    return coded.renamed(place, item_ids.size), sizes


def _places(profiles: Profiles, item_ids: Ids) -> NDArray[np.int32]:
    """Return where each item of the recipients is among those fitted; -1 if it is not."""
    other_kind = profiles.item_ids.dtype != item_ids.dtype and item_ids.size and profiles.n_items
    if other_kind and not profiles.guessed:  # in a text file a number is a text too
        raise InvalidInput(
            "item ids of X must be of the kind that was fitted, texts or whole numbers. Got the other kind instead."
        )
    return positions(item_ids, profiles.item_ids)
