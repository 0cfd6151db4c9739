"""Where people would rather look: cards in notebooks, charts that stay altair's, and files that follow the dark."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.pictures.chart import Picture
    from hetdp.pictures.files import save

__all__ = ["Picture", "save"]

__getattr__, __dir__ = attach(__name__, {"chart": ("Picture",), "files": ("save",)})
