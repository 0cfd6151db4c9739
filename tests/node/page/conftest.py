"""Nodes with a page."""

import pytest
from tests.support.page_node import PageNodes


@pytest.fixture(scope="session")
def all_nodes(tmp_path_factory):
    return PageNodes(tmp_path_factory.mktemp("page"))


@pytest.fixture
def nodes(all_nodes):
    """Make nodes: `nodes.new(...)`, `nodes.lived_in(...)`."""
    yield all_nodes
    all_nodes.close()
