"""`hetdp neighbors`: the most similar users of each user, privately; and what other searches share with it."""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hetdp.cli.output import (
    ENDINGS,
    SHOWN,
    Lists,
    Voice,
    available_processors,
    check_ending,
    check_writable,
    guarantee_facts,
    output_options,
    plain,
    print_facts,
    print_json,
    print_private,
    print_promise,
    say_nobody_counts,
    threads_option,
    tuning_option,
)
from hetdp.cli.profile_ledger import ProfileLedger, in_words, ledger_options
from hetdp.cli.source import Source, check_names, data_options, delta_option, names_option, require_memory
from hetdp.core.checks import fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.text import byte_size, counted, rough_duration
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.recommending import split_epsilon
from hetdp.neighbors.scores import DEFAULT_SCORE, SCORES, SIZES
from hetdp.sketching.significance import SIGNIFICANT

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee
    from hetdp.neighbors.engines.base import Effort
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.profiles import Profiles, WeightPrior

__all__ = [
    "SearchCommand",
    "check_size",
    "check_together",
    "cycles_option",
    "neighbor_options",
    "neighbors",
    "search_options",
]

DEFAULT_CYCLES = 20
_ENGINES_HELP = "; ".join([engine.help for engine in ENGINES.values()][:-1])

Command = TypeVar("Command", bound=Callable[..., Any])

cycles_option = click.option(
    "--cycles", type=click.IntRange(min=1), help=f"Of --engine gossip.  [default: {DEFAULT_CYCLES}]"
)


def neighbor_options(function: Command) -> Command:
    """Give a command the options of lists of neighbours, whatever they are for."""
    for option in (
        click.option("--significant-only", is_flag=True, help="Fewer neighbours rather than random ones."),
        cycles_option,
        tuning_option,
        click.option("--sizes", type=click.Choice(SIZES), help="Sizes for a cosine: noisy, or declared public."),
        click.option("--score", type=click.Choice(tuple(SCORES)), default=DEFAULT_SCORE, show_default=True,
                     help="Likeness."),
        click.option("--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True,
                     help="Neighbours of each user."),
    ):  # fmt: skip
        function = option(function)
    return function


