"""What a node costs and how fast a network converges: memory, processor, bytes on the wire, seconds.

`PYTHONPATH=. python benchmarks/node.py` prints every figure; `--nodes`, `--members`, `--learn`, `--rest`, `--fuzz` make
it shorter.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
from tests.support.memory_network import MemoryNetwork

from hetdp.core.randomness import Stream, secure_stream, seeded_stream
from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
from hetdp.node.catalogue_file import CatalogueItem, read_network_catalogue
from hetdp.node.demo.people import LIST, Recall, hits, invent_people, list_length, recall
from hetdp.node.demo.running import run_demo
from hetdp.node.dials import draw_bits
from hetdp.node.neighbors import find_neighbors, votes
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.node import Call, HangUp, Node, Reply
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.protocol.who_counts import Counted
from hetdp.node.recommendations import crowd_places
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.crowd import CrowdModel
from hetdp.node.storage.folder import MODEL, NETWORK, STORE, init_node
from hetdp.node.storage.store import NodeStore
from hetdp.profiles import Profiles
from hetdp.profiles.steps import code_profiles
from hetdp.recommender.model import learn
from hetdp.recommender.sketched import SketchSums
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import pack

LARGE = 50_000
#: People who ask in `larger_network`; all the others have published.
ASKING = 100
START = 1_000_000


def network_of(items: int, **changes: object) -> NetworkParameters:
    given = {
        "name": "bench",
        "catalogue": "items.csv",
        "catalogue_sha256": "0" * 64,
        "items": items,
        "epsilon": Fraction(3),
        "epoch_start_s": START,
        "epoch_length_s": 10**6,
    }
    return NetworkParameters(**{**given, **changes})  # type: ignore[arg-type]


def one_sketch() -> None:
    network, who = network_of(LARGE), Identity.generate()
    dials = np.zeros(LARGE, dtype=np.uint8)
    dials[::370] = 80
    begin = time.perf_counter()
    bits = draw_bits(dials, epsilon=network.epsilon, stream=secure_stream())
    sketch = sign_sketch(bits, epoch=0, identity=who, network=network)
    taken = time.perf_counter() - begin
    print(
        f"sketch of {LARGE:,} items: {len(msgspec.msgpack.encode(sketch)):,} bytes (goal 8,000), {1000 * taken:.1f} ms"
    )


def in_memory(members: int, cycles: int) -> None:
    def home(number: int) -> str:
        return f"tcp://10.0.{number // 256}.{number % 256}:7470"

    whos = [Identity.generate(seeded_stream(1, number)) for number in range(members)]
    first = Bootstrap(home(0), whos[0].key.hex(), whos[0].curve.hex())
    network = network_of(1000, bootstrap=(first,))
    begin, used = time.perf_counter(), time.process_time()
    wire = MemoryNetwork(seed=1, now_s=float(START))
    nodes = []
    for number, who in enumerate(whos):
        stream = seeded_stream(2, number)
        node = Node(
            who, address=home(number), network=network, settings=NodeSettings(), stream=stream, now_s=wire.now_s
        )
        bits = draw_bits(np.zeros(network.items, dtype=np.uint8), epsilon=network.epsilon, stream=stream)
        node.adopt(sign_sketch(bits, epoch=0, identity=who, network=network))
        wire.add(node, address=home(number), curve=who.curve)
        nodes.append(node)
    wire.run(until_s=START + cycles * network.period_s)
    taken, used = time.perf_counter() - begin, time.process_time() - used
    held = [len(node.shelf) for node in nodes]
    print(
        f"{members:,} nodes in memory, {cycles} cycles: {taken:.1f} s, of them {used:.1f} s of computing "
        "(goal 60 s for 1,000 and 20); "
        f"sketches held: least {min(held)}, on average {sum(held) / members:.0f}; {len(wire.log):,} messages"
    )


def at_rest(seconds: float) -> None:
    """Two nodes with a catalogue of 50,000 items and the default period."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = ["item,title", *(f"i{number},Item number {number}" for number in range(LARGE))]
        (folder / "items.csv").write_text("\n".join(lines) + "\n")
        _, digest = read_network_catalogue(folder / "items.csv")
        network = network_of(LARGE, catalogue_sha256=digest, epoch_start_s=int(time.time()))
        (folder / "network.toml").write_text(network.to_toml())
        listen = NodeSettings(listen="tcp://127.0.0.1:0")
        contact = init_node(folder / "0", network_path=folder / "network.toml", settings=listen).contact
        joined = msgspec.structs.replace(network, bootstrap=(contact,))
        (folder / "network.toml").write_text(joined.to_toml())
        init_node(folder / "1", network_path=folder / "network.toml", settings=listen)
        processes = [
            subprocess.Popen([sys.executable, "-m", "hetdp.node", str(folder / place)]) for place in ("0", "1")
        ]
        try:
            time.sleep(15)
            families = [[process.pid, *children(process.pid)] for process in processes]
            before = [sum(map(processor_s, family)) for family in families]
            time.sleep(seconds)
            for family, earlier in zip(families, before, strict=True):
                share = (sum(map(processor_s, family)) - earlier) / seconds
                memory = [memory_mb(pid) for pid in family]
                print(
                    f"node at rest: {sum(memory):.0f} MB (goal 80; {' + '.join(f'{one:.0f}' for one in memory)}), "
                    f"{100 * share:.2f} % of a core (goal 1)"
                )
        finally:
            for process in processes:
                process.terminate()
                process.wait(timeout=20)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started: the transport of a node."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(status.parent.name))
    return found


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def fuzz(seconds: float) -> None:
    """Real messages with bytes changed, cut or repeated, given to a node that believes in their sender."""
    who, peer = Identity.generate(seeded_stream(3)), Identity.generate(seeded_stream(4))
    network = network_of(1000)
    stream, begin, count = seeded_stream(5), time.perf_counter(), 0
    corpus: list[bytes] = []
    pair = []
    for number, one in enumerate((who, peer)):
        contact = Bootstrap("tcp://10.0.0.1:7470", peer.key.hex(), peer.curve.hex())
        node = Node(
            one,
            address=f"tcp://10.0.0.{number}:7470",
            network=network,
            settings=NodeSettings(messages_per_period=1e6, message_burst=10**6, strikes=10**6),
            stream=stream,
            now_s=float(START),
            contacts=(contact,),
        )
        bits = draw_bits(np.zeros(network.items, dtype=np.uint8), epsilon=network.epsilon, stream=stream)
        node.adopt(sign_sketch(bits, epoch=0, identity=one, network=network))
        pair.append(node)
    now_s = float(START)
    while time.perf_counter() - begin < seconds:
        now_s += network.period_s
        waiting = [(pair[1], action) for action in pair[0].tick(now_s)]
        while waiting:
            target, action = waiting.pop()
            if isinstance(action, HangUp):
                continue
            link, curve = (7, who.curve) if target is pair[1] else (action.link, peer.curve)
            corpus = [*corpus[-50:], action.raw]
            for _ in range(20):
                target.receive(link, curve, mutated(corpus, stream), now_s=now_s)
                count += 1
            answers = target.receive(link, curve, action.raw, now_s=now_s)
            back = pair[0] if target is pair[1] else pair[1]
            started = action.link if isinstance(action, Call) else link
            waiting += [(back, Reply(started, one.raw)) for one in answers if isinstance(one, Reply)]
    print(f"fuzzing for {seconds:.0f} s: {count:,} broken messages, no crash")


