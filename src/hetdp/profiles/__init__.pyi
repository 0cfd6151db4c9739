from . import policies as policies
from .box import Box as Box
from .categories import Categories as Categories
from .holdout import split as split
from .profiles import Profiles as Profiles
from .weights import PrivacyWeights as PrivacyWeights
