"""Promise ORDER: a charge is recorded before an answer is computed and before any noise is drawn.

A right answer says nothing about the order, and neither does a right total afterwards. So the calls themselves are
recorded: the end of a charge, the beginning of every look at the data, and every draw.
"""

from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from hetdp import (
    Box,
    Ledger,
    PrivateNeighbors,
    PrivateRecommender,
    Profiles,
    queries,
    release,
    release_distortion_bound,
    release_table,
    stretch,
    unknown_keys,
    weight_classes,
)
from hetdp.core.errors import BudgetExhausted
from hetdp.core.randomness import KeyedWords, Stream
from hetdp.mechanisms.distortion import DistortionPlan
from hetdp.mechanisms.stretching import StretchedPlan
from hetdp.mechanisms.weight_class import WeightClassesPlan
from hetdp.neighbors import estimator
from hetdp.neighbors.engines import ENGINES
from hetdp.node import publication
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.storage.ledger import LossLedger
from hetdp.node.storage.store import NodeStore
from hetdp.recommender.parts import Parts
from hetdp.tables import count, mean, release as tables
from tests.support.node_swarm import a_network, identity_of

CHARGES = [(Ledger, "charge"), (Ledger, "charge_people"), (Ledger, "charge_profiles"), (LossLedger, "charge")]
LOOKS = [
    (StretchedPlan, "answers"),
    (WeightClassesPlan, "answers"),
    (DistortionPlan, "answer"),
    (tables, "group_sums"),
    (estimator, "scoring"),
    *((type(engine), "fit") for engine in ENGINES.values()),
    (type(ENGINES["exact"]), "fit"),
    (Parts, "total"),
    (publication, "draw_bits"),
]
DRAWS = [(Stream, "words"), (Stream, "key"), (KeyedWords, "words")]


@pytest.fixture
def written():
    """Write down charges when they have ended, and looks and draws when they begin."""
    calls = []

    def writing(kind, real):
        def call(*given, **more):
            if kind == "charge":
                found = real(*given, **more)
                calls.append(kind)
                return found
            calls.append(kind)
            return real(*given, **more)

        return call

    with ExitStack() as stack:
        for kind, places in (("charge", CHARGES), ("look", LOOKS), ("draw", DRAWS)):
            for where, name in dict.fromkeys(places):
                stack.enter_context(patch.object(where, name, writing(kind, getattr(where, name))))
        yield calls


def assert_in_order(calls, *, looks=True):
    assert calls.count("charge") == 1
    assert calls[0] == "charge", f"{calls[0]} came before the charge"
    assert "draw" in calls
    assert not looks or "look" in calls


TOTAL = stretch(queries.total(Box.uniform(0, 1, size=3)), [1.0, 0.5, 1.0])
CLASSES = weight_classes(queries.total(Box.uniform(0, 1, size=3)), [1.0, 0.5, 1.0])
VISITS = pa.table({"ward": ["er", "icu"] * 50, "who": list(range(100)), "hours": [3.0] * 100})
PEOPLE = Profiles.from_pairs(np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40), np.full(200, 0.8))
NEWCOMERS = Profiles.from_pairs(["ann"], [3])


