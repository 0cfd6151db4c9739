"""Names of items that nobody listed: chosen by noise for sketches, and otherwise never told."""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.support.errors import refused

from hetdp import BudgetExhausted, PrivateNeighbors, Profiles
from hetdp.core.errors import DataError, HetdpWarning
from hetdp.neighbors.engines import ENGINES
from hetdp.tables import keys
from hetdp.tables.names import people_needed

every_engine = pytest.mark.parametrize("engine", tuple(ENGINES))
POPULAR = [f"i{place}" for place in range(8)]
#: A unique item of this weight has a promise of exp(0.004 epsilon), and must not be named but with 0.004 delta.
SLIGHT = 0.004


def crowd(*more, items=POPULAR):
    """Sixty people who have most of eight items, and rows (user, item, weight) beside."""
    rows = [(f"u{user:02}", item, 1.0) for user in range(60) for place, item in enumerate(items) if (user + place) % 5]
    users, found, weights = zip(*rows, *more, strict=True)
    return Profiles.from_pairs(users, found, weights)


def fitted(profiles, engine="exact", **options):
    defaults = {"n_neighbors": 3, "epsilon": 20.0, "engine": engine, "random_state": 5}
    return PrivateNeighbors(**{**defaults, **options}).fit(profiles)


def test_a_unique_item_of_little_weight_is_never_named():
    """Before, it was in `item_ids_` in 200 fits of 200. Its chance is 0.004 delta each; 60 show it with 2.4e-7."""
    profiles = crowd(("u03", "clinic", SLIGHT))
    for seed in range(60):
        assert fitted(profiles, "sketch", random_state=seed).item_ids_.tolist() == POPULAR


@pytest.mark.parametrize("engine", ["exact", "gossip"])
def test_lists_of_people_name_no_item(engine):
    model = fitted(crowd(), engine)
    model.kneighbors()
    model.to_frame()
    assert model.item_ids_.tolist() == []
    assert model.n_features_in_ == 0
    assert (model.guarantee_.delta, model.guarantee_.shared) == (0.0, 0.0)


@every_engine
@pytest.mark.parametrize("item", ["clinic", "i3", "7"])
def test_an_item_of_weight_0_leaves_everything_public_the_same(engine, item):
    one, two = fitted(crowd(), engine), fitted(crowd(("u02", item, 0.0), ("u07", item, 0.001)), engine)
    others = ~np.isin(one.user_ids_, ["u02", "u07"])
    shown = [(model.item_ids_.tolist(), model.n_features_in_, model.guarantee_) for model in (one, two)]
    assert shown[0] == shown[1]
    for mine, theirs in zip(one.kneighbors(), two.kneighbors(), strict=True):
        assert mine[others].tobytes() == theirs[others].tobytes()


def test_what_is_named_in_a_file_is_of_one_kind_whatever_is_not(tmp_path):
    rows = [(f"u{user}", 10 + place, 1) for user in range(60) for place in range(5) if (user + place) % 5]
    kinds = []
    for name, more in (("a", []), ("b", [("u3", "secret", 0)]), ("c", [("u3", "secret", SLIGHT)])):
        text = "".join(f"{user},{item},{weight}\n" for user, item, weight in [*rows, *more])
        (tmp_path / f"{name}.csv").write_text("user,item,weight\n" + text)
        model = fitted(Profiles.read(tmp_path / f"{name}.csv"), "sketch")
        kinds.append((model.item_ids_.dtype, model.item_ids_.tolist()))
    assert kinds == [(np.dtype(np.int64), [10, 11, 12, 13, 14])] * 3


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_the_noise_of_names_is_as_wide_as_their_share_says(monkeypatch):
    drawn, names = [], Fraction(2)  # a tenth of 20

    def watch(scale, bound, count, stream):
        drawn.append((scale, bound, count))
        return truncated(scale, bound, count, stream)

    truncated = keys.truncated_laplace_integers
    monkeypatch.setattr(keys, "truncated_laplace_integers", watch)
    fitted(crowd(), "sketch")
    ((scale, bound, count),) = drawn
    assert (scale, count) == (255 / names, len(POPULAR))
    assert bound == keys.threshold(names, 1e-6, steps=255, groups=1)


def test_sketches_pay_for_names_out_of_epsilon_and_trust_the_holder():
    model = fitted(crowd(), "sketch", random_state=None, epsilon=20.0)
    kept = model.guarantee_
    assert (kept.against(1), kept.delta) == (20.0, 1e-6)
    assert kept.adversary.startswith("everybody but the holder of the profiles")
    assert kept.trust == "holder"
    assert model._releases.fitted.scoring.pair_epsilon == 18
    assert model.item_ids_.tolist() == POPULAR
    given = fitted(crowd(), "sketch", random_state=None, catalogue="given").guarantee_
    assert (given.against(1), given.delta) == (20.0, 0.0)
    assert given.adversary.startswith("everybody together")


