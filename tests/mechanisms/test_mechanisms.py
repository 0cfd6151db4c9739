"""Sampling, selection, weight classes and sketches: what all mechanisms promise, and what each one does."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats
from tests.support.errors import refused
from tests.support.statistics_helpers import FALSE_ALARM, loss_lower_bound

import hetdp
from hetdp import Box, mechanisms, queries
from hetdp.core.randomness import seeded_stream
from hetdp.mechanisms import selection
from hetdp.mechanisms.sampling import kept_with, weight_kinds
from hetdp.noise.exact_coins import choose_one, ratio, survive, toss_kinds

pytestmark = pytest.mark.slow

UNIT = Box.uniform(0, 1, size=4)
WEIGHTS = np.array([0.0, 0.3, 0.7, 1.0])
MAKERS = {
    "sampling a total": lambda weights: mechanisms.sample(queries.total(UNIT), weights),
    "sampling l0": lambda weights: mechanisms.sample(queries.l0(UNIT), weights),
    "sampling a median": lambda weights: mechanisms.sample(partial(mechanisms.median, UNIT, candidates=5), weights),
    "median": lambda weights: mechanisms.median(UNIT, weights, candidates=5),
    "quantile": lambda weights: mechanisms.quantile(UNIT, weights, share=0.25, candidates=[0, 0.1, 0.5, 1]),
    "maximum": lambda weights: mechanisms.maximum(UNIT, weights, candidates=5),
    "minimum": lambda weights: mechanisms.minimum(UNIT, weights, candidates=5),
    "mode": lambda weights: mechanisms.mode(UNIT, weights, categories=[0, 0.5, 1]),
    "classes of a total": lambda weights: mechanisms.weight_classes(queries.total(UNIT), weights),
    "classes of a count": lambda weights: mechanisms.weight_classes(queries.count(UNIT), weights, [0.6, 0.1]),
    "stretched variance": lambda weights: mechanisms.stretch(queries.variance(UNIT), weights),
    "sketch": mechanisms.sketch,
}
#: Those that have no case of their own in `hetdp audit --all`.
NOT_AUDITED = ("sampling l0", "classes of a count")
every_mechanism = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def exact_selection(scores, epsilon):
    """Probabilities of permute-and-flip by its definition: the sum over sets of heads."""
    coins = np.exp(epsilon / 2 * (scores - scores.max()))
    chances = np.zeros(scores.size)
    for heads in range(1, 2**scores.size):
        inside = np.array([heads >> place & 1 for place in range(scores.size)], dtype=bool)
        chance = np.prod(np.where(inside, coins, 1 - coins))
        chances[inside] += chance / inside.sum()
    return chances


@every_mechanism
def test_same_stream_same_answer_at_weight_zero(make):
    mechanism = make(WEIGHTS)
    for seed in range(20):
        answers, drawn = [], []
        for value in (0.0, 1.0, float("nan"), 1e300, "text"):
            stream = seeded_stream(seed)
            answer = hetdp.release(mechanism, [value, 0.2, 0.9, 1.0], epsilon=1.0, random_state=stream).value
            answers.append(np.asarray(answer).tobytes())
            drawn.append(stream.drawn)
        assert len(set(answers)) == len(set(drawn)) == 1


@pytest.mark.parametrize(
    ("name", "item"),
    [*((name, 1) for name in MAKERS if name != "sampling a median"), *((name, 2) for name in NOT_AUDITED)],
)
def test_measured_loss_stays_below_the_promise(name, item):
    """False-alarm rate 1e-6 each; outputs are reduced to the cell or candidate that tells most.

    Items of weights 0.3 and 0.7: if sampling ignored weights, 2.7 and 1.17 times the promise would be certified.
    Audits in tests/privacy look at weights of 0.8 and 1, of all mechanisms but `NOT_AUDITED`.
    """
    mechanism = MAKERS[name](WEIGHTS)
    plan = mechanism.plan(noise="laplace", amount=2.0)
    keep = np.ones(4, dtype=bool)
    profiles = [np.array([0.0, 0.0, 1.0, 1.0]) for _ in range(2)]
    profiles[0][item], profiles[1][item] = 0.0, 1.0
    one, two = (plan.answers(profile, keep, seeded_stream(place), count=4000) for place, profile in enumerate(profiles))
    cells = [item] if mechanism.name == "sketch" else range(one.shape[1])
    assert max(loss_lower_bound(one[:, cell], two[:, cell]) for cell in cells) <= 2.0 * WEIGHTS[item]


@every_mechanism
def test_release_and_ledger_are_the_same_as_for_stretching(make):
    ledger = hetdp.Ledger(limits=np.full(4, 2.0))
    answer = hetdp.release(make(WEIGHTS), [0, 1, 0, 1], epsilon=1.0, ledger=ledger)
    assert (ledger.spent <= np.nextafter(WEIGHTS, 2)).all()
    assert ledger.spent[0] == 0
    assert ledger.spent[3] > 0
    assert answer.public()["epsilon"] == 1.0
    assert "exp(1 * v_i)" in answer.guarantee.text
    assert "0.7" not in repr(make(WEIGHTS))


@every_mechanism
def test_wrong_number_of_weights_or_values_is_refused(make):
    if make is not mechanisms.sketch:
        with refused("weights", "one per item (4)"):
            make([1.0, 1.0])
    with refused(problem="one number per item"):
        hetdp.release(make(WEIGHTS), [1.0], epsilon=1.0)


def test_dropped_items_count_as_weight_zero():
    for make in MAKERS.values():
        plan = make(WEIGHTS).plan(noise="laplace", amount=1.0)
        keep = np.array([True, True, True, False])
        answers = [plan.answers([0, 1, 0, value], keep, seeded_stream(5), count=20) for value in (0, 1)]
        assert np.array_equal(*answers)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 1000), Fraction(3, 10), Fraction(999, 1000), Fraction(1)])
def test_exact_probabilities_of_sampling(epsilon, weight):
    low, high = kept_with(epsilon, weight)(60)
    assert low <= high <= low + 64
    expected = math.expm1(float(epsilon * weight)) / math.expm1(float(epsilon))
    assert low / 2**60 == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_sampling_keeps_items_as_often_as_it_should():
    plan = mechanisms.sample(queries.count(UNIT), WEIGHTS).plan(noise="laplace", amount=1.0)
    kinds = [kept_with(plan.level, Fraction(float(weight))) for weight in WEIGHTS]
    tosses = toss_kinds(kinds, np.tile(np.arange(4), 50_000), seeded_stream(3)).reshape(-1, 4).mean(axis=0)
    expected = np.expm1(WEIGHTS) / np.expm1(1.0)
    # 5 standard errors: false-alarm rate below 1e-6.
    assert (np.abs(tosses - expected) <= 5 * np.sqrt(expected * (1 - expected) / 50_000)).all()


def test_ties_of_the_first_64_digits_go_on_exactly():
    class Stuck:
        """A stream whose first words agree with the probability 1/3, digit by digit."""

        def __init__(self):
            self.real = seeded_stream(1)
            self.first = True

        def words(self, count):
            if self.first:
                self.first = False
                return np.full(count, 0x5555555555555555, dtype=np.uint64)
            return self.real.words(count)

    outcomes = toss_kinds([ratio(Fraction(1, 3))], np.zeros(3000, dtype=np.intp), Stuck())
    # 1/3 = 0.010101...: after 64 agreeing digits the rest is again 1/3 of what is left.
    assert abs(outcomes.mean() - 1 / 3) < 5 * (2 / 9 / 3000) ** 0.5


def test_selection_has_exactly_the_probabilities_of_permute_and_flip():
    weights = np.array([1.0, 0.5, 0.25, 1.0])
    mechanism = mechanisms.median(UNIT, weights, candidates=5)
    values = np.array([0.1, 0.4, 0.6, 0.6])
    epsilon = 3.0
    points, nearest = mechanism.candidates, np.array([0.0, 0.5, 0.5, 0.5])
    half = weights.sum() / 2
    ranks = [(weights[nearest < point].sum(), weights[nearest <= point].sum()) for point in points]
    scores = np.array([-max(0, below - half, half - up_to) for below, up_to in ranks])
    expected = exact_selection(scores, epsilon)
    plan = mechanism.plan(noise="laplace", amount=epsilon)
    drawn = plan.answers(values, np.ones(4, dtype=bool), seeded_stream(8), count=40_000)[:, 0]
    observed = np.array([(drawn == point).sum() for point in points])
    assert stats.chisquare(observed, expected * drawn.size).pvalue > FALSE_ALARM


def test_permute_and_flip_keeps_its_promise_for_every_change_of_scores():
    """The theorem behind selection, checked exactly: scores that move by v change log-probabilities by epsilon v."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        scores = rng.normal(size=4) * rng.choice([0.1, 1, 5])
        move = rng.uniform(-1, 1, size=4) if rng.random() < 0.5 else rng.choice([-1.0, 1.0], size=4)
        weight, epsilon = rng.random(), rng.choice([0.1, 1.0, 3.0])
        one, two = exact_selection(scores, epsilon), exact_selection(scores + weight * move, epsilon)
        assert np.abs(np.log(one / two)).max() <= epsilon * weight + 1e-9


