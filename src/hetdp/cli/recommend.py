"""`hetdp recommend`: items for each user, from a model of everybody (at home, or learned first) or from neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from hetdp.cli.learn import MODEL_SECTIONS, OF_MODELS, LearnCommand, in_words, model_options
from hetdp.cli.neighbors import SearchCommand, neighbor_options
from hetdp.cli.output import (
    ENDINGS,
    SHOWN,
    Lists,
    Sectioned,
    Voice,
    check_ending,
    check_writable,
    guarantee_facts,
    output_options,
    plain,
    print_facts,
    print_json,
    print_private,
    print_promise,
)
from hetdp.cli.profile_ledger import LEDGER_OPTIONS, ProfileLedger, in_words as ledger_in_words, ledger_options
from hetdp.cli.source import Source, catalogue_option, column_options
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.recommending import VOTERS

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.recommender.estimator import PrivateRecommender

__all__ = ["recommend"]

_MODEL = "model"
#: Own items named for each recommendation.
_REASONS = 3
_OF_NEIGHBORS = ("voters", "neighbors", "score", "sizes", "cycles", "tuned_for", "significant_only")


@click.command(
    cls=Sectioned,
    sections=MODEL_SECTIONS | {"At home": ("model_file", "profile", "why"), "Neighbours": _OF_NEIGHBORS},
    short_help="Recommend items to each user, privately.",
)
@click.argument("data", required=False, type=click.Path(path_type=Path))
@click.option("--model", "model_file", type=click.Path(path_type=Path), help="Model to use, instead of DATA.")
@click.option("--profile", type=click.Path(path_type=Path),
              help="Own items: a file with a column of items, or of users and items.")  # fmt: skip
@click.option("--why", is_flag=True, help="With --model: name the own items that speak most for each.")
@click.option("--items", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="Items per user.")
@click.option("--epsilon", type=float, help="Privacy level of an item of weight 1, in all.")
@click.option("--engine", type=click.Choice((_MODEL, *ENGINES)), default=_MODEL, show_default=True,
              help="One model of everybody; or votes of neighbours, found as hetdp neighbors does.")  # fmt: skip
@column_options
@catalogue_option
@model_options
@click.option("--voters", type=click.IntRange(min=1), default=VOTERS, show_default=True,
              help="How many of the most similar users vote.")  # fmt: skip
@neighbor_options
@click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(ENDINGS)}.")
@ledger_options
@output_options
def recommend(
    data: Path | None,
    *,
    voice: Voice,
    model_file: Path | None,
    profile: Path | None,
    why: bool,
    items: int,
    engine: str,
    output: Path | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Recommend items to each user in DATA, a file of (user, item) pairs with a privacy weight each.

    \b
    hetdp recommend likes.csv --epsilon 1 -o items.parquet
    hetdp recommend --model model.hetdp --profile me.csv -n 10
    hetdp recommend ratings.csv --epsilon 1 --engine exact -o items.parquet

    With DATA, a model is learned from everybody first, as hetdp learn does: --epsilon counts against everybody
    together. With --model and --profile nothing is spent and nothing leaves. With another --engine, neighbours vote: a
    part of epsilon finds them, the rest counts what they have. The rows of a user (user, item, score) come from the
    exact own profile and are for that user. Noise is always secure: running it again is another release, and losses
    add up.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    shown = _Shown(items, output, voice)
    if model_file is not None or profile is not None:
        _refuse(LEDGER_OPTIONS, "with --model: an own list, made at home, costs nothing")
        _refuse(
            ("data", "epsilon", "delta", "engine", "catalogue", "names", *OF_MODELS, *_OF_NEIGHBORS), "with --model"
        )
        if model_file is None or profile is None:
            raise click.UsageError("--model and --profile go together: a model, and the items of whoever asks.")
        _at_home(model_file, Source.take(profile, options, voice), replace(shown, why=why))
        return
    if data is None or options["epsilon"] is None:
        raise click.UsageError("DATA and --epsilon are needed to learn from; or --model and --profile, at home.")
    _refuse(("why",), "without --model: a reason is for its owner only")
    useless = _OF_NEIGHBORS if engine == _MODEL else OF_MODELS
    _refuse(useless, f"with --engine {engine}")
    for name in useless:
        options.pop(name)
    if engine == _MODEL:
        command = LearnCommand.take([data], options, voice, output=output)
        if output is not None:
            check_ending(output)
        _learned(command, shown)
        return
    source = Source.take(data, options, voice)
    ledger = ProfileLedger.take(options)
    search = SearchCommand(source=source, recommendations=items, engine=engine, output=output, ledger=ledger, **options)
    what = f"{float(search.for_items):.4g} to count what they have" if search.for_items else "recommendations are free"
    parts = f"{float(search.for_neighbors):.4g} to find neighbours, {what}"
    voice.note(f"Epsilon {search.epsilon:g} {ENGINES[engine].scope}: {parts}.")
    search.carry_out()


def _refuse(names: Sequence[str], where: str) -> None:
    """Refuse options that were given and have no meaning here."""
    context = click.get_current_context()
    given = [name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
    if given:
        called = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
        shown = ", ".join(sorted(called[name].replace("data", "DATA") for name in given))
        raise click.UsageError(f"{shown}: no meaning {where}.")


@dataclass(frozen=True)
class _Shown:
    """How lists are shown: how long, where, and to whom."""

    items: int
    output: Path | None
    voice: Voice
    why: bool = False

    def show(
        self,
        model: "PrivateRecommender",
        asking: "Profiles | None",
        facts: dict[str, Any],
        charged: dict[str, Any] | None = None,
    ) -> None:
        """Write the lists, or show the first ones, and say what is promised."""
        charged = charged or {}
        with self.voice.progress("Recommending") as model.progress, self.voice.remarks():
            rows = Lists.from_frame(model.recommend(self.items, profiles=asking))
        if self.why and asking is not None:
            rows = Lists({**rows.columns, "because": _reasons(model, asking, rows)})
        about = plain({**facts, "n": self.items, "taste": model.taste_, "guarantee": guarantee_facts(model.guarantee_)})
        if self.output is not None:
            rows.write(self.output, about)
            self.voice.note(f"Wrote recommendations to {self.output}.")
        if self.voice.as_json:
            first = [dict(zip(rows.names, row, strict=True)) for row in rows.first(self._shown(asking))]
            where = {"first_rows": first} if self.output is None else {"output": str(self.output)}
            print_json({**about, **charged, **where}, private={"rows": rows.n_rows})
            return
        if self.output is None:
            rows.show(f"The first {self._shown(asking):,} recommendations", self._shown(asking))
        print_facts("", {"taste": in_words(model), **ledger_in_words(charged)})
        if asking is not None:
            self.voice.note("Nothing was spent. The list comes from exact own items, and is for their owner only.")
        print_promise(model.guarantee_, of="the model's guarantee to its crowd" if asking is not None else "guarantee")
        print_private({"recommendations": f"{rows.n_rows:,}"})

    def _shown(self, asking: "Profiles | None") -> int:
        """How many rows are shown: all of a list that one person asked for."""
        return self.items if asking is not None and asking.n_users == 1 else SHOWN


def _reasons(model: "PrivateRecommender", asking: "Profiles", rows: Lists) -> NDArray[np.object_]:
    """Return the own items that speak most for each recommendation, in words."""
    own = {user: list(asking.profile(user)) for user in asking.user_ids.tolist()}
    reasons = []
    for user, item in zip(rows.columns["user"].tolist(), rows.columns["item"].tolist(), strict=True):
        parts = model.explain(own[user], item)
        named = zip(_values(parts["item"]), _values(parts["contribution"]), strict=True)
        speaking = [str(one) for one, amount in named if isinstance(one, str | int) and amount > 0]
        reasons.append(", ".join(speaking[:_REASONS]) or "popular")
    return np.array(reasons, dtype=object)


def _values(column: Any) -> list[Any]:  # noqa: ANN401  (of pandas, or of arrow where that is not installed)
    """Return a column as plain values, whole numbers beside a missing one included."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.tolist())


def _at_home(model_file: Path, source: Source, shown: _Shown) -> None:
    """Recommend with a model that is there, to whoever owns the profile; nothing is spent and nothing leaves."""
    from hetdp.recommender.estimator import PrivateRecommender

    if shown.output is not None:
        check_writable(shown.output, keep=(model_file, source.path))
        check_ending(shown.output)
    model = PrivateRecommender.load(model_file)
    asking = source.read_own()
    if shown.voice.dry_run:
        print_facts("Dry run", {"model": str(model_file), "spent": "nothing; nothing leaves"})
        return
    shown.show(model, asking, {"model": str(model_file)})


def _learned(command: LearnCommand, shown: _Shown) -> None:
    """Learn a model from everybody, and recommend to everybody."""
    if shown.voice.dry_run:
        command.show_plan()
        return
    model, charged = command.fitted()
    shown.show(model, None, command.facts(), charged)
    if shown.output is None:
        shown.voice.note(
            "-o FILE writes all of them, and hetdp learn keeps the model. Each run draws new noise: keep the result of "
            "one run only, or losses add up."
        )
