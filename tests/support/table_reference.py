"""The integer sums of a table, row by row in exact Python: what every engine must come to."""

import math

from hetdp.tables.sums import STEPS

MARGIN = 1 - 2.0**-51
#: Cells that engines treat differently unless told: they must all come to the same steps.
ODD = (None, math.nan, math.inf, -math.inf, -0.0, 0.1, 0.2, 0.30000000000000004, 1e308, -1e308, 5e-324, 98.9999999999)


def reference_sums(rows, question):
    """Sums by key of a list of dicts; the condition must have been applied already (rows keep `kept`)."""
    people = {}
    for row in rows:
        unit = id(row) if question.unit is None else row[question.unit]
        if unit is None:
            continue
        weight = 1.0 if question.weights is None else row[question.weights]
        dial, own = people.setdefault(unit, (weight, []))
        people[unit] = (min(dial, weight), own)
        key = tuple(row[column.column] for column in question.by)
        if row.get("kept", True) and all(part in column.keys for part, column in zip(key, question.by, strict=True)):
            own.append((key, row))
    found = {}
    for dial, own in people.values():
        groups = {}
        for key, row in own:
            groups.setdefault(key, []).append(row)
        for key, theirs in groups.items():
            weight = dial if question.unit is None else min(1.0, dial * question.max_groups / len(groups))
            for added in question.sums:
                steps = _person_steps(added, theirs)
                if not question.counts_fully:
                    steps = math.trunc(weight * MARGIN * steps)
                assert abs(steps) <= added.most
                found.setdefault(key, {}).setdefault(added, 0)
                found[key][added] += int(steps)
    return found


def _person_steps(added, rows):
    if added.power == 0:
        return float(STEPS)
    steps = [_cell_steps(added.cells, row[added.column]) for row in rows]
    low, high = added._ends
    if added.added_up:
        return float(min(max(sum(map(int, steps)), low), high))
    mean = float(math.trunc(sum(map(int, steps)) / len(steps)))
    if added.free:
        return float(math.floor((2.0**39 - mean) * (2.0**39 + mean) * 2.0**-40))
    return mean if added.power == 1 else math.floor(mean * mean * 2.0**-38) - STEPS / 2


def _cell_steps(added, cell):
    clean = added.center if cell is None or math.isnan(cell) else cell
    apart = min(max(clean, added.lower), added.upper) - added.center
    low, high = added._ends
    return float(math.trunc(min(max(apart * added.steps_per_unit, low), high)))
