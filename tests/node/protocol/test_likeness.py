"""The half of the shelf that likeness chooses, and the second view: by published sketches, within limits."""

from functools import cache

import numpy as np
import pytest
from tests.support.node_swarm import Swarm, a_network, address_of, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol.likeness import Likeness, LikeView, SharesOfOnes
from hetdp.node.protocol.messages import Record, SignedSketch, Slip
from hetdp.node.protocol.seen_sketches import SeenSketches
from hetdp.node.protocol.sketch_shelf import Place, SketchShelf
from hetdp.node.settings import NodeSettings
from hetdp.sketching.drawing import pack

SIZE = 200
NET = a_network(items=SIZE)
EPOCHS = range(10)


@cache
def bits_of(taste, number, *, size=SIZE):
    """Draw the sketch of somebody with one of five tastes."""
    dials = dict.fromkeys(range(40 * taste, 40 * taste + 30), 100)
    return pack(draw_bits(dials, epsilon=NET.epsilon, size=size, stream=seeded_stream(3, taste, number)))


def sketch(number, *, taste=None, epoch=1, bits=None):
    made = bits_of(number % 5 if taste is None else taste, number) if bits is None else bits
    return SignedSketch(number.to_bytes(32, "big"), epoch, made, b"", b"")


def a_shelf(most=100, *, own_taste=0, **options):
    shelf = SketchShelf(bytes(32), most=most, stream=seeded_stream(1), **options)
    if own_taste is not None:
        shelf.own = sketch(0, taste=own_taste)
    return shelf


def number_of(key):
    return int.from_bytes(key, "big")


def by_chance(shelf):
    return {one.key for one in shelf} - shelf.liked


# --- likeness --------------------------------------------------------------------------------------------------------


def test_likeness_is_what_both_have_and_what_is_rare_counts_more():
    shares = SharesOfOnes()
    for _ in range(98):
        shares.add(bytes([0b0001]))
    likeness = Likeness(bytes([0b0011]), shares)
    popular, rare, both, neither = likeness.scores([bytes([0b0001]), bytes([0b0010]), bytes([0b0011]), bytes(1)])
    assert np.isclose(rare - neither, np.log(100))
    assert np.isclose(popular - neither, np.log(100 / 99))
    assert np.isclose(both - neither, (rare - neither) + (popular - neither))


def test_shares_forget_what_is_taken_back():
    shares, other = SharesOfOnes(), SharesOfOnes()
    for number in range(9):
        shares.add(bits_of(0, number))
    shares.remove(bits_of(0, 8))
    for number in range(8):
        other.add(bits_of(0, number))
    places = np.arange(SIZE + 20)
    assert shares.sketches == 8
    assert (shares.at(places) == other.at(places)).all()
    assert (shares.at(places[SIZE:]) == 0.5).all(), "of places that no sketch has, nothing is known"


def test_sketches_of_different_lengths_are_compared_on_what_they_share():
    shares = SharesOfOnes()
    for number in range(50):
        shares.add(bits_of(number % 5, number))
    own = bits_of(1, 99)
    likeness = Likeness(own, shares)
    like, other, longer = bits_of(1, 7), bits_of(2, 7), bits_of(1, 7) + bytes([255] * 5)
    short = [bits[:12] for bits in (like, other)]
    assert likeness.scores([like, other])[0] > 10 > likeness.scores([like, other])[1]
    assert likeness.scores(short)[0] > 5 > likeness.scores(short)[1]
    mixed = likeness.scores([short[0], like, short[1], longer])
    assert np.allclose(
        mixed, [*likeness.scores(short)[:1], *likeness.scores([like]), *likeness.scores(short)[1:], mixed[1]]
    )
    assert np.isclose(Likeness(own[:12], shares).scores([like])[0], likeness.scores(short)[0])
    assert likeness.scores([]).size == 0


# --- the shelf -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_half_is_chance_and_the_other_is_like_the_own_sketch():
    """Of 1,000 people in five tastes, all that is liked has the own taste; of the random half about a fifth.

    That number is hypergeometric with mean 50 * 0.2 = 10 and deviation 2.8: 30 is over 7 deviations away.
    """
    shelf = a_shelf()
    for number in range(1, 1001):
        shelf.keep(sketch(number))
        assert len(shelf) <= 100
    assert len(shelf) == 100
    assert len(shelf.liked) == 50
    assert {number_of(key) % 5 for key in shelf.liked} == {0}
    assert sum(number_of(key) % 5 == 0 for key in by_chance(shelf)) < 30
    salted = a_shelf(own_taste=3)
    for number in range(1, 1001):
        salted.keep(sketch(number))
    assert by_chance(salted) == by_chance(shelf), "chance does not look at sketches"


