"""`hetdp audit`: audit everything that the package ships, or one function."""

import importlib.util
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.options import plot_option
from hetdp.cli.output import Voice, check_plot, check_writable, output_options, print_json, print_rows, write_plot
from hetdp.core.errors import DataError
from hetdp.core.files import write_whole
from hetdp.core.text import counted, printable

if TYPE_CHECKING:
    from hetdp.auditing import AuditReport, BatteryReport, Finding

VIOLATION, INTERRUPTED = 1, 130
_WIDTH = 80
_POWER = (
    "A loss of that size is found with probability 99.9 % if outputs of probability 1/2 show it, as with Laplace noise."
    " Rarer outputs take more runs."
)


@click.command()
@click.argument("target", required=False, metavar="[FILE.py:FUNCTION]")
@click.option("--all", "everything", is_flag=True, help="Audit everything the package ships.")
@click.option("--quick", is_flag=True, help="The same with small samples.")
@click.option("--list", "list_only", is_flag=True, help="List what would be audited.")
@click.option("--claimed", help="Promised epsilon of FUNCTION: a number, or JSON per item ([0.5, 1] or {...}).")
@click.option("--adjacent", help="JSON list of pairs of profiles that differ in one item, or a file with one.")
@click.option("--samples", type=click.IntRange(min=1), help="Runs per side.  [default: from the claim]")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Of the audit of FUNCTION.")
@click.option("--seed", type=click.IntRange(min=0), help="Makes the audit reproducible.  [default: a fresh one]")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Also write the report to a JSON file.")
@plot_option("what is certified beside what was claimed of FUNCTION, item by item,")
@output_options
def audit(
    target: str | None,
    *,
    everything: bool,
    quick: bool,
    list_only: bool,
    output: Path | None,
    plot: Path | None,
    seed: int | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> int:
    """Try to break a privacy promise; exit with code 1 if one is broken.

    \b
    hetdp audit --all --output report.json
    hetdp audit mine.py:noisy_sum --claimed 1 --adjacent '[[[0, 1], [1, 1]]]'
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    given = [Path(text) for text in (options["claimed"], options["adjacent"]) if text is not None]  # files, perhaps
    if output is not None:
        check_writable(output, keep=given)
    if plot is not None:
        check_plot(plot, keep=given, output=output)
    chosen = everything or quick or list_only
    if (target is None) == (not chosen):
        raise click.UsageError("Give either FILE.py:FUNCTION or one of --all, --quick and --list.")
    if target is not None:
        return _audit_function(target, seed, output, plot, voice, **options)
    if plot is not None:
        raise click.UsageError("--plot must be given with FILE.py:FUNCTION, for the report of one audit.")
    return _audit_package(seed, output, voice, quick=quick, list_only=list_only)


def _hand_over(data: dict[str, Any], show: Callable[[], None], output: Path | None, voice: Voice) -> None:
    """Write results to a file, if one is wanted, and show them."""
    if output is not None:
        write_whole(output, json.dumps(data, indent=2, default=str) + "\n")
        voice.note(f"Wrote {output}.")
    if voice.as_json:
        print_json(json.loads(json.dumps(data, default=str)))
    else:
        show()


def _audit_function(
    target: str,
    seed: int | None,
    output: Path | None,
    plot: Path | None,
    voice: Voice,
    *,
    claimed: str | None,
    adjacent: str | None,
    samples: int | None,
    confidence: float,
) -> int:
    from hetdp import auditing

    function = _load_function(target)
    promise, pairs = _read_json("--claimed", claimed), _read_json("--adjacent", adjacent)
    code = 0
    try:
        with voice.progress(target) as advance:
            report = auditing.audit(
                function, adjacent=pairs, claimed=promise, samples=samples, confidence=confidence,
                random_state=seed, progress=lambda share: advance(share, 1),
            )  # fmt: skip
    except auditing.AuditInterrupted as interrupted:
        report, code = interrupted.report, INTERRUPTED
    _hand_over(report.to_dict(), lambda: _show_report(report), output, voice)
    if plot is not None and report.rows:
        write_plot(plot, report.plot, voice)
    return code or (VIOLATION if report.verdict == "violated" else 0)


def _load_function(target: str) -> Callable[..., Any]:
    """Return the function that FILE.py:FUNCTION names."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise DataError("the function must be given as FILE.py:FUNCTION", got=target)
    if not Path(path).is_file():
        raise DataError(f"File not found: {path}")
    spec = importlib.util.spec_from_file_location("audited", path)
    if spec is None or spec.loader is None:
        raise DataError("the file of the function must be a Python file", got=path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        problem = f"the file of the function must run without an error (got {type(error).__name__} in {path!r})"
        raise DataError(problem) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise DataError(f"{path} must define a function {name!r}", got=type(function))
    return function  # type: ignore[no-any-return]


def _read_json(option: str, text: str | None) -> Any:  # noqa: ANN401  (the audit checks what it is)
    """Return JSON given on the command line or in a file, or None."""
    if text is None:
        return None
    try:
        is_file = Path(text).is_file()
    except OSError:  # too long for a file name
        is_file = False
    try:
        return json.loads(Path(text).read_text(encoding="utf-8") if is_file else text)
    except (ValueError, OSError) as error:
        kind = "a JSON file" if is_file or text.endswith(".json") else "JSON or a file with it"
        raise DataError(f"must be {kind}", parameter=option, got=text[:60]) from error


def _show_report(report: "AuditReport") -> None:
    rows = [
        (
            str(row.item),
            f"{row.claimed:.4g}",
            f"{row.lower_bound:.4g}",
            f"{row.detectable:.4g}",
            f"{row.samples:,}",
            row.verdict,
            row.event,
        )
        for row in report.rows
    ]
    title = f"{report.subject}: {report.verdict}"
    print_rows(title, ("item", "claimed", "loss at least", "would find", "runs per side", "verdict", "event"), rows)
    if len(report.rows) < report.planned_rows:
        click.echo(f"Interrupted after {len(report.rows)} of {report.planned_rows} pairs.")
    _print(f"Would have found: {report.smallest}.")
    _print(_POWER)


def _audit_package(seed: int | None, output: Path | None, voice: Voice, *, quick: bool, list_only: bool) -> int:
    from hetdp import auditing

    cases = auditing.battery("quick" if quick else "full")
    if list_only:
        listed = [f"{case.name} ({case.audit})" for case in cases]
        _hand_over({"cases": listed}, lambda: click.echo("\n".join(listed)), output, voice)
        return 0
    with voice.progress("audit") as advance:
        report = auditing.run_battery(cases, seed=seed, progress=lambda share, what: advance(share, 1, what))
    _hand_over(report.to_dict(), lambda: _show_battery(report), output, voice)
    if report.done < report.planned:
        voice.note(f"Interrupted after {report.done} of {report.planned}; this is what is known so far.")
        return INTERRUPTED
    return VIOLATION if report.verdict == "violated" else 0


def _show_battery(report: "BatteryReport") -> None:
    """Print each finding in two or three lines, and at the end all violations in full."""
    for finding in report.findings:
        _print(f"{finding.subject} ({finding.audit}): {finding.verdict}{_bound(finding)}", "    ")
        if finding.smallest:
            _print(f"  would have found: {finding.smallest}", "    ")
    violations = [finding for finding in report.findings if finding.verdict == "violated"]
    for finding in violations:
        _print(str(finding), "  ")
    _print(f"{report.done} of {report.planned} cases: {counted(len(violations), 'violation')} found.")
    _print(_POWER)


def _print(line: str, indent: str = "") -> None:
    click.echo(textwrap.fill(printable(line), _WIDTH, subsequent_indent=indent, break_long_words=False))


def _bound(finding: "Finding") -> str:
    """Return the certified loss that comes closest to its claim, beside the claim."""
    measured = [(row["lower_bound"], row["claimed"]) for row in finding.figures.get("rows", ()) if row["claimed"]]
    if not measured:
        return ""
    bound, claimed = max(measured, key=lambda pair: pair[0] / pair[1])
    return f", loss at least {bound:.3f} of {claimed:.3g}"
