"""A whole network of real processes on one machine, with invented people: whether it converges and helps."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from hetdp.checks import whole
from hetdp.errors import DataError
from hetdp.peer.catalogue import read_catalogue
from hetdp.peer.chance import some
from hetdp.peer.folder import free_ports, init_node
from hetdp.peer.handle import NodeHandle
from hetdp.peer.identity import Identity
from hetdp.peer.network import Bootstrap, Network
from hetdp.peer.settings import Settings
from hetdp.peer.store import Store
from hetdp.randomness import seeded_stream

__all__ = ["DemoReport", "People", "invent_people", "run_demo"]

_TASTES = ("jazz", "cooking", "hiking", "chess", "gardening", "film", "knitting", "astronomy")
_PER_TASTE = 60
_HIDDEN = 0.1
_STOP_S = 20.0
_BOOTSTRAP = 2


@dataclass(frozen=True, repr=False)
class People:
    """Invented people: what each has (place -> dial), and which of it was hidden from the network as a test.

    Privacy
    -------
    Nobody real is in here.
    """

    profiles: tuple[Mapping[int, int], ...]
    hidden: tuple[frozenset[int], ...]
    items: tuple[tuple[str, str, str], ...]

    def full(self, person: int) -> set[int]:
        """Return everything a person has.

        Privacy
        -------
        Nobody real.
        """
        return set(self.profiles[person]) | self.hidden[person]


@dataclass(frozen=True)
class DemoReport:
    """How a demo went.

    Attributes
    ----------
    converged_s
        Seconds from the last start until every node held enough sketches.
    recall, recall_exact, recall_random
        Share of hidden items found at the neighbours: those chosen privately, those that exact profiles would choose,
        and random ones.

    Privacy
    -------
    About invented people.
    """

    nodes: int
    converged_s: float
    least_sketches: int
    recall: float
    recall_exact: float
    recall_random: float


def invent_people(count: int, *, seed: int) -> People:
    """Invent people with one or two tastes each.

    Privacy
    -------
    Nobody real.

    Examples
    --------
    >>> people = invent_people(3, seed=1)
    >>> len(people.profiles), len(people.items)
    (3, 480)
    """
    stream = seeded_stream(whole("seed", seed, minimum=0), 6)
    items = tuple(
        (f"{taste}-{number}", f"{taste.title()} {number}", taste) for taste in _TASTES for number in range(_PER_TASTE)
    )
    profiles, hidden = [], []
    for person in range(count):
        main = person % len(_TASTES)
        likely = np.full(len(items), 0.02)
        likely[main * _PER_TASTE : (main + 1) * _PER_TASTE] = 0.5
        luck = stream.uniforms(3 * len(items)).reshape(3, -1)
        places = np.flatnonzero(luck[0] < likely)
        hidden.append(frozenset(int(place) for place in places if luck[1][place] < _HIDDEN))
        dials = np.select([luck[2] < 0.1, luck[2] < 0.5], [0, 50], 100)  # noqa: PLR2004  (shares of dials)
        profiles.append({int(place): int(dials[place]) for place in places if int(place) not in hidden[-1]})
    return People(tuple(profiles), tuple(hidden), items)


@dataclass(frozen=True)
class Arrangement:
    """The folders of a demo, ready to start.

    Privacy
    -------
    Nobody real.
    """

    network: Network
    folders: tuple[Path, ...]
    keys: tuple[str, ...]


def arrange(folder: Path, people: People, *, epsilon: Fraction, period_s: float, epoch_length_s: int) -> Arrangement:
    """Write the network file, the catalogue and one folder per person.

    Privacy
    -------
    Nobody real.
    """
    count = len(people.profiles)
    identities = [Identity.generate() for _ in range(count)]
    addresses = [f"tcp://127.0.0.1:{port}" for port in free_ports(count)]
    lines = ["item,title,link,group", *(f"{item},{title},,{group}" for item, title, group in people.items)]
    (folder / "items.csv").write_text("\n".join(lines) + "\n")
    items, digest = read_catalogue(folder / "items.csv")
    network = Network(
        name="demo",
        catalogue="items.csv",
        catalogue_sha256=digest,
        items=len(items),
        epsilon=epsilon,
        epoch_start_s=int(time.time()),
        epoch_length_s=epoch_length_s,
        period_s=period_s,
        bootstrap=tuple(
            Bootstrap(address, who.key.hex(), who.curve.hex())
            for address, who in list(zip(addresses, identities, strict=True))[:_BOOTSTRAP]
        ),
    )
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
            settings=Settings(listen=addresses[number]),
            identity=identities[number],
        )
    return Arrangement(network, folders, tuple(who.key.hex() for who in identities))


@contextmanager
def running(commands: Sequence[Sequence[str]]) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Run processes, and stop them all at the end, gently if they let us.

    Privacy
    -------
    Not applicable.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))  # noqa: PERF401, S603  (our own)
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        for process in processes:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


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
    afterwards: Callable[[], None] = lambda: None,
) -> DemoReport:
    """Run a network of real processes on loopback until every node holds enough sketches, and measure it.

    Parameters
    ----------
    count
        Number of nodes.
    epsilon, period_s, epoch_length_s
        Of the network.
    seed
        Of the invented people; keys and noise are real.
    enough
        Share of the network whose sketches every node must hold.
    timeout_s
        After which it fails.
    say
        Gets a line of progress now and then.
    first
        Gives the command line for the first node, from its folder: for one with a page.
    afterwards
        Called before the nodes are stopped.

    Privacy
    -------
    Nobody real; everything is in a temporary folder that is removed.
    """
    people = invent_people(whole("count", count, minimum=2), seed=seed)
    with tempfile.TemporaryDirectory(prefix="hetdp-demo-") as name:
        plan = arrange(Path(name), people, epsilon=epsilon, period_s=period_s, epoch_length_s=epoch_length_s)
        commands = [[sys.executable, "-m", "hetdp.peer", str(home)] for home in plan.folders]
        if first is not None:
            commands[0] = list(first(plan.folders[0]))
        say(f"Starting {count} nodes; epsilon {float(epsilon):g} per epoch, an exchange every {period_s:g} s.")
        with running(commands) as processes:
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
    begin, said, goal = time.monotonic(), 0.0, min(len(plan.folders) - 1, int(enough * len(plan.folders)))
    with_all = [Store(home / "node.db") for home in plan.folders]
    try:
        while True:
            held = [store.sketch_count() for store in with_all]
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
            if elapsed - said >= 2.0:  # noqa: PLR2004  (seconds between two lines)
                said = elapsed
                say(f"{elapsed:5.1f} s: sketches held: least {min(held)}, on average {sum(held) / len(held):.1f}.")
            time.sleep(0.25)
    finally:
        for store in with_all:
            store.close()


def _measure(plan: Arrangement, people: People, converged_s: float, least: int, *, seed: int) -> DemoReport:
    """Compare the neighbours that nodes have chosen with exact and with random ones."""
    count = len(plan.folders)
    number_of = {key: number for number, key in enumerate(plan.keys)}
    stream = seeded_stream(seed, 7)
    private, exact, random = [], [], []
    for person, home in enumerate(plan.folders):
        handle = NodeHandle.open(home)
        try:
            private.append([number_of[neighbour.key_hex] for neighbour in handle.neighbours()])
        finally:
            handle.close()
        others = [other for other in range(count) if other != person]
        exact.append(exact_neighbours(people, person))
        random.append(some(others, count, stream))
    size = list_length(count)
    private_recall, exact_recall, random_recall = (
        recall(people, [one[:size] for one in chosen]) for chosen in (private, exact, random)
    )
    return DemoReport(count, converged_s, least, private_recall, exact_recall, random_recall)


def exact_neighbours(people: People, person: int) -> list[int]:
    """Return everybody else, those with most items in common first: what no private system can do.

    Privacy
    -------
    None, and nobody real.
    """
    mine = set(people.profiles[person])
    others = [other for other in range(len(people.profiles)) if other != person]
    return sorted(others, key=lambda other: -len(mine & set(people.profiles[other])))


def list_length(count: int) -> int:
    """Return how many neighbours a network of so many people compares: about as many as share a taste.

    Privacy
    -------
    Public.

    Examples
    --------
    >>> list_length(50)
    6
    """
    return min(Settings().neighbours, max(1, count // len(_TASTES)))


def recall(people: People, chosen: Sequence[Sequence[int]]) -> float:
    """Return the share of hidden items that somebody's neighbours have, averaged over people with hidden items.

    Privacy
    -------
    Nobody real.
    """
    shares = [
        _found(people, hidden, neighbours) / len(hidden)
        for hidden, neighbours in zip(people.hidden, chosen, strict=True)
        if hidden
    ]
    return sum(shares) / max(1, len(shares))


def _found(people: People, hidden: frozenset[int], neighbours: Sequence[int]) -> int:
    return sum(any(item in people.full(other) for other in neighbours) for item in hidden)