def test_without_an_own_sketch_all_is_chance():
    shelf, twice = a_shelf(own_taste=None), a_shelf(200, own_taste=None)
    for number in range(1, 1001):
        shelf.keep(sketch(number))
        twice.keep(sketch(number))
    assert {one.key for one in shelf} == by_chance(twice)


def test_what_did_not_come_blindly_never_gets_into_the_random_half_nor_into_blind_announcements():
    shelf = a_shelf()
    for number in range(1, 201):
        shelf.keep(sketch(number, taste=0), blind=False)
    assert by_chance(shelf) == set()
    assert len(shelf.liked) == 50
    assert shelf.announce(64) == (Slip(bytes(32), 1),)
    first = next(iter(shelf))
    assert shelf.notice(Slip(first.key, first.epoch)) == first
    assert by_chance(shelf) == {first.key}, "once it was announced blindly, it has its chance like others"
    assert {slip.key for slip in shelf.announce(64)} == {bytes(32), first.key}
    assert shelf.notice(Slip(first.key, 2)) is None


def test_the_random_half_is_the_same_whatever_comes_by_likeness():
    shelf, other = a_shelf(), a_shelf()
    for number in range(1, 501):
        shelf.keep(sketch(number))
        other.keep(sketch(10_000 + number, taste=0), blind=False)
        other.keep(sketch(number))
    assert by_chance(shelf) == by_chance(other)
    assert len(other.liked) == 50


def test_a_peer_is_told_of_what_is_like_its_own_sketch_best_first_and_asks_for_what_it_has_not_seen():
    shelf = a_shelf()
    for number in range(1, 101):
        shelf.keep(sketch(number))
    peer = next(one.key for one in shelf if number_of(one.key) % 5 == 2)
    told = shelf.announce_alike(peer, 17)
    assert len(told) == 17
    assert told[0].key == bytes(32)
    assert {number_of(slip.key) % 5 for slip in told[1:9]} == {2}
    assert peer not in {slip.key for slip in told}
    unknown = shelf.announce_alike(b"?" * 32, 17)
    assert {number_of(slip.key) % 5 for slip in unknown[1:9]} == {0}, "who asks has found that alike"
    asker = a_shelf(own_taste=2)
    wanted = asker.lacking_alike(told, epochs=EPOCHS, count=8)
    assert wanted == tuple(slip.key for slip in told[1:9]), "the own key means the own sketch"
    assert asker.lacking_alike(told, epochs=range(2, 3), count=8) == ()


def test_what_was_not_alike_enough_is_not_asked_for_again_until_the_own_sketch_changes():
    shelf = a_shelf(20)
    for number in range(1, 400):
        shelf.keep(sketch(number))
    stranger = next(number for number in range(401, 410) if number % 5 == 3)
    slip = [Slip(sketch(stranger).key, 1)]
    assert shelf.lacking_alike(slip, epochs=EPOCHS, count=8) == (slip[0].key,)
    assert not shelf.keep(sketch(stranger), blind=False)
    assert shelf.lacking_alike(slip, epochs=EPOCHS, count=8) == ()
    shelf.own = sketch(0, taste=3, epoch=2)
    assert shelf.lacking_alike(slip, epochs=EPOCHS, count=8) == (slip[0].key,)
    assert shelf.keep(sketch(stranger), blind=False)


def test_a_new_own_sketch_ranks_anew_and_old_sketches_stay_until_replaced():
    shelf = a_shelf()
    for number in range(1, 501):
        shelf.keep(sketch(number))
    before = {one.key for one in shelf}
    shelf.own = sketch(0, taste=4, epoch=2)
    assert {one.key for one in shelf} == before
    for number in range(1, 501):
        shelf.keep(sketch(number, epoch=2))
    assert {number_of(key) % 5 for key in shelf.liked} == {4}
    assert all(one.epoch == 2 for one in shelf)
    shelf.expire(range(3, 5))
    assert len(shelf) == 0
    assert shelf.liked == set()


@pytest.mark.slow
def test_how_many_there_are_is_told_by_chance():
    """The 250th smallest of n uniform numbers has a relative deviation of 1 / sqrt(250): a third is over 5 of them."""
    shelf = a_shelf(500)
    for number in range(1, 101):
        shelf.keep(sketch(number))
    assert shelf.population() == 100
    for number in range(101, 4001):
        shelf.keep(sketch(number, bits=bytes(25)))
    assert abs(shelf.population() - 4000) < 1333


