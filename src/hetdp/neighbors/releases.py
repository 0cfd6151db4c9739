"""What a fitted model has released so far, so that nothing is released twice and everything is counted."""

import contextlib
import hashlib
import os
import threading
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.base import Engine, Fitted, Levels, Progress, Run
from hetdp.profiles.coded import CodedProfiles

__all__ = ["Recommended", "Releases"]

#: One recipient's list: scores, indices, significance.
_List = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]


@dataclass(frozen=True, repr=False, eq=False)
class Recommended:
    """Items for every user and their scores, and how they were asked for."""

    items: NDArray[np.int32]
    scores: NDArray[np.float64]
    epsilon: Fraction
    significant_only: bool


class Releases:
    """The releases of one fit, shared by all copies of the model.

    Parameters
    ----------
    engine, levels
        Who found the lists, and at which levels.
    fitted, stream
        What was found, and where the noise comes from.
    public_sizes, observed_catalogue
        Whether sizes of profiles, and the names of items that somebody counts, are taken as public.

    Privacy
    -------
    A new recipient who asks with the same items gets the same list again: fresh noise could be averaged away. Copies of
    the process (`fork`) show what was released before, and release nothing new: the others could not know.
    """

    def __init__(
        self,
        engine: Engine,
        levels: Levels,
        fitted: Fitted,
        stream: Stream,
        *,
        public_sizes: bool,
        observed_catalogue: bool,
    ) -> None:
        self.fitted = fitted
        self.recommended: Recommended | None = None
        self._engine = engine
        self._levels = levels
        self._stream = stream
        self.public_sizes = public_sizes
        self._observed_catalogue = observed_catalogue
        self._served: dict[bytes, _List] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Releases({self._engine.name})"

    @property
    def simulated(self) -> bool:
        """Whether the noise comes from a seed."""
        return self._stream.simulated

    @property
    def guarantee(self) -> Guarantee:
        """The promise of everything released so far."""
        extra = Fraction(0) if self.recommended is None else self.recommended.epsilon
        return self._engine.promise(
            replace(self._levels, recommendations=extra),
            most_recipients=self.fitted.most_recipients + len(self._served),
            public_sizes=self.public_sizes,
            observed_catalogue=self._observed_catalogue,
            simulated=self.simulated,
        )

    def lists_for(self, recipients: CodedProfiles, sizes: NDArray[np.float64], threads: int) -> _List:
        """Return the lists of new recipients of such sizes; those who were served before get the same list again.

        Privacy
        -------
        Each different profile that is asked with is one more list that every item has a part in.
        """
        if not recipients.n_users:
            k = self.fitted.lists.indices.shape[1]
            return np.empty((0, k)), np.empty((0, k), dtype=np.int32), np.empty((0, k))
        rows = np.split(recipients.items, recipients.indptr[1:-1])
        keys = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]
        with self._alone():
            fresh = {key: place for place, key in enumerate(keys) if key not in self._served}
            if fresh:
                self._require_home()
                places = np.array(list(fresh.values()), dtype=np.int64)
                new = CodedProfiles(
                    np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(recipients.sizes[places])]),
                    np.concatenate([rows[place] for place in places]),
                    np.concatenate([_row(recipients, place) for place in places]),
                    recipients.n_items,
                )
                found = self.fitted.for_recipients(new, Run(self._stream, threads))
                lists = zip(found.lists.scores, found.lists.indices, found.significance, strict=True)
                self._served.update(zip(fresh, lists, strict=True))
            served = [self._served[key] for key in keys]
        scores = np.stack([one[0] for one in served]) * self.fitted.own_scale(sizes)[:, None]
        return scores, np.stack([one[1] for one in served]), np.stack([one[2] for one in served])

    def recommend(
        self, n: int, epsilon: Fraction | None, *, significant_only: bool, threads: int, progress: Progress | None
    ) -> Recommended:
        """Return the recommendations, made when first asked for.

        Privacy
        -------
        One release, whoever asks and however often.
        """
        with self._alone():
            if self.recommended is None:
                self._require_home()
                level = self._levels.pairs + self._levels.sizes if epsilon is None else epsilon
                run = Run(self._stream, threads, progress)
                items, scores = self.fitted.recommend(n, epsilon=level, significant_only=significant_only, run=run)
                self.recommended = Recommended(items, scores, level, significant_only)
            made = self.recommended
        most, level, only = made.items.shape[1], made.epsilon, made.significant_only
        if n > most or (epsilon is not None and epsilon != level) or only != significant_only:
            raise InvalidInput(
                f"n must be at most {most}, epsilon {float(level):g} and significant_only {only}, as "
                "when items were first recommended: anything else would be another release. "
                f"Got {n}, {float(level if epsilon is None else epsilon):g} and {significant_only} instead. "
                "Fit again to begin anew."
            )
        return made

    def _alone(self) -> contextlib.AbstractContextManager[object]:
        """Return the lock. A copy of the process only reads, and whoever holds its copy of the lock is not there."""
        return self._lock if os.getpid() == self._process else contextlib.nullcontext()

    def _require_home(self) -> None:
        if os.getpid() != self._process and not self.simulated:
            raise InvalidInput(
                "something new must be released in the process that fitted the model, where it is counted. Got a copy "
                "of that process instead. Ask before it forks; what was released by then can be shown anywhere."
            )


def _row(coded: CodedProfiles, user: int) -> NDArray[np.uint8]:
    return coded.codes[coded.indptr[user] : coded.indptr[user + 1]]