@pytest.mark.parametrize("mechanism", [TOTAL, CLASSES], ids=["stretched", "weight classes"])
@pytest.mark.parametrize("level", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_release(written, mechanism, level):
    ledger = Ledger(limits=[9.0] * 3, unit=next(iter(level)))
    release(mechanism, [1.0, 0.0, 1.0], ledger=ledger, **level)
    assert_in_order(written)


def test_release_distortion_bound(written):
    release_distortion_bound(TOTAL, epsilon=1.0, ledger=Ledger(limits=[9.0] * 3))
    assert_in_order(written)


@pytest.mark.parametrize("keys", [["er", "icu"], unknown_keys(delta=0.01)], ids=["public keys", "unknown keys"])
def test_release_table(written, keys):
    asked = {"people": count(), "hours": mean("hours", lower=0, upper=9)}
    ledger = Ledger.of_people(limit=9.0)
    release_table(VISITS, asked, epsilon=1.0, by={"ward": keys}, unit="who", ledger=ledger, new_people=True)
    assert_in_order(written)


@pytest.mark.parametrize(
    ("engine", "score"),
    [(name, score) for name, engine in ENGINES.items() for score in engine.scores if score != "squared-cosine"],
)
def test_neighbors(written, engine, score):
    ledger = Ledger.of_profiles(limit=1000.0, delta_limit=0.5, colluders=2)
    model = PrivateNeighbors(2, epsilon=2.0, engine=engine, score=score, delta=0.01, ledger=ledger)
    model.fit(PEOPLE)
    assert_in_order(written)
    written.clear()
    model.kneighbors()
    assert written == []  # what was drawn and charged is shown, and nothing else


def test_lists_for_newcomers(written):
    ledger = Ledger.of_profiles(limit=1000.0, delta_limit=0.5)
    model = PrivateNeighbors(2, epsilon=2.0, ledger=ledger).fit(PEOPLE)
    written.clear()
    model.kneighbors(NEWCOMERS)
    assert_in_order(written, looks=False)
    written.clear()
    model.kneighbors(NEWCOMERS)
    assert written == []


@pytest.mark.parametrize("kind", ["sketch", "matrix"])
@pytest.mark.parametrize("catalogue", ["given", "private"])
def test_models(written, kind, catalogue):
    unit = "rho" if kind == "matrix" else "epsilon"
    ledger = Ledger.of_profiles(limit=1000.0, delta_limit=0.9, unit=unit)
    model = PrivateRecommender(9.0, delta=0.01, release=kind, catalogue=catalogue, ledger=ledger)
    model.fit(PEOPLE)
    assert_in_order(written)
    written.clear()
    model.recommend(2, profiles=NEWCOMERS)
    assert "charge" not in written
    assert "draw" not in written


def test_models_from_parts(written):
    ledger = Ledger.of_profiles(limit=1000.0, delta_limit=0.9)
    model = PrivateRecommender(9.0, catalogue=range(5), head=[0, 1], ledger=ledger)
    model.partial_fit(PEOPLE[:20])
    assert_in_order(written)
    model.partial_fit(PEOPLE[20:])
    assert written.count("charge") == 1  # the same release, of which each person is a part once


def test_publication_of_a_node(written, tmp_path):
    network = a_network(items=40, epsilon=Fraction(1))
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(40)]
    who = identity_of(1)
    with NodeStore.make(tmp_path / "node.db", network, items, default_limit=9.0) as store:
        store.profile.set_dials({1: 100, 2: 40})
        written.clear()
        now_s = network.starts(0) + 1.0
        publication.publish(store, identity=who, network=network, now_s=now_s, uptime=Uptime("boot", now_s))
    # The source of noise is made before, and may be seeded; nothing is drawn from it.
    assert [call for call in written if call != "draw"] == ["charge", "look"]
    assert written.index("draw") > written.index("charge")


def test_a_limit_refuses_before_anything_is_drawn(written):
    model = PrivateNeighbors(2, epsilon=2.0, ledger=Ledger.of_profiles(limit=1.0, delta_limit=0.5))
    with pytest.raises(BudgetExhausted):
        model.fit(PEOPLE)
    assert written == []


#: Commands that spend, on the files of `folder`.
COMMANDS = {
    "release": [
        ("rows.csv", "--query", "mean", "--column", "hours", "--lower", 0, "--upper", 9),
        ("rows.csv", "--aggregate", "mean:hours:0:9", "--unit", "who", "--new-people"),
    ],
    "neighbors": [("likes.csv", "-k", 2)],
    "learn": [("likes.csv", "--catalogue", "items.txt", "-o", "model.hetdp")],
}


@pytest.mark.parametrize("given", [(command, *given) for command in COMMANDS for given in COMMANDS[command]], ids=str)
def test_commands(written, run, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("who,hours\n" + "".join(f"p{row},{row % 9}\n" for row in range(40)))
    Path("likes.csv").write_text("user,item\n" + "".join(f"u{row % 8},i{row % 5}\n" for row in range(40)))
    Path("items.txt").write_text("".join(f"i{item}\n" for item in range(5)))
    code, _, err = run(*given, "--epsilon", 1, "--ledger", "ledger.db", "--quiet")
    assert code == 0, err
    assert_in_order(written, looks=given[0] != "learn")


def test_the_wrong_order_would_be_seen(written):
    release(TOTAL, [1.0, 0.0, 1.0], epsilon=1.0)
    Ledger(limits=[9.0] * 3).charge(np.ones(3), unit="epsilon", description="late", amount=1.0)
    with pytest.raises(AssertionError, match="before the charge"):
        assert_in_order(written)