@pytest.mark.parametrize("make", ["median", "maximum", "minimum", "mode", "quantile"])
def test_scores_move_by_no_more_than_the_weight(make):
    """Where an item is replaced, and where it is left out. Values are often the same, and often between candidates."""
    rng = np.random.default_rng(5)
    places = np.array([0, 0.1, 0.25, 0.3, 0.5, 1])
    moved = []
    for _ in range(300):
        weights = rng.random(4)
        mechanism = MAKERS[make](weights)
        steps = np.floor(weights * selection._STEPS).astype(np.int64)
        values, item, epsilon = rng.choice(places, size=4), rng.integers(4), rng.choice([0.5, 5.0, 30.0])
        replaced, left_out = values.copy(), steps.copy()
        replaced[item], left_out[item] = rng.choice(places), 0
        before = mechanism.score(values, steps, epsilon)
        after = mechanism.score(replaced, steps, epsilon), mechanism.score(values, left_out, epsilon)
        moved.append(np.abs(np.subtract(after, before)).max() / (steps[item] * selection._STEPS))
    assert max(moved) == 1, "reached, and never exceeded"


def test_a_rank_is_wanted_between_what_is_below_and_what_is_below_or_at():
    steps = np.array([1, 2, 4, 1]) * selection._STEPS // 4
    mechanism = mechanisms.median(UNIT, np.array([1, 2, 4, 1]) / 4, candidates=[0, 0.25, 0.5, 0.75, 1])
    scores = mechanism.score(np.array([0.0, 0.0, 0.5, 1.0]), steps, 1.0) / selection._STEPS**2
    # Of a weight of 2, 3/4 are at 0, then 1 at 1/2: half of all is reached there, 1/4 is missing or too much beside it.
    assert scores.tolist() == [-0.25, -0.25, 0, -0.75, -0.75]


