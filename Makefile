# `make` alone prints help. A target either changes files or judges them, never both; CI runs the same targets as people.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
SEEDS ?= 20
JOBS ?= 4

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix bench chaos lock golden domain-docs turn-path clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/installed: requirements-dev.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

setup: $(VENV)/installed ## a virtual environment from the hash-pinned lock

demo: setup ## everything running with live traffic; ONCE=1 plays it once and judges it
	$(BIN)/crossfade demo $(if $(ONCE),--once)

test: setup ## every test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

check: setup ## format, lint, types, import contracts: judges, changes nothing (the schema is checked by a test)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	@! git ls-files | grep -E '(^|/)(uv\.lock|\.env)$$'

fix: setup ## format and repair what a machine can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## ratios against the bare upstream, to build/bench.json
	$(BIN)/python -m bench

chaos: setup ## every crash point, 20 seeds a cell (SEEDS=, JOBS=)
	$(BIN)/python -m tests.chaos --seeds $(SEEDS) --jobs $(JOBS)

golden: setup ## rewrite golden outputs; review the diff like code
	$(BIN)/python -m pytest -q tests/contract --rewrite-golden

domain-docs: setup ## rewrite docs/domain from the tables; review the diff like code
	$(BIN)/python -m pytest -q tests/domain/test_published.py --rewrite-golden

turn-path: setup ## page through one turn, file by file
	@$${PAGER:-less} proxy/routes.py proxy/turn_path.py rollout/routing.py backends/fastgpt/backend.py backends/langgraph/backend.py storage/turns.py proxy/turn_run.py shadow/worker.py

lock: setup ## resolve anew and export the two locks, with hashes and without addresses
	$(BIN)/uv lock --quiet
	$(BIN)/uv export --quiet --frozen --no-emit-project --no-emit-index-url --no-header --no-annotate --no-dev -o requirements.lock
	$(BIN)/uv export --quiet --frozen --no-emit-project --no-emit-index-url --no-header --no-annotate -o requirements-dev.lock

clean: ## remove what was built (the embedded database in .crossfade stays)
	rm -rf build .pytest_cache .ruff_cache .hypothesis
