"""How a model is made: what is promised, what is released, and what part of the promise each step may spend."""

import math
from dataclasses import dataclass
from fractions import Fraction

from hetdp.accounting.composition import ADDED, rho_of_epsilon_delta
from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.core.checks import chance, float_up, fraction, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.tables.names import CATALOGUES, HOLDER, NAMES_SHARE, OTHERS, check_names

RELEASES = ("sketch", "matrix")
UNITS = ("item", "user")

#: Part of rho that goes to names with a matrix: about the same epsilon, at epsilon 1.
NAMES_RHO_SHARE = Fraction(1, 5)
_FINE = 2**60
_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 10**9), Fraction(10**9)

_EVERYBODY = "everybody together, whatever else they know"
_NOBODY_TRUSTED = "Nobody needs to be trusted: each person can draw their sketch at home."
_GIVEN = "The catalogue is taken as public, every item that was listed with it."
_LISTS = (
    "It is about the model: a list or an explanation comes from a person's exact profile, and is for that person only."
)
_MATRIX = "A trusted curator holds the profiles, and publishes one noisy matrix."
_USERS = "Names of users are taken as public."


@dataclass(frozen=True)
class ModelSettings:
    """How a model was or will be made. Public.

    Attributes
    ----------
    epsilon, delta
        What an item (or person) of weight 1 may lose in all.
    release, unit, catalogue
        As `PrivateRecommender` takes them; a list of items is "given".
    n_head
        The most items that the model relates to each other.
    """

    epsilon: Fraction
    delta: Fraction
    release: str
    unit: str
    catalogue: str
    n_head: int

    def __post_init__(self) -> None:
        if not _LEAST_EPSILON <= fraction("epsilon", self.epsilon) <= _MOST_EPSILON:
            raise InvalidInput("must be from 1e-9 to 1e9", parameter="epsilon", got=float(self.epsilon))
        chance("delta", self.delta)
        for name, choices in (("release", RELEASES), ("unit", UNITS), ("catalogue", CATALOGUES)):
            one_of(name, getattr(self, name), choices)
        whole("n_head", self.n_head, minimum=1)
        if self.unit == "user" and self.release == "sketch":
            raise InvalidInput(
                "must be 'item' with release='sketch'",
                parameter="unit",
                got=self.unit,
                hint="Sketches protect items; a whole person loses the sum of theirs. A matrix protects whole people.",
            )
        if self.catalogue == "private":
            check_names(self.names_epsilon, self.names_delta)

    @property
    def names_epsilon(self) -> Fraction:
        """The part of epsilon that chooses names; of a matrix, as much as is worth its part of rho, rounded down."""
        if self.catalogue != "private":
            return Fraction(0)
        if self.release == "sketch":
            return NAMES_SHARE * self.epsilon
        square = 2 * NAMES_RHO_SHARE * self.rho
        return Fraction(math.isqrt(math.floor(square * _FINE**2)), _FINE)

    @property
    def names_delta(self) -> Fraction:
        """The part of delta that chooses names."""
        if self.catalogue != "private":
            return Fraction(0)
        return self.delta if self.release == "sketch" else self.delta / 2

    @property
    def model_epsilon(self) -> Fraction:
        """The part of epsilon that sketches are drawn with."""
        return self.epsilon - self.names_epsilon

    @property
    def rho(self) -> Fraction:
        """What epsilon and delta are worth in zCDP, names included, where a matrix is released; rounded down."""
        return Fraction(rho_of_epsilon_delta(_down(self.epsilon), _down(self.delta - self.names_delta)))

    @property
    def model_rho(self) -> Fraction:
        """The part of rho that a matrix is released with."""
        return self.rho * (1 - NAMES_RHO_SHARE) if self.catalogue == "private" else self.rho


def _down(exact: Fraction) -> float:
    """Return the largest float that is not above a number."""
    nearest = float(exact)
    return math.nextafter(nearest, 0.0) if Fraction(nearest) > exact else nearest


def promise(settings: ModelSettings, *, simulated: bool = False) -> Guarantee:
    """Return the promise of a model made with such settings.

    Examples
    --------
    >>> from fractions import Fraction
    >>> settings = ModelSettings(Fraction(1), Fraction(1, 10**6), "sketch", "item", "given", 4096)
    >>> promise(settings).amount, promise(settings).delta
    (1.0, 0.0)
    """
    if settings.release == "matrix":
        return _of_matrix(settings, simulated=simulated)
    private = settings.catalogue == "private"
    trust = (HOLDER,) if private else (_NOBODY_TRUSTED, _GIVEN)
    return Guarantee(
        "epsilon",
        float_up(settings.epsilon),
        "values",
        ADDED["item"],
        OTHERS if private else _EVERYBODY,
        delta=float_up(settings.names_delta),
        trust="holder" if private else "local",
        remarks=(*trust, _USERS, _LISTS),
        simulated=simulated,
    )


def _of_matrix(settings: ModelSettings, *, simulated: bool) -> Guarantee:
    rho = float(settings.rho)
    protected = "item" if settings.unit == "item" else "person"
    if settings.unit == "item":
        whom = (_USERS,)
    else:
        chance = (
            f", except with a chance of {in_digits(2 * settings.names_delta)} * v_i" if settings.names_delta else ""
        )
        whom = (f"A user whose whole profile is exchanged for another loses {in_digits(2 * rho)} * v_i**2{chance}.",)
    names = (_GIVEN,) if settings.catalogue == "given" else ()
    return Guarantee(
        "rho",
        rho,
        "values",
        ADDED[protected],
        OTHERS,
        delta=float_up(settings.names_delta),
        at_weight_one=(float_up(settings.epsilon), float_up(settings.delta)),
        protected=protected,
        remarks=(_MATRIX, *names, *whom, _LISTS),
        simulated=simulated,
    )
