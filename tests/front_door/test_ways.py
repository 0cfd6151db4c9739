"""Every public way to a result has a subject in the battery that goes through it, and audits certify most of it.

A way is a public function that returns a release, a method of an estimator that does, a command that makes either, or
the publication of a node. Whoever adds one adds a front door, or says here why there is nothing behind it.
"""

import inspect
from pathlib import Path

import pytest

import hetdp
from hetdp.auditing import battery
from hetdp.auditing.report import NOTHING
from hetdp.cli.main import cli
from hetdp.core.estimator import Estimator

#: Functions that release nothing, and why.
NOTHING_RELEASED = {
    "audit": "made-up profiles",
    "best_multiplier": "public numbers",
    "compare": "public numbers",
    "count": "a question",
    "discrete_gaussian": "noise alone: the sampler audit",
    "discrete_laplace": "noise alone: the sampler audit",
    "evaluate": "for the owner's eyes",
    "falsify": "made-up profiles",
    "judge": "measures lists",
    "mean": "a question",
    "plan": "public numbers",
    "plan_table": "public numbers",
    "recall": "measures lists",
    "split": "for the owner's eyes",
    "stretch": "a mechanism",
    "total": "a question",
    "unknown_keys": "a question",
    "variance": "a question",
}
#: Methods of estimators that release nothing beyond what others have released.
SHOWN_ONLY = {
    *("PrivateNeighbors.to_frame", "PrivateNeighbors.public", "PrivateNeighbors.promise"),
    *("PrivateRecommender.save", "PrivateRecommender.load", "PrivateRecommender.explain", "PrivateRecommender.promise"),
    *("PrivateRecommender.people_to_be_named", "PrivateRecommender.visible_taste", "PrivateRecommender.recommend"),
    "PrivateNeighbors.items_to_stand_out",
    *("PrivateNeighbors.label", "PrivateRecommender.label", "PrivateNeighbors.fit"),  # lists come out of kneighbors
    *("PrivateNeighbors.score", "PrivateRecommender.score"),  # exact, for the owner's eyes
    "PrivateRecommender.predict",
}
#: Commands, and what in the library makes what they print; None where nothing is released.
COMMANDS = {
    "audit": None,
    "budget": None,
    "compare": None,
    "completion": None,
    "datasets": None,
    "demo": None,
    "evaluate": None,
    "label": None,
    "learn": "PrivateRecommender.fit",
    "neighbors": "PrivateNeighbors.kneighbors",
    "network": None,
    "node": "node, publication",
    "recommend": None,
    "release": "hetdp.release",
    "reproduce": None,
    "warm-up": None,
}


@pytest.fixture(scope="module")
def subjects():
    """Which audits the battery has, by the name of what they look at."""
    found = {}
    for case in battery("full"):
        found.setdefault(case.name, set()).add(case.audit)
    return found


def ways():
    """Every public way, by the name that subjects begin with."""
    for name in hetdp.__all__:
        thing = getattr(hetdp, name)
        if inspect.isfunction(thing) and name not in NOTHING_RELEASED:
            yield f"hetdp.{name}"
        if inspect.isclass(thing) and issubclass(thing, Estimator):
            own = {method for method in vars(thing) if not method.startswith("_") and callable(getattr(thing, method))}
            yield from sorted(f"{name}.{method}" for method in own if f"{name}.{method}" not in SHOWN_ONLY)
    yield "node, publication"


@pytest.mark.parametrize("way", list(ways()))
def test_every_public_way_has_a_front_door_in_the_battery(way, subjects):
    audits = set().union(*(kinds for name, kinds in subjects.items() if name.startswith(way)), set())
    assert "noise scale" in audits, f"{way} has no front door: see docs/guide/auditing.md"


def test_every_command_goes_through_one(subjects):
    assert set(cli.commands) == set(COMMANDS)
    for way in filter(None, COMMANDS.values()):
        assert any(name.startswith(way) for name in subjects)


#: Where the bound is attained, and which item shows it: listed in docs/guide/auditing.md.
ATTAINED = {
    "PrivateNeighbors.kneighbors, exact": 3,
    "PrivateNeighbors.kneighbors, gossip": 3,
    "PrivateNeighbors.kneighbors, sketch": 3,
    "hetdp.release, histogram": 0,
    "hetdp.release_table, counts": 0,
    "node, publication": 3,
}


@pytest.mark.sampled(every=3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ATTAINED)
def test_audits_certify_most_of_a_promise_where_it_is_attained(name):
    (case,) = (case for case in battery("full") if (case.name, case.audit) == (name, "statistical"))
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)
    rows = {row["item"]: row for row in finding.figures["rows"]}
    row = rows[ATTAINED[name]]
    assert 0.85 * row["claimed"] <= row["lower_bound"] <= row["claimed"]


def test_docs_list_where_a_promise_is_attained():
    text = (Path(__file__).parents[2] / "docs" / "guide" / "auditing.md").read_text()
    for name in ATTAINED:
        assert name in text
