"""What the paper says: its conclusions in its words with our tests, and the published points of its figures."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

#: "Does not matter": a change below this share of the distance between random and true neighbours.
NO_CHANGE = 0.1
#: "Hardly punished": a loss below this share of that distance.
HARDLY = 0.25
#: A size is as published between the published one over this and times this, or where the difference does not matter.
TIMES = 2.0

_DELICIOUS = ("delicious",)
_ALL = ("survey", "digg", "delicious")


@dataclass(frozen=True)
class Conclusion:
    """A conclusion of the paper.

    Attributes
    ----------
    key, title
        Name, and the conclusion in one sentence.
    quote, section
        What the paper says, word for word, and where. Words in brackets stand for symbols.
    about
        The paper's data sets that it says this about. On all others, the test is ours.
    test
        What is tested as its direction.
    size
        What the paper's words say about size.
    reason
        The likely reason where our runs say otherwise.
    """

    key: str
    title: str
    quote: str
    section: str
    about: tuple[str, ...]
    test: str
    size: str
    reason: str


_SAME_ATTITUDE = "on Figures 1 and 2"
_GROUPS = "on Figure 3"

CONCLUSIONS = (
    Conclusion(
        "range",
        "Weights from 0 cost most; between 0.5 and 0.9 there is not much difference.",
        "there is not much difference in terms of utility between the situations in which [the lower end is] 0.5 and "
        "[0.9] ... the largest difference is obtained when [it] is set to 0",
        _SAME_ATTITUDE,
        _DELICIOUS,
        "recall with weights from 0.5 minus from 0 is above 0, and above that with weights from 0.9 minus from 0.5",
        "“not much difference”, “the largest difference”",
        "On dense profiles, recall is high with any neighbours, so there is little to lose; the survey points of the "
        "paper do not follow this conclusion either.",
    ),
    Conclusion(
        "close",
        "With weights from 0.5 and from 0.9, recall stays close to the baseline.",
        "both situations are close to the utility obtained with the baseline algorithm",
        _SAME_ATTITUDE,
        _DELICIOUS,
        "recall lies nearer to that of true neighbours than to that of random ones, from 0.5 and from 0.9",
        "“close”",
        "The average is taken over epsilons down to 0.1, where the noise of one comparison is larger than what two "
        "people with few items have in common.",
    ),
    Conclusion(
        "zero",
        "With weights from 0, recall comes closer to random neighbours.",
        "in which case the utility gets closer from the utility obtained through a random clustering",
        _SAME_ATTITUDE,
        _DELICIOUS,
        "recall lies nearer to that of random neighbours than to that of true ones",
        "“closer”",
        "Two people of a dense set share dozens of items. Weights from 0 make them count a quarter on average (the "
        "product of two weights), which still stands out of the noise unless epsilon is small.",
    ),
    Conclusion(
        "slices",
        "With weights from 0.5 or 0.9, the number of slices has almost no effect.",
        "varying the number of slices has almost no effect on the utility achieved by [lower ends 0.5 and 0.9]",
        _SAME_ATTITUDE,
        _DELICIOUS,
        f"recall with the most slices minus with the fewest lies within {NO_CHANGE:.0%} of the distance between random "
        "and true neighbours, taken within each run",
        "“almost no effect”",
        "More slices bring weights together: the mean stays, so does the mean of a product of two, but fewer items "
        "count in full. The paper's Digg points fall as well.",
    ),
    Conclusion(
        "fall",
        "With weights from 0, recall falls as slices are added.",
        "but has significant impact on the situation in which [the lower end is 0], for which the utility decreases as "
        "the number of slices increases",
        _SAME_ATTITUDE,
        _DELICIOUS,
        "recall with the fewest slices minus with the most is above 0",
        "“significant impact”",
        "If every owner draws weights of their own, a common item counts a quarter on average, however many slices "
        "there are; only the spread changes. If all owners of an item share its weight, it counts the mean square: "
        "0.50 with two slices, 0.35 with ten. The paper may mean the latter; the figure on shared weights compares.",
    ),
    Conclusion(
        "strict",
        "Pragmatists and Unconcerned always have better recall than Fundamentalists.",
        "Pragmatists and Unconcerned always have better recall than Fundamentalists",
        _GROUPS,
        _ALL,
        "mean over the published mixes of pragmatists minus fundamentalists, and of unconcerned minus fundamentalists, "
        "above 0, and our means above 0 in every mix (else in part)",
        "“always”; no size",
        "Where everybody's recall is near 1, groups can hardly differ.",
    ),
    Conclusion(
        "often",
        "Unconcerned often have a better recall than Pragmatists, though not always.",
        "Unconcerned often have a better recall than Pragmatists, though not always",
        _GROUPS,
        _ALL,
        "mean over the published mixes of unconcerned minus pragmatists above 0, and our means above 0 in more than "
        "half of the mixes (else in part)",
        "“often”; no size",
        "Where everybody's recall is near 1, groups can hardly differ.",
    ),
    Conclusion(
        "punished",
        "Liberal groups are hardly punished as the conservative share grows from 20 to 80 %.",
        "to the question whether (or not) more liberal groups will be punished by conservative groups, the answer "
        "seems to be negative ... the utility of liberal groups only decreases from 0.22 to 0.19 as the percentage of "
        "conservative groups increases from 20% to 80%",
        _GROUPS,
        _ALL,
        f"loss of the unconcerned and of the pragmatists below {HARDLY:.0%} of the distance between random and true "
        "neighbours, taken within each run",
        "“only decreases from 0.22 to 0.19”: 0.03",
        "The paper's text speaks of a fall from 0.22 to 0.19; its own points of the unconcerned on Delicious fall from "
        "0.215 to 0.166. Common items count by the product of both weights: strict neighbours do cost liberal users.",
    ),
)

#: Which of the paper's data sets each built-in one was made to resemble.
PUBLISHED_SETS = {"survey_like": "survey", "digg_like": "digg", "delicious_like": "delicious"}

#: The mixes of Figure 3 that have points, the same for all data sets: shares of fundamentalists and of pragmatists.
PUBLISHED_MIXES = frozenset(
    {
        *((fundamentalists, 0.1) for fundamentalists in (0.2, 0.3, 0.7, 0.8)),
        *((fundamentalists, 0.2) for fundamentalists in (0.2, 0.6, 0.7)),
        *((fundamentalists, 0.6) for fundamentalists in (0.2, 0.3)),
        (0.2, 0.7),
    }
)


@dataclass(frozen=True)
class Published:
    """What was printed about one data set. What was not is None, or not there.

    Attributes
    ----------
    name
        The name of the data set where it was printed.
    baseline, random
        Recall of true and of random neighbours.
    by_lower
        Figure 1: recall by lower end.
    by_slices
        Figure 2: recall by lower end and number of slices.
    by_groups
        Figure 3: recall by share of pragmatists, group and share of fundamentalists.
    """

    name: str
    baseline: float | None = None
    random: float | None = None
    by_lower: Mapping[float, float] = field(default_factory=dict)
    by_slices: Mapping[tuple[float, int], float] = field(default_factory=dict)
    by_groups: Mapping[tuple[float, str, float], float] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The distance between random and true neighbours."""
        return None if self.baseline is None or self.random is None else self.baseline - self.random


