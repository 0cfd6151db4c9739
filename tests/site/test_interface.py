"""What the outside sees: names, types, documentation, and what importing costs."""

import importlib
import inspect
import re
import rlcompleter
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from tests.support.errors import refused
from tests.support.public import PUBLIC

import hetdp
from hetdp import errors, mechanisms

every_module = pytest.mark.parametrize("module", [importlib.import_module(name) for name in PUBLIC], ids=PUBLIC)


def names(module):
    """Return the public names of a module; the reference in docs/ lists them, and test_docs.py compares both."""
    return {name for name in importlib.import_module(module).__all__ if not name.startswith("__")}


def public_callables():
    """Every public function and class, and every public method and property that one of them defines; each once."""
    met = set()
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            thing = getattr(module, name)
            known = thing in met if callable(thing) else True
            if known or (inspect.isclass(thing) and issubclass(thing, Exception)):
                continue
            met.add(thing)
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for method, value in vars(thing).items():
                    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                    function = function.fget if isinstance(function, property) else function
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{module.__name__}.{name}.{method}", function


@every_module
def test_public_names_exist(module):
    assert all(hasattr(module, name) for name in module.__all__)


def test_modules_that_are_public_are_found_in_the_package():
    modules = {name.rpartition(".")[2] for name in PUBLIC if name != "hetdp"}
    assert {name for name in hetdp.__all__ if inspect.ismodule(getattr(hetdp, name))} == modules


@every_module
def test_only_what_is_public_is_listed(module):
    assert {*dir(module)} == names(module.__name__)
    with pytest.raises(AttributeError, match=r"attribute '?nothing"):
        _ = module.nothing


def completions(text, names):
    """Return what a Python prompt offers after a text."""
    completer, found = rlcompleter.Completer(names), []
    while (one := completer.complete(text, len(found))) is not None:
        found.append(one.rstrip("()"))
    return {one.removeprefix(text) for one in found}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_prompt_completes_public_names_alone(name):
    """Besides what every module has, such as __doc__."""
    offered = {one for one in completions(f"{name}.", {"hetdp": hetdp}) if not one.startswith("__")}
    assert offered == names(name)


def test_a_notebook_completes_modules_that_were_not_imported():
    pytest.importorskip("jedi", reason="what notebooks complete with")
    script = (
        "import jedi, hetdp\n"
        "for text in ('hetdp.neighbors.', 'hetdp.auditing.', 'hetdp.'):\n"
        "    found = jedi.Interpreter(text, [{'hetdp': hetdp}]).complete()\n"
        "    print(*(one.name for one in found if not one.name.startswith('__')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert offered == [names("hetdp.neighbors"), names("hetdp.auditing"), names("hetdp")]


def test_a_star_imports_what_is_public():
    names = {}
    exec("from hetdp import *", names)  # noqa: S102  (what somebody may type)
    assert set(names) - {"__builtins__"} == set(hetdp.__all__)


@pytest.mark.parametrize("statement", ["import hetdp.queries", "from hetdp.policies import westin"])
def test_public_modules_can_be_imported_by_their_names(statement):
    subprocess.run([sys.executable, "-c", statement], check=True)


def described(text):
    """Return the names that the sections Parameters and Attributes of a docstring describe."""
    found = set()
    for section in re.findall(r"(?ms)^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text):
        for line in section.splitlines():
            if line and not line.startswith(" "):
                found.update(name.strip(" *") for name in line.split(","))
    return found


@pytest.mark.parametrize(
    ("name", "thing"), list(public_callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_everything_public_is_typed_and_documented(name, thing):
    """A function describes its parameters, a class its fields, a method at least speaks of each of its own."""
    owner, _, last = name.rpartition(".")
    text = inspect.getdoc(thing) or inspect.getdoc(inspect.getattr_static(_named(owner), last))
    assert text
    if typing.is_typeddict(thing) or getattr(thing, "_is_protocol", False):
        return
    function = thing.__init__ if inspect.isclass(thing) else thing
    if function is object.__init__:
        return
    # Labels and guarantees know each other, and import each other for types alone.
    hints = typing.get_type_hints(function, localns={"Guarantee": hetdp.Guarantee, "Ledger": hetdp.Ledger})
    a_method = inspect.isclass(_named(owner))
    package = importlib.import_module(thing.__module__.rpartition(".")[0])
    shared = set(re.findall(r"^The `(\w+)` of", package.__doc__ or "", flags=re.MULTILINE))  # described once for all
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls", "_") or parameter.name.startswith("_"):
            continue
        assert parameter.name in hints, f"{name}({parameter.name})"
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        spoken = a_method and re.search(rf"\b{parameter.name}\b", text)
        inherited = a_method and not thing.__doc__  # it is described where it was first defined
        assert spoken or inherited or parameter.name in described(text) | shared, f"{name}({parameter.name})"


def _named(name):
    """Return what a full name stands for."""
    if name in PUBLIC:
        return importlib.import_module(name)
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


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
        *(
            getattr(mechanisms, name)
            for name in mechanisms.__all__
            if inspect.isfunction(getattr(mechanisms, name)) and name != "compare"
        ),
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
    for name in sorted({*errors.__all__} - {"Problem"}):  # a part of an error
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
    with refused(problem="must be a hetdp.Profiles"):
        function("likes.csv")


def test_a_policy_is_not_a_name():
    profiles = hetdp.Profiles.from_pairs([0, 0, 1, 1, 2, 2], ["a", "b"] * 3)
    with refused("policy", "hetdp.policies"):
        hetdp.evaluate(profiles, neighbors=1, policy="westin")
