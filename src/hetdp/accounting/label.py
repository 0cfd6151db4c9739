"""A card that says what a promise means: odds in people of 100, who may look, what it adds up to, what is left.

Everything on it follows from a promise and public settings. Numbers are rounded toward less privacy: odds and losses
up, what is left down.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from hetdp._version import __version__
from hetdp.accounting.composition import ADDED, epsilon_delta_of_rho
from hetdp.core.checks import float_up, whole
from hetdp.core.errors import InvalidInput

if TYPE_CHECKING:
    from hetdp.accounting.guarantee import Guarantee
    from hetdp.accounting.ledger.ledger import Ledger

#: Of the JSON form. The number is raised when a key changes its meaning or goes.
SCHEMA, SCHEMA_VERSION = "hetdp privacy label", 1
#: What a reader expects beforehand, in people of 100.
PRIORS = (1, 10, 50)
#: Weights, and how many items together, that a label is about where nobody says.
USUAL_WEIGHTS = (1.0, 0.5, 0.1)
USUAL_ITEMS = 10
#: Where a promise in rho names no delta, it is turned into epsilon at this one.
USUAL_DELTA = 1e-6
#: How many recipients put their lists together in the example of a label.
COLLUDERS = 10
#: From here on a reader is as good as certain.
_CERTAIN = 2000
_UP, _DOWN = Context(prec=50, rounding=ROUND_CEILING), Context(prec=50, rounding=ROUND_FLOOR)
_PERCENT = Decimal("0.01")
_TRUST = {
    "holder": "the curator who holds the data is trusted with it, and nobody else",
    "local": "nobody is trusted: noise is added before anything leaves its owner",
}


class LabelOptions(TypedDict, total=False):
    """What every `label()` takes.

    Attributes
    ----------
    title
        What the card is about.
    weights
        Weights that odds are shown for, in (0, 1].
    items
        How many items, rows or people are shown together.
    ledger
        Where this was charged: the card then says what was spent and what is left at weight 1.
    date
        Of the release, in any form; left out where nobody says.
    """

    title: str
    weights: Sequence[float]
    items: int
    ledger: "Ledger | None"
    date: str | None


@dataclass(frozen=True)
class Odds:
    """Of 100 people like you: how many a reader expects before, and at most after.

    Attributes
    ----------
    weight, items
        Of how many items that have this weight.
    before, after
        In people of 100; `after` is rounded up to hundredths.
    """

    weight: float
    items: int
    before: int
    after: Decimal

    @property
    def people(self) -> str:
        """How many people of 100 after, in words: whole from 10 on, tenths below; rounded up."""
        places = Decimal(1) if self.after >= 10 else Decimal("0.1")  # noqa: PLR2004  (two digits are enough)
        return f"{self.after.quantize(places, rounding=ROUND_CEILING)}"


@dataclass(frozen=True)
class Spending:
    """What weight 1 has lost in all that was charged to one ledger, and what is left of its limit. Public.

    Attributes
    ----------
    unit, spent, delta
        Rounded up; infinite where some charge did not say its level.
    left
        Rounded down; None where no limit is public.
    against
        Whose knowledge was counted.
    then
        What happens when nothing is left.
    """

    unit: str
    spent: float
    delta: float
    left: float | None
    against: str
    then: str = "nothing more is released"

    @classmethod
    def of(cls, ledger: "Ledger") -> Self:
        """Return what a ledger says about weight 1, without looking at any account.

        Examples
        --------
        >>> from hetdp.accounting import Ledger
        >>> ledger = Ledger.of_people(limit=3)
        >>> _ = ledger.charge_people([(["ann"], [0.5])], amount=2, description="hours")
        >>> Spending.of(ledger).spent, Spending.of(ledger).left
        (2.0, 1.0)
        """
        spent, limit = ledger.spent_by_weight_1, ledger.limit
        left = None if limit is None or math.isinf(limit) else what_is_left(limit, spent)
        return cls(ledger.unit, spent, ledger.delta_spent, left, ledger.adversary)


@dataclass(frozen=True)
class Label:
    """A promise as people understand it; made by `label()` of a guarantee, a release, a table, a model or a node.

    Attributes
    ----------
    title
        What it is about.
    guarantee
        The promise, without weights; None where nothing has been released yet.
    weights, items
        What odds are shown for.
    spending
        What was spent and what is left, where a ledger keeps count.
    mechanism
        How it was made, in words.
    date
        Of the release, if given.
    version
        Of hetdp.

    Privacy
    -------
    Public: it depends on the promise and on what the ledger says in public, never on a value, a weight, a loss of an
    item or a count of what is there. A weight of 0 leaves no trace in it.

    Examples
    --------
    >>> from hetdp.accounting import Guarantee
    >>> label = Label.of(Guarantee("epsilon", 1.0), title="Mean age", weights=[1, 0.5])
    >>> [(odds.weight, odds.before, odds.people) for odds in label.odds if odds.before == 50 and odds.items == 1]
    [(1.0, 50, '74'), (0.5, 50, '63')]
    >>> label.headline
    'Of 100 people like you, a curious reader would be right about 74 instead of 50.'
    """

    title: str
    guarantee: "Guarantee"
    weights: tuple[float, ...] = USUAL_WEIGHTS
    items: int = USUAL_ITEMS
    spending: Spending | None = None
    mechanism: str | None = None
    date: str | None = None
    version: str = __version__

    @classmethod
    def of(
        cls,
        guarantee: "Guarantee",
        *,
        title: str = "A release",
        weights: Sequence[float] = USUAL_WEIGHTS,
        items: int = USUAL_ITEMS,
        ledger: "Ledger | None" = None,
        spending: Spending | None = None,
        mechanism: str | None = None,
        date: str | None = None,
    ) -> Self:
        """Return the card of a promise.

        Parameters
        ----------
        guarantee
            The promise; its weights are left out.
        title, weights, items, ledger, date
            See `LabelOptions`.
        spending, mechanism
            See `Label`.
        """
        chosen = tuple(sorted({float(weight) for weight in weights}, reverse=True))
        if not chosen or not all(0 < weight <= 1 for weight in chosen):
            raise InvalidInput("must be at least one number, each above 0 and at most 1", parameter="weights")
        if ledger is not None:
            spending = Spending.of(ledger)
        several = whole("items", items, minimum=1)
        return cls(str(title), guarantee.public(), chosen, several, spending, mechanism, date)

    @classmethod
    def of_ledger(cls, account: "Ledger", /, **options: Unpack[LabelOptions]) -> Self:
        """Return the card of everything charged to an account; before the first charge, of what its limit allows."""
        from hetdp.accounting.guarantee import Guarantee  # which knows labels

        spending = Spending.of(account)
        level, title = spending.spent, "Everything that was charged to one ledger"
        if not level and spending.left:
            level, title = spending.left, "Everything that a ledger allows"
        if not level:
            raise InvalidInput("a ledger must have a charge or a limit of everybody to be labelled")
        if math.isinf(level):
            raise InvalidInput("a ledger must know the level (amount) of each charge to be labelled")
        of_profiles = account.colluders is not None
        changed = f"a change of one {account.protects}, as releases charged here have it"
        promise = Guarantee(
            spending.unit,
            level,
            adjacent=ADDED[account.protects] if of_profiles else changed,
            adversary=spending.against,
            delta=spending.delta,
            protected=account.protects,
        )
        titled: LabelOptions = {"title": title, **options}
        return cls.of(promise, spending=spending, **titled)

    # -- numbers ------------------------------------------------------------------------------------------------------

    @property
    def odds(self) -> tuple[Odds, ...]:
        """The odds of one item at each weight and prior, then of all items together; none of a simulation."""
        if self.guarantee.simulated:
            return ()
        weights = self.weights if self.guarantee.protects == "values" else (1.0,)
        single = [self._odds(weight, 1, before) for before in PRIORS for weight in weights]
        together = [self._odds(weight, self.items, PRIORS[-1]) for weight in weights] if self.items > 1 else []
        return (*single, *together)

    def _odds(self, weight: float, items: int, before: int) -> Odds:
        return Odds(weight, items, before, posterior(before, *self.level(weight, items)))

    def level(self, weight: float = 1.0, items: int = 1) -> tuple[float, float]:
        """Return the epsilon and delta of some items that have this weight; a promise in rho is converted.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> Label.of(Guarantee("epsilon", 0.5, delta=1e-6)).level(0.5)
        (0.25, 5e-07)
        """
        promise, share = self.guarantee, Fraction(weight)
        if promise.protects == "weights":
            share = Fraction(1)
        if promise.factor != "v_i":
            share += 1  # the other of two items that are swapped may have weight 1
        delta = Fraction(promise.delta) * share
        if promise.unit == "epsilon":
            return _grouped(Fraction(promise.amount) * share, delta, items)
        if promise.at_weight_one is not None and share == 1 and items == 1:
            return promise.at_weight_one
        own = self.conversion_delta
        if not promise.delta:  # what grows with distance does so quadratically
            rho = float_up(Fraction(promise.amount) * (share * items) ** 2)
            return _of_rho(rho, own), own
        epsilon = _of_rho(float_up(Fraction(promise.amount) * share**2), own)
        return _grouped(Fraction(epsilon), Fraction(own) + delta, items)

    @property
    def conversion_delta(self) -> float:
        """The delta at which a promise in rho is turned into epsilon."""
        stated = self.guarantee.at_weight_one
        return stated[1] if stated is not None and 0 < stated[1] < 1 else USUAL_DELTA

    @property
    def colluders(self) -> tuple[int, Fraction] | None:
        """How many recipients put their lists together in the example, and the level then; None where all see alike."""
        lists = self.guarantee.recipients
        if lists is None or lists.together:
            return None
        return COLLUDERS, lists.shared + lists.of_one * COLLUDERS

    @property
    def spent_odds(self) -> Decimal | None:
        """How many of 100 somebody who has read everything charged would be right about, at weight 1, after 50."""
        if self.spending is None or self.guarantee.simulated:
            return None
        spent, delta = self.spending.spent, self.spending.delta
        if self.spending.unit == "rho":
            own = self.conversion_delta
            spent, delta = _of_rho(spent, own), float_up(Fraction(delta) + Fraction(own))
        return posterior(PRIORS[-1], spent, delta)

    # -- words --------------------------------------------------------------------------------------------------------

    @property
    def question(self) -> str:
        """What a curious reader would like to know, in plain words."""
        promise = self.guarantee
        if promise.protects == "weights":
            return "how strictly one of your items is protected"
        if promise.factor != "v_i":
            return "which of two items is on your list"
        if promise.adjacent.startswith("adding"):
            kind = "added"
        else:
            kinds = {"replacing": "replaced", "a change": "changed"}
            kind = next((kind for start, kind in kinds.items() if promise.adjacent.startswith(start)), "present")
        return _QUESTIONS.get((promise.protected, kind), _QUESTIONS[promise.protected, "present"])

    @property
    def adjacent(self) -> str:
        """What may differ between two data sets that a reader cannot tell apart."""
        of_weights = self.guarantee.protects == "weights"
        return "changing the privacy weight of one item" if of_weights else self.guarantee.adjacent

    @property
    def headline(self) -> str:
        """The consequence in one sentence."""
        if self.guarantee.simulated:
            return "Nothing is promised: the noise was made from a seed, and anyone who has it can remove the noise."
        worst = next(odds for odds in self.odds if odds.before == PRIORS[-1])
        right = f"would be right about {worst.people} instead of {worst.before}"
        return f"Of 100 people like you, a curious reader {right}."

    @property
    def trust_text(self) -> str:
        """Who has to be trusted, in words."""
        return _TRUST[self.guarantee.trust]

    @property
    def text(self) -> str:
        """The card as text of at most 80 columns."""
        from hetdp.accounting.label_views import as_text

        return as_text(self)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.to_html(page=False)

    def to_html(self, *, page: bool = True) -> str:
        """Return the card as one HTML page without any request to elsewhere, or as a part of a page.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> Label.of(Guarantee("epsilon", 1.0)).to_html().startswith("<!DOCTYPE html>")
        True
        """
        from hetdp.accounting.label_views import as_html

        return as_html(self, page=page)

    def to_dict(self) -> dict[str, Any]:
        """Return the card in the form of a registry of deployments; see docs/guide/label.md for its keys.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> record = Label.of(Guarantee("epsilon", 1.0), title="Mean age").to_dict()
        >>> record["schema"], record["at_weight_1"]["epsilon"], record["odds"][0]["after"]
        ('hetdp privacy label', 1.0, 2.68)
        """
        from hetdp.accounting.label_views import as_record

        return as_record(self)

    def to_json(self) -> str:
        """Return the form of a registry as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


