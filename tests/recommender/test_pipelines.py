"""`PrivateRecommender` among scikit-learn's own: pipelines, names of columns, searches for parameters, its contract."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.support.crowds import tastes
from tests.support.errors import refused

from hetdp import Ledger, PrivateRecommender, Profiles, judge, split
from hetdp.core.errors import BudgetExhausted, HetdpWarning, InvalidInput

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")

from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import Binarizer  # noqa: E402

CROWD = tastes(300)
NAMES = CROWD.item_ids
LIKES = CROWD.to_csr()[0].toarray().astype(int)
#: Likes are ratings of 4 and 5 among others that are none.
RATINGS = np.where(LIKES == 1, 5, np.random.default_rng(1).integers(0, 3, LIKES.shape))
ASKING = np.zeros((2, NAMES.size), dtype=int)
ASKING[0, [0, 1, 2]] = ASKING[1, [8, 9]] = 5


def pipeline(**options):
    return make_pipeline(Binarizer(threshold=3), PrivateRecommender(**{"epsilon": 4, "random_state": 1, **options}))


class TestPipelines:
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix, np.ndarray.tolist])
    def test_ratings_become_likes_and_likes_recommendations(self, kind):
        model = pipeline().fit(kind(RATINGS))
        found = model.predict(kind(ASKING), n=3)
        assert found.shape == (2, 3)
        assert (found // 8 == [[0], [1]]).all(), "of the own taste"
        assert not {0, 1, 2} & set(found[0].tolist())
        assert model.predict(kind(ASKING)).shape == (2, 10)

    def test_it_says_what_recommend_says(self):
        model = pipeline().fit(RATINGS)
        last, asking = model[-1], model[:-1].transform(ASKING)
        assert model.named_steps["privaterecommender"] is last
        frame = last.recommend(4, profiles=asking)
        assert model.predict(ASKING, n=4).ravel().tolist() == frame["item"].tolist()
        assert last.guarantee_.amount == 4

    def test_frames_carry_their_names_through(self):
        model = pipeline().set_output(transform="pandas").fit(pd.DataFrame(RATINGS, columns=NAMES))
        assert model[-1].feature_names_in_.tolist() == NAMES.tolist()
        asking = pd.DataFrame(ASKING, columns=NAMES)
        found = model.predict(asking, n=3)
        assert set(found[0]) < set(NAMES[:8])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(asking[asking.columns[::-1]])
        with pytest.raises(ValueError, match="feature names should match"):
            model[-1].recommend(profiles=asking[asking.columns[::-1]])

    def test_without_names_there_are_none(self):
        assert not hasattr(PrivateRecommender(), "feature_names_in_")
        for given in (LIKES, CROWD):
            model = PrivateRecommender(catalogue="given", random_state=0).fit(given)
            assert not hasattr(model, "feature_names_in_")
            assert model.n_features_in_ == NAMES.size

    def test_clones_and_parameters(self):
        model = pipeline(n_head=20)
        assert sklearn.clone(model)[-1].get_params() == model[-1].get_params()
        assert model.get_params()["privaterecommender__n_head"] == 20
        assert model.set_params(privaterecommender__epsilon=2)[-1].epsilon == 2
        assert not hasattr(sklearn.clone(model.fit(RATINGS))[-1], "item_ids_")

    def test_dials_of_people_go_through_a_pipeline(self):
        silent = pipeline(release="matrix", unit="user").fit(
            RATINGS, privaterecommender__user_weights=np.zeros(len(RATINGS))
        )
        assert silent[-1].taste_ == 0, "nobody was learned from"

    @pytest.mark.parametrize("ids", [NAMES, np.arange(NAMES.size)], ids=["texts", "numbers"])
    def test_where_less_is_left_nothing_fills_up(self, ids):
        profiles = Profiles.from_csr(sparse.csr_array(LIKES), item_ids=ids)
        model = PrivateRecommender(4, catalogue="given", random_state=0).fit(profiles)
        asking = Profiles.from_pairs(["all"] * 30, ids[:30], user_ids=["all", "none"], item_ids=ids)
        found = model.predict(asking, n=100)
        assert found.shape == (2, 32)
        nothing = None if ids is NAMES else -1
        assert set(found[0, :2]) == set(ids[30:])
        assert set(found[0, 2:]) == {nothing}
        assert set(found[1]) == set(ids)

    def test_questions_that_do_not_fit_are_refused(self):
        model = PrivateRecommender(4, random_state=0).fit(LIKES)
        with pytest.raises(InvalidInput, match="X has 31 features, but PrivateRecommender is expecting 32"):
            model.predict(LIKES[:, 1:])
        with pytest.raises(InvalidInput, match="Reshape your data"):
            model.predict(LIKES[0])
        with refused("n"):
            model.predict(LIKES, n=0)
        with pytest.raises(ValueError, match="not fitted"):
            PrivateRecommender().predict(LIKES)
        grown = PrivateRecommender(4, random_state=0).partial_fit(LIKES)
        with pytest.raises(InvalidInput, match="X has 31 features, but PrivateRecommender is expecting 32"):
            grown.partial_fit(LIKES[:, 1:])

    def test_a_saved_model_predicts(self, tmp_path):
        model = PrivateRecommender(4).fit(pd.DataFrame(LIKES, columns=NAMES))
        model.save(tmp_path / "model.hetdp")
        asking = pd.DataFrame(ASKING, columns=NAMES)
        for other in (PrivateRecommender.load(tmp_path / "model.hetdp"), pickle.loads(pickle.dumps(model))):  # noqa: S301
            assert (other.predict(asking) == model.predict(asking)).all()
            assert other.feature_names_in_.tolist() == NAMES.tolist()
            assert other.score(asking) >= 0, "without a warning: it was learned elsewhere"


class TestTheScore:
    def test_it_is_the_ndcg_of_what_was_hidden(self):
        """The same as `hetdp.judge` finds by the frames of `recommend`, over those who can hide something."""
        model = PrivateRecommender(epsilon=2, catalogue="given", random_state=1).fit(CROWD[:200])
        alone = Profiles.from_pairs(["alone"], [NAMES[0]], item_ids=NAMES)
        users, items, _ = (np.concatenate(pair) for pair in zip(CROWD[200:].to_pairs(), alone.to_pairs(), strict=True))
        visitors = Profiles.from_pairs(users, items, item_ids=NAMES)
        known, hidden = split(visitors, protocol="each", share=0.2)

        class AtHome:
            def recommend(self, *, n):
                return model.recommend(n, profiles=known)

        assert model.score(visitors) == pytest.approx(judge(AtHome(), visitors, hidden).ndcg, rel=1e-12)
        assert 0.1 < model.score(visitors) < 1

    def test_it_rises_with_epsilon(self):
        far, near = (
            PrivateRecommender(epsilon=epsilon, random_state=0).fit(LIKES[:200]).score(LIKES[200:])
            for epsilon in (0.01, 8)
        )
        assert near > far + 0.2

    def test_matrices_pairs_and_profiles_are_scored_alike(self):
        users, items, _ = CROWD[200:].to_pairs()
        fit = PrivateRecommender(epsilon=2, catalogue="given", random_state=0).fit
        model = fit(CROWD[:200])
        assert model.score(CROWD[200:]) == model.score(pd.DataFrame({"user": users, "item": items}))
        frame = pd.DataFrame(LIKES, columns=NAMES)
        assert fit(frame[:200]).score(frame[200:]) == fit(frame[:200]).score(sparse.csr_array(LIKES[200:]))

    def test_somebody_must_hide_something(self):
        with refused("X", "at least 2 items"):
            PrivateRecommender(random_state=0).fit(LIKES).score(np.eye(NAMES.size))


class TestWhatASearchCosts:
    def search(self, model, **options):
        grid = {"epsilon": [0.5, 2.0]}
        return GridSearchCV(model, grid, cv=3, **{"error_score": "raise", **options})

    def test_every_fit_is_charged_and_no_score(self):
        ledger = Ledger.of_profiles()
        found = self.search(PrivateRecommender(ledger=ledger)).fit(LIKES)
        assert [entry.description for entry in ledger.history] == ["model (sketch)"] * 7
        assert ledger.total == 3 * (0.5 + 2.0) + found.best_params_["epsilon"]
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        assert found.predict(LIKES[:2]).shape == (2, 10)

    def test_a_limit_ends_the_search(self):
        ledger = Ledger.of_profiles(limit=4)
        with pytest.raises(BudgetExhausted):
            self.search(PrivateRecommender(ledger=ledger)).fit(LIKES)
        assert ledger.total == 3.5

    def test_without_a_ledger_it_says_that_nobody_counts(self):
        with pytest.warns(HetdpWarning, match="without a ledger nobody adds up what a search"):
            cross_val_score(PrivateRecommender(), LIKES, cv=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cross_val_score(PrivateRecommender(random_state=0), LIKES, cv=2)

    def test_profiles_and_pipelines_are_searched(self):
        scores = cross_val_score(PrivateRecommender(4, catalogue="given", random_state=0), CROWD, cv=3)
        assert scores.mean() > 0.3
        model = pipeline()
        found = GridSearchCV(model, {"privaterecommender__epsilon": [0.01, 8.0]}, cv=3).fit(RATINGS)
        assert found.best_params_ == {"privaterecommender__epsilon": 8.0}

    def test_dials_of_people_are_cut_with_them(self):
        dials = np.linspace(0, 1, len(LIKES))
        met = []

        class Watched(PrivateRecommender):
            def fit(self, X, y=None, *, user_weights=None):  # noqa: N803
                met.append((X, user_weights))
                return super().fit(X, y, user_weights=user_weights)

        model = Watched(release="matrix", unit="user", random_state=0)
        cross_val_score(model, LIKES, cv=3, params={"user_weights": dials})
        for people, weights in met:
            rows = [np.flatnonzero((one == LIKES).all(axis=1)) for one in people]
            assert all(np.isin(weight, dials[row]).all() for weight, row in zip(weights, rows, strict=True))


#: What scikit-learn's own contract asks for and we refuse, each with its reason.
EXCEPTIONS = {
    "check_estimator_sparse_array": "wants one answer per row from `predict`; a row gets a list of items",
    "check_estimator_sparse_matrix": "same",
}


@pytest.mark.slow
def test_scikit_learns_own_contract():
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own: about checks that do not apply
        results = check_estimator(PrivateRecommender(random_state=0), on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert set(failed) <= set(EXCEPTIONS), failed
    assert sum(result["status"] == "passed" for result in results) >= 20


def test_looking_at_names_publishes_nothing():
    rows = np.random.default_rng(0).integers(0, 2, (80, 6))
    model = PrivateRecommender(2, release="matrix", catalogue="given").partial_fit(rows[:40])
    assert not hasattr(model, "feature_names_in_")
    assert model.item_ids_.size == 6
    model.partial_fit(rows[40:])  # refused once anything was drawn
