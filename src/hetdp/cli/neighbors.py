"""`hetdp neighbors`: the most similar users of each user, privately."""

import math
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.interrupts import ending_on_signals
from hetdp.cli.options import Sectioned, available_processors, cannot_be_used, refuse, threads_option, tuning_option
from hetdp.cli.output import (
    ENDINGS,
    SHOWN,
    Lists,
    Voice,
    check_ending,
    check_writable,
    dry_run_option,
    guarantee_facts,
    output_options,
    plain,
    print_facts,
    print_json,
    print_private,
    print_promise,
    say_nobody_counts,
)
from hetdp.cli.profile_ledger import LEDGER_OPTIONS, ProfileLedger, in_words, ledger_options, ledger_problems
from hetdp.cli.source import COLUMN_OPTIONS, Source, data_options, delta_option, source_problems
from hetdp.core.checks import fraction
from hetdp.core.errors import DataError, InvalidInput, Problem
from hetdp.core.memory import available_bytes
from hetdp.core.text import byte_size
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import DEFAULT_SCORE, SCORES, SIZES
from hetdp.sketching.reading import SIGNIFICANT

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee
    from hetdp.neighbors.estimator import PrivateNeighbors

DEFAULT_CYCLES = 20
_SECTIONS = {
    "Data": (*COLUMN_OPTIONS, "catalogue"),
    "Privacy": ("epsilon", "delta", "engine"),
    "Neighbours": ("neighbors", "score", "sizes", "tuned_for", "cycles", "significant_only"),
    "Ledger": LEDGER_OPTIONS,
}

cycles_option = click.option(
    "--cycles", type=click.IntRange(min=1), help=f"Rounds of --engine gossip.  [default: {DEFAULT_CYCLES}]"
)


