"""Lists that people bring: matched to the catalogue whatever the way of writing, merged, kept, told; never guessed."""

import json

import pytest
from tests.support.node_swarm import a_network

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.catalogue_versions import CatalogueVersion, NewItem
from hetdp.node.storage.importing import import_list
from hetdp.node.storage.store import NodeStore

TITLES = ("Green Tea", "Café Noir", "Jazz", "Jazz", "Quiet Rivers", "Tea & Toast")
ITEMS = [
    CatalogueItem(place, f"i{place}", title, f"https://www.example.org/{place}/", group="odd" if place % 2 else "even")
    for place, title in enumerate(TITLES)
]
NETWORK = a_network(items=len(ITEMS), most_items=4)


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=9.0) as made:
        yield made


def dials(store):
    return {item.place: item.dial for item in store.profile.items()}


def test_titles_ids_and_links_are_found_in_any_way_of_writing(store):
    text = "  GREEN\u00a0tea \nCafe\u0301 noir\nQUIET  rivers\nhttp://example.org:80/5#top\n"
    imported = import_list(store, text.encode())
    assert (imported.kind, imported.rows, imported.added, imported.left_out) == ("titles", 4, 4, ())
    assert dials(store) == {0: 100, 1: 100, 4: 100, 5: 100}
    assert store.profile.undo()
    assert dials(store) == {}


def test_an_ambiguous_title_is_listed_and_not_guessed_and_a_link_tells(store):
    imported = import_list(store, b"title,url\nJazz,\nJazz,https://example.org/3\n")
    assert (imported.names("ambiguous"), imported.numbers("ambiguous")) == (("Jazz",), (1,))
    assert dials(store) == {3: 100}
    assert store.unknown.all() == [], "the catalogue has it: the owner chooses"


def test_an_id_is_found_in_a_column_of_ids_and_in_a_plain_list_but_not_among_titles(store):
    assert import_list(store, b"item\nI4\ni5\nJAZZ\n").added == 2
    assert import_list(store, b"title\ni3\n").unknown == ("i3",)
    assert import_list(store, b"i3\n").added == 1


def test_a_title_that_is_retired_is_told_and_not_kept_for_ever(store):
    store.grow(CatalogueVersion(2, bytes(32), (), (5,), bytes(64)), now_s=0.0)
    imported = import_list(store, b"Tea & Toast\nnowhere\ni5\n")
    assert (imported.names("retired"), imported.unknown) == (("Tea & Toast", "i5"), ("nowhere",))
    assert [item.name for item in store.unknown.all()] == ["nowhere"]


def test_what_holds_a_limit_is_not_forgotten(store):
    with store.database.transaction(durable=True):
        store.unknown.keep("limited", None, lifetime=2.0)
        store.unknown.keep("other", 100)
    store.unknown.forget(["other"])
    assert [(item.name, item.lifetime) for item in store.unknown.all()] == [("limited", 2.0)]


def test_undo_keeps_to_the_length_that_the_network_allows(store):
    store.profile.set_dials(dict.fromkeys(range(4), 100))
    store.profile.remove([0, 1])
    dials_ = store.database.array("dials")
    dials_[[4, 5]] = 100  # as a move does, without a step
    with store.database.transaction(durable=True):
        store.database.set_array("dials", dials_)
    assert store.profile.undo()
    assert sorted(dials(store)) == [2, 3, 4, 5]
    dials_[:] = 100
    with store.database.transaction(durable=True):
        store.database.set_array("dials", dials_)
    store.profile.set_dials({1: 0})
    assert dials(store)[1] == 0, "what makes a list no longer is never refused"
    store.profile.remove([1])
    assert store.profile.undo()
    assert len(dials(store)) == 5, "there is no room for it"


def test_what_is_on_the_list_keeps_its_dial_and_repeated_rows_are_merged_at_the_lowest(store):
    store.profile.set_dials({0: 10})
    imported = import_list(store, b"title,weight\ngreen tea,1\nquiet rivers,0.7\nQUIET RIVERS,0.3\nquiet  rivers,0.5\n")
    assert (imported.added, imported.known, imported.repeated) == (1, 1, 2)
    assert dials(store) == {0: 10, 4: 30}


