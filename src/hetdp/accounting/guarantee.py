"""What was promised: to whom, against whom, in words and in numbers, every number rounded up."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import add_up, group_loss
from hetdp.accounting.label import Label, LabelOptions
from hetdp.core.checks import not_negative, one_of, positive, whole
from hetdp.core.errors import DataError, InvalidInput
from hetdp.mechanisms.rounding import product_up
from hetdp.profiles import PrivacyWeights

_RECIPIENT = "anyone who sees this release, whatever else they know, all other items included"
_ONE_OF_EACH = "one recipient of each of these lists, who sees all other releases, whatever else they know"
_REPLACED = "replacing one item by any other value of its range"
_WEIGHTS_PAY = "the weights pay, the values do not: the release is a function of the weights and public numbers only."
#: Six digits are enough to read, but never fewer than are promised.
_SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)
_OF_FLOATS = Fraction(1, 10**12)


@dataclass(frozen=True)
class Recipients:
    """How a promise adds up where each recipient gets a list of its own.

    Attributes
    ----------
    each
        Level of what one recipient gets; with `together`, of each thing that happened (a comparison of two peers).
    shared
        Level of what all recipients see alike: noisy sizes, the popularity of items, sketches.
    most
        How many lists there are that an item has a part in.
    together
        Whether every recipient may learn what all of them do, so that it does not matter how many collude.
    others
        Lists that were given out besides: the level of each, and how many there are, by that number.

    Examples
    --------
    >>> lists = Recipients(each=Fraction(1), shared=Fraction(0), most=119)
    >>> asked_twice = lists.more(Fraction(1), 1).more(Fraction(1), 1)
    >>> [int(asked_twice.against(colluders)) for colluders in (1, 2, 119)]
    [3, 4, 121]
    """

    each: Fraction
    shared: Fraction
    most: int
    together: bool = False
    others: tuple[tuple[Fraction, int], ...] = ()

    def against(self, colluders: int) -> Fraction:
        """Return the level against some `colluders`: recipients who share what they have."""
        besides = sum((each * min(colluders, most) for each, most in self.others), Fraction(0))
        return self.shared + self.each * (self.most if self.together else min(colluders, self.most)) + besides

    @property
    def of_one(self) -> Fraction:
        """What one recipient gets of all lists."""
        return self.each + sum((each for each, _ in self.others), Fraction(0))

    @property
    def in_all(self) -> int:
        """How many recipients must collude to have all there is."""
        return max(self.most, *(most for _, most in self.others), 1)

    def more(self, each: Fraction, most: int) -> "Recipients":
        """Return the same with more lists of level `each`, for `most` recipients, who may all have others before."""
        if most == self.most and not self.together:
            return replace(self, each=self.each + each)
        levels = {number: level for level, number in self.others}
        levels[most] = levels.get(most, Fraction(0)) + each
        return replace(self, others=tuple((level, number) for number, level in sorted(levels.items())))


@dataclass(frozen=True)
class Guarantee:
    """A heterogeneous privacy promise.

    Attributes
    ----------
    unit
        "epsilon" (pure) or "rho" (zero-concentrated).
    amount
        The public level: item i is promised `amount * v_i` (epsilon) or `amount * v_i**2` (rho).
    protects
        "values" or "weights": what the level is about.
    adjacent
        What may differ between two data sets that cannot be told apart.
    adversary
        Against whom it holds.
    weights
        The secret weights; not shown, and gone from `public()`.
    factor
        What the amount is multiplied by, as a formula: "v_i", or "(v_i + v_j)" where two items are swapped.
    recipients
        How it adds up over the recipients of lists; None where all see the same.
    delta
        For outputs that depend on what data there are at all, such as keys chosen from them: item i is promised the
        level except with `delta * v_i`.
    trust
        "holder" where a curator who holds the data is trusted, "local" where noise is added before anything leaves its
        owner.
    protected
        What has a weight: "item", "row" or "person".
    at_weight_one
        Of a promise in rho: the epsilon and delta of ordinary differential privacy that it implies for a weight of 1.
    weights_amount
        What each weight loses; None for the amount.
    remarks
        Further sentences of `text`.
    simulated
        Whether any noise came from a seed, in which case nothing is promised.

    Privacy
    -------
    `text` is public. `loss`, `implies_epsilon`, `implied_by_epsilon` and `group_loss` depend on the weights and are
    for the owner's eyes.

    Examples
    --------
    >>> promise = Guarantee("epsilon", 0.5, weights=PrivacyWeights([1.0, 0.2]))
    >>> promise.implies_epsilon, promise.implied_by_epsilon
    (0.5, 0.1)
    >>> promise
    Guarantee(unit='epsilon', amount=0.5, protects='values')
    """

    unit: str
    amount: float
    protects: str = "values"
    adjacent: str = field(default=_REPLACED, repr=False)
    adversary: str = field(default=_RECIPIENT, repr=False)
    weights: PrivacyWeights | None = field(default=None, repr=False, compare=False)
    factor: str = field(default="v_i", repr=False, kw_only=True)
    recipients: Recipients | None = field(default=None, repr=False, kw_only=True)
    delta: float = field(default=0.0, repr=False, kw_only=True)
    trust: str = field(default="holder", repr=False, kw_only=True)
    protected: str = field(default="item", repr=False, kw_only=True)
    at_weight_one: tuple[float, float] | None = field(default=None, repr=False, kw_only=True)
    weights_amount: float | None = field(default=None, repr=False, kw_only=True)
    remarks: Sequence[str] = field(default=(), repr=False, kw_only=True)
    simulated: bool = field(default=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        one_of("unit", self.unit, ("epsilon", "rho"))
        one_of("protects", self.protects, ("values", "weights"))
        one_of("trust", self.trust, ("holder", "local"))
        positive("amount", self.amount)
        not_negative("delta", self.delta)

    @classmethod
    def of_lists(
        cls, recipients: Recipients, *, adjacent: str, adversary: str, factor: str = "v_i", remarks: Sequence[str] = ()
    ) -> "Guarantee":
        """Return the promise, in epsilon, of lists that each go to a recipient of their own.

        Parameters
        ----------
        recipients
            How losses add up over recipients.
        adjacent, adversary
            What two adjacent data sets differ in, and against whom it holds, in words.
        factor
            What a level is multiplied by, in words.
        remarks
            Sentences that belong to the promise.

        Examples
        --------
        >>> lists = Recipients(each=Fraction(1), shared=Fraction(0), most=119)
        >>> promise = Guarantee.of_lists(lists, adjacent="adding an item", adversary="one recipient")
        >>> promise.against(1), promise.against(3), promise.total
        (1.0, 3.0, 119.0)
        """
        return cls(
            "epsilon", _shown_up(recipients.against(1)), "values", adjacent, adversary,
            factor=factor, recipients=recipients, remarks=remarks,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The promise in plain words. Public."""
        if self.simulated:
            return "Simulated: the noise was made from a seed and can be recomputed by anyone, so nothing is promised."
        return " ".join([*self._sentences(), *self.remarks])

    def _sentences(self) -> list[str]:
        shown = in_digits(self.amount)
        level = f"{self.unit} = {shown}"
        holds = f"Holds against {self.adversary}."
        if self.protects == "weights":
            return [f"{level} for each privacy weight; {_WEIGHTS_PAY}", holds]
        own = f"v_i in [0, 1] is the {self.protected}'s own weight"
        if self.factor != "v_i":
            own = "v_i and v_j in [0, 1] are the items' own weights"
        if self.unit == "epsilon":
            promise = (
                f"(epsilon, v)-differential privacy with {level}: {self.adjacent} changes the probability of any "
                f"output by a factor of at most exp({shown} * {self.factor}){self._slack}, where {own}."
            )
        else:
            chance = f" except with a chance of {in_digits(self.delta)} * v_i," if self.delta else ""
            promise = (
                f"heterogeneous zero-concentrated differential privacy with {level}: {self.adjacent} costs "
                f"at most rho_i = {shown} * v_i**2,{chance} where {own}."
            )
            if self.at_weight_one is not None:
                promise += f" At a weight of 1 that implies ordinary differential privacy with {self._ordinary}."
        if self.recipients is None:
            lost = self.amount if self.weights_amount is None else self.weights_amount
            weights = f"Each weight is itself protected with {self.unit} = {in_digits(lost)}."
            return [promise, weights, holds]
        if self.recipients.together:
            return [promise, holds]
        once = f"{in_digits(self.shared)} + " if self.shared else ""
        each = in_digits(self.per_recipient)
        collusion = f"({once}{each} c)" if once or each != "1" else "c"
        at_most = ", at most" if self.recipients.others else ""
        collusion = (
            f"Against c who collude{at_most}: {collusion} * {self.factor}; {self._all_lists}: "
            f"{in_digits(self.total)} * {self.factor}."
        )
        return [promise, holds, collusion]

    @property
    def _all_lists(self) -> str:
        others = self.recipients is not None and self.recipients.others
        return "all lists together" if others else f"all {self.most_recipients:,} lists together"

    @property
    def short(self) -> str:
        """The promise in a line or two: the level, against whom, and what weights lose; `text` has it all. Public.

        Examples
        --------
        >>> print(Guarantee("epsilon", 1.0, weights_amount=0.75).short)
        epsilon = 1 for weight 1, in proportion for others, against anyone who sees this release; weights lose 0.75
        """
        if self.simulated:
            return "simulated: nothing is promised"
        level = f"{self.unit} = {in_digits(self.amount)}"
        against = f"against {self.adversary.partition(',')[0]}"
        if self.protects == "weights":
            return f"{level} for each weight, {against}; values lose nothing"
        slack = f" and delta = {in_digits(self.delta)}" if self.delta else ""
        if self.at_weight_one is not None:
            slack = f" ({self._ordinary})"
        whose = "weight 1" if self.protected == "item" else f"a {self.protected} of weight 1"
        others = "in proportion for others" if self.unit == "epsilon" else "times the square of the weight for others"
        promised = f"{level}{slack} for {whose}, {others}"
        if self.factor != "v_i":
            promised = f"{level} times the sum of the weights of two items that are swapped"
        return f"{promised}, {against}{self._also}"

    @property
    def _also(self) -> str:
        """What weights lose, or all lists tell together."""
        if self.recipients is None:
            paid = self.amount if self.weights_amount is None else self.weights_amount
            return f"; weights lose {in_digits(paid)}"
        if self.recipients.together:
            return ""
        return f"; {self._all_lists}: {in_digits(self.total)}"

    @property
    def _ordinary(self) -> str:
        """What a promise in rho implies at a weight of 1."""
        epsilon, delta = self.at_weight_one or (math.inf, 0.0)
        return f"epsilon = {in_digits(epsilon)} and delta = {in_digits(delta)}"

    @property
    def _slack(self) -> str:
        if not self.delta:
            return ""
        return f", and by {in_digits(self.delta)} * {self.factor} at most on top"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from hetdp.accounting.display import guarantee_card

        return guarantee_card(self).html()

    def against(self, colluders: int) -> float:
        """Return the amount against some recipients who share what they have.

        Losses against different recipients add up; what all see alike counts once.

        Parameters
        ----------
        colluders
            How many recipients.

        Examples
        --------
        >>> everybody = Recipients(each=Fraction(1), shared=Fraction(0), most=300, together=True)
        >>> Guarantee.of_lists(everybody, adjacent="adding an item", adversary="everybody").against(1)
        300.0
        """
        colluders = whole("colluders", colluders, minimum=1)
        return self.amount if self.recipients is None else _shown_up(self.recipients.against(colluders))

    @property
    def total(self) -> float:
        """The amount against everybody together."""
        return self.against(max(1, self.most_recipients))

    @property
    def per_recipient(self) -> float:
        """The part of the amount that one recipient's own lists cost (for gossip: one comparison)."""
        return 0.0 if self.recipients is None else _shown_up(self.recipients.of_one)

    @property
    def shared(self) -> float:
        """The part of the amount that all recipients see alike."""
        return self.amount if self.recipients is None else _shown_up(self.recipients.shared)

    @property
    def most_recipients(self) -> int:
        """How many lists there are that an item has a part in (for gossip: peers that a user was compared with)."""
        return 1 if self.recipients is None else self.recipients.in_all

    @property
    def loss(self) -> NDArray[np.float64]:
        """What each item is promised to lose at most. The owner's."""
        weights = self._require_weights()
        level = product_up(weights, Fraction(self.amount))
        if self.unit == "epsilon":
            return level
        # One step covers the rounding of the second product, which is exact for weights of 0 and 1.
        return np.where((weights == 0) | (weights == 1), level, np.nextafter(level * weights, np.inf))

    @property
    def implies_epsilon(self) -> float:
        """The ordinary level that this promise implies: amount * max v (the paper's Remark). The owner's."""
        return float(self.loss.max())

    @property
    def implied_by_epsilon(self) -> float:
        """The ordinary level that would imply this promise: amount * min v (the paper's Remark). The owner's.

        Rounded down, as it is a demand and not a promise.
        """
        least = Fraction(float(self._require_weights().min()))
        demand = Fraction(self.amount) * (least if self.unit == "epsilon" else least**2)
        nearest = float(demand)
        return math.nextafter(nearest, 0.0) if Fraction(nearest) > demand else nearest

    def group_loss(self, items: Iterable[int]) -> float:
        """Return what a group of items loses together: the sum over the group. The owner's.

        For rho the square of the summed roots: distances add up, and rho grows with their square.

        Examples
        --------
        >>> Guarantee("epsilon", 1.0, weights=PrivacyWeights([1.0, 0.25, 0.5])).group_loss([1, 2])
        0.75
        """
        return group_loss(self.loss[list(items)], self.unit)

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what the promise means to people: text, HTML and JSON.

        Parameters
        ----------
        **options
            `title`, `weights`, `items`, `ledger` and `date`: see `hetdp.accounting.label.LabelOptions`.

        Examples
        --------
        >>> Guarantee("epsilon", 1.0).label(title="Mean age").headline
        'Of 100 people like you, a curious reader would be right about 74 instead of 50.'
        """
        return Label.of(self, **options)

    def facts(self) -> dict[str, Any]:
        """Return everything that the promise says in public, ready for JSON; `of_facts` reads it.

        Examples
        --------
        >>> facts = Guarantee("epsilon", 1.0, weights=PrivacyWeights([0.5])).facts()
        >>> facts["unit"], facts["amount"], "weights" in facts
        ('epsilon', 1.0, False)
        """
        shown = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "weights"}
        lists = self.recipients
        if lists is not None:
            shown["recipients"] = {
                "each": str(lists.each),
                "shared": str(lists.shared),
                "most": lists.most,
                "together": lists.together,
                "others": [[str(each), most] for each, most in lists.others],
            }
        converted = None if self.at_weight_one is None else list(self.at_weight_one)
        return {**shown, "at_weight_one": converted, "remarks": list(self.remarks)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> "Guarantee":
        """Return the promise that facts are about; what they say besides is left aside.

        Examples
        --------
        >>> Guarantee.of_facts(Guarantee("rho", 0.5, protected="row").facts())
        Guarantee(unit='rho', amount=0.5, protects='values')
        """
        names = {one.name for one in fields(cls)} - {"weights"}
        try:
            known = {name: fact for name, fact in facts.items() if name in names}
            known |= {name: str(known[name]) for name in ("adjacent", "adversary", "factor") if name in known}
            known["protected"] = one_of("protected", known.get("protected", "item"), ("item", "row", "person"))
            known["remarks"] = tuple(str(remark) for remark in known.get("remarks", ()))
            lists, converted = known.get("recipients"), known.get("at_weight_one")
            known["recipients"] = None if lists is None else _recipients_of(lists)
            known["at_weight_one"] = None if converted is None else (float(converted[0]), float(converted[1]))
            return cls(**known)
        except Exception:  # noqa: BLE001  (a file from elsewhere chooses what goes wrong)
            raise DataError("a guarantee must be facts as hetdp writes them") from None

    def public(self) -> "Guarantee":
        """Return the promise without the weights, safe to publish.

        Examples
        --------
        >>> Guarantee("epsilon", 1.0, weights=PrivacyWeights([0.5])).public().weights is None
        True
        """
        return replace(self, weights=None)

    def with_lists(self, each: Fraction, most: int) -> "Guarantee":
        """Return the promise with more lists given out, one to each recipient.

        Examples
        --------
        >>> lists = Recipients(each=Fraction(1), shared=Fraction(0), most=119)
        >>> promise = Guarantee.of_lists(lists, adjacent="adding an item", adversary="one recipient")
        >>> promise.with_lists(Fraction(1, 2), 3).against(1)
        1.5
        """
        if self.recipients is None:
            raise InvalidInput("must have lists of their own (got a promise without any)", parameter="recipients")
        recipients = self.recipients.more(each, most)
        return replace(self, recipients=recipients, amount=_shown_up(recipients.against(1)))

    def level(self, colluders: int = 1) -> Fraction:
        """Return what `against` shows for some `colluders`, exactly: what a ledger counts."""
        if self.recipients is None:
            return _read_as_shown(self.amount)
        return self.recipients.against(whole("colluders", colluders, minimum=1))

    def compose(self, *others: "Guarantee") -> "Guarantee":
        """Return the promise of several releases together: losses add up, item by item.

        Privacy
        -------
        Sequential composition: amounts add up, and the weight of an item is the average of its weights, weighted by
        the amounts. (For disjoint sets of items simply use a weight of 0 where a release does not look.) Where lists
        go to recipients of their own, it holds against one recipient of each.

        Examples
        --------
        >>> one = Guarantee("epsilon", 1.0, weights=PrivacyWeights([1.0, 0.0]))
        >>> two = Guarantee("epsilon", 0.5, weights=PrivacyWeights([0.0, 1.0]))
        >>> one.compose(two).amount, one.compose(two).loss
        (1.5, array([1. , 0.5]))
        """
        parts = (self, *others)
        if len({(part.unit, part.protects, part.protected, part.adjacent, part.factor) for part in parts}) > 1:
            raise InvalidInput(
                "must share unit, protects, protected, adjacent and factor to be composed: losses add up for "
                "one and the same difference (got different ones)",
                parameter="guarantees",
            )
        recipients = _composed_recipients(parts)
        alone = recipients is not None and not recipients.together
        if recipients is not None:
            amount = _shown_up(recipients.against(1))
        else:
            # Neither the floats nor the decimals they are shown as may add up to more.
            shown = _shown_up(sum((_read_as_shown(part.amount) for part in parts), Fraction(0)))
            amount = max(shown, functools.reduce(lambda total, part: float(add_up(total, part.amount)), parts, 0.0))
        delta = functools.reduce(lambda sum_, part: float(add_up(sum_, part.delta)), parts, 0.0)
        return Guarantee(
            self.unit,
            amount,
            self.protects,
            self.adjacent,
            _ONE_OF_EACH if alone else _composed_adversary(parts),
            self._composed_weights(amount, parts),
            factor=self.factor,
            recipients=recipients,
            delta=delta,
            trust="local" if all(part.trust == "local" for part in parts) else "holder",
            protected=self.protected,
            weights_amount=_composed_weights_amount(parts),
            remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.remarks)),
            simulated=any(part.simulated for part in parts),
        )

    def _composed_weights(self, amount: float, parts: Sequence["Guarantee"]) -> PrivacyWeights | None:
        if any(part.weights is None for part in parts):
            return None
        if len({part.loss.size for part in parts}) > 1:
            raise InvalidInput("must be about the same items (got different numbers of items)", parameter="guarantees")
        total = functools.reduce(add_up, (part.loss for part in parts))
        share = np.nextafter(total / amount, np.inf)
        if self.unit == "rho":
            share = np.nextafter(np.sqrt(share), np.inf)
        return PrivacyWeights(np.minimum(np.where(total > 0, share, 0.0), 1.0))

    def _require_weights(self) -> NDArray[np.float64]:
        if self.weights is None:
            raise InvalidInput("must be known for a per-item loss (got a public guarantee)", parameter="weights")
        return self.weights.values


def _composed_adversary(parts: Sequence[Guarantee]) -> str:
    """Return against whom several promises hold together: the same, or anyone who sees all of them."""
    adversaries = {part.adversary for part in parts}
    if len(adversaries) == 1 and _RECIPIENT not in adversaries:
        return parts[0].adversary
    return "anyone who sees all of these releases, whatever else they know"


def _recipients_of(facts: Mapping[str, Any]) -> Recipients:
    others = tuple((Fraction(str(each)), int(most)) for each, most in facts.get("others", ()))
    each, shared = Fraction(str(facts["each"])), Fraction(str(facts["shared"]))
    return Recipients(each, shared, int(facts["most"]), together=bool(facts["together"]), others=others)


def _composed_weights_amount(parts: Sequence[Guarantee]) -> float | None:
    """Return what each weight pays for several releases; None where that is what is promised to the values."""
    if all(part.weights_amount is None for part in parts):
        return None
    paid = (part.amount if part.weights_amount is None else part.weights_amount for part in parts)
    return functools.reduce(lambda total, amount: float(add_up(total, amount)), paid, 0.0)


def _composed_recipients(parts: Sequence[Guarantee]) -> Recipients | None:
    """Return how several promises add up over recipients; what each of them may see of a part is shared."""
    if all(part.recipients is None for part in parts):
        return None
    shared, lists = Fraction(0), []
    for part in parts:
        if part.recipients is None:
            shared += max(_read_as_shown(part.amount), Fraction(part.amount))
        elif part.recipients.together:
            shared += part.recipients.against(1)
        else:
            shared += part.recipients.shared
            lists += [(part.recipients.each, part.recipients.most), *part.recipients.others]
    if not lists:
        return Recipients(Fraction(0), shared, 1, together=True)
    start = Recipients(Fraction(0), shared, max(most for _, most in lists))
    return functools.reduce(lambda sum_, more: sum_.more(*more), lists, start)


def in_digits(number: float | Fraction) -> str:
    """Return a number in six digits, rounded up; what floats add to a sum by their rounding is left out.

    Examples
    --------
    >>> in_digits(0.1 + 0.2), in_digits(0.3000001)
    ('0.3', '0.300001')
    """
    exact = _read_as_shown(number) * (1 - _OF_FLOATS)
    return f"{_SIX_DIGITS.create_decimal(repr(_shown_up(exact))).normalize():f}"


def _read_as_shown(number: float | Fraction) -> Fraction:
    """Return the decimal number that a float is shown as, so that sums come out as a reader would add them."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


def _shown_up(value: Fraction) -> float:
    """Return the smallest float that is shown as no less than an exact value."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if _read_as_shown(nearest) < value else nearest
