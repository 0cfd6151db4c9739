"""Small mechanisms broken on purpose: the test of the audits themselves. Each must be caught by the audit it names."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.subjects import fresh_seed
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.samplers import gaussian_integers, laplace_integers
from tests.privacy.broken.base import (
    GRID,
    Build,
    Floats,
    Variant,
    by_floating_point,
    by_replay,
    by_sampler,
    by_statistics,
    laplace,
    on_grid,
    released,
    variant,
)

#: Sums over two items in [0, 1]; S = 1 and epsilon = 1 unless a variant says otherwise.
_PAIR = [([0.0, 1.0], [1.0, 1.0])]

VARIANTS: list[Variant] = []


def _variant(*told, **more):
    """Make a variant and list it."""

    def listed(build: Build) -> Variant:
        VARIANTS.append(variant(*told, **more)(build))
        return VARIANTS[-1]

    return listed


# Variants that have the wrong noise.
_WEIGHTS = np.array([0.25, 0.5])


@_variant("scale as standard deviation", by_statistics, _PAIR, 1.0)
def _scale_as_deviation(broken):
    """S/epsilon is used as the standard deviation of the noise: its scale is too small by sqrt(2)."""
    return released(math.fsum, math.sqrt(0.5) if broken else 1.0)


@_variant("noise scale from the weights", by_statistics, _PAIR, _WEIGHTS)
def _scale_from_weights(broken):
    """The noise is scaled to the largest weight, which saves noise and breaks every promise below it."""
    scale = float(_WEIGHTS.max()) if broken else 1.0
    return released(lambda profile: float(_WEIGHTS @ profile), scale)


@_variant("multiplier not in the noise", by_statistics, _PAIR, _WEIGHTS)
def _multiplier_forgotten(broken):
    """Items are shrunk for a multiplier of 2, but the noise is that of multiplier 1."""
    multiplier = 2.0
    shrinkage = np.minimum(1.0, multiplier * _WEIGHTS)
    return released(lambda profile: float(shrinkage @ profile), 1.0 if broken else multiplier)


@_variant("sign of the noise dropped", by_statistics, _PAIR, 1.0)
def _sign_dropped(broken):
    """The noise is never negative, so an answer below the truth is impossible."""
    return released(math.fsum, reshaped=np.abs if broken else np.positive)


@_variant("truncated noise", by_statistics, _PAIR, 1.0)
def _truncated(broken):
    """Noise beyond five scales is cut off: the neighbour's tail is out of reach."""
    reach = 5.0 if broken else math.inf
    return released(math.fsum, reshaped=lambda noise: np.clip(noise, -reach, reach))


@_variant("Gaussian claimed as pure epsilon", by_statistics, _PAIR, 1.0)
def _gaussian_as_pure(broken):
    """Gaussian noise of the same variance is said to keep epsilon, but the ratio of two Gaussians has no bound."""
    variance = Fraction(2) / Fraction(GRID) ** 2

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        return math.fsum(profile) + on_grid(gaussian_integers(variance, size, as_stream(random_state)))

    return mechanism if broken else released(math.fsum)


@_variant("local sensitivity", by_statistics, [([0.25, 0.0], [1.0, 0.0])], 1.0)
def _local_sensitivity(broken):
    """The noise is scaled to the largest value in the data instead of the largest that is possible."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        scale = max(profile) if broken else 1.0
        return math.fsum(profile) + laplace(scale, size, as_stream(random_state))

    return mechanism


@_variant("off by one in the geometric sampler", by_sampler, 5.0)
def _off_by_one(broken):
    """Negative noise is -G instead of -G - 1, so 0 comes twice as often."""

    def sampler(size: int, random_state: Stream) -> NDArray[np.int64]:
        sample = laplace_integers(Fraction(5), size, random_state)
        # "-G" instead of "~G": every negative number moves up by one, and 0 is hit from both sides.
        return np.where(sample < 0, sample + 1, sample) if broken else sample

    return sampler


@_variant("floating-point noise", by_floating_point, [([0.0], [1.0])], 1.0)
def _textbook(broken):
    """Numpy's Laplace noise is added in floating point; the last bits tell the answer."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        if broken:
            return profile[0] + np.random.default_rng(fresh_seed(as_stream(random_state))).laplace(0.0, 1.0, size)
        return profile[0] + laplace(1.0, size, as_stream(random_state))

    return mechanism