def test_unknown_names_are_kept_once_and_taken_over_when_the_catalogue_grows(store):
    store.profile.set_dials({0: 10})
    imported = import_list(store, b"title,weight\nNew Thing,0.5\nNEW  thing,0.4\nOther,1\n")
    assert imported.unknown == ("New Thing", "NEW thing", "Other")
    assert [(item.name, item.dial) for item in store.unknown.all()] == [("New Thing", 40), ("Other", 100)]
    import_list(store, b"title,weight\nnew thing,0.9\n")
    assert [(item.name, item.dial) for item in store.unknown.all()] == [("New Thing", 40), ("Other", 100)]
    store.unknown.forget(["Other"])
    assert [item.name for item in store.unknown.all()] == ["New Thing"]
    grow(store, ("i6", "new thing"))
    assert dials(store) == {0: 10, 6: 40}
    assert store.unknown.all() == []


def test_losses_come_along_once_also_where_the_list_has_no_room(store):
    store.profile.set_dials({0: 10, 1: 10, 2: 10, 3: 10})
    with store.database.transaction(durable=True):
        store.unknown.keep("i6", 50, lost=120, lifetime=2.5)
        store.unknown.keep("i7", None, lost=30)
    grow(store, ("i6", "Six"), ("i7", "Seven"))
    assert [(item.name, item.dial, item.lost, item.lifetime) for item in store.unknown.all()] == [("i6", 50, 0, None)]
    assert store.database.array("lost").tolist() == [0] * 6 + [120, 30]
    assert store.ledger.limits_of([6, 7]) == {6: 2.5}
    assert store.database.rows("SELECT why FROM other_charges") == [("moved",)]
    store.profile.remove([0])
    with store.database.transaction(durable=True):
        assert store.unknown.take_over(store.catalogue.items_at([6, 7])) == 1
    assert dials(store)[6] == 50
    assert store.database.array("lost").tolist() == [0] * 6 + [120, 30], "not a second time"


def test_losses_of_a_name_that_fits_several_items_wait_for_later_ones_too(store):
    """A maker who adds the same title again and again gets no fresh ledger out of it."""
    with store.database.transaction(durable=True):
        store.unknown.keep("Dune", 100, lost=2000)
    grow(store, ("d1", "DUNE"), ("d2", "dune"))
    assert store.database.array("lost").tolist()[-2:] == [2000, 2000]
    assert [(item.name, item.dial, item.lost) for item in store.unknown.all()] == [("Dune", 100, 2000)]
    version = CatalogueVersion(3, b"", (NewItem("d3", "dUNE", "", ""),), (), b"")
    assert store.grow(version, now_s=1.0)
    assert store.database.array("lost").tolist()[-1] == 2000


def test_what_a_link_has_found_is_muted_until_its_owner_turns_the_dial(store):
    """Whoever makes the catalogue chooses the title under which a bookmark appears: it must not count by itself."""
    with store.database.transaction(durable=True):
        store.unknown.keep("https://clinic.example/secret", 100, lost=70)
        store.unknown.keep("Oolong", 100)
    new = (NewItem("q9", "Herbal infusions", "http://www.clinic.example/secret/", ""), NewItem("q8", "OOLONG", "", ""))
    assert store.grow(CatalogueVersion(2, b"", new, (), b""), now_s=1.0)
    first = store.catalogue.size() - 2
    assert (dials(store)[first], dials(store)[first + 1]) == (0, 100)
    assert store.database.array("lost").tolist()[first:] == [70, 0]
    assert first not in store.ledger.effective_dials()


