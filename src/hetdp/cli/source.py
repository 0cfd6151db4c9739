"""Where profiles come from on the command line: options of a file, its columns, its weights, the public catalogue."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import click

from hetdp.cli.output import Voice
from hetdp.core.checks import finite
from hetdp.core.errors import DataError
from hetdp.core.memory import available_bytes
from hetdp.core.text import byte_size, counted

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.profiles.reading import PairFile

__all__ = [
    "COLUMN_OPTIONS",
    "Data",
    "Source",
    "catalogue_option",
    "column_options",
    "data_options",
    "delta_option",
    "require_memory",
]

DEFAULT_DELTA = 1e-6
#: The options that tell what is in a file of pairs, in the order of the help.
COLUMN_OPTIONS = (
    *("user_column", "item_column", "weight_column", "no_weights", "default_weight", "rating_column", "min_rating"),
    "no_memory_check",
)

Command = TypeVar("Command", bound=Callable[..., Any])


def column_options(function: Command) -> Command:
    """Give a command the options that tell what is in a file of pairs."""
    for option in (
        click.option("--no-memory-check", is_flag=True, help="Go on even if it seems not to fit in memory."),
        click.option("--min-rating", type=float, help="Smallest rating that counts, in a file of ratings."),
        click.option("--rating-column", help="Column of ratings, for --min-rating.  [default: rating, or as above]"),
        click.option(
            "--default-weight", type=click.FloatRange(0, 1), help="Weight of pairs without one (empty cells)."
        ),
        click.option("--no-weights", is_flag=True, help="Every weight is 1, even if there is a column 'weight'."),
        click.option("--weight-column", help="Column of privacy weights in [0, 1].  [default: 'weight' if there]"),
        click.option("--item-column", help="Column of items.  [default: item, or that of a known data set]"),
        click.option("--user-column", help="Column of users.  [default: user, or that of a known data set]"),
    ):
        function = option(function)
    return function


catalogue_option = click.option(
    "--catalogue",
    type=click.Path(path_type=Path),
    help="Public list of all items: a file with a column of items, or one per line.",
)


delta_option = click.option(
    "--delta", type=float, default=DEFAULT_DELTA, show_default=True, help="Chance of a worse loss by private names."
)


def data_options(function: Command) -> Command:
    """Give a command the file it reads, what is in it, and the catalogue."""
    data = click.argument("data", type=click.Path(path_type=Path))
    return data(column_options(catalogue_option(function)))


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
    user_column: str | None = None
    item_column: str | None = None
    weight_column: str | None = None
    no_weights: bool = False
    default_weight: float | None = None
    rating_column: str | None = None
    min_rating: float | None = None
    catalogue: Path | None = None
    no_memory_check: bool = False

    @classmethod
    def take(cls, path: Path, options: dict[str, Any], voice: Voice) -> Self:
        """Take the options about data out of those of a command; the rest stays. Refuse what contradicts itself."""
        own = {field.name: options.pop(field.name) for field in fields(cls) if field.name in options}
        source = cls(path=path, voice=voice, **own)
        if source.no_weights and source.weight_column is not None:
            raise click.UsageError("--no-weights and --weight-column exclude each other.")
        if source.no_weights and source.default_weight is not None:
            raise click.UsageError("--no-weights and --default-weight exclude each other.")
        if source.rating_column is not None and source.min_rating is None:
            raise click.UsageError("--rating-column must come with --min-rating: ratings count in no other way.")
        if source.min_rating is not None:
            finite("--min-rating", source.min_rating)
        return source

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
            self.voice.note(" ".join(pairs.remarks))
        return Data(profiles, weights)

    def weights_in(self) -> str:
        """Look where weights come from, in words, without reading them."""
        return self._weights(self._open().weights)

    def _open(self, *, without_weights: bool = False) -> "PairFile":
        from hetdp.profiles.reading import open_pairs

        weight: str | Literal[False] | None = False if self.no_weights or without_weights else self.weight_column
        return open_pairs(
            self.path,
            user=self.user_column,
            item=self.item_column,
            weight=weight,
            default_weight=self.default_weight,
            rating=self.rating_column,
            min_rating=self.min_rating,
        )

    def read_own(self) -> "Profiles":
        """Read who asks for items: pairs of users and items or, without a column of users, the items of one person."""
        from hetdp.profiles import Profiles
        from hetdp.profiles.catalogue import read_catalogue
        from hetdp.profiles.formats import open_file
        from hetdp.profiles.reading import named_like

        columns = open_file(self.path).columns
        if self.user_column in columns or named_like("user", columns):
            return self.read().profiles
        items = read_catalogue(self.path, item=self.item_column, rating=self.rating_column, min_rating=self.min_rating)
        self.voice.private(f"read {self.path.name}: {counted(items.size, 'item')} of one person.")
        return Profiles.from_pairs([0] * items.size, items)

    def _weights(self, found: str | None) -> str:
        if self.no_weights:
            return "--no-weights: every weight is 1"
        if found is None:
            return "no weight column: every weight is 1"
        filled = "" if self.default_weight is None else f", {self.default_weight:g} where it is empty"
        return f"weights from {found}{filled}"


def require_memory(what: str, needed: int, *, check: bool, way_through: str) -> None:
    """Refuse work that needs more bytes than there are, and say what to do instead; without `check`, only remark."""
    available = available_bytes()
    if available is None or needed <= available:
        return
    text = f"{what} must fit in the memory available ({byte_size(available)}). Got about {byte_size(needed)} instead."
    if check:
        raise DataError(
            f"{text} {way_through} --no-memory-check goes on all the same. See docs/guide/neighbors.md, Large data."
        )
    click.echo(f"Going on as told: {text}", err=True)
