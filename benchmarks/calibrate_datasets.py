"""Fit the built-in data sets to the paper, or show how well they fit.

    python benchmarks/calibrate_datasets.py            # statistics of each set over many seeds, beside the targets
    python benchmarks/calibrate_datasets.py --fit      # search better numbers for RECIPES in hetdp/datasets.py

Targets: recall of the true (cosine) and of random neighbours at k = 10 as published, and the mean number of items that
two users share. Popularities of the sparse set are given (real bookmarks), so that only who has what is searched for.
The search changes one number at a time, keeps what comes closer, and prints the recipe to put into the table. It looks
at seeds of its own: what is shown, and what tests and docs report, are other seeds.
"""

import argparse
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

import hetdp
from hetdp.core.randomness import simulation_stream
from hetdp.datasets import RECIPES, Curve, Recipe, describe, make_profiles
from hetdp.evaluation.metrics import recall
from hetdp.evaluation.neighbor_baselines import random_neighbors, true_neighbors

K = 10
#: Baseline recall, random recall (published), mean overlap.
TARGETS = {
    "survey_like": (0.994324, 0.965779, 28.0),
    "digg_like": (0.984533, 0.924899, 99.0),
    "delicious_like": (0.261, 0.08, 0.6),
}
#: What counts as equally far from a target: 0.01 of recall, and 5 % of the overlap, which is only "about" so much.
UNITS = (0.01, 0.01, 0.05)
FINE = 1.02
#: Seeds to fit with start here; those to report with start at 0.
FITTING = 1000


def measure(name: str, recipe: Recipe, seeds: range, splits: int) -> tuple[float, float, float]:
    """Return baseline recall, random recall and mean overlap, averaged over seeds and splits."""
    rows = []
    for seed in seeds:
        profiles = make_profiles(recipe, simulation_stream(seed, name))
        for split in range(splits):
            train, test = hetdp.split(profiles, random_state=split)
            true = recall(true_neighbors(train, K), profiles, test)
            random = recall(random_neighbors(recipe.users, K, random_state=split), profiles, test)
            rows.append((true, random, describe(profiles).mean_overlap))
    true, random, overlap = np.mean(rows, axis=0).tolist()
    return true, random, overlap


def distance(name: str, found: tuple[float, float, float]) -> float:
    """Return how far from the targets a recipe is: 1 is one unit away in one of them."""
    wanted = TARGETS[name]
    misses = (found[0] - wanted[0], found[1] - wanted[1], found[2] / wanted[2] - 1)
    return float(sum((miss / unit) ** 2 for miss, unit in zip(misses, UNITS, strict=True)) ** 0.5)


def variants(recipe: Recipe, step: float) -> Iterator[Recipe]:
    """Return recipes that differ in one number, by a factor up or down."""
    for factor in (step, 1 / step):
        for change in _changes(recipe):
            changed = change(factor)
            if changed != recipe and changed.popularity.counts(recipe.items).max() < recipe.users:
                yield changed


def _changes(recipe: Recipe) -> list[Callable[[float], Recipe]]:
    def affinity(place: int, part: int) -> Callable[[float], Recipe]:
        def change(factor: float) -> Recipe:
            pairs = [list(pair) for pair in recipe.affinity]
            pairs[place][part] = round(pairs[place][part] * factor, part)
            limits = tuple((int(limit), float(strength)) for limit, strength in pairs)
            return dataclasses.replace(recipe, affinity=limits)

        return change

    def apart(factor: float) -> Recipe:
        return dataclasses.replace(recipe, apart=min(1.0, round(recipe.apart * factor, 2)))

    shape = recipe.popularity
    if not isinstance(shape, Curve):
        return [affinity(0, 1), affinity(1, 1), apart]

    def highest(factor: float) -> Recipe:
        return dataclasses.replace(recipe, popularity=dataclasses.replace(shape, highest=round(shape.highest * factor)))

    return [affinity(0, 1), affinity(0, 0), highest]


def fit(name: str) -> Recipe:
    """Return a recipe that fits at least as well as the one in the table."""
    best, seeds = RECIPES[name], range(FITTING, FITTING + 20)
    closest = distance(name, measure(name, best, seeds, 2))
    step = 1.3
    while step > FINE:
        improved = False
        for candidate in variants(best, step):
            candidate_distance = distance(name, measure(name, candidate, seeds, 2))
            if candidate_distance < closest:
                best, closest, improved = candidate, candidate_distance, True
                print(f"  {closest:.3f}  {best.popularity}  {best.affinity}  {best.apart}", flush=True)
                break
        if not improved:
            step **= 0.5
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the built-in data sets, or show how well they fit.")
    parser.add_argument("--fit", action="store_true", help="search better numbers (minutes)")
    parser.add_argument("names", nargs="*", default=list(RECIPES), help="which sets")
    chosen = parser.parse_args()
    print(f"{'set':<16}{'baseline':>20}{'random':>20}{'overlap':>20}   (found / wanted)")
    for name in chosen.names:
        recipe = fit(name) if chosen.fit else RECIPES[name]
        found = measure(name, recipe, range(20), 10)
        cells = (f"{mine:.4g} / {wanted:.4g}" for mine, wanted in zip(found, TARGETS[name], strict=True))
        print(f"{name:<16}" + "".join(f"{cell:>20}" for cell in cells) + f"   distance {distance(name, found):.2f}")
        if chosen.fit:
            print(recipe)


if __name__ == "__main__":
    main()
