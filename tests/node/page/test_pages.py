"""What each page shows and does, on a real node."""

import re
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from tests.support.page_client import BASE, Page, text_of
from tests.support.page_node import LIKED, ONES

from hetdp.node.page.application import PAGES
from hetdp.node.protocol.network import Bootstrap
from hetdp.node.storage.crowd import CrowdModel, save_model
from hetdp.node.storage.folder import MODEL
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.words import EPSILON_WORDS
from hetdp.recommender.model import ItemModel

ALL_PAGES = tuple(page.address for page in PAGES)


@pytest.fixture
def open_page(nodes):
    opened = []

    def enter(node=None):
        opened.append(Page(node or nodes.new()).enter())
        return opened[-1]

    yield enter
    for page in opened:
        page.close()


def message_in(html):
    found = re.search(r'<div class="message[^"]*">\s*<span>(.*?)</span>', html)
    return found and found[1]


# --- my items --------------------------------------------------------------------------------------------------------


def test_a_new_owner_is_welcomed(open_page, nodes):
    text = text_of(open_page(nodes.new()).get("/items"))
    assert "Three steps, and you are in" in text
    assert "Search your list and all 600 items" in text
    assert "Your first sketch will be that of an empty list" in text
    assert "is out already" not in text


def test_a_new_owner_is_told_that_the_sketch_of_this_epoch_is_out(open_page, nodes):
    node = nodes.new()
    node.pass_epochs(1)
    text = text_of(open_page(node).get("/items"))
    assert "Three steps, and you are in" in text
    assert "people like you are found on this machine, as soon as sketches of others have come" in text
    assert "The sketch of this epoch is out already; the next one, of your new list, comes today" in text


def test_what_is_spent_has_a_unit_and_the_unit_is_explained(open_page, nodes):
    page = open_page(nodes.lived_in())
    text = text_of(page.post("/items/open", open="1"))
    assert "spent ε 18 of 30" in text
    assert EPSILON_WORDS in text


def test_search_finds_items_and_leaves_the_address_alone(open_page):
    page = open_page()
    html = page.post("/items/search", text="  AMBER   jazz ")
    found = re.findall(r'id="add-(\d+)"', html)
    assert [page.node.store.catalogue.item(int(place)).title for place in found] == [
        "Amber jazz",
        "Amber jazz 2",
        "Amber jazz 3",
        "Amber jazz 4",
    ]
    assert 'value="AMBER jazz"' in html
    assert 'id="add-' in page.get("/items"), "the search is still there after loading again"
    assert 'id="add-' not in page.post("/items/search", close="1")


def test_search_is_paged(open_page, nodes):
    page = open_page(nodes.new(items=5000, most_items=5000))
    first = page.post("/items/search", text="tea")
    second = page.post("/items/search", text="tea", to="1")
    places = [set(re.findall(r'id="add-(\d+)"', html)) for html in (first, second)]
    assert len(places[0]) == len(places[1]) == 8
    assert not places[0] & places[1]
    assert re.search(r'id="found-back"[^>]* disabled', first)
    assert not re.search(r'id="found-back"[^>]* disabled', second)
    last = page.post("/items/search", text="amber tea 2", to="5000")
    assert "Nothing in the catalogue has" in text_of(last)


def test_an_empty_search_shows_the_whole_catalogue(open_page):
    assert len(re.findall(r'id="add-(\d+)"', open_page().post("/items/search", text=""))) == 8


def test_items_are_added_once_at_full_dial(open_page):
    page = open_page()
    html = page.post("/items/add", place="46")
    assert page.node.dials == {46: 100}
    assert message_in(html) == "Amber jazz is on your list."
    page.post("/items/dial", place="46", dial="30")
    assert message_in(page.post("/items/add", place="46")) == "Amber jazz is on your list already."
    assert page.node.dials == {46: 30}
    assert "on your list" in text_of(page.post("/items/search", text="amber jazz"))


def test_a_message_is_shown_once(open_page):
    page = open_page()
    assert message_in(page.post("/items/add", place="46"))
    assert message_in(page.get("/items")) is None


def test_a_dial_is_turned_removed_and_taken_back(open_page):
    page = open_page()
    page.post("/items/add", place="46")
    html = page.post("/items/dial", place="46", dial="0")
    assert message_in(html) == "Amber jazz: hidden from the next sketch."
    assert 'id="dial-46" name="dial" min="0" max="100" step="1" value="0"' in html
    assert "nobody learns anything. Only what is recommended to you takes note of it." in text_of(html)
    page.post("/items/remove", place="46")
    assert page.node.dials == {}
    assert message_in(page.post("/items/undo")) == "Taken back."
    assert page.node.dials == {46: 0}
    page.post("/items/undo")
    page.post("/items/undo")
    assert message_in(page.post("/items/undo")) == "There is nothing to take back."


def test_turning_a_dial_to_where_it_is_makes_no_step_to_take_back(open_page):
    page = open_page()
    page.post("/items/add", place="46")
    version = page.node.store.profile.version()
    assert message_in(page.post("/items/dial", place="46", dial="100")) is None
    assert page.node.store.profile.version() == version


