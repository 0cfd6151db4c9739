"""`hetdp demo --mean`: release a mean in which every person has set their own level, on generated people."""

from pathlib import Path

from hetdp.cli.output import check_writable, note, print_facts, print_json, print_rows
from hetdp.core.files import write_whole

__all__ = ["show_mean"]

PEOPLE = 1000
EPSILONS = (0.1, 0.5, 1.0, 2.0)
RUNS = 400
SHARES = (0.34, 0.43, 0.23)


def show_mean(*, save: Path | None, as_json: bool, quiet: bool) -> None:
    """Release a mean from 1,000 generated people, each with a privacy level of their own.

    Shows one answer with its promise, how far off answers are at several epsilons, and what the ledger recorded.
    """
    import numpy as np

    from hetdp.accounting import Ledger, plan, release
    from hetdp.core.randomness import seeded_stream
    from hetdp.mechanisms import queries
    from hetdp.mechanisms.estimation import best_multiplier
    from hetdp.mechanisms.stretching import stretch
    from hetdp.profiles import Box, WeightPrior

    generator = np.random.default_rng(2012)
    prior = WeightPrior.westin(*SHARES)
    hours = generator.gamma(9.0, 3.8, PEOPLE).clip(0, 80)
    weights = generator.choice(prior.weights, size=PEOPLE, p=prior.probabilities)
    query = queries.mean(Box.uniform(0, 80, size=PEOPLE))
    truth = float(query(hours))
    if save is not None:
        check_writable(save)
        people = enumerate(zip(hours, weights, strict=True))
        lines = [f"person{place},{hour:.1f},{weight:g}" for place, (hour, weight) in people]
        write_whole(save, "\n".join(["id,hours,privacy", *lines, ""]))
        note(f"Wrote {save}.", quiet=quiet)

    ledger = Ledger(np.full(PEOPLE, 3.0))
    chosen = best_multiplier(query, prior, 1.0)
    answer = release(stretch(query, weights, multiplier=chosen, prior=prior), hours, epsilon=1.0, ledger=ledger)

    errors = []
    keep = np.ones(PEOPLE, dtype=bool)
    for epsilon in EPSILONS:
        row = {"epsilon": epsilon}
        for name, multiplier in (("paper", 1.0), ("hetdp", best_multiplier(query, prior, epsilon))):
            stretched = stretch(query, weights, multiplier=multiplier, prior=None if name == "paper" else prior)
            values = plan(stretched, epsilon=epsilon).answers(hours, keep, seeded_stream(1), count=RUNS)[:, 0]
            found = [value if name == "paper" else stretched.estimate(float(value)) for value in values]
            row[name] = float(np.sqrt(np.mean((np.array(found) - truth) ** 2)))
        errors.append(row)

    facts = {
        "people": PEOPLE,
        "true mean (the curator's)": truth,
        "released mean": answer.estimate,
        "epsilon": answer.epsilon,
        "noise scale": answer.scale,
        "guarantee": answer.guarantee.text,
    }
    spent = ledger.spent
    charged = {
        "never counts (v = 0)": spent[weights == 0],
        "careful (v = 0.5)": spent[weights == 0.5],  # noqa: PLR2004  (a level of the groups)
        "relaxed (v = 0.75)": spent[weights == 0.75],  # noqa: PLR2004
        "ordinary (v = 1)": spent[weights == 1],
    }
    if as_json:
        levels = {name: {"people": int(loss.size), "paid": float(loss.max())} for name, loss in charged.items()}
        print_json({**facts, "rmse": errors, "ledger": levels})
        return
    print_facts(f"Weekly hours of {PEOPLE} generated people, each with a privacy dial of their own", facts)
    rows = [(f"{row['epsilon']:g}", f"{row['paper']:.3f}", f"{row['hetdp']:.3f}") for row in errors]
    header = ("epsilon", "paper's stretching", "hetdp's estimate")
    print_rows(f"How far off the mean is (root mean squared error in hours, {RUNS} simulated runs)", header, rows)
    paid = [(name, str(loss.size), f"{loss.max():.3f}", f"{3.0 - loss.max():.3f}") for name, loss in charged.items()]
    print_rows("Ledger after one release at epsilon = 1", ("dial", "people", "paid", "left of 3"), paid)
    note("Next: hetdp release --help, or the thirty-second example in README.md.", quiet=quiet)
