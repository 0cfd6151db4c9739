"""A whole network of real processes on one machine, with invented people: whether it converges and helps."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from hetdp.core.checks import whole
from hetdp.core.errors import DataError
from hetdp.core.randomness import seeded_stream
from hetdp.node.demo.people import LIST, People, Recall, exact_neighbors, hits, invent_people, list_length, recall
from hetdp.node.demo.processes import interrupted_by_signals, running, stopping_with_parent
from hetdp.node.handle import NodeHandle
from hetdp.node.learning import learn_from_crowd
from hetdp.node.neighbors import Neighbor
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.peer_view import choose_some
from hetdp.node.recommendations import crowd_places
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.crowd import load_model
from hetdp.node.storage.folder import MODEL, free_ports, init_node
from hetdp.node.storage.network_file import key_file_of, new_network, with_peer
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.reading import RARE

_BOOTSTRAP = 2
_SAY_EVERY_S = 2.0
#: So many nodes have their model learned to be compared: the others hold nearly the same sketches, and it takes long.
_LEARNING = 8


@dataclass(frozen=True)
class DemoReport:
    """How a demo went. Recall is the share of hidden items that neighbours have; hits are those recommended."""

    nodes: int
    converged_s: float  # from the last start until every node held enough sketches
    least_sketches: int
    recall: Recall  # of neighbours chosen privately
    recall_exact: Recall  # of those that exact profiles would choose
    recall_random: Recall
    recommended: int  # nodes that have something to recommend which is probably not by chance
    least_counted: int  # sketches that count for a node's model
    hits_crowd: Recall  # recommended by the model of the crowd
    hits_votes: Recall  # by votes of neighbours
    hits_popular: Recall  # the same to everybody


@dataclass(frozen=True)
class Arrangement:
    """The folders of a demo, ready to start."""

    network: NetworkParameters
    folders: tuple[Path, ...]
    keys: tuple[str, ...]


def arrange(folder: Path, people: People, *, epsilon: Fraction, period_s: float, epoch_length_s: int) -> Arrangement:
    """Write the network file, the catalogue and one folder per person."""
    count, maker = len(people.profiles), Identity.generate()
    identities = [Identity.generate() for _ in range(count)]
    addresses = [f"tcp://127.0.0.1:{port}" for port in free_ports(count)]
    lines = ["item,title,link,group", *(f"{item},{title},,{group}" for item, title, group in people.items)]
    (folder / "items.csv").write_text("\n".join(lines) + "\n")
    network = new_network(
        folder / "network.toml",
        catalogue=folder / "items.csv",
        epsilon=epsilon,
        epoch_length_s=epoch_length_s,
        period_s=period_s,
        name="demo",
        network_key=maker.key,
    )
    maker.save(key_file_of(folder / "network.toml"))
    for address, who in list(zip(addresses, identities, strict=True))[:_BOOTSTRAP]:
        network = with_peer(network, address=address, key=who.key.hex(), curve=who.curve.hex())
    (folder / "network.toml").write_text(network.to_toml())
    folders = tuple(folder / f"node-{number}" for number in range(count))
    for number, home in enumerate(folders):
        profile = folder / f"profile-{number}.csv"
        rows = [f"{people.items[place][0]},{dial / 100}" for place, dial in people.profiles[number].items()]
        profile.write_text("\n".join(["item,weight", *rows]) + "\n")
        init_node(
            home,
            network_path=folder / "network.toml",
            profile_path=profile,
            settings=NodeSettings(listen=addresses[number]),
            identity=identities[number],
        )
    return Arrangement(network, folders, tuple(who.key.hex() for who in identities))


def run_demo(
    count: int,
    *,
    epsilon: Fraction = Fraction(3),
    seed: int = 1,
    period_s: float = 1.0,
    epoch_length_s: int = 3600,
    enough: float = 0.9,
    timeout_s: float = 300.0,
    say: Callable[[str], None] = lambda _line: None,
    first: Callable[[Path], Sequence[str]] | None = None,
    heard: Callable[[str], None] = lambda _line: None,
    afterwards: Callable[[], None] = lambda: None,
) -> DemoReport:
    """Run a network of real processes on loopback until every node holds enough sketches, and measure it.

    The people are invented from the seed; keys and noise are real. `enough` is the share of the network whose sketches
    every node must hold before `timeout_s` is over. `first` gives the command line "python -m ..." for the first node,
    from its folder, for one with a page; then `heard` gets the lines that it prints. `afterwards` is called before the
    nodes are stopped.

    Everything is in a temporary folder that is removed, also after Ctrl-C, SIGTERM and SIGHUP. The nodes stop with this
    process, also when it is killed.
    """
    people = invent_people(whole("count", count, minimum=2), seed=seed)
    with interrupted_by_signals(), tempfile.TemporaryDirectory(prefix="hetdp-demo-") as name:
        plan = arrange(Path(name), people, epsilon=epsilon, period_s=period_s, epoch_length_s=epoch_length_s)
        commands = [stopping_with_parent([sys.executable, "-m", "hetdp.node", str(home)]) for home in plan.folders]
        if first is not None:
            commands[0] = stopping_with_parent(first(plan.folders[0]))
        say(f"Starting {count} nodes; epsilon {float(epsilon):g} per epoch, an exchange every {period_s:g} s.")
        with running(commands, heard=None if first is None else heard) as processes:
            converged_s, least = _converge(plan, processes, enough=enough, timeout_s=timeout_s, say=say)
            report = _measure(plan, people, converged_s, least, seed=seed)
            afterwards()
    return report


def _converge(
    plan: Arrangement,
    processes: Sequence["subprocess.Popen[bytes]"],
    *,
    enough: float,
    timeout_s: float,
    say: Callable[[str], None],
) -> tuple[float, int]:
    """Wait until all nodes hold enough sketches; return the seconds since the last start, and the least number held."""
    count = len(plan.folders)
    begin, said, goal = time.monotonic(), 0.0, min(count - 1, int(enough * count))
    stores = [NodeStore(home / "node.db") for home in plan.folders]
    try:
        while True:
            held = [store.peers.sketch_count() for store in stores]
            elapsed = time.monotonic() - begin
            if min(held) >= goal:
                say(f"{elapsed:5.1f} s: every node holds at least {min(held)} sketches.")
                return elapsed, min(held)
            dead = [process for process in processes if process.poll() is not None]
            if dead or elapsed > timeout_s:
                what = (
                    f"{len(dead)} stopped by themselves"
                    if dead
                    else f"the least holds {min(held)} after {timeout_s:g} s"
                )
                raise DataError(f"every node must hold {goal} sketches. Got another end instead: {what}.")
            if elapsed - said >= _SAY_EVERY_S:
                said = elapsed
                up = sum(store.publications.newest_epoch() is not None for store in stores)
                say(f"{elapsed:5.1f} s: {_progress(up, held)}")
            time.sleep(0.25)
    finally:
        for store in stores:
            store.close()


def _progress(up: int, held: Sequence[int]) -> str:
    if up < len(held):  # most of the time goes into starting interpreters; the least held would be 0 all the while
        return f"{up} of {len(held)} nodes are up."
    return f"all nodes are up; sketches held: least {min(held)}, on average {sum(held) / len(held):.1f}."


def _measure(plan: Arrangement, people: People, converged_s: float, least: int, *, seed: int) -> DemoReport:
    """Compare the neighbours that nodes have chosen with exact and with random ones, and ways to recommend."""
    count = len(plan.folders)
    number_of = {key: number for number, key in enumerate(plan.keys)}
    stream = seeded_stream(seed, 7)
    private, exact, random, counted, recommended = [], [], [], [], 0
    lists: dict[str, list[list[int]]] = {"crowd": [], "votes": [], "popular": []}
    for person, home in enumerate(plan.folders):
        handle = NodeHandle.open(home)
        try:
            chosen = handle.neighbors()
            offered = handle.recommendations(LIST)
            recommended += any(one.vote is None or one.vote.by_chance < RARE for one in offered)
            private.append([number_of[neighbor.key_hex] for neighbor in chosen])
            lists["votes"].append(_voted(handle, chosen))
            if person < _LEARNING:
                counted.append(learn_from_crowd(home))
                for name, places in _learned(handle).items():
                    lists[name].append(places)
        finally:
            handle.close()
        others = [other for other in range(count) if other != person]
        exact.append(exact_neighbors(people, person))
        random.append(choose_some(others, count, stream))
    size = list_length(count)
    private_recall, exact_recall, random_recall = (
        recall(people, [one[:size] for one in found]) for found in (private, exact, random)
    )
    return DemoReport(
        count,
        converged_s,
        least,
        private_recall,
        exact_recall,
        random_recall,
        recommended,
        min(counted),
        *(hits(people.hidden[: len(lists[name])], lists[name]) for name in ("crowd", "votes", "popular")),
    )


def _voted(handle: NodeHandle, chosen: Sequence[Neighbor]) -> list[int]:
    """Return what neighbours of a node vote for, whether or not it would take that."""
    return [one.item.place for one in handle.by_votes(handle.store.peers.sketches(), chosen, LIST)]


def _learned(handle: NodeHandle) -> dict[str, list[int]]:
    """Return what the model of a node recommends, and what is popular, whether or not it would take that."""
    learned = load_model(handle.folder / MODEL, n_head=handle.network.head_of(handle.store.catalogue.size()))
    if learned is None:
        return {"crowd": [], "popular": []}
    popular = crowd_places(learned, (), without=handle.store.profile.places(), count=LIST)
    return {
        "crowd": [one.item.place for one in handle.by_crowd(learned, LIST)],
        "popular": [place for place, _ in popular],
    }
