"""The page of exit codes says what the command line does."""

import ast
import re
from pathlib import Path

from hetdp import errors
from hetdp.cli import interrupts, main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit_codes.md"


def codes_of(module):
    """Every whole number that a module gives a name in capitals."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name.id.isupper()
    }
    return {code for name in names if isinstance(code := getattr(module, name), int)}


def rows(heading):
    """The first two cells of each row of the first table after a heading."""
    text = PAGE.read_text(encoding="utf-8").partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:3]] for line in table[0].splitlines()[2:]]


def test_every_code_has_its_row():
    told = {int(code) for code, _ in rows("# Exit codes")}
    assert told == {0, 1} | codes_of(main) | codes_of(interrupts)
    assert codes_of(main) == {2, 3, 4, 5, 6}
    assert codes_of(interrupts) == {130, 143}


def test_every_exception_has_the_code_that_the_page_says():
    told = {name: int(code) for names, code in rows("## In Python") for name in re.findall(r"`(\w+)`", names)}
    kinds = {name: getattr(errors, name) for name in errors.__all__}
    raised = {name: kind for name, kind in kinds.items() if issubclass(kind, errors.HetdpError)}
    assert set(told) == set(raised) - {"HetdpError"}
    for name, code in told.items():
        error = raised[name].__new__(raised[name])
        assert main.exit_code(error) == code, name