# Variants that shrink wrongly: too little, in the wrong order, or with rounding that forgets small weights.


def _clamp(profile: list[Any]) -> Floats:
    """Values into [0, 1]; what is not a number becomes 0."""
    numbers = [float(value) if isinstance(value, int | float) else math.nan for value in profile]
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


@_variant("square root of the weight", by_statistics, _PAIR, [0.25, 1.0])
def _root_weights(broken):
    """A scalar product shrinks each factor by sqrt(v): the partner may not shrink at all."""
    weight = 0.25
    shrinkage = np.array([math.sqrt(weight) if broken else weight, 1.0])  # the partner has v = 1
    return released(lambda profile: float(np.prod(shrinkage * _clamp(profile))))


@_variant("weights ignored", by_statistics, _PAIR, [0.25, 0.5])
def _weights_ignored(broken):
    """Nothing is shrunk: every item loses the full epsilon."""
    shrinkage = np.ones(2) if broken else np.array([0.25, 0.5])
    return released(lambda profile: float(shrinkage @ _clamp(profile)))


@_variant("rounding slack ignored", by_replay, [([value, 0.06], [1.0, 0.06]) for value in (0.0, 0.1)], [0.01, 1.0])
def _rounded_as_a_whole(broken):
    """Trap 8: the whole answer is rounded to a grid of 1/16, which an item with v = 0.01 can tip over."""
    weights, grid = np.array([0.01, 1.0]), 1 / 16

    def exact(profile: list[Any]) -> float:
        parts = weights * _clamp(profile)
        return grid * (math.floor(parts.sum() / grid) if broken else float(np.floor(parts / grid).sum()))

    return released(exact, reshaped=lambda noise: np.rint(noise / grid) * grid)


@_variant("raw sizes in the cosine", by_replay, [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])], [0.0, 1.0, 1.0])
def _raw_sizes(broken):
    """Trap 3: the noisy product is divided by the true sizes: an item with v = 0 changes the answer."""
    weights = np.array([0.0, 1.0, 1.0])
    other = np.ones(3)

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        values = _clamp(profile)
        noisy = float((weights * values) @ other) + laplace(1.0, size, as_stream(random_state))
        return noisy / math.sqrt(max(values.sum(), 1.0) * other.sum()) if broken else noisy

    return mechanism


@_variant("nan path", by_replay, _PAIR, [0.0, 1.0])
def _nan_path(broken):
    """Trap 9: values are multiplied by their weight before they are clamped, and 0 * nan is nan."""
    weights = np.array([0.0, 1.0])

    def exact(profile: list[Any]) -> float:
        values = _clamp(profile)
        if broken:
            values = np.array([float(value) if isinstance(value, int | float) else 0.0 for value in profile])
        with np.errstate(invalid="ignore"):
            return float((weights * values).sum())

    return released(exact)


@_variant("clamping after shrinking", by_replay, _PAIR, 0.5)
def _clamped_too_late(broken):
    """A value far outside its range is shrunk first and clamped then: it keeps its full influence."""
    weights = np.array([0.5, 0.5])

    def exact(profile: list[Any]) -> float:
        if not broken:
            return float(weights @ _clamp(profile))
        numbers = [value if isinstance(value, int | float) else 0.0 for value in profile]
        shrunk = [weight * value for weight, value in zip(weights, numbers, strict=True)]
        return float(_clamp(shrunk).sum())

    return released(exact)


