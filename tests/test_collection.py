"""Tests that silently stop being collected protect nobody."""

import pytest

pytestmark = pytest.mark.slow

#: Raise it when tests are added; never lower it without saying why in the commit.
AT_LEAST = 8_000


def test_the_number_of_collected_tests_does_not_drop(request):
    config = request.config
    whole = [str(config.rootpath / path) for path in config.getini("testpaths")]
    asked = [str(config.rootpath / path) for path in config.args]
    if asked != whole or config.getoption("keyword") or config.getoption("markexpr"):
        pytest.skip("only some of the tests were asked for")
    assert len(request.session.items) >= AT_LEAST
