"""My privacy about groups: what is told, limits that propose first, and a word on other pages before a sketch."""

import re

import pytest
from tests.support.page_client import Page, text_of

from hetdp.node.storage.group_limits import WHOLE_LIST

MUSIC = range(0, 60, 5)  # places of the group Music in the catalogue of these nodes
HEALTH = range(2, 60, 5)


@pytest.fixture
def node(nodes):
    made = nodes.new()
    made.store.profile.set_dials(dict.fromkeys(MUSIC, 100) | {1: 5})
    return made


@pytest.fixture
def page(node):
    made = Page(node).enter()
    yield made
    made.close()


def told(html):
    """Return the lines about groups, by name."""
    rows = re.findall(r'<li class="told-group.*?</li>', html, flags=re.DOTALL)
    return {re.search("<b>(.*?)</b>", row)[1]: text_of(row) for row in rows}


def message_in(html):
    return text_of(re.search(r'<div class="message[^"]*">\s*<span>(.*?)</span>', html)[1])


def test_what_the_first_sketch_tells_is_there_before_it_is_drawn(page):
    html = page.get("/privacy")
    assert page.node.store.publications.newest_epoch() is None
    assert "is the first sketch that of your list" in text_of(html)
    rows = told(html)
    assert list(rows) == ["Music", "Books", "Your whole list"]
    assert "12 of 12 items count right practically always ε 36 in the next sketch" in rows["Music"]
    assert "set a limit, or turn what is delicate down to 0" in rows["Music"]
    assert "1 of 1 item counts right 51 times in 100 ε 0.15 in the next sketch Nothing to do." in rows["Books"]


def test_an_empty_list_tells_nothing(nodes):
    page = Page(nodes.new()).enter()
    assert "Nothing: your list is empty. Once something is on it" in text_of(page.get("/privacy"))
    assert 'class="alert"' not in page.get("/items")
    page.close()


def test_what_was_published_is_added_up(page):
    page.node.pass_epochs(2)
    page.post("/items/group", group="Music", dial="1")
    music = told(page.get("/privacy"))["Music"]
    assert "with the 2 sketches so far: right practically always" in music
    assert "ε 0.36 in the next sketch, ε 72 so far" in music
    assert "those that are out cannot be taken back" in music


def test_other_pages_say_so_until_it_was_looked_at(page):
    for path in ("/items", "/neighbours", "/network"):
        text = text_of(page.get(path))
        assert "Your first sketch would tell much about Music. Look at it before it is drawn: My privacy" in text
    page.get("/privacy")
    assert 'class="alert"' not in page.get("/items")
    page.node.pass_epochs(1)
    assert 'class="alert"' not in page.get("/items"), "nothing new"
    for place in HEALTH:
        html = page.post("/items/add", place=str(place))
    assert "Your next sketch would tell much about Health." in text_of(html)
    page.get("/privacy")
    page.post("/items/dial", place=str(HEALTH[0]), dial="50")
    assert 'class="alert"' not in page.get("/items"), "less than what was looked at"


def test_a_limit_shows_what_it_would_do_before_it_does(page):
    version = page.node.store.profile.version()
    html = page.post("/privacy/propose", group="Music", limit="3.6")
    text = text_of(html)
    assert "A limit of ε 3.6 per sketch lowers 12 dials of Music: a peer would be right 56 times in 100" in text
    assert "From one sketch a peer is right about the group 98 times in 100 at most, whatever you add later." in text
    assert re.findall(r'<tr><th scope="row">.*?</th><td>(\d+)</td><td>(\d+)</td></tr>', html) == [("100", "10")] * 12
    assert page.node.store.profile.version() == version
    assert "A limit of" not in text_of(page.post("/privacy/propose", group="Music", close="1"))


def test_a_limit_is_set_as_proposed_and_taken_back_in_one_step(page):
    before = page.node.dials
    page.post("/privacy/propose", group="Music", limit="3.6")
    html = page.post("/privacy/group-limit", group="Music", limit="3.6")
    assert message_in(html) == "The limit of Music is set: 12 dials lowered, from the next sketch on."
    assert page.node.dials == before | dict.fromkeys(MUSIC, 10)
    assert page.node.store.group_limits.all() == {"Music": 3.6}
    assert "One sketch may tell at most ε 3.6 about it" in text_of(html)
    assert "(limit 3.6)" in told(html)["Music"]
    page.post("/privacy/undo")
    assert page.node.dials == before
    assert page.node.store.group_limits.all() == {}


def test_a_proposal_that_is_out_of_date_is_shown_again_and_not_set(page):
    page.post("/privacy/propose", group="Music", limit="3.6")
    page.post("/items/remove", place="0")
    html = page.post("/privacy/group-limit", group="Music", limit="3.6")
    assert message_in(html).startswith("Your list has changed meanwhile")
    assert page.node.store.group_limits.all() == {}
    assert "lowers 11 dials of Music" in text_of(html)
    page.post("/privacy/group-limit", group="Music", limit="3.6")
    assert page.node.store.group_limits.all() == {"Music": 3.6}


