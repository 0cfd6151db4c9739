"""`PrivateNeighbors` in a search for parameters: `score` is a method, and every fit and score is paid for."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from hetdp import Ledger, PrivateNeighbors, Profiles, policies, split
from hetdp.core.errors import BudgetExhausted, HetdpWarning, InvalidInput

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")

from sklearn.exceptions import FitFailedWarning  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import Binarizer  # noqa: E402


def three_tastes(people=90):
    """People of three tastes, six of ten items each, as a matrix."""
    random = np.random.default_rng(0)
    matrix = np.zeros((people, 30))
    for row in range(people):
        matrix[row, 10 * (row % 3) + random.choice(10, 6, replace=False)] = 1
    return matrix


PEOPLE = three_tastes()
LEVELS = {"epsilon": [0.5, 2.0]}


def search(model, grid=LEVELS, **options):
    return GridSearchCV(model, grid, cv=3, **{"error_score": "raise", **options})


class TestTheParameter:
    def test_it_is_still_called_score_wherever_parameters_have_names(self):
        model = PrivateNeighbors(4, score="cosine")
        assert model.get_params()["score"] == "cosine"
        assert repr(model) == "PrivateNeighbors(n_neighbors=4, score='cosine')"
        assert sklearn.clone(model).get_params() == model.get_params()
        assert model.set_params(score="overlap").get_params()["score"] == "overlap"
        assert callable(model.score)
        with pytest.raises(InvalidInput, match="score must be one of 'overlap'"):
            model.set_params(score="jaccard").fit(PEOPLE)

    def test_it_decides_how_people_are_compared_as_before(self):
        fits = [PrivateNeighbors(3, score=name, random_state=0).fit(PEOPLE) for name in ("overlap", "cosine")]
        assert fits[0].guarantee_.shared == 0
        assert fits[1].guarantee_.shared > 0, "a cosine takes noisy sizes"


class TestTheScore:
    @pytest.mark.parametrize("engine", ["exact", "sketch"])
    def test_it_is_the_share_of_hidden_items_that_neighbours_have(self, engine):
        model = PrivateNeighbors(1, epsilon=3, engine=engine, catalogue="given", random_state=1)
        profiles = Profiles.from_csr(sparse.csr_array(PEOPLE), user_ids=range(1, 91))
        crowd, visitors = profiles[:60], profiles[60:]
        model.fit(crowd)
        score = model.score(visitors)
        known, hidden = split(visitors, protocol="each", share=0.2)
        _, indices = model.kneighbors(known)
        shares = []
        for visitor, row in zip(visitors.user_ids, indices, strict=True):
            theirs = set().union(*(crowd.profile(crowd.user_ids[place]) for place in row))
            wanted = set(hidden.profile(visitor))
            assert wanted
            shares.append(len(wanted & theirs) / len(wanted))
        assert score == pytest.approx(np.mean(shares), rel=1e-12)
        assert 0 < score < 1

    def test_it_rises_with_epsilon(self):
        """30 visitors, one hidden item each: chance finds fewer than the level of 20 does, by far."""
        far, near = (
            PrivateNeighbors(1, epsilon=epsilon, random_state=0).fit(PEOPLE[:60]).score(PEOPLE[60:])
            for epsilon in (0.01, 20)
        )
        assert near > far + 0.2

    def test_matrices_pairs_and_profiles_are_scored_alike(self):
        import pandas as pd

        profiles = Profiles.from_csr(sparse.csr_array(PEOPLE))
        users, items, _ = profiles[60:].to_pairs()
        visitors = [PEOPLE[60:], sparse.csr_array(PEOPLE[60:]), pd.DataFrame({"user": users, "item": items})]
        fit = PrivateNeighbors(3, epsilon=2, random_state=0).fit
        assert len({fit(PEOPLE[:60]).score(given) for given in visitors}) == 1

    def test_whoever_can_hide_nothing_does_not_count(self):
        model = PrivateNeighbors(3, epsilon=20, random_state=0).fit(PEOPLE)
        few = np.zeros((2, 30))
        few[:, 0] = 1
        with pytest.raises(InvalidInput, match="at least 2 items, one of them to hide"):
            model.score(few)
        few[1, 1:4] = 1
        assert model.score(few) == 1.0

    def test_gossip_serves_members_only(self):
        model = PrivateNeighbors(3, engine="gossip", random_state=0).fit(PEOPLE)
        with pytest.raises(InvalidInput, match="Use engine='exact' or 'sketch'"):
            model.score(PEOPLE[:3])

    def test_it_wants_a_fit_and_the_columns_of_it(self):
        with pytest.raises(ValueError, match="not fitted yet"):
            PrivateNeighbors().score(PEOPLE)
        with pytest.raises(InvalidInput, match="X has 29 features, but PrivateNeighbors is expecting 30"):
            PrivateNeighbors(3, random_state=0).fit(PEOPLE).score(PEOPLE[:, 1:])

    def test_a_pipeline_scores(self):
        pipeline = make_pipeline(Binarizer(threshold=3), PrivateNeighbors(3, epsilon=20, random_state=0))
        assert pipeline.fit(5 * PEOPLE[:60]).score(5 * PEOPLE[60:]) > 0.5


class TestWhatASearchCosts:
    def test_every_fit_and_every_score_is_charged(self):
        ledger = Ledger.of_profiles()
        found = search(PrivateNeighbors(3, ledger=ledger)).fit(PEOPLE)
        charged = [entry.description for entry in ledger.history]
        assert charged.count("neighbours (exact)") == 2 * 3 + 1
        assert charged.count("lists of new recipients") == 2 * 3
        assert ledger.total == 2 * 3 * (0.5 + 2.0) + found.best_params_["epsilon"]
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        assert found.best_estimator_.guarantee_.against(1) == found.best_params_["epsilon"], "of the last fit alone"

    def test_sketches_charge_their_fits_alone(self):
        ledger = Ledger.of_profiles()
        scores = cross_val_score(PrivateNeighbors(3, epsilon=2, engine="sketch", ledger=ledger), PEOPLE, cv=3)
        assert scores.shape == (3,)
        assert ledger.total == 3 * 2
        assert len(ledger.history) == 3

    def test_asking_again_costs_nothing(self):
        ledger = Ledger.of_profiles()
        model = PrivateNeighbors(3, ledger=ledger).fit(PEOPLE[:60])
        assert model.score(PEOPLE[60:]) == model.score(PEOPLE[60:])
        assert ledger.total == model.guarantee_.against(1) == 2

    def test_a_limit_ends_the_search(self):
        ledger = Ledger.of_profiles(limit=4)
        with pytest.raises(BudgetExhausted, match=r"Requested epsilon: 2\. Remaining: 1\."):
            search(PrivateNeighbors(3, ledger=ledger)).fit(PEOPLE)
        assert ledger.total == 3, "three folds at 0.5, fitted and scored"

    @pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite:UserWarning")
    def test_scikit_learn_turns_refusals_into_nan_unless_told_not_to(self):
        """What the docstring warns of; whatever becomes of them, nothing beyond the limit was drawn."""
        ledger = Ledger.of_profiles(limit=4)
        with pytest.warns(FitFailedWarning, match="BudgetExhausted"):
            found = search(PrivateNeighbors(3, ledger=ledger), error_score=np.nan).fit(PEOPLE)
        assert np.isnan(found.cv_results_["mean_test_score"][1])
        assert ledger.total == 3.5

    def test_without_a_ledger_it_says_that_nobody_counts(self):
        with pytest.warns(HetdpWarning, match="without a ledger nobody adds up what a search"):
            search(PrivateNeighbors(3)).fit(PEOPLE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search(PrivateNeighbors(3, random_state=0)).fit(PEOPLE)  # simulated: nothing publishes it

    def test_profiles_keep_their_dials_in_every_fold(self):
        profiles = policies.slices(0.5, 1.0, 3).draw(Profiles.from_csr(sparse.csr_array(PEOPLE)), random_state=0)
        met = []

        class Watched(PrivateNeighbors):
            def fit(self, X, y=None):  # noqa: N803
                met.append(X)
                return super().fit(X, y)

            def score(self, X, y=None):  # noqa: N803
                met.append(X)
                return super().score(X, y)

        grid = {"epsilon": [3.0]}
        search(Watched(3, catalogue="given", random_state=0), grid, refit=False).fit(profiles)
        assert len(met) == 6
        for train, test in zip(met[::2], met[1::2], strict=True):
            assert {*train.user_ids, *test.user_ids} == set(profiles.user_ids)
            for part in (train, test):
                assert all(part.profile(user) == profiles.profile(user) for user in part.user_ids)

    def test_scores_engines_and_levels_are_searched_together(self):
        grid = [{"score": ["overlap", "cosine"], "epsilon": [3.0]}, {"engine": ["sketch"], "epsilon": [3.0]}]
        found = search(PrivateNeighbors(3, catalogue="given", random_state=0), grid).fit(PEOPLE)
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        assert found.best_estimator_.get_params()["epsilon"] == 3.0

    @pytest.mark.slow
    def test_processes_share_a_ledger_on_disk(self, tmp_path):
        ledger = Ledger.of_profiles(path=tmp_path / "ledger.db")
        search(PrivateNeighbors(3, ledger=ledger), n_jobs=2).fit(PEOPLE)
        assert len(ledger.history) == 7 + 6
