"""The demo stops whatever ends it, leaves nothing behind, and invents people who can be helped."""

import json
import os
import re
import signal
import subprocess
import sys
from fractions import Fraction

import pytest
from click.testing import CliRunner
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.cli import node_demo as node_demo_command
from hetdp.cli.node import node
from hetdp.core.randomness import seeded_stream
from hetdp.node.demo import running as demo
from hetdp.node.demo.people import Recall, exact_neighbors, invent_people, list_length, recall, taste_count
from hetdp.node.demo.processes import stopping_with_parent
from hetdp.node.neighbors import find_neighbors, votes
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.storage.network_file import usual_most_items
from hetdp.sketching.reading import RARE

pytestmark = pytest.mark.network

#: Starts a process that stops with its parent, says so, and waits to be killed.
HOLDER = """
import sys, time
from hetdp.node.demo.processes import running
from hetdp.node.demo.processes import stopping_with_parent
with running([stopping_with_parent([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0"])]):
    print("started", flush=True)
    time.sleep(600)
"""


def started(folder, *command):
    """Start a command whose output ends when it and all its children have ended."""
    environment = os.environ | {"TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )


def test_children_end_when_their_parent_is_killed(tmp_path):
    process = started(tmp_path, sys.executable, "-c", HOLDER)
    assert process.stdout.readline() == "started\n"
    process.kill()
    process.communicate(timeout=60)  # the child holds the other end of the output, so this waits for it
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("number", "at_the_end"),
    [
        (signal.SIGTERM, False),
        (signal.SIGHUP, False),
        (signal.SIGINT, False),
        (signal.SIGTERM, True),
        # One handler serves all three, so at the end they are the same exception.
        pytest.param(signal.SIGHUP, True, marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.exhaustive),
    ],
)
def test_signals_stop_everything_and_remove_the_folder(tmp_path, number, at_the_end):
    process = started(tmp_path, sys.executable, "-m", "hetdp", "node", "demo", "--nodes", "2", "--page")
    said = []
    for line in process.stdout:
        said.append(line)
        # The address is told as soon as it is known, and again as the last line.
        if not at_the_end or sum(one.startswith("Page of the first person") for one in said) == 2:
            break
    assert any(tmp_path.iterdir())
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in "".join(said) + rest
    if at_the_end:
        assert process.returncode == 0
        assert said[-2].startswith("The network goes on")
        assert "Too few people to compare" in rest
    else:
        assert process.returncode != 0


def test_stopping_with_the_parent_leaves_the_command_alone():
    assert stopping_with_parent(["py", "-m", "hetdp", "node", "run"]) == [
        "py",
        "-m",
        "hetdp.node.demo.processes",
        "hetdp",
        "node",
        "run",
    ]


def test_progress_tells_how_many_nodes_are_up():
    assert demo._progress(31, [0] * 50) == "31 of 50 nodes are up."
    assert demo._progress(3, [1, 2, 2]) == "all nodes are up; sketches held: least 1, on average 1.7."


@pytest.mark.parametrize("nodes", [29, 30])
def test_the_report_has_errors_or_says_that_people_are_few(monkeypatch, nodes):
    shares = [Recall(0.71234, 0.0321), *(Recall(0.1 * place, 0.04) for place in range(2))]
    report = demo.DemoReport(nodes, 3.14159, 2, *shares, 2, 28, *(Recall(0.1 * place, 0.05) for place in range(4, 7)))
    monkeypatch.setattr(demo, "run_demo", lambda *_, **__: report)
    shown = CliRunner().invoke(node, ["demo", "--nodes", str(nodes)]).output
    assert re.search(r"converged after +3 s ", shown)
    assert f"2 of {nodes}, probably not by chance" in shown
    assert ("71.2 % ± 3.2" in shown) == (nodes >= 30)
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "learned from the crowd 40.0 % ± 5.0" in rows
    assert "votes of neighbours 50.0 % ± 5.0 *" in rows
    assert "at least 28; nodes learn from 50 on" in shown
    assert ("Too few people to compare" in shown) == (nodes < 30)
    data = json.loads(CliRunner().invoke(node, ["demo", "--nodes", str(nodes), "--json"]).stdout)
    assert data["recall"] == {"mean": 0.71234, "error": 0.0321}


def test_an_item_outlives_a_look_at_the_page():
    assert node_demo_command._EPOCH_WITH_PAGE_S * 10 >= 3600


@pytest.mark.parametrize("count", [12, 60])
def test_most_invented_people_get_a_recommendation_of_their_taste(count):
    """Seeds are fixed. Of the people of two draws, most get one that stands out, and nearly all of these fit."""
    network, fit, helped = a_network(items=480), [], []
    for seed in range(2):
        people = invent_people(count, seed=seed)
        assert max(len(profile) for profile in people.profiles) < usual_most_items(480)
        published = [
            sign_sketch(
                draw_bits(profile, epsilon=Fraction(3), size=480, stream=seeded_stream(seed, person)),
                epoch=0,
                identity=identity_of(person),
                network=network,
            )
            for person, profile in enumerate(people.profiles)
        ]
        for person, profile in enumerate(people.profiles):
            mine = [item for item, dial in profile.items() if dial]
            others = published[:person] + published[person + 1 :]
            found = find_neighbors(others, mine, epsilon=Fraction(3), sizes={b"": 480}, count=10)
            best = votes(others, found, without=mine, epsilon=Fraction(3), sizes={b"": 480}, count=20)
            sure = [vote for vote in best if vote.by_chance < RARE]
            helped.append(bool(sure))
            fit += [vote.place // 60 == person % taste_count(count) for vote in sure]
    assert sum(helped) > 0.8 * len(helped)
    assert sum(fit) > 0.9 * len(fit)


def test_few_people_have_few_tastes_so_that_everybody_finds_company():
    assert [taste_count(count) for count in (5, 12, 50, 500)] == [2, 2, 7, 8]
    assert [list_length(count) for count in (50, 2)] == [6, 1]
    people = invent_people(3, seed=1)
    assert (len(people.profiles), len(people.items)) == (3, 480)


def test_everybody_has_what_they_have_themselves():
    assert recall(invent_people(2, seed=1), [[0], [1]]) == Recall(mean=1.0, error=0.0)


def test_recall_has_an_honest_error():
    people = invent_people(40, seed=3)
    best = [exact_neighbors(people, person)[: list_length(40)] for person in range(40)]
    shares = [
        sum(any(item in people.full(other) for other in chosen) for item in hidden) / len(hidden)
        for hidden, chosen in zip(people.hidden, best, strict=True)
    ]
    found = recall(people, best)
    mean = sum(shares) / 40
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx((sum((share - mean) ** 2 for share in shares) / 39 / 40) ** 0.5)