def test_what_comes_later_is_told_what_is_left(page):
    page.post("/privacy/propose", group="Music", limit="36.3")
    html = page.post("/privacy/group-limit", group="Music", limit="36.3")
    assert "no dial had to go down" in message_in(html)
    added = message_in(page.post("/items/add", place="60"))
    assert added.endswith("is on your list, at a dial of 10: the limit that you have set for the group leaves no more.")
    again = message_in(page.post("/items/dial", place="60", dial="90"))
    assert "barely from the next sketch, at a dial of 10: the limit" in again
    assert "12 items set" not in message_in(page.post("/items/group", group="Music", dial="100"))
    assert page.node.dials[60] == 10
    page.post("/privacy/no-group-limit", group="Music")
    assert page.node.store.group_limits.all() == {}
    assert page.node.dials[60] == 10
    assert "leaves no more" not in message_in(page.post("/items/dial", place="60", dial="90"))


def test_a_limit_below_what_was_told_says_that_it_stays_told(page):
    page.node.pass_epochs(2)
    text = text_of(page.post("/privacy/propose", group="Music", limit="3.6"))
    assert "Sketches so far have told ε 72 about it, more than this limit. That cannot be taken back" in text
    page.post("/privacy/group-limit", group="Music", limit="3.6")
    assert set(page.node.dials.values()) == {10, 5}


def test_limits_to_choose_from_are_offered_in_words(page):
    html = page.get("/privacy")
    choices = re.findall(r'<button id="choice-\d" [^>]* value="([^"]+)">(.*?)</button>', html)
    assert [words for _, words in choices] == ["9 times in 10", "3 times in 4", "6 times in 10"]
    for limit, words in choices:
        assert f"a peer would be right {words} from the next" in text_of(
            page.post("/privacy/propose", group="Music", limit=limit)
        )


def test_the_whole_list_can_have_a_limit(page):
    html = page.post("/privacy/group", group=WHOLE_LIST)
    assert '<option value=" " selected>Your whole list</option>' in html
    page.post("/privacy/propose", group=WHOLE_LIST, limit="3")
    page.post("/privacy/group-limit", group=WHOLE_LIST, limit="3")
    assert page.node.store.group_limits.all() == {WHOLE_LIST: 3.0}
    assert sum(page.node.dials.values()) == 100


@pytest.mark.parametrize(
    ("address", "fields", "says"),
    [
        ("propose", {"group": "Music", "limit": "-1"}, "limit must be a number of at least 0"),
        ("propose", {"group": "Music", "limit": ""}, "limit must be a number of at least 0"),
        ("propose", {"group": "Music", "limit": "1e9"}, "limit must be at most"),
        ("propose", {"group": "Nowhere", "limit": "1"}, "group must be one of the catalogue's: 'Books', 'Food', "),
        ("group-limit", {"group": "Nowhere", "limit": "1"}, "group must be one of the catalogue's: 'Books', 'Food', "),
        ("no-group-limit", {"group": "Nowhere"}, "group must be one of the catalogue's: 'Books', 'Food', "),
        ("no-group-limit", {}, ""),
        ("group", {"group": "Nowhere"}, None),
    ],
)
def test_bad_forms_change_nothing(page, address, fields, says):
    before = page.node.dials
    html = page.post(f"/privacy/{address}", **fields)
    if says:
        assert says in message_in(html)
    assert page.node.dials == before
    assert page.node.store.group_limits.all() == {}
    assert list(told(html)) == ["Music", "Books", "Your whole list"]


def test_what_a_restored_node_pays_for_every_item_is_no_item_or_group_of_the_owner(page):
    page.node.pass_epochs(1)
    before = page.get("/privacy")
    with page.node.store.database.transaction(durable=True):
        page.node.store.other_charges.add("restored-1", "restored", every=100)
    html = page.get("/privacy")
    assert list(told(html)) == list(told(before))
    assert "(removed)" not in text_of(html)
    assert "Every item of the catalogue, on your list or not, has been charged ε 3 " in text_of(html)
    assert "has been charged" not in text_of(before)


def test_the_sketch_says_what_can_be_seen_in_it(page):
    page.node.pass_epochs(1)
    page.node.set_bits(dict.fromkeys(range(600), False) | dict.fromkeys(range(0, 100, 5), True))
    text = text_of(page.get("/privacy"))
    assert "no single dot proves that you have that item" in text
    assert "Music has 20 dots in 120 places, where chance makes about 6." in text
    page.node.set_bits(dict.fromkeys(range(600), False))
    assert "nothing stands out from chance" in text_of(page.get("/privacy"))


def test_an_item_that_the_newest_sketch_did_not_have_yet(page):
    """As after a catalogue has grown."""
    page.node.pass_epochs(1)
    newest = page.node.store.publications.newest()
    real = page.node.store.publications.newest
    page.node.store.publications.newest = lambda: type(newest)(0, 0.0, newest.bits[:50], {})
    page.node.store.profile.set_dials({55: 100})
    text = text_of(page.post("/privacy/choose", place="55"))
    assert "The newest sketch was drawn before the catalogue had this item: a peer learns nothing from it." in text
    page.node.store.publications.newest = real


def test_names_of_groups_are_escaped(nodes):
    page = Page(nodes.new(title="<script>alert(1)</script>")).enter()
    page.node.store.profile.set_dials(dict.fromkeys(range(20), 100))
    for path in ("/items", "/privacy"):
        assert "<script>alert(1)" not in page.get(path)
    assert "<script>alert(1)" not in page.post("/privacy/propose", group="<script>alert(1)</script>", limit="1")
    page.close()


def test_the_label_is_there_for_anybody_to_read(page):
    assert "Privacy label: A node of the network test-net" in text_of(page.get("/privacy"))
