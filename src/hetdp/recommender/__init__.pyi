from .estimator import PrivateRecommender as PrivateRecommender
