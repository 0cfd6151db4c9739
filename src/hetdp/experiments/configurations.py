"""One point of an evaluation as plain data, and one run of it as a task with a name that never changes."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass

import numpy as np

from hetdp._version import __version__
from hetdp.core.checks import finite, fraction, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.experiments.weight_rules import SameRule, WeightRule
from hetdp.neighbors import engines, scores
from hetdp.profiles import Profiles

#: Without privacy and without noise: the true neighbours, random ones, the same for everybody.
REFERENCES = ("baseline", "random", "same")
ENGINES = (*REFERENCES, *engines.ENGINES)
SCORES = tuple(sorted(scores.SCORES))
WAYS_TO_COMBINE = ("product", "smaller")


@dataclass(frozen=True)
class Configuration:
    """Who finds neighbours how, and under which assumption about people.

    Attributes
    ----------
    engine
        "baseline" (true neighbours, not private) and "random" are the ends of the scale; "same" gives everybody the
        same people, chosen to hold most of what people have.
    weights
        How people choose weights.
    epsilons
        Levels; the paper averages over them.
    score
        "cosine" with sizes declared public (the paper's), "overlap", or "squared-cosine". The exact and the sketch
        engine rank by overlap.
    combine
        How the gossip engine counts a common item: the paper's "product" of the weights, or the "smaller".
    k, cycles
        Neighbours per user, and cycles of gossip.
    """

    engine: str
    weights: WeightRule = dataclasses.field(default_factory=SameRule)
    epsilons: tuple[float, ...] = ()
    score: str = "cosine"
    combine: str = "product"
    k: int = 10
    cycles: int = 20

    def __post_init__(self) -> None:
        one_of("engine", self.engine, ENGINES)
        one_of("score", self.score, SCORES)
        one_of("combine", self.combine, WAYS_TO_COMBINE)
        whole("k", self.k, minimum=1)
        whole("cycles", self.cycles, minimum=1)
        for epsilon in self.epsilons:
            fraction("epsilon", epsilon)
        if self.private and not self.epsilons:
            raise InvalidInput("must hold at least one number > 0", parameter="epsilons")
        if self.engine in ("exact", "sketch"):
            one_of(f"score of the {self.engine} engine", self.score, ("overlap",))

    @property
    def private(self) -> bool:
        """Whether there is noise at all."""
        return self.engine not in REFERENCES

    def facts(self) -> dict[str, object]:
        """Return everything that distinguishes this configuration, for the name of a task."""
        facts = dataclasses.asdict(self)
        facts["weights"] = {"kind": self.weights.kind, **facts["weights"]}
        if not self.private:  # what does not matter must not make a difference; groups are reported apart
            known = {"engine": self.engine, "k": self.k, "score": self.score}
            return known if isinstance(self.weights, SameRule) else {**known, "weights": facts["weights"]}
        if self.engine != "gossip":
            del facts["combine"], facts["cycles"]
        return facts


@dataclass(frozen=True)
class Task:
    """One run of one configuration on one data set: independent of every other task.

    Attributes
    ----------
    data
        Fingerprint of the data set.
    configuration, seed
        The same seed gives the same test items and the same noise to all configurations, so that differences between
        configurations are not differences in luck.
    """

    data: str
    configuration: Configuration
    seed: int

    def __post_init__(self) -> None:
        whole("seed", self.seed, minimum=0)

    @property
    def name(self) -> str:
        """The same for the same task, on every machine and for ever; another for any other task."""
        facts = {
            "hetdp": __version__,
            "data": self.data,
            "configuration": self.configuration.facts(),
            "seed": self.seed,
        }
        return hashlib.blake2b(_canonical(facts).encode(), digest_size=16).hexdigest()


def fingerprint(profiles: Profiles) -> str:
    """Return a name for the contents of a data set: who has what, by position.

    Privacy
    -------
    A hash of private data: whoever has a guess at the whole set can check it. Keep it as private as the results.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{profiles.n_users} {profiles.n_items} ".encode())
    for array in (profiles.indptr.astype("<i8"), profiles.indices.astype("<i4")):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _canonical(facts: object) -> str:
    """Return JSON with one way to write everything; 1 and 1.0 are the same number."""
    return json.dumps(_plain(facts), sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return value
    return repr(finite("number", value))
