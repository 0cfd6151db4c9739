"""What sketches tell about groups: the next one, all so far, and what a limit would change. For the owner alone."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from tests.support.node_swarm import a_network, identity_of

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.dials import draw_bits, weight_of
from hetdp.node.groups import GroupLosses, right_words
from hetdp.node.guessing import CoinPair, guessing_accuracy, most_accuracy
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.bit_law import chance_of_one

NETWORK = a_network(items=60, epsilon=Fraction(1), epoch_length_s=100, tuned_for=Fraction(3, 4))
GROUPS = ("health", "tea", "")
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}", group=GROUPS[n % 3]) for n in range(60)]
HEALTH, TEA = range(0, 60, 3), range(1, 60, 3)


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=20.0) as made:
        yield made


def draw(store, epoch):
    now_s = NETWORK.starts(epoch) + 1.0
    publish(
        store,
        identity=identity_of(1),
        network=NETWORK,
        now_s=now_s,
        uptime=Uptime("boot", now_s),
        stream=seeded_stream(3, epoch),
        simulation=True,
    )


def told(store, group):
    return {one.group: one for one in GroupLosses(store, NETWORK).all()}[group]


def accuracy_of(*dials):
    absent = chance_of_one(1, tuned_for=0.75)
    return guessing_accuracy([CoinPair(1, chance_of_one(1, weight_of(d), tuned_for=0.75), absent) for d in dials])


def test_nothing_is_told_about_an_empty_list(store):
    assert GroupLosses(store, NETWORK).all() == ()


def test_the_next_sketch_tells_what_its_dials_tell(store):
    store.profile.set_dials({HEALTH[0]: 100, HEALTH[1]: 40, HEALTH[2]: 0, TEA[0]: 3})
    found = {one.group: one for one in GroupLosses(store, NETWORK).all()}
    assert list(found) == ["health", "tea", WHOLE_LIST], "most telling first, the whole list last"
    health = found["health"]
    assert (health.items, health.counting, health.next_loss, health.lost) == (3, 2, 1.4, 0.0)
    assert health.next_accuracy == health.all_accuracy == pytest.approx(accuracy_of(100, 40), abs=1e-5)
    assert found[WHOLE_LIST].next_accuracy == pytest.approx(accuracy_of(100, 40, 3), abs=1e-5)
    assert found[WHOLE_LIST].next_loss == pytest.approx(1.43)


def test_sketches_add_up_whatever_the_list_says_now(store):
    store.profile.set_dials({HEALTH[0]: 100, HEALTH[1]: 40})
    draw(store, 0)
    store.profile.set_dials({HEALTH[0]: 10})
    draw(store, 1)
    store.profile.remove([HEALTH[1]])
    health = told(store, "health")
    assert health.lost == pytest.approx(1.9)
    assert (health.items, health.next_loss) == (1, 0.1)
    assert health.all_accuracy == pytest.approx(accuracy_of(100, 40, 10, 40, 10), abs=1e-5)
    store.profile.remove([HEALTH[0]])
    health = told(store, "health")
    assert (health.items, health.counting, health.next_accuracy) == (0, 0, 0.5)
    assert health.all_accuracy == pytest.approx(accuracy_of(100, 40, 10, 40), abs=1e-5)


def test_what_is_exhausted_tells_nothing_more(store):
    store.profile.set_dials({HEALTH[0]: 100, HEALTH[1]: 100})
    store.ledger.set_limit(HEALTH[0], 1.0)
    draw(store, 0)
    health = told(store, "health")
    assert (health.items, health.counting, health.next_loss) == (2, 1, 1.0)
    assert health.next_accuracy == pytest.approx(accuracy_of(100), abs=1e-5)


def test_losses_without_a_sketch_count_as_one_release_of_all_of_it(store):
    """A ledger that was moved or restored has lost more than its own sketches say."""
    store.profile.set_dials({HEALTH[0]: 100})
    with store.database.transaction(durable=True):
        lost = store.database.array("lost")
        lost[HEALTH[0]] += 250
        store.database.set_array("lost", lost)
    most = most_accuracy(2.5)
    absent = chance_of_one(1, tuned_for=0.75)
    right = guessing_accuracy([CoinPair(1, most, 1 - most), CoinPair(1, chance_of_one(1, 1, tuned_for=0.75), absent)])
    assert told(store, "health").all_accuracy == pytest.approx(right, abs=1e-5)
    assert told(store, "health").lost == 2.5


def test_a_peer_who_knows_both_lists_is_right_as_often_as_the_owner_is_told(store):
    """Real sketches, drawn by the node's own coins; the false-alarm rate of 5.7 standard errors is 1e-8."""
    given = {HEALTH[0]: 100, HEALTH[1]: 70, HEALTH[2]: 30, TEA[0]: 100}
    store.profile.set_dials(given)
    runs = 20_000
    dials = np.zeros((runs, 60), dtype=np.uint8)
    dials[:, list(given)] = list(given.values())
    without = dials.copy()
    without[:, list(HEALTH)] = 0
    right = []
    chances = [[chance_of_one(1, weight_of(int(d)), tuned_for=0.75) for d in row] for row in (dials[0], without[0])]
    gain = [np.log(np.array(chances[0]) / chances[1]), np.log((1 - np.array(chances[0])) / (1 - np.array(chances[1])))]
    for number, real in enumerate((dials, without)):
        bits = draw_bits(
            real.ravel(), epsilon=NETWORK.epsilon, tuned_for=NETWORK.tuned_for, stream=seeded_stream(4, number)
        ).reshape(runs, 60)
        evidence = np.where(bits, *gain).sum(axis=1)
        right.append(np.mean(evidence > 0) if number == 0 else np.mean(evidence <= 0))
    assert abs(np.mean(right) - told(store, "health").next_accuracy) < 5.7 * 0.5 / math.sqrt(2 * runs)


