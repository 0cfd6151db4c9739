"""My privacy: what an epoch costs, what was spent, what a curious peer could learn, and the sketch that is public."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.text import counted, listed
from hetdp.node.dials import FULL_DIAL
from hetdp.node.groups import OFTEN, GroupLosses, GroupProposal, GroupTold, group_name, right_words
from hetdp.node.handle import NodeHandle
from hetdp.node.page.base_page import Form, FormAction, Page, amount_in, whole_in
from hetdp.node.page.items_page import undo
from hetdp.node.page.owner_guard import Notice
from hetdp.node.page.pictures import loss_chart, sketch_image
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.ledger import loss, most_steps
from hetdp.node.storage.profile import ProfileItem
from hetdp.node.words import HUGE_LIMIT, certainty_words, updated_chance
from hetdp.sketching.bit_law import chance_of_one, most_odds_factor, odds_factor

_BEFORE = (0.01, 0.1, 0.5)
_MOST_CURVES = 40
_MOST_CHOICES = 2000
#: With so few epochs left before its limit, an item is worth a word.
_FEW_EPOCHS = 3
#: Groups of a sketch that stand out so many standard deviations from chance are named, and so many at most.
_STANDS_OUT, _MOST_CROWDED = 3.0, 5


@dataclass(frozen=True, slots=True, repr=False)
class Belief:
    """What somebody believed before, believes now, and could believe at most."""

    before: float
    newest: float
    most: float


@dataclass(frozen=True, slots=True, repr=False)
class Disclosure:
    """What the published bits tell about one item."""

    place: int
    title: str
    dial: int
    bit: bool | None  # None where the catalogue did not have the item yet
    factor: float
    most: float
    most_lifetime: float
    epochs: int
    elsewhere: bool  # whether some of it was spent otherwise than by sketches of this store
    spent: float
    limit: float | None
    left: int | None
    beliefs: tuple[Belief, ...]


@dataclass(frozen=True, slots=True)
class Crowded:
    """A group of which a sketch shows more ones than chance alone would: anybody can count them."""

    name: str
    ones: int
    places: int
    by_chance: float


class PrivacyPage(Page):
    """What the page about privacy shows and does: but for the sketch and epsilon, for the owner's eyes."""

    address = "/privacy"
    title = "My privacy"
    icon = '<path d="M12 3.5l7 2.6v5.2c0 4.4-2.9 7.6-7 9.2-4.1-1.6-7-4.8-7-9.2V6.1z"/><path d="M9 12l2.2 2.2L15.2 10"/>'
    template = "privacy.html"
    watch = "profile epoch"
    anchors = dict.fromkeys(("group", "propose", "group-limit", "no-group-limit"), "group-limits") | {"choose": "told"}

    def __init__(self, node: NodeHandle) -> None:
        super().__init__(node)
        self._chosen: int | None = None
        self._groups = GroupsPart(node)

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        return self._groups.shown() | self._about_items()

    def alert(self) -> str:
        """Return what other pages say until the owner has looked at what the next sketch tells about groups."""
        return self._groups.alert()

    def _about_items(self) -> dict[str, Any]:
        store, network = self._node.store, self._node.network
        spent, profile = store.ledger.spent(), store.profile.items()
        newest, publications = store.publications.newest(), store.publications.all()
        size = 0 if newest is None else newest.bits.size
        titles = {item.place: item.title for item in profile}
        every = loss(store.other_charges.of_every_item(), network.epsilon)
        spent = {place: lost for place, lost in spent.items() if place in titles or lost > every}
        removed = {place: store.catalogue.item(place).title for place in spent if place not in titles}
        choices = sorted((titles | removed).items(), key=lambda row: row[1].casefold())[:_MOST_CHOICES]
        if self._chosen not in titles | removed:
            by_loss = sorted(titles | removed, key=lambda place: -spent.get(place, 0.0))
            self._chosen = by_loss[0] if by_loss else None
        chart = None
        if publications and spent:
            epochs = [publication.epoch for publication in publications]
            chart = loss_chart(store.ledger.all_charges(), epochs, store.ledger.default_limit())
        return {
            "epsilon": float(network.epsilon),
            "most_per_epoch": most_odds_factor(network.epsilon, 1.0),
            "length_s": network.epoch_length_s,
            "default_limit": store.ledger.default_limit(),
            "every": every,
            "elsewhere": _beyond(math.fsum(spent.values()), (lost for *_, lost in store.ledger.all_charges())),
            "limit_chosen": store.ledger.default_limit_chosen(),
            "full_epochs": store.ledger.default_limit() / float(network.epsilon),
            "huge": store.ledger.default_limit() > HUGE_LIMIT,
            "by_then": certainty_words(store.ledger.default_limit()),
            "exhausted": [item for item in profile if item.exhausted],
            "ending": self._ending(profile),
            "publications": publications,
            "label": self._node.label().text,
            "spent_elsewhere": store.other_charges.of_any_item() > 0,
            "newest": newest,
            "image": None if newest is None else sketch_image(newest.bits),
            "by_chance": round(size * chance_of_one(network.epsilon, tuned_for=network.tuned_for)),
            "catalogue": size,
            "crowded": [] if newest is None else self._crowded(newest.bits),
            "chart": chart,
            "most_curves": _MOST_CURVES,
            "titles": titles | removed,
            "removed": removed,
            "spent": sorted(spent.items(), key=lambda row: (-row[1], row[0])),
            "choices": choices,
            "chosen": self._chosen,
            "told": None if newest is None or self._chosen is None else self._disclosure(self._chosen),
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return self._groups.forms() | {
            "choose": self.choose,
            "limit": self.set_limit,
            "default-limit": self.set_default_limit,
            "undo": lambda _form: undo(self._node),
        }

    def choose(self, form: Form) -> None:
        """Choose the item to look at."""
        self._chosen = whole_in(form, "place")

    def set_limit(self, form: Form) -> Notice:
        """Set the lifetime limit of one item; an empty field goes back to the default."""
        place, limit = whole_in(form, "place"), amount_in(form, "limit")
        self._node.store.ledger.set_limit(place, limit)
        if limit is None:
            return Notice("Back to the limit of all items.")
        return Notice(f"The limit of this item is set. {certainty_words(limit)}")

    def set_default_limit(self, form: Form) -> Notice:
        """Set the lifetime limit of items without one of their own."""
        limit = amount_in(form, "limit")
        if limit is None:
            raise InvalidInput("must be a number of at least 0", parameter="limit")
        self._node.store.ledger.set_default_limit(limit)
        return Notice(f"The limit of all items is set. {certainty_words(limit)}")

    def _ending(self, profile: Iterable[ProfileItem]) -> list[tuple[str, int]]:
        """Return the items that will soon be at their limit and after how many epochs, the first to get there first."""
        left = [(item.title, self._epochs_left(item)) for item in profile if item.effective_dial]
        return sorted(((title, epochs) for title, epochs in left if epochs <= _FEW_EPOCHS), key=lambda row: row[1])

    def _epochs_left(self, item: ProfileItem) -> int:
        """Return in how many more sketches an item can count, with its dial as it stands."""
        epsilon = self._node.network.epsilon
        lost = round(Fraction(item.spent) * FULL_DIAL / epsilon)  # the ledger counts in whole steps, and so does this
        left = most_steps(item.limit, epsilon) - lost  # below 0 if the limit was lowered below what is lost
        return max(0, left // item.dial)

    def _crowded(self, bits: NDArray[np.bool_]) -> list[Crowded]:
        """Return the groups that stand out in a sketch, most first. Public: everybody has sketch and catalogue."""
        network = self._node.network
        names, numbers = self._node.store.catalogue.groups()
        numbers, rare = numbers[: bits.size], chance_of_one(network.epsilon, tuned_for=network.tuned_for)
        places, ones = (np.bincount(numbers, weights=kind, minlength=len(names)) for kind in (None, bits))
        beyond = (ones - places * rare) / np.sqrt(np.maximum(places, 1) * rare * (1 - rare))
        return [
            Crowded(group_name(names[group]), int(ones[group]), int(places[group]), float(places[group] * rare))
            for group in np.argsort(-beyond, kind="stable")[:_MOST_CROWDED].tolist()
            if beyond[group] > _STANDS_OUT
        ]

    def _disclosure(self, place: int) -> Disclosure:
        store, epsilon = self._node.store, self._node.network.epsilon
        newest = store.publications.newest()
        assert newest is not None  # noqa: S101  (the caller has looked; epochs do not vanish)
        dial, bit = newest.dials.get(place, 0), bool(newest.bits[place]) if place < newest.bits.size else None
        weight = dial / FULL_DIAL
        factor = 1.0 if bit is None else odds_factor(epsilon, weight, bit, tuned_for=self._node.network.tuned_for)
        most = most_odds_factor(epsilon, weight)
        charges, spent = store.ledger.charges(place), store.ledger.spent().get(place, 0.0)
        lifetime = math.exp(min(700.0, spent))  # losses add up, so odds multiply
        listed = store.profile.item(place)
        return Disclosure(
            place=place,
            title=store.catalogue.item(place).title,
            dial=dial,
            bit=bit,
            factor=factor,
            most=most,
            most_lifetime=lifetime,
            epochs=len(charges),
            elsewhere=_beyond(spent, (lost for _, lost in charges)),
            spent=spent,
            limit=None if listed is None else listed.limit,
            left=None if listed is None or not listed.dial else self._epochs_left(listed),
            beliefs=tuple(
                Belief(before, updated_chance(before, factor), updated_chance(before, lifetime)) for before in _BEFORE
            ),
        )


def _beyond(spent: float, charges: Iterable[float]) -> bool:
    """Return whether more was spent than these charges together, but for rounding."""
    return spent > math.fsum(charges) * (1 + 1e-9)


# The part of *My privacy* about groups: what a sketch tells about each, limits, and a word on other pages before it.
# What was worked out is kept until the list or the sketches change: pages are looked at more often than that.


#: Groups shown at once; the others are below a fold.
_FEW = 6
#: Names of groups in a word on other pages.
_NAMED = 3
#: What is told must grow by so much before other pages speak of it again.
_MORE = 0.01


class GroupsPart:
    """What the page shows and does about groups: for the owner's eyes, and kept in memory only."""

    def __init__(self, node: NodeHandle) -> None:
        self._node = node
        self._as_of: tuple[object, ...] = ()
        self._losses: GroupLosses | None = None
        self._told: tuple[GroupTold, ...] = ()
        self._group: str | None = None
        self._choices: dict[str, list[tuple[float, float]]] = {}
        self._proposal: GroupProposal | None = None
        self._looked_at: dict[str, float] = {}

    def shown(self) -> dict[str, Any]:
        """Return what the template shows. Whoever sees it has looked at what the next sketch tells."""
        losses, told = self._work_out(), {one.group: one for one in self._told}
        self._looked_at = {group: one.next_accuracy for group, one in told.items()}
        if self._group not in told:
            self._group = next(iter(told), None)
        if self._group is not None and self._group not in self._choices:
            self._choices[self._group] = losses.choices(self._group)
        return {
            "told_groups": self._told,
            "few_groups": _FEW,
            "whole_list": WHOLE_LIST,
            "right": right_words,
            "group": None if self._group is None else told[self._group],
            "group_choices": self._choices.get(self._group or "", []) if self._group is not None else [],
            "proposal": self._proposal,
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {
            "group": self.choose,
            "propose": self.propose,
            "group-limit": self.set_limit,
            "no-group-limit": self.remove_limit,
        }

    def alert(self) -> str:
        """Return what other pages say as long as the owner has not looked at what the next sketch tells; or ""."""
        self._work_out()
        telling = [
            one.name
            for one in self._told
            if one.group != WHOLE_LIST and one.next_accuracy > max(OFTEN, self._looked_at.get(one.group, 0.0) + _MORE)
        ]
        if not telling:
            return ""
        which = "first" if self._node.store.publications.newest_epoch() is None else "next"
        names = listed(telling) if len(telling) <= _NAMED else f"{len(telling)} groups of your items"
        return f"Your {which} sketch would tell much about {names}. Look at it before it is drawn:"

    def choose(self, form: Form) -> None:
        """Choose the group to set a limit for."""
        self._group, self._proposal = form.get("group"), None

    def propose(self, form: Form) -> None:
        """Show what a limit would do; nothing is stored."""
        self.choose(form)
        if "close" not in form:
            self._proposal = self._work_out().proposal(form.get("group", ""), _limit_in(form))

    def set_limit(self, form: Form) -> Notice:
        """Set a limit, and with it the dials that were proposed; if those have changed meanwhile, show them again."""
        before = self._proposal
        self.propose(form)
        now, self._proposal = self._proposal, None
        assert now is not None  # noqa: S101  (made just now)
        if before is None or before.changes != now.changes:
            self._proposal = now
            return Notice("Your list has changed meanwhile: this is what the limit would do now.", bad=True)
        lowered = self._node.store.profile.set_group_limit(now.now.group, now.limit)
        what = f"{counted(len(lowered), 'dial')} lowered" if lowered else "no dial had to go down"
        return Notice(f"The limit of {now.now.name} is set: {what}, from the next sketch on.", undo=True)

    def remove_limit(self, form: Form) -> Notice:
        """Remove a limit. Dials stay as they are."""
        self.choose(form)
        group = form.get("group", "")
        self._node.store.profile.set_group_limit(group, None)
        return Notice(f"{group_name(group)} has no limit any more. Dials stay as they are.", undo=True)

    def _work_out(self) -> GroupLosses:
        store = self._node.store
        as_of = (store.profile.version(), store.publications.newest_epoch(), store.ledger.default_limit())
        if self._losses is None or as_of != self._as_of:
            self._as_of, self._losses = as_of, self._node.group_losses()
            self._told, self._choices = self._losses.all(), {}
            self._proposal = None  # of a list that is no more
        return self._losses


def _limit_in(form: Form) -> float:
    limit = amount_in(form, "limit")
    if limit is None:
        raise InvalidInput("must be a number of at least 0", parameter="limit")
    return limit
