"""Choosing at home: the right neighbours, honest uncertainty, recommendations, and no influence of dial 0."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.demo.people import invent_people, list_length, recall
from hetdp.node.handle import NodeHandle
from hetdp.node.neighbors import find_neighbors, votes
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.store import NodeStore
from hetdp.profiles import Profiles
from hetdp.profiles.steps import code_profiles
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import unpack
from hetdp.sketching.reading import RARE

EPSILON = Fraction(3)
SIZE = 300
NETWORK = a_network(items=SIZE)


def sketch_of(number, items, seed=1):
    bits = draw_bits(dict.fromkeys(items, 100), epsilon=EPSILON, size=SIZE, stream=seeded_stream(seed, number))
    return sign_sketch(bits, epoch=0, identity=identity_of(number), network=NETWORK)


MINE = range(60)
ALIKE = [sketch_of(number, range(10 * number, 10 * number + 80)) for number in range(4)]
STRANGERS = [sketch_of(number, range(200, 260)) for number in range(4, 12)]


def test_scores_are_the_sum_over_own_items():
    found = find_neighbors(ALIKE, MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4)
    q = chance_of_one(EPSILON)
    expected = {sketch.key.hex(): sum(unpack(sketch.bits, SIZE)[item] - q for item in MINE) for sketch in ALIKE}
    assert {one.key_hex: one.score for one in found} == pytest.approx(expected)


def test_those_alike_come_first_with_honest_errors():
    """Estimates are within 6 deviations of the truth: false alarm below 1e-8 each."""
    found = find_neighbors([*STRANGERS, *ALIKE], MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4)
    assert [one.key_hex for one in found] == [sketch.key.hex() for sketch in ALIKE]
    for number, one in enumerate(found):
        assert abs(one.shared - (60 - 10 * number)) < 6 * one.shared_error
        assert 0 <= one.share <= 1
        assert one.deviations == pytest.approx(one.shared / one.shared_error)
    assert find_neighbors(ALIKE, [], epsilon=EPSILON, sizes={b"": SIZE}, count=4) == []
    assert find_neighbors([], MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4) == []
    assert "score" not in repr(found[0])


def test_neighbours_vote_for_what_they_have():
    found = find_neighbors([*STRANGERS, *ALIKE], MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4)
    best = votes(ALIKE, found, without=MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=10)
    assert sum(60 <= vote.place < 110 for vote in best) >= 8
    ranks = [(vote.voters, vote.deviations) for vote in best]
    assert ranks == sorted(ranks, reverse=True)
    assert best[0].voters >= 3
    assert {vote.asked for vote in best} == {4}
    assert all(
        vote.place != best[0].place
        for vote in votes(ALIKE, found, without=[*MINE, best[0].place], epsilon=EPSILON, sizes={b"": SIZE}, count=300)
    )
    assert votes(ALIKE, [], without=[], epsilon=EPSILON, sizes={b"": SIZE}, count=5) == []


def test_likeness_by_chance_is_that_of_the_best_of_all_sketches():
    """The normal tail, which it replaces, was wrong by a factor of 100 and more for short profiles."""
    found = find_neighbors([*STRANGERS, *ALIKE], range(3), epsilon=EPSILON, sizes={b"": SIZE}, count=12)
    q = chance_of_one(EPSILON)
    for one in found:
        count = round(one.score + 3 * q)
        assert one.by_chance == pytest.approx(1 - (1 - scipy.stats.binom.sf(count - 1, 3, q)) ** 12)
    by_chance = [one.by_chance for one in found]
    assert by_chance == sorted(by_chance)
    assert by_chance[0] < RARE < by_chance[-1]


def test_those_who_may_be_alike_by_chance_do_not_vote():
    """Strangers share nothing; with 60 items, one of 8 passes once in 20 draws at most, so the seed is looked at."""
    found = find_neighbors(STRANGERS, MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4)
    assert len(found) == 4
    assert min(one.by_chance for one in found) > RARE
    assert votes(STRANGERS, found, without=MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=300) == []
    mixed = find_neighbors([*STRANGERS, *ALIKE], MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=12)
    chosen = votes([*STRANGERS, *ALIKE], mixed, without=MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=300)
    alone = votes(ALIKE, mixed[:4], without=MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=300)
    assert sum(one.by_chance < RARE for one in mixed) == 4
    assert chosen == alone


def test_few_items_stand_out_where_neighbours_have_nothing_in_common():
    """4 neighbours alike in 60 items, nothing else: one of 240 others stands out in at most 5 % of 200 draws.

    The number of draws with a false one is at most binomial(200, 0.05); above 32 with probability below 1e-6.
    """
    false = 0
    for seed in range(200):
        sketches = [sketch_of(number, MINE, seed=1000 + seed) for number in range(4)]
        found = find_neighbors(sketches, MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=4)
        best = votes(sketches, found, without=MINE, epsilon=EPSILON, sizes={b"": SIZE}, count=1)
        assert best[0].asked == 4
        false += best[0].by_chance < RARE
    assert false <= 32


@pytest.mark.slow
def test_nodes_find_what_the_sketch_engine_finds():
    """Recall of 48 people, 12 draws of all sketches each way: the means agree within 6 standard errors (1e-8)."""
    people = invent_people(48, seed=4)
    size, places = list_length(48), len(people.items)
    network = a_network(items=places, epsilon=Fraction(1))
    users, items, weights = zip(
        *((user, item, dial / 100) for user, profile in enumerate(people.profiles) for item, dial in profile.items()),
        strict=True,
    )
    profiles = Profiles.from_pairs(users, items, weights=weights)
    ours, theirs = [], []
    for seed in range(12):
        published = []
        for user, profile in enumerate(people.profiles):
            bits = draw_bits(profile, epsilon=network.epsilon, size=places, stream=seeded_stream(seed, user))
            published.append(sign_sketch(bits, epoch=0, identity=identity_of(user), network=network))
        number = {sketch.key.hex(): user for user, sketch in enumerate(published)}
        chosen = []
        for user, profile in enumerate(people.profiles):
            others = [sketch for other, sketch in enumerate(published) if other != user]
            mine = [item for item, dial in profile.items() if dial > 0]
            best = find_neighbors(others, mine, epsilon=network.epsilon, sizes={b"": places}, count=size)
            chosen.append([number[one.key_hex] for one in best])
        ours.append(recall(people, chosen).mean)
        found = sketch_neighbors(code_profiles(profiles), k=size, epsilon=Fraction(1), stream=seeded_stream(seed, 9))
        theirs.append(recall(people, found.lists.indices.tolist()).mean)
    error = ((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 12) ** 0.5
    assert abs(np.mean(ours) - np.mean(theirs)) < 6 * error
    chance = recall(people, [[(user + 1 + n) % 48 for n in range(size)] for user in range(48)]).mean
    assert min(ours) > chance + 0.1


@pytest.fixture
def handle(tmp_path):
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(SIZE)]
    store = NodeStore.make(tmp_path / "node.db", NETWORK, items, default_limit=30.0)
    store.peers.keep(sketches=[*ALIKE, *STRANGERS], now_s=0.0, first_epoch=0)
    yield NodeHandle(tmp_path, NETWORK, NodeSettings(neighbors=4), identity_of(50), store)
    store.close()


def view_of(handle):
    places = [(one.item.place, one.vote.votes) for one in handle.recommendations()]
    return [(one.key_hex, one.score) for one in handle.neighbors()], places


def test_an_item_of_dial_0_has_no_influence_on_who_is_a_neighbour(handle):
    handle.store.profile.set_dials(dict.fromkeys(MINE, 100))
    before = view_of(handle)
    assert before[1]
    top = before[1][0][0]
    handle.store.profile.set_dials({250: 0})
    assert view_of(handle) == before
    handle.store.profile.set_dials({top: 0})
    neighbors, places = view_of(handle)
    assert neighbors == before[0]
    assert places[:19] == [one for one in before[1] if one[0] != top]  # what one has is not recommended
    handle.store.profile.set_dials({250: 100})
    assert view_of(handle) != before


def test_exhausted_items_have_no_influence_either(handle):
    handle.store.profile.set_dials(dict.fromkeys(MINE, 100))
    before = view_of(handle)
    handle.store.profile.set_dials({250: 100})
    handle.store.ledger.set_limit(250, 0.0)
    assert view_of(handle) == before


def test_dismissed_and_added_items_are_not_recommended(handle):
    handle.store.profile.set_dials(dict.fromkeys(MINE, 100))
    first, second = (one.item.place for one in handle.recommendations(2))
    handle.store.profile.dismiss(first)
    handle.store.profile.set_dials({second: 100})
    assert not {first, second} & {one.item.place for one in handle.recommendations(300)}
    handle.store.profile.undismiss(first)
    assert first in {one.item.place for one in handle.recommendations(300)}
    handle.store.profile.remove(range(SIZE))
    assert handle.recommendations() == handle.neighbors() == ()