AGES = np.repeat([17.5, 22, 27, 32, 37, 42], [139, 1800, 1931, 1069, 634, 793])  # 6,366 people asked in 1974


@pytest.mark.parametrize(
    ("name", "truth"),
    [("median", 27), ("quantile 0.9", 42), ("maximum", 42), ("minimum", 17.5)],
)
@pytest.mark.parametrize("step", [None, 0.5])
def test_rounded_values_are_found_as_they_are(name, truth, step):
    """A selection beyond the data wins once in forty times: 20 of 100 has a false alarm rate below 1e-10."""
    kind, _, share = name.partition(" ")
    asked = {"share": float(share)} if share else {}
    values = selection.round_values(15, 100, step)
    mechanism = getattr(mechanisms, kind)(
        Box.uniform(15, 100, size=AGES.size), np.resize([0.5, 0.75, 1.0], AGES.size), candidates=values, **asked
    )
    plan = mechanism.plan(noise="laplace", amount=1.0)
    found = plan.answers(AGES, np.ones(AGES.size, dtype=bool), seeded_stream(3), count=100)
    assert (found == truth).mean() >= 0.8


@pytest.mark.parametrize(
    ("limits", "step", "few", "size"),
    [
        ((0, 1), None, [0, 0.0005, 0.001, 0.0015], 2001),
        ((15, 100), None, [15, 15.05, 15.1, 15.15], 1701),
        ((17.26, 100), None, [17.26, 17.3, 17.35, 17.4], 1656),
        ((-1e308, 1e308), None, [-1e308, -9.99e307, -9.98e307], 2001),
        ((3, 3), None, [3], 1),
        ((1, 5), 1, [1, 2, 3, 4, 5], 5),
        ((17.5, 42), 5, [17.5, 20, 25, 30, 35, 40, 42], 7),
        ((0, 1), 5, [0, 1], 2),
        ((0, 100), 0.001, [0, 0.001, 0.002, 0.003], 100_001),
    ],
)
def test_round_values_are_written_short(limits, step, few, size):
    values = selection.round_values(*limits, step)
    assert values[: len(few)].tolist() == few
    assert (values.size, values[-1]) == (size, limits[1])
    assert max(len(f"{value!r}") for value in values.tolist()) <= len("-9.999e+307")


def test_so_are_equally_spaced_candidates():
    assert 52.91 in mechanisms.median(Box.uniform(15, 100, size=1), [1.0], candidates=1001).candidates.tolist()


@pytest.mark.parametrize(
    ("step", "message"),
    [(0, ("step", "a number above 0")), (1e-4, ("step", "at least 1 / 100000 of the range"))],
)
def test_bad_steps_are_refused(step, message):
    with refused(*message):
        selection.round_values(0, 100, step)


