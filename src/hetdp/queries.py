"""The public name of `hetdp.mechanisms.queries`: what can be asked of numbers."""

from hetdp.mechanisms.queries import *  # noqa: F403
from hetdp.mechanisms.queries import __all__


def __dir__() -> list[str]:
    return sorted(__all__)
