# Everything happens in .venv and in the data directory ($PALIMPSEST_HOME, default ~/.palimpsest).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test check chaos up down eval bench clean

help:
	@echo "make demo   set up, start the local stack, ingest the examples, ask five questions"
	@echo "make test   set up and run every test"
	@echo "make check  format, lint, types, arrows"
	@echo "make chaos  kill every part at every point, on all stores (90 minutes)"
	@echo "make up     start the local stack       make down   stop it"
	@echo "make eval   quality on the sets in DATA (default ../shared/data); goes on where it stopped"
	@echo "make bench  ingest rate and query latency"

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(VENV)/.ready

demo: setup
	$(BIN)/palimpsest demo

test: setup
	$(BIN)/python -m pytest

chaos: setup
	PYTHONPATH=tests $(BIN)/python -m chaos $(CHAOS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

up: setup
	$(BIN)/palimpsest up

down: setup
	$(BIN)/palimpsest down

DATA ?= ../shared/data
SETS ?=
eval: setup
	$(BIN)/palimpsest eval --data $(DATA) $(addprefix $(DATA)/,$(SETS))

bench: setup
	$(BIN)/python -m eval.bench.ingest
	$(BIN)/python -m eval.bench.query

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