@_variant("infeasible end of a bisection", by_replay, _PAIR, [0.3, 0.0])
def _infeasible_end(broken):
    """Trap 5: a bisection of S(w) = w**2 for v = 0.3 that returns the end which was found too large."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 <= 0.3 else (low, middle)
    shrinkage = high if broken else low
    return released(lambda profile: float((shrinkage * _clamp(profile)[0]) ** 2))


@_variant("exception on a private value", by_replay, _PAIR, 1.0)
def _raises(broken):
    """A value outside its range raises an error that everybody can see."""

    def exact(profile: list[Any]) -> float:
        if broken and not all(isinstance(value, float) and 0 <= value <= 1 for value in profile):
            raise ValueError
        return float(_clamp(profile).sum())

    return released(exact)


# Variants that release too much: uncharged repetitions, shared noise, side answers, choices that are too eager.


@_variant("fresh noise for a repeated query", by_statistics, _PAIR, 1.0)
def _fresh_noise(broken):
    """Trap 4: the same answer ten times with fresh noise and charged once; their mean has little noise left."""
    repetitions = 10 if broken else 1

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        noise = laplace(1.0, (size, repetitions), as_stream(random_state))
        answers: Floats = math.fsum(profile) + noise.mean(axis=1)
        return answers

    return mechanism


@_variant("seed reused", by_statistics, _PAIR, [1.0, 2.0])
def _seed_reused(broken):
    """Two releases share a seed; the noise cancels in their difference."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        first = laplace(1.0, size, stream)
        second = first if broken else laplace(1.0, size, stream)
        return np.stack([profile[0] + profile[1] + first, profile[1] + second], axis=1)

    return mechanism


@_variant("distortion with the same epsilon", by_statistics, _PAIR, [0.0, 1.0])
def _distortion(broken):
    """Trap 7: the distortion of the actual values is released too, which voids v = 0."""
    weights = np.array([0.0, 1.0])

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        answer = float(weights @ profile) + laplace(1.0, size, stream)
        actual, worst = float((1 - weights) @ profile), float((1 - weights).sum())
        return np.stack([answer, (actual if broken else worst) + laplace(1.0, size, stream)], axis=1)

    return mechanism


@_variant("add-remove noise under replacement", by_statistics, [([0.1, 0.6], [0.3, 0.6])], 1.0)
def _histogram(broken):
    """Replace a row, and two bins move by 1 each; the noise for removing one is half of what that takes."""
    scale = 1.0 if broken else 2.0

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        counts, _ = np.histogram(profile, bins=[0.0, 0.25, 0.5, 0.75, 1.0])
        answers: Floats = counts + laplace(scale, (size, 4), as_stream(random_state))
        return answers

    return mechanism


@_variant("draws that depend on the value", by_replay, _PAIR, 1.0)
def _draws_by_value(broken):
    """How many random words are drawn depends on the data; the time taken and the next noise show it."""

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        present = sum(value == 1.0 for value in profile)
        noise = laplace(1.0, (len(profile), size), stream)
        if broken:
            stream.words(present)
        answers: Floats = present + noise[0]
        return answers

    return mechanism


@_variant("eager randomised response", by_statistics, [([0.0, 1.0], [1.0, 1.0])], [0.5, 1.0])
def _eager_response(broken):
    """A present item is reported with the larger of the two admissible probabilities."""
    weight = 0.5
    quiet = 1 / (1 + math.e)
    choose = max if broken else min
    loud = choose(quiet * math.exp(weight), 1 - (1 - quiet) * math.exp(-weight))

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> NDArray[np.bool_]:
        uniform = as_stream(random_state).uniforms(2 * size).reshape(size, 2)
        chances = np.where(np.asarray(profile) > 0, [loud, 1 - quiet], quiet)  # the second item has weight 1
        return uniform < chances

    return mechanism


@_variant("eager exponential mechanism", by_statistics, [(["red"] * 4, ["red", "red", "red", "green"])], 1.0)
def _eager_choice(broken):
    """Scores are weighted with epsilon instead of epsilon / 2."""
    colours, half = ("red", "green", "blue"), 1.0 if broken else 0.5

    def mechanism(profile: list[str], size: int, random_state: RandomState) -> list[str]:
        scores = np.array([profile.count(colour) for colour in colours])
        shares = np.exp(half * scores) / np.exp(half * scores).sum()
        edges: Floats = np.cumsum(shares)[:-1]
        places = np.searchsorted(edges, as_stream(random_state).uniforms(size))
        return [colours[place] for place in places]

    return mechanism


@_variant("second sum that is not free", by_statistics, [([0.0, 0.5], [1.0, 0.5])], 1.0)
def _costly_room(broken):
    """Beside the sum of y, that of y (1 - y) costs nothing; that of y^2 does."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        places = np.asarray(profile)
        second = places**2 if broken else places * (1 - places)
        sums = np.array([places.sum(), second.sum()])
        answers: Floats = sums + laplace(1.0, (size, 2), as_stream(random_state))
        return answers

    return mechanism
