"""A cluster learns what one process learns, bit for bit, whoever dies on the way."""

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.errors import refused

from hetdp import PrivateRecommender, Profiles
from hetdp.core.errors import DataError
from hetdp.recommender.cluster import ClusterParts
from hetdp.recommender.parts import Parts

pytestmark = [pytest.mark.network, pytest.mark.slow]
# Dask's own servers warn about sockets when they close.
careless = pytest.mark.filterwarnings("default")


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(5)
    for part in range(12):
        people = np.repeat(np.arange(40 * part, 40 * part + 40), 6)
        items = random.integers(0, 60, people.size)
        table = pa.table({"user": people, "item": items, "weight": random.integers(0, 2, people.size).astype(float)})
        pq.write_table(
            table.group_by(["user", "item"]).aggregate([("weight", "max")]).rename_columns(["user", "item", "weight"]),
            tmp_path / f"{part}.parquet",
        )
    return sorted(tmp_path.glob("*.parquet"))


def a_cluster(**options):
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    return distributed.LocalCluster(
        threads_per_worker=1,
        protocol="tcp://",  # as between machines: what is sent is pickled, also by workers in this process
        dashboard_address=None,
        silence_logs=50,
        **options,
    )


@pytest.fixture(scope="module")
def address():
    with a_cluster(n_workers=2, processes=False) as cluster:
        yield cluster.scheduler_address


def fitted(parts, **settings):
    settings = {"catalogue": list(range(60)), "n_head": 20, **settings}
    return PrivateRecommender(2, random_state=7, **settings).fit(parts)._public


def same(one, two):
    np.testing.assert_array_equal(one.item_ids, two.item_ids)
    np.testing.assert_array_equal(one.head, two.head)
    np.testing.assert_array_equal(one.counts, two.counts)
    for name, array in one.model.arrays().items():
        np.testing.assert_array_equal(array, two.model.arrays()[name])


@careless
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_head": 60}, {"catalogue": "private", "delta": 0.1}, {"release": "matrix"}],
    ids=str,
)
def test_a_cluster_learns_what_one_process_learns(files, address, settings):
    parts = ClusterParts(files, address)
    try:
        found = fitted(parts, **settings)
    finally:
        parts.close()
    same(found, fitted(Parts(files), **settings))
    same(found, fitted(Parts(files[::-1]), **settings))


@careless
def test_a_worker_that_is_killed_leaves_no_trace(files, tmp_path):
    """The only worker, a process of its own: all sums so far are lost with it, and the next one begins anew."""
    died = tmp_path / "died"

    def read(path):
        """Read a file; whoever is the first to read the seventh is killed half way, with all that it has done."""
        profiles = Profiles.read(path)
        if Path(path) == files[6] and not died.exists():
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return profiles

    with a_cluster(n_workers=1, processes=True) as cluster:
        parts = ClusterParts(files, cluster.scheduler_address, read)
        try:
            found = fitted(parts)
        finally:
            parts.close()
    assert died.exists()
    assert int(died.read_text()) != os.getpid()
    same(found, fitted(Parts(files)))


@careless
def test_a_person_in_two_files_is_refused_as_everywhere(files, address, tmp_path):
    again = tmp_path / "again.parquet"
    again.write_bytes(files[0].read_bytes())
    parts = ClusterParts([*files, again], address)
    try:
        with refused(problem="40 people came before", kind=DataError):
            fitted(parts)
    finally:
        parts.close()
    with refused(problem="40 people came before", kind=DataError):
        fitted(Parts([*files, again]))


def test_bad_input_is_refused(files):
    with refused("parts"):
        ClusterParts([Profiles.read(files[0])], "tcp://127.0.0.1:9")
    with refused(problem="File not found", kind=DataError):
        ClusterParts(["nowhere.parquet"], "tcp://127.0.0.1:9")
    pytest.importorskip("distributed", reason="needs dask[distributed]")
    with refused("address", "Dask scheduler that answers"):
        ClusterParts(files, "tcp://127.0.0.1:9", timeout_s=1.0)
