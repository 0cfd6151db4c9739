from . import (
    accounting as accounting,
    auditing as auditing,
    datasets as datasets,
    errors as errors,
    evaluation as evaluation,
    mechanisms as mechanisms,
    neighbors as neighbors,
    noise as noise,
    plots as plots,
    policies as policies,
    profiles as profiles,
    queries as queries,
    recommender as recommender,
    sketching as sketching,
    tables as tables,
)
from .accounting import (
    Guarantee as Guarantee,
    Ledger as Ledger,
    Release as Release,
    plan as plan,
    release as release,
    release_distortion_bound as release_distortion_bound,
)
from .auditing import audit as audit
from .core.errors import BudgetExhausted as BudgetExhausted
from .evaluation import evaluate as evaluate, judge as judge, recall as recall
from .mechanisms.comparison import compare as compare
from .mechanisms.queries.own import falsify as falsify
from .mechanisms.stretching import Stretched as Stretched, stretch as stretch
from .mechanisms.weight_class import WeightClasses as WeightClasses, weight_classes as weight_classes
from .neighbors import PrivateNeighbors as PrivateNeighbors
from .noise import discrete_gaussian as discrete_gaussian, discrete_laplace as discrete_laplace
from .profiles import (
    Box as Box,
    Categories as Categories,
    PrivacyWeights as PrivacyWeights,
    Profiles as Profiles,
    split as split,
)
from .recommender import PrivateRecommender as PrivateRecommender
from .tables import (
    TableAnswer as TableAnswer,
    plan_table as plan_table,
    release_table as release_table,
    unknown_keys as unknown_keys,
)

__version__: str
