"""The dial of a whole person, where the unit of protection is a person."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.ids import Ids, positions
from hetdp.profiles.steps import CodedProfiles, weight_codes

__all__ = ["PersonDials"]


class PersonDials:
    """How much each person counts, in steps of 1/255, rounded down.

    Parameters
    ----------
    user_ids
        The people.
    weights
        A number in [0, 1] for each of them.

    Privacy
    -------
    A dial is the person's own, given from outside. It is never computed from what the person has: else one item of
    weight 0 would move all the others.

    Examples
    --------
    >>> dials = PersonDials(np.array(["ann", "bob"], dtype=object), [0.5, 1])
    >>> dials.codes(np.array(["bob", "ann"], dtype=object)).tolist()
    [255, 127]
    """

    def __init__(self, user_ids: Ids, weights: Sequence[float] | NDArray[np.floating]) -> None:
        try:
            values = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput("must be numbers in [0, 1]", parameter="user_weights") from None
        if values.shape != (user_ids.size,):
            raise InvalidInput(
                f"must be one number per person ({user_ids.size:,}) (got shape {values.shape})",
                parameter="user_weights",
            )
        if not ((values >= 0) & (values <= 1)).all():
            raise InvalidInput("must be numbers in [0, 1] (got one outside)", parameter="user_weights")
        self._ids, self._codes = user_ids, weight_codes(values)

    def __repr__(self) -> str:
        return "PersonDials()"

    def codes(self, user_ids: Ids) -> NDArray[np.uint8]:
        """Return the dial of each of some people."""
        places = positions(self._ids, user_ids)
        if (places < 0).any():
            raise InvalidInput(
                f"must hold a weight for every person (got none for {int((places < 0).sum()):,})",
                parameter="user_weights",
            )
        return np.asarray(self._codes[places])

    def present(self, coded: CodedProfiles, user_ids: Ids) -> CodedProfiles:
        """Return profiles in which people of dial 0 have nothing, so that they leave no trace."""
        keep = np.repeat(self.codes(user_ids) > 0, coded.sizes)
        if keep.all():
            return coded
        indptr = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[coded.indptr]
        return CodedProfiles(indptr, coded.items[keep], coded.codes[keep], coded.n_items)
