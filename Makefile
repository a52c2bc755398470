# The main job: make demo. The tests: make test. Both set up all they need.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
NEXT_VERSION := 0.171.0
NEXT_DIR := build/codex-$(NEXT_VERSION)
PYTEST_ARGS ?=
SPREAD := -n auto --dist worksteal  # over all cores

.PHONY: help demo test test-next lint types check bench fuzz constraints clean

help: ## Say what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: $(VENV)/run.stamp ## Run the main job: one real Telegram update, one real Codex turn, no account
	@$(BIN)/codex-bridge demo $(ARGS)

test: $(VENV)/dev.stamp ## Run the whole suite on the Codex binary of the wheel
	$(BIN)/python -m pytest $(SPREAD) $(PYTEST_ARGS)

test-next: $(VENV)/dev.stamp ## Run tests/real on the newer pinned Codex from npm
	@if ! command -v npm >/dev/null; then \
	  count=$$($(BIN)/python -m pytest tests/real --collect-only -q | grep -c '::' || true); \
	  echo "test-next: $$count tests skipped: npm, which brings Codex $(NEXT_VERSION), is not on PATH"; exit 0; \
	fi; \
	[ -f $(NEXT_DIR)/installed ] || { npm install --silent --no-audit --no-fund --no-save --prefix $(NEXT_DIR) @openai/codex@$(NEXT_VERSION) && touch $(NEXT_DIR)/installed; }; \
	CODEX_BRIDGE_TEST_CODEX="$(NEXT_DIR)/node_modules/.bin/codex" $(BIN)/python -m pytest tests/real $(SPREAD) $(PYTEST_ARGS)

lint: $(VENV)/dev.stamp ## Lint, format check, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/dev.stamp ## Type check with mypy strict and pyright strict
	$(BIN)/mypy
	$(BIN)/pyright

check: lint types test ## Lint, types and tests

bench: $(VENV)/dev.stamp ## Measure against a raw client and OpenAI's SDK in the same run
	@status=0; \
	for part in benchmarks.compose benchmarks.prompt benchmarks.day benchmarks.soak "benchmarks $(ARGS)"; do \
	  $(BIN)/python -m $$part || status=1; \
	done; exit $$status

fuzz: $(VENV)/dev.stamp ## Send 100,000 random and mutated lines of a server through the client
	$(BIN)/python -m tests.support.fuzzing $(ARGS)

constraints: $(VENV)/dev.stamp ## Resolve the hashed constraints again
	$(PIP) uv
	for set in run dev fallback; do constraints/compile $$set; done

clean: ## Remove the virtual environment and the build folder
	rm -rf $(VENV) build

$(BIN)/python:
	@$(PYTHON) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo 'Needs Python 3.11 or later with the venv module; name one with make PYTHON=/path/to/python3.' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: constraints/run.txt pyproject.toml | $(BIN)/python
	$(PIP) --require-hashes -r constraints/run.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: constraints/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) --require-hashes -r constraints/dev.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/run.stamp
