"""Everything that makes a promise is in the registry, and every entry has its checks."""

import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

import hetdp
from hetdp import mechanisms, queries
from hetdp.auditing import battery, run_battery
from hetdp.auditing.audit_all import Case
from hetdp.auditing.examples import example_queries, examples
from hetdp.auditing.report import Finding
from hetdp.cli import main as cli_main
from hetdp.core.estimator import Estimator
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import SCORES
from tests.privacy import test_commands, test_order, test_weight_zero_commands
from tests.privacy.registry import (
    ATTAINED,
    CASES,
    COMMANDS,
    LEDGER,
    METHODS,
    NOTHING_RELEASED,
    OF_AUDITS,
    VARIANTS,
    WAYS,
)

NAMES = [(case.name, case.audit) for case in CASES]
SHIPPED = {(case.name, case.audit) for case in battery("full")}


def public_ways():
    """Every public function, and every public method of an estimator, by the name that an entry has."""
    for name in hetdp.__all__:
        thing = getattr(hetdp, name)
        if inspect.ismodule(thing) or not callable(thing) or name in NOTHING_RELEASED or thing is hetdp.Ledger:
            continue
        if inspect.isclass(thing) and issubclass(thing, Estimator):
            own = {method for method in vars(thing) if not method.startswith("_") and callable(getattr(thing, method))}
            yield from (f"{name}.{method}" for method in sorted(own) if f"{name}.{method}" not in METHODS)
        else:
            yield f"hetdp.{name}"
    yield "node, publication"


def test_every_public_way_has_an_entry():
    assert set(public_ways()) == set(WAYS)
    assert set(NOTHING_RELEASED) <= set(hetdp.__all__)
    for method in METHODS:
        owner, _, name = method.partition(".")
        assert hasattr(getattr(hetdp, owner), name), f"{method} is no longer public"


@pytest.mark.parametrize("way", WAYS)
def test_every_entry_has_its_checks(way):
    entry = WAYS[way]
    for name in entry.audited:
        assert name.startswith(way)
        assert (name, "noise scale") in SHIPPED
    assert entry.weight_zero is None or (entry.weight_zero, "replay") in SHIPPED
    assert inspect.isfunction(getattr(test_order, entry.order))
    assert entry.broken


def test_every_charge_of_a_ledger_is_audited():
    charges = {name for name in vars(hetdp.Ledger) if name.startswith("charge")}
    assert charges == set(LEDGER)
    assert {(case, "ledger") for case in LEDGER.values()} <= SHIPPED


def test_every_command_has_an_entry_or_releases_nothing():
    assert set(cli_main.COMMANDS) == set(COMMANDS)
    for command, ways in COMMANDS.items():
        assert set(ways) <= set(WAYS)
        if ways and command != "node":  # a node publishes in its own process: the library's publication is measured
            assert any(name.startswith(f"test_{command}") for name in vars(test_commands))
            assert command in test_order.COMMANDS
            assert command in test_weight_zero_commands.WALKS


def test_every_broken_variant_belongs_to_an_entry_or_tests_an_audit():
    names = [variant.name for variant in VARIANTS]
    assert len(set(names)) == len(names)
    listed = {name for entry in WAYS.values() for name in entry.broken}
    assert listed | {variant.name for variant in OF_AUDITS} == set(names)
    assert {variant.caught_by for variant in VARIANTS} == {audit for _, audit in SHIPPED}


def test_every_engine_and_every_score_is_audited():
    for engine in ENGINES:
        for audit in ("noise scale", "statistical", "replay"):
            assert (f"PrivateNeighbors.kneighbors, {engine}", audit) in SHIPPED
        for audit in ("statistical", "replay"):
            assert any(name.startswith(f"{engine} engine") and kind == audit for name, kind in NAMES)
    for score in SCORES:
        assert score == "overlap" or any(name.endswith(score) and kind == "noise scale" for name, kind in NAMES)


@pytest.mark.parametrize("size", ["quick", "full"])
def test_the_names_of_cases_tell_them_apart(size):
    names = [(case.name, case.audit) for case in battery(size)]
    assert len(set(names)) == len(names)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("size", ["quick", "full"])
def test_every_example_is_audited_in_both_ways(size):
    audited = {(case.name, case.audit) for case in battery(size)}
    for example in examples():
        assert {(example.name, "statistical"), (example.name, "replay")} <= audited
        if example.gaussian and size == "full":
            assert (f"{example.name}, Gaussian", "replay") in audited


def kinds(base):
    """Every class that can be made, below a base class."""
    for kind in base.__subclasses__():
        yield from kinds(kind)
        if not inspect.isabstract(kind) and kind.__module__.startswith("hetdp."):
            yield kind


def makers(module, kind):
    """Return the names of the public functions of a module that return something of a kind; there are several."""
    functions = {name: getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    found = [name for name, make in functions.items() if issubclass(get_type_hints(make)["return"], kind)]
    assert len(found) > 5
    return found


def test_every_mechanism_has_an_example():
    made = {type(example.mechanism) for example in examples()}
    assert set(kinds(Mechanism)) <= made
    names = " ".join(example.name for example in examples()).replace(" ", "_")
    for name in makers(mechanisms, Mechanism):
        assert name in names or name == "stretch", f"{name} has no example: see hetdp.auditing.examples"


def test_every_query_has_an_example():
    assert len(example_queries()) >= 30
    assert set(kinds(queries.Query)) <= {type(query) for query in example_queries().values()}
    for name in makers(queries, queries.Query):
        words = name.replace("_", " ")
        assert any(example.startswith(words) for example in example_queries()), f"{name} has no example"


def test_a_run_of_all_cases_tells_how_far_it_is_and_keeps_what_it_knows():
    def run(seed):
        if len(seeds) == 2:
            raise KeyboardInterrupt
        seeds.append(seed)
        return Finding("replay", "x", "no violation found", "Words.")

    seeds, told = [], []
    cases = [Case(f"case {number}", "replay", run) for number in range(4)]
    report = run_battery(cases, seed=5, progress=lambda share, what: told.append((share, what)))
    assert told == [(0.25, "case 0"), (0.5, "case 1")]
    assert (report.done, report.planned, report.verdict) == (2, 4, "no violation found")
    assert not report.to_dict()["complete"]
    again = run_battery(cases[:1], seed=5)
    assert again.seed == report.seed


def test_docs_list_where_a_promise_is_attained():
    text = (Path(__file__).parents[2] / "docs" / "guide" / "auditing.md").read_text()
    for name in ATTAINED:
        assert name in text
