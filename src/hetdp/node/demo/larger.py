"""The same invented people, many more of them, in memory: what a node would recommend in a larger network."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hetdp.core.randomness import seeded_stream
from hetdp.node.demo.people import LIST, Recall, hits, invent_people
from hetdp.node.dials import draw_bits
from hetdp.node.neighbors import find_neighbors, votes
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.recommendations import crowd_places
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.model_file import CrowdModel
from hetdp.sketching.bits import pack

__all__ = ["LargerNetwork", "larger_network"]

#: So many of the people ask; all the others have published.
_ASKING = 100


@dataclass(frozen=True)
class LargerNetwork:
    """Shares of hidden items among those recommended, by the model of the crowd, by votes, and the same for all."""

    people: int
    hits_crowd: Recall
    hits_votes: Recall
    hits_popular: Recall


def larger_network(count: int, *, epsilon: Fraction, seed: int) -> LargerNetwork:
    """Return what newcomers to a network of so many people are recommended after one epoch. Simulated."""
    from hetdp.recommender.model import learn
    from hetdp.recommender.sketched import SketchSums

    people = invent_people(count + _ASKING, seed=seed)
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
    return LargerNetwork(count, *(hits(people.hidden[count:], found) for found in lists))
