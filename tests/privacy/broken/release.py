"""`hetdp.release` and its relatives broken on purpose: noise and budget splits."""

from fractions import Fraction

from hetdp.auditing.audit_cases import FRONT_DOORS
from hetdp.mechanisms import distortion, estimation, stretching
from tests.privacy.broken.base import behind, narrower

_HALF, _TWO_PERCENT = Fraction(1, 2), Fraction(98, 100)
_histogram, _total = FRONT_DOORS["hetdp.release, histogram"], FRONT_DOORS["hetdp.release, total"]

VARIANTS = (
    behind(_histogram, "a release with noise 2 % too small", stretching, laplace_integers=narrower(_TWO_PERCENT)),
    behind(
        FRONT_DOORS["hetdp.release, Gaussian histogram"],
        "a Gaussian release with noise 2 % too small",
        stretching,
        gaussian_integers=narrower(_TWO_PERCENT**2),
    ),
    behind(_total, "a denominator at the level of all", estimation, laplace_integers=narrower(_HALF)),
    behind(_total, "an answer at the level of all", stretching, laplace_integers=narrower(_HALF)),
    behind(
        FRONT_DOORS["hetdp.release_by_dial"],
        "denominators by dial at the level of all",
        estimation,
        laplace_integers=narrower(_HALF),
    ),
    behind(
        FRONT_DOORS["hetdp.release_distortion_bound"],
        "a distortion bound at twice its level",
        distortion,
        laplace_integers=narrower(_HALF),
    ),
)
