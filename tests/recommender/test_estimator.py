import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.support.crowds import muted, tastes
from tests.support.errors import refused
from tests.support.forks import in_a_copy

from hetdp import PrivateRecommender, Profiles
from hetdp.core.errors import DataError, HetdpWarning, InvalidInput, SimulatedResult
from hetdp.profiles.steps import Holdings
from hetdp.recommender.lists import best_items
from hetdp.recommender.model import ItemModel


@pytest.fixture(scope="module")
def crowd():
    return tastes()


@pytest.fixture(scope="module")
def model(crowd):
    return PrivateRecommender(epsilon=4, catalogue="given", random_state=1).fit(crowd)


def group(names):
    return {int(name.split()[1]) // 8 for name in names}


def same_model(one, other):
    mine, theirs = one._public, other._public
    return (
        np.array_equal(mine.item_ids, theirs.item_ids)
        and np.array_equal(mine.counts, theirs.counts)
        and np.array_equal(mine.head, theirs.head)
        and all(
            np.array_equal(a, b)
            for a, b in zip(mine.model.arrays().values(), theirs.model.arrays().values(), strict=True)
        )
    )


class TestLists:
    def test_people_get_what_goes_with_what_they_have_and_nothing_they_have(self, model, crowd):
        frame = model.recommend(3)
        assert list(frame.columns) == ["user", "item", "score"]
        assert len(frame) == 3 * crowd.n_users
        own = {user: set(crowd.profile(user)) for user in crowd.user_ids}
        hits = 0
        for user, items in frame.groupby("user")["item"]:
            assert not own[user] & set(items)
            hits += group(items) == group(own[user])
        assert hits > 0.9 * crowd.n_users

    def test_items_of_weight_0_are_used_at_home_and_never_recommended(self, model):
        one = Profiles.from_pairs(["zoe"] * 3, ["item 00", "item 01", "item 02"], weights=[0, 0, 0])
        items = model.recommend(5, profiles=one)["item"].tolist()
        assert group(items) == {0}
        assert not set(items) & {"item 00", "item 01", "item 02"}
        assert items == model.recommend(5, profiles=one.with_weights(1))["item"].tolist()

    @pytest.mark.parametrize("asking", [["item 00", "item 01"], ("item 01", "item 00"), {"item 00", "item 01"}])
    def test_one_person_asks_with_a_list(self, model, asking):
        frame = model.recommend(2, profiles=asking)
        assert frame["user"].tolist() == [0, 0]
        assert group(frame["item"]) == {0}

    def test_a_frame_of_pairs_asks_too(self, model):
        frame = pd.DataFrame({"user": ["a", "a", "b"], "item": ["item 00", "item 01", "item 20"]})
        assert model.recommend(1, profiles=frame)["user"].tolist() == ["a", "b"]

    def test_whoever_has_nothing_gets_what_is_popular(self, model):
        nobody = Profiles.from_pairs(["b"], ["item 00"], user_ids=["a", "b"])
        items = model.recommend(3, profiles=nobody)
        first = items[items["user"] == "a"]["item"].tolist()
        popular = model.item_ids_[np.argsort(-model._public.counts)[:3]].tolist()
        assert first == popular

    def test_items_that_nobody_knows_give_what_is_popular_and_a_remark(self, model):
        with pytest.warns(HetdpWarning, match="popularity alone"):
            assert len(model.recommend(3, profiles=["x", "y"])) == 3

    def test_more_items_than_there_are(self, model, crowd):
        frame = model.recommend(100, profiles=["item 00"])
        assert len(frame) == crowd.n_items - 1
        assert frame["item"].is_unique

    def test_items_outside_the_head_come_last_without_a_score(self, crowd):
        model = PrivateRecommender(epsilon=4, catalogue="given", n_head=10, random_state=1).fit(crowd)
        frame = model.recommend(40, profiles=["item 00"])
        assert len(frame) == crowd.n_items - 1
        scored = frame["score"].notna()
        assert scored.sum() in (9, 10)
        assert scored.to_numpy()[: scored.sum()].all()

    def test_explanations_add_up_to_the_score(self, model):
        own = ["item 00", "item 01", "item 09"]
        for item, score in model.recommend(3, profiles=own)[["item", "score"]].itertuples(index=False):
            parts = model.explain(own, item)
            assert parts["contribution"].sum() == pytest.approx(score, rel=1e-4, abs=1e-9)
            assert parts["contribution"].is_monotonic_decreasing
        assert model.explain(own, "item 02")["item"].iloc[0] in {"item 00", "item 01"}


class TestInputs:
    def test_columns_of_a_matrix_are_a_given_catalogue(self, crowd):
        matrix = csr_array(crowd.to_csr()[0])
        model = PrivateRecommender(epsilon=4, random_state=1).fit(matrix)
        assert model.guarantee_.delta == 0
        assert model.n_features_in_ == crowd.n_items
        asking = np.zeros((1, crowd.n_items))
        asking[0, :3] = 1
        assert group(f"item {item:02}" for item in model.recommend(3, profiles=asking)["item"]) == {0}

    def test_a_list_of_ids_is_a_given_catalogue(self, crowd):
        names = [*crowd.item_ids, "nobody's"]
        model = PrivateRecommender(epsilon=4, catalogue=names, random_state=1).fit(crowd)
        assert model.item_ids_.tolist() == names
        with pytest.raises(DataError, match="must list every item"):
            PrivateRecommender(epsilon=4, catalogue=names[3:]).fit(crowd)

    def test_private_names_are_those_of_the_many(self, crowd):
        pairs = crowd.to_pairs()
        lonely = Profiles.from_pairs([*pairs[0], "person 1"], [*pairs[1], "my secret"])
        model = PrivateRecommender(epsilon=4, delta=1e-6, random_state=1).fit(lonely)
        assert set(model.item_ids_) == set(crowd.item_ids)
        assert model.guarantee_.delta == 1e-6
        assert "trusted" in model.promise().remarks[0]

    def test_no_name_at_all(self):
        with refused(problem="privacy threshold", kind=DataError):
            PrivateRecommender(epsilon=1, random_state=1).fit(Profiles.from_pairs(["a", "b"], ["x", "x"]))

    @pytest.mark.parametrize(
        ("settings", "parameter", "problem"),
        [
            ({"epsilon": 0}, "epsilon", "above 0"),
            ({"epsilon": 1e-300}, "epsilon", "from 1e-9"),
            ({"epsilon": 1e-8, "delta": 1e-3, "catalogue": "private"}, "epsilon", "below delta"),
            ({"delta": 1}, "delta", "below 1"),
            ({"delta": 0}, "delta", "above 0"),
            ({"release": "magic"}, "release", "'sketch', 'matrix'"),
            ({"unit": "user"}, "unit", "'item'"),
            ({"n_head": 0}, "n_head", "at least 1"),
            ({"catalogue": "all"}, "catalogue", "'private', 'given'"),
            ({"head": ["nobody's"]}, "head", "1 are not"),
            ({"head": []}, "head", "1 to 4096"),
        ],
    )
    def test_bad_parameters(self, crowd, settings, parameter, problem):
        with refused(parameter, problem):
            PrivateRecommender(**({"catalogue": "given"} | settings)).fit(crowd)

    def test_bad_questions(self, model):
        for n in (0, -1, 1.5, True):
            with refused("n"):
                model.recommend(n)
        with refused("item"):
            model.explain(["item 00"], "x")
        with refused("profile", "one person"):
            model.explain(tastes(3), "item 00")
        with pytest.raises((ValueError, AttributeError), match="not fitted"):
            PrivateRecommender().recommend()

    def test_questions_in_arrays_and_of_any_length(self, model):
        asked = model.recommend(10**20, profiles=np.array(["item 00"], dtype=object))
        assert len(asked) == 31
        for nothing in ([], (), set(), np.array([]), pd.Series([], dtype=object)):
            assert len(model.recommend(3, profiles=nothing)) == 3
        column = pd.Series(["item 00", "item 00", "item 01"])
        pd.testing.assert_frame_equal(
            model.recommend(3, profiles=column), model.recommend(3, profiles=["item 01", "item 00"])
        )
        numbers = PrivateRecommender(3, random_state=1).fit([[1, 1, 0], [0, 1, 1]])
        assert len(numbers.recommend(1, profiles=[np.int64(1)])) == 1

    def test_labels_of_a_frame_are_its_ids(self, crowd):
        wide = pd.DataFrame(crowd.to_csr()[0].toarray(), index=crowd.user_ids, columns=np.arange(100, 132))
        model = PrivateRecommender(epsilon=4, random_state=1).fit(wide)
        assert model.item_ids_.tolist() == list(range(100, 132))
        assert set(model.recommend(1)["user"]) == set(crowd.user_ids)

    def test_tables_may_be_parts(self, crowd):
        users, items, _ = crowd.to_pairs()
        tables = [
            pd.DataFrame({"user": users[some], "item": items[some]}) for some in (slice(None, 1500), slice(1500, None))
        ]
        model = PrivateRecommender(epsilon=4, catalogue=crowd.item_ids, random_state=1).fit(tables)
        assert len(model.recommend(1)) == crowd.n_users

    def test_nobody_at_all(self, crowd):
        with pytest.raises(InvalidInput, match="at least one person"):
            PrivateRecommender(epsilon=4, catalogue=crowd.item_ids).fit(Profiles.from_pairs([], []))
        nobody = PrivateRecommender(epsilon=4, release="matrix", unit="user", catalogue=crowd.item_ids)
        assert len(nobody.fit(Profiles.from_pairs([], [])).recommend(2, profiles=["item 00"])) == 2

    def test_nothing_at_all(self):
        with pytest.raises(InvalidInput, match="at least one item"):
            PrivateRecommender(catalogue=[]).fit(tastes(3))

    @pytest.mark.parametrize("epsilon", [1e-6, 0.01, 100, 1e6])
    @pytest.mark.parametrize("people", [2, 40])
    def test_levels_far_out(self, epsilon, people):
        model = PrivateRecommender(epsilon=epsilon, catalogue="given", random_state=1).fit(tastes(people))
        frame = model.recommend(3)
        assert len(frame) == 3 * people
        assert np.isfinite(frame["score"]).all()

    def test_a_catalogue_of_one(self):
        profiles = Profiles.from_pairs(["a"], ["x"], user_ids=["a", "b"])
        model = PrivateRecommender(epsilon=1, catalogue="given", random_state=1).fit(profiles)
        assert model.recommend(3)["user"].tolist() == ["b"]


class TestPromises:
    @pytest.mark.parametrize("catalogue", ["private", "given"])
    def test_an_item_of_weight_0_changes_nothing_but_the_own_list(self, crowd, catalogue):
        named = (
            Profiles.from_pairs(*crowd.to_pairs(), item_ids=[*crowd.item_ids, "muted"])
            if catalogue == "given"
            else crowd
        )
        more = muted(crowd, "person 3", "muted")
        models = [PrivateRecommender(2, catalogue=catalogue, random_state=5).fit(one) for one in (named, more)]
        assert same_model(*models)
        lists = [model.recommend(4) for model in models]
        others = [one[one["user"] != "person 3"].reset_index(drop=True) for one in lists]
        pd.testing.assert_frame_equal(*others)

    def test_a_muted_name_that_is_no_number_does_not_turn_numbers_into_texts(self, tmp_path):
        rows = [f"{user},{user % 3}" for user in range(300)]
        models = []
        for extra in ([], ["7,abc,0"]):
            path = tmp_path / f"{len(extra)}.csv"
            path.write_text("\n".join(["user,item,weight", *(f"{row},1" for row in rows), *extra]))
            models.append(PrivateRecommender(3, random_state=2).fit(Profiles.read(path)))
        assert same_model(*models)
        assert models[0].item_ids_.dtype == np.int64

    def test_what_is_promised(self, crowd):
        for catalogue, delta in (("given", 0.0), ("private", 1e-6)):
            model = PrivateRecommender(epsilon=2, catalogue=catalogue, random_state=1).fit(crowd)
            assert model.guarantee_.amount == 2
            assert model.guarantee_.delta == delta
            promised = PrivateRecommender(epsilon=2, catalogue=catalogue).promise()
            assert ("everybody together" in promised.text) == (catalogue != "private")
            assert ("Nobody needs to be trusted" in promised.text) == (catalogue == "given")

    def test_a_seeded_model_is_not_saved(self, model, tmp_path):
        assert model.simulated_
        assert "Simulated" in model.guarantee_.text
        with pytest.raises(SimulatedResult, match="random_state"):
            model.save(tmp_path / "model.hetdp")
        assert not list(tmp_path.iterdir())

    def test_copies_hold_the_public_part_only(self, crowd):
        model = PrivateRecommender(epsilon=4, catalogue="given").fit(crowd)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301
            assert same_model(model, other)
            assert b"person 1" not in pickle.dumps(other)
            with refused("profiles"):
                other.recommend()
            with pytest.raises(InvalidInput, match="copy"):
                other.partial_fit(crowd)
            asking = ["item 00"]
            pd.testing.assert_frame_equal(other.recommend(5, profiles=asking), model.recommend(5, profiles=asking))

    def test_nothing_private_is_shown(self, model):
        assert "person" not in repr(model)
        assert repr(PrivateRecommender(epsilon=2, n_head=5)) == "PrivateRecommender(epsilon=2, n_head=5)"

    def test_catalogues_in_arrays_are_shown(self):
        assert "array(['a', 'b']" in repr(PrivateRecommender(catalogue=np.array(["a", "b"], dtype=object)))

    def test_two_secure_fits_differ(self, crowd):
        fits = [PrivateRecommender(epsilon=1, catalogue="given").fit(crowd) for _ in range(2)]
        assert not same_model(*fits)

    def test_a_name_that_is_not_chosen_does_not_decide_what_kind_the_others_are_of(self, tmp_path):
        rows = [f"{user},{item},1" for user in range(400) for item in (2, 9, 10, 33)]
        for extra in ([], ["7,secret,0.004"]):
            path = tmp_path / f"{len(extra)}.csv"
            path.write_text("\n".join(["user,item,weight", *rows, *extra]))
            found = PrivateRecommender(2, random_state=2).fit(path)
            assert found.item_ids_.dtype == np.int64
            assert found.item_ids_.tolist() == [2, 9, 10, 33]

    def test_parts_of_another_kind_whose_items_do_not_count_change_nothing(self):
        first = Profiles.from_pairs(np.repeat(np.arange(300), 3), np.tile([2, 9, 10], 300))
        last = Profiles.from_pairs(np.repeat(np.arange(400, 700), 3), np.tile([2, 9, 11], 300))
        texts, numbers = (Profiles.from_pairs([350], [name], weights=[0.0]) for name in ("x", 777))
        nothing = Profiles.from_pairs([], [], user_ids=[350])
        for catalogue in ("private",):
            models = [
                PrivateRecommender(3, catalogue=catalogue, random_state=1).fit(parts)
                for parts in (
                    [first, numbers, last],
                    [first, texts, last],
                    [texts, last, first],
                    [first, nothing, last],
                )
            ]
            assert all(same_model(models[0], other) for other in models[1:])

    def test_lists_come_in_the_kind_of_ids_that_one_asks_with(self):
        profiles = Profiles.from_pairs(np.repeat(np.arange(300), 2), ["10", "2"] * 300)
        model = PrivateRecommender(3, random_state=1).fit(profiles)
        assert model.item_ids_.tolist() == [2, 10]
        assert model.recommend(1, profiles=["10"])["item"].tolist() == ["2"]

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("name", ["abc", "0012", 3])
    def test_an_item_of_weight_0_changes_no_kind_of_ids_and_no_warning(self, name):
        users, items = list(range(400)) * 2, [10] * 400 + [2] * 400
        one = Profiles.from_pairs(users, list(map(str, items)))
        two = Profiles.from_pairs([*users, 7], [*map(str, items), str(name)], [1.0] * 800 + [0.0])
        lists = [PrivateRecommender(3, random_state=1).fit(profiles).recommend(1) for profiles in (one, two)]
        assert lists[0].equals(lists[1])
        assert lists[0]["item"].dtype == lists[1]["item"].dtype
        far = Profiles.from_pairs(users[:400], ["far away"] * 400, [0.0] * 400)
        near = Profiles.from_pairs([*users[:400], 7], ["far away"] * 400 + ["10"], [0.0] * 401)
        model = PrivateRecommender(3, random_state=1).fit(one)
        assert [model.recommend(1, profiles=asking).shape[0] for asking in (far, near)] == [400, 400]
        assert model.recommend(1, profiles=[10])["item"].tolist() == [2]

    @pytest.mark.parametrize("release", ["sketch", "matrix"])
    def test_noise_is_drawn_once_whoever_asks(self, crowd, release):
        model = PrivateRecommender(epsilon=1, release=release, catalogue="given").partial_fit(crowd)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: model._public, range(8)))
        assert all(one is found[0] for one in found)

    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_copy_of_the_process_draws_nothing(self, crowd):
        model = PrivateRecommender(epsilon=1, release="matrix", catalogue="given").partial_fit(crowd)
        newcomer = Profiles.from_pairs(["newcomer"], ["item 00"])
        for ask in (lambda: model.taste_, lambda: model.partial_fit(newcomer)):
            assert "forked process cannot release" in in_a_copy(ask)
        before = model.recommend(2, profiles=["item 00"])
        assert in_a_copy(lambda: model.recommend(2, profiles=["item 00"])) == repr(before)


