"""Models from one noisy matrix, as their users meet them: what is promised, and that weight 0 leaves no trace."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp import PrivateRecommender, Profiles, errors
from hetdp.accounting.composition import epsilon_delta_of_rho
from hetdp.recommender.names import MOST_NAMES, counted_names
from hetdp.recommender.parts import Parts, PersonDials
from hetdp.recommender.settings import ModelSettings

FULL = 255 * 2**15


def settings(**changes):
    return ModelSettings(
        **{
            "epsilon": Fraction(1), "delta": Fraction(1, 10**6), "release": "matrix", "unit": "item",
            "catalogue": "given", "n_head": 4096,
        } | changes
    )  # fmt: skip


@pytest.mark.parametrize("catalogue", ["given", "private"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(50)])
def test_all_parts_together_fit_into_epsilon_and_delta(catalogue, epsilon):
    public = settings(catalogue=catalogue, epsilon=epsilon)
    spent = public.names_epsilon**2 / 2 + public.model_rho
    assert 0.9999 * public.rho <= spent <= public.rho
    left = float(public.delta - public.names_delta)
    assert Fraction(float(epsilon_delta_of_rho(float(public.rho), left))) <= epsilon
    assert (public.names_epsilon > 0) == (public.names_delta > 0) == (catalogue == "private")


def crowd(seed=1, users=400, items=30):
    """Return pairs of two tastes and their weights; nobody of dial 0 yet."""
    rng = np.random.default_rng(seed)
    taste = np.arange(users) % 2
    has = rng.uniform(size=(users, items)) < np.where(taste[:, None] == np.arange(items) % 2, 0.6, 0.1)
    people, things = np.nonzero(has)
    return people, things, rng.choice([0.3, 1.0], size=people.size)


def profiles_of(people, things, weights):
    return Profiles.from_pairs(people, [f"film {thing}" for thing in things], weights, user_ids=np.arange(400))


def published(profiles, **options):
    """Return everything that a fit publishes, as bytes, and its model."""
    user_weights = options.pop("user_weights", None)
    model = PrivateRecommender(**({"release": "matrix", "epsilon": 8, "random_state": 3} | options))
    model.fit(profiles, user_weights=user_weights)
    public = model._public
    arrays = {"counts": public.counts, "head": public.head, **public.model.arrays()}
    assert public.item_ids.size >= 2
    return [public.item_ids.tolist(), *(arrays[name].tobytes() for name in sorted(arrays))]


@pytest.mark.parametrize("unit", ["item", "user"])
@pytest.mark.parametrize("catalogue", ["given", "private"])
@pytest.mark.parametrize("n_head", [4096, 7])
def test_items_of_weight_0_leave_every_public_bit_as_it_was(unit, catalogue, n_head):
    people, things, weights = crowd()
    names = [f"film {thing}" for thing in range(30)]
    options = {"unit": unit, "catalogue": names if catalogue == "given" else catalogue, "n_head": n_head}
    if unit == "user" and catalogue == "private":
        options["epsilon"] = 40  # eight names of four hundred people
    some = published(profiles_of(people, things, weights), **options)
    # More items of weight 0 for everybody, known ones and an unknown one.
    absent = [
        (person, thing)
        for person in range(400)
        for thing in range(0, 30, 7)
        if not ((people == person) & (things == thing)).any()
    ]
    more_people, more_things = np.array(absent).T
    changed = profiles_of(
        np.concatenate([people, more_people, np.arange(400)]),
        np.concatenate([things, more_things, np.full(400, 99)]),
        np.concatenate([weights, np.zeros(more_people.size + 400)]),
    )
    assert published(changed, **options) == some
    # And one item that counts does not: the comparison sees something.
    assert published(profiles_of(people[1:], things[1:], weights[1:]), **options) != some


@pytest.mark.parametrize("catalogue", ["given", "private"])
@pytest.mark.parametrize("n_head", [4096, 7])
def test_people_of_dial_0_leave_every_public_bit_as_it_was(catalogue, n_head):
    people, things, weights = crowd()
    names = [f"film {thing}" for thing in range(30)]
    options = {
        "unit": "user", "epsilon": 40, "catalogue": names if catalogue == "given" else catalogue, "n_head": n_head,
        "user_weights": np.where(np.arange(400) < 5, 0.0, 1.0),
    }  # fmt: skip
    some = published(profiles_of(people, things, weights), **options)
    away = people >= 5
    assert published(profiles_of(people[away], things[away], weights[away]), **options) == some
    extra = np.full(400, 77)
    lonely = profiles_of(
        np.concatenate([people, np.zeros(400, int)]), np.concatenate([things, extra + np.arange(400)]),
        np.concatenate([weights, np.ones(400)]),
    )  # fmt: skip
    if catalogue != "given":
        assert published(lonely, **options) == some


def test_dials_come_by_id_or_in_order():
    profiles = profiles_of(*crowd())
    dials = np.random.default_rng(2).uniform(size=400)
    options = {"unit": "user", "catalogue": "given"}
    in_order = published(profiles, user_weights=dials, **options)
    by_id = {int(person): float(dials[person]) for person in np.random.default_rng(1).permutation(400)}
    assert published(profiles, user_weights=by_id, **options) == in_order
    assert published(profiles, **options) != in_order
    assert published(profiles, user_weights=np.ones(400), **options) == published(profiles, **options)


@pytest.mark.parametrize(
    ("options", "dials", "parameter", "problem"),
    [
        ({"unit": "item"}, [1.0] * 400, "user_weights", "unit='user'"),
        ({"unit": "user"}, [1.0] * 3, "user_weights", "one number per person"),
        ({"unit": "user"}, [2.0] * 400, "user_weights", "[0, 1]"),
        ({"unit": "user"}, ["high"] * 400, "user_weights", "[0, 1]"),
        ({"unit": "user"}, {7: 1.0}, "user_weights", "399 have none"),
        ({"unit": "user", "release": "sketch"}, None, "unit", "'item'"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused(options, dials, parameter, problem):
    model = PrivateRecommender(**({"release": "matrix", "catalogue": "given", "random_state": 1} | options))
    with refused(parameter, problem):
        model.fit(profiles_of(*crowd()), user_weights=dials)


def test_names_of_people_count_within_their_dials():
    rng = np.random.default_rng(4)
    people, things, _ = crowd()
    profiles = profiles_of(people, things, rng.uniform(size=people.size))
    dials = rng.uniform(size=400)
    for person in range(0, 400, 40):
        own = profiles.keep(profiles.owners == person)
        everybody = PersonDials(own.user_ids, dials)
        counts = counted_names(Parts([own]), everybody, whole_people=True).counts
        assert counts.max() <= FULL
        assert Fraction(int(counts.sum())) <= Fraction(dials[person]) * MOST_NAMES * FULL
        assert counts.sum() >= 0.97 * dials[person] * min(MOST_NAMES, own.weights.sum()) * FULL - 255 * 30 * 2**15


@pytest.mark.parametrize("catalogue", ["given", "private"])
def test_the_guarantee_says_rho_and_what_it_is_worth(catalogue):
    model = PrivateRecommender(release="matrix", epsilon=3, catalogue=catalogue)
    promised = model.promise()
    guarantee = model.fit(profiles_of(*crowd())).guarantee_
    assert (guarantee.unit, guarantee.amount, guarantee.protected) == ("rho", float(model._settings().rho), "item")
    assert guarantee.at_weight_one == (3.0, 1e-6)
    assert guarantee.delta == (5e-7 if catalogue == "private" else 0.0)
    assert promised == guarantee
    for words in (
        "epsilon = 3 and delta = 0.000001",
        "v_i**2",
        "everybody but the holder of the profiles",
        "trusted",
        "for that person only",
    ):
        assert words in guarantee.text
    assert ("except with a chance of" in guarantee.text) == (catalogue == "private")


def test_the_guarantee_says_when_people_are_protected():
    promise = PrivateRecommender(release="matrix", unit="user", catalogue="private").promise()
    assert promise.protected == "person"
    assert "adding or removing a user with everything that the user has" in promise.text
    assert "exchanged for another" in promise.text
    assert "except with a chance of 0.000001 * v_i." in promise.text
    assert "Names of users" not in promise.text


def test_all_parts_come_before_the_model_is_asked_for():
    names = [f"film {thing}" for thing in range(30)]
    people, things, weights = crowd()
    whole = published(profiles_of(people, things, weights), catalogue=names)

    def part(begin, end):
        here = (people >= begin) & (people < end)
        return Profiles.from_pairs(people[here], [f"film {thing}" for thing in things[here]], weights[here])

    model = PrivateRecommender(release="matrix", epsilon=8, random_state=3, catalogue=names)
    model.partial_fit(part(200, 400)).partial_fit(part(0, 200))
    assert model._public.counts.tobytes() == whole[1]
    assert len(model.recommend(1, profiles=part(0, 5))) == 5
    with pytest.raises(errors.InvalidInput, match="all parts must come before"):
        model.partial_fit(part(0, 5))


@pytest.mark.parametrize("unit", ["item", "user"])
def test_a_model_that_is_saved_promises_the_same(tmp_path, unit):
    model = PrivateRecommender(release="matrix", unit=unit, epsilon=3, catalogue="given").fit(profiles_of(*crowd()))
    model.save(tmp_path / "model.hetdp")
    opened = PrivateRecommender.load(tmp_path / "model.hetdp")
    assert opened.guarantee_ == model.guarantee_
    newcomer = Profiles.from_pairs(["zoe"], ["film 2"])
    assert opened.recommend(3, profiles=newcomer).equals(model.recommend(3, profiles=newcomer))


@pytest.mark.parametrize("unit", ["item", "user"])
@pytest.mark.parametrize("epsilon", [0.001, 1, 100])
@pytest.mark.parametrize("items", [1, 3])
def test_small_crowds_and_odd_levels_have_answers(unit, epsilon, items):
    few = Profiles.from_pairs([0, 1], ["a", "a"], item_ids=["a", "b", "c"][:items])
    model = PrivateRecommender(release="matrix", unit=unit, epsilon=epsilon, catalogue="given", random_state=1)
    assert len(model.fit(few).recommend(2)) == 2 * (min(items, 3) - 1)


def test_tastes_are_found():
    model = PrivateRecommender(release="matrix", epsilon=5, catalogue="given", random_state=1)
    rows = model.fit(profiles_of(*crowd())).recommend(3, profiles=Profiles.from_pairs([0, 0], ["film 2", "film 4"]))
    assert all(int(name.split()[1]) % 2 == 0 for name in rows["item"])