_QUESTIONS: Mapping[tuple[str, str], str] = {
    ("item", "added"): "whether one item is on your list",
    ("item", "replaced"): "which of two values is yours",
    ("item", "present"): "which of two things is true of one item of yours",
    ("row", "present"): "whether one row about you is in the table",
    ("row", "replaced"): "which of two values one row about you has",
    ("person", "present"): "whether you are in the data at all",
    ("person", "replaced"): "which of two sets of data is yours",
    **{(protected, "changed"): "something about you that was asked for" for protected in ("item", "row", "person")},
}


def posterior(before: float, epsilon: float, delta: float = 0.0) -> Decimal:
    """Return how many of 100 a reader may be sure of who expected `before` of 100, rounded up to hundredths.

    p e^epsilon / (1 + p (e^epsilon - 1)) by the theorem of Bayes, and delta on top: a promise with a delta is kept by
    a mechanism that tells everything with a chance of delta, and else keeps the promise without one
    (docs/guide/label.md).

    Examples
    --------
    >>> posterior(50, 1.0), posterior(1, 1.0), posterior(10, 0.0)
    (Decimal('73.11'), Decimal('2.68'), Decimal('10.00'))
    """
    if epsilon >= _CERTAIN:
        return Decimal("100.00")
    exactly = Decimal(before) / 100
    # Each step is rounded so that the quotient is not too small: e^-epsilon and what is divided by, down.
    shrunk = _DOWN.next_minus(_DOWN.exp(-Decimal(epsilon)))
    below = _DOWN.add(Decimal(1), _DOWN.multiply(_DOWN.divide(1 - exactly, exactly), max(shrunk, Decimal(0))))
    chance = _UP.add(_UP.divide(Decimal(1), below), Decimal(delta))
    percent = min(_UP.multiply(chance, Decimal(100)), Decimal(100))
    rounded = percent.quantize(_PERCENT, rounding=ROUND_CEILING)
    # What rounding alone adds is not a hundredth of a person: no epsilon, no change.
    return Decimal(before).quantize(_PERCENT) if not epsilon and not delta else rounded


def _grouped(epsilon: Fraction, delta: Fraction, items: int) -> tuple[float, float]:
    """Return what several items lose together: epsilon adds up, delta grows with the odds of those before."""
    total = float_up(epsilon * items)
    if not delta or items == 1:
        return total, min(1.0, float_up(delta))
    if total >= _CERTAIN:
        return total, 1.0
    own, grown = Decimal(float_up(epsilon)), Decimal(0)
    for place in range(items):
        grown = _UP.add(grown, _UP.next_plus(_UP.exp(_UP.multiply(own, Decimal(place)))))
    together = Fraction(grown) * delta
    return total, 1.0 if together >= 1 else float_up(together)


def _of_rho(rho: float, delta: float) -> float:
    return float(epsilon_delta_of_rho(rho, delta))


def what_is_left(limit: float, spent: float) -> float:
    """Return what is left of a limit, rounded down."""
    if spent >= limit:
        return 0.0
    exact = Fraction(limit) - Fraction(spent)
    nearest = float(exact)
    return math.nextafter(nearest, 0.0) if Fraction(nearest) > exact else nearest