# --- attacks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [1, 10, 400])
def test_a_crowd_that_publishes_copies_of_the_victims_sketch_gets_part_of_the_likeness_half_at_most(hosts):
    """500 honest people, then 400 keys with the victim's own sketch: by likeness they would have half of the shelf.

    They come blindly as well, so of the random half they have the share of their keys, 4/9 of 50: its deviation is
    below 3.6, and 45 is over 6 deviations away. Nothing that they publish changes which of them.
    """

    def place_of(key):
        number = number_of(key)
        if number <= 500:
            return Place(f"10.0.{number // 250}.{number % 250}", 4, number % 3 == 0)
        return Place(f"10.77.{number % hosts // 250}.{number % hosts % 250}", 4, hosts == 10)

    shelf, plain = a_shelf(place_of=place_of), a_shelf(own_taste=None, place_of=place_of)
    for number in range(1, 901):
        copied = shelf.own.bits if number > 500 else None
        shelf.keep(sketch(number, bits=copied))
        plain.keep(sketch(number, bits=bytes(25)))
    crowd = {key for key in shelf.liked if number_of(key) > 500}
    assert len(crowd) <= min(4 * hosts, 50)
    if hosts == 400:  # all of them say where they are, and none was reached there
        assert len(crowd) <= 25
    assert by_chance(shelf) == by_chance(plain)
    assert sum(number_of(key) > 500 for key in by_chance(shelf)) < 45


def wide(number, *, taste=0, epoch=1, bits=None):
    """Return a sketch of so many bits that copies are told."""
    made = bits_of(taste, number, size=800) if bits is None else bits
    return SignedSketch(number.to_bytes(32, "big"), epoch, made, b"", b"")


def a_wide_shelf(most=20, **options):
    shelf = a_shelf(most, own_taste=None, seen=SeenSketches(NET.epsilon, NET.tuned_for), **options)
    shelf.own = wide(0)
    return shelf


@pytest.mark.slow
@pytest.mark.parametrize("reached", [0, 3, 10])
@pytest.mark.parametrize("blind", [False, True])
def test_copies_of_the_own_sketch_push_nobody_out_of_the_likeness_half(reached, blind):
    """1,000 honest people, of whom `reached` of ten were reached, then 300 keys with the victim's own sketch.

    Who is held by chance changes where the copies come blindly; whoever makes way for them there may be liked.
    """
    shelf = a_wide_shelf(100, place_of=lambda key: Place(f"h{number_of(key)}", 3, number_of(key) % 10 < reached))
    for number in range(1, 1001):
        shelf.keep(wide(number, taste=number % 5))
    before = shelf.liked
    for number in range(2000, 2300):
        assert shelf.keep(wide(number, bits=shelf.own.bits), blind=blind) <= blind
    assert max(map(number_of, shelf.liked)) < 2000
    assert len(shelf.liked) == 50
    assert blind or shelf.liked == before
    slips = [Slip(wide(number).key, 1) for number in range(2000, 2300)]
    assert blind or shelf.lacking_alike(slips, epochs=EPOCHS, count=300) == (), "they are not asked for again"


def test_near_identical_sketches_count_once_and_the_next_one_when_the_first_has_gone():
    shelf, popular = a_wide_shelf(), wide(7).bits
    for number in range(1, 8):
        shelf.keep(wide(number, bits=popular), blind=False)
    assert len(shelf.liked) == 7, "as long as there is room, anything"
    assert not shelf.full
    for number in range(101, 110):
        assert shelf.keep(wide(number), blind=False)
    held = {number_of(key) for key in shelf.liked}
    assert held == {1, *range(101, 110)}
    assert shelf.full
    assert not shelf.keep(wide(8, bits=popular), blind=False)
    assert shelf.keep(wide(1, epoch=2), blind=False), "the first has another sketch now"
    shelf.expire(range(2, 3))
    shelf.keep(wide(9, bits=popular, epoch=2), blind=False)
    shelf.own = wide(0, bits=popular, epoch=2)
    for number in range(201, 210):
        shelf.keep(wide(number, epoch=2), blind=False)
    assert {number_of(key) for key in shelf.liked} == {1, *range(201, 210)}, "the own one is there before all others"


def test_who_was_a_copy_of_the_last_own_sketch_counts_once_the_own_one_is_another():
    shelf = a_wide_shelf()
    last = shelf.own.bits
    for number in range(1, 11):
        shelf.keep(wide(number, bits=last), blind=False)
    assert not shelf.full
    shelf.own = wide(0, bits=wide(999).bits, epoch=2)
    for number in range(101, 110):
        assert shelf.keep(wide(number), blind=False)
    assert {number_of(key) for key in shelf.liked} == {1, *range(101, 110)}


def test_a_crowd_that_comes_by_likeness_has_nothing_of_the_random_half():
    shelf = a_shelf()
    for number in range(1, 501):
        shelf.keep(sketch(number))
    before = by_chance(shelf)
    for number in range(1000, 1400):
        shelf.keep(sketch(number, bits=shelf.own.bits), blind=False)
    assert by_chance(shelf) == before
    assert sum(number_of(key) >= 1000 for key in shelf.liked) <= 50


# --- the second view -------------------------------------------------------------------------------------------------


