"""Learning from the crowd: `python -m hetdp.node.learning FOLDER`, a process of its own, at times that others set.

The model is a function of public sketches: the process opens the tables of the crowd and never looks at the profile.
When it runs depends on how many sketches count and on how long the last run took, so it tells nothing about the
profile either. It is a process because a large catalogue takes much memory for some seconds, which goes back when it
ends, and because whatever befalls it, the node goes on.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import HetdpError
from hetdp.core.randomness import secure_stream
from hetdp.node.dials import draw_bits
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.crowd import CrowdMemory
from hetdp.node.storage.database import Database
from hetdp.node.storage.folder import MODEL, NETWORK, STORE
from hetdp.node.storage.network_file import read_network

__all__ = ["ENOUGH", "Learner", "learn_from_crowd"]

#: From so many sketches on, what the crowd says is better than what neighbours say (docs/node.md has the figures).
ENOUGH = 50
#: Learned anew when so much of what it was learned from has changed, and not before so many times the last run took.
_NEWS, _REST = 0.1, 20.0
#: A node asks for little of the machine.
_NICE = 10


def learn_from_crowd(folder: Path) -> int:
    """Learn the model of a node from the sketches that count, and return how many they are; 0 writes nothing.

    Examples
    --------
    >>> import tempfile
    >>> learn_from_crowd(Path(tempfile.mkdtemp()) / "nowhere")
    Traceback (most recent call last):
    ...
    hetdp.core.errors.DataError: the network file network.toml must be readable. Got: No such file or directory.
    """
    from hetdp.node.storage.model_file import CrowdModel, save_model
    from hetdp.recommender.model import learn
    from hetdp.recommender.sketched import SketchSums

    network, stream = read_network(folder / NETWORK), secure_stream()
    database = Database(folder / STORE)
    try:
        sums, n_head = None, network.head_of(Catalogue(database).size())

        def noise(size: int) -> NDArray[np.bool_]:
            absent = np.zeros(size, dtype=np.uint8)
            return draw_bits(absent, epsilon=network.epsilon, tuned_for=network.tuned_for, stream=stream)

        for bits in CrowdMemory(database).bits(n_head, noise):
            part = SketchSums.of_bits(bits)
            sums = part if sums is None else sums + part
    finally:
        database.close()
    if sums is None:
        return 0
    save_model(folder / MODEL, CrowdModel(learn(sums.evidence(network.epsilon, network.tuned_for)), sums.n_people))
    return sums.n_people


class Learner:
    """Has the model learned anew now and then, in a process of its own.

    Parameters
    ----------
    folder
        Of the node.
    now
        The time in seconds.

    Privacy
    -------
    Knows how many sketches count, and the time. Nothing of it leaves the node.
    """

    def __init__(self, folder: Path, *, now: Callable[[], float]) -> None:
        self._folder, self._now = folder, now
        self._process: subprocess.Popen[bytes] | None = None
        self._began_s = self._rest_until_s = 0.0
        self._changes = math.inf  # after a start, whatever is there is news

    def consider(self, size: int, changes: int) -> bool:
        """Take note of how many sketches count and how many came or went; start to learn if it is time to."""
        self._changes += changes
        now_s = self._now()
        if self._process is not None:
            if self._process.poll() is None:
                return False
            self._process = None
            self._rest_until_s = now_s + _REST * (now_s - self._began_s)
        self._rest_until_s = min(self._rest_until_s, now_s + _REST * 3600)  # a clock that was ahead
        if size < ENOUGH or self._changes < _NEWS * size or now_s < self._rest_until_s:
            return False
        self._began_s, self._changes = now_s, 0
        self._process = subprocess.Popen(  # noqa: S603  (our own module)
            [sys.executable, "-m", "hetdp.node.learning", str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        )
        return True

    def close(self) -> None:
        """End what is under way: it will be done after the next start."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main(folder: str) -> int:
    """Learn the model of the node in a folder; return the exit code."""
    os.nice(_NICE)
    try:
        learn_from_crowd(Path(folder))
    except (HetdpError, MemoryError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
