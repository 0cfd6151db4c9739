from .engines import ENGINES as ENGINES, estimate as estimate
from .engines.base import Effort as Effort, Levels as Levels
from .engines.sketch.engine import sketch_items_to_stand_out as sketch_items_to_stand_out
from .estimator import PrivateNeighbors as PrivateNeighbors
from .recommending import split_epsilon as split_epsilon
from .scores import SCORES as SCORES, items_to_stand_out as items_to_stand_out
