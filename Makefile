# The whole developer interface. `make quickstart` and `make test` work in a fresh clone with nothing prepared.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: quickstart test check format docs reference sample release arm64-quickstart

# With SYSTEM_TORCH=1 the torch of the active environment is used; scripts/install has the other settings.
quickstart: $(VENV)/runtime
	@$(BIN)/etprof quickstart

# Three at a time, for two cores: many wait for devices. Exports keep one core each, so torch gets one thread. What judges
# times has the machine to itself afterwards.
test: check
	@OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 3 --dist worksteal -m "not alone"
	@$(BIN)/pytest -m alone

check: $(VENV)/develop
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/develop
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: $(VENV)/develop
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean
	@echo site/index.html

# The pages of the documentation that are written from the code.
reference: $(VENV)/develop
	@$(BIN)/python scripts/reference_pages.py

# The sample reports that the documentation shows.
sample: $(VENV)/develop
	@scripts/make_sample

# The quick start on an arm64 Debian under QEMU; by hand, since it takes half an hour.
arm64-quickstart:
	@scripts/arm64_quickstart

# Wheel, source archive, runner bundles with their licences, notes and checksums: dist/etprof-VERSION.
release: $(VENV)/develop
	@$(BIN)/python scripts/release.py

$(VENV)/runtime: pyproject.toml constraints.txt scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) runtime
	@touch $@

$(VENV)/develop: pyproject.toml constraints.txt scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) runtime,models,dev,docs
	@touch $(VENV)/runtime $@