def test_a_dial_cannot_add_an_item(open_page):
    page = open_page()
    assert message_in(page.post("/items/dial", place="46", dial="50")) == "That item is no longer on your list."
    assert page.node.dials == {}


@pytest.mark.parametrize(
    ("address", "fields", "says"),
    [
        ("/items/add", {"place": "600"}, "place must be a position in the catalogue"),
        ("/items/add", {"place": "-1"}, "place must be a whole number"),
        ("/items/add", {"place": "٣"}, "place must be a whole number"),
        ("/items/add", {"place": "1" * 12}, "place must be a whole number"),
        ("/items/add", {}, "place must be a whole number"),
        ("/items/dial", {"place": "0", "dial": "101"}, "a dial must be a whole number from 0 to 100"),
        ("/items/dial", {"place": "0", "dial": "0.5"}, "dial must be a whole number"),
        ("/items/group", {"dial": "777"}, "a dial must be a whole number from 0 to 100"),
        ("/items/page", {"to": "x"}, "to must be a whole number"),
        ("/privacy/limit", {"place": "0", "limit": "nan"}, "limit must be a number of at least 0"),
        ("/privacy/limit", {"place": "0", "limit": "-1"}, "limit must be a number of at least 0"),
        ("/privacy/limit", {"place": "9999", "limit": "1"}, "place must be a position in the catalogue"),
        ("/privacy/default-limit", {"limit": "inf"}, "limit must be a number of at least 0"),
        ("/privacy/default-limit", {"limit": " "}, "limit must be a number of at least 0"),
        ("/neighbours/dismiss", {"place": "600"}, "place must be a position in the catalogue"),
    ],
)
def test_odd_fields_are_explained_and_change_nothing(open_page, address, fields, says, nodes):
    page = open_page(nodes.lived_in())
    before = page.node.store.profile.version()
    html = page.post(address, **fields)
    assert says in message_in(html)
    assert '<div class="message bad">' in html
    assert page.node.store.profile.version() == before


def test_a_full_list_says_so(open_page, nodes):
    page = open_page(nodes.new(most_items=1))
    page.post("/items/add", place="1")
    assert message_in(page.post("/items/add", place="2")).startswith("a profile must hold at most 1 items")


def test_a_group_is_set_in_one_step(open_page, nodes):
    page = open_page(nodes.lived_in())
    before = dict(page.node.dials)
    health = [place for place in before if page.node.store.catalogue.item(place).group == "Health"]
    html = page.post("/items/group", group="Health", dial="25")
    assert message_in(html) == f"{len(health)} items set: a little."
    assert page.node.dials == before | dict.fromkeys(health, 25)
    page.post("/items/undo")
    assert page.node.dials == before
    page.post("/items/group", dial="0")
    assert set(page.node.dials.values()) == {0}


