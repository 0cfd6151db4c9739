"""What needs the owner, on every page: what happened, what it means, when the node publishes again, what to do."""

from dataclasses import dataclass

from hetdp.node.handle import NodeHandle
from hetdp.node.happenings import happening

__all__ = ["OwnerNotice", "needs_owner"]

_HAPPENED = ("/network#happened", "What happened")


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """Something that needs the owner; `link` is where to do something about it. Names no item and no dial."""

    title: str
    text: str
    link: tuple[str, str] = _HAPPENED


def needs_owner(node: NodeHandle) -> list[OwnerNotice]:
    """Return what needs the owner now."""
    mode, found = node.store.mode.get(), []
    if mode == "paused":
        found.append(
            OwnerNotice(
                "Your node is paused.",
                "No sketch of you is drawn, and nothing is spent, until you resume.",
                ("/data#pause", "Resume"),
            )
        )
    elif mode == "stopped":
        met = node.store.events.newest("twin")
        found.append(OwnerNotice("Your node has stopped publishing.", "" if met is None else happening(met)))
    elif mode == "closed":
        found.append(
            OwnerNotice("This node is closed.", "It has moved or has left the network, and publishes nothing any more.")
        )
    return found
