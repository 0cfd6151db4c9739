"""`hetdp learn`: one public model of which items people have together."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.interrupts import ending_on_signals
from hetdp.cli.options import Sectioned, available_processors, cannot_be_used, refuse, threads_option
from hetdp.cli.output import (
    Voice,
    check_writable,
    dry_run_option,
    guarantee_facts,
    output_options,
    print_facts,
    print_json,
    print_private,
    print_promise,
    say_nobody_counts,
)
from hetdp.cli.profile_ledger import (
    LEDGER_OPTIONS,
    ProfileLedger,
    in_words as ledger_in_words,
    ledger_options,
    ledger_problems,
)
from hetdp.cli.source import (
    COLUMN_OPTIONS,
    DEFAULT_DELTA,
    Source,
    catalogue_option,
    column_options,
    source_problems,
)
from hetdp.core.errors import DataError
from hetdp.core.text import agreeing, counted

if TYPE_CHECKING:
    import os

    from hetdp.profiles import Profiles
    from hetdp.recommender.estimator import PrivateRecommender
    from hetdp.recommender.parts import Parts

DEFAULT_HEAD = 4096
_SECTIONS = {
    "Data": (*COLUMN_OPTIONS, "catalogue"),
    "Privacy": ("epsilon", "delta", "release", "unit", "user_weights"),
    "Ledger": LEDGER_OPTIONS,
}

#: Items in the example of a shared interest, and the personalisation from which on a model has seen it well.
_TOGETHER, _WELL_SEEN = 20, 0.9
#: With fewer items than that, a catalogue would help.
_FEW_ITEMS = 50


@click.command(cls=Sectioned, sections=_SECTIONS)
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--epsilon", type=float, required=True, help="Total privacy loss of an item of weight 1.")
@column_options
@catalogue_option
@click.option(
    "--delta",
    type=float,
    default=DEFAULT_DELTA,
    show_default=True,
    help="Probability of a larger loss. It is spent without --catalogue, and with --release matrix.",
)
@click.option(
    "--release",
    type=click.Choice(("sketch", "matrix")),
    default="sketch",
    show_default=True,
    help="sketch: add up one noisy sketch per person (one noisy bit per item), as in the local model. matrix: add "
    "noise to one matrix of all people; more accurate, but needs a trusted curator.",
)
@click.option(
    "--unit",
    type=click.Choice(("item", "user")),
    default="item",
    show_default=True,
    help="What is protected: each item of a person, or the whole person (with --release matrix).",
)
@click.option(
    "--user-weights",
    type=click.Path(path_type=Path),
    help="Privacy weights of people, for --unit user: a file with the columns user and weight.",
)
@click.option(
    "--head",
    "n_head",
    type=click.IntRange(min=1),
    default=DEFAULT_HEAD,
    show_default=True,
    help="Number of items that the model relates to each other; other items are ranked by popularity.",
)
@threads_option
@click.option("--dask", "address", help="Read the files on a Dask cluster, such as tcp://10.0.0.1:8786.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, help="File of the model, such as model.hetdp."
)
@ledger_options
@dry_run_option
@output_options
@ending_on_signals()
def learn(
    data: tuple[Path, ...],
    *,
    voice: Voice,
    output: Path,
    **options: Any,  # noqa: ANN401
) -> None:
    """Learn from DATA which items the same people have, and write a model that may be published.

    \b
    hetdp learn likes.csv --epsilon 1 -o model.hetdp
    hetdp learn parts/*.parquet --epsilon 1 --catalogue films.csv -o model.hetdp
    hetdp recommend model.hetdp me.csv -n 10

    DATA are files of (user, item) pairs with a privacy weight each. All pairs of a person must be in the same file.
    A pair with weight 1 loses at most --epsilon, one with weight 0.5 half of it, one with weight 0 nothing.

    --epsilon limits the loss against everybody together. hetdp recommend uses the model on any machine and sends
    nothing. Each run of hetdp learn draws new noise and is a new release. The losses of all runs add up.

    With --dask, the workers read the files by the same paths. They know the secret noise, so you must trust them as
    much as the curator of DATA.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    began = time.monotonic()
    problems = [*source_problems(), *ledger_problems()]
    if options["unit"] != "user":
        problems += cannot_be_used(["user_weights"], "without --unit user")
    refuse(problems)
    source = Source.take(data[0], options, voice)
    book = ProfileLedger.take(options)
    check_writable(output, keep=(*data, source.catalogue, options["user_weights"], book.path))
    catalogue = "private" if source.catalogue is None else "given"
    model = _model(options, catalogue)
    promised = model.promise()
    if voice.dry_run:
        with book.opened(promised) as ledger:
            planned = book.planned(ledger, promised)
        _show_plan(model, _crowd(data, source, options["address"]), planned, output, voice)
        return
    if catalogue == "private":
        people = counted(model.people_to_be_named(), "person", "people")
        voice.note(f"An item is named if about {people} of weight 1 have it; --catalogue lists public items.")
    voice.compiling("model")
    with book.opened(promised) as ledger:
        if ledger is not None:
            ledger.preview_profiles(promised)  # refused before anything is read
        model.ledger = ledger
        with (
            closing(_crowd(data, source, options["address"])) as crowd,
            voice.progress("Learning") as model.progress,
            voice.remarks(),
        ):
            model.fit(crowd, user_weights=_person_weights(options["user_weights"], voice))
        charged = book.charged(ledger, promised)
    model.save(output)
    _finish(model, charged, output, voice, began=began)


def _model(options: Mapping[str, Any], catalogue: str) -> "PrivateRecommender":
    """Return the model, not fitted yet; its noise is secure."""
    from hetdp.recommender.estimator import PrivateRecommender

    return PrivateRecommender(
        options["epsilon"],
        delta=options["delta"],
        release=options["release"],
        unit=options["unit"],
        n_head=options["n_head"],
        catalogue=catalogue,
        n_jobs=options["threads"] or (available_processors() if options["address"] is None else 1),
    )


@dataclass(frozen=True)
class _Reading:
    """Reads one file of a crowd like any other, on whatever machine."""

    source: Source

    def __call__(self, path: "str | os.PathLike[str]") -> "Profiles":
        return replace(self.source, path=Path(path)).read().profiles


def _crowd(files: Sequence[Path], source: Source, address: str | None) -> "Parts":
    """Return the data: read, if it is one file that is read here."""
    from hetdp.recommender.parts import Parts

    if len(files) == 1 and address is None:
        return Parts([source.read().profiles])
    for path in files:
        source.voice.note(replace(source, path=path).described())
    # Each file is read up to three times, and perhaps elsewhere.
    catalogue = None if source.catalogue is None else source.catalogue.absolute()
    read = _Reading(replace(source, catalogue=catalogue, voice=replace(source.voice, quiet=True)))
    if address is None:
        return Parts(files, read)
    from hetdp.recommender.cluster import ClusterParts

    return ClusterParts(files, address, read)


def _person_weights(path: Path | None, voice: Voice) -> Any:  # noqa: ANN401  (a mapping from ids of either kind)
    """Return the privacy weight of each person, if there are any."""
    from hetdp.accounting.ledger.identity import canonical_ids
    from hetdp.profiles.columns import read_table, weight_remark

    if path is None:
        return None
    table = read_table(path, {"user": "user_weights", "weight": "user_weights"})
    voice.note(weight_remark("weight", None))
    people, weights = table.labels("user"), table.weights("weight", default=None).values
    repeated = canonical_ids(people, "user").repeated
    if repeated:
        raise DataError(
            f"{path.name} must hold each person once; {counted(repeated, 'row')} repeat a person",
            hint="1, 1.0 and ' 1' are one person.",
        )
    return dict(zip(people.to_pylist(), weights.tolist(), strict=True))


def _facts(model: "PrivateRecommender") -> dict[str, Any]:
    """Return what was asked for, which may be told to everybody."""
    shown = {name: getattr(model, name) for name in ("epsilon", "release", "unit")}
    delta = {"delta": model.delta} if model.release == "matrix" or model.catalogue == "private" else {}
    return {**shown, **delta, "catalogue": model.catalogue, "n_head": model.n_head}


def _show_plan(
    model: "PrivateRecommender", crowd: "Parts", planned: dict[str, Any], output: Path, voice: Voice
) -> None:
    """Say what would be done and promised, and how large a shared interest must be to be visible."""
    with closing(crowd):
        sizes = [(part.n_users, part.n_items) for part in crowd]
    n_users, n_items = sum(size[0] for size in sizes), max(size[1] for size in sizes)
    needed = model.visible_taste(n_users, n_items)
    facts = {**_facts(model), "output": str(output)}
    promised = model.promise()
    if voice.as_json:
        private = {"users": n_users, "items": n_items, "visible_taste": needed}
        print_json({"dry_run": True, **facts, **planned, "guarantee": guarantee_facts(promised)}, private=private)
        return
    words = {name.replace("_", " "): value for name, value in facts.items()}
    if model.catalogue == "private":
        words["an item is named"] = f"if about {counted(model.people_to_be_named(), 'person', 'people')} have it"
    together = math.ceil(needed / _TOGETHER)
    seen = (
        f"if people who share it, times items that each of them has of it, are above {math.ceil(needed):,}: for "
        f"instance {together:,} of {n_users:,} people with {_TOGETHER} items"
    )
    if together > n_users:
        seen += ". There are fewer people: expect popular items only"
    print_facts("Dry run: nothing was drawn", {**words, **ledger_in_words(planned), "guarantee": promised.text})
    print_private({"a shared interest is visible": seen})


def _finish(model: "PrivateRecommender", charged: dict[str, Any], output: Path, voice: Voice, *, began: float) -> None:
    """Say what was learned, and what is promised."""
    if voice.as_json:
        learned = {"items": model.n_features_in_, "taste": model.taste_, "output": str(output)}
        facts = {**_facts(model), **learned, **charged, "guarantee": guarantee_facts(model.guarantee_)}
        print_json(facts, private={"seconds": round(time.monotonic() - began, 2)})
        return
    items = counted(model.n_features_in_, "item")
    if model.catalogue == "private":
        items += f", named because enough people have {agreeing(model.n_features_in_, 'it', 'them')}"
        items += " (--catalogue lists others)" if model.n_features_in_ < _FEW_ITEMS else ""
    told = {"model": str(output), "items": items, "personalisation": personalisation_words(model)}
    print_facts("", {**told, **ledger_in_words(charged)})
    print_promise(model.guarantee_, in_full="--json, and in the model")
    if not charged:
        say_nobody_counts(voice)


def personalisation_words(model: "PrivateRecommender") -> str:
    """Return whether a model has seen what people like together."""
    if model.taste_ == 0:
        return "none: no shared interest rises above the noise, so everybody gets popular items"
    if model.taste_ > _WELL_SEEN:
        return f"{model.taste_:.0%} of a score"
    return f"{model.taste_:.0%} of a score; the rest is popularity"
