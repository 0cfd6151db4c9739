"""`PrivateNeighbors` as a user meets it: results, promises, conventions, errors."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from tests.support.errors import refused
from tests.support.sketch_helpers import bits_of_rows

from hetdp import PrivacyWeights, PrivateNeighbors, Profiles
from hetdp.core.errors import HetdpWarning, InvalidInput, SimulatedResult
from hetdp.neighbors.engines import ENGINES as BY_NAME
from hetdp.neighbors.engines.base import Shares
from hetdp.neighbors.scores import items_to_stand_out

ENGINES = ("exact", "gossip", "sketch")
every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def groups():
    """Sixty people in three groups with a taste each, a hermit, and a visitor nobody shares anything with."""
    random = np.random.default_rng(0)
    tastes = [random.choice(20, 12, replace=False) for _ in range(60)]
    pairs = {(f"u{user:02}", f"i{user % 3}-{item}") for user in range(60) for item in tastes[user]}
    pairs |= {("visitor", "oddity")}
    users, items = zip(*sorted(pairs), strict=True)
    return Profiles.from_pairs(users, items, user_ids=[*(f"u{user:02}" for user in range(60)), "hermit", "visitor"])


def fitted(profiles, engine="exact", **options):
    """A fit with public names: small crowds have too few people to name anything privately (test_names.py)."""
    defaults = {"n_neighbors": 5, "epsilon": 5.0, "engine": engine, "catalogue": "given", "random_state": 1}
    return PrivateNeighbors(**{**defaults, **options}).fit(profiles)


@every_engine
def test_neighbours_share_the_taste(groups, engine):
    scores, indices = fitted(groups, engine).kneighbors()
    assert scores.shape == indices.shape == (62, 5)
    own = np.arange(60) % 3
    assert (indices[:60] % 3 == own[:, None]).mean() > 0.9
    assert (np.diff(scores[:60], axis=1) <= 0).all()


@every_engine
def test_same_seed_same_result_whatever_the_threads(groups, engine):
    one, two = (fitted(groups, engine, n_jobs=jobs, random_state=3) for jobs in (1, 2))
    other = fitted(groups, engine, random_state=4)
    assert (one.kneighbors()[1] == two.kneighbors()[1]).all()
    assert (one.kneighbors()[0] == two.kneighbors()[0]).all()
    assert (one.kneighbors()[0] != other.kneighbors()[0]).any()


def with_more(profiles, *rows):
    """The same profiles with rows (user, item, weight) beside."""
    pairs = zip(*profiles.to_pairs(), strict=True)
    users, items, weights = zip(*pairs, *rows, strict=True)
    return Profiles.from_pairs(users, items, weights, user_ids=profiles.user_ids, item_ids=profiles.item_ids)


@pytest.mark.parametrize(
    ("engine", "option"),
    [
        *((engine, option) for engine in ENGINES for option in ({}, {"significant_only": True})),
        *(
            (engine, option)
            for engine in ("exact", "gossip")
            for option in ({"score": "cosine"}, {"catalogue": "private"})
        ),
    ],
)
def test_an_item_of_weight_0_leaves_every_bit_but_those_of_its_owners_list_the_same(groups, engine, option):
    more = with_more(groups, ("u03", "i1-1", 0), ("u03", "i0-0", 0.001), ("hermit", "i0-3", 0))
    one, two = (fitted(profiles, engine, **option) for profiles in (groups, more))
    others = ~np.isin(groups.user_ids, ["u03", "hermit"])
    for mine, theirs in zip(
        (*one.kneighbors(), one.significance_), (*two.kneighbors(), two.significance_), strict=True
    ):
        assert mine[others].tobytes() == theirs[others].tobytes()
        if engine == "gossip":  # both sides of a pair learn its score
            assert mine.tobytes() == theirs.tobytes()
    assert one.guarantee_ == two.guarantee_
    assert one.report_ == two.report_ or engine == "gossip"  # which says how long it took


@pytest.mark.parametrize("engine", ["exact", "sketch"])
def test_the_own_list_is_made_from_all_one_has(groups, engine):
    """Items of weight 0 find neighbours for their owner, who alone sees them."""
    silent = groups.with_weights(np.where(groups.owners == 0, 0.0, 1.0))
    _, indices = fitted(silent, engine).kneighbors()
    assert (indices[0] % 3 == 0).all()
    assert not (fitted(silent, engine, epsilon=50).kneighbors()[1][1:60] == 0).any(), "and for nobody else"


def test_public_sizes_are_the_one_place_where_raw_sizes_count(groups):
    users, items, weights = groups.to_pairs()
    ids = {"user_ids": groups.user_ids, "item_ids": groups.item_ids}
    more = Profiles.from_pairs([*users, "u03"], [*items, "i1-1"], [*weights, 0], **ids)
    one, two = (fitted(profiles, score="cosine", sizes="public") for profiles in (groups, more))
    assert (one.kneighbors()[0] != two.kneighbors()[0]).any()
    assert "swapping an item" in one.guarantee_.adjacent


@pytest.mark.parametrize(
    ("options", "per_recipient", "shared"),
    [
        ({}, 2.0, 0.0),
        ({"score": "cosine"}, 1.8, 0.2),
        ({"score": "cosine", "sizes": "public"}, 2.0, 0.0),
        ({"engine": "sketch"}, 0.0, 2.0),
    ],
)
def test_the_promise_in_numbers(groups, options, per_recipient, shared):
    model = fitted(groups, **{"epsilon": 2.0, **options, "random_state": None})
    kept = model.guarantee_
    assert (kept.per_recipient, kept.shared) == (per_recipient, shared)
    assert kept.against(1) == 2.0
    assert kept.against(4) == pytest.approx(shared + 4 * per_recipient)
    assert "epsilon = 2" in kept.text


def promised(engine, **options):
    return BY_NAME[engine].promise(Shares(Fraction(1)), most_recipients=9, **options)


def test_the_promise_names_its_adversary():
    for engine, words in (
        ("exact", "one recipient"),
        ("gossip", "everybody together"),
        ("sketch", "everybody together"),
    ):
        assert f"Holds against {words}" in promised(engine).text
    assert promised("exact").against(10**6) == 9.0
    assert "exp(1 * (v_i + v_j))" in promised("exact", public_sizes=True).text


def test_gossip_promises_before_the_run_what_comparisons_with_everybody_cost_against_anybody(groups):
    promised = PrivateNeighbors(5, epsilon=2, engine="gossip").promise(62)
    models = [fitted(groups, "gossip", epsilon=2, random_state=None) for _ in range(3)]
    for model in models:
        assert model.guarantee_ == promised
        assert model.guarantee_.against(1) == model.guarantee_.against(40) == model.guarantee_.total == 2.0 * 61
        assert model.report_["private"]["distinct_comparisons_bound"] <= 61


def test_the_promise_is_about_what_was_fitted_not_about_later_parameters(groups):
    model = fitted(groups, random_state=None, score="cosine", sizes="public")
    before = model.guarantee_
    assert model.set_params(engine="sketch", score="overlap", random_state=3).guarantee_ == before


def test_an_interrupted_refit_leaves_the_model_as_it_was(groups):
    model = fitted(groups, random_state=None)
    before = model.kneighbors()

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(random_state=7, progress=interrupt).fit(groups)
    assert not model.guarantee_.simulated
    assert (model.kneighbors()[0] == before[0]).all()
    assert model.public("u03")


def test_lists_for_new_recipients_are_counted_and_repeated_not_redrawn(groups):
    model = fitted(groups, random_state=None)
    visitors = Profiles.from_pairs(["x", "x", "y"], ["i1-1", "i1-2", "i0-1"], item_ids=groups.item_ids)
    first = model.kneighbors(visitors)
    counted = model.guarantee_
    assert (counted.against(1), counted.against(2), counted.total) == (5 * 2, 5 * 4, 5 * (61 + 2))
    again = model.kneighbors(visitors)
    assert (first[0] == again[0]).all()
    assert model.guarantee_ == counted
    twice = Profiles.from_pairs(["p", "q"], ["i0-1", "i0-1"], item_ids=groups.item_ids)
    scores, _ = model.kneighbors(twice)
    assert (scores[0] == first[0][1]).all()
    assert (scores[1] == scores[0]).all()


@pytest.mark.parametrize("engine", ["exact", "gossip"])
def test_an_item_that_counts_for_nobody_leaves_no_trace(groups, engine):
    users, items, weights = groups.to_pairs()
    more = Profiles.from_pairs([*users, "u03"], [*items, "a rare illness"], [*weights, 0], user_ids=groups.user_ids)
    one, two = (fitted(profiles, engine, catalogue="private") for profiles in (groups, more))
    assert one.kneighbors()[0].tobytes() == two.kneighbors()[0].tobytes()
    assert one.guarantee_ == two.guarantee_
    assert one.item_ids_.size == two.item_ids_.size == 0


@every_engine
def test_a_given_catalogue_does_not_depend_on_who_has_what(groups, engine):
    named = [*groups.item_ids, *(f"new-{place}" for place in range(40))]
    users, items, weights = groups.to_pairs()
    wide = Profiles.from_pairs(users, items, weights, user_ids=groups.user_ids, item_ids=named)
    model = fitted(wide, engine, epsilon=0.1)
    assert model.guarantee_.delta == 0.0
    assert set(model.item_ids_.tolist()) == set(named)


def test_a_crowd_in_which_nothing_counts_is_served_all_the_same():
    profiles = Profiles.from_pairs([0, 1, 2], ["a", "b", "a"], weights=0.0)
    for engine in ENGINES:
        model = fitted(profiles, engine, n_neighbors=1)
        assert (model.kneighbors()[1] >= 0).all()
    assert "nothing is promised" in str(promised("exact", simulated=True))


def test_a_seeded_fit_is_stamped_and_a_secure_one_is_not(groups):
    assert fitted(groups).simulated_
    assert "Simulated" in fitted(groups).guarantee_.text
    assert not fitted(groups, random_state=None).simulated_


def test_what_a_user_is_handed_and_that_a_seeded_fit_is_refused(groups):
    model = fitted(groups, random_state=None)
    letter = model.public("u03")
    assert [row["neighbor"] for row in letter["neighbors"]] == groups.user_ids[model.kneighbors()[1][3]].tolist()
    assert letter["guarantee"] == model.guarantee_.text
    with refused("user", "62 users"):
        model.public("nobody")
    with pytest.raises(SimulatedResult):
        fitted(groups).public("u03")


def test_gossip_reports_its_comparisons_as_known_afterwards(groups):
    report = fitted(groups, "gossip").report_["private"]
    assert 5 <= report["distinct_comparisons_mean"] <= report["distinct_comparisons_max"] <= 61
    assert len(report["agreement_with_exact"]) == 20
    assert report["settled"] == (report["agreement_with_exact"][-1] >= 0.8)
    assert "known only afterwards" in report["afterwards"]


@pytest.mark.slow
def test_gossip_says_when_the_cycles_are_too_few():
    items = np.random.default_rng(0).permuted(np.tile(np.arange(500), (3000, 1)), axis=1)[:, :3]
    profiles = Profiles.from_pairs(np.repeat(np.arange(3000), 3), items.ravel())
    report = fitted(profiles, "gossip", cycles=3).report_["private"]
    assert not report["settled"]
    assert "too few cycles" in report["verdict"]


def test_significant_only_returns_fewer_rather_than_random_neighbours():
    strangers = [(user, 10 * user + item) for user in range(2000) for item in range(4)]
    twins = [(user, 50_000 + item) for user in (0, 1) for item in range(40)]
    users, items = zip(*strangers, *twins, strict=True)
    profiles = Profiles.from_pairs(users, items)
    model = fitted(profiles, epsilon=1.0, significant_only=True)
    scores, indices = model.kneighbors()
    assert indices[:2, 0].tolist() == [1, 0]
    # Anybody stands out one time in twenty; 10 % of 2,000 recipients would have a probability below 1e-6.
    assert (indices[2:, 0] >= 0).mean() < 0.1
    assert (np.diff((indices >= 0).astype(int), axis=1) <= 0).all()
    assert np.isnan(scores[indices < 0]).all()
    assert model.items_to_stand_out_ < 40
    everyone = fitted(profiles, epsilon=1.0)
    assert (everyone.kneighbors()[1] >= 0).all()
    assert model.to_frame().shape[0] == (indices >= 0).sum()


def test_what_it_takes_to_stand_out_is_told_for_the_noise_of_pairs(groups):
    alone = fitted(groups).items_to_stand_out_
    assert alone == items_to_stand_out(n_users=62, epsilon=5.0)
    assert fitted(groups, score="cosine").items_to_stand_out_ == pytest.approx(alone / 0.9)
    assert fitted(groups, score="cosine", sizes="public").items_to_stand_out_ == alone
    assert fitted(groups, "sketch").items_to_stand_out_ is None


def test_squared_cosine_warns_and_works(groups):
    with pytest.warns(HetdpWarning, match="turns large negative noise into similarity"):
        model = fitted(groups, score="squared-cosine")
    assert (model.kneighbors()[0] >= 0).all()


def test_new_recipients_get_lists_of_their_own(groups):
    model = fitted(groups, epsilon=50)
    visitor = Profiles.from_pairs(["new"] * 12, [f"i1-{item}" for item in range(12)], item_ids=groups.item_ids)
    _, indices = model.kneighbors(visitor)
    assert (indices % 3 == 1).all()
    assert fitted(groups, score="cosine").kneighbors(visitor)[0].shape == (1, 5)
    with refused("X", "gossip"):
        fitted(groups, "gossip").kneighbors(visitor)
    with refused(problem="items that were fitted"):
        model.kneighbors(Profiles.from_pairs(["new"], ["other"]))


def test_new_recipients_read_sketches_for_nothing(groups):
    model = fitted(groups, "sketch", random_state=None)
    before = model.guarantee_
    visitor = Profiles.from_pairs(["new"] * 12, [f"i1-{item}" for item in range(12)], item_ids=groups.item_ids)
    scores, indices = model.kneighbors(visitor)
    assert (indices % 3 == 1).all()
    assert (np.diff(scores) <= 0).all()
    assert model.guarantee_ == before
    assert (model.kneighbors(visitor)[0] == scores).all()
    twin = groups[[4]]  # somebody who was fitted may be found by others with the same items
    assert 4 in model.kneighbors(twin)[1]
    sure = fitted(groups, "sketch", significant_only=True).kneighbors(visitor)[1]
    assert (np.diff((sure >= 0).astype(int), axis=1) <= 0).all()


@every_engine
def test_the_smallest_crowd(engine):
    profiles = Profiles.from_pairs(["a", "b"], ["x", "y"])
    scores, indices = fitted(profiles, engine, n_neighbors=1).kneighbors()
    assert indices.tolist() == [[1], [0]]
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("options", "parameter", "problem"),
    [
        ({"n_neighbors": 62}, "n_neighbors", "62"),
        ({"n_neighbors": 0}, "n_neighbors", "at least 1"),
        ({"n_neighbors": 2.0}, "n_neighbors", "whole number"),
        ({"epsilon": 0}, "epsilon", "above 0"),
        ({"epsilon": -1}, "epsilon", "above 0"),
        ({"epsilon": float("nan")}, "epsilon", "above 0"),
        ({"epsilon": 1e-300}, None, "scale of the noise"),
        ({"engine": "magic"}, "engine", "'exact', 'gossip', 'sketch'"),
        ({"score": "jaccard"}, "score", "'overlap'"),
        ({"sizes": "secret", "score": "cosine"}, "sizes", "'noisy', 'public'"),
        ({"engine": "sketch", "score": "cosine"}, "score", "'overlap'"),
        ({"cycles": 0, "engine": "gossip"}, "cycles", "at least 1"),
        ({"n_jobs": 0}, "n_jobs", "at least 1"),
        ({"random_state": "x"}, "random_state", "whole number"),
    ],
)
def test_bad_parameters_are_named(groups, options, parameter, problem):
    with refused(parameter, problem):
        fitted(groups, **options)


def test_asking_for_more_or_too_early(groups):
    with pytest.raises(ValueError, match="not fitted yet"):
        PrivateNeighbors().kneighbors()
    with refused("n_neighbors", "at most the 5 fitted"):
        fitted(groups).kneighbors(n_neighbors=6)
    assert fitted(groups).kneighbors(n_neighbors=2)[1].shape == (62, 2)


def test_matrices_are_welcome():
    random = np.random.default_rng(2)
    dense = (random.random((30, 12)) < 0.4).astype(float)
    for given in (dense, sparse.csr_matrix(dense), sparse.coo_array(dense), dense.astype(int).tolist()):
        model = PrivateNeighbors(3, random_state=0).fit(given)
        assert (model.kneighbors()[1] == PrivateNeighbors(3, random_state=0).fit(dense).kneighbors()[1]).all()
        assert model.n_features_in_ == 12
        assert model.kneighbors(dense[:2])[1].shape == (2, 3)
    with pytest.raises(InvalidInput, match="X has 11 features, but PrivateNeighbors is expecting 12"):
        model.kneighbors(dense[:, :11])


def test_it_follows_scikit_learn():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    model = PrivateNeighbors(4, epsilon=Fraction(1, 2))
    assert sklearn.clone(model).get_params() == model.get_params()
    assert model.set_params(n_neighbors=2).n_neighbors == 2
    with refused("parameters"):
        model.set_params(radius=1)
    assert repr(PrivateNeighbors(4, engine="sketch")) == "PrivateNeighbors(n_neighbors=4, engine='sketch')"
    pipeline = make_pipeline(Binarizer(threshold=2), PrivateNeighbors(2, random_state=0))
    ratings = sparse.random_array((20, 9), density=0.5, rng=0) * 5
    assert pipeline.fit(ratings.tocsr())[-1].kneighbors()[1].shape == (20, 2)


#: What scikit-learn's own contract asks for and we refuse, each with its reason.
EXCEPTIONS = {
    "check_estimators_pickle": "a pickled model would hold the key of the noise; keep the frames instead",
}


@pytest.mark.slow
def test_scikit_learns_own_contract():
    pytest.importorskip("sklearn", reason="scikit-learn is optional")
    from sklearn.utils.estimator_checks import check_estimator

    model = PrivateNeighbors(1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own: about checks that do not apply
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert set(failed) <= set(EXCEPTIONS), failed
    assert sum(result["status"] == "passed" for result in results) >= 20


def test_secrets_stay_inside(groups):
    model = fitted(groups)
    assert "u03" not in repr(model)
    assert "u03" not in str(model.guarantee_)
    assert "i0" not in str(model.report_)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)


def test_sketches_may_be_tuned_for_a_public_weight():
    profiles = Profiles.from_pairs(np.repeat(range(40), 5), np.tile(range(10), 20), weights=np.tile([1.0, 0.5], 100))
    lists = []
    for given in ({}, {"tuned_for": 1}, {"tuned_for": 0.5}):
        model = PrivateNeighbors(3, epsilon=4, engine="sketch", catalogue="given", random_state=1, **given)
        lists.append(model.fit(profiles).kneighbors()[0].tobytes())
        assert model.report_["tuned_for"] == given.get("tuned_for", 1)
        assert model.guarantee_.against(1) == 4
    usual, one, half = lists
    assert usual == one != half
    with refused("tuned_for", "engine='sketch'"):
        PrivateNeighbors(3, tuned_for=0.5).fit(profiles)
    for wrong in (0, 1.5, [0.5], None, PrivacyWeights([0.5])):
        with refused("tuned_for"):
            PrivateNeighbors(3, engine="sketch", tuned_for=wrong).fit(profiles)


@pytest.mark.parametrize("tuned_for", [1, 0.5, 0.25])
def test_bits_behind_a_fit_follow_the_law_that_it_states(tuned_for):
    """5,000 users with an item of weight 1, one of 0.4 and none of a third: 5 standard errors (6e-7 each)."""
    users = np.arange(5000)
    profiles = Profiles.from_pairs(
        np.repeat(users, 2), np.tile([0, 1], 5000), weights=np.tile([1.0, 0.4], 5000), item_ids=[0, 1, 2]
    )
    model = PrivateNeighbors(1, epsilon=2, engine="sketch", tuned_for=tuned_for, catalogue="given", random_state=1).fit(
        profiles
    )
    level, weight = model.guarantee_.against(1), model.report_["tuned_for"]
    shown = bits_of_rows(model._releases.fitted.sketches, [0, 1, 2])[:, :5000].mean(axis=1)
    for share, own in zip(shown, (1.0, 102 / 255, 0.0), strict=True):
        q = 1 / (1 + np.exp(level * weight))
        chance = min(q * np.exp(level * own), 1 - (1 - q) * np.exp(-level * own))
        assert abs(share - chance) < 5 * np.sqrt(chance * (1 - chance) / 5000)