def published_for(name: str | None) -> Published | None:
    """Return what the paper printed about one of its data sets, by its name there; None if it has no such set."""
    return _papers().get(name or "")


def published_source() -> str:
    """Return where the paper's points come from."""
    return str(json.loads(_papers_text())["source"])


@functools.cache
def _papers() -> dict[str, Published]:
    return _sets(json.loads(_papers_text()))


@functools.cache
def _papers_text() -> str:
    return resources.files("hetdp.experiments").joinpath("data/published_figures.json").read_text(encoding="utf-8")


def _sets(figures: dict[str, Any]) -> dict[str, Published]:
    """Return the points by data set. What comes after the recall of a point (an error bar) is not used."""
    return {
        name: Published(
            name,
            ends["baseline"],
            ends["random"],
            by_lower={lower: recall for lower, recall, *_ in ends["hdp_by_lower_weight"]},
            by_slices={
                (float(key.removeprefix("lower_")), int(n)): recall
                for key, points in figures["figure2"][name].items()
                for n, recall, *_ in points
            },
            by_groups={
                (float(key.removeprefix("pragmatists_")), group, share): recall
                for key, curves in figures["figure3"][name].items()
                for group, points in curves.items()
                for share, recall, *_ in points
            },
        )
        for name, ends in figures["figure1"].items()
    }
