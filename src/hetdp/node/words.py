"""Numbers in plain words, for page and commands: what a dial means, how odds change, how sure a likeness is, when."""

import math
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from hetdp.core.text import agreeing, duration
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.sketches import plausible_ones
from hetdp.node.recommendations import Recommendation
from hetdp.node.storage.ledger import most_steps
from hetdp.sketching.bit_law import most_odds_factor
from hetdp.sketching.reading import RARE

#: Lowest dial of each kind -> its name.
DIAL_NAMES: dict[int, str] = {
    0: "Hidden",
    1: "Barely",
    20: "A little",
    45: "Half",
    65: "Mostly",
    100: "Full",
}
#: Dials that can be set for a whole group at once.
PRESETS = ((0, "Hidden"), (25, "A little"), (50, "Half"), (100, "Full"))

#: What epsilon means, in the same words wherever it appears.
EPSILON_WORDS = (
    "ε (epsilon) says how much a sketch may give away about one item. ε 1 changes anyone's odds that you have it at "
    "most 2.7-fold, ε 3 at most 20-fold, and ε 0 not at all. What several sketches give away adds up."
)

_HOUR_S = 3600
_MILLION = 1_000_000
#: Beyond it, everybody who kept the sketches is certain whatever they believed before.
HUGE_LIMIT = 100.0


def dial_name(dial: int) -> str:
    """Return the name of a dial's place."""
    return DIAL_NAMES[max(lowest for lowest in DIAL_NAMES if dial >= lowest)]


def dial_effect(dial: int, epsilon: Fraction) -> str:
    """Say what a dial means for the curious: per epoch, odds change by at most exp(epsilon * dial / 100)."""
    if dial == 0:
        return "No trace of it anywhere: nobody learns anything. Only what is recommended to you takes note of it."
    most = most_odds_factor(epsilon, dial / FULL_DIAL)
    return f"A sketch changes anyone's odds that you have it at most {factor_words(most)}."


def factor_words(factor: float) -> str:
    """Return a factor of at least 1 as "2.5-fold"."""
    if factor >= _MILLION:
        return "more than a million-fold"
    if factor >= 9.95:  # noqa: PLR2004  (where one decimal would round to two digits)
        return f"{factor:,.0f}-fold"
    return f"{factor:.2g}-fold"


def updated_chance(before: float, factor: float) -> float:
    """Return the chance after odds were multiplied by a factor."""
    return before * factor / (1.0 - before + before * factor)


def percent_words(chance: float) -> str:
    """Return a chance in percent, never rounded to certainty."""
    percent = 100.0 * chance
    if percent < 0.1:  # noqa: PLR2004  (percent)
        return "under 0.1 %"
    if percent > 99.9:  # noqa: PLR2004  (percent)
        return "over 99.9 %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.3g} %"  # noqa: PLR2004  (percent)


def certainty_words(limit: float) -> str:
    """Say what a lifetime limit means: how sure somebody who kept all sketches could be once it is reached.

    Odds change by at most exp(limit) in a lifetime.
    """
    if limit > HUGE_LIMIT:
        return "That is as good as no limit."
    before = 0.01
    chance = updated_chance(before, math.exp(limit))
    if chance > 1.0 - before:
        return "By then somebody who kept all sketches could be all but sure whether you have it."
    return (
        f"By then somebody who kept all sketches and believed {percent_words(before)} before could be "
        f"{percent_words(float(f'{chance:.2g}'))} sure that you have it."
    )


def chance_words(by_chance: float) -> str:
    """Say how sure a likeness is, from how likely the best of all candidates does as well by chance alone."""
    if by_chance < RARE / 50.0:
        return "clearly like you"
    return "probably like you" if by_chance < RARE else "may be chance"