@click.command(cls=Sectioned, sections=_SECTIONS)
@data_options
@click.option("--epsilon", type=float, required=True, help="Privacy loss of an item of weight 1; see above.")
@delta_option
@click.option(
    "--engine",
    type=click.Choice(tuple(ENGINES)),
    default="exact",
    show_default=True,
    help="exact: compare all pairs of users. gossip: simulate a peer-to-peer protocol. sketch: publish one noisy "
    "sketch per user.",
)
@click.option(
    "--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True, help="Neighbours of each user."
)
@click.option(
    "--score",
    type=click.Choice(tuple(SCORES)),
    default=DEFAULT_SCORE,
    show_default=True,
    help="Measure of similarity.",
)
@click.option(
    "--sizes",
    type=click.Choice(SIZES),
    help="Sizes of profiles, for a cosine --score. noisy: release them with noise, for a tenth of --epsilon. public: "
    "do not protect them.  [default: noisy]",
)
@tuning_option
@cycles_option
@click.option("--significant-only", is_flag=True, help="List only neighbours whose score noise alone hardly explains.")
@threads_option
@click.option("--no-memory-check", is_flag=True, help="Go on even if memory may not suffice.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(ENDINGS)}.")
@ledger_options
@dry_run_option
@output_options
@ending_on_signals()
def neighbors(
    data: Path,
    *,
    voice: Voice,
    output: Path | None,
    threads: int | None,
    no_memory_check: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the most similar users of each user in DATA, privately.

    \b
    hetdp neighbors ratings.csv --epsilon 1 -k 10 -o neighbors.parquet
    hetdp neighbors likes.parquet --epsilon 3 --engine sketch -o neighbors.csv

    DATA is a file of (user, item) pairs with a privacy weight each: CSV, TSV or parquet, or a file of MovieLens or
    HetRec 2011. An item with weight 1 loses at most --epsilon, one with weight 0.5 half of it, one with weight 0
    nothing.

    The list of a user (user, neighbor, score, significance) is for that user only. Each run draws new noise and is a
    new release. The losses of all runs add up.

    What --epsilon limits depends on --engine. exact: the loss against one user, who sees only their own list. gossip:
    the loss per comparison of two users. sketch: the loss against everybody together.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    began = time.monotonic()
    refuse([*source_problems(), *ledger_problems(), *_problems(options)])
    source = Source.take(data, options, voice)
    book = ProfileLedger.take(options)
    if output is not None:
        check_writable(output, keep=(source.path, source.catalogue, book.path))
        check_ending(output)
    model = _model(options, given=source.catalogue is not None, threads=threads)
    read = source.read()
    n_users = read.profiles.n_users
    check_size(options["neighbors"], n_users)
    engine = ENGINES[options["engine"]]
    _check_memory(engine.memory_bytes(read.profiles, options["neighbors"]), engine.name, check=not no_memory_check)
    needed = model.items_to_stand_out(n_users)
    if not voice.quiet:
        _announce(options, n_users, needed, voice)
    public = {**_settings(model, options), "items_to_stand_out": needed}
    promised = model.promise(n_users)
    with book.opened(promised) as ledger:
        if voice.dry_run:
            where = {"output": None if output is None else str(output)}
            _show_plan({**public, **book.planned(ledger, promised), **where}, read.counts, promised, voice)
            return
        model.ledger = ledger
        with voice.progress("Finding neighbours") as model.progress, voice.remarks():
            model.fit(read.profiles)
        charged = book.charged(ledger, promised)
    for remark in ("verdict", "afterwards"):
        if remark in _report(model):
            voice.private(str(_report(model)[remark]))
    _finish(model, public, read.counts, charged, output=output, voice=voice, began=began)


def _check_memory(needed: int, engine: str, *, check: bool) -> None:
    """Refuse a search that needs more memory than there is, before the charge; without `check`, warn."""
    available = available_bytes()
    if available is None or needed <= available:
        return
    text = f"The {engine} engine needs about {byte_size(needed)} of memory, and {byte_size(available)} are available"
    if check:
        raise DataError(text, hint="Use a larger machine, fewer users or a smaller -k; or --no-memory-check.")
    click.echo(f"Warning: {text}.", err=True)


def _problems(options: dict[str, Any]) -> Iterator[Problem]:
    """Yield what contradicts itself in the options of a search."""
    yield from engine_problems((options["engine"],), options["score"])
    if options["engine"] != "sketch":
        yield from cannot_be_used(["tuned_for"], f"with --engine {options['engine']}")


def _model(options: dict[str, Any], *, given: bool, threads: int | None) -> "PrivateNeighbors":
    """Return the model, not fitted yet; its noise is secure."""
    from hetdp.neighbors.estimator import PrivateNeighbors

    return PrivateNeighbors(
        options["neighbors"],
        epsilon=fraction("epsilon", options["epsilon"]),
        engine=options["engine"],
        score=options["score"],
        sizes=options["sizes"] or SIZES[0],
        significant_only=options["significant_only"],
        cycles=options["cycles"] or DEFAULT_CYCLES,
        tuned_for=options["tuned_for"],
        catalogue="given" if given else "private",
        delta=fraction("delta", options["delta"]),
        n_jobs=threads or available_processors(),
    )


def _settings(model: "PrivateNeighbors", options: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked for, which may be told to everybody."""
    shown = {name: options[name] for name in ("epsilon", "engine", "score", "significant_only")}
    shown["k"] = options["neighbors"]
    if SCORES[options["score"]].needs_sizes:
        shown["sizes"] = model.sizes
    if ENGINES[options["engine"]].has_cycles:
        shown["cycles"] = model.cycles
    shown["catalogue"] = model.catalogue
    if model.catalogue == "private":
        shown["delta"] = options["delta"]
    return shown


def _announce(options: dict[str, Any], n_users: int, needed: float | dict[str, float], voice: Voice) -> None:
    """Say how many common items a neighbour needs, and what else is to be expected."""
    voice.compiling(options["engine"])
    if isinstance(needed, dict):
        examples = " or ".join(
            f"{max(1.0, count):.0f} of {size}" if math.isfinite(count) else f"more than all {size}"
            for size, count in needed.items()
        )
        text = f"about {examples} items of weight 1"
    else:
        text = f"about {needed:.1f} items of weight 1" if needed >= 1 else "a single item of weight 1"
    voice.note(
        f"Among {n_users:,} users at epsilon {options['epsilon']:.4g}, a neighbour needs {text} in common to stand out "
        "from chance."
    )
    caveat = ENGINES[options["engine"]].caveat(n_users, options["cycles"] or DEFAULT_CYCLES)
    if caveat is not None:
        voice.note(caveat)


def _show_plan(public: dict[str, Any], private: dict[str, Any], guarantee: "Guarantee", voice: Voice) -> None:
    if voice.as_json:
        print_json({"dry_run": True, **public, "guarantee": _guarantee_facts(guarantee)}, private=private)
        return
    words = {name.replace("_", " "): value for name, value in public.items() if not isinstance(value, dict)}
    words |= in_words(public)
    print_facts("Dry run: nothing was drawn", {**words, "guarantee": guarantee.text})
    print_private(private)


def _finish(
    model: "PrivateNeighbors",
    public: dict[str, Any],
    counts: dict[str, Any],
    charged: dict[str, Any],
    *,
    output: Path | None,
    voice: Voice,
    began: float,
) -> None:
    """Write the lists, or show the first rows, and say what was promised."""
    guarantee = model.guarantee_
    promised = _guarantee_facts(guarantee)
    rows = Lists.from_frame(model.to_frame())
    if output is not None:
        # The file goes to recipients: settings and the promise are public, what is exact is not.
        rows.write(output, plain({**public, "guarantee": promised}))
        voice.note(f"Wrote neighbours to {output}.")
    # Lists are made from all that their owners have: what sums them up is exact in that.
    sure = model.significance_
    share = float((sure >= SIGNIFICANT).sum() / max(1, sure.size))
    if voice.as_json:
        facts = {**public, "output": None if output is None else str(output), **charged, "guarantee": promised}
        if output is None:
            facts["first_rows"] = [dict(zip(rows.names, row, strict=True)) for row in rows.first()]
        seconds = round(time.monotonic() - began, 2)
        made = {"rows": rows.n_rows, "significant_share": share, "seconds": seconds, "report": _report(model)}
        print_json(facts, private={**counts, **made})
        return
    if output is None:
        rows.show(f"The first {SHOWN} neighbours")
    print_promise(guarantee, in_full="--json, and in a .parquet file")
    if charged:
        print_facts("", in_words(charged))
    print_private(
        {
            "neighbours": f"{rows.n_rows:,} for {counts['users']:,} users",
            "significant": f"{share:.0%} of the places in the neighbour lists",
        }
    )
    if output is None:
        voice.note("-o FILE writes all of them. It draws new noise: keep the result of one run only, or losses add up.")
    elif not output.name.lower().endswith(".parquet"):
        voice.note("Keep the guarantee with the file; only a .parquet file carries it.")
    if not charged:
        say_nobody_counts(voice)


def _guarantee_facts(guarantee: "Guarantee") -> dict[str, Any]:
    """Return a promise in words and numbers."""
    return {
        **guarantee_facts(guarantee),
        "against_one": guarantee.against(1),
        "per_recipient": guarantee.per_recipient,
        "shared": guarantee.shared,
        "most_recipients": guarantee.most_recipients,
        "against_all": guarantee.total,
        "times": guarantee.factor,
        "neighbours": guarantee.adjacent,
        "public_sizes": guarantee.factor != "v_i",
        "delta": guarantee.delta,
    }


def _report(model: "PrivateNeighbors") -> dict[str, Any]:
    """Return what the engine says about its run. Private."""
    said: dict[str, Any] = model.report_.get("private", {})  # type: ignore[assignment]
    return said


def engine_problems(engines: Collection[str], score: str) -> Iterator[Problem]:
    """Yield options that these engines or this score have no use for."""
    for name in engines:
        if score not in ENGINES[name].scores:
            yield Problem(f"must be {' or '.join(ENGINES[name].scores)} with --engine {name}", "score", got=score)
    if not any(ENGINES[name].has_cycles for name in engines):
        yield from cannot_be_used(["cycles"], f"with --engine {' and '.join(engines)}")
    if not SCORES[score].needs_sizes:
        yield from cannot_be_used(["sizes"], f"with --score {score}")


def check_size(neighbors: int, n_users: int) -> None:
    """Refuse lists longer than there are others to put on them."""
    if neighbors >= n_users:
        raise InvalidInput(f"must be below the number of users ({n_users})", parameter="neighbors", got=neighbors)
