# The whole developer interface. `make quickstart` and `make test` work in a fresh clone with nothing prepared.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: quickstart test check format

quickstart: $(VENV)/runtime
	@$(BIN)/etprof quickstart

test: check
	@$(BIN)/pytest

check: $(VENV)/develop
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/develop
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

$(VENV)/runtime: pyproject.toml scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) runtime
	@touch $@

$(VENV)/develop: pyproject.toml scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) runtime,models,dev
	@touch $(VENV)/runtime $@
