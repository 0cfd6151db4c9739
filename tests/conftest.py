"""Make the helpers beside the tests importable, whatever the import mode, and every test run the same."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
