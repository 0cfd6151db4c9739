from .comparison import Comparison as Comparison, Contender as Contender, compare as compare
from .estimation import best_multiplier as best_multiplier
from .plan import Mechanism as Mechanism, Plan as Plan
from .ratios import NoisySum as NoisySum
from .sampling import Sampled as Sampled, sample as sample
from .selection import (
    Selection as Selection,
    maximum as maximum,
    median as median,
    minimum as minimum,
    mode as mode,
    quantile as quantile,
)
from .sketching import Sketch as Sketch, sketch as sketch
from .stretching import Stretched as Stretched, stretch as stretch
from .thresholding import Thresholded as Thresholded, threshold as threshold, uniform as uniform
