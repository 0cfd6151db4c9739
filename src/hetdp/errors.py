"""The public name of `hetdp.core.errors`: every exception and warning, in one tree."""

from hetdp.core.errors import *  # noqa: F403
from hetdp.core.errors import __all__


def __dir__() -> list[str]:
    return sorted(__all__)
