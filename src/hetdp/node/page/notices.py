"""What needs the owner, on every page: what happened, what it means, when the node publishes again, what to do."""

from dataclasses import dataclass

from hetdp.node.handle import EpochClock, NodeHandle
from hetdp.node.happenings import happening
from hetdp.node.words import moment_words

__all__ = ["OwnerNotice", "needs_owner"]

_HAPPENED = ("/network#happened", "What happened")


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """Something that needs the owner; `link` is where to do something about it. Names no item and no dial."""

    title: str
    text: str
    link: tuple[str, str] = _HAPPENED


def needs_owner(node: NodeHandle, clock: EpochClock) -> list[OwnerNotice]:
    """Return what needs the owner now."""
    mode, found = node.store.mode.get(), []
    if clock.why in {"behind", "skipped"} and clock.next_draw_s is not None:
        again = moment_words(clock.next_draw_s, clock.now_s)
        found.append(OwnerNotice("No sketch is drawn now.", f"{clock.why_words} The next one comes {again}."))
    elif mode == "paused":
        found.append(
            OwnerNotice(
                "Your node is paused.",
                "No sketch of you is drawn, and nothing is spent, until you resume.",
                ("/data#pause", "Resume"),
            )
        )
    elif mode == "stopped":
        met = node.store.events.newest("twin")
        words = "" if met is None else happening(met)
        found.append(OwnerNotice("Your node has stopped publishing.", words, ("/data#pause", "What to do")))
    elif mode == "closed":
        found.append(
            OwnerNotice("This node is closed.", "It has moved or has left the network, and publishes nothing any more.")
        )
    return found
