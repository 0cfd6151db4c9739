"""Data sets: three that are built in, files of common formats, and where to get public ones."""

from hetdp.experiments.datasets.built_in import BUILT_IN, delicious_like, digg_like, survey_like
from hetdp.experiments.datasets.public import PUBLIC, PublicSet
from hetdp.experiments.datasets.statistics import Statistics, describe
from hetdp.profiles import Profiles

__all__ = [
    "BUILT_IN",
    "PUBLIC",
    "PublicSet",
    "Statistics",
    "delicious_like",
    "describe",
    "digg_like",
    "load",
    "survey_like",
]

#: `Profiles.read` under the name that goes with data sets.
load = Profiles.read


def __dir__() -> list[str]:
    return sorted(__all__)