def record(number, *, issued_ms=1000, address=None, curve=bytes(32)):
    return Record(bytes([number]) * 32, curve, address or address_of(number), issued_ms, b"", b"")


class Second:
    """A view of 4 in which the number of a peer says how like it is; those above 200 are not on the shelf."""

    def __init__(self):
        self.view = LikeView(bytes(32), address_of(250), size=4, most_per_host=2)

    def offer(self, *records, source=b"a"):
        self.view.offer(records, source=source, holds=lambda key: key[0] <= 200, liking=self.liking)
        return {one.key[0] for one in self.view.records()}

    def liking(self, keys):
        return [float(key[0]) for key in keys]


def test_the_second_view_holds_the_most_alike_of_whom_there_are_sketches():
    second = Second()
    assert second.offer(record(1), record(2), record(201), record(0)) == {1, 2}
    assert second.offer(record(3), record(9), source=b"b") == {1, 2, 3, 9}
    assert second.offer(record(8), record(7), source=b"c") == {3, 7, 8, 9}
    assert [
        one.key[0] for one in second.view.nearest(2, without=bytes([9]) * 32, holds=bool, liking=second.liking)
    ] == [8, 7]


def test_one_peer_names_half_of_the_second_view_at_most_and_one_host_has_few_places():
    second = Second()
    assert len(second.offer(*(record(number) for number in range(100, 120)), source=b"crook")) == 2
    second = Second()
    for number in range(100, 120):
        second.offer(record(number, address=f"tcp://10.0.0.1:{number}"), source=bytes([number]))
    assert len(second.view) == 2
    assert second.offer(record(120, address="tcp://10.0.0.1:119"), source=b"z") == {118, 120}, "one address, one place"


def test_a_known_peer_moves_on_its_own_word_only_and_the_oldest_is_asked():
    second = Second()
    second.offer(record(1), record(2, issued_ms=500))
    second.offer(record(1, issued_ms=2000, address=address_of(77)), record(2, issued_ms=3000))
    assert {one.key[0]: (one.address, one.issued_ms) for one in second.view.records()} == {
        1: (address_of(1), 1000),
        2: (address_of(2), 3000),
    }
    second.offer(record(1, issued_ms=2000, address=address_of(77)), source=bytes([1]) * 32)
    assert second.view.oldest(lambda *_: False).address == address_of(77)
    second.view.note_asked(bytes([1]) * 32, 4000.0)
    assert second.view.oldest(lambda *_: False).key[0] == 2
    second.view.forget_outside(2500, 5000, now_ms=3500)
    assert [one.key[0] for one in second.view.records()] == [2]
    assert second.view.oldest(lambda key, _curve: key[0] == 2) is None
    assert len(second.view) == 0


@pytest.mark.slow
def test_like_minded_people_find_each_other_and_blind_gossip_stays_blind():
    """60 people of 6 tastes, a shelf for 12: after 30 exchanges 0.93 of the liked half share the taste of the node.

    Without the second view it is 0.89; chance would have a sixth. In the random view a sixth shares it, as
    ever: 60 views of 20 peers have 183 of 1,200 with a deviation of 12 (more, as views are not independent); 290 is far
    away. Views chosen by likeness would have 540.
    """
    tastes, size = 6, 240
    swarm = Swarm(
        60,
        dials=lambda number: dict.fromkeys(range(number % tastes * 40, number % tastes * 40 + 30), 100),
        items=size,
        settings=NodeSettings(most_sketches=12),
    )
    swarm.cycles(30)
    taste = {identity_of(number).key: number % tastes for number in range(60)}
    right = total = seen = 0
    for number, node in swarm.nodes.items():
        right += sum(taste[key] == number % tastes for key in node.shelf.liked)
        total += len(node.shelf.liked)
        seen += sum(taste[one.key] == number % tastes for one in node.view.records())
        assert node.traffic.refused == node.traffic.failures == 0
    assert total == 6 * 60
    assert right > 0.9 * total
    assert seen < 290


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_model_counts_what_chance_has_brought_and_not_what_is_alike():
    """With room for 30 sketches to learn from, a sixth of them has the own taste, as in the network.

    120 * 30 of them have about 600 with the own taste; were they chosen by likeness, it would be three times as many.
    """
    tastes = 6
    swarm = Swarm(
        120,
        dials=lambda number: dict.fromkeys(range(number % tastes * 40, number % tastes * 40 + 30), 100),
        items=240,
        settings=NodeSettings(most_sketches=24, most_learned=30),
    )
    swarm.cycles(60)
    taste = {identity_of(number).key: number % tastes for number in range(120)}
    counted = [
        taste[one.key] == number % tastes
        for number, node in swarm.nodes.items()
        for one, _ in node.crowd.take_news()[0]
    ]
    assert len(counted) == 120 * 30
    assert sum(counted) < 900
