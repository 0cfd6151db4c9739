"""Data sets: three that are built in, files of common formats, and where to get public ones.

`hetdp.datasets` is the public name of `hetdp.experiments.datasets`.
"""

from hetdp.experiments.datasets import (
    BUILT_IN,
    PUBLIC,
    PublicSet,
    Statistics,
    delicious_like,
    describe,
    digg_like,
    load,
    survey_like,
)

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
