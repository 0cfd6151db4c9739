"""An answer as rows: names, numbers and the texts that cards and drawings show of them. All of it is public."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.guarantee import Guarantee
from hetdp.core.text import as_precise

if TYPE_CHECKING:
    from hetdp.accounting.ledger.state import Entry
    from hetdp.accounting.releasing import Release

__all__ = [
    "charged_when",
    "confidence_words",
    "histogram_of",
    "interval_row",
    "one_row",
    "promise_words",
    "vector_rows",
]


def charged_when(entry: "Entry") -> str:
    """Return when a ledger was charged, as people write it, in UTC."""
    return entry.time.replace("T", " ").removesuffix("+00:00")


def confidence_words(confidence: float | None) -> str:
    """Return what an interval is, in words; nothing where there is none.

    Examples
    --------
    >>> confidence_words(0.95)
    '95 % interval'
    """
    return "" if confidence is None else f"{100 * confidence:g} % interval"


def promise_words(guarantee: Guarantee) -> str:
    """Return a promise as a sentence.

    Examples
    --------
    >>> promise_words(Guarantee("epsilon", 1.0, simulated=True))
    'Simulated: nothing is promised.'
    """
    short = guarantee.short
    return f"{short[:1].upper()}{short[1:]}."


def interval_row(
    name: str, estimate: float | None, low: float | None, high: float | None, value: float | None
) -> dict[str, Any]:
    """Return a row: numbers, and texts as precise as the interval is narrow.

    Examples
    --------
    >>> row = interval_row("er", 34.234, 31.9, 36.5, 30.0)
    >>> row["words"], row["as_left"]
    ('34.2 (31.9 to 36.5)', '30.0')
    """
    shown, begin, end = as_precise(estimate, low, high)
    places = len(shown.partition(".")[2]) if begin else None
    (left,) = as_precise(value) if places is None or value is None else (f"{value:,.{places}f}",)
    return {
        "name": name,
        "estimate": estimate,
        "low": low,
        "high": high,
        "value": value,
        "shown": shown,
        "from": begin,
        "to": end,
        "words": f"{shown} ({begin} to {end})" if begin else shown or "no estimate",
        "as_left": left,
    }


def one_row(answer: "Release") -> dict[str, Any]:
    """Return the row of an answer that is one number."""
    numbers = (answer.estimate, answer.low, answer.high, answer.value)
    return interval_row("", *(None if number is None else float(number) for number in numbers))


def vector_rows(answer: "Release") -> list[dict[str, Any]]:
    """Return one row per number of an answer: of a histogram under the names of its bins, else numbered."""
    values: NDArray[np.float64] = np.atleast_1d(answer.value)
    query = histogram_of(answer)
    names = map(str, range(values.size)) if query is None else query.labels
    numbers = (answer.estimate, answer.low, answer.high, values)
    columns = ([None] * values.size if found is None else np.atleast_1d(found).tolist() for found in numbers)
    return [interval_row(name, *cells) for name, *cells in zip(names, *columns, strict=True)]


def histogram_of(answer: "Release") -> Any:  # noqa: ANN401  (a histogram of either kind)
    """Return the query of a histogram, whose bins are public; None for other answers."""
    if answer.paid is None:
        return None
    mechanism: Any = answer.paid[0].mechanism
    query = getattr(getattr(mechanism, "base", mechanism), "query", None)  # the base of what is sampled
    return query if hasattr(query, "labels") else None
