# The whole developer interface. `make quickstart` and `make test` work in a fresh clone with nothing prepared.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: quickstart test check format setup

quickstart: setup
	@$(BIN)/etprof quickstart

test: check
	@$(BIN)/pytest

check: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

setup: $(VENV)/complete

$(VENV)/complete: pyproject.toml scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV)
