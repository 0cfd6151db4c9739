"""`hetdp learn`: one public model of what goes with what, from everybody's likes; and what `hetdp recommend` shares."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hetdp.cli.output import (
    Sectioned,
    Voice,
    available_processors,
    check_writable,
    guarantee_facts,
    in_options,
    output_options,
    print_facts,
    print_json,
    print_private,
    print_promise,
    say_nobody_counts,
    threads_option,
)
from hetdp.cli.profile_ledger import LEDGER_OPTIONS, ProfileLedger, in_words as ledger_in_words, ledger_options
from hetdp.cli.source import (
    COLUMN_OPTIONS,
    DEFAULT_DELTA,
    Source,
    catalogue_option,
    check_names,
    column_options,
    names_option,
)
from hetdp.core.checks import fraction
from hetdp.core.errors import DataError
from hetdp.core.text import agreeing, counted

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.recommender.estimator import PrivateRecommender
    from hetdp.recommender.parts import Parts

__all__ = ["MODEL_SECTIONS", "OF_MODELS", "LearnCommand", "in_words", "learn", "model_options"]

DEFAULT_HEAD = 4096

#: Options of a command that learns, by heading.
MODEL_SECTIONS = {
    "Data": (*COLUMN_OPTIONS, "catalogue", "names"),
    "Privacy": ("epsilon", "delta", "release", "unit", "user_weights"),
    "Ledger": LEDGER_OPTIONS,
}

#: Parameters that only models have.
OF_MODELS = ("release", "unit", "user_weights", "n_head")

#: Items in the example of a taste, and how much of a score is taste where it is well seen.
_TOGETHER, _WELL_SEEN = 20, 0.9
#: With fewer items than that, a catalogue would help.
_FEW_ITEMS = 50

Command = TypeVar("Command", bound=Callable[..., Any])


def model_options(function: Command) -> Command:
    """Give a command the options of a model that is learned; `LearnCommand` takes them all."""
    for option in (
        threads_option,
        click.option("--head", "n_head", type=click.IntRange(min=1), default=DEFAULT_HEAD, show_default=True,
                     help="Most items that the model relates to each other; others come after them."),
        names_option,
        click.option("--user-weights", type=click.Path(path_type=Path),
                     help="Dial of each person, with --unit user: a file with the columns user and weight."),
        click.option("--unit", type=click.Choice(("item", "user")), default="item", show_default=True,
                     help="What is protected: each item, or a whole person (with --release matrix)."),
        click.option("--release", type=click.Choice(("sketch", "matrix")), default="sketch", show_default=True,
                     help="Trust nobody, and sum noisy sketches; or trust the holder of DATA, and publish one noisy "
                          "matrix."),
        click.option("--delta", type=float, default=DEFAULT_DELTA, show_default=True,
                     help="Chance of a worse loss: of private names, and of a noisy matrix."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command(cls=Sectioned, sections=MODEL_SECTIONS, short_help="Learn a public model from everybody, privately.")
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--epsilon", type=float, required=True, help="Privacy level of an item of weight 1, in all.")
@column_options
@catalogue_option
@model_options
@click.option(
    "--dask", "address", help="Have the files read and summed by a Dask cluster, such as tcp://10.0.0.1:8786."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Model to write, such as model.hetdp.")
@ledger_options
@output_options
def learn(
    data: tuple[Path, ...],
    *,
    voice: Voice,
    output: Path | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Learn from DATA, files of (user, item) pairs with a privacy weight each, which items go with which.

    \b
    hetdp learn likes.csv --epsilon 1 -o model.hetdp
    hetdp learn parts/*.parquet --epsilon 1 --catalogue films.csv -o model.hetdp
    hetdp recommend --model model.hetdp --profile me.csv -n 10

    The model is public. --epsilon counts against everybody together, once; whoever has the model gets recommendations
    at home, with the exact own profile, and nothing leaves. Files of one crowd hold whole people each; they are read
    one after the other, up to three times. Noise is always secure: running it again is another release, and losses add
    up. With --dask, workers read the files, which must have the same names there, and are told the secret of the noise:
    trust them as you trust whoever holds DATA. The model is the same, however many there are.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    if output is None and not voice.dry_run:
        raise click.UsageError("--output is needed: a model that nobody keeps is paid for in vain.")
    command = LearnCommand.take(data, options, voice, output=output)
    if voice.dry_run:
        command.show_plan()
        return
    model, charged = command.fitted()
    model.save(command.written_to)
    command.finish(model, charged)


@dataclass(frozen=True)
class _Reading:
    """Reads one file of a crowd like any other, on whatever machine."""

    source: Source

    def __call__(self, path: str | os.PathLike[str]) -> "Profiles":
        return replace(self.source, path=Path(path)).read().profiles


@dataclass(frozen=True, kw_only=True)
class LearnCommand:
    """A model from the command line: what is asked for, and how to speak about it."""

    sources: Sequence[Source]
    epsilon: float
    delta: float
    release: str
    unit: str
    user_weights: Path | None
    names: str | None
    n_head: int
    threads: int | None
    output: Path | None
    ledger: ProfileLedger = field(default_factory=ProfileLedger)
    address: str | None = None
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def take(
        cls, data: Sequence[Path], options: dict[str, Any], voice: Voice, *, output: Path | None
    ) -> "LearnCommand":
        """Take the options of a model out of those of a command. Refuse what cannot work, before anything is read."""
        first = Source.take(data[0], options, voice)
        sources = [replace(first, path=path) for path in data]
        own = {name: options.pop(name) for name in ("epsilon", "delta", "names", *OF_MODELS, "threads")}
        ledger = ProfileLedger.take(options)
        command = cls(sources=sources, output=output, ledger=ledger, address=options.pop("address", None), **own)
        fraction("--epsilon", command.epsilon)
        check_names(sources[0].catalogue, command.names)
        if command.user_weights is not None and command.unit != "user":
            raise click.UsageError("--user-weights is for --unit user; items have weights of their own.")
        if output is not None:
            check_writable(output, keep=(*data, sources[0].catalogue, command.user_weights, ledger.ledger_path))
        with in_options({}):
            command.model().promise()
        return command

    @property
    def source(self) -> Source:
        """The first file, and how all are read."""
        return self.sources[0]

    @property
    def voice(self) -> Voice:
        """How to speak about it."""
        return self.source.voice

    @property
    def written_to(self) -> Path:
        """Where the model goes."""
        if self.output is None:
            raise click.UsageError("--output is needed.")
        return self.output

    @property
    def catalogue(self) -> str:
        """How items get their names."""
        return "given" if self.source.catalogue is not None else (self.names or "private")

    def crowd(self) -> "Parts":
        """Return the data: read, if it is one file that is read here."""
        from hetdp.recommender.parts import Parts

        if len(self.sources) == 1 and self.address is None:
            return Parts([self.source.read().profiles])
        files = [source.path for source in self.sources]
        for source in self.sources:
            self.voice.note(f"{source.path.name}: {source.weights_in()}.")
        # Each file is read up to three times, and perhaps elsewhere.
        catalogue = None if self.source.catalogue is None else self.source.catalogue.absolute()
        read = _Reading(replace(self.source, catalogue=catalogue, voice=replace(self.voice, quiet=True)))
        if self.address is None:
            return Parts(files, read)
        from hetdp.recommender.cluster import ClusterParts

        return ClusterParts(files, self.address, read)

    def model(self) -> "PrivateRecommender":
        """Return the model, not fitted yet; its noise is secure."""
        from hetdp.recommender.estimator import PrivateRecommender

        return PrivateRecommender(
            self.epsilon,
            delta=self.delta,
            release=self.release,
            unit=self.unit,
            n_head=self.n_head,
            catalogue=self.catalogue,
            n_jobs=self.threads or (available_processors() if self.address is None else 1),
        )

    def fitted(self) -> "tuple[PrivateRecommender, dict[str, Any]]":
        """Return the model, learned from everybody in the data, and what that was charged to a ledger."""
        model = self.model()
        promised = model.promise()
        if self.catalogue == "private":
            people = counted(model.people_to_be_named(), "person", "people")
            self.voice.note(
                f"An item is named if about {people} count it in full; --catalogue lists what all may know."
            )
        self.voice.compiling("model")
        with self.ledger.opened(promised) as ledger:
            if ledger is not None:
                ledger.preview_profiles(promised)  # refused before anything is read
            model.ledger = ledger
            with (
                closing(self.crowd()) as crowd,
                self.voice.progress("Learning") as model.progress,
                self.voice.remarks(),
            ):
                model.fit(crowd, user_weights=self.dials())
            return model, self.ledger.charged(ledger, promised)

    def dials(self) -> Any:  # noqa: ANN401  (a mapping from ids of either kind)
        """Return the dial of each person, if there are any."""
        from hetdp.accounting.ledger.identity import canonical_ids
        from hetdp.profiles.columns import read_table

        if self.user_weights is None:
            return None
        table = read_table(self.user_weights, ["user", "weight"])
        people, weights = table.labels("user"), table.weights("weight", default=1.0).values
        repeated = canonical_ids(people, "user").repeated
        if repeated:
            raise DataError(
                f"{self.user_weights.name} must hold each person once. Got {repeated:,} who were there before instead; "
                "1, 1.0 and ' 1' are one person."
            )
        return dict(zip(people.to_pylist(), weights.tolist(), strict=True))

    def facts(self) -> dict[str, Any]:
        """Return what was asked for, which may be told to everybody."""
        shown = {"epsilon": self.epsilon, "release": self.release, "unit": self.unit}
        delta = {"delta": self.delta} if self.release == "matrix" or self.catalogue == "private" else {}
        return {**shown, **delta, "catalogue": self.catalogue, "n_head": self.n_head}

    def show_plan(self) -> None:
        """Say what would be done and promised, and how large a taste has to be to be seen."""
        from hetdp.profiles import Profiles

        model, crowd = self.model(), self.crowd()
        sizes = [(part.n_users, part.n_items) for part in ([crowd] if isinstance(crowd, Profiles) else crowd)]
        n_users, n_items = sum(size[0] for size in sizes), max(size[1] for size in sizes)
        needed = model.visible_taste(n_users, n_items)
        with self.ledger.opened(model.promise()) as ledger:
            planned = self.ledger.planned(ledger, model.promise())
        facts = {"dry_run": True, **self.facts(), "output": None if self.output is None else str(self.output)}
        if self.voice.as_json:
            private = {"users": n_users, "items": n_items, "visible_taste": needed}
            print_json({**facts, **planned, "guarantee": guarantee_facts(model.promise())}, private=private)
            return
        words = {name.replace("_", " "): value for name, value in facts.items() if name != "dry_run"}
        if self.catalogue == "private":
            words["an item is named"] = f"if about {counted(model.people_to_be_named(), 'person', 'people')} have it"
        together = math.ceil(needed / _TOGETHER)
        seen = (
            f"if people who share it, times items that each of them has of it, are above {math.ceil(needed):,}: for "
            f"instance {together:,} of {n_users:,} people with {_TOGETHER} items"
        )
        if together > n_users:
            seen += ". There are not so many: expect no more than what is popular"
        words |= ledger_in_words(planned)
        print_facts("Dry run: nothing was drawn", {**words, "guarantee": model.promise().text})
        print_private({"taste is seen": seen})

    def finish(self, model: "PrivateRecommender", charged: dict[str, Any]) -> None:
        """Say what was learned, and what is promised."""
        facts = {
            **self.facts(),
            "items": model.n_features_in_,
            "taste": model.taste_,
            "output": str(self.output),
            **charged,
        }
        if self.voice.as_json:
            spent = {"seconds": round(time.monotonic() - self.began, 2)}
            print_json({**facts, "guarantee": guarantee_facts(model.guarantee_)}, private=spent)
            return
        items = counted(model.n_features_in_, "item")
        named = f", named because enough people have {agreeing(model.n_features_in_, 'it', 'them')}"
        hint = " (--catalogue lists others)" if model.n_features_in_ < _FEW_ITEMS else ""
        what = f"{items}{named if self.catalogue == 'private' else ''}{hint if self.catalogue == 'private' else ''}"
        print_facts(
            "", {"model": str(self.output), "items": what, "taste": in_words(model), **ledger_in_words(charged)}
        )
        print_promise(model.guarantee_, in_full="--json, and in the model")
        if not charged:
            say_nobody_counts(self.voice)


def in_words(model: "PrivateRecommender") -> str:
    """Return whether a model has seen what people like together."""
    if model.taste_ == 0:
        return "none rises above the noise; everybody is recommended what is popular. More people or epsilon help"
    if model.taste_ > _WELL_SEEN:
        return "seen"
    return f"seen in part: {model.taste_:.0%} of a score is taste, the rest popularity"