def test_a_ledger_is_charged_for_names():
    from hetdp.accounting import Ledger

    ledger = Ledger.of_profiles(delta_limit=1.5e-6)
    fitted(crowd(), random_state=None, ledger=ledger)
    assert ledger.delta_spent == 0.0
    fitted(crowd(), "sketch", random_state=None, ledger=ledger)
    assert ledger.delta_spent == 1e-6
    with pytest.raises(BudgetExhausted) as refusal:
        fitted(crowd(), "sketch", random_state=None, ledger=ledger)
    assert refusal.value.unit == "delta"


# --- nothing to name, new recipients, catalogues ---------------------------------------------------------------------


@every_engine
@pytest.mark.parametrize("weight", [None, 0.0, SLIGHT])
def test_where_nothing_can_be_named_lists_work(engine, weight):
    rows = [] if weight is None else [("u3", "clinic", weight)]
    users, items, weights = zip(*((f"u{user}", f"i{user % 4}", 1.0) for user in range(12)), *rows, strict=True)
    warned = pytest.warns(HetdpWarning, match="No item passed") if engine == "sketch" else nullcontext()
    with warned:
        model = fitted(Profiles.from_pairs(users, items, weights), engine, epsilon=0.5)
    assert (model.kneighbors()[1] >= 0).all()
    assert model.item_ids_.size == model.n_features_in_ == 0


def test_nobody_learns_by_asking_what_was_fitted():
    """Neither an error, nor an equal list, nor what is counted tells whether somebody has an item."""
    asked = {name: Profiles.from_pairs(["zoe"] * len(items), items) for name, items in {
        "tea": ["i1"], "more": ["i1", "clinic"], "other": ["clinic"], "numbers": [1, 2],
    }.items()}  # fmt: skip
    counted = []
    for profiles in (crowd(), crowd(("u03", "clinic", SLIGHT))):
        model = fitted(profiles)
        lists = {name: model.kneighbors(asking)[0] for name, asking in asked.items()}
        assert not np.array_equal(lists["tea"], lists["more"])
        assert np.array_equal(lists["tea"], model.kneighbors(asked["tea"])[0])
        counted.append(model.guarantee_)
    assert counted[0] == counted[1]
    two = Profiles.from_pairs(["zoe", "zoe"], ["i1", "i2"], item_ids=["i1", "i2"])
    turned = Profiles.from_pairs(["yan", "yan"], ["i1", "i2"], item_ids=["i2", "x", "i1"])
    assert np.array_equal(model.kneighbors(two)[0], model.kneighbors(turned)[0]), "the same items, the same list"


def test_new_recipients_are_matched_with_items_that_have_no_name():
    profiles = crowd(*((f"u{user:02}", "opera", 1.0) for user in range(3)))
    model = fitted(profiles, epsilon=500.0)
    scores, indices = model.kneighbors(Profiles.from_pairs(["zoe"], ["opera"]))
    assert sorted(indices[0]) == [0, 1, 2]
    assert scores.round().tolist() == [[1.0, 1.0, 1.0]]


@every_engine
def test_a_list_of_ids_is_a_given_catalogue(engine):
    model = fitted(crowd(), engine, catalogue=[*POPULAR, "opera"], random_state=None)
    assert model.item_ids_.tolist() == [*POPULAR, "opera"]
    assert model.guarantee_.delta == 0.0
    assert PrivateNeighbors(3, epsilon=20, engine=engine, catalogue=POPULAR).promise(60) == model.guarantee_
    with refused(problem="1 of 8 items", kind=DataError):
        fitted(crowd(), engine, catalogue=POPULAR[1:])


def test_columns_of_a_matrix_are_given():
    matrix = np.random.default_rng(0).integers(0, 2, (30, 6))
    for engine in ENGINES:
        model = fitted(matrix, engine, random_state=None)
        assert model.item_ids_.tolist() == list(range(6))
        assert model.guarantee_.delta == 0.0


@pytest.mark.parametrize(
    ("options", "parameter", "problem"),
    [
        ({"catalogue": "seen"}, "catalogue", "'private', 'given'"),
        ({"delta": 0}, "delta", "above 0"),
        ({"delta": 1}, "delta", "below 1"),
        ({"engine": "sketch", "epsilon": 1e-6}, "epsilon", "below delta"),
    ],
)
def test_bad_parameters_are_named(options, parameter, problem):
    with refused(parameter, problem):
        fitted(crowd(), **options)
    with refused(parameter, problem):
        PrivateNeighbors(3, **options).promise(60)


def test_names_need_people():
    """About one in two of such items is named: within six standard errors of 1/40, and one person's worth above."""
    needed = people_needed(Fraction(1, 10), 1e-6)
    users = np.arange(needed)
    profiles = Profiles.from_pairs(np.tile(users, 400), np.repeat(np.arange(400), needed))
    model = fitted(profiles, "sketch", epsilon=1.0)
    assert 0.35 < model.item_ids_.size / 400 < 0.70