def test_what_waits_is_found_by_the_version_not_the_other_way_round(store):
    """Statements for a version are as many with 5,000 names that wait as with one: others see when a node is busy."""
    counts = []
    for names in (1, 5000):
        with store.database.transaction(durable=True):
            for number in range(names):
                store.unknown.keep(f"name {names} {number}", 50)
        statements = []
        store.database._connection().set_trace_callback(statements.append)
        number = store.catalogue.number() + 1
        version = CatalogueVersion(number, b"", (NewItem(f"name {names} 0", "One", "", ""),), (), b"")
        assert store.grow(version, now_s=1.0)
        store.database._connection().set_trace_callback(None)
        counts.append(len(statements))
        store.profile.remove([store.catalogue.size() - 1])
    assert abs(counts[0] - counts[1]) < 5


def grow(store, *items):
    """Grow the catalogue by a version, whoever has signed it."""
    version = CatalogueVersion(2, b"", tuple(NewItem(name, title, "", "") for name, title in items), (), b"")
    assert store.grow(version, now_s=1.0)


def test_bad_weights_and_odd_rows_are_listed_by_number(store):
    table = "item;weight;note\ni0;seven;x\ni1;-1;x\ni2;1e-999999999;x\n;1;x\ni4;0.5;x;too;long\n" + "x" * 501 + ";1;\n"
    imported = import_list(store, table.encode())
    assert imported.numbers("weight") == (1, 2)
    assert imported.numbers("unreadable") == (4, 5, 6)
    assert dials(store) == {2: 0}


def test_a_full_list_takes_the_first_rows_and_tells_the_others(store):
    imported = import_list(store, b"item\ni5\ni4\ni3\ni2\ni1\ni0\n")
    assert (imported.added, imported.numbers("no room"), imported.names("no room")) == (4, (5, 6), ("i1", "i0"))
    assert dials(store) == {5: 100, 4: 100, 3: 100, 2: 100}
    assert store.unknown.all() == []


def test_retired_items_are_not_added(store):
    with store.database.transaction(durable=True) as connection:
        connection.execute("UPDATE catalogue SET retired = 2 WHERE place IN (0, 1)")
    store.profile.set_dials({1: 20})
    imported = import_list(store, b"Green Tea\nCaf\xc3\xa9 Noir\n")
    assert (imported.added, imported.known, imported.names("retired")) == (0, 1, ("Green Tea",))


def test_nothing_is_kept_of_a_file_that_is_refused(store, monkeypatch):
    monkeypatch.setattr("hetdp.node.storage.unknown_items.UnknownItems.keep", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        import_list(store, b"Green Tea\nNobody knows\n")
    assert dials(store) == {}
    assert not store.profile.undo()


def test_wrong_kinds_and_files_are_refused_in_words_that_repeat_nothing(store):
    with pytest.raises(InvalidInput, match="kind must be"):
        import_list(store, b"", kind="xml")
    for raw in (b"\x00\x01secretive", b"\xff\xfbsecretive"):
        with pytest.raises(DataError, match="must be a text in UTF-8") as caught:
            import_list(store, raw)
        assert "secretive" not in str(caught.value)
    with pytest.raises(DataError, match="must name its columns"):
        import_list(store, b"secretive,x\n1,2\n", kind="csv")


@pytest.mark.slow
def test_many_rows_are_a_few_statements_each(tmp_path):
    """Not timed: the number of statements that SQLite carries out grows with the rows and no faster."""
    items = [CatalogueItem(place, f"i{place}", f"Title {place}") for place in range(4000)]
    network = a_network(items=len(items), most_items=2000)
    table = "title,weight\n" + "".join(f"TITLE  {row},0.5\n" for row in range(20_000))
    with NodeStore.make(tmp_path / "node.db", network, items, default_limit=9.0) as store:
        statements = []
        connection = store.database._connection()
        connection.set_trace_callback(lambda sql: statements.append(sql[:20]))
        imported = import_list(store, table.encode())
        connection.set_trace_callback(None)
        assert (imported.rows, imported.added) == (20_000, 2000)
        assert (len(imported.numbers("no room")), len(imported.unknown)) == (2000, 16_000)
        assert store.unknown.count() == 16_000
        assert len(statements) < 30_000
        assert store.profile.undo()
        assert store.profile.counts().size == 0
        assert json.dumps(repr(imported)).find("TITLE") < 0
