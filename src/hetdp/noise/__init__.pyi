from .gaussian import discrete_gaussian as discrete_gaussian
from .laplace import discrete_laplace as discrete_laplace
