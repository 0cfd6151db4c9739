"""Draw docs/pictures/quality.svg from quality.csv beside it (`benchmarks/quality.py`); a test checks."""

import csv
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
WIDTH, HEIGHT, TOP, BOTTOM, LEFT, PANEL = 900, 300, 62, 252, 56, 330
STEP = 446  # from one panel to the next
TITLE = "How good are ten recommendations, and at what total loss?"
MEASURED = "NDCG at 10; a fifth of each profile hidden, all dials at 1"
#: Curves over the total loss: who, how it is drawn, and what it is called.
CURVES = {
    "model": ("model", "model of published sketches: nobody is trusted"),
    "matrix model": ("matrix", "model of one noisy matrix: its holder is trusted"),
}
#: What does not depend on the loss.
LINES = {"EASE, no privacy": "no privacy", "popularity": "popularity"}
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2937 }
  .title { font-size: 15px; font-weight: 600 } .small { font-size: 11.5px; fill: #4b5563 }
  path, line { fill: none; stroke-width: 2.2 } .axis { stroke: #9ca3af; stroke-width: 1 }
  .flat { stroke: #6b7280; stroke-dasharray: 5 4; stroke-width: 1.4 }
  .model { stroke: #4f46e5 } .matrix { stroke: #0d9488 }
  circle { stroke: none } circle.model { fill: #4f46e5 } circle.matrix { fill: #0d9488 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .small { fill: #9ca3af } .axis { stroke: #6b7280 } .flat { stroke: #9ca3af }
    .model { stroke: #a5b4fc } .matrix { stroke: #5eead4 }
    circle.model { fill: #a5b4fc } circle.matrix { fill: #5eead4 }
  }
"""

Row = dict[str, str]


def read() -> list[Row]:
    """Return what was measured."""
    with (PICTURES / "quality.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Panel:
    """The picture of one data set: NDCG over the total loss, on a logarithmic axis."""

    def __init__(self, name: str, rows: Sequence[Row], left: int) -> None:
        self.name, self.rows, self.left = name, rows, left
        self.levels = sorted({float(row["epsilon"]) for row in rows if row["epsilon"]})
        self.top = 1.08 * max(float(row["ndcg"]) for row in rows)

    def x(self, level: float) -> float:
        """Return where a loss is."""
        low, high = math.log(self.levels[0]), math.log(self.levels[-1])
        return self.left + PANEL * (math.log(level) - low) / (high - low)

    def y(self, ndcg: float) -> float:
        """Return where a quality is; the axis begins at 0."""
        return BOTTOM - (BOTTOM - TOP) * ndcg / self.top

    def parts(self) -> Iterator[str]:
        """Yield the elements."""
        people = f"{int(self.rows[0]['people']):,} people, {int(self.rows[0]['items']):,} items"
        yield _text(self.left, TOP - 12, f"{self.name}: {people}")
        yield f'<path class="axis" d="M{self.left} {TOP} V{BOTTOM} H{self.left + PANEL}"/>'
        for level in self.levels:
            yield _text(self.x(level), BOTTOM + 16, f"{level:g}", "small", "middle")
        for tenth in range(int(10 * self.top) + 1):
            yield _text(self.left - 6, self.y(tenth / 10) + 4, f"{tenth / 10:g}", "small", "end")
        for row in self.rows:
            if row["method"] in LINES:
                y = self.y(float(row["ndcg"]))
                yield f'<line class="flat" x1="{self.left}" y1="{y:.1f}" x2="{self.left + PANEL}" y2="{y:.1f}"/>'
                yield _text(self.left + PANEL + 5, y + 4, LINES[row["method"]], "small")
        for method, (kind, _) in CURVES.items():
            yield from self._curve(method, kind)

    def _curve(self, method: str, kind: str) -> Iterator[str]:
        places = [
            (self.x(float(row["epsilon"])), self.y(float(row["ndcg"]))) for row in self.rows if row["method"] == method
        ]
        yield f'<path class="{kind}" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
        yield from (f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y in places)


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def render() -> str:
    """Return the picture."""
    rows = read()
    names = list(dict.fromkeys(row["panel"] for row in rows))
    parts = [_text(LEFT - 40, 22, TITLE, "title"), _text(WIDTH - 10, 22, MEASURED, "small", "end")]
    for place, name in enumerate(names):
        parts += Panel(name, [row for row in rows if row["panel"] == name], LEFT + STEP * place).parts()
        middle = LEFT + STEP * place + PANEL / 2
        parts.append(_text(middle, BOTTOM + 34, "total loss ε of an item at dial 1, to all", "small", "middle"))
    for place, (kind, words) in enumerate(CURVES.values()):
        x = LEFT + STEP * place
        parts.append(f'<line class="{kind}" x1="{x}" y1="{HEIGHT + 2}" x2="{x + 24}" y2="{HEIGHT + 2}"/>')
        parts.append(_text(x + 32, HEIGHT + 6, words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 16}" role="img">\n'
        f"<title>NDCG at 10 over the total privacy loss, beside popularity and no privacy</title>\n"
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    (PICTURES / "quality.svg").write_text(render(), encoding="utf-8")
