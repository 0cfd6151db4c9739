"""`PrivateNeighbors`: fit profiles, get neighbours, know what was promised."""

import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee, Ledger
from hetdp.accounting.label import Label, LabelOptions
from hetdp.accounting.tally import Tally, charge
from hetdp.core.checks import Real, chance, fraction, one_of, whole
from hetdp.core.errors import HetdpWarning, InvalidInput, SimulatedResult
from hetdp.core.estimator import Estimator
from hetdp.core.files import as_frame
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Engine, Progress, Run, Search, Shares
from hetdp.neighbors.engines.sketch.engine import SKETCH
from hetdp.neighbors.releases import NOTHING_NAMED, Account, Items, Releases
from hetdp.neighbors.scores import SCORES, SIZES, Score, scoring
from hetdp.profiles import Profiles
from hetdp.profiles.catalogue import on_catalogue
from hetdp.profiles.holdout import HIDDEN_SHARE, split
from hetdp.profiles.ids import Ids, as_ids, position_of_person
from hetdp.profiles.matrix import asking_profiles, column_names, given_profiles
from hetdp.profiles.steps import holdings
from hetdp.sketching.bit_law import USUAL_TUNING, as_tuning
from hetdp.sketching.reading import SIGNIFICANT
from hetdp.tables.names import CATALOGUES


