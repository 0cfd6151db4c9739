"""`PrivateRecommender`: learn one public model from the crowd, score at home with the exact own profile."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Guarantee, Ledger
from hetdp.accounting.label import Label, LabelOptions
from hetdp.accounting.tally import Once, Tally, charge
from hetdp.core.checks import Real, fraction, whole
from hetdp.core.errors import HetdpWarning, InvalidInput, SimulatedResult
from hetdp.core.estimator import Estimator
from hetdp.core.files import as_frame
from hetdp.core.randomness import RandomState, as_stream
from hetdp.profiles import Profiles
from hetdp.profiles.holdout import HIDDEN_SHARE, split
from hetdp.profiles.ids import Ids, as_ids, position_of
from hetdp.profiles.matrix import asking_profiles, given_profiles
from hetdp.profiles.steps import holdings
from hetdp.recommender.crowd import Crowd, expected_noise
from hetdp.recommender.file import PublishedModel, load, save
from hetdp.recommender.lists import best_items, contributions, ndcg_per_user, places_hit
from hetdp.recommender.model import visible_taste
from hetdp.recommender.names import people_to_be_named
from hetdp.recommender.parts import Parts, PersonDials
from hetdp.recommender.settings import ModelSettings, promise

#: Recommendations that `score` judges.
_JUDGED = 10

Progress = Callable[[int, int], None]
UserWeights: TypeAlias = Mapping[str, float] | Mapping[int, float] | Sequence[float] | NDArray[np.floating] | None


class PrivateRecommender(Estimator):
    """Items for everybody, from one public model of which items people have together.

    Parameters
    ----------
    epsilon
        What an item of weight 1 may lose in all, against everybody together.
    delta
        The chance of a worse loss: of private names, and of a noisy matrix.
    release
        "sketch": nobody is trusted; every person publishes one noisy bit per item. "matrix": a trusted
        curator publishes one noisy matrix.
    unit
        What is protected: one "item" of a person, or the whole "user" (with a matrix).
    n_head
        The most items that the model relates to each other: the most popular ones. Others come after them.
    catalogue
        Which items may be named: "private" (chosen by noise on counts; needs a trusted holder), "given" (all
        `item_ids` of the profiles are public), or a list of ids, which is given. Columns of a matrix are always given.
    head
        Ids of the items to relate, if that is public knowledge; default: found by a first pass over the data.
    ledger
        Where fits are charged, each before anything is drawn: `Ledger.of_profiles`, in rho for a matrix. Copies share
        it.
    n_jobs
        Threads; None for 1, -1 for all. The result does not depend on it.
    random_state
        None for secure noise. A whole number makes the fit reproducible and `simulated_`: nothing publishes it.
    progress
        Called now and then with what is done and what there is.

    Attributes
    ----------
    guarantee_
        The promise of everything that this object has learned, against everybody together: fits add up.
    item_ids_, n_features_in_
        The public catalogue, and how many items it has.
    feature_names_in_
        The names of the columns, if a matrix with names was fitted.
    taste_
        How much of a score is taste, in [0, 1]; popularity is the rest.
    simulated_
        Whether the noise came from a seed.

    Privacy
    -------
    The model is public: `save`, pickles and copies hold nothing else. A list or an explanation is made at home from the
    exact own profile, costs nothing, and is for its owner only. An item of weight 0 has no influence on the model. See
    docs/guide/recommender.md and docs/proofs/recommender.md.

    Examples
    --------
    >>> pairs = [(person, item) for person in range(300) for item in ("tea", "jazz")]
    >>> pairs += [(person, item) for person in range(300, 600) for item in ("golf", "beer")]
    >>> profiles = Profiles.from_pairs(*zip(*pairs))
    >>> model = PrivateRecommender(epsilon=2, catalogue="given", random_state=0).fit(profiles)
    >>> newcomer = Profiles.from_pairs(["zoe"], ["tea"])
    >>> model.recommend(1, profiles=newcomer)["item"].tolist()
    ['jazz']
    """

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        delta: Real = 1e-6,
        release: str = "sketch",
        unit: str = "item",
        n_head: int = 4096,
        catalogue: str | Sequence[str] | Sequence[int] | NDArray[Any] = "private",
        head: Sequence[str] | Sequence[int] | NDArray[Any] | None = None,
        ledger: Ledger | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.release = release
        self.unit = unit
        self.n_head = n_head
        self.catalogue = catalogue
        self.head = head
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self._crowd: Crowd | None = None
        self._published: PublishedModel | None = None
        self._own: Parts | None = None
        self._tally = Tally()

    def fit(
        self,
        X: object,  # noqa: N803  (names of scikit-learn)
        y: object = None,  # noqa: ARG002
        *,
        user_weights: UserWeights = None,
    ) -> Self:
        """Learn a model from everybody.

        Parameters
        ----------
        X
            `Profiles`; the name of a file of pairs; a table of pairs; a matrix of users x items in which anything but 0
            means "has it" (weight 1); or a list of parts, `Profiles`, tables or names of files, of whole people each.
        y
            Ignored.
        user_weights
            With `unit="user"`: the dial of each person, a number in [0, 1], as a mapping from ids or in the order of
            the profiles. Default: 1. A dial is the person's own; never compute it from what the person has.

        Privacy
        -------
        One release: `guarantee_`. Fitting again is another one, and adds up.
        """
        parts, by_position = _as_parts(X)
        dials = self._dials(parts, user_weights)
        given = self._given_items(parts, by_position=by_position)
        crowd = self._begin(parts, given, dials, by_position=by_position)
        crowd.add(parts, dials)
        crowd.publish()
        # Everything at once, so that an interrupted fit leaves the model as it was.
        self._crowd, self._published, self._own = crowd, None, parts
        return self

    def partial_fit(
        self,
        X: object,  # noqa: N803
        y: object = None,  # noqa: ARG002
        *,
        user_weights: UserWeights = None,
    ) -> Self:
        """Learn from more people: newcomers, or one part of a crowd after the other.

        Parameters
        ----------
        X
            As for `fit`: whole people, none of whom was there before; rows of a matrix are new people. The first part
            of a crowd needs a given catalogue (a list of ids, or the columns of a matrix), and a given `head` if that
            is longer than `n_head`.
        y
            Ignored.
        user_weights
            As for `fit`, of the people in this part.

        Privacy
        -------
        The same release as before, made larger: people who were there lose nothing more, new people lose as
        `guarantee_` says. With `release="matrix"` all parts must come before the model is first asked for.
        """
        parts, by_position = _as_parts(X, first=0 if self._crowd is None else self._crowd.n_people)
        dials = self._dials(parts, user_weights)
        if self._crowd is None:
            if self.__sklearn_is_fitted__():
                raise InvalidInput(
                    "A copy or a loaded model cannot learn more", hint="Use the object that began the crowd."
                )
            settings = self._settings()
            given = self._given_items(parts, by_position=by_position)
            if given is None or (given.size > settings.n_head and self.head is None):
                raise InvalidInput(
                    "must be a list of ids, and head one too if that is longer than n_head, for partial_fit: "
                    "what must be chosen from everybody needs more than one pass",
                    parameter="catalogue",
                    hint="Use fit.",
                )
            crowd = self._begin(parts, given, dials, by_position=by_position)
        else:
            crowd = self._crowd
            columns = next(iter(parts)).n_items if by_position else crowd.item_ids.size
            if columns != crowd.item_ids.size:
                raise InvalidInput(
                    f"X has {columns} features, but {type(self).__name__} is expecting {crowd.item_ids.size} features "
                    "as input."
                )
            if crowd.settings not in (self._settings(), self._settings(given=True)):
                raise InvalidInput("must be those that the crowd was begun with", parameter="parameters")
            if self.ledger not in crowd.charged:  # given since
                charge([self.ledger], crowd.guarantee, f"model ({self.release})")
                crowd.charged.append(self.ledger)
        crowd.add(parts, dials)
        self._crowd, self._own = crowd, None
        return self

    def _dials(self, parts: Parts, given: UserWeights) -> PersonDials | None:
        if given is None:
            return None
        if self.unit != "user":
            raise InvalidInput(
                "can only be used with unit='user'", parameter="user_weights", hint="Items have weights of their own."
            )
        if isinstance(given, Mapping):
            return PersonDials(as_ids("user_weights", list(given), people=True), list(given.values()))
        if len(parts) != 1:
            raise InvalidInput("must be a mapping where the data come in parts", parameter="user_weights")
        return PersonDials(next(iter(parts)).user_ids, given)

    def _begin(self, parts: Parts, given: Ids | None, dials: PersonDials | None, *, by_position: bool) -> Crowd:
        stream = as_stream(self.random_state)
        own = stream.child() if stream.simulated else stream
        settings = self._settings(given=given is not None)
        promised = promise(settings, simulated=own.simulated)
        self._tally.total(promised, simulated=own.simulated)  # refused, if it is of another kind
        charge([self.ledger], promised, f"model ({self.release})")
        self._tally.add(Once(promised))  # also if it fails: that it does may tell something
        crowd = Crowd(
            settings,
            parts,
            own,
            given=given,
            head=self.head,
            dials=dials,
            by_position=by_position,
            threads=self._threads,
            progress=self.progress,
        )
        crowd.charged.append(self.ledger)
        return crowd

    @property
    def _public(self) -> PublishedModel:
        """What is published; made when it is first asked for."""
        self._require_fit()
        return cast("PublishedModel", self._published) if self._crowd is None else self._crowd.publish()

    @property
    def _catalogued(self) -> PublishedModel | Crowd:
        """What knows the catalogue: looking at names publishes nothing."""
        self._require_fit()
        return cast("PublishedModel", self._published) if self._crowd is None else self._crowd

    def recommend(self, n: int = 10, *, profiles: object = None) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return a data frame with the columns user, item and score: up to n items per user, best first.

        Parameters
        ----------
        n
            Items per user.
        profiles
            Who asks, with their exact items: anybody, fitted or not; what `fit` takes, or a list of ids for one person
            (user 0). Items that the model does not know have no part in it. None for the people fitted.

        Returns
        -------
        data frame
            pandas if it is installed, else arrow. Items outside the head come last, without a score (nan). People who
            have nothing that the model knows get shares of popularity.

        Privacy
        -------
        Costs nothing. The rows of a user come from the exact own profile, items of weight 0 included, and are for that
        user. What a user has is never recommended to them.
        """
        n, public = whole("n", n, minimum=1), self._public
        n = min(n, public.item_ids.size)
        asking = self._fitted_people() if profiles is None else [self._asking(profiles)]
        lists = [self._lists(some, public, n) for some in asking]
        return as_frame({name: np.concatenate([own[name] for own in lists]) for name in ("user", "item", "score")})

    def _lists(self, asking: Profiles, public: PublishedModel, n: int) -> dict[str, NDArray[Any]]:
        """Return the lists of some people, column by column."""
        own = holdings(asking, public.item_ids)
        alone = asking.n_users == 1  # of many, what follows would depend on what the others have
        if alone and asking.n_pairs and not own.items.size:
            warnings.warn(
                "none of the items is in the catalogue of the model: recommended by popularity alone.",
                HetdpWarning,
                stacklevel=4,
            )
        items, scores = best_items(public.model, public.head, public.counts, own, n, progress=self.progress)
        there = items >= 0
        users = np.repeat(np.arange(items.shape[0]), there.sum(axis=1))
        found = public.item_ids[items[there]]
        if alone and asking.n_items and asking.item_ids.dtype != found.dtype:  # in the kind that one asks with
            found = np.array([str(one) for one in found.tolist()], dtype=object)
        return {"user": asking.user_ids[users], "item": found, "score": scores[there]}

    def predict(self, X: object, n: int = 10) -> NDArray[Any]:  # noqa: N803  (a name of scikit-learn)
        """Return the ids of the best n items for each row, best first: `recommend` under the name that pipelines know.

        Parameters
        ----------
        X
            Who asks, with their exact items: rows of a matrix with the columns that were fitted, `Profiles`, or a table
            of pairs.
        n
            Items per row; at most as many as there are.

        Returns
        -------
        array
            A row for each row of X, of ids as in `item_ids_`: names of columns, or their numbers. Where fewer than n
            are left to recommend, None (-1 among numbers) fills up.

        Privacy
        -------
        As `recommend`: it costs nothing, and each row is for its owner.

        Examples
        --------
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import Binarizer
        >>> ratings = [[5, 4, 5, 0, 1, 2], [1, 0, 2, 5, 4, 5]] * 100
        >>> model = make_pipeline(Binarizer(threshold=3), PrivateRecommender(epsilon=4, random_state=0)).fit(ratings)
        >>> model.predict([[5, 0, 5, 0, 0, 0]], n=1)
        array([[1]])

        Everything else is asked of the last step, with what the steps before it make of X.

        >>> model[-1].recommend(1, profiles=model[:-1].transform([[5, 0, 5, 0, 0, 0]]))["item"].tolist()
        [1]
        """
        n, public = whole("n", n, minimum=1), self._public
        ids = public.item_ids
        nothing = np.array([-1 if ids.dtype.kind == "i" else None], dtype=ids.dtype)
        return np.append(ids, nothing)[self._best(self._rows(X), public, min(n, ids.size))]

    def score(self, X: object, y: object = None) -> float:  # noqa: ARG002, N803  (names of scikit-learn)
        """Return the NDCG of ten recommendations to people: for `GridSearchCV` and the like.

        A fifth of each one's items is hidden, always the same ones, and ten items are recommended from the rest. What
        was hidden gains 1 / log2(r + 1) at rank r; the sum is divided by that of a perfect list, and averaged over the
        people (`hetdp.judge`).

        Parameters
        ----------
        X
            People with their exact items, as for `predict`; who were not fitted, or the model has seen what is hidden.
            A person with a single item can hide nothing and does not count.
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
        are in no release. Recommending costs nothing, but each fit of a search is a release: clones share the `ledger`,
        where all of them are charged; without one nobody adds them up, and a `HetdpWarning` says so. Give
        `error_score="raise"` to a search: what its ledger refuses would else be nan.

        Examples
        --------
        >>> people = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] * 100
        >>> PrivateRecommender(epsilon=4, random_state=0).fit(people).score([[1, 1, 1, 0, 0, 0]])
        1.0
        """
        public = self._public
        known, hidden = split(self._rows(X), protocol="each", share=HIDDEN_SHARE)
        if not hidden.n_pairs:
            raise InvalidInput("must have people with at least 2 items, one of them to hide", parameter="X")
        if self.ledger is None and self._crowd is not None and not self.simulated_:
            self._warn_uncounted()
        found = self._best(known, public, min(_JUDGED, public.item_ids.size))
        hit = places_hit(found, holdings(hidden, public.item_ids), public.item_ids.size)
        people, ranks = np.nonzero(hit)
        gains = ndcg_per_user(people, ranks, hidden.sizes, _JUDGED)
        return float(gains[hidden.sizes > 0].mean())

    def _best(self, asking: Profiles, public: PublishedModel, n: int) -> NDArray[np.int32]:
        """Return the places of the best n items in the catalogue for each person; -1 where there are fewer."""
        own = holdings(asking, public.item_ids)
        return best_items(public.model, public.head, public.counts, own, n, progress=self.progress)[0]

    def explain(self, profile: object, item: str | int) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return a data frame with the columns item and contribution: what of a profile speaks for an item, most first.

        Parameters
        ----------
        profile
            The exact items of one person: a list of ids, or profiles of one user.
        item
            An item of the catalogue. Contributions add up to its score; what its popularity adds has no item.

        Privacy
        -------
        Costs nothing. It comes from the exact own profile, and is for its owner.

        Examples
        --------
        >>> tastes = ("golf", "opera"), ("jazz", "tea")
        >>> pairs = [(person, item) for person in range(400) for item in tastes[person % 2]]
        >>> profiles = Profiles.from_pairs(*zip(*pairs), item_ids=["golf", "jazz", "opera", "tea"])
        >>> model = PrivateRecommender(epsilon=5, catalogue="given", random_state=0).fit(profiles)
        >>> model.explain(["tea", "golf"], "jazz")["item"].tolist()[0]
        'tea'
        """
        public = self._public
        place = position_of(public.item_ids, item)
        if place is None:
            raise InvalidInput(
                f"must be one of the {public.item_ids.size} of the catalogue", parameter="item", got=item
            )
        asking = self._asking(profile)
        if asking.n_users != 1:
            raise InvalidInput("must be that of one person", parameter="profile", got=asking.n_users)
        own = holdings(asking, public.item_ids)
        parts = contributions(public.model, public.head, own.items, place)
        names = public.item_ids[parts.items].astype(object)
        names[parts.items < 0] = None
        return as_frame({"item": names, "contribution": parts.amounts})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to the file `path`: the public part, all that `load` needs.

        Privacy
        -------
        The file may be published: what it tells, `guarantee_` counts, and the file says. Refuses a seeded fit.
        """
        if self.simulated_:
            raise SimulatedResult(
                "This model was fitted with a seed (random_state) and must not be published: its noise can be "
                "recomputed. Fit again without random_state."
            )
        save(self._public, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model in the file `path`; `recommend` then needs `profiles`."""
        public = load(path)
        chosen = public.settings
        model = cls(
            chosen.epsilon,
            delta=chosen.delta,
            release=chosen.release,
            unit=chosen.unit,
            n_head=chosen.n_head,
            catalogue=chosen.catalogue,
        )
        model._published = public
        model._tally.add(Once(public.guarantee))
        return model

    @property
    def guarantee_(self) -> Guarantee:
        """The promise of every model that this object and its copies have learned, against everybody together."""
        self._require_fit()
        return self._tally.total(simulated=self.simulated_)

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what publishing the model means to people; see `Guarantee.label`."""
        made = self._public.settings
        how = "one noisy matrix" if made.release == "matrix" else "one noisy sketch of every profile"
        titled: LabelOptions = {"title": "A model that recommends", "ledger": self.ledger, **options}
        return Label.of(self.guarantee_, mechanism=how, **titled)

    @property
    def item_ids_(self) -> Ids:
        """The items of the public catalogue."""
        return self._catalogued.item_ids

    @property
    def n_features_in_(self) -> int:
        """How many items the catalogue has."""
        return self.item_ids_.size

    @property
    def feature_names_in_(self) -> Ids:
        """The names of the columns, where the model was learned from a matrix that has some."""
        known = self._catalogued
        if not known.by_position or known.item_ids.dtype.kind != "O":
            raise AttributeError("feature_names_in_ is there where a matrix with names of columns was fitted.")
        return known.item_ids

    @property
    def simulated_(self) -> bool:
        """Whether the noise came from a seed."""
        self._require_fit()
        return cast("PublishedModel", self._published).simulated if self._crowd is None else self._crowd.simulated

    @property
    def taste_(self) -> float:
        """How much of a score is taste, in [0, 1]; popularity is the rest. From public numbers alone.

        At 0 no taste rose above the noise, and everybody is recommended what is popular.
        """
        return self._public.model.taste

    def visible_taste(self, n_users: int, n_items: int) -> float:
        """Return how large a shared taste must be to be seen at all, from public numbers, before anything is spent.

        Parameters
        ----------
        n_users, n_items
            How many people and items there are; of the items, those of the head count.

        Returns
        -------
        float
            People who share a taste times items that each of them has of it, at a weight of 1. Where each has only a
            share f of the items of the taste, 1/f times as many.

        Examples
        --------
        Among 6,000 people and 3,000 items at epsilon 1, 500 communities of 12 people who have 50 items each in common
        (12 * 50 = 600) cannot be seen, and nothing beats popularity there.

        >>> round(PrivateRecommender(epsilon=1, catalogue="given").visible_taste(6000, 3000))
        3906
        """
        settings = self._settings()
        size = min(whole("n_items", n_items, minimum=1), settings.n_head)
        noise = expected_noise(settings, n_users=whole("n_users", n_users, minimum=1), n_head=size)
        return visible_taste(noise, size)

    def people_to_be_named(self) -> int:
        """Return how many people must have an item, at a weight of 1, for it to be named in one of two fits.

        Examples
        --------
        >>> PrivateRecommender(epsilon=1).people_to_be_named()
        109
        """
        return people_to_be_named(self._settings())

    def promise(self) -> Guarantee:
        """Return what a fit would promise, before anything is drawn.

        Examples
        --------
        >>> PrivateRecommender(epsilon=1, catalogue="given").promise().amount
        1.0
        """
        return promise(self._settings(), simulated=as_stream(self.random_state).simulated)

    def _repr_html_(self) -> str:
        from hetdp.accounting.display import model_card

        return model_card(self, self.guarantee_ if self.__sklearn_is_fitted__() else None).html()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model, for scikit-learn."""
        return self._crowd is not None or self._published is not None

    def __getstate__(self) -> dict[str, object]:
        """Return the public part, and nothing that is not named here: neither profiles nor secrets."""
        public = self._public if self.__sklearn_is_fitted__() else None
        parameters = self.get_params() | {"progress": None, "random_state": None}
        return parameters | {
            "_published": public, "_crowd": None, "_own": None, "_tally": self._tally,
        }  # fmt: skip

    def _settings(self, *, given: bool = False) -> ModelSettings:
        """Return the parameters, checked; columns of a matrix are a given catalogue, whatever is asked for."""
        catalogue = self.catalogue if isinstance(self.catalogue, str) else "given"
        return ModelSettings(
            fraction("epsilon", self.epsilon),
            fraction("delta", self.delta),
            self.release,
            self.unit,
            "given" if given else catalogue,
            self.n_head,
        )

    def _given_items(self, parts: Parts, *, by_position: bool) -> Ids | None:
        """Return the public catalogue, if there is one."""
        if not isinstance(self.catalogue, str):
            return _not_empty(as_ids("catalogue", self.catalogue))
        if self.catalogue != "given" and not by_position:
            return None
        return _not_empty(next(iter(parts)).item_ids)

    def _fitted_people(self) -> Parts:
        if self._own is None:
            raise InvalidInput(
                "must be given: this model does not hold those that it was learned from",
                parameter="profiles",
            )
        return self._own

    def _asking(self, profiles: object) -> Profiles:
        items: Any = sorted(profiles, key=str) if isinstance(profiles, set | frozenset) else profiles
        if hasattr(items, "__iter__") and not isinstance(items, Profiles | str) and np.ndim(items) == 1:
            own = as_ids("profiles", list(dict.fromkeys(items)))  # of a list, an array, or a column of a table
            return Profiles.from_pairs(np.zeros(own.size, dtype=np.int64), own, user_ids=[0])
        return self._rows(profiles)

    def _rows(self, given: object) -> Profiles:
        """Return the profiles in whatever has a row for each person, or for each pair."""
        public = self._public
        names = getattr(self, "feature_names_in_", None)
        return asking_profiles(
            given, public.item_ids, by_position=public.by_position, names=names, estimator=type(self).__name__
        )


def _not_empty(item_ids: Ids) -> Ids:
    if not item_ids.size:
        raise InvalidInput("must list at least one item", parameter="catalogue")
    return item_ids


def _is_table(part: object) -> bool:
    return not isinstance(part, Profiles) and hasattr(part, "columns")


def _is_part(part: object) -> bool:
    return isinstance(part, Profiles | str | os.PathLike) or _is_table(part)


def _as_parts(given: object, first: int = 0) -> tuple[Parts, bool]:
    """Return the parts that the data come in, and whether they are a matrix, whose columns are the catalogue.

    The people of a matrix are numbered, from `first` on.
    """
    if isinstance(given, Parts):
        return given, False
    if isinstance(given, Profiles | str | os.PathLike):
        return Parts([given]), False
    if isinstance(given, list | tuple) and any(_is_part(part) for part in given):
        tables = (part if not _is_table(part) else given_profiles(part)[0] for part in given)
        return Parts(tuple(tables)), False
    profiles, by_position = given_profiles(given)
    if by_position and first and np.array_equal(profiles.user_ids, np.arange(profiles.n_users)):
        people = as_ids("user_ids", profiles.user_ids + first, people=True)
        profiles = Profiles.from_rows(profiles.indptr, profiles.indices, profiles.weights, people, profiles.item_ids)
    return Parts([profiles]), by_position
