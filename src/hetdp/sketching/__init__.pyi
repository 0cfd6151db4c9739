from .bit_law import chance_of_one as chance_of_one, contrast as contrast
from .reading import (
    item_owners as item_owners,
    item_shares as item_shares,
    items_behind as items_behind,
    items_behind_error as items_behind_error,
)
