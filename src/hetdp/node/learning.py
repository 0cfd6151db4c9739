"""Learning from the crowd: `python -m hetdp.node.learning FOLDER`, a process of its own, at times that others set.

The model is learned from public sketches: the process opens the tables of the crowd and never looks at the profile. It
is told which of the sketches to leave out, copies that only the owner can tell (`hetdp.node.copies`), whenever it
starts. When it runs depends on how many sketches count and on how long the last run took to learn from all of them, so
it tells nothing about the profile either: the model that is used, without the copies, is learned after that, and how
long it takes nobody asks. It is a process because a large catalogue takes much memory for some seconds, which goes back
when it ends, and because whatever befalls it, the node goes on.
"""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import HetdpError
from hetdp.core.randomness import secure_stream
from hetdp.node.dials import draw_bits
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.seen_sketches import Name
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.crowd import CrowdMemory
from hetdp.node.storage.database import Database
from hetdp.node.storage.folder import MODEL, NETWORK, STORE
from hetdp.node.storage.network_file import read_network

if TYPE_CHECKING:
    from hetdp.recommender.sketched import SketchSums

#: From so many sketches on, what the crowd says is better than what neighbours say (figures: docs/guide/node.md).
ENOUGH = 50
#: Learned anew when so much of what it was learned from has changed, and not before so many times the last run took.
_NEWS, _REST = 0.1, 40.0
#: A node asks for little of the machine.
_NICE = 10


def learn_from_crowd(
    folder: Path, *, left_out: Collection[Name] = (), public_part_done: Callable[[], None] = lambda: None
) -> int:
    """Learn the model of a node from the sketches that count, and return how many they are; 0 writes nothing.

    Privacy
    -------
    Which sketches are left out is for the owner alone. What is done until `public_part_done` is called does not depend
    on it.

    Examples
    --------
    >>> import tempfile
    >>> learn_from_crowd(Path(tempfile.mkdtemp()) / "nowhere")
    Traceback (most recent call last):
    ...
    hetdp.core.errors.DataError: the network file network.toml must be readable. Got: No such file or directory.
    """
    from hetdp.node.storage.crowd import CrowdModel, save_model
    from hetdp.recommender.model import learn

    network = read_network(folder / NETWORK)
    sums = _sums(folder, network)
    if sums is not None:
        learn(sums.evidence(network.epsilon, network.tuned_for))  # not for the model: for the time that it takes
    public_part_done()
    sums = None  # its memory goes back first
    sums = _sums(folder, network, without=frozenset(left_out))
    if sums is None:
        return 0
    save_model(folder / MODEL, CrowdModel(learn(sums.evidence(network.epsilon, network.tuned_for)), sums.n_people))
    return sums.n_people


def _sums(folder: Path, network: NetworkParameters, *, without: Collection[Name] = ()) -> "SketchSums | None":
    """Return the sums over all sketches that count but some."""
    from hetdp.recommender.sketched import SketchSums

    stream = secure_stream()

    def noise(size: int) -> NDArray[np.bool_]:
        absent = np.zeros(size, dtype=np.uint8)
        return draw_bits(absent, epsilon=network.epsilon, tuned_for=network.tuned_for, stream=stream)

    database = Database(folder / STORE)
    try:
        sums, n_head = None, network.head_of(Catalogue(database).size())
        for bits in CrowdMemory(database).bits(n_head, noise, without=without):
            part = SketchSums.of_bits(bits)
            sums = part if sums is None else sums + part
    finally:
        database.close()
    return sums


class Learner:
    """Has the model learned anew now and then, in a process of its own.

    Parameters
    ----------
    folder
        Of the node.
    now
        The time in seconds.
    left_out
        Tells which sketches are not to be learned from; asked whenever a process starts.

    Privacy
    -------
    Knows how many sketches count, and the time. Nothing of it leaves the node, and what `left_out` says decides about
    no time: the process closes its output when it is done with what does not depend on it.
    """

    def __init__(
        self, folder: Path, *, now: Callable[[], float], left_out: Callable[[], Iterable[Name]] = lambda: ()
    ) -> None:
        self._folder, self._now, self._left_out = folder, now, left_out
        self._process: subprocess.Popen[bytes] | None = None
        self._measured = True
        self._began_s = self._rest_until_s = 0.0
        self._changes = math.inf  # after a start, whatever is there is news

    def consider(self, size: int, changes: int) -> bool:
        """Take note of how many sketches count and how many came or went; start to learn if it is time to."""
        self._changes += changes
        now_s = self._now()
        if not self._measured:
            if not self._public_part_done():
                return False
            self._measured = True
            self._rest_until_s = now_s + _REST * (now_s - self._began_s)
        self._rest_until_s = min(self._rest_until_s, now_s + _REST * 3600)  # a clock that was ahead
        if size < ENOUGH or self._changes < _NEWS * size or now_s < self._rest_until_s:
            return False
        self.close()
        self._began_s, self._changes, self._measured = now_s, 0, False
        with tempfile.TemporaryFile(dir=self._folder) as told:
            told.write(msgspec.msgpack.encode(list(self._left_out())))
            told.seek(0)
            self._process = subprocess.Popen(  # noqa: S603  (our own module)
                [sys.executable, "-m", "hetdp.node.learning", str(self._folder)],
                stdin=told,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
            )
        return True

    def close(self) -> None:
        """End what is under way: it will be done after the next start."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def _public_part_done(self) -> bool:
        """Return whether the process has closed its output, or has ended."""
        output = None if self._process is None else self._process.stdout
        if output is None:
            return True
        os.set_blocking(output.fileno(), False)
        return output.read(1) is not None


def main(folder: str) -> int:
    """Learn the model of the node in a folder, leaving out what standard input says; return the exit code."""
    os.nice(_NICE)
    try:
        left_out = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[tuple[bytes, int]])
        learn_from_crowd(Path(folder), left_out=left_out, public_part_done=_close_output)
    except (HetdpError, MemoryError, OSError):
        return 1
    return 0


def _close_output() -> None:
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
