"""The reference pages keep up with what they are about."""

import re
from pathlib import Path

from hetdp.accounting import label
from hetdp.accounting.ledger import file as ledger_file
from hetdp.cli.output import ENDINGS
from hetdp.experiments import running
from hetdp.node.protocol import messages, network
from hetdp.node.storage import database
from hetdp.profiles.formats import COMPRESSIONS, ENDINGS as READ
from hetdp.recommender import file as model_file

ROOT = Path(__file__).parents[2]
FORMATS_PAGE = (ROOT / "docs" / "reference" / "file_formats.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")


def terms():
    """The words that the glossary explains."""
    return [entry.splitlines()[0] for entry in entries()]


def entries():
    """The entries of the glossary: a word, perhaps its symbol, and what it means."""
    listed = GLOSSARY.partition(":sorted:")[2].partition("\n:::")[0]
    return [entry for entry in listed.strip().split("\n\n") if entry]


def test_symbols_are_explained_and_words_are_in_order():
    symbols = {line for entry in entries() for line in entry.splitlines() if not line.startswith(" ")}
    assert {"epsilon", "rho", "delta", "v", "q", "S_i", "w"} <= symbols
    assert terms() == sorted(terms(), key=str.lower)
    for entry in entries():
        assert "](" in entry, entry


def test_every_version_of_a_format_is_as_the_page_says():
    told = dict(re.findall(r"^\| ([a-z].*?) \| (\d+) \|", FORMATS_PAGE.partition("## Versions")[2], re.MULTILINE))
    formats = {"ledger": ledger_file._FORMAT, "node's store, backup, parcel": database.FORMAT}
    numbers = {name: form.version for name, form in formats.items()}
    numbers["results of `hetdp reproduce`"] = running._FORMAT.version
    numbers["model (.hetdp)"] = model_file._VERSION
    numbers["network file"] = network.VERSION
    numbers["label (JSON)"] = label.SCHEMA_VERSION
    numbers["protocol between nodes"] = messages.VERSION
    assert told == {name: str(version) for name, version in numbers.items()}
    for name, form in formats.items():
        (opens,) = re.findall(rf"^\| {re.escape(name)} \| \d+ \| ([\d, ]+) \|", FORMATS_PAGE, re.MULTILINE)
        assert {int(version) for version in opens.split(",")} == {form.version}


def test_every_ending_is_on_the_page():
    pairs = FORMATS_PAGE.partition("### Pairs of users and items")[2].partition("###")[0]
    for ending in (*READ, *COMPRESSIONS):
        assert ending in pairs, ending
    assert f"| `neighbors -o` | {', '.join(ENDINGS)} |" in FORMATS_PAGE
    assert label.SCHEMA in FORMATS_PAGE
