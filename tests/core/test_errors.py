"""Fields of errors, and what they never hold."""

import pickle

import numpy as np
import pandas as pd
import pytest

from hetdp.core.errors import DataError, InvalidInput, Problem


def test_the_message_is_put_together_from_fields():
    error = InvalidInput("must be smaller than upper", parameter="lower", got=5, hint="Swap them.")
    assert (error.parameter, error.problem, error.got, error.hint) == (
        "lower",
        "must be smaller than upper",
        5,
        "Swap them.",
    )
    assert str(error) == "lower must be smaller than upper (got 5). Swap them."
    assert error.text({"lower": "--lower"}).startswith("--lower must")
    assert str(DataError("File not found: x.csv")) == "File not found: x.csv."


def test_several_problems_are_one_error():
    error = InvalidInput.several([Problem("is required", "lower"), Problem("is required", "upper")])
    assert [problem.parameter for problem in error.problems] == ["lower", "upper"]
    assert str(error).count("\n") == 1


def test_errors_survive_another_process():
    error = pickle.loads(pickle.dumps(DataError("must be a file", parameter="data", got="x")))  # noqa: S301
    assert (type(error), error.parameter, error.got) == (DataError, "data", "x")


@pytest.mark.parametrize(
    "data", [np.array([0.12345, 0.777]), pd.DataFrame({"item": ["hiv"]}), ["hiv"], {"ann": "hiv"}, b"hiv"]
)
def test_data_given_by_mistake_is_named_by_its_type(data):
    error = InvalidInput("must be a number above 0", parameter="epsilon", got=data)
    assert error.got is type(data)
    assert "hiv" not in repr(vars(error)) + str(error)
    assert "0.12" not in str(error)
