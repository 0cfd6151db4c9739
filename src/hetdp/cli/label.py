"""`hetdp label`: what a release, a model, a ledger or a node means to people, on one card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.output import Voice, check_writable, output_options
from hetdp.core.errors import DataError
from hetdp.core.files import write_whole

if TYPE_CHECKING:
    from hetdp.accounting.label import Label, LabelOptions

#: What a format is called, by the ending of the file that it goes to.
_FORMATS = {".txt": "text", ".html": "html", ".json": "json"}
#: No JSON of a promise is longer, in bytes; one of a table may have many rows.
_MOST_BYTES = 1 << 28
#: How files of a kind begin.
_LEDGER, _MODEL, _PARQUET = b"SQLite format 3\x00", b"PK\x03\x04", b"PAR1"
_NO_PROMISE = (
    "SOURCE must carry a guarantee of hetdp: what --json printed, a .json or .parquet file of -o (.csv carries none), "
    "a model, a ledger or a folder of a node."
)


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(_FORMATS.values())),
              help="What to make.  [default: by the ending of --output, else text]")  # fmt: skip
@click.option("--title", help="What the card is about.")
@click.option("--weight", "weights", type=float, multiple=True,
              help="Show odds at this privacy weight, in (0, 1]. Repeatable.  [default: 1, 0.5 and 0.1]")  # fmt: skip
@click.option("--items", type=click.IntRange(min=1), help="How many items to show together.  [default: 10]")
@click.option(
    "--ledger", type=click.Path(path_type=Path), help="Where it was charged: shows what was spent, and is left."
)
@click.option("--date", help="Of the release, as the card shows it.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(_FORMATS)}.")
@output_options
def label(
    source: Path,
    *,
    form: str | None,
    ledger: Path | None,
    output: Path | None,
    voice: Voice,
    **shown: Any,  # noqa: ANN401
) -> None:
    """Say what was promised about SOURCE in odds that people understand, on one card: text, HTML or JSON.

    \b
    hetdp release ages.csv --query mean ... -o mean.json
    hetdp label mean.json
    hetdp label model.hetdp -o label.html
    hetdp label hetdp-node --format json

    SOURCE is what hetdp has written: JSON of release, neighbors, recommend or learn, a parquet file, a model, a ledger,
    or the folder of a node. Nothing is spent, and the card shows nothing that is private: it may be published. The JSON
    form is for registries of deployments.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.accounting import Ledger

    if output is not None:
        check_writable(output, keep=(source, ledger))
        if form is None and output.suffix.lower() not in _FORMATS:
            raise click.UsageError(f"--output must end in {', '.join(_FORMATS)}, or --format say what it is.")
        form = form or _FORMATS[output.suffix.lower()]
    options: LabelOptions = {name: given for name, given in shown.items() if given}  # type: ignore[assignment]
    if ledger is None:
        made = _label(source, options)
    else:
        with Ledger.open(ledger) as opened:
            made = _label(source, {**options, "ledger": opened})
    text = _written(made, form or ("json" if voice.as_json else "text"))
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    voice.note(f"Wrote {output}.")


def _written(made: "Label", form: str) -> str:
    return made.text if form == "text" else made.to_html() if form == "html" else made.to_json()


def _label(source: Path, options: "LabelOptions") -> "Label":
    """Return the card of whatever a path leads to."""
    if source.is_dir():
        return _of_node(source, options)
    try:
        with source.open("rb") as file:
            begins = file.read(len(_LEDGER))
    except OSError as error:
        raise DataError(f"SOURCE must be a file or folder (got {str(source)!r} ({error.strerror}))") from None
    if begins == _LEDGER:
        from hetdp.accounting import Ledger

        with Ledger.open(source) as ledger:
            return ledger.label(**options)
    if begins.startswith(_MODEL):
        from hetdp.recommender.estimator import PrivateRecommender

        return PrivateRecommender.load(source).label(**options)
    return _of_facts(_parquet(source) if begins.startswith(_PARQUET) else _json(source), options)


def _of_node(folder: Path, options: "LabelOptions") -> "Label":
    from hetdp.cli.network import need_extra

    need_extra()
    from hetdp.node.handle import NodeHandle

    handle = NodeHandle.open(folder)
    try:
        return handle.label(**options)
    finally:
        handle.close()


def _json(source: Path) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise DataError(f"SOURCE must be at most {_MOST_BYTES:,} bytes of JSON")
        return json.loads(source.read_bytes())
    except (ValueError, RecursionError):
        raise DataError(f"{_NO_PROMISE} Got another file instead.") from None


def _parquet(source: Path) -> Any:  # noqa: ANN401
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return json.loads((parquet.read_schema(source).metadata or {})[b"hetdp"])
    except (KeyError, ValueError, pa.ArrowException):
        raise DataError(f"{_NO_PROMISE} Got a parquet file without one instead.") from None


def _of_facts(about: object, options: "LabelOptions") -> "Label":
    """Return the card of what a command has said about its result."""
    from hetdp.accounting.guarantee import Guarantee
    from hetdp.accounting.label import Label

    told = about if isinstance(about, Mapping) else {}
    found = [told[name] for name in ("promise", "guarantee") if isinstance(told.get(name), Mapping)]
    if not found:
        raise DataError(f"{_NO_PROMISE} Got one without instead.")
    noise, engine, query = (told.get(name) for name in ("noise", "engine", "query"))
    how = f"{query}, noise: {noise}" if query and noise else f"engine {engine}" if engine else None
    titled: LabelOptions = {"title": f"A released {query}" if query else "A release", **options}
    return Label.of(Guarantee.of_facts(found[0]), mechanism=how, **titled)
