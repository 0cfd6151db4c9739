"""`hetdp node demo`: a whole network of real processes on this machine, with invented people."""

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hetdp.cli.output import Voice, output_options, print_facts, print_json, print_rows
from hetdp.core.text import duration

if TYPE_CHECKING:
    from hetdp.node.demo.people import Recall
    from hetdp.node.demo.running import DemoReport

#: With fewer people, almost everybody is everybody's neighbour, and recall says nothing.
_COMPARABLE = 30
#: Long enough that nobody sees an item reach its lifetime limit of ten epochs, short enough to see a dial take effect.
_EPOCH_WITH_PAGE_S = 600
_EPOCH_S = 3600
_CROWD, _VOTES = "learned from the crowd", "votes of neighbours"


@click.command(short_help="Run a whole network on this machine.")
@click.option("--nodes", type=click.IntRange(min=2, max=500), default=60, show_default=True, help="How many.")
@click.option("--epsilon", default="3", show_default=True, help="Loss of an item of weight 1 per epoch.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the invented people.")
@click.option("--page", is_flag=True, help="Show the page of the first node and go on until Ctrl-C.")
@output_options
def demo(*, nodes: int, epsilon: str, seed: int, page: bool, voice: Voice) -> None:
    """Run a network of real processes with invented people, watch it converge, and measure what it finds.

    Recall is the share of hidden items that the chosen neighbours have; beside it, how many are among ten recommended.
    """
    from hetdp.node.demo.running import run_demo
    from hetdp.node.storage.network_file import exact_number

    level = exact_number(epsilon)
    shown = _Page(voice)
    report = run_demo(
        nodes,
        epsilon=level,
        seed=seed,
        epoch_length_s=_EPOCH_WITH_PAGE_S if page else _EPOCH_S,
        say=voice.note,
        first=_with_page if page else None,
        heard=shown.hear,
        afterwards=shown.until_interrupted if page else (lambda: None),
    )
    if voice.as_json:
        print_json(dataclasses.asdict(report))
    else:
        _print(report)


def _with_page(folder: Path) -> Sequence[str]:
    return [sys.executable, "-m", "hetdp", "node", "run", "--folder", str(folder), "--page", "--json"]


class _Page:
    """Tells the address of the first node's page as soon as it is known, and again as the last line."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._address = ""

    def hear(self, line: str) -> None:
        """Take in a line that the first node has printed."""
        try:
            self._address = json.loads(line)["page"]
        except (ValueError, KeyError, TypeError):
            return
        self._tell()

    def until_interrupted(self) -> None:
        """Let the network go on until Ctrl-C."""
        try:
            self._voice.note("The network goes on. Ctrl-C stops everything.")
            if self._address:
                self._tell()
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            self._voice.note("Stopping.")

    def _tell(self) -> None:
        click.echo(f"Page of the first person (works once, in one browser): {self._address}", err=True)


def _print(report: "DemoReport") -> None:
    from hetdp.node.learning import ENOUGH

    if report.nodes >= _COMPARABLE:
        rows = [
            ("neighbours by sketches", _percent(report.recall)),
            ("neighbours by exact profiles (not private)", _percent(report.recall_exact)),
            ("random neighbours", _percent(report.recall_random)),
        ]
        print_rows("recall, with one standard error", ("", "hidden items found"), rows)
    else:
        click.echo(f"Too few people to compare recall: {_COMPARABLE} nodes or more would do.")
    _print_hits(report, enough=ENOUGH)
    facts = {
        "nodes": report.nodes,
        "converged after": duration(report.converged_s),
        "nodes with something to recommend": f"{report.recommended} of {report.nodes}, probably not by chance",
        "sketches that count for a model": f"at least {report.least_counted}; nodes learn from {ENOUGH} on",
    }
    print_facts("", facts)


def _print_hits(report: "DemoReport", *, enough: int) -> None:
    taken = _CROWD if report.least_counted >= enough else _VOTES
    found = {_CROWD: report.hits_crowd, _VOTES: report.hits_votes, "what most people have": report.hits_popular}
    rows = [(name, f"{_percent(share)}{' *' * (name == taken)}") for name, share in found.items()]
    title = "hidden items among ten recommended, with one standard error; * is what nodes use"
    print_rows(title, ("", f"{report.nodes} nodes"), rows)


def _percent(share: "Recall") -> str:
    return f"{100 * share.mean:.1f} % ± {100 * share.error:.1f}"
