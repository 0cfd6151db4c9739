"""Every public way to a result, with the checks of its promises. A public name that is missing here fails a test.

A way is a public function that releases something, a method of an estimator that does, a command that makes either, or
the publication of a node. Each has

- audit cases through the public call, in `hetdp audit --all`: noise as wide as the guarantee says, at least;
- the replay with and without something of weight 0 (promise W0): a case of that audit, or a walk through a command;
- where a step beneath the call has an epsilon of its own, cases of that step, in `tests/privacy/internals`;
- a check of the order charge, look, draw (promise ORDER), in `test_order`;
- broken variants, budget splits included, in `tests/privacy/broken`.
"""

from dataclasses import dataclass

from hetdp.auditing import battery
from tests.privacy.broken import ledgers, mechanisms, neighbors, node, recommender, release, tables
from tests.privacy.internals import neighbors as engines, node as sketches, recommender as models, tables as sums


@dataclass(frozen=True)
class Way:
    """The checks of one public way: names of cases, of tests of the order, and of broken variants."""

    audited: tuple[str, ...]
    #: None where no private value is taken.
    weight_zero: str | None
    order: str
    broken: tuple[str, ...]


def _of(module, *names):
    """Return the names of those variants of a module that contain one of some words."""
    found = tuple(variant.name for variant in module.VARIANTS if any(name in variant.name for name in names))
    assert found
    return found


WAYS = {
    "hetdp.release": Way(
        (
            *("hetdp.release, histogram", "hetdp.release, Gaussian histogram", "hetdp.release, total"),
            *("hetdp.release, weight classes", "hetdp.release, Gaussian weight classes"),
        ),
        "hetdp.release",
        "test_release",
        _of(release, "release", "an answer"),
    ),
    "hetdp.release_distortion_bound": Way(
        ("hetdp.release_distortion_bound",), None, "test_release_distortion_bound", _of(release, "distortion bound")
    ),
    "hetdp.release_table": Way(
        (
            "hetdp.release_table, every aggregate",
            "hetdp.release_table, counts of people",
            "hetdp.release_table, unknown keys",
            "hetdp.release_table, unknown keys of people",
        ),
        "hetdp.release_table, counts",
        "test_release_table",
        tuple(variant.name for variant in tables.VARIANTS),
    ),
    "PrivateNeighbors.fit": Way(
        ("PrivateNeighbors.fit, sketch, private names",),
        "PrivateNeighbors.fit, sketch, private names",
        "test_neighbors",
        _of(neighbors, "names"),
    ),
    "PrivateNeighbors.kneighbors": Way(
        (
            "PrivateNeighbors.kneighbors, exact",
            "PrivateNeighbors.kneighbors, gossip",
            "PrivateNeighbors.kneighbors, sketch",
            "PrivateNeighbors.kneighbors, exact, new recipients",
        ),
        "PrivateNeighbors.kneighbors, exact",
        "test_lists_for_newcomers",
        tuple(variant.name for variant in neighbors.VARIANTS if "names at" not in variant.name),
    ),
    "PrivateRecommender.fit": Way(
        (
            "PrivateRecommender.fit, sketches",
            "PrivateRecommender.fit, sketches, private names",
            "PrivateRecommender.fit, matrix",
            "PrivateRecommender.fit, matrix of people",
            "PrivateRecommender.fit, matrix, private names",
            "PrivateRecommender.fit, matrix of people, private names",
        ),
        "PrivateRecommender.fit, matrix",
        "test_models",
        tuple(variant.name for variant in recommender.VARIANTS),
    ),
    "PrivateRecommender.partial_fit": Way(
        ("PrivateRecommender.partial_fit, sketches",),
        "PrivateRecommender.fit, sketches",
        "test_models_from_parts",
        _of(recommender, "sketches of the crowd"),
    ),
    "node, publication": Way(
        ("node, publication",),
        "node, publication",
        "test_publication_of_a_node",
        tuple(variant.name for variant in node.VARIANTS),
    ),
}