def test_selection_is_accurate_on_a_crowd():
    rng = np.random.default_rng(6)
    values = rng.normal(50, 10, 2000)
    box = Box.uniform(0, 100, size=2000)
    weights = rng.choice([0.5, 1.0], 2000)
    for mechanism, truth, tolerance in (
        (mechanisms.median(box, weights), 50, 1.5),
        (mechanisms.quantile(box, weights, share=0.9), np.quantile(values, 0.9), 2),
        (mechanisms.maximum(box, weights), np.quantile(values, 0.995), 4),
        (mechanisms.minimum(box, weights), np.quantile(values, 0.005), 4),
        (mechanisms.mode(box, weights, categories=[0, 50, 100]), 50, 0),
    ):
        assert abs(hetdp.release(mechanism, values, epsilon=1.0, random_state=1).value - truth) <= tolerance


@pytest.mark.parametrize("extreme", ["maximum", "minimum"])
@pytest.mark.parametrize(("epsilon", "apart"), [(0.5, 5.0), (1.0, 2.5), (3.0, 1.2), (10.0, 0.8)])
@pytest.mark.parametrize("own", [[1.0], [0.1, 0.5, 1.0]])
def test_extremes_are_near_the_ends_of_the_data_and_nearer_with_more_epsilon(extreme, epsilon, apart, own):
    """Candidates beyond the data win once in twenty times at most: 25 of 100 has a false alarm rate below 1e-10."""
    values = np.linspace(20, 60, 1000)
    weights = np.resize(own, 1000)
    mechanism = getattr(mechanisms, extreme)(Box.uniform(0, 80, size=1000), weights)
    found = np.array(
        [hetdp.release(mechanism, values, epsilon=epsilon, random_state=seed).value for seed in range(100)]
    )
    inside = 60 - found if extreme == "maximum" else found - 20
    assert (inside < -0.1).mean() <= 0.25
    assert np.median(np.abs(inside)) < apart


def test_uniform_choice_is_uniform_among_the_eligible():
    eligible = np.array([True, False, True, True])
    stream = seeded_stream(2)
    counts = np.bincount([choose_one(eligible, stream) for _ in range(6000)], minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[eligible]).pvalue > FALSE_ALARM


def test_survival_has_the_right_probabilities():
    exponents = [Fraction(0), Fraction(1, 1000), Fraction(7, 10), Fraction(3), Fraction(300)]
    lanes = np.repeat(np.arange(5), 20_000)
    rough = np.array([float(exponent) for exponent in exponents])[lanes]
    alive = survive(rough, lambda lane: exponents[lanes[lane]], seeded_stream(9)).reshape(5, -1).mean(axis=1)
    for share, exponent in zip(alive, exponents, strict=True):
        chance = math.exp(-float(exponent))
        assert abs(share - chance) <= 5 * math.sqrt(chance * (1 - chance) / 20_000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mechanisms.quantile(UNIT, WEIGHTS, share=2), ("share", "in [0, 1]")),
        (lambda: mechanisms.quantile(UNIT, WEIGHTS, share="a"), ("share", "a finite number")),
        (lambda: mechanisms.median(UNIT, WEIGHTS, candidates=1), ("candidates", "a whole number of at least 2")),
        (lambda: mechanisms.median(UNIT, WEIGHTS, candidates=101.0), ("candidates", "a whole number of at least 2")),
        (lambda: mechanisms.sample(3, WEIGHTS), ("base", "a query, or a function")),
        (lambda: mechanisms.sample(mechanisms.median(UNIT, WEIGHTS), WEIGHTS), ("base", "a query, or a function")),
        (lambda: mechanisms.sample(lambda _: 3, WEIGHTS), ("base", "make a mechanism")),
        (lambda: mechanisms.mode(UNIT, WEIGHTS, categories=[]), ("categories", "a non-empty vector")),
        (lambda: mechanisms.median(UNIT, WEIGHTS).plan(noise="gaussian", amount=1.0), ("noise", "cannot be used")),
        (lambda: mechanisms.sketch(WEIGHTS).plan(noise="laplace", amount=1.0, grid=1.0), ("grid", "cannot be used")),
        (lambda: mechanisms.sample(queries.total(UNIT), WEIGHTS).plan(noise="gaussian", amount=1), ("noise", "")),
    ],
)
def test_bad_parameters_are_named(make, message):
    with refused(*message):
        make()


def test_many_different_weights_are_rounded_down():
    weights = np.random.default_rng(1).random(20_000)
    kinds, which = weight_kinds(weights)
    rounded = np.array([float(kind) for kind in kinds])[which]
    assert len(kinds) <= 4096
    assert (rounded <= weights).all()
    assert (rounded > weights - 1 / 4096).all()
    assert hetdp.release(mechanisms.sketch(weights), np.ones(20_000), epsilon=1.0).value.size == 20_000


def test_a_sampled_histogram_promises_what_its_query_does():
    query = queries.histogram(UNIT, [0, 0.5, 1], adjacency="add-remove")
    answer = hetdp.release(mechanisms.sample(query, WEIGHTS), [0, 1, 0, 1], epsilon=1.0)
    assert "adding or removing one row" in answer.guarantee.text
