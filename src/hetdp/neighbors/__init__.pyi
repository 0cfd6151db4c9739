from .engines import ENGINES as ENGINES
from .engines.sketch.engine import sketch_items_to_stand_out as sketch_items_to_stand_out
from .estimator import PrivateNeighbors as PrivateNeighbors
from .scores import SCORES as SCORES, items_to_stand_out as items_to_stand_out