def test_a_proposal_says_what_a_limit_would_do_and_does_nothing(store):
    store.profile.set_dials(dict.fromkeys(HEALTH, 100))
    version = store.profile.version()
    proposal = GroupLosses(store, NETWORK).proposal("health", 2.0)
    assert store.profile.version() == version
    assert (proposal.now.next_loss, proposal.then.next_loss, proposal.then.limit) == (20.0, 2.0, 2.0)
    assert [(change.before, change.after) for change in proposal.changes] == [(100, 10)] * 20
    assert proposal.then.next_accuracy == pytest.approx(accuracy_of(*[10] * 20), abs=1e-5)
    assert proposal.then.next_accuracy < most_accuracy(2.0) < proposal.now.next_accuracy
    assert "89 times in 100 at most" in proposal.promise
    assert proposal.spent == ""
    store.profile.set_group_limit("health", 2.0)
    assert told(store, "health").next_accuracy == proposal.then.next_accuracy


def test_a_limit_below_what_was_told_says_that_it_stays_told(store):
    store.profile.set_dials(dict.fromkeys(HEALTH, 100))
    draw(store, 0)
    proposal = GroupLosses(store, NETWORK).proposal("health", 2.0)
    assert "ε 20 about it, more than this limit. That cannot be taken back" in proposal.spent
    assert proposal.then.lost == 20.0
    assert proposal.then.all_accuracy > 0.97


def test_limits_to_choose_from_keep_what_they_say(store):
    store.profile.set_dials(dict.fromkeys(HEALTH, 100) | {TEA[0]: 5})
    losses = GroupLosses(store, NETWORK)
    choices = losses.choices("health")
    assert [target for target, _ in choices] == [0.9, 0.75, 0.6]
    for target, limit in choices:
        assert 0.9 * target < losses.proposal("health", limit).then.next_accuracy <= target
        assert losses.proposal("health", limit + 0.02).then.next_accuracy > target
    assert losses.choices("tea") == [], "what tells so little needs no limit"


def test_a_group_that_is_none_is_refused(store):
    with pytest.raises(InvalidInput, match="group must be"):
        GroupLosses(store, NETWORK).proposal("coffee", 1.0)


def test_nothing_private_is_in_a_repr(store):
    store.profile.set_dials({HEALTH[0]: 77})
    losses = GroupLosses(store, NETWORK)
    proposal = losses.proposal("health", 0.1)
    shown = " ".join(map(repr, (losses, proposal, proposal.now, proposal.changes, store.group_limits)))
    assert "77" not in re.sub("0x[0-9a-f]+", "", shown)
    assert "health" not in shown


def test_the_advice_fits_what_is_told(store):
    store.profile.set_dials(dict.fromkeys(HEALTH, 100) | {TEA[0]: 1})
    assert "set a limit" in told(store, "health").advice
    assert told(store, "tea").advice == "Nothing to do."
    draw(store, 0)
    store.profile.set_group_limit("health", 0.5)
    assert "by itself tells little" in told(store, "health").advice
    store.profile.set_group("health", 0)
    assert "tell nothing about it" in told(store, "health").advice


def test_a_catalogue_that_has_grown_since_is_read_too(store):
    """Dials of earlier sketches are as long as the catalogue was then."""
    store.profile.set_dials({HEALTH[0]: 100, TEA[0]: 50})
    draw(store, 0)
    before = told(store, "health").all_accuracy
    with store.database.transaction(durable=True):
        store.database.execute("UPDATE publications SET dials = substr(dials, 1, 50)")
        names = json.loads(store.database.fact("group_names"))
        assert names == ["health", "tea", ""]
    assert told(store, "health").all_accuracy == before


@pytest.mark.parametrize(
    ("accuracy", "words"),
    [
        (0.5, "1 time in 2"),
        (0.5 + 5e-7, "1 time in 2"),
        (0.501, "51 times in 100"),
        (0.6, "6 times in 10"),
        (0.75, "3 times in 4"),
        (0.9, "9 times in 10"),
        (0.9501, "96 times in 100"),
        (0.99, "99 times in 100"),
        (0.9901, "991 times in 1,000"),
        (0.9989, "999 times in 1,000"),
        (0.9991, "practically always"),
        (1.0, "practically always"),
    ],
)
def test_words_are_never_too_little(accuracy, words):
    assert right_words(accuracy) == words
