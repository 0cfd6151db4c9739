"""Every test runs the same."""

import signal
import sys

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

# Shells start what runs in the background deaf to interrupts, `nohup` to hang-ups; what tests start would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="run tests marked `exhaustive`, too (make exhaustive)")


def pytest_collection_modifyitems(config, items):
    """Begin with the longest; leave out `exhaustive` tests unless they are asked for."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
    if config.getoption("exhaustive"):
        return
    left = [item for item in items if item.get_closest_marker("exhaustive") is not None]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.get_closest_marker("exhaustive") is None]


@pytest.fixture
def sampled(request):
    """Return a function: of some cases every so many, the same each time; all of them with `--exhaustive`."""
    everything = request.config.getoption("exhaustive")
    return lambda cases, *, every: cases if everything else cases[every // 2 :: every]


@pytest.fixture
def hide(monkeypatch):
    """Make packages of pictures look as if they were not installed."""

    def hide_packages(*packages):
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return hide_packages


@pytest.fixture
def run(capsys):
    """Run the command line in this process, through its real entry point: exit code, standard output and error."""
    from hetdp.cli.main import main

    def run_command(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return run_command
