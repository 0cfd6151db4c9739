"""What the outside sees: names, types, documentation, and what importing costs."""

import inspect
import subprocess
import sys
import typing

import pytest

import hetdp
from hetdp import errors, mechanisms, queries

EXPECTED_NAMES = [
    "Box",
    "BudgetExhausted",
    "Guarantee",
    "Ledger",
    "PrivacyWeights",
    "PrivateNeighbors",
    "Profiles",
    "Release",
    "Stretched",
    "WeightPrior",
    "__version__",
    "audit",
    "best_multiplier",
    "compare",
    "coverage",
    "datasets",
    "discrete_gaussian",
    "discrete_laplace",
    "errors",
    "falsify",
    "mechanisms",
    "ndcg",
    "plan",
    "policies",
    "precision",
    "queries",
    "recall",
    "release",
    "release_distortion_bound",
    "split",
    "stretch",
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


@pytest.mark.parametrize(
    ("name", "thing"), list(public_callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_everything_public_is_typed_and_says_what_it_means_for_privacy(name, thing):
    documentation = inspect.getdoc(thing) or ""
    # Methods of a query are documented as a family by their class.
    assert "Privacy\n-------" in documentation or thing.__qualname__.startswith("Query."), name
    assert documentation
    function = thing.__init__ if inspect.isclass(thing) else thing
    hints = typing.get_type_hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in ("self", "cls", "_"):
            assert parameter.name in hints, f"{name}({parameter.name})"


def test_every_error_descends_from_one():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.HetdpError | errors.HetdpWarning)
        assert kind.__doc__
    assert issubclass(errors.InvalidInput, ValueError)
    assert hetdp.BudgetExhausted is errors.BudgetExhausted


@pytest.mark.parametrize("statement", ["import hetdp", "from hetdp.app.cli import main; main(['--help'])"])
def test_importing_loads_nothing_heavy(statement):
    script = (
        f"import sys, contextlib\nwith contextlib.suppress(SystemExit):\n    {statement}\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'pyarrow', 'pandas', 'cryptography', 'rich', 'polars', 'narwhals'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("loaded: []")


def test_one_release_does_not_wait_for_a_compiler():
    script = (
        "import sys, hetdp\n"
        "stretched = hetdp.stretch(hetdp.queries.total(hetdp.Box([0], [1])), [1.0])\n"
        "hetdp.release(stretched, [1], epsilon=1.0)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
