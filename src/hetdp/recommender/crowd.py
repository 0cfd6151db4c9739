"""A crowd that grows: the catalogue and the head it was begun with, and what was learned from its parts so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee, Ledger
from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.fork_guard import ForkGuard
from hetdp.core.randomness import Stream
from hetdp.profiles import Profiles
from hetdp.profiles.ids import Ids, as_ids, positions
from hetdp.profiles.steps import code_profiles
from hetdp.recommender.file import PublishedModel
from hetdp.recommender.model import learn
from hetdp.recommender.names import choose_names
from hetdp.recommender.parts import Learning, Part, Participants, Parts, PersonDials, keys_of, on_items
from hetdp.recommender.settings import ModelSettings, promise
from hetdp.recommender.sketched import SketchLearning, bit_spread


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
    by_position
        Whether the catalogue is the columns of a matrix.
    threads
        How many blocks of people are worked on at a time.
    progress
        Called with how many parts were passed over, of how many, those of `add` included.
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
        by_position: bool = False,
        threads: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.settings = settings
        #: Ledgers that were charged for it.
        self.charged: list[Ledger | None] = []
        self.simulated, self.by_position = stream.simulated, by_position
        self._fork_guard = ForkGuard(simulated=stream.simulated)
        self._published: PublishedModel | None = None
        self._complete = given is not None
        choosing = head is None and (given is None or given.size > settings.n_head)
        parts.watch(progress, 1 + (given is None) + choosing)
        self.item_ids = choose_names(parts, settings, stream, dials) if given is None else given
        self._secret = stream.key()
        self._people = Participants(self._secret)
        self._counted: Participants | None = None
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

    @property
    def n_people(self) -> int:
        """How many people have come so far."""
        return len(self._people)

    def add(self, parts: Parts, dials: PersonDials | None = None) -> None:
        """Learn from more people; a person who came before is refused, and the whole of `parts` with them."""
        self._fork_guard.require()
        self._published = None
        self._pass(parts, dials, self._head, self._people)
        if self._counted is not None and not self._counted.are(self._people):
            raise DataError(
                "The files hold other people than when they were first read",
                hint="Wait until nobody writes to the files, and learn again.",
            )
        self._counted = None  # people who come from now on were not there to be counted

    def _pass(
        self, parts: Parts, dials: PersonDials | None, head: NDArray[np.int32] | None, people: Participants
    ) -> None:
        work = _CrowdWork(self._secret, self.item_ids, self._complete, dials, self._learning.work(head))
        found = parts.total(work)
        people.add_keys(found.keys)
        self._learning.take(found.sums)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about the model."""
        return promise(self.settings, simulated=self.simulated)

    def publish(self) -> PublishedModel:
        """Return what may be published: a function of what the people have published, and of public names.

        Made once, when it is first asked for: noise that is drawn twice for the same sums is spent twice.
        """
        if not self.n_people and self.settings.unit == "item":  # whole people are protected even from being counted
            raise InvalidInput("A model must be learned from at least one person")
        with self._fork_guard.alone():
            if self._published is None:
                self._fork_guard.require()
                self._published = PublishedModel(
                    settings=self.settings,
                    guarantee=self.guarantee,
                    item_ids=self.item_ids,
                    counts=self._learning.counts,
                    head=self._head,
                    model=learn(self._learning.evidence()),
                    by_position=self.by_position,
                    simulated=self.simulated,
                )
            return self._published

    def _most_popular(self, parts: Parts, dials: PersonDials | None) -> NDArray[np.int32]:
        self._counted = Participants(self._secret)
        self._pass(parts, dials, None, self._counted)
        order = np.argsort(-self._learning.counts, kind="stable")
        return np.sort(order[: self.settings.n_head]).astype(np.int32)

    def _given_head(self, head: object) -> NDArray[np.int32]:
        wanted = positions(self.item_ids, as_ids("head", head))
        if (wanted < 0).any():
            raise InvalidInput(f"must be items of the catalogue; {int((wanted < 0).sum())} are not", parameter="head")
        if not 0 < wanted.size <= self.settings.n_head:
            raise InvalidInput(f"must be 1 to {self.settings.n_head} items (n_head)", parameter="head", got=wanted.size)
        return np.sort(wanted)


@dataclass(frozen=True, eq=False, repr=False)
class _CrowdWork:
    """What is done with the profiles of a part, on whatever machine."""

    secret: bytes
    item_ids: Ids
    complete: bool
    dials: PersonDials | None
    work: Callable[[Part], Any]

    def __call__(self, profiles: Profiles) -> "_CrowdSums":
        coded = code_profiles(profiles)
        if self.dials is not None:
            coded = self.dials.present(coded, profiles.user_ids)
        keys = keys_of(profiles.user_ids, self.secret)
        dials = None if self.dials is None else self.dials.codes(profiles.user_ids)
        placed = on_items(coded, profiles.item_ids, self.item_ids, complete=self.complete)
        return _CrowdSums(keys, self.work(Part(profiles.user_ids, placed, dials, keys)))


@dataclass(frozen=True, eq=False, repr=False)
class _CrowdSums:
    """Who came, by key, and what came of it."""

    keys: NDArray[np.uint64]
    sums: Any

    def __add__(self, other: "_CrowdSums") -> "_CrowdSums":
        return _CrowdSums(np.concatenate([self.keys, other.keys]), self.sums + other.sums)


def expected_noise(settings: ModelSettings, *, n_users: int, n_head: int) -> float:
    """Return the variance that an entry of the evidence will have by noise alone; from public numbers."""
    if settings.release == "sketch":
        return n_users * bit_spread(settings.model_epsilon) ** 2
    from hetdp.recommender.matrix import MatrixRule  # loads numba

    return MatrixRule(settings.unit).pair_noise(n_head, settings.model_rho)


def _learning(settings: ModelSettings, n_items: int, stream: Stream, threads: int) -> Learning:
    if settings.release == "sketch":
        return SketchLearning(settings.model_epsilon, n_items, stream, threads=threads)
    from hetdp.recommender.matrix import MatrixLearning, MatrixRule  # loads numba

    return MatrixLearning(settings.model_rho, MatrixRule(settings.unit), n_items=n_items, stream=stream)