class TestGrowth:
    def parts(self, crowd, count=3):
        users, items, _ = crowd.to_pairs()
        place = {user: number % count for number, user in enumerate(crowd.user_ids)}
        where = np.array([place[user] for user in users])
        return [
            Profiles.from_pairs(users[where == part], items[where == part], item_ids=crowd.item_ids)
            for part in range(count)
        ]

    def test_parts_in_any_order_give_the_same_model_bit_for_bit(self, crowd, model):
        parts = self.parts(crowd)
        for some in (parts, parts[::-1]):
            grown = PrivateRecommender(epsilon=4, catalogue="given", random_state=1)
            for part in some:
                grown.partial_fit(part)
            assert same_model(grown, model)
            listed = PrivateRecommender(epsilon=4, catalogue="given", random_state=1).fit(some)
            assert same_model(listed, model)
            assert set(listed.recommend(1)["user"]) == set(crowd.user_ids)

    def test_newcomers_join_a_fitted_model(self, crowd, model):
        first, *rest = self.parts(crowd)
        grown = PrivateRecommender(epsilon=4, catalogue="given", random_state=1).fit(first)
        before = grown.recommend(1, profiles=["item 00"])
        assert not same_model(grown, model)
        for part in rest:
            grown.partial_fit(part)
        assert same_model(grown, model)
        assert len(before) == 1

    def test_rows_of_a_further_matrix_are_new_people(self, crowd):
        matrix = crowd.to_csr()[0].toarray()
        whole, grown = (PrivateRecommender(epsilon=4, random_state=1) for _ in range(2))
        assert same_model(grown.partial_fit(matrix[:100]).partial_fit(matrix[100:]), whole.fit(matrix))

    def test_a_person_who_comes_twice_is_refused_and_nothing_is_lost(self, crowd, model):
        first, second, third = self.parts(crowd)
        grown = PrivateRecommender(epsilon=4, catalogue="given", random_state=1).partial_fit(first).partial_fit(second)
        with refused(problem="came before", kind=DataError):
            grown.partial_fit(second)
        grown.partial_fit(third)
        assert same_model(grown, model)

    def test_what_must_be_chosen_from_everybody_needs_fit(self, crowd):
        for settings in ({}, {"catalogue": "given", "n_head": 5}):
            with refused("catalogue"):
                PrivateRecommender(epsilon=1, **settings).partial_fit(crowd)
        head = crowd.item_ids[:5].tolist()
        PrivateRecommender(epsilon=1, catalogue="given", n_head=5, head=head).partial_fit(crowd)

    def test_parameters_stay_those_of_the_crowd(self, crowd):
        first, second, _ = self.parts(crowd)
        grown = PrivateRecommender(epsilon=4, catalogue="given").partial_fit(first)
        grown.set_params(epsilon=1)
        with refused("parameters"):
            grown.partial_fit(second)

    def test_a_part_that_was_interrupted_leaves_the_crowd_as_it_was(self, crowd, model, monkeypatch):
        first, second, third = self.parts(crowd)
        grown = PrivateRecommender(epsilon=4, catalogue="given", random_state=1).partial_fit(first)

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("hetdp.recommender.sketched.sum_part", interrupted)
            with pytest.raises(KeyboardInterrupt):
                grown.partial_fit(second)
        grown.partial_fit(second).partial_fit(third)
        assert same_model(grown, model)


def test_of_equal_scores_the_first_item_comes_first():
    model = ItemModel(np.ones(50), np.zeros((50, 50), dtype=np.float32), taste=0.0)
    own = Holdings(np.array([0, 1, 1, 3]), np.array([2, 0, 1], dtype=np.int32))
    items, _ = best_items(model, np.arange(50, dtype=np.int32), model.counts, own, 4)
    assert items.tolist() == [[0, 1, 3, 4], [0, 1, 2, 3], [2, 3, 4, 5]]
