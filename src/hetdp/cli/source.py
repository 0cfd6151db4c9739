"""Files of (user, item) pairs on the command line: options of columns, weights and the catalogue, and reading them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import click

from hetdp.cli.options import cannot_be_used, given
from hetdp.cli.output import Voice
from hetdp.core.errors import Problem
from hetdp.core.text import counted

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.profiles.reading import PairFile

DEFAULT_DELTA = 1e-6
#: Parameters that say what is in a file of pairs, in the order of the help.
COLUMN_OPTIONS = ("user", "item", "weight", "no_weights", "default_weight", "rating", "min_rating")

Command = TypeVar("Command", bound=Callable[..., Any])


def column_options(function: Command) -> Command:
    """Give a command the options that say what is in a file of pairs."""
    for option in (
        click.option("--min-rating", type=float, help="Use only pairs with at least this rating."),
        click.option("--rating-column", "rating", help="Column of ratings, for --min-rating.  [default: rating]"),
        click.option(
            "--default-weight",
            type=click.FloatRange(0, 1),
            help="Privacy weight of pairs whose weight cell is empty.  [default: 0]",
        ),
        click.option("--no-weights", is_flag=True, help="Ignore a column of weights: every weight is 1."),
        click.option(
            "--weight-column",
            "weight",
            help="Column of privacy weights from 0 to 1.  [default: the column weight; without one, all are 1]",
        ),
        click.option("--item-column", "item", help="Column of items.  [default: item, movieId, product or similar]"),
        click.option("--user-column", "user", help="Column of users.  [default: user, userId, customer or similar]"),
    ):
        function = option(function)
    return function


catalogue_option = click.option(
    "--catalogue",
    type=click.Path(path_type=Path),
    help="Public list of all items: a file with a column of items, or one item per line.",
)
delta_option = click.option(
    "--delta",
    type=float,
    default=DEFAULT_DELTA,
    show_default=True,
    help="Probability of a larger loss. Only --engine sketch without --catalogue spends it.",
)


def data_options(function: Command) -> Command:
    """Give a command the file it reads, what is in it, and the catalogue."""
    data = click.argument("data", type=click.Path(path_type=Path))
    return data(column_options(catalogue_option(function)))


def source_problems() -> Iterator[Problem]:
    """Yield what contradicts itself in the options of a file of pairs."""
    if given("no_weights"):
        yield from cannot_be_used(["weight", "default_weight"], "with --no-weights")
    if not given("min_rating"):
        yield from cannot_be_used(["rating"], "without --min-rating")


@dataclass(frozen=True, repr=False, eq=False)
class Data:
    """What was read, and where its weights come from, in words."""

    profiles: "Profiles"
    weights: str

    @property
    def counts(self) -> dict[str, Any]:
        """How much there is, weight 0 included, and where weights come from: the owner's."""
        found = self.profiles
        return {"users": found.n_users, "items": found.n_items, "pairs": found.n_pairs, "weights": self.weights}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file of pairs and how to read it."""

    path: Path
    voice: Voice
    user: str | None = None
    item: str | None = None
    weight: str | None = None
    no_weights: bool = False
    default_weight: float | None = None
    rating: str | None = None
    min_rating: float | None = None
    catalogue: Path | None = None

    @classmethod
    def take(cls, path: Path, options: dict[str, Any], voice: Voice) -> Self:
        """Take the options about data out of those of a command; the rest stays."""
        own = {field.name: options.pop(field.name) for field in fields(cls) if field.name in options}
        return cls(path=path, voice=voice, **own)

    def read(self, *, drawn: str | None = None) -> Data:
        """Read the profiles, after looking whether they will fit, and say what was read.

        Parameters
        ----------
        drawn
            In words, how weights will be drawn; then those in the file are not read.
        """
        from hetdp.profiles import Profiles
        from hetdp.profiles.catalogue import on_catalogue, read_catalogue

        pairs = self._open(without_weights=drawn is not None)
        # The catalogue is small, and a mistake in its name is found before data are read.
        items = None if self.catalogue is None else read_catalogue(self.catalogue, item=pairs.columns.item)
        profiles = Profiles.from_rows(*pairs.read())
        if self.catalogue is not None and items is not None:
            profiles = on_catalogue(profiles, items, self.catalogue.name)
        weights = drawn or self._weights(pairs.weights)
        if not self.voice.quiet:
            sizes = {"user": profiles.n_users, "item": profiles.n_items, "pair": profiles.n_pairs}
            counts = ", ".join(counted(size, noun) for noun, size in sizes.items())
            self.voice.private(f"read {pairs.name}: {counts}; {weights}.")
            if pairs.remarks:
                self.voice.note(" ".join(pairs.remarks))
        return Data(profiles, weights)

    def described(self) -> str:
        """Return where weights come from and how cells are read, without reading them."""
        pairs = self._open()
        return " ".join([f"{pairs.name}: {self._weights(pairs.weights)}.", *pairs.remarks])

    def _open(self, *, without_weights: bool = False) -> "PairFile":
        from hetdp.profiles.reading import PairOptions, open_pairs

        weight: str | Literal[False] | None = False if self.no_weights or without_weights else self.weight
        options = PairOptions(self.user, self.item, weight, self.default_weight, self.rating, self.min_rating)
        return open_pairs(self.path, options)

    def read_own(self) -> "Profiles":
        """Read who asks for items: pairs of users and items or, without a column of users, the items of one person."""
        from hetdp.profiles import Profiles
        from hetdp.profiles.catalogue import read_catalogue
        from hetdp.profiles.formats import open_file
        from hetdp.profiles.reading import named_like

        columns = open_file(self.path).columns
        if self.user in columns or named_like("user", columns):
            return self.read().profiles
        items = read_catalogue(self.path, item=self.item, rating=self.rating, min_rating=self.min_rating)
        self.voice.private(f"read {self.path.name}: {counted(items.size, 'item')} of one person.")
        return Profiles.from_pairs([0] * items.size, items)

    def _weights(self, found: str | None) -> str:
        if self.no_weights:
            return "every weight is 1 (--no-weights)"
        if found is None:
            return "every weight is 1 (no column of weights)"
        filled = "" if self.default_weight is None else f", {self.default_weight:g} where it is empty"
        return f"weights from {found}{filled}"
