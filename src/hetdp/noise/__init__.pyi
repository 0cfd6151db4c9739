from .samplers import discrete_gaussian as discrete_gaussian, discrete_laplace as discrete_laplace
