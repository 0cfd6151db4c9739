from .guarantee import Guarantee as Guarantee, Recipients as Recipients
from .label import Label as Label, LabelOptions as LabelOptions, Odds as Odds, Spending as Spending
from .ledger.ledger import Ledger as Ledger, LedgerReport as LedgerReport, LedgerView as LedgerView
from .ledger.rollcall import AllowedDials as AllowedDials, PeoplePreview as PeoplePreview
from .ledger.state import Charge as Charge, Entry as Entry
from .planning import Plans as Plans, plan as plan
from .releasing import Release as Release, release as release, release_distortion_bound as release_distortion_bound
