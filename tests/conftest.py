"""Every test runs the same."""

import signal
import sys

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start what runs in the background deaf to interrupts, and commands that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def hide(monkeypatch):
    """Make packages of pictures look as if they were not installed."""

    def hide_packages(*packages):
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, "hetdp.pictures.chart", raising=False)

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