#: Every honest case: those of `hetdp audit --all`, and those of the steps beneath the public calls.
CASES = (*battery("full"), *sums.CASES, *engines.CASES, *models.CASES, *sketches.CASES)

#: Broken on purpose, to test the audits and the ledger themselves.
OF_AUDITS = (*mechanisms.VARIANTS, *ledgers.VARIANTS)
VARIANTS = (*OF_AUDITS, *release.VARIANTS, *tables.VARIANTS, *neighbors.VARIANTS, *recommender.VARIANTS, *node.VARIANTS)

#: Public names that release nothing, and why.
NOTHING_RELEASED = {
    "audit": "made-up profiles",
    "compare": "public numbers",
    "discrete_gaussian": "noise alone: the sampler audit",
    "discrete_laplace": "noise alone: the sampler audit",
    "evaluate": "for the owner's eyes",
    "falsify": "made-up profiles",
    "judge": "measures lists",
    "plan": "public numbers",
    "plan_table": "public numbers",
    "recall": "measures lists",
    "split": "for the owner's eyes",
    "stretch": "a mechanism",
    "weight_classes": "a mechanism",
    "unknown_keys": "a question",
    **dict.fromkeys(("Box", "Categories", "PrivacyWeights", "Profiles", "Stretched", "WeightClasses"), "an input"),
    **dict.fromkeys(("Guarantee", "Release", "TableAnswer"), "what a way returns"),
    "BudgetExhausted": "an error",
}
#: Methods of estimators that release nothing beyond what others have released, and why.
METHODS = {
    **dict.fromkeys(("PrivateNeighbors.to_frame", "PrivateNeighbors.public"), "shows the lists of kneighbors"),
    **dict.fromkeys(("PrivateNeighbors.promise", "PrivateRecommender.promise"), "public numbers"),
    **dict.fromkeys(("PrivateNeighbors.label", "PrivateRecommender.label"), "public numbers"),
    **dict.fromkeys(("PrivateNeighbors.score", "PrivateRecommender.score"), "exact, for the owner's eyes"),
    **dict.fromkeys(("PrivateRecommender.save", "PrivateRecommender.load"), "what fit has released"),
    **dict.fromkeys(("PrivateRecommender.recommend", "PrivateRecommender.explain"), "at home, from a public model"),
    **dict.fromkeys(("PrivateRecommender.predict", "PrivateRecommender.visible_taste"), "at home, from a public model"),
    "PrivateRecommender.people_to_be_named": "public numbers",
    "PrivateNeighbors.items_to_stand_out": "public numbers",
}
#: Methods of ledgers: none releases anything; those that charge are audited by exact fractions.
LEDGER = {
    "charge": "Ledger.charge_people",
    "charge_all": "Ledger.charge_people",
    "charge_people": "Ledger.charge_people",
    "charge_profiles": "Ledger.charge_people",
}
#: Commands, and the ways that make what they print; none where nothing is released.
COMMANDS = {
    "learn": ("PrivateRecommender.fit",),
    "neighbors": ("PrivateNeighbors.kneighbors",),
    "node": ("node, publication",),
    "release": ("hetdp.release", "hetdp.release_table"),
    **dict.fromkeys(("audit", "budget", "compare", "datasets", "demo", "evaluate", "label"), ()),
    **dict.fromkeys(("network", "recommend", "reproduce", "warm-up"), ()),
}
#: Where the bound is attained, and which item shows it: listed in docs/guide/auditing.md.
ATTAINED = {
    "PrivateNeighbors.kneighbors, exact": 3,
    "PrivateNeighbors.kneighbors, gossip": 3,
    "PrivateNeighbors.kneighbors, sketch": 3,
    "hetdp.release, histogram": 0,
    "hetdp.release_table, counts": 0,
    "node, publication": 3,
}
