"""The engines by name. To add one: a folder with an object like those below, and a line here."""

from hetdp.neighbors.engines.exact.engine import EXACT
from hetdp.neighbors.engines.gossip.engine import GOSSIP
from hetdp.neighbors.engines.sketch.engine import SKETCH

ENGINES = {engine.name: engine for engine in (EXACT, GOSSIP, SKETCH)}