def votes_words(about: int, voters: int, asked: int, by_chance: float) -> str:
    """Say how many of the people like the owner seem to have an item, and what that is worth.

    Where it may be chance, it says in how many blurred sketches the item shows, and that this is too little to tell.
    """
    if by_chance >= RARE:
        where = (
            "in the blurred sketch of the one person like you"
            if asked == 1
            else f"in {voters} of {asked} blurred sketches of people like you"
        )
        return f"It shows {where}: too little to tell it from chance"
    if about >= asked:
        who = {1: "The one person like you seems", 2: "Both people like you seem"}.get(
            asked, f"All {asked} people like you seem"
        )
    else:
        who = f"About {about} of {asked} people like you {agreeing(about, 'seems', 'seem')}"
    return f"{who} to have it" + ("" if by_chance < RARE / 50.0 else ", probably not by chance")


def because_words(titles: Sequence[str]) -> str:
    """Say which own items speak most for a recommendation; with none, many people have it."""
    if not titles:
        return "Many people seem to have it"
    *others, last = titles
    return f"Because you have {', '.join(others)} and {last}" if others else f"Because you have {last}"


def reason_words(found: Recommendation) -> str:
    """Say why something is recommended: how many neighbours seem to have it, or which own items speak for it."""
    vote = found.vote
    if vote is None:
        return because_words([item.title for item in found.because])
    about = max(1, min(round(vote.votes), vote.voters))
    return votes_words(about, vote.voters, vote.asked, vote.by_chance)


def moment_words(moment_s: float, now_s: float) -> str:
    """Return a moment as the clock on the wall shows it."""
    moment, now = (datetime.fromtimestamp(seconds).astimezone() for seconds in (moment_s, now_s))
    days = (moment.date() - now.date()).days
    day = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(days) or f"{moment.day} {moment:%b}"
    precise = abs(moment_s - now_s) < _HOUR_S
    return f"{day} {moment:%H:%M:%S}" if precise else f"{day} {moment:%H:%M}"


_DAY_S = 86400
_MUCH = 5


def cost_facts(network: NetworkParameters, limit: float) -> dict[str, Any]:
    """Return what an item at full weight loses, at most, and by when."""
    epochs = most_steps(limit, network.epsilon) // FULL_DIAL
    return {
        "epsilon_per_epoch": float(network.epsilon),
        "epoch_length_s": network.epoch_length_s,
        "lifetime_limit": limit,
        "epochs_at_full_weight": epochs,
        "limit_spent_after_s": epochs * network.epoch_length_s,
    }


def cost_warnings(facts: dict[str, Any]) -> list[str]:
    """Return what somebody should think about before taking part."""
    epsilon, epochs, seconds = (
        facts[name] for name in ("epsilon_per_epoch", "epochs_at_full_weight", "limit_spent_after_s")
    )
    found = []
    if epsilon > _MUCH:
        factor = f"{math.exp(epsilon):,.0f}-fold" if epsilon < 13 else "more than 400,000-fold"  # noqa: PLR2004
        found.append(
            f"Epsilon {epsilon:g} per epoch is a lot: one sketch can change anyone's odds that you have an item "
            f"{factor}."
        )
    if not epochs:
        found.append("The lifetime limit is below one epoch at full weight: such an item never counts.")
    elif seconds < _DAY_S:
        found.append(
            f"At full weight the lifetime limit is spent after {duration(seconds)}, within a day; then an item no "
            "longer counts."
        )
    return found


def network_warnings(network: NetworkParameters) -> list[str]:
    """Return what whoever makes a network should know about its parameters."""
    found = []
    if plausible_ones(network.epsilon, network.items, network.most_items, network.tuned_for)[1] >= network.items:
        found.append(
            "So small a catalogue, so large a profile or so small an epsilon that a sketch of ones cannot be told from "
            "an honest one: whoever publishes one looks like everybody's neighbour. Profiles stay as private."
        )
    if network.epoch_length_s < _DAY_S:
        found.append(
            f"An epoch lasts {duration(network.epoch_length_s)}. Every epoch costs epsilon again, and after ten at "
            "full weight an item no longer counts: short epochs are for trying things out."
        )
    return found
