"""The public name of `hetdp.profiles.policies`: how people choose privacy weights, as assumptions for simulations."""

from hetdp.profiles.policies import *  # noqa: F403
from hetdp.profiles.policies import __all__


def __dir__() -> list[str]:
    return sorted(__all__)
