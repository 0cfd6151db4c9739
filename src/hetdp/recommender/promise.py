"""What a model promises, before or after the fact."""

from hetdp.accounting.composition import ADDED
from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.mechanisms.plan import float_up
from hetdp.recommender.settings import ModelSettings
from hetdp.tables.names import HOLDER, OTHERS

__all__ = ["promise"]

_EVERYBODY = "everybody together, whatever else they know"
_NOBODY_TRUSTED = "Nobody needs to be trusted: each person can draw the own sketch at home."
_GIVEN = "The catalogue is taken as public, every item that was listed with it."
_LISTS = "It is about the model: a list or an explanation comes from the exact own profile, and is for its owner only."
_MATRIX = "Whoever holds the profiles is trusted with them, and publishes one noisy matrix."
_USERS = "Names of users are taken as public."


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
