"""What a row of weight 0 may change is under "private", or in its owner's own list: a walk through all commands.

Every command is carried out twice with the same noise, on data that differ in what weighs 0: an item that somebody has,
the value of a row, a person in a table. A command that is not listed here fails the walk.
"""

import hashlib
import json
import re
from pathlib import Path

import click
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hetdp.cli.main import cli

#: Whose item weighs 0: the last of all users, so that the first rows shown are others'.
OWNER = "zoe"
LIKES = ("likes.csv", "--epsilon", 3, "--threads", 1)
LISTS = ("-k", 3, *LIKES)
GIVEN = ("--catalogue", "items.txt")
MEAN = ("people.csv", "--query", "mean", "--column", "hours", "--lower", 0, "--upper", 80, "--weight-column", "privacy")
GROUPED = (
    "people.csv",
    "--aggregate",
    "mean:hours:0:80",
    "--aggregate",
    "count",
    "--by",
    "ward",
    "--keys",
    "wards.txt",
)
PEOPLE = (*GROUPED, "--weight-column", "privacy", "--unit", "id")
EVALUATE = ("evaluate", *LISTS, "--runs", 2, "--engine", "exact", "--engine", "model")
NODE = ("--folder", "home")
MAKE = ("node", "init", "--network", "net.toml", "--profile", "me.csv", "--listen", "tcp://127.0.0.1:7470")
#: By command, what is carried out, one after the other in one folder.
WALKS = {
    "release": [
        ("release", *MEAN, "--epsilon", 1, "-o", "mean.json", "--plot", "mean.svg"),
        ("release", *MEAN, "--epsilon", 1, "--ledger", "rows.db", "--json"),
        ("release", *MEAN, "--epsilon", 1, "--ledger", "ids.db", "--id-column", "id"),
        ("release", *MEAN, "--epsilon", 1, "--ledger", "ids.db", "--id-column", "id", "--dry-run", "--json"),
        ("release", *MEAN, "--epsilon", 1, "--dry-run"),
        ("release", *MEAN, "--epsilon", 1, "--weight-classes", "1,0.1", "--json"),
        ("release", *MEAN, "--epsilon", 1, "--mechanism", "stretching", "--json"),
        ("release", *MEAN, "--within", 5),
        ("release", *PEOPLE, "--epsilon", 1, "-o", "wards.csv", "--plot", "wards.svg"),
        ("release", *PEOPLE, "--epsilon", 1, "--ledger", "people.db", "--json"),
        ("release", *PEOPLE, "--epsilon", 1, "--ledger", "people.db", "-o", "wards.parquet"),
        ("release", *PEOPLE, "--epsilon", 1, "--dry-run"),
    ],
    "budget": [
        ("release", *MEAN, "--epsilon", 1, "--ledger", "rows.db"),
        ("budget", "rows.db", "--json", "--items"),
        ("budget", "rows.db", "--items"),
        ("release", *PEOPLE, "--epsilon", 1, "--ledger", "people.db"),
        ("budget", "people.db", "--json"),
        ("budget", "people.db"),
        ("neighbors", *LISTS, "--ledger", "profiles.db"),
        ("budget", "profiles.db", "--json"),
    ],
    "neighbors": [
        *(
            ("neighbors", *LISTS, "--engine", engine, *more)
            for engine in ("exact", "gossip", "sketch")
            for more in ((), ("--json",), ("-o", f"{engine}.parquet"), ("--dry-run",), ("--dry-run", "--json"))
        ),
        ("neighbors", *LISTS, *GIVEN, "--significant-only", "-o", "given.csv", "--json"),
        ("neighbors", *LISTS, *GIVEN, "--score", "cosine", "-o", "cosine.jsonl"),
        ("neighbors", *LISTS, "--ledger", "profiles.db", "--json"),
    ],
    "learn": [
        *(
            ("learn", *LIKES, *GIVEN, "-o", f"{release}.hetdp", "--release", release)
            for release in ("sketch", "matrix")
        ),
        ("learn", "likes.csv", "--epsilon", 300, "--threads", 1, "-o", "private.hetdp", "--json"),
        ("learn", *LIKES, "--dry-run", "-o", "tried.hetdp"),
        ("learn", *LIKES, "--dry-run", "--json", "-o", "tried.hetdp"),
    ],
    "recommend": [
        ("learn", *LIKES, *GIVEN, "-o", "kept.hetdp"),
        ("recommend", "kept.hetdp", "likes.csv", "-o", "home.csv"),
        ("recommend", "kept.hetdp", "likes.csv", "--json"),
    ],
    "evaluate": [
        EVALUATE,
        (*EVALUATE, "--json"),
        (*EVALUATE, "-o", "found.json", "--plot", "quality.svg"),
    ],
    "datasets": [("datasets", "likes.csv"), ("datasets", "likes.csv", "--json"), ("datasets",)],
    "label": [
        ("release", *MEAN, "--epsilon", 1, "--ledger", "rows.db", "-o", "mean.json"),
        ("label", "mean.json", "--ledger", "rows.db"),
        ("label", "mean.json", "-o", "mean.html"),
        ("neighbors", *LISTS, "--ledger", "profiles.db", "-o", "lists.parquet"),
        ("label", "profiles.db", "--json"),
        ("label", "lists.parquet"),
        ("learn", *LIKES, *GIVEN, "-o", "kept.hetdp"),
        ("label", "kept.hetdp", "-o", "card.html"),
    ],
    "reproduce": [
        ("reproduce", "--data", "likes.csv", "--quick", "--runs", 1, "-j", 1, "-o", "out", "--json"),
        ("reproduce", "--data", "likes.csv", "--quick", "--runs", 1, "-j", 1, "-o", "out"),
    ],
    "node init": [
        ("network", "create", "net.toml", "--catalogue", "titles.csv", "--epsilon", 1),
        (*MAKE, *NODE),
        (*MAKE, "--folder", "other", "--json"),
    ],
}
for shown in (("node", "status"), ("node", "export"), ("node", "run", "--dry-run")):
    ways = [(*shown, *NODE), (*shown, *NODE, "--json")]
    WALKS[" ".join(shown[:2])] = [
        *WALKS["node init"][:2],
        *ways,
        *([(*shown, *NODE, "-o", "me.json")] * ("export" in shown)),
    ]
