"""What befell a node is remembered in words for its owner; the mode says whether it draws."""

import pytest

from hetdp.node.storage.database import Database
from hetdp.node.storage.events import HAPPENINGS, Events, Happening, happening
from hetdp.node.storage.passage import ModeSwitch


@pytest.fixture
def database(tmp_path):
    Database.create(tmp_path / "node.db")
    database = Database(tmp_path / "node.db")
    yield database
    database.close()


def test_events_come_newest_first_and_old_ones_are_forgotten(database):
    events = Events(database)
    for number in range(250):
        with database.transaction(durable=True):
            events.note("forked", now_s=float(number), version=number)
    found = events.all()
    assert [event.time_s for event in found] == [float(number) for number in reversed(range(50, 250))]
    assert events.newest("forked") == Happening(249.0, "forked", {"version": 249})
    assert events.newest("grown") is None
    events.note_once("forked", now_s=300.0, version=249)
    assert events.newest("forked").time_s == 249.0
    events.note_once("forked", now_s=300.0, version=250)
    assert events.newest("forked").time_s == 300.0


def test_every_kind_of_event_that_is_noted_has_words(noted_kinds):
    assert noted_kinds <= set(HAPPENINGS)


@pytest.fixture
def noted_kinds():
    """Return the kinds in all calls of `events.note` in the source."""
    import ast
    from pathlib import Path

    import hetdp.node

    kinds = set()
    for path in Path(hetdp.node.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("events.note", "events.note_once")):
                kinds.add(ast.literal_eval(call.args[0]))
    return kinds


def test_words_fill_in_details():
    assert "version 3" in happening(Happening(0.0, "grown", {"version": 3, "added": 5, "retired": 0}))


def test_a_store_that_does_not_say_is_open(database):
    mode = ModeSwitch(database)
    assert mode.get() == "open"
    with database.transaction(durable=True):
        mode.set("paused")
    assert mode.get() == "paused"
