"""Questions by name: each gets the mechanism, the range and the centre that answer it."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp.mechanisms.by_name import MECHANISMS, QUERIES, SELECTED, default_mechanism, mechanism_named
from hetdp.profiles import Categories

WARDS = Categories(["er", "icu", "lab"])
RANGE = {"lower": -10, "upper": 20}


def public(name):
    """Return what is public about a question."""
    more = {"quantile": {"quantile": 0.9}, "mode": {"categories": WARDS}}.get(name, {})
    return more if name == "mode" else {**RANGE, **more}


@pytest.mark.filterwarnings("ignore::hetdp.errors.StretchingWarning")
@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
@pytest.mark.parametrize("name", QUERIES)
def test_every_question_is_answered_about_the_people_there_are(name, mechanism):
    asked_of = [query for query in QUERIES if query not in SELECTED]
    possible = {
        None: QUERIES,
        "exponential": SELECTED,
        "sampling": QUERIES,
        "stretching": asked_of,
        "classes": asked_of,
    }
    if name not in possible[mechanism] or (name, mechanism) == ("variance", "classes"):
        with refused("mechanism", f"for a {name}"):
            mechanism_named(name, [1.0, 0.5, 0.0], mechanism=mechanism, **public(name))
        return
    asked = mechanism_named(name, [1.0, 0.5, 0.0], mechanism=mechanism, **public(name))
    assert (asked.name.split()[0], asked.domain.size) == (name, 3)
    assert asked.weights.values.tolist() == [1.0, 0.5, 0.0]
    values = np.array([1.0, 1.0, 0.0]) if name == "count" else np.array([12.0, 14.0, 16.0])
    assert np.all(np.isfinite(hetdp.release(asked, values, epsilon=1.0).value))


@pytest.mark.parametrize("name", ["histogram", "mode"])
def test_categories_stand_for_the_range(name):
    asked = mechanism_named(name, np.ones(100), categories=WARDS)
    cells = ["icu"] * 60 + ["lab"] * 30 + ["kitchen"] * 10
    answer = hetdp.release(asked, WARDS.codes(cells), epsilon=1e6).value
    assert answer == pytest.approx(np.array([0, 60, 30]) if name == "histogram" else 1, abs=0.01)


@pytest.mark.parametrize("mechanism", ["exponential", "sampling"])
@pytest.mark.parametrize("name", [name for name in SELECTED if name != "mode"])
def test_what_is_chosen_is_a_multiple_of_the_step(name, mechanism):
    asked = mechanism_named(name, np.ones(4), mechanism=mechanism, step=7, **public(name))
    answers = {hetdp.release(asked, [1, 2, 3, 4], epsilon=0.1).value for _ in range(40)}
    assert answers <= {-10.0, -7.0, 0.0, 7.0, 14.0, 20.0}


def test_who_is_in_no_category_outvotes_nobody():
    asked = mechanism_named("mode", np.ones(100), categories=WARDS)
    assert hetdp.release(asked, WARDS.codes(["kitchen"] * 98 + ["er"] * 2), epsilon=1e6).value == 0


def test_sums_get_weight_classes_and_choices_the_exponential_mechanism():
    usual = {name: default_mechanism(name) for name in QUERIES}
    assert {name for name, kind in usual.items() if kind == "exponential"} == set(SELECTED)
    assert {name for name, kind in usual.items() if kind == "stretching"} == {"variance"}


def test_equal_public_weights_are_one_class_without_distortion():
    asked = mechanism_named("mean", np.ones(1000), lower=0, upper=1, public=True)
    assert asked.boundaries == (1.0,)
    assert hetdp.release(asked, np.full(1000, 0.25), epsilon=1e6).estimate == pytest.approx(0.25, abs=1e-4)


def test_a_count_needs_no_range():
    assert mechanism_named("count", [1.0, 0.5]).domain.upper.tolist() == [1.0, 1.0]


def test_a_variance_shrinks_to_the_midpoint_and_others_to_where_they_are_told():
    assert mechanism_named("variance", [1.0, 1.0], lower=0, upper=80).domain.center.tolist() == [40.0, 40.0]
    assert mechanism_named("variance", [1.0, 1.0], lower=0, upper=80, center=10).domain.center.tolist() == [10.0, 10.0]
    assert mechanism_named("mean", [1.0], lower=0, upper=80).domain.center.tolist() == [40.0]
    assert mechanism_named("mean", [1.0], lower=0, upper=80, mechanism="stretching").domain.center.tolist() == [0.0]
    assert mechanism_named("total", [1.0], lower=0, upper=80).domain.center.tolist() == [0.0]
    assert mechanism_named("mean", [1.0], lower=20, upper=80).domain.center.tolist() == [50.0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("middle", {}, ("name", "one of 'mean'")),
        ("mean", {"lower": 0}, ("upper", "required for a mean")),
        ("mean", {"lower": 0, "upper": 1, "step": 0.5}, ("step", "given for what is chosen among values")),
        ("mode", {"categories": WARDS, "step": 0.5}, ("step", "given for what is chosen among values")),
        ("mean", {"lower": 0, "upper": 1, "mechanism": "magic"}, ("mechanism", "one of 'classes'")),
        ("mean", {"lower": 0, "upper": 1, "quantile": 0.5}, ("quantile", "given for a quantile only")),
        ("quantile", {"lower": 0, "upper": 1}, ("quantile", "given for a quantile only")),
        ("quantile", {"lower": 0, "upper": 1, "quantile": 2.0}, ("share", "in [0, 1]")),
        ("mean", {"categories": WARDS}, ("categories", "given for a histogram or mode")),
        ("mode", {"categories": WARDS, "lower": 0}, (None, "without a range")),
        ("mode", {"lower": 0, "upper": 1}, ("categories", "given for a mode")),
    ],
)
def test_what_does_not_go_together_is_refused(name, options, message):
    with refused(*message):
        mechanism_named(name, [1.0], **options)
