"""Draw docs/pictures/architecture.svg from the packages and their docstrings, by layers; a test checks it."""

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hetdp"
WIDTH, ROW, GAP, LEFT = 900, 46, 8, 150

STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2937 }
  .name { font-weight: 600 }
  .small { font-size: 12px; fill: #4b5563 }
  rect { fill: #eef2ff; stroke: #6366f1; rx: 6 }
  path { stroke: #6366f1; fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .small { fill: #9ca3af } rect { fill: #1e1b4b; stroke: #818cf8 } path { stroke: #818cf8 }
  }
"""


def layers() -> list[str]:
    """Return the packages from the top to the ground, as the import linter holds them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [name.strip().removeprefix("hetdp.") for layer in contract["layers"] for name in layer.split("|")]


def about(package: str) -> tuple[str, str]:
    """Return the first sentence of the docstring of a package or module, and what is in it by name."""
    folder = SOURCE / package
    code = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    said = ast.get_docstring(ast.parse(code.read_text(encoding="utf-8"))) or ""
    parts = sorted(
        path.stem + ("/" if path.is_dir() else "")
        for path in (folder.iterdir() if folder.is_dir() else ())
        if not path.name.startswith("__") and (path.is_dir() or path.suffix == ".py")
    )
    return said.split("\n\n")[0].replace("\n", " "), ", ".join(parts)


def render() -> str:
    """Return the picture."""
    rows, top = [], GAP
    for package in layers():
        sentence, parts = about(package)
        name = f"{package}/" if (SOURCE / package).is_dir() else f"{package}.py"
        lines = [("", line) for line in wrap(sentence, 98)] + [("small", line) for line in wrap(parts, 108)]
        height = max(ROW, 16 + 18 * len(lines))
        rows.append(f'<rect x="10" y="{top}" width="{WIDTH - 20}" height="{height}"/>')
        rows.append(f'<text class="name" x="24" y="{top + height / 2 + 5:g}">{name}</text>')
        first = top + height / 2 - 9 * (len(lines) - 1) + 5
        rows += [
            f'<text class="{kind}" x="{LEFT}" y="{first + 18 * place:g}">{escape(line)}</text>'
            for place, (kind, line) in enumerate(lines)
        ]
        top += height + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">\n'
        f"<title>The packages of hetdp: each imports only what stands below it</title>\n<style>{STYLE}</style>\n"
        + "\n".join(rows)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    (ROOT / "docs" / "pictures" / "architecture.svg").write_text(render(), encoding="utf-8")