FOLDER = ("--folder", "home/node")
MADE = [WALKS["node init"][0], (*MAKE, *FOLDER)]
WALKS["node move"] = [
    *MADE,
    ("node", "move", *FOLDER, "--to", "home/new", "--dry-run", "--json"),
    ("node", "move", *FOLDER, "--to", "home/new", "--json"),
    ("network", "create", "other.toml", "--catalogue", "titles.csv", "--epsilon", 2),
    ("node", "move", "--folder", "home/new", "--to", "home/other", "--network", "other.toml"),
]
WALKS["node receive"] = [
    *MADE,
    ("node", "move", *FOLDER, "--to-file", "home/parcel"),
    ("node", "receive", "home/parcel", "--folder", "home/new", "--dry-run"),
    ("node", "receive", "home/parcel", "--folder", "home/new", "--json"),
    ("node", "status", "--folder", "home/new"),
]
WALKS["node backup"] = [*MADE, ("node", "backup", "home/b", *FOLDER), ("node", "backup", "home/c", *FOLDER, "--json")]
WALKS["node restore"] = [
    *WALKS["node backup"],
    ("node", "restore", "home/b", "--folder", "home/one", "--dry-run"),
    ("node", "restore", "home/b", "--folder", "home/one"),
    ("node", "restore", "home/c", "--folder", "home/two", "--json"),
    ("node", "status", "--folder", "home/two"),
]
SOMEBODY = "ab" * 32
for more in (
    [("node", "import", "more.csv")],
    [
        ("node", "groups"),
        ("node", "groups", "--whole-list", "--limit", 1),
        ("node", "groups", "--whole-list", "--limit", 1, "--set"),
        ("node", "groups", "--whole-list", "--no-limit"),
    ],
    [("node", "dials"), ("node", "dials", "i3", 20), ("node", "dials", "i4"), ("node", "dials", "i9", 50)],
    [("node", "neighbors")],
    [("node", "pause")],
    [("node", "pause"), ("node", "resume")],
    [("node", "hide", SOMEBODY)],
    [("node", "hide", SOMEBODY), ("node", "unhide", SOMEBODY)],
    [("node", "leave", "--dry-run"), ("node", "leave", "--yes"), ("node", "leave", "--yes", "--erase")],
):
    WALKS[" ".join(more[-1][:2])] = [
        *WALKS["node init"][:2],
        *((*one, *NODE, *end) for one in more[:-1] for end in ((), ("--json",))),
        (*more[-1], *NODE),
    ]
WALKS["node export"] += [("node", "export", *NODE, "--csv", "-o", "me.csv")]
#: Commands that touch no private data, and why.
UNTOUCHED = {
    "audit": "audits invented profiles",
    "compare": "simulates invented crowds",
    "demo": "invents people",
    "network add-peer": "changes a public file",
    "network create": "makes a public file",
    "network grow": "adds to a public file",
    "network invite": "signs a public key",
    "node catalogue": "takes over a public file",
    "node demo": "invents people",
    "node page": "prints an address",
    "warm-up": "compiles, on invented people",
}
#: Files that are the owner's own: data, ledgers, a node's folder, and what a command says is as private as the data.
OWN = re.compile(r"likes\.csv|quality\.svg|people\.csv|more\.csv|me\.(csv|json)|.*\.db(-\w+)?|home/.*|out/.*|.*\.key")