def test_what_waits_for_the_next_epoch_is_listed(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.post("/items/open", open="1")
    html = page.get("/items")
    text = text_of(html)
    assert "In your next sketch today" in text
    assert "4 changes wait. Until then others keep the sketch of epoch 5." in text
    assert "Early tea dial 100 → 40, a little" in text
    assert "Copper tea no longer in it" in text
    assert "Distant tea limit reached, no longer counts" in text
    assert "It has reached its lifetime limit and no longer counts in new sketches." in text
    assert "This holds from the next sketch; its dial is 100 in the sketch that is out." in text
    assert "This holds from the next sketch; it has no part in the sketch that is out." in text


def test_nothing_waits_when_nothing_was_changed(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials({1: 100})
    node.pass_epochs(1)
    text = text_of(open_page(node).get("/items"))
    assert "Nothing changes: a fresh sketch of the same list is drawn." in text
    assert "in your sketch" in text


def dials_in(html):
    return [int(place) for place in re.findall(r'id="dial-(\d+)"', html)]


def test_a_long_list_shows_its_groups_and_opens_them_on_demand(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials(dict.fromkeys(range(50), 100) | {2: 0, 7: 0})
    page = open_page(node)
    html = page.get("/items")
    assert dials_in(html) == []
    assert re.findall(r'class="fold" aria-expanded="(\w+)".*?</svg>(.*?)</button>', html) == [
        ("false", name) for name in ("Books", "Food", "Health", "Music", "Everything else")
    ]
    assert "Health 10 items, 8 count" in text_of(html)
    html = page.post("/items/open", group="Health", open="1")
    assert sorted(dials_in(html)) == list(range(2, 50, 5))
    assert len(dials_in(page.post("/items/open", open="1"))) == 50
    assert dials_in(page.post("/items/open", group="Health", open="0")) != dials_in(html)
    assert dials_in(page.post("/items/open", open="0")) == []
    assert dials_in(page.post("/items/open", group="no such group", open="1")) == []


def test_a_short_list_is_open_and_an_added_item_is_in_sight(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials(dict.fromkeys(range(15), 100))
    page = open_page(node)
    assert len(dials_in(page.get("/items"))) == 15
    assert len(dials_in(page.post("/items/add", place="17"))) == 16, "groups do not close by themselves"
    page.post("/items/open", open="0")
    assert sorted(dials_in(page.post("/items/add", place="22"))) == [2, 7, 12, 17, 22]


def test_a_group_is_paged(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials(dict.fromkeys(range(0, 500, 5), 100))
    page = open_page(node)
    seen = [set(dials_in(page.post("/items/page", group="Music", to=str(number)))) for number in (0, 1, 2, 9)]
    assert [len(places) for places in seen] == [40, 40, 20, 20]
    assert len(set.union(*seen)) == 100


def test_the_list_is_searched_with_the_catalogue(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials(dict.fromkeys(range(100), 100))
    page = open_page(node)
    html = page.post("/items/search", text="  AMBER   tea ")
    assert dials_in(html) == [10], "found groups are open"
    assert "On your list, 1 item fits “AMBER tea”." in text_of(html)
    assert "100 items" in text_of(html)
    assert "no items fit “nothing like it”." in text_of(page.post("/items/search", text="nothing like it"))
    assert dials_in(page.post("/items/search", text="x", close="1")) == []


def test_thousands_of_items_make_a_small_page(open_page, nodes):
    node = nodes.new(items=5000, most_items=5000)
    node.store.profile.set_dials(dict.fromkeys(range(0, 5000, 2), 100))
    page = open_page(node)
    assert len(page.get("/items")) < 40_000
    assert len(dials_in(page.post("/items/open", open="1"))) == 5 * 40, "a page of each group"


def test_every_dial_has_words_and_a_true_bound(open_page, nodes):
    html = open_page(nodes.lived_in(epsilon=Fraction(1, 2))).post("/items/open", open="1")
    assert dials_in(html)
    assert "at most 1.6-fold" in text_of(html), "exp(1/2)"
    for field in re.findall(r'<input type="range"[^>]*>', html):
        assert 'aria-label="How much ' in field
        assert "aria-valuetext=" in field


# --- my privacy ------------------------------------------------------------------------------------------------------


def test_privacy_of_a_new_node(open_page, nodes):
    text = text_of(open_page(nodes.new()).get("/privacy"))
    assert "ε 3" in text
    assert "at most 20-fold" in text
    assert "Nothing: your list is empty." in text
    assert "Nothing has been spent yet." in text


def test_losses_are_drawn_over_time(open_page, nodes):
    html = open_page(nodes.lived_in()).get("/privacy")
    assert html.count('class="curve') == 5, "one line per history: dials 100, 60, 35, 25 and 5"
    assert html.count('class="curve chosen"') == 1
    assert "and 18 other items with the same history" in text_of(html)
    assert "limit 30" in text_of(html)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td></tr>', html)
    assert ('Copper tea <span class="soft">(removed)</span>', "18") in rows
    assert len(rows) == 23


def test_what_a_curious_peer_learns_is_told_for_the_chosen_item(open_page, nodes):
    node = nodes.lived_in()
    node.set_bits({0: True, 3: False, 2: True})
    page = open_page(node)
    set_bit = text_of(page.post("/privacy/choose", place="0"))
    assert (
        "its bit is set. That speaks for you having it: odds go up 20-fold, the most that your dial of 100" in set_bit
    )
    assert "50 % 95.3 % over 99.9 %" in set_bit, "e^3 / (1 + e^3), and e^18 at most"
    unset = text_of(page.post("/privacy/choose", place="3"))
    assert "its bit is not set. That speaks against you having it: odds go down 20-fold" in unset
    silent = text_of(page.post("/privacy/choose", place="2"))
    assert "no influence at all" in silent
    assert "a peer learns nothing" in silent
    assert "How sure would somebody be" not in silent


def test_a_removed_item_can_still_be_looked_at(open_page, nodes):
    text = text_of(open_page(nodes.lived_in()).post("/privacy/choose", place="6"))
    assert "Copper tea (removed)" in text
    assert "Lifetime limit of this item" not in text


def test_an_unknown_choice_falls_back(open_page, nodes):
    assert "What a curious peer could learn" in text_of(
        open_page(nodes.lived_in()).post("/privacy/choose", place="599")
    )


def test_limits_are_set_and_taken_back(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.post("/privacy/limit", place="0", limit="20.5")
    assert page.node.store.ledger.limits_of([0]) == {0: 20.5}
    page.post("/privacy/limit", place="0", limit="")
    assert page.node.store.ledger.limits_of([0]) == {}
    page.post("/privacy/default-limit", limit="21")
    assert page.node.store.ledger.default_limit() == 21.0
    assert "limit 21" in text_of(page.get("/privacy"))


def test_an_item_whose_limit_was_lowered_below_its_loss_has_no_sketches_left_not_fewer(open_page, nodes):
    node = nodes.lived_in()
    page = open_page(node)
    place = max(node.store.ledger.spent(), key=node.store.ledger.spent().get)
    page.post("/privacy/choose", place=str(place))
    page.post("/privacy/limit", place=str(place), limit="0.01")
    shown = text_of(page.get("/privacy"))
    assert "it can count in no more sketches" in shown
    assert not re.search(r"-\d+ more sketch", shown)


def test_the_page_says_whether_the_settings_or_the_owner_gave_the_limit_of_all_items(open_page, nodes):
    page = open_page(nodes.lived_in())
    assert "From lifetime_epochs in node.toml, until you set one here." in text_of(page.get("/privacy"))
    page.post("/privacy/default-limit", limit="21")
    assert "Set here; lifetime_epochs in node.toml no longer counts." in text_of(page.get("/privacy"))


def test_the_public_sketch_is_shown(open_page, nodes):
    node = nodes.lived_in()
    html = open_page(node).get("/privacy")
    ones = int(node.store.publications.newest().bits.sum())
    text = text_of(html)
    assert f"{ones} of 600 bits are set. An empty list would give about 28, by chance alone." in text
    assert html.count('<img src="data:image/png;base64,') == 1
    assert "It is the newest of 6: the earlier ones went out too, and whoever kept them still has them." in text
    assert "nothing else" not in text
    assert "Public as well: your key" in text


def test_only_one_sketch_is_not_called_the_newest_of_many(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials({1: 100})
    node.pass_epochs(1)
    text = text_of(open_page(node).get("/privacy"))
    assert "Your newest sketch, that of epoch 0" in text
    assert "the earlier ones" not in text


def test_the_limit_is_told_in_words_and_ahead(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials({1: 100, 2: 50, 3: 100})
    node.store.ledger.set_limit(3, 12.0)
    node.pass_epochs(3)
    page = open_page(node)
    text = text_of(page.get("/privacy"))
    assert "ε 30 is the most an item may lose in its life, about 10 epochs at full dial." in text
    assert "By then somebody who kept all sketches could be all but sure whether you have it." in text
    assert "1 item has at most 1 epoch left." in text
    assert "ε 9 of 12 spent; at its dial it can count in 1 more sketch." in text_of(
        page.post("/privacy/choose", place="3")
    )
    node.now_s += node.network.epoch_length_s
    node.pass_epochs(4)
    text = text_of(page.get("/privacy"))
    assert "1 item has reached its limit." in text
    assert "1 item has at most 3 epochs left." in text, "7 of 10 sketches; the item of dial 50 has 13 left"
    assert text_of(page.post("/privacy/default-limit", limit="3")).count("17 % sure that you have it") == 2


def test_epochs_left_are_those_that_the_store_allows(open_page, nodes):
    node = nodes.new(epsilon=Fraction(1, 10), lifetime_epochs=3.0)
    node.store.profile.set_dials({1: 100})
    page = open_page(node)
    for left in (2, 1, 0):
        node.now_s += node.network.epoch_length_s
        node.pass_epochs(1)
        text = text_of(page.get("/privacy"))
        assert f"can count in {left or 'no'} more sketch" in text
        assert ("1 item has reached its limit." in text) == (left == 0)


def test_huge_limits_are_called_so(open_page, nodes):
    page = open_page(nodes.lived_in())
    html = page.post("/privacy/default-limit", limit="99999")
    assert "ε 99,999 is the most" in text_of(html)
    assert "That is as good as no limit." in message_in(html)
    assert '<span class="warn">That is as good as no limit.</span>' in html
    assert 'value="99999"' in html, "a field of numbers takes no commas"


# --- neighbours ------------------------------------------------------------------------------------------------------


def test_neighbours_come_with_their_uncertainty(open_page, nodes):
    node = nodes.lived_in()
    html = open_page(node).get("/neighbours")
    text = text_of(html)
    for person in node.neighbors():
        assert person.name in text
    assert "clearly like you seems to have about 14 of your 22 items that count (likely 12 to 17)" in text
    assert "2 people look a little like you, maybe by chance" in text
    assert html.count('class="range"') == html.count('class="mark"') == 10


def test_recommendations_come_with_their_reason(open_page, nodes):
    text = text_of(open_page(nodes.lived_in()).get("/neighbours"))
    assert "About 6 of 8 people like you seem to have it." in text
    assert "About 5 of 8 people like you seem to have it, probably not by chance." in text
    assert "It shows in 1 of 8 blurred sketches of people like you: too little to tell it from chance." in text


def test_weak_hints_are_below_a_fold(open_page, nodes):
    node = nodes.lived_in()
    page = open_page(node)
    html = page.get("/neighbours")
    strong, weak = html.split('<details class="card" id="weak">')
    assert re.findall(r'id="dismiss-(\d+)"', strong) == ["301", "305", "309", "313", "317", "321"]
    assert re.findall(r'id="dismiss-(\d+)"', weak) == ["325", "329", "333", "337"]
    assert "4 weak hints, maybe nothing but chance" in text_of(html)
    assert "chance" not in text_of(strong.partition('id="people"')[0]).replace("probably not by chance", "")
    node.meet(38, liked=dict(list(LIKED.items())[6:]))
    text = text_of(page.get("/neighbours"))
    assert "Nothing can be told from chance yet" in text
    assert "4 weak hints, maybe nothing but chance" in text


def test_copies_are_told_to_the_owner_only_if_there_are_some(open_page, nodes):
    node = nodes.lived_in()
    page = open_page(node)
    assert 'id="copies"' not in page.get("/neighbours")
    own = node.store.publications.newest_signed()
    for number, words in ((1, "1 sketch copies yours"), (2, "2 sketches copy yours")):
        copy = msgspec.structs.replace(own, key=bytes([number]) * 32)
        node.store.peers.keep(sketches=[copy], now_s=node.now_s, first_epoch=0)
        assert words in text_of(page.get("/neighbours"))


def test_people_who_share_nothing_are_not_listed(open_page, nodes):
    node = nodes.lived_in()
    node.meet(38, ones=(*ONES[:-1], 1))
    *_, before, last = node.neighbors()
    text = text_of(open_page(node).get("/neighbours"))
    assert "have about 0" not in text
    assert last.name not in text
    assert before.name in text


def test_a_recommendation_is_added_dismissed_and_brought_back(open_page, nodes):
    page = open_page(nodes.lived_in())
    html = page.post("/neighbours/add", place="301")
    assert page.node.dials[301] == 100
    assert 'id="add-301"' not in html
    assert 'action="/neighbours/undo"' in html
    assert 'id="add-301"' in page.post("/neighbours/undo")
    html = page.post("/neighbours/dismiss", place="305")
    assert 'id="dismiss-305"' not in html
    assert "2 items that are not recommended to you" in text_of(html), "the other was taken off the list by hand"
    assert 'id="dismiss-305"' in page.post("/neighbours/undismiss", place="305")


@pytest.mark.parametrize(("dial", "limit"), [(100, None), (0, None), (100, 1.0)], ids=["counts", "muted", "exhausted"])
def test_what_is_on_the_list_is_never_recommended(open_page, nodes, dial, limit):
    node = nodes.lived_in()
    html = open_page(node).get("/neighbours")
    assert 'id="dismiss-301"' in html
    node.store.profile.set_dials({301: dial})
    node.store.ledger.set_limit(301, limit)
    node.meet(20)
    html = open_page(node).get("/neighbours")
    assert 'id="dismiss-301"' not in html
    assert 'id="dismiss-305"' in html


def test_the_page_says_that_neighbours_vote_until_the_crowd_is_large_enough(open_page, nodes):
    text = text_of(open_page(nodes.lived_in()).get("/neighbours"))
    assert "So far only people like you are asked." in text
    assert "has counted 50 sketches" in text


def test_the_page_names_the_crowd_and_the_own_items_that_speak_for_a_recommendation(open_page, nodes):
    node = nodes.lived_in()
    own, weights = node.store.profile.places(), np.zeros((600, 600), dtype=np.float32)
    first, second = own[3], own[5]
    weights[first, 400], weights[second, 400] = 0.5, 0.4
    save_model(node.folder / MODEL, CrowdModel(ItemModel(np.arange(600.0)[::-1], weights), 1234))
    html = open_page(node).get("/neighbours")
    titles = [item.title for item in node.store.catalogue.items_at([first, second])]
    assert f"Because you have {titles[0]} and {titles[1]}." in text_of(html)
    assert "This machine has learned from 1,234 blurred sketches" in text_of(html)
    assert "Many people seem to have it." in text_of(html)
    assert re.search(r'id="dismiss-(\d+)"', html)[1] == "400"
    assert not any(f'id="dismiss-{place}"' in html for place in own)
    page = open_page(node)
    page.post("/neighbours/dismiss", place="400")
    assert "Because you have" not in text_of(page.get("/neighbours"))
    assert "no shared taste" not in text_of(page.get("/neighbours"))
    save_model(node.folder / MODEL, CrowdModel(ItemModel(np.arange(600.0)[::-1], 0 * weights, taste=0.0), 1235))
    assert "So far no shared taste can be told from the blur" in text_of(page.get("/neighbours"))


def test_without_items_or_sketches_the_page_says_what_is_missing(open_page, nodes):
    page = open_page(nodes.new())
    assert "Your list is empty, so there is nothing to go by. Add a few items." in text_of(page.get("/neighbours"))
    page.post("/items/add", place="3")
    assert "Waiting for the first sketches" in text_of(page.get("/neighbours"))
    page.node.hear_of_strangers(4)
    text = text_of(page.get("/neighbours"))
    assert "Nothing can be told from chance yet: sketches are blurred, and 4 sketches tell too little" in text
    assert "Nobody yet who is clearly like you: 4 sketches were compared with your list." in text


def test_a_muted_list_is_not_told_to_add_items(open_page, nodes):
    node = nodes.new()
    node.store.profile.set_dials({1: 0, 2: 0})
    page = open_page(node)
    text = text_of(page.get("/neighbours"))
    assert "Everything on your list is set to “Hidden”. That is fine" in text
    assert "Add a few items" not in text
    assert "Nothing on your list counts, so your first sketch will be that of an empty list." in text_of(
        page.get("/items")
    )
    node.store.profile.set_dials({1: 100})
    node.store.ledger.set_limit(1, 0.1)
    assert "items have reached their lifetime limits" in text_of(page.get("/neighbours"))


def test_a_neighbour_is_hidden_at_home_and_shown_again(open_page, nodes):
    node = nodes.lived_in()
    page, first = open_page(node), node.neighbors()[0]
    html = page.post("/neighbours/hide", key=first.key_hex)
    assert "on this machine only: nobody can notice" in message_in(html)
    shown, hidden = html.split('<details class="card" id="hidden">')
    assert first.name not in text_of(shown)
    assert first.name in text_of(hidden)
    assert "Your node talks to theirs as before" in text_of(hidden)
    html = page.post("/neighbours/unhide", key=first.key_hex)
    assert first.name in text_of(html)
    assert 'id="hidden"' not in html
    assert "must be" in message_in(page.post("/neighbours/hide", key="no key"))


# --- network ---------------------------------------------------------------------------------------------------------


def test_the_network_is_shown(open_page, nodes):
    node = nodes.lived_in()
    text = text_of(open_page(node).get("/network"))
    assert "38 peers that your node has really reached" in text
    assert "38 sketches of others held" in text
    assert "sent 2 MiB in 4,120 messages" in text
    assert node.store.peers.known()[0].name in text
    assert "and 26 more" in text
    assert node.identity.key.hex() in text


def test_the_network_page_of_a_new_node(open_page, nodes):
    node = nodes.new()
    page = open_page(node)
    text = text_of(page.get("/network"))
    assert "the network file of this node names nobody to ask first" in text
    assert f"hetdp network add-peer {node.folder}/network.toml --address tcp://… --key … --curve …" in text
    own = Bootstrap("tcp://10.0.0.1:7470", node.identity.key.hex(), "0" * 64)
    node.network = msgspec.structs.replace(node.network, bootstrap=(own,))
    assert "names nobody to ask first" in text_of(page.get("/network")), "to ask oneself does not help"
    other = Bootstrap("tcp://10.0.0.2:7470", "1" * 64, "0" * 64)
    node.network = msgspec.structs.replace(node.network, bootstrap=(own, other))
    text = text_of(page.get("/network"))
    assert "None yet. The node asks the first ones named in the network file." in text


def test_troubles_are_told(open_page, nodes):
    node = nodes.new(running=False)
    node.pass_epochs(2)
    node.now_s -= 2 * node.network.epoch_length_s
    text = text_of(open_page(node).get("/network"))
    assert "The node is not running" in text
    assert "the clock of this machine was ahead when it was drawn, or is behind now" in text


def test_a_wrong_clock_is_told_on_every_page_and_when_it_is_over(open_page, nodes):
    node = nodes.lived_in()
    node.pass_epochs(2)
    node.now_s -= 2 * node.network.epoch_length_s
    page = open_page(node)
    for path in ALL_PAGES:
        text = text_of(page.get(path))
        assert "No sketch is drawn now. The last sketch is of a later epoch than this one" in text, path
        assert re.search(r"The next one comes (today|tomorrow) \d\d:\d\d", text), path


def test_a_node_that_has_met_its_own_key_goes_on_when_its_owner_says_that_the_copy_is_gone(open_page, nodes):
    page = open_page(nodes.lived_in())
    with page.node.store.database.transaction(durable=True):
        page.node.store.mode.set("stopped")
        page.node.store.events.note("twin", now_s=page.node.now_s, epoch=5, charged=1)
    assert "a copy of it runs elsewhere, or somebody has its key" in text_of(page.get("/items"))
    assert '<div class="message bad">' in page.post("/data/resume")
    assert page.node.mode() == "stopped"
    page.post("/data/resume", gone="yes")
    assert page.node.mode() == "open"


def test_what_happened_is_told_newest_first(open_page, nodes):
    node = nodes.lived_in()
    page = open_page(node)
    assert "What happened Nothing out of the ordinary." in text_of(page.get("/network"))
    state = page.get("/state")
    with node.store.database.transaction(durable=True):
        node.store.events.note("grown", now_s=node.now_s - 90.0, version=2, added=7, retired=1)
        for number in range(6):
            node.store.events.note("forked", now_s=node.now_s - 60.0 + number, version=number + 3)
    assert page.get("/state") != state, "the page shows it by itself"
    text = text_of(page.get("/network"))
    assert text.index("two versions 8") < text.index("two versions 3") < text.index("7 new items, 1 retired")
    assert text.index("two versions 4") < text.index("Earlier") < text.index("two versions 3")


def test_how_many_sketches_are_like_the_published_one_is_told(open_page, nodes):
    node = nodes.lived_in()
    page = open_page(node)
    assert "most like your published one" not in text_of(page.get("/network"))
    node.store.database.execute("UPDATE sketches SET liked = rowid % 2")
    assert f"{len(node.store.peers.liked())} of them for being most like your published one" in text_of(
        page.get("/network")
    )


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("paused", "Your node is paused. No sketch of you is drawn, and nothing is spent, until you resume. Resume"),
        ("stopped", "Your node has stopped publishing."),
        ("closed", "This node is closed. It has moved or has left the network"),
    ],
)
def test_what_needs_the_owner_is_on_every_page(open_page, nodes, mode, says):
    page = open_page(nodes.lived_in())
    assert all(says not in text_of(page.get(path)) for path in ALL_PAGES)
    with page.node.store.database.transaction(durable=True):
        page.node.store.mode.set(mode)
    for path in ALL_PAGES:
        assert says in text_of(page.get(path)), path
    assert "None is drawn: your node does not publish at present." in text_of(page.get("/items"))


# --- my data ---------------------------------------------------------------------------------------------------------


def bring(page, content, **fields):
    """Send a list as a browser does, with a file, and return the page that follows."""
    fields |= {"form_token": page.session.form_token}
    file = {"file": ("my list.csv", content, "text/csv")}
    answer = page.client.post("/data/import", data=fields, files=file, headers={"Origin": BASE})
    assert answer.status_code == 303, answer.text
    return page.get(answer.headers["location"])


def test_a_list_is_brought_in_and_every_row_is_accounted_for(open_page, nodes):
    page = open_page(nodes.new())
    page.post("/items/add", place="0")
    html = bring(page, b"item,weight\ni0,0.2\ni46,0.5\ni47,\nmine,1\ni3,2\n", kind="csv")
    assert page.node.dials == {0: 100, 46: 50, 47: 100}
    assert message_in(html) == "2 items added."
    text = text_of(html)
    assert "What became of 5 rows 2 items added" in re.sub(" •", "", text)
    assert "1 was on your list already and keeps its dial." in text
    assert "1 is not in the catalogue and is kept for later. Which ones mine" in text
    assert "1 had a weight that is not a number from 0 to 1." in text
    assert "Kept for later: 1 Not in the catalogue, so it counts in no sketch." in text
    page.post("/data/undo")
    assert page.node.dials == {0: 100}
    html = page.post("/data/forget")
    assert "Kept for later" not in html
    assert "What became of" not in html


def test_titles_are_pasted(open_page, nodes):
    page = open_page(nodes.new())
    html = bring(page, b"", text="amber JAZZ\r\n\r\nsomething else\r\n", kind="titles")
    assert page.node.dials == {46: 100}
    assert "something else" in html


def test_nothing_brought_changes_nothing(open_page, nodes):
    page = open_page(nodes.new())
    assert message_in(bring(page, b"", text=" \r\n")) == "Choose a file, or paste a list."
    html = bring(page, b"\xff\xfe\x00\x00\xff\x00", kind="csv")
    assert '<div class="message bad">' in html
    assert page.node.dials == {}


@pytest.mark.exhaustive
def test_a_list_of_a_hundred_thousand_rows_is_brought_in(open_page, nodes):
    page = open_page(nodes.new(items=50_000))
    rows = b"item\n" + b"".join(b"i%d\n" % (place % 60_000) for place in range(100_000))
    text = text_of(bring(page, rows, kind="csv"))
    assert "What became of 100,000 rows 1,000 items added" in text
    assert "10,000 are not in the catalogue and are kept for later." in text
    assert "and 9,800 more" in text
    assert "had no room: the list is as long as this network allows." in text


def test_whoever_comes_in_finds_no_search_of_another_browser(open_page, nodes):
    page = open_page(nodes.lived_in())
    assert 'id="fitting"' in page.post("/items/search", text="tea")
    assert 'id="fitting"' in page.get("/items")
    assert page.client.get("/", follow_redirects=False).status_code == 303
    assert 'id="fitting"' not in page.get("/items")


def test_everything_is_in_the_copy(open_page, nodes):
    page = open_page(nodes.lived_in())
    bring(page, b"title\nSomething unheard of\n")
    page.node.hide("ab" * 32)
    page.node.store.profile.set_group_limit(WHOLE_LIST, 40.0)
    with page.node.store.database.transaction(durable=True):
        page.node.store.other_charges.add("restored-1", "restored", every=100)
    everything = page.client.get("/data/everything.json").json()
    assert everything["kept_for_later"] == [
        {"name": "Something unheard of", "weight": 1.0, "spent": 0.0, "limit": None}
    ]
    assert everything["hidden"] == ["ab" * 32]
    assert (everything["group_limits"], everything["limit_of_the_whole_list"]) == ({}, 40.0)
    assert everything["charged_to_every_item"] == 3.0


def test_what_was_charged_besides_sketches_is_told_apart(open_page, nodes):
    page = open_page(nodes.lived_in())
    before = text_of(page.get("/privacy"))
    with page.node.store.database.transaction(durable=True):
        page.node.store.other_charges.add("restored-1", "restored", every=100)
    after = text_of(page.get("/privacy"))
    for words in ("and what else it was charged", "is in the numbers and not in the lines"):
        assert words in after
        assert words not in before


def test_copies_are_for_keeping_and_not_for_showing(open_page, nodes):
    page = open_page(nodes.lived_in())
    for name, kind in (("list.csv", "text/csv; charset=utf-8"), ("everything.json", "application/json")):
        answer = page.client.get(f"/data/{name}")
        assert answer.headers["content-type"] == kind
        assert answer.headers["content-disposition"] == f'attachment; filename="hetdp-{name}"'
        assert answer.headers["cache-control"] == "no-store"
    other = open_page(nodes.new())
    bring(other, page.client.get("/data/list.csv").content)
    assert other.node.dials == page.node.dials


def test_a_node_is_paused_and_goes_on(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.post("/data/pause")
    assert page.node.mode() == "paused"
    assert "Your node is paused" in text_of(page.get("/data"))
    page.post("/data/resume")
    assert page.node.mode() == "open"
    assert "You have paused the node" in text_of(page.get("/network"))


def test_leaving_says_what_stays_and_wants_to_be_told_twice(open_page, nodes):
    page = open_page(nodes.lived_in())
    text = text_of(page.get("/leave"))
    assert "What nobody can take back What was published (6 sketches)." in re.sub(" •", "", text)
    assert "Tick the box" in message_in(page.post("/leave/now", erase="yes"))
    assert page.node.mode() == "open"
    assert not page.node.stopping.is_set()
    answer = page.send("/leave/now", {"form_token": page.session.form_token, "sure": "yes"})
    assert answer.status_code == 200, "a last page: the next request would find nobody"
    assert "Your node has left the network" in text_of(answer.text)
    assert 'data-watch="gone"' in answer.text
    assert page.node.mode() == "closed"
    assert page.node.store.database.fact("erase") is None


def test_erasing_is_said_separately(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.send("/leave/now", {"form_token": page.session.form_token, "sure": "yes", "erase": "yes"})
    assert page.node.store.database.fact("erase") == 1


# --- everywhere ------------------------------------------------------------------------------------------------------


def test_before_the_first_epoch(open_page, nodes):
    node = nodes.new()
    node.now_s = node.network.epoch_start_s - 30.0
    page = open_page(node)
    for path in ("/items", "/privacy", "/neighbours", "/network"):
        assert "The first epoch has not begun" in text_of(page.get(path))


def test_the_state_changes_with_what_it_stands_for(open_page, nodes):
    page = open_page(nodes.lived_in())
    states = [page.get("/state")]
    page.post("/items/dial", place="0", dial="1")
    states.append(page.get("/state"))
    page.node.pass_epochs(2)
    states.append(page.get("/state"))
    page.node.hear_of_strangers(1)
    states.append(page.get("/state"))
    assert len(set(states)) == 4
    assert not any("tea" in state for state in states)


@pytest.mark.parametrize(("address", "code"), [("/nowhere", 404), ("/items/a/b", 404), ("/items/add", 405)])
def test_an_address_without_a_page_leads_back(open_page, address, code):
    answer = open_page().client.get(address)
    assert answer.status_code == code
    assert "There is no such page" in text_of(answer.text)
    assert '<a href="/items">Go to your items.</a>' in answer.text
    assert '<link rel="stylesheet" href="/static/page.css">' in answer.text


def test_titles_of_pages_name_no_item(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.post("/privacy/choose", place="0")
    titles = {re.search("<title>(.*?)</title>", page.get(path))[1] for path in ("/items", "/privacy", "/neighbours")}
    assert titles == {"My items · hetdp", "My privacy · hetdp", "Neighbours · hetdp"}


def test_every_field_has_a_name_for_those_who_cannot_see(open_page, nodes):
    page = open_page(nodes.lived_in())
    page.post("/items/open", open="1")
    page.post("/items/search", text="tea")
    for path in ALL_PAGES:
        html = page.get(path)
        ids = re.findall(r'\bid="([^"]+)"', html)
        assert len(ids) == len(set(ids)), "ids must be unique: focus is restored by them"
        labelled = set(re.findall(r'<label for="([^"]+)"', html))
        for field in re.findall(r"<(?:input|select|textarea)\b[^>]*>", html):
            named = re.search(r'\bid="([^"]+)"', field)
            labelled_by_its_text = 'type="checkbox"' in field and f'<label class="tick">{field}' in html
            assert 'type="hidden"' in field or "aria-label=" in field or labelled_by_its_text or named[1] in labelled
        assert html.count("<h1>") == 1
        assert '<a class="skip" href="#page">' in html
        for button in re.findall(r"<button\b[^>]*>(.*?)</button>", html):
            assert text_of(button)


def test_a_damaged_store_is_told_in_words(open_page, nodes):
    node = nodes.new()
    page = open_page(node)
    with node.store.database.transaction(durable=True):
        node.store.database.execute("UPDATE arrays SET value = x'00' WHERE name = 'lost'")
    answer = page.client.get("/items")
    assert answer.status_code == 500
    assert "must be a sound file. Got one that is damaged" in answer.text