def search_options(function: Command) -> Command:
    """Give a command the options of a search for neighbours; `SearchCommand` takes them all."""
    for option in (
        click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(ENDINGS)}."),
        threads_option,
        neighbor_options,
        click.option("--engine", type=click.Choice(tuple(ENGINES)), default="exact", show_default=True,
                     help=f"{_ENGINES_HELP.capitalize()}; or {list(ENGINES.values())[-1].help}."),
        click.option("--epsilon", type=float, required=True, help="Privacy level of an item of weight 1."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command(short_help="Find each user's most similar users, privately.")
@data_options
@names_option
@delta_option
@search_options
@ledger_options
@output_options
def neighbors(
    data: Path,
    *,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the most similar users of each user in DATA, a file of (user, item) pairs with a privacy weight each.

    \b
    hetdp neighbors ratings.csv --epsilon 1 -k 10 -o neighbors.parquet
    hetdp neighbors likes.parquet --epsilon 3 --engine sketch --weight-column privacy -o neighbors.csv

    DATA is CSV, TSV, parquet or plain text, compressed or not, or a file of MovieLens or HetRec 2011. The rows of a
    user (user, neighbor, score, significance) are for that user. --epsilon counts against one recipient (exact), per
    comparison (gossip), or against everybody together (sketch). Noise is always secure: running it again is another
    release, and losses add up.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    source = Source.take(data, options, voice)
    SearchCommand(source=source, ledger=ProfileLedger.take(options), **options).carry_out()


@dataclass(frozen=True, kw_only=True)
class SearchCommand:
    """A search from the command line: what is asked for, and how to speak about it."""

    source: Source
    epsilon: float
    delta: float
    names: str | None
    neighbors: int
    engine: str
    score: str
    sizes: str | None
    cycles: int | None
    threads: int | None
    tuned_for: "Fraction | WeightPrior | None"
    significant_only: bool
    output: Path | None
    ledger: ProfileLedger = field(default_factory=ProfileLedger)
    recommendations: int = 0
    voters: int = 1
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Refuse what cannot work or would overwrite a file to keep, before anything is read."""
        fraction("--epsilon", self.epsilon)
        fraction("--delta", self.delta)
        check_names(self.source.catalogue, self.names)
        check_together((self.engine,), self.score, self.sizes, self.cycles)
        if self.tuned_for is not None and self.engine != "sketch":
            raise click.UsageError(f"--tuned-for: no meaning with --engine {self.engine}.")
        if self.output is not None:
            check_writable(self.output, keep=(self.source.path, self.source.catalogue, self.ledger.ledger_path))
            check_ending(self.output)

    @property
    def voice(self) -> Voice:
        """How to speak about it."""
        return self.source.voice

    def carry_out(self) -> None:
        """Say what it will take, do it, say what came of it."""
        data = self.source.read()
        profiles = data.profiles
        check_size(self.neighbors, profiles.n_users)
        model = self.model()
        rough = model.estimate(profiles, recommendations=self.recommendations)
        require_memory(
            f"the {self.engine} engine",
            rough.memory_bytes,
            check=not self.source.no_memory_check,
            way_through="Use a machine with more memory, fewer users or a smaller -k or --voters.",
        )
        levels = model.levels()
        needed = ENGINES[self.engine].items_to_stand_out(
            n_users=profiles.n_users, epsilon=levels.pairs, tuned_for=model.tuning(levels.pairs)
        )
        if not self.voice.quiet:
            self._announce(profiles.n_users, rough, needed)
        public = {**self._settings(), "items_to_stand_out": needed}
        promised = model.promise(profiles.n_users, recommendations=self.for_items or None)
        with self.ledger.opened(promised) as ledger:
            if self.voice.dry_run:
                effort = {"estimated_seconds": round(rough.seconds, 1), "estimated_memory_bytes": rough.memory_bytes}
                planned = {**public, **self.ledger.planned(ledger, promised)}
                self._show_plan(planned, {**data.counts, **effort}, promised)
                return
            if ledger is not None:
                ledger.preview_profiles(promised)  # refused as a whole, before a part of it is paid
            model.ledger = ledger
            rows, what = self._find(model, profiles)
            self._finish(model, rows, what, public, data.counts, self.ledger.charged(ledger, promised))

    @property
    def for_neighbors(self) -> Fraction:
        """What of epsilon finds the neighbours."""
        return self._shares[0]

    @property
    def for_items(self) -> Fraction:
        """What of epsilon goes to recommendations."""
        return self._shares[1]

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        if self.recommendations:
            return split_epsilon(self.epsilon, self.engine)
        return fraction("--epsilon", self.epsilon), Fraction(0)

    @property
    def catalogue(self) -> str:
        """How items get their names."""
        return "given" if self.source.catalogue is not None else (self.names or "private")

    def model(self) -> "PrivateNeighbors":
        """Return the model, not fitted yet; its noise is secure."""
        from hetdp.neighbors.estimator import PrivateNeighbors

        return PrivateNeighbors(
            self.neighbors,
            n_voters=self.voters,
            epsilon=self.for_neighbors,
            engine=self.engine,
            score=self.score,
            sizes=self.sizes or SIZES[0],
            significant_only=self.significant_only,
            cycles=self.cycles or DEFAULT_CYCLES,
            tuned_for=self.tuned_for,
            catalogue=self.catalogue,
            delta=self.delta,
            n_jobs=self.threads or available_processors(),
        )

    def _find(self, model: "PrivateNeighbors", profiles: "Profiles") -> tuple[Lists, str]:
        """Find the neighbours, and items if they are wanted; return the rows, and what they are."""
        if ENGINES[self.engine].compiles():
            self.voice.note("Compiling, once: the kernels are kept on disk, and later runs start at once ...")
        with self.voice.progress("Finding neighbours") as model.progress, self.voice.remarks():
            model.fit(profiles)
        for remark in ("verdict", "afterwards"):
            if remark in self._report(model):
                self.voice.private(str(self._report(model)[remark]))
        if not self.recommendations:
            return Lists.from_frame(model.to_frame()), "neighbours"
        with self.voice.progress("Recommending") as model.progress, self.voice.remarks():
            level = self.for_items or self.for_neighbors  # sketches are paid for already; the level does not matter
            return Lists.from_frame(model.recommend(self.recommendations, epsilon=level)), "recommendations"

    def _show_plan(self, public: dict[str, Any], private: dict[str, Any], guarantee: "Guarantee") -> None:
        output = None if self.output is None else str(self.output)
        if self.voice.as_json:
            promised = self._guarantee_facts(guarantee)
            print_json({"dry_run": True, **public, "output": output, "guarantee": promised}, private=private)
            return
        words = {name.replace("_", " "): value for name, value in public.items() if not isinstance(value, dict)}
        words |= in_words(public)
        print_facts("Dry run: nothing was drawn", {**words, "output": output, "guarantee": guarantee.text})
        print_private({name.replace("_", " "): value for name, value in private.items()})

    def _finish(  # noqa: PLR0917  (what came of it, one thing after the other)
        self,
        model: "PrivateNeighbors",
        rows: Lists,
        what: str,
        public: dict[str, Any],
        counts: dict[str, Any],
        charged: dict[str, Any],
    ) -> None:
        """Write the rows, or show the first ones, and say what was promised."""
        guarantee = model.guarantee_
        promised = self._guarantee_facts(guarantee)
        if self.output is not None:
            # The file goes to recipients: settings and the promise are public, what is exact is not.
            rows.write(self.output, plain({**public, "guarantee": promised}))
            self.voice.note(f"Wrote {what} to {self.output}.")
        # Lists are made from all that their owners have: what sums them up is exact in that.
        sure = model.significance_
        share = float((sure >= SIGNIFICANT).sum() / max(1, sure.size))
        if self.voice.as_json:
            first = [] if self.output is not None else [dict(zip(rows.names, row, strict=True)) for row in rows.first()]
            output = None if self.output is None else str(self.output)
            facts = {**public, "output": output, **charged, "guarantee": promised}
            facts |= {"first_rows": first} if first else {}
            seconds = round(time.monotonic() - self.began, 2)
            made = {"rows": rows.n_rows, "significant_share": share, "seconds": seconds, "report": self._report(model)}
            print_json(facts, private={**counts, **made})
            return
        if self.output is None:
            rows.show(f"The first {SHOWN} {what}")
        print_promise(guarantee, in_full="--json, and in a .parquet file")
        if charged:
            print_facts("", in_words(charged))
        print_private(
            {
                what: f"{rows.n_rows:,} for {counts['users']:,} users",
                "significant": f"{share:.0%} of the places in the neighbour lists",
            }
        )
        if self.output is None:
            self.voice.note(
                "-o FILE writes all of them. It draws new noise: keep the result of one run only, or losses add up."
            )
        elif not self.output.name.lower().endswith(".parquet"):
            self.voice.note("Keep the guarantee with the file; only a .parquet file carries it.")
        if not charged:
            say_nobody_counts(self.voice)

    def _settings(self) -> dict[str, Any]:
        """Return what was asked for, which may be told to everybody."""
        shown: dict[str, Any] = {
            "epsilon": self.epsilon,
            "engine": self.engine,
            "k": self.neighbors,
            "score": self.score,
            "significant_only": self.significant_only,
        }
        if SCORES[self.score].needs_sizes:
            shown["sizes"] = self.sizes or SIZES[0]
        if ENGINES[self.engine].has_cycles:
            shown["cycles"] = self.cycles or DEFAULT_CYCLES
        shown["catalogue"] = self.catalogue
        if self.catalogue == "private":
            shown["delta"] = self.delta
        if self.recommendations:
            shown |= {
                "n": self.recommendations,
                "voters": self.voters,
                "epsilon_neighbors": float(self.for_neighbors),
                "epsilon_recommendations": float(self.for_items),
            }
        return shown

    def _announce(self, n_users: int, rough: "Effort", needed: float | dict[str, float]) -> None:
        """Say what it will take, how many common items a neighbour needs, and what else is to be expected."""
        threads = self.threads or available_processors()
        self.voice.compiling(self.engine)
        self.voice.private(
            f"engine {self.engine}: about {rough_duration(rough.seconds)} and {byte_size(rough.memory_bytes)} of "
            f"memory with {counted(threads, 'thread')} (rough)."
        )
        if isinstance(needed, dict):
            examples = " or ".join(
                f"{max(1.0, count):.0f} of {size}" if math.isfinite(count) else f"more than all {size}"
                for size, count in needed.items()
            )
            text = f"about {examples} items of weight 1"
        else:
            text = f"about {needed:.1f} items of weight 1" if needed >= 1 else "a single item of weight 1"
        share = " (the part that finds neighbours)" if self.for_items else ""
        self.voice.note(
            f"Among {n_users:,} users at epsilon {float(self.for_neighbors):.4g}{share}, a neighbour needs {text} in "
            "common to stand out from chance."
        )
        caveat = ENGINES[self.engine].caveat(n_users, self.cycles or DEFAULT_CYCLES)
        if caveat is not None:
            self.voice.note(caveat)

    def _guarantee_facts(self, guarantee: "Guarantee") -> dict[str, Any]:
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
            "observed_catalogue": guarantee.names_given_away,
        }

    def _report(self, model: "PrivateNeighbors") -> dict[str, Any]:
        """Return what the engine says about its run; what neighbours alone cost would confuse beside the whole."""
        said: dict[str, Any] = model.report_.get("private", {})  # type: ignore[assignment]
        return {name: fact for name, fact in said.items() if not (self.for_items and name == "afterwards")}


def check_together(engines: Collection[str], score: str, sizes: str | None, cycles: int | None) -> None:
    """Refuse options that have no meaning together."""
    for name in engines:
        if score not in ENGINES[name].scores:
            known = " or ".join(ENGINES[name].scores)
            raise click.UsageError(f"--score must be {known} with --engine {name}, not {score}.")
    if cycles is not None and not any(ENGINES[name].has_cycles for name in engines):
        useful = " and ".join(name for name, engine in ENGINES.items() if engine.has_cycles)
        raise click.UsageError(f"--cycles is for --engine {useful}; {' and '.join(engines)} has none.")
    if sizes is not None and not SCORES[score].needs_sizes:
        needing = " and ".join(name for name, one in SCORES.items() if one.needs_sizes)
        raise click.UsageError(f"--sizes is for --score {needing}; an {score} needs none.")


def check_size(neighbors: int, n_users: int) -> None:
    """Refuse lists longer than there are others to put on them."""
    if neighbors >= n_users:
        raise InvalidInput(f"--neighbors must be below the number of users ({n_users})", got=neighbors)
