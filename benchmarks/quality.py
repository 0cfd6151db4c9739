"""Quality against total loss, for the first picture of the README: NDCG at 10 of the model, popularity and no privacy.

Writes docs/pictures/quality.csv, which docs/update_quality.py draws. A fifth of each profile is hidden, dials are 1,
and the catalogue is given. Run it from the root of the project: `python benchmarks/quality.py [RUNS]`.
"""

import csv
import sys
from pathlib import Path

from hetdp import Profiles
from hetdp.evaluation.evaluating import EvaluationPlan
from movielens import movielens_100k, resampled

OUT = Path(__file__).parents[1] / "docs" / "pictures" / "quality.csv"
LEVELS = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
CROWD = 20_000
FIELDS = ("panel", "people", "items", "method", "epsilon", "ndcg", "half_width")


def measure(panel: str, profiles: Profiles, runs: int) -> list[dict[str, object]]:
    plan = EvaluationPlan(epsilon=LEVELS, what=("items",), engine=("model",), runs=runs, share=0.2, threads=2)
    found = plan.measure(profiles, lambda done, total: print(f"\r{panel}: {done} of {total}", end="", flush=True))
    print()
    rows: list[dict[str, object]] = []
    for row in found.items:
        level = "" if row.epsilon is None else f"{row.epsilon:g}"
        print(f"  {row.method:<20} {level:>4}  {row.ndcg:.4f} ± {row.ndcg_half_width:.4f}")
        values = (panel, profiles.n_users, profiles.n_items, row.method, level)
        rows.append(dict(zip(FIELDS, (*values, f"{row.ndcg:.4f}", f"{row.ndcg_half_width:.4f}"), strict=True)))
    return rows


def main(runs: int) -> None:
    real = movielens_100k()
    rows = measure("MovieLens-100k", real, runs)
    rows += measure("generated, taste of MovieLens", resampled(real, CROWD), 2)
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
