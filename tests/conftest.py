"""Every test runs the same."""

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


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
