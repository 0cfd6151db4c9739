"""The same sums on a Dask cluster: one task for each file and pass, added up where they are.

Whatever a worker does, another can do again, with the same result: bits belong to people, and sums are whole numbers.
So a worker that dies is replaced by another, and the model is the same, bit for bit, as one that was learned here.
"""

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from hetdp.core.cluster import connect_dask
from hetdp.core.errors import InvalidInput
from hetdp.profiles import Profiles
from hetdp.recommender.parts import Addable, Parts

#: Results that are added up in one task.
_TOGETHER = 8

Read = Callable[[str | os.PathLike[str]], Profiles]


class ClusterParts(Parts):
    """Files of a crowd that the workers of a Dask cluster read, each with hetdp installed.

    Parameters
    ----------
    files
        Names of files, which mean the same to every worker.
    address
        Of the scheduler, such as tcp://10.0.0.1:8786.
    read
        How a file is read; it travels to the workers.
    timeout_s
        How long to wait for the scheduler's answer.

    Privacy
    -------
    Workers read exact profiles and are sent the secret of the fit: operators of the scheduler and workers must be
    trusted as the holder of the profiles is. Both travel unencrypted unless the address starts with tls://. What comes
    back are sums, and keys of people.
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]],
        address: str,
        read: Read = Profiles.read,
        *,
        timeout_s: float = 5.0,
    ) -> None:
        if any(isinstance(file, Profiles) for file in files):
            raise InvalidInput("must be names of files, for a cluster", parameter="parts")
        super().__init__([os.path.abspath(file) for file in files], read)  # noqa: PTH100  (links stay as they are)
        self._client = connect_dask(address, timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"ClusterParts({len(self)} files)"

    def close(self) -> None:
        """Leave the cluster; it goes on running."""
        self._client.close()

    def total(self, work: Callable[[Profiles], Addable]) -> Addable:
        """Return the sum of what some work makes of each file, done by the workers."""
        submit = self._client.submit
        # A task, and not scattered data, which would be lost with the workers that hold it.
        shared = submit(_keep, _Shared(self._read, work), pure=False)
        waiting = [submit(_work_on, file, shared, pure=False) for file in self._given]
        for one in waiting:
            one.add_done_callback(self._step)
        depth = 0
        while len(waiting) > 1:
            groups = [waiting[begin : begin + _TOGETHER] for begin in range(0, len(waiting), _TOGETHER)]
            depth += 1  # added up as soon as they are there: results are large, and there may be thousands
            waiting = [submit(_added, group, pure=False, priority=depth) for group in groups]
        found: Addable = waiting[0].result()
        return found


@dataclass(frozen=True, eq=False, repr=False)
class _Shared:
    """What is the same for all files. No tuple: Dask would take one that begins with a function for a task."""

    read: Read
    work: Callable[[Profiles], Any]


def _keep(shared: _Shared) -> _Shared:
    return shared


def _work_on(file: str, shared: _Shared) -> Any:  # noqa: ANN401
    return shared.work(shared.read(file))


def _added(parts: list[Any]) -> Any:  # noqa: ANN401
    return reduce(operator.add, parts)