def commands(group=cli, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


def test_every_command_is_walked_or_has_nothing_to_hide():
    assert {*WALKS, *UNTOUCHED} == set(commands())
    assert not set(WALKS) & set(UNTOUCHED)


def write_data(*, more):
    """Write everything that commands read; with `more`, some of it that weighs 0 is there, or another."""
    names = [f"u{user:02}" for user in range(40)] + [OWNER]
    likes = [
        (name, f"i{item}", (0.5, 1)[(user + item) % 2])
        for user, name in enumerate(names)
        for item in range(user % 5, 60, 5)
    ]
    likes += [(OWNER, "i1", 0)] + ([(OWNER, "a thing apart", 0), (OWNER, "i2", 0)] if more else [])
    Path("likes.csv").write_text("user,item,weight\n" + "".join(f"{a},{b},{c}\n" for a, b, c in likes))
    Path("items.txt").write_text("".join(f"i{item}\n" for item in range(60)))
    rows = [(f"p{row}", row % 80, (0.5, 1)[row % 2], ("er", "icu")[row % 2]) for row in range(300)]
    rows += [("p998", 70 if more else 7, 0, "icu" if more else "er")]
    Path("people.csv").write_text("id,hours,privacy,ward\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows))
    Path("wards.txt").write_text("er\nicu\n")
    Path("titles.csv").write_text("item\n" + "".join(f"i{item}\n" for item in range(60)))
    Path("me.csv").write_text("item,weight\ni3,0.5\ni4,1\n" + ("i5,0\n" if more else ""))
    Path("more.csv").write_text("item,weight\ni6,0.5\n" + ("i7,0\nunheard of,0\ni8,much\n" if more else ""))


def public_json(value):
    """Return JSON without what is private, what is in its owner's list, and the time of day."""
    if isinstance(value, dict):
        kept = {
            name: public_json(one)
            for name, one in value.items()
            if name not in ("private", "time", "next_epoch_s", "next_draw_s")
        }
        return None if kept.get("user") == OWNER else kept
    return [public_json(one) for one in value] if isinstance(value, list) else value


def public_text(text):
    """Return what was printed up to the heading of what is private, or without its lines."""
    try:
        return public_json(json.loads(text))
    except ValueError:
        text = text.split("Private, for the owner of the data:")[0]
    lines = [
        line for line in text.splitlines() if not line.startswith(("Private: ", "Compiling")) and OWNER not in line
    ]
    return [re.sub(r"\d{4}-\d\d-\d\d.\d\d:\d\d(:\d\d\S*)?", "TIME", line) for line in lines]


def public_file(path):
    if path.suffix in (".parquet", ".csv") or path.suffix == ".jsonl":
        if path.suffix == ".jsonl":
            return [public_json(json.loads(line)) for line in path.read_text().splitlines()]
        table = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
        assert "private" not in json.loads((table.schema.metadata or {}).get(b"hetdp", b"{}"))  # it goes to recipients
        table = table.filter(pa.compute.not_equal(table["user"], OWNER)) if "user" in table.column_names else table
        return table.schema.metadata, table.to_pylist()
    return public_json(json.loads(path.read_text())) if path.suffix == ".json" else path.read_bytes()


def walked(run, monkeypatch, folder, walk, *, more):
    """Return everything that others may see of some commands, with noise from the same stream each time."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    write_data(more=more)
    seen = []
    for number, arguments in enumerate(walk):
        monkeypatch.setattr("hetdp.core.randomness._secure", None)
        monkeypatch.setattr("os.urandom", lambda size, number=number: fixed(size, number))
        code, out, err = run(*arguments)
        seen.append((arguments, code, public_text(out), public_text(err)))
        assert code == 0, err
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return seen, {str(path): public_file(path) for path in files if not OWN.fullmatch(str(path))}, files


def fixed(size, number):
    """Return the same bytes whenever a key is drawn, whatever else draws one in between."""
    return hashlib.shake_256(bytes([number])).digest(size)


#: A reproduction makes figures, which takes a while.
EACH = [pytest.param(command, marks=pytest.mark.slow if command == "reproduce" else ()) for command in WALKS]


@pytest.mark.slow
@pytest.mark.parametrize("command", EACH)
def test_nothing_but_what_is_private_depends_on_a_weight_of_0(run, monkeypatch, tmp_path, command):
    less, files, names = walked(run, monkeypatch, tmp_path / "less", WALKS[command], more=False)
    more, other_files, other_names = walked(run, monkeypatch, tmp_path / "more", WALKS[command], more=True)
    for one, two in zip(less, more, strict=True):
        assert one == two
    assert names == other_names
    assert files == other_files
