# make run and make test are all a newcomer needs; both set up .venv by themselves.
VENV := .venv
BIN := $(VENV)/bin
ifneq ($(shell command -v uv 2>/dev/null),)
  CREATE := uv venv --quiet --allow-existing $(VENV)
  INSTALL := uv pip install --quiet --python $(BIN)/python
else
  CREATE := python3 -m venv $(VENV)
  INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: run test lint bench reproduce clean
.DEFAULT_GOAL := run

$(VENV)/.installed: pyproject.toml
	@echo "Setting up $(VENV) (once, about a minute) ..." >&2
	@$(CREATE)
	@$(INSTALL) --editable '.[report,node]'
	@echo "Compiling the engines (once, half a minute) ..." >&2
	@$(BIN)/python -m hetdp.neighbors.warming exact & $(BIN)/python -m hetdp.neighbors.warming gossip sketch; wait
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Adding the development tools (once) ..." >&2
	@$(INSTALL) --editable '.[dev]'
	@touch $@

run: $(VENV)/.installed
	@$(BIN)/hetdp demo

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest

# The peers that speeds are compared with.
$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(INSTALL) --editable '.[bench]'
	@touch $@

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/gossip.py
	$(BIN)/python benchmarks/sketch.py
	$(BIN)/python benchmarks/node.py

reproduce: $(VENV)/.installed
	@$(BIN)/hetdp reproduce

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
