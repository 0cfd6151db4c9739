# make run and make test are all a newcomer needs; both set up .venv by themselves. make check is for while one works.
VENV := .venv
# Tests start hundreds of Python processes. Without compiled files each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
EXTRAS := .[report,node,dask,duckdb,sql,sklearn,plot]
GROUPS := --group test --group lint --group docs

# uv if it is there; otherwise Python's own tools. The pip of an older Python does not know --group, so it is updated.
PIP := python -m pip install --quiet --disable-pip-version-check
ifneq ($(shell command -v uv 2>/dev/null),)
  CREATE := uv venv --quiet --seed --allow-existing $(VENV)
  INSTALL := uv pip install --quiet --python $(BIN)/python --constraint constraints.txt
else
  CREATE := python3 -m venv $(VENV) && $(BIN)/$(PIP) 'pip>=25.1'
  INSTALL := $(BIN)/$(PIP) --constraint constraints.txt
endif

.PHONY: run check test tests exhaustive docs test-engines lint pythons bench constraints reproduce release-check clean distclean
.DEFAULT_GOAL := run

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once, about a minute) ..." >&2
	@$(CREATE)
	@$(INSTALL) --editable '.[report,node,duckdb]'
	@echo "Compiling the engines (once, a quarter of a minute) ..." >&2
	@find src -name '*.nb[ic]' -delete  # what earlier versions have compiled
	@$(BIN)/hetdp warm-up --quiet exact model >/dev/null & $(BIN)/hetdp warm-up --quiet gossip sketch >/dev/null; wait
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Adding the development tools (once) ..." >&2
	@$(INSTALL) --editable '$(EXTRAS)' $(GROUPS)
	@touch $@

run: $(VENV)/.installed
	@$(BIN)/hetdp demo

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Several processes on two cores: libraries that start threads of their own would only wait for each other.
ALONE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
FAST := --quiet --numprocesses 2 -m 'not slow and not browser and not network'

# Lint and the fast tests.
check: lint
	$(ALONE) $(BIN)/pytest $(FAST)

# Everything, as CI runs it. Linters and tests run at once, because linters use one core only.
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs 2 lint tests

# Three processes, because many tests wait for processes that they started.
tests: $(VENV)/.installed-dev
	$(ALONE) $(BIN)/pytest --numprocesses 3 --dist worksteal

# Everything, and what make test leaves out (CONTRIBUTING.md lists it): half an hour.
exhaustive: $(VENV)/.installed-dev
	$(ALONE) $(BIN)/pytest --numprocesses 2 --exhaustive --timeout 3600

# The site, in build/docs: notebooks run, a warning is an error, nothing is fetched.
docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W --keep-going --quiet -b html docs build/docs
	@echo "Open build/docs/index.html"

# Tables on Spark as well, on this machine alone: a download of 400 MB, and a Java runtime must be installed.
.venv-engines/.installed: pyproject.toml constraints.txt
	@python3 -m venv .venv-engines && .venv-engines/bin/$(PIP) 'pip>=25.1'
	@.venv-engines/bin/$(PIP) --constraint constraints.txt --editable '$(EXTRAS)' $(GROUPS) 'pyspark>=4.0'
	@touch $@

test-engines: .venv-engines/.installed
	@java -version >/dev/null 2>&1 || { echo "Spark needs a Java runtime (Debian: apt-get install default-jre-headless)" >&2; exit 1; }
	.venv-engines/bin/pytest tests/tables -m spark

# The fast tests on every supported Python that is installed, and with the oldest dependencies that we allow.
PYTHONS := 3.11 3.12 3.13
pythons:
	@for version in $(PYTHONS); do \
	  if python$$version -c '' 2>/dev/null; then \
	    echo "== Python $$version" && python$$version -m venv .venv-$$version && \
	    .venv-$$version/bin/$(PIP) 'pip>=25.1' && \
	    .venv-$$version/bin/$(PIP) --constraint constraints.txt --editable '$(EXTRAS)' $(GROUPS) && \
	    .venv-$$version/bin/pytest $(FAST) || exit 1; \
	  else echo "== Python $$version is not installed"; fi; done
	@echo "== oldest dependencies" && python3 -m venv .venv-oldest && .venv-oldest/bin/$(PIP) uv && \
	  .venv-oldest/bin/uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct \
	    --editable '$(EXTRAS)' $(GROUPS) && \
	  .venv-oldest/bin/pytest $(FAST)

# The newest versions of everything that make installs and that the oldest Python takes (uv is needed for this). Run make
# test afterwards, and commit what passes.
constraints:
	uv pip compile --quiet --upgrade --python-version 3.11.0 --no-header --no-annotate --all-extras $(GROUPS) --group bench \
	  pyproject.toml --output-file constraints.txt

# The libraries that speeds are compared with.
$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(INSTALL) --group bench
	@touch $@

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/gossip.py
	$(BIN)/python benchmarks/sketch.py
	$(BIN)/python benchmarks/recommender_speed.py --large
	$(BIN)/python benchmarks/recommender_quality.py
	PYTHONPATH=. $(BIN)/python benchmarks/node.py

reproduce: $(VENV)/.installed
	@$(BIN)/hetdp reproduce

# Is what would be published complete? Builds it twice and runs it where nothing else is installed; not part of make test.
release-check:
	@python3 tools/release_check.py

# What tools leave behind. distclean also removes the environments and the compiled engines.
clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/reference/generated

distclean: clean
	rm -rf $(VENV) .venv-*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
