"""What whoever makes a network or takes part in one should know before: what it costs, and what is odd about it."""

import math
from typing import Any

from hetdp.core.text import duration
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.sketches import plausible_ones
from hetdp.node.storage.ledger import most_steps

__all__ = ["cost_facts", "cost_warnings", "network_warnings"]

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