class PrivateNeighbors(Estimator):
    """The most similar users of each user, privately.

    Parameters
    ----------
    n_neighbors
        Length of a list, below the number of users.
    epsilon
        What an item of weight 1 may lose: against one recipient ("exact"), per comparison ("gossip"), or against
        everybody together ("sketch").
    engine
        "exact" compares all pairs; "gossip" simulates the peer-to-peer protocol of the paper; "sketch" publishes one
        noisy sketch of each profile.
    score
        "overlap" (of weighted items), "cosine", or "squared-cosine" (for comparison only; warns). Sketches know
        overlaps. `get_params` tells it: as an attribute, `score` is the method of scikit-learn.
    sizes
        Where a cosine takes sizes from: "noisy" (a tenth of epsilon) or "public" (declared so).
    significant_only
        Return fewer neighbours rather than random ones: only those that noise alone would hardly put there.
    cycles
        Of the gossip protocol.
    tuned_for
        The weight, above 0 and at most 1, for which sketches are most accurate. It is public, so it must not be chosen
        from the weights in use. The promise is the same for all.
    catalogue
        Which items may be named: "private" (only sketches need names; noise on counts chooses them, with a tenth of
        epsilon), "given" (all `item_ids` of the profiles are public, so that not even
        a name depends on who has what), or a list of ids, which is given. Columns of a matrix are always given.
    delta
        The chance of a worse loss by private names.
    ledger
        Where fits and lists of new recipients are charged, each before anything is drawn:
        `Ledger.of_profiles`. Copies share it.
    n_jobs
        Threads; None for 1, -1 for all. The result does not depend on it.
    random_state
        None for secure noise. A whole number makes the fit reproducible and `simulated_`: nothing publishes it.
    progress
        Called now and then with what is done and what there is.

    Attributes
    ----------
    guarantee_
        The promise of everything that this object has released, in words and numbers: fits add up.
    significance_
        How sure it is that each neighbour is more than chance; public, from the noisy scores.
    items_to_stand_out_
        How many common items a neighbour needs to stand out; from the size of the crowd and epsilon alone. None with
        sketches, where it also depends on the recipient's profile (`hetdp.neighbors.sketch_items_to_stand_out`).
    simulated_
        Whether the noise came from a seed.
    report_
        What the engine has to say about itself, as a dict of plain values; what no promise covers is under "private".
    user_ids_, item_ids_, n_features_in_
        The users, the items that may be named, and how many those are. Only sketches need private names: other engines
        have none.

    Privacy
    -------
    An item of weight 0 has no influence on anything but its owner's own list (which is made from all they have), and on
    sizes that are declared public. See `guarantee_` for who may see what, and
    docs/guide/neighbors.md.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(["ann", "ann", "bob", "bob", "cleo"], ["tea", "jazz", "tea", "jazz", "golf"])
    >>> model = PrivateNeighbors(n_neighbors=1, epsilon=50, random_state=0).fit(profiles)
    >>> scores, indices = model.kneighbors()
    >>> indices[:2].ravel().tolist(), scores[:2].round().ravel().tolist()
    ([1, 0], [2.0, 2.0])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        epsilon: Real = 1.0,
        engine: str = "exact",
        score: str = "overlap",
        sizes: str = "noisy",
        significant_only: bool = False,
        cycles: int = 20,
        tuned_for: Real = 1,
        catalogue: str | Sequence[str] | Sequence[int] | NDArray[Any] = "private",
        delta: Real = 1e-6,
        ledger: Ledger | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.engine = engine
        self._score = score
        self.sizes = sizes
        self.significant_only = significant_only
        self.cycles = cycles
        self.tuned_for = tuned_for
        self.catalogue = catalogue
        self.delta = delta
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self._tally = Tally()

    def fit(self, X: object, y: object = None) -> Self:  # noqa: ARG002, N803  (names of scikit-learn)
        """Find the neighbours of every user.

        Parameters
        ----------
        X
            `Profiles`; a table of pairs with the columns user, item and, if there are weights, weight; or a matrix of
            users x items in which anything but 0 means "has it" (weight 1).
        y
            Ignored.

        Privacy
        -------
        Draws all noise of the lists. Afterwards only `kneighbors` and `score` for new recipients with the exact engine
        spend more. Fitting again is another release, and adds up.
        """
        engine, score, k, epsilon = self._checked()
        if score.warning is not None:
            warnings.warn(score.warning, HetdpWarning, stacklevel=2)
        profiles, by_position = given_profiles(X)
        if not isinstance(self.catalogue, str):
            profiles = on_catalogue(profiles, as_ids("catalogue", self.catalogue))
        catalogue = "given" if by_position else self._catalogue
        if k >= profiles.n_users:
            raise InvalidInput(
                f"must be below the number of users (n_samples = {profiles.n_users})", parameter="n_neighbors", got=k
            )
        shares = self._shares(engine, score, epsilon, catalogue)
        search = Search(k, cycles=self.cycles, tuned_for=as_tuning(self.tuned_for))
        stream = as_stream(self.random_state)
        own = stream.child() if stream.simulated else stream
        public = score.needs_sizes and self.sizes == "public"
        promised = partial(
            engine.promise, most_recipients=profiles.n_users - 1, public_sizes=public, simulated=own.simulated
        )
        account = Account(shares, promised)
        self._tally.total(account.guarantee, simulated=own.simulated)  # refused, if it is of another kind
        charge([self.ledger], account.guarantee, f"neighbours ({engine.name})")
        self._tally.add(account)
        items = Items.of(profiles, catalogue)
        if engine.needs_names:
            items = items.named(shares, own)
        lists_epsilon = shares.pairs + shares.sizes
        how = scoring(score, items.coded, profiles.sizes, sizes=self.sizes, epsilon=lists_epsilon, stream=own)
        run = Run(own, self._threads, self.progress)
        fitted = engine.fit(items.coded, how, search, run, holdings(profiles, items.ids))
        needed = engine.items_to_stand_out(
            n_users=profiles.n_users, epsilon=how.pair_epsilon, tuned_for=search.tuned_for
        )
        # Everything at once, so that an interrupted fit leaves the model as it was; it was counted before.
        self._releases = Releases(engine, account, fitted, own, items=items, ledger=self.ledger, public_sizes=public)
        self.simulated_ = own.simulated
        self.significance_, self.report_ = fitted.significance, dict(fitted.report)
        self.items_to_stand_out_ = needed if isinstance(needed, float) else None
        self.user_ids_ = profiles.user_ids
        self._by_position = by_position
        vars(self).pop("feature_names_in_", None)
        names = column_names(X) if self._by_position else None
        if names is not None:
            self.feature_names_in_ = names
        if self._releases.nothing_named:
            warnings.warn(NOTHING_NAMED, HetdpWarning, stacklevel=2)
        return self

    def kneighbors(
        self,
        X: object = None,  # noqa: N803  (a name of scikit-learn)
        n_neighbors: int | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return noisy scores and positions of the neighbours, best first; nan and -1 where there is none.

        Parameters
        ----------
        X
            New recipients: profiles or a table of pairs, whose items are matched by id, whether they may be named or
            not (those that were not fitted are common with nobody), or a matrix with the columns that were fitted. None
            for the users fitted. Not with gossip, where only members take part.
        n_neighbors
            At most as many as were fitted; default all of them.

        Privacy
        -------
        Lists of the users fitted were drawn by `fit`. Lists for new recipients are releases that `guarantee_` counts:
        those of one call go to as many recipients, but one who asks again may be one of them. They cost nothing with
        sketches, which are published. Nothing is promised to new recipients about what they ask with.
        """
        self._require_fit()
        fitted = self._releases.fitted
        most = fitted.search.k
        k = whole("n_neighbors", most if n_neighbors is None else n_neighbors, minimum=1)
        if k > most:
            raise InvalidInput(
                f"must be at most the {most} fitted: longer lists would be another release",
                parameter="n_neighbors",
                got=k,
            )
        scores, indices, sure = fitted.lists.scores, fitted.lists.indices, fitted.significance
        if X is not None:
            scores, indices, sure = self._releases.lists_for(self._asking(X), self._threads, self.ledger)
        if self.significant_only:
            chance = sure < SIGNIFICANT
            scores, indices = np.where(chance, np.nan, scores), np.where(chance, np.int32(-1), indices)
        return scores[:, :k].copy(), indices[:, :k].copy()

    def _asking(self, given: object) -> Profiles:
        """Return the profiles that new recipients ask with."""
        names = getattr(self, "feature_names_in_", None)
        return asking_profiles(
            given, self.item_ids_, by_position=self._by_position, names=names, estimator=type(self).__name__
        )

    def score(self, X: object, y: object = None) -> float:  # noqa: ARG002, N803  (names of scikit-learn)
        """Return how much of what new people have their neighbours have, too: for `GridSearchCV` and the like.

        A fifth of each one's items is hidden, always the same ones, and neighbours are found with the rest. The score
        is the share of what was hidden that at least one neighbour has, on average over the people.

        Parameters
        ----------
        X
            People who were not fitted, as for `kneighbors`. A person with a single item can hide nothing and does not
            count.
        y
            Ignored.

        Returns
        -------
        float
            Between 0 and 1.

        Privacy
        -------
        **The score is exact: it is computed from exact profiles without noise, and nothing is promised about it, nor
        about parameters that were chosen by it.** Keep it, and choose on data that may be published or on people who
        are in no release. Each fit of a search is a release, and each score is one to new recipients, as
        `kneighbors(X)` is: clones share the `ledger`, where all of them are charged; without one nobody adds them up,
        and a `HetdpWarning` says so. Give `error_score="raise"` to a search: what a ledger refuses would else be nan.

        Examples
        --------
        >>> people = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] * 20
        >>> PrivateNeighbors(3, epsilon=20, random_state=0).fit(people).score([[1, 1, 1, 0, 0, 0]])
        1.0
        """
        self._require_fit()
        known, hidden = split(self._asking(X), protocol="each", share=HIDDEN_SHARE)
        if not hidden.n_pairs:
            raise InvalidInput("must have people with at least 2 items, one of them to hide", parameter="X")
        if self.ledger is None and not self.simulated_:
            self._warn_uncounted()
        _, neighbors = self.kneighbors(known)
        return self._releases.recall(neighbors, hidden)

    def to_frame(self) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return a data frame with the columns user, neighbor, score and significance, best first."""
        scores, indices = self.kneighbors()
        there = indices >= 0
        users = np.repeat(np.arange(indices.shape[0]), there.sum(axis=1))
        return as_frame(
            {
                "user": self.user_ids_[users],
                "neighbor": self.user_ids_[indices[there]],
                "score": scores[there],
                "significance": self.significance_[there],
            }
        )

    def public(self, user: str | int) -> dict[str, object]:
        """Return what may be handed to one user: their own list, and the promise.

        Privacy
        -------
        For that user and nobody else. Refuses a seeded fit: anyone who knows the seed can subtract the noise.
        """
        self._require_fit()
        if self.simulated_:
            raise SimulatedResult(
                "This model was fitted with a seed (random_state) and must not be published: its noise can be "
                "recomputed. Fit again without random_state. In a simulation, use kneighbors."
            )
        place = position_of_person(self.user_ids_, user)
        if place is None:
            raise InvalidInput(f"must be one of the {self.user_ids_.size} users", parameter="user", got=user)
        scores, indices = (part[place] for part in self.kneighbors())
        names = self.user_ids_[indices].tolist()
        rows = zip(names, scores.tolist(), self.significance_[place].tolist(), strict=True)
        return {
            "user": user,
            "neighbors": [
                {"neighbor": name, "score": score, "significance": sure}
                for (name, score, sure), index in zip(rows, indices, strict=True)
                if index >= 0
            ],
            "guarantee": self.guarantee_.text,
        }

    @property
    def item_ids_(self) -> Ids:
        """The items that may be named; without a public catalogue, none unless the engine needs names."""
        self._require_fit()
        return self._releases.names

    @property
    def n_features_in_(self) -> int:
        """How many items may be named."""
        return self.item_ids_.size

    @property
    def guarantee_(self) -> Guarantee:
        """The promise of everything that this object and its copies have released."""
        self._require_fit()
        return self._tally.total(simulated=self.simulated_)

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what everything released so far means to people; see `Guarantee.label`.

        Examples
        --------
        >>> profiles = Profiles.from_pairs(["ann", "ann", "bob", "cy"], ["tea", "jazz", "tea", "jazz"])
        >>> PrivateNeighbors(epsilon=1, n_neighbors=1).fit(profiles).label().title
        'Lists of similar people'
        """
        promised, engine = self.guarantee_, self._releases.engine
        titled: LabelOptions = {"title": "Lists of similar people", "ledger": self.ledger, **options}
        how = f"{engine.help}, with noise (engine {engine.name})"
        return Label.of(promised, mechanism=how, **titled)

    def promise(self, n_users: int) -> Guarantee:
        """Return what a fit of `n_users` would promise, before anything is drawn.

        Parameters
        ----------
        n_users
            How many users there are; without a measured number, gossip may compare everybody with everybody.

        Examples
        --------
        >>> PrivateNeighbors(epsilon=1).promise(120).total
        119.0
        """
        engine, score, _, epsilon = self._checked()
        return engine.promise(
            self._shares(engine, score, epsilon, self._catalogue),
            most_recipients=whole("n_users", n_users, minimum=2) - 1,
            public_sizes=score.needs_sizes and self.sizes == "public",
            simulated=as_stream(self.random_state).simulated,
        )

    def items_to_stand_out(self, n_users: int) -> float | dict[str, float]:
        """Return how many common items (of weight 1) a neighbour needs to stand out among `n_users`.

        Parameters
        ----------
        n_users
            How many users there are.

        Returns
        -------
        float or dict
            Of sketches, a number for some sizes of the recipient's own profile.

        Examples
        --------
        >>> round(PrivateNeighbors(epsilon=1).items_to_stand_out(120), 1)
        7.1
        """
        engine, score, _, epsilon = self._checked()
        pairs = self._shares(engine, score, epsilon, self._catalogue).pairs
        return engine.items_to_stand_out(n_users=n_users, epsilon=pairs, tuned_for=as_tuning(self.tuned_for))

    def _checked(self) -> tuple[Engine, Score, int, Fraction]:
        engine = ENGINES[one_of("engine", self.engine, tuple(ENGINES))]
        score = SCORES[one_of("score", self._score, tuple(SCORES))]
        one_of("sizes", self.sizes, SIZES)
        one_of("catalogue", self._catalogue, CATALOGUES)
        if score.name not in engine.scores:
            known = " or ".join(map(repr, engine.scores))
            raise InvalidInput(f"must be {known} with engine={engine.name!r}", parameter="score", got=self._score)
        whole("cycles", self.cycles, minimum=1)
        epsilon = fraction("epsilon", self.epsilon)
        if as_tuning(self.tuned_for) != USUAL_TUNING and engine is not SKETCH:
            raise InvalidInput("can only be used with engine='sketch'", parameter="tuned_for", got=self.tuned_for)
        return engine, score, whole("n_neighbors", self.n_neighbors, minimum=1), epsilon

    @property
    def _catalogue(self) -> str:
        """How items get their names."""
        return self.catalogue if isinstance(self.catalogue, str) else "given"

    def _shares(self, engine: Engine, score: Score, epsilon: Fraction, catalogue: str) -> Shares:
        delta = chance("delta", self.delta) if catalogue == "private" else Fraction(0)
        sizes = score.size_epsilon(epsilon, self.sizes)
        return engine.shares(epsilon - sizes, sizes, names_delta=delta)

    def _repr_html_(self) -> str:
        from hetdp.accounting.display import model_card

        return model_card(self, self.guarantee_ if self.__sklearn_is_fitted__() else None).html()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has finished, for scikit-learn."""
        return hasattr(self, "report_")
