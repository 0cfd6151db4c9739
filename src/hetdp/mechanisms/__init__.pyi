from .comparison import Comparison as Comparison, Contender as Contender, compare as compare
from .mechanism import Mechanism as Mechanism, Plan as Plan
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
from .weight_class import ClassSum as ClassSum, WeightClasses as WeightClasses, weight_classes as weight_classes
