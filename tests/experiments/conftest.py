"""A small crowd and a small sweep, so that tests of the machinery take seconds."""

import pytest

from hetdp.core.randomness import seeded_stream
from hetdp.experiments.configurations import fingerprint
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings
from hetdp.profiles import Profiles


def small_profiles(users=40, items=80, per_user=14, kinds=4, seed=1):
    """Return people of four kinds, who mostly have items of their own kind."""
    draws = seeded_stream(seed).uniforms(2 * users * per_user).reshape(-1, 2)
    owners = [user for user in range(users) for _ in range(per_user)]
    each = items // kinds
    chosen = []
    for user, (stray, place) in zip(owners, draws, strict=True):
        kind = user % kinds if stray < 0.95 else int(stray * 1000) % kinds
        chosen.append(kind * each + int(place * each))
    pairs = sorted(set(zip(owners, chosen, strict=True)))
    return Profiles.from_pairs(*zip(*pairs, strict=True), item_ids=list(range(items)))


@pytest.fixture(scope="session")
def crowd():
    profiles = small_profiles()
    return DataSet("crowd", profiles, fingerprint(profiles))


@pytest.fixture(scope="session")
def crowd_file(tmp_path_factory, crowd):
    users, items, _ = crowd.profiles.to_pairs()
    path = tmp_path_factory.mktemp("crowd") / "crowd.csv"
    lines = [f"{user},{item}" for user, item in zip(users, items, strict=True)]
    path.write_text("\n".join(["user,item", *lines, ""]))
    return path


@pytest.fixture
def small_settings():
    return SweepSettings(
        data=("crowd",),
        runs=2,
        k=4,
        cycles=5,
        epsilons=(0.5, 3.0),
        engine_epsilons=(1.0, 10.0),
        lower=(0.0, 0.5, 0.9),
        slices=(1, 2, 4),
        pragmatists=(0.2,),
        unconcerned=(0.2, 0.6, 0.9),
        per=("item",),
    )
