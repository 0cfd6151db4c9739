"""A crowd that grows: the catalogue and the head it was begun with, and what was learned from its parts so far."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import HetdpError, InvalidInput
from hetdp.core.randomness import Stream
from hetdp.profiles import Profiles
from hetdp.profiles.reading.identifiers import Ids, as_ids, positions
from hetdp.recommender.dials import PersonDials
from hetdp.recommender.evidence import Learning
from hetdp.recommender.model import learn
from hetdp.recommender.names import choose_names
from hetdp.recommender.parts import Part, Parts, on_items
from hetdp.recommender.promise import promise
from hetdp.recommender.published import ModelSettings, PublishedModel
from hetdp.recommender.sketched import SketchLearning

__all__ = ["Crowd"]


class Crowd:
    """What was learned from a crowd so far. Private: it holds the secret of the fit.

    Parameters
    ----------
    settings
        How the model is made.
    parts
        Whom it begins with; passed over once to choose names, and once to choose a head, where they are not given.
    stream
        Where noise comes from.
    given
        The public catalogue; None if names are to be chosen.
    head
        Ids of the items to relate; None for all, or the most popular ones.
    dials
        How much each person counts, where whole people are protected.
    threads
        How much is done at a time.
    """

    def __init__(
        self,
        settings: ModelSettings,
        parts: Parts,
        stream: Stream,
        *,
        given: Ids | None,
        head: object = None,
        dials: PersonDials | None = None,
        threads: int = 1,
    ) -> None:
        self.settings = settings
        self._simulated = stream.simulated
        self._complete = given is not None
        self._whole = True
        self.item_ids = choose_names(parts, settings, stream, dials) if given is None else given
        self._learning = _learning(settings, self.item_ids.size, stream, threads)
        if head is not None:
            self._head = self._given_head(head)
        elif self.item_ids.size <= settings.n_head:
            self._head = np.arange(self.item_ids.size, dtype=np.int32)
        else:
            self._head = self._most_popular(parts, dials)

    def __repr__(self) -> str:
        return f"Crowd({self.item_ids.size} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "a crowd cannot be pickled: its secret must stay here"
        raise TypeError(message)

    def add(self, parts: Parts, dials: PersonDials | None = None) -> None:
        """Learn from more people."""
        for part in parts:
            placed = self._placed(part, dials)
            self._require_whole()
            self._whole = False
            try:
                self._learning.add(placed, self._head)
            except HetdpError:  # refused before anything was added
                self._whole = True
                raise
            self._whole = True

    def _require_whole(self) -> None:
        if not self._whole:
            raise InvalidInput("every part must be added to its end. Got one that was interrupted instead. Fit anew.")

    def publish(self, *, by_position: bool) -> PublishedModel:
        """Return what may be published: a function of what the people have published, and of public names."""
        self._require_whole()
        evidence = self._learning.evidence()
        return PublishedModel(
            settings=self.settings,
            guarantee=promise(self.settings, simulated=self._simulated),
            item_ids=self.item_ids,
            counts=self._learning.counts,
            head=self._head,
            model=learn(evidence),
            by_position=by_position,
            simulated=self._simulated,
        )

    def _placed(self, part: Profiles, dials: PersonDials | None) -> Part:
        placed = on_items(part, self.item_ids, complete=self._complete)
        return placed if dials is None else replace(placed, dials=dials.codes(part.user_ids))

    def _most_popular(self, parts: Parts, dials: PersonDials | None) -> NDArray[np.int32]:
        for part in parts:
            self._learning.count(self._placed(part, dials))
        order = np.argsort(-self._learning.counts, kind="stable")
        return np.sort(order[: self.settings.n_head]).astype(np.int32)

    def _given_head(self, head: object) -> NDArray[np.int32]:
        wanted = positions(self.item_ids, as_ids("head", head))
        if (wanted < 0).any():
            raise InvalidInput(
                f"head must be items of the catalogue. Got {int((wanted < 0).sum())} that are not instead."
            )
        if not 0 < wanted.size <= self.settings.n_head:
            raise InvalidInput(f"head must be 1 to {self.settings.n_head} items (n_head). Got {wanted.size} instead.")
        return np.sort(wanted)


def _learning(settings: ModelSettings, n_items: int, stream: Stream, threads: int) -> Learning:
    if settings.release == "sketch":
        return SketchLearning(settings.model_epsilon, n_items, stream, threads=threads)
    from hetdp.recommender.matrix import MatrixLearning, MatrixRule  # loads numba

    return MatrixLearning(settings.model_rho, MatrixRule(settings.unit), n_items=n_items, stream=stream)
