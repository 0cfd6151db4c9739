"""What the outside sees: names, types, documentation, and what importing costs."""

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import hetdp
from hetdp import auditing, errors, evaluation, mechanisms, neighbors, queries

ROOT = Path(__file__).parents[1]
EXPECTED_NAMES = [
    "Box",
    "BudgetExhausted",
    "Categories",
    "Guarantee",
    "Ledger",
    "PrivacyWeights",
    "PrivateNeighbors",
    "PrivateRecommender",
    "Profiles",
    "Release",
    "Stretched",
    "TableAnswer",
    "WeightPrior",
    "__version__",
    "audit",
    "best_multiplier",
    "compare",
    "count",
    "coverage",
    "datasets",
    "discrete_gaussian",
    "discrete_laplace",
    "errors",
    "evaluate",
    "falsify",
    "mean",
    "mechanisms",
    "ndcg",
    "plan",
    "plan_table",
    "policies",
    "precision",
    "queries",
    "recall",
    "release",
    "release_by_dial",
    "release_distortion_bound",
    "release_table",
    "split",
    "stretch",
    "total",
    "unknown_keys",
    "variance",
]


def public_callables():
    """Every public function and class, and every public method that one of them defines."""
    for module in (hetdp, hetdp.datasets, queries, mechanisms):
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
                continue
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for method, value in vars(thing).items():
                    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{module.__name__}.{name}.{method}", function


def test_the_public_names_are_pinned():
    assert hetdp.__all__ == EXPECTED_NAMES
    assert all(hasattr(hetdp, name) for name in hetdp.__all__)


@pytest.mark.parametrize("module", [hetdp, evaluation, neighbors], ids=lambda module: module.__name__)
def test_only_what_is_public_is_listed(module):
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


ROOMS = {
    mechanisms: "maximum median minimum mode quantile sample sketch stretch threshold uniform",
    queries: """
        Query count custom exhaustive histogram l0 linear logistic maximum mean minimum norm power scalar_product
        squared_norm total variance""",
    auditing: """
        AuditInterrupted AuditPlan AuditReport AuditRow BatteryReport Finding Reached all_mutants audit battery
        catch_all floating_point_audit plan_audit plan_samples replay_audit run_battery run_cases sampler_audit
        scale_audit timing_audit worst_pair""",
    evaluation: """
        Evaluation coverage ease evaluate judge judge_per_user ndcg popularity precision private_popularity
        random_neighbors recall recall_per_user same_neighbors true_neighbors""",
    neighbors: """
        ENGINES SCORES PrivateNeighbors estimate items_to_stand_out sketch_items_to_stand_out split_epsilon""",
}


@pytest.mark.parametrize("module", ROOMS, ids=lambda module: module.__name__)
def test_the_names_of_the_rooms_are_pinned(module):
    assert module.__all__ == ROOMS[module].split()
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize(
    ("name", "thing"), list(public_callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_everything_public_is_typed_and_documented(name, thing):
    assert inspect.getdoc(thing)
    function = thing.__init__ if inspect.isclass(thing) else thing
    hints = typing.get_type_hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in ("self", "cls", "_"):
            assert parameter.name in hints, f"{name}({parameter.name})"


@pytest.mark.parametrize(
    "thing",
    [
        hetdp.Guarantee,
        hetdp.Ledger,
        hetdp.Ledger.charge,
        hetdp.PrivateNeighbors,
        hetdp.PrivateRecommender,
        hetdp.PrivateRecommender.fit,
        hetdp.PrivateRecommender.recommend,
        hetdp.PrivateNeighbors.fit,
        hetdp.PrivateNeighbors.recommend,
        hetdp.Release,
        hetdp.audit,
        hetdp.discrete_gaussian,
        hetdp.discrete_laplace,
        hetdp.evaluate,
        hetdp.release,
        hetdp.release_distortion_bound,
        hetdp.release_table,
        hetdp.TableAnswer,
        hetdp.unknown_keys,
        hetdp.stretch,
        *(getattr(mechanisms, name) for name in mechanisms.__all__ if inspect.isfunction(getattr(mechanisms, name))),
    ],
    ids=lambda thing: thing.__qualname__,
)
def test_what_makes_a_promise_states_it(thing):
    assert "Privacy\n-------" in inspect.getdoc(thing)


def test_no_privacy_section_is_empty_words():
    sections = re.compile(r"\n( *)Privacy\n\1-{3,}\n(?:\1[^\n]*\n|\n)*?(?=\1[A-Z][a-z]+\n\1-{3,}\n|\1\"\"\")")
    empty = re.compile(r"(?i)^(all )?(public|not applicable|as above|as (for )?the class|local|see the class)[^a-z]*$")
    for path in Path(hetdp.__file__).parent.rglob("*.py"):
        for section in sections.finditer(path.read_text()):
            text = " ".join(section.group().split()[2:])
            assert not empty.match(text), f"{path.name}: {text}"


def test_every_error_descends_from_one():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.HetdpError | errors.HetdpWarning)
        assert kind.__doc__
    assert issubclass(errors.InvalidInput, ValueError)
    assert hetdp.BudgetExhausted is errors.BudgetExhausted


@pytest.mark.parametrize("statement", ["import hetdp", "from hetdp.cli.main import main; main(['--help'])"])
def test_importing_loads_nothing_heavy(statement):
    script = (
        f"import sys, contextlib\nwith contextlib.suppress(SystemExit):\n    {statement}\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'pyarrow', 'pandas', 'cryptography', 'rich', 'polars', 'narwhals'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("loaded: []")


WITHOUT_PANDAS = """
import doctest, sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
print("failed:", doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags).failed)
"""


def test_the_readme_needs_no_pandas():
    command = [sys.executable, "-c", WITHOUT_PANDAS, ROOT / "README.md"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "failed: 0"


def test_one_release_does_not_wait_for_a_compiler():
    script = (
        "import sys, hetdp\n"
        "stretched = hetdp.stretch(hetdp.queries.total(hetdp.Box([0], [1])), [1.0])\n"
        "hetdp.release(stretched, [1], epsilon=1.0)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("function", [hetdp.evaluate, hetdp.split, hetdp.datasets.describe])
def test_a_path_is_not_taken_for_profiles(function):
    with pytest.raises(errors.InvalidInput, match=r"must be a hetdp\.Profiles, as Profiles\.read"):
        function("likes.csv")


def test_a_policy_is_not_a_name():
    profiles = hetdp.Profiles.from_pairs([0, 0, 1, 1, 2, 2], ["a", "b"] * 3)
    with pytest.raises(errors.InvalidInput, match=r"policy must be one of hetdp\.policies"):
        hetdp.evaluate(profiles, neighbors=1, policy="westin")
