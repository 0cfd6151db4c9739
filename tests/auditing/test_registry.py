"""Everything that makes a promise is audited, wherever it lives."""

import inspect
from typing import get_type_hints

import pytest

from hetdp import mechanisms, queries
from hetdp.auditing import all_mutants, battery, run_battery
from hetdp.auditing.registry import Case
from hetdp.auditing.report import Finding
from hetdp.mechanisms.examples import example_queries, examples
from hetdp.mechanisms.plan import Mechanism
from hetdp.neighbors.engines import ENGINES


@pytest.mark.parametrize("size", ["quick", "full"])
def test_the_names_of_the_battery_tell_its_cases_apart(size):
    names = [(case.name, case.audit) for case in battery(size)]
    assert len(set(names)) == len(names)


def test_there_are_enough_mutants_and_all_are_told_apart():
    found = all_mutants()
    assert len(found) >= 28
    assert len({mutant.name for mutant in found}) == len(found)
    assert {mutant.caught_by for mutant in found} == {
        *("statistical", "noise scale", "replay", "sampler", "floating point", "ledger")
    }


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
    names = " ".join(example.name for example in examples())
    for name in makers(mechanisms, Mechanism):
        assert name in names or name == "stretch", f"{name} has no example: see hetdp.mechanisms.examples"


def test_every_query_has_an_example():
    assert len(example_queries()) >= 30
    assert set(kinds(queries.Query)) <= {type(query) for query in example_queries().values()}
    for name in makers(queries, queries.Query):
        words = name.replace("_", " ")
        assert any(example.startswith(words) for example in example_queries()), f"{name} has no example"


@pytest.mark.parametrize("room", [*(f"{engine} engine" for engine in ENGINES), "recommendations", "node"])
def test_every_engine_and_the_node_have_cases_of_both_kinds(room):
    audits = {case.audit for case in battery("quick") if case.name.startswith(room)}
    assert {"statistical", "replay"} <= audits


def test_a_battery_tells_how_far_it_is_and_keeps_what_it_knows():
    def run(seed):
        if len(seeds) == 2:
            raise KeyboardInterrupt
        seeds.append(seed)
        return Finding("replay", "x", "no violation found", "Words.")

    seeds, told = [], []
    cases = [Case(f"case {number}", "replay", run) for number in range(4)]
    report = run_battery(cases, [], seed=5, progress=lambda share, what: told.append((share, what)))
    assert told == [(0.25, "case 0"), (0.5, "case 1")]
    assert (report.done, report.planned, report.verdict) == (2, 4, "no violation found")
    assert not report.to_dict()["complete"]
    again = run_battery(cases[:1], [], seed=5)
    assert again.seed == report.seed