def mutated(corpus: list[bytes], stream: Stream) -> bytes:
    words = [int(word) for word in stream.words(8)]
    raw = bytearray(corpus[words[0] % len(corpus)])
    for place in range(words[1] % 4):
        raw[words[2 + place] % len(raw)] = words[2 + place] >> 56
    if words[6] % 4 == 0:
        raw = raw[: words[6] // 4 % len(raw)]
    if words[7] % 8 == 0:
        raw += corpus[words[7] // 8 % len(corpus)][: words[5] % 100]
    return bytes(raw)


def engine_recall(count: int, draws: int = 20) -> tuple[float, float]:
    """Mean and deviation of the recall that `hetdp.neighbors` finds on the same people."""
    people = invent_people(count, seed=1)
    pairs = [(user, item, dial / 100) for user, has in enumerate(people.profiles) for item, dial in has.items()]
    users, items, weights = zip(*pairs, strict=True)
    profiles = Profiles.from_pairs(users, items, weights=weights)
    found = []
    for seed in range(draws):
        coded, stream = code_profiles(profiles), seeded_stream(seed)
        lists = sketch_neighbors(coded, k=list_length(count), epsilon=Fraction(3), stream=stream).lists
        found.append(recall(people, lists.indices.tolist()).mean)
    return statistics.mean(found), statistics.stdev(found)


LEARN = """
import resource, sys
from hetdp.node.learning import main
main(sys.argv[1])
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss * 1024 / 1e6:.0f} MB at most")
"""


def learning(items: int, sketches: int) -> None:
    """Learn from sketches of nothing, in a process as a node starts it."""
    network, stream = network_of(items, n_head=items), seeded_stream(5)
    catalogue = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(items)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / NETWORK).write_text(network.to_toml())
        with NodeStore.make(folder / STORE, network, catalogue, default_limit=30.0) as store:
            for number in range(sketches):
                key, bits = number.to_bytes(32, "big"), stream.uniforms(items) < chance_of_one(network.epsilon)
                one = Counted(key, 0, "10.0.0.1", reached=True), SignedSketch(key, 0, pack(bits), b"", b"")
                store.crowd.keep([one], n_head=items, sizes={b"": items}, first_epoch=0)
        one_core = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        done = subprocess.run(
            [sys.executable, "-c", LEARN, name], env=one_core, check=True, capture_output=True, text=True
        )
        print(
            f"learning about {items} items from {sketches} sketches: {done.stdout.strip()}; the model is "
            f"{(folder / MODEL).stat().st_size / 1e6:.0f} MB"
        )


def larger_network(count: int, *, epsilon: Fraction, seed: int) -> list[Recall]:
    """Return the shares of hidden items that newcomers are recommended: by the model, by votes, by popularity."""
    people = invent_people(count + ASKING, seed=seed)
    size = len(people.items)
    sizes = {b"": size}
    bits = np.empty((count, size), dtype=np.bool_)
    for person in range(count):
        dials = np.zeros(size, dtype=np.uint8)
        dials[list(people.profiles[person])] = list(people.profiles[person].values())
        bits[person] = draw_bits(dials, epsilon=epsilon, stream=seeded_stream(seed, 8, person))
    learned = CrowdModel(learn(SketchSums.of_bits(bits).evidence(epsilon)), count)
    sketches = [SignedSketch(person.to_bytes(32, "big"), 0, pack(row), b"", b"") for person, row in enumerate(bits)]
    lists: tuple[list[list[int]], ...] = ([], [], [])
    for profile in people.profiles[count:]:
        counting = [place for place, dial in profile.items() if dial]
        alike = find_neighbors(sketches, counting, epsilon=epsilon, sizes=sizes, count=NodeSettings().neighbors)
        voted = votes(sketches, alike, without=profile, epsilon=epsilon, sizes=sizes, count=LIST)
        lists[0].append([place for place, _ in crowd_places(learned, profile, without=(), count=LIST)])
        lists[1].append([vote.place for vote in voted])
        lists[2].append([place for place, _ in crowd_places(learned, (), without=profile, count=LIST)])
    return [hits(people.hidden[count:], found) for found in lists]


def grown(sizes: tuple[int, ...]) -> None:
    """Say what networks of some sizes recommend."""
    for epsilon in (1, 3):
        for count in sizes:
            shares = larger_network(count, epsilon=Fraction(epsilon), seed=1)
            crowd, voted, popular = (f"{one.mean:.2f} +- {one.error:.2f}" for one in shares)
            print(f"{count} people, epsilon {epsilon}: crowd {crowd}, votes {voted}, what is popular {popular}")


def processes(count: int) -> None:
    mean, deviation = engine_recall(count)
    report = run_demo(count)
    print(
        f"{count} processes: each holds at least {report.least_sketches} sketches {report.converged_s:.1f} s after the "
        f"last start (goal 60 s for 50); recall {report.recall.mean:.3f}, exact {report.recall_exact.mean:.3f}, "
        f"random {report.recall_random.mean:.3f}; the sketch engine on the same people {mean:.3f} +- {deviation:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--learn", type=int, default=5000)
    parser.add_argument("--rest", type=float, default=60.0)
    parser.add_argument("--fuzz", type=float, default=60.0)
    chosen = parser.parse_args()
    one_sketch()
    at_rest(chosen.rest)
    fuzz(chosen.fuzz)
    for items in (1000, 2048, 4096):
        learning(items, chosen.learn)
    grown((50, 100, 200, 1000))
    in_memory(chosen.members, 20)
    processes(chosen.nodes)


if __name__ == "__main__":
    main()
