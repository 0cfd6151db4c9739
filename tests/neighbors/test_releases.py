"""What a fitted model gives out beyond its lists: to whom, how often, under which names, and what it says it costs."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.support.errors import refused
from tests.support.forks import in_a_copy

import hetdp
from hetdp import PrivateNeighbors, PrivateRecommender, Profiles
from hetdp.core.errors import DataError
from hetdp.neighbors.engines import ENGINES as BY_NAME
from hetdp.neighbors.engines.base import Shares
from hetdp.profiles.catalogue import on_catalogue

LIKES = (["ann", "ann", "bob", "bob", "cleo"], ["tea", "jazz", "tea", "jazz", "golf"])


def likes(*more):
    """Three people, and rows (user, item, weight) beside."""
    users, items, weights = zip(*zip(*LIKES, [1.0] * 5, strict=True), *more, strict=True)
    return Profiles.from_pairs(users, items, weights)


def fitted(profiles, **options):
    return PrivateNeighbors(**{"n_neighbors": 2, "epsilon": 2.0, "catalogue": "given", **options}).fit(profiles)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """Numbered items in a file, and the same with a secret that does not count."""
    rows = [(f"u{user}", item) for user in range(12) for item in range(user, user + 12)]
    text = "user,item,weight\n" + "".join(f"{user},{item},1\n" for user, item in rows)
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text + "u3,secret,0\nu4,0009,0.001\n")
    return tmp_path


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
def test_an_item_that_does_not_count_changes_no_type_order_or_score(files, engine):
    one, two = (
        fitted(Profiles.read(files / name), engine=engine, catalogue="private", epsilon=99, random_state=3)
        for name in ("a.csv", "b.csv")
    )
    assert one.item_ids_.tolist() == two.item_ids_.tolist()
    assert one.item_ids_.dtype == (np.int64 if engine == "sketch" else object)
    others = ~np.isin(one.user_ids_, ["u3", "u4"])
    for mine, theirs in zip(one.kneighbors(), two.kneighbors(), strict=True):
        assert mine[others].tobytes() == theirs[others].tobytes()


def test_metrics_know_numbers_that_are_texts_only_because_of_an_item_that_does_not_count(files):
    found = []
    for name in ("a.csv", "b.csv"):
        profiles = Profiles.read(files / name)
        hidden = (np.arange(profiles.n_pairs) % 5 == 0) & (profiles.weights == 1)
        model = PrivateRecommender(50, catalogue="given", random_state=1).fit(profiles.keep(~hidden))
        found.append(hetdp.judge(model, profiles, profiles.keep(hidden), n=3).precision)
    assert found[0] > 0
    assert found[1] > 0


def test_an_item_that_counts_does_make_ids_texts(files):
    (files / "c.csv").write_text((files / "a.csv").read_text() + "u3,secret,1\n")
    profiles = Profiles.read(files / "c.csv")
    assert isinstance(fitted(profiles).item_ids_[0], str)
    assert fitted(profiles.with_weights(profiles.weights)).item_ids_.size == 24


def test_texts_that_were_given_as_texts_stay_texts():
    profiles = Profiles.from_pairs(["a", "b", "c"], ["10", "9", "9"])
    assert fitted(profiles).item_ids_.tolist() == ["10", "9"]


def test_nobody_learns_of_an_item_that_does_not_count_by_asking():
    plain, more = (fitted(found, catalogue="private") for found in (likes(), likes(("ann", "clinic", 0))))
    assert more.item_ids_.size == plain.item_ids_.size == 0
    asking = Profiles.from_pairs(["zoe"], ["tea"], item_ids=["golf", "jazz", "tea"])
    assert plain.kneighbors(asking)[1].shape == more.kneighbors(asking)[1].shape == (1, 2)


@pytest.mark.parametrize("ids", [("1.5", "2.5"), ("10", "9")])
def test_texts_in_a_file_are_judged_as_texts(tmp_path, ids):
    path = tmp_path / "x.csv"
    rows = [(user, item) for user in "abcd" for item in ids] + [("a", "tea")]
    path.write_text("user,item,weight\n" + "".join(f"{user},{item},1\n" for user, item in rows) + "a,secret,0\n")
    profiles = Profiles.read(path)
    hidden = np.arange(profiles.n_pairs) == 0
    model = PrivateRecommender(50, catalogue="given", random_state=1).fit(profiles.keep(~hidden))
    assert hetdp.judge(model, profiles, profiles.keep(hidden), n=1).precision == 1.0


def test_a_catalogue_need_not_list_what_does_not_count():
    catalogue = np.array(["golf", "jazz", "tea"], dtype=object)
    assert on_catalogue(likes(("ann", "clinic", 0)), catalogue) == on_catalogue(likes(), catalogue)
    with refused(problem="1 of 4 items", kind=DataError):
        on_catalogue(likes(("ann", "clinic", 0.1)), catalogue)


# --- new recipients --------------------------------------------------------------------------------------------------


def test_recipients_are_matched_by_id_in_any_order():
    model = fitted(likes(), epsilon=500.0)
    asking = Profiles.from_pairs(["zoe"] * 3, ["opera", "golf", "tea"], item_ids=["tea", "opera", "golf", "jazz"])
    scores, _ = model.kneighbors(asking)
    assert scores.round().tolist() == [[1.0, 1.0]]
    with refused(problem="items that were fitted"):
        model.kneighbors(Profiles.from_pairs(["zoe"], ["opera"]))
    with refused(problem="of the kind that was fitted"):
        model.kneighbors(Profiles.from_pairs(["zoe"], [3]))
    with refused(problem="X must be Profiles"):
        model.kneighbors(np.ones((1, 3)))


def test_numbers_in_a_text_file_match_texts(files):
    (files / "c.csv").write_text((files / "a.csv").read_text() + "u3,secret,1\n")
    (files / "new.csv").write_text("user,item\nzoe,5\nzoe,6\n")
    scores, _ = fitted(Profiles.read(files / "c.csv"), epsilon=500.0).kneighbors(Profiles.read(files / "new.csv"))
    assert scores[0].round().tolist() == [2.0, 2.0]


def test_nobody_asks_and_nothing_is_counted():
    model = fitted(likes())
    before = model.guarantee_
    scores, indices = model.kneighbors(Profiles.from_pairs([], [], item_ids=["tea"], user_ids=[]))
    assert scores.shape == indices.shape == (0, 2)
    assert model.guarantee_ == before


@pytest.mark.parametrize(("score", "sizes"), [("cosine", "public"), ("cosine", "noisy"), ("squared-cosine", "public")])
@pytest.mark.filterwarnings("ignore:score='squared-cosine'")
def test_a_cosine_knows_how_large_a_new_recipient_is(score, sizes):
    users = ["ann", "bob", "cleo", "dan"]
    model = fitted(Profiles.from_pairs(users, ["tea"] * 4), epsilon=Fraction(10**6), score=score, sizes=sizes)
    many = Profiles.from_pairs(["zoe"] * 100, ["tea", *(f"other {place}" for place in range(99))])
    few = Profiles.from_pairs(["yan"], ["tea"])
    expected = 0.1 if score == "cosine" else 0.01
    assert model.kneighbors(many)[0] == pytest.approx(expected, rel=0.01)
    assert model.kneighbors(few)[0] == pytest.approx(1.0, rel=0.01)
    each, once = model.guarantee_.per_recipient / 2, model.guarantee_.shared
    assert model.guarantee_.total == once + each * (3 + 1), "same items in common, same list: one release"


# --- copies of the process -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_copy_of_the_process_shows_what_was_released_and_releases_nothing_new():
    model = fitted(likes())
    zoe, yan = (Profiles.from_pairs([name], [item]) for name, item in (("zoe", "tea"), ("yan", "golf")))
    shown = model.kneighbors(zoe)
    assert in_a_copy(lambda: list(model.kneighbors(zoe)[0][0])) == repr(list(shown[0][0]))
    assert "forked process cannot release" in in_a_copy(lambda: model.kneighbors(yan))
    with model._releases._fork_guard._lock:  # held by a thread that the child does not have
        assert "forked process cannot release" in in_a_copy(lambda: model.kneighbors(yan))


# --- what it says ----------------------------------------------------------------------------------------------------


def promised(engine, per_recipient=1, shared=0, most=9, **options):
    return BY_NAME[engine].promise(Shares(Fraction(per_recipient), Fraction(shared)), most_recipients=most, **options)


@pytest.mark.parametrize("engine", ["exact", "gossip"])
def test_public_sizes_are_in_every_sentence_of_the_promise(engine):
    swapped = promised(engine, public_sizes=True)
    assert swapped.factor == "(v_i + v_j)"
    assert swapped.text.count("* (v_i + v_j)") == (3 if engine == "exact" else 2)
    assert "* v_i" not in swapped.text
    assert promised(engine).text.count("* v_i") == (3 if engine == "exact" else 2)


def test_a_promise_is_never_rounded_down():
    assert "epsilon = 1.00001:" in promised("exact", "1.0000004").text
    assert "epsilon = 0.1:" in promised("exact", "0.1").text
    assert promised("gossip", "1.9", "0.1", 6).against(1) == 11.5  # in floats it would be a little less
    thirds = promised("exact", "1/3")
    assert thirds.per_recipient > Fraction(1, 3), "what a float cannot hold is rounded up"
    assert thirds.total == 3.0, "and what it can hold is exact"
    assert "epsilon = 0.333334:" in thirds.text


@pytest.mark.filterwarnings("ignore:score='squared-cosine'")
@pytest.mark.parametrize("score", ["overlap", "squared-cosine"])
def test_strangers_are_as_rarely_significant_as_promised(score):
    """One in twenty recipients at most sees a stranger stand out. False alarm below 1e-6: six standard errors."""
    strangers = Profiles.from_pairs(range(60), range(60))
    fits = [
        PrivateNeighbors(5, epsilon=1, score=score, sizes="public", random_state=seed).fit(strangers)
        for seed in range(60)
    ]
    seen = np.mean([(model.significance_ >= 0.95).any(axis=1).mean() for model in fits])
    assert abs(seen - 0.05) < 6 * np.sqrt(0.05 * 0.95 / 3600)


# --- odd questions ---------------------------------------------------------------------------------------------------


def test_columns_of_a_matrix_are_matched_by_place_whether_named_or_not():
    named = pd.DataFrame(np.eye(4), columns=list("abcd"))
    for fit, ask in ((named, named.to_numpy()), (named.to_numpy(), named)):
        model = fitted(fit, n_neighbors=1, epsilon=500.0)
        assert model.kneighbors(ask)[1].ravel().tolist() == [0, 1, 2, 3]


def test_a_failed_fit_leaves_the_model_as_it_was():
    first = pd.DataFrame(np.eye(4), columns=list("abcd"))
    model = fitted(first)
    with refused("n_neighbors"):
        model.fit(pd.DataFrame(np.eye(4)[:2], columns=list("wxyz")))
    assert model.kneighbors(first)[1].shape == (4, 2)
    assert model.feature_names_in_.tolist() == list("abcd")


LEVELS = (1e-6, 1e-3, 0.5, 37.0, 100.0, 750.0, 1e6)


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
@pytest.mark.parametrize("epsilon", LEVELS)
def test_levels_from_hardly_any_to_beyond_all_noise_give_answers(engine, epsilon):
    users, items = np.divmod(np.arange(30 * 12), 12)
    crowd = Profiles.from_pairs(users, (items * (1 + users % 3) + users) % 40, np.where(items % 3, 1.0, 0.5))
    model = fitted(crowd, engine=engine, epsilon=epsilon)
    assert np.isfinite(model.kneighbors()[0]).all()
    assert ((model.significance_ >= 0) & (model.significance_ <= 1)).all()


@pytest.mark.parametrize("user", [[0], True, None, 3.0, "01"])
def test_who_is_not_there_is_not_shown(user):
    model = fitted(Profiles.from_pairs([0, 1, 2], ["a", "a", "a"]))
    with refused("user", "3 users"):
        model.public(user)
